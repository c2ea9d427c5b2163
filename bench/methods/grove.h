/* Shared by the methods that use Grove. */
#ifndef BENCH_METHODS_GROVE_H
#define BENCH_METHODS_GROVE_H

#include "driver/case.h"

typedef struct bench_grove_state {
  bench_case *c;
  grove_context *own; /* its own context; NULL: uses the case's */
  grove_forest *forest[2];
  int nops; /* per exchange: one per array */
  grove_op **op;
} bench_grove_state;

/* A forest with one of the case's graphs. Collective. */
grove_forest *bench_grove_forest(const bench_case *c, grove_context *ctx, int exchange);

/* The case's persistent operation on array number `buffer`. Collective. */
grove_op *bench_grove_bind(const bench_case *c, grove_forest *forest, int buffer);

/* The slots of a method with persistent operations. */
void *bench_grove_set_up(bench_case *c);
void bench_grove_init(void *state);
void bench_grove_run(void *state, int begin, int end);
void bench_grove_fini(void *state);
void bench_grove_tear_down(void *state);

#endif
