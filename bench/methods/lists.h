/* Who sends what to whom: a graph as the lists that an exchange by hand needs, made with plain MPI
 * as one would write it for a few ranks. The oracle uses them too.
 */
#ifndef BENCH_METHODS_LISTS_H
#define BENCH_METHODS_LISTS_H

#include "driver/case.h"

/* For every rank r of the communicator the slots index[start[r]] .. index[start[r+1]-1]. */
typedef struct bench_side {
  int *count, *start;
  int32_t *index;
} bench_side;

/* The entries of leaves.index for rank r and those of roots.index there for this rank are the two
 * ends of the same edges, in the same order. */
typedef struct bench_lists {
  bench_side leaves, roots;
} bench_lists;

/* Collective. */
void bench_lists_open(const bench_graph *g, MPI_Comm comm, bench_lists *out);
void bench_lists_close(bench_lists *lists);

#endif
