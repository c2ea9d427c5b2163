/* A case ready to run: its graphs and arrays, the same for every method. */
#ifndef BENCH_DRIVER_CASE_H
#define BENCH_DRIVER_CASE_H

#include "driver/grid.h"
#include "kit/lists.h"
#include "kit/need.h"

/* One iteration runs the exchanges in their order, each to its end. A pair has two: there and back.
 * */
typedef struct bench_case {
  const bench_spec *spec;
  int number; /* unique in this process */
  MPI_Comm comm;
  int rank, nranks;
  grove_context *ctx;
  int nexchanges;
  bench_graph graph[2];
  char *root, *leaf;             /* `buffers` arrays each, one after the other */
  char *update;                  /* results of a fetch; else NULL */
  size_t root_bytes, leaf_bytes; /* from one array to the next */
  size_t root_used, leaf_used;   /* of these, used */
  int64_t work;                  /* rounds of computing between start and wait, or 0 */
  struct bench_case *next;       /* the next field, with arrays of its own; NULL after the last */
  bench_spec *own_spec;          /* of such a field: the case's, with this field first */
} bench_case;

/* Array number `buffer`; iteration i uses number i % buffers. */
static inline char *bench_root_array(const bench_case *c, int buffer)
{
  return c->root + (size_t)buffer * c->root_bytes;
}
static inline char *bench_leaf_array(const bench_case *c, int buffer)
{
  return c->leaf + (size_t)buffer * c->leaf_bytes;
}

static inline char *bench_update_array(const bench_case *c, int buffer)
{
  return c->update + (size_t)buffer * c->leaf_bytes;
}

/* Whether the exchange writes to the root array, not to the leaf array. */
static inline int bench_writes_roots(const bench_spec *spec)
{
  return spec->kind != BENCH_BCAST && spec->kind != BENCH_SCATTER;
}

/* The number of edges over all ranks and exchanges. Collective. */
int64_t bench_case_edges(const bench_case *c);

/* Returns 0, or 1 where this build cannot make the case (grove_alloc). Ends the job if out of
 * memory. Collective. */
int bench_case_open(const bench_spec *spec, MPI_Comm comm, grove_context *ctx, bench_case *out);
void bench_case_close(bench_case *c);

/* Sets the values before an exchange; after it, counts the wrong entries of this rank (oracle.c).
 * Collective. */
void bench_case_fill(bench_case *c);
int64_t bench_case_wrong(const bench_case *c);

/* Reads what the last exchange brought and rewrites what the next one sends, as a program does
 * between two exchanges. The values differ from those of bench_case_fill, which bench_case_wrong
 * expects. */
void bench_case_use(const bench_case *c, int buffer);

/* The graphs of a case (graph.c). */
void bench_graph_make(const bench_spec *spec, int exchange, int rank, int nranks, bench_graph *out);

#endif
