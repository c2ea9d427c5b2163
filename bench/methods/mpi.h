/* Shared by the methods on MPI alone: a case by hand, in its direction. */
#ifndef BENCH_METHODS_MPI_H
#define BENCH_METHODS_MPI_H

#include "kit/by_hand.h"
#include "methods/method.h"

/* One of its exchanges. Collective. */
static inline void bench_case_by_hand(const bench_case *c, int exchange, bench_by_hand *out)
{
  bench_by_hand_how how = {.type = c->spec->type, .width = 1, .stages = 1};
  how.reduce = c->spec->kind == BENCH_REDUCE;
  bench_by_hand_open(&c->graph[exchange], c->comm, how, out);
}

static inline char *bench_from_array(const bench_case *c, int buffer)
{
  return c->spec->kind == BENCH_REDUCE ? bench_leaf_array(c, buffer) : bench_root_array(c, buffer);
}
static inline char *bench_to_array(const bench_case *c, int buffer)
{
  return c->spec->kind == BENCH_REDUCE ? bench_root_array(c, buffer) : bench_leaf_array(c, buffer);
}

/* Unpacks what came, and what this rank has for itself. */
static inline void bench_case_unpack(const bench_by_hand *h, const char *from, char *to)
{
  bench_by_hand_unpack(h, to);
  bench_by_hand_keep(h, from, to);
}

#endif
