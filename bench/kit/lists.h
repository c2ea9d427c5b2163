/* Who sends what to whom: a graph as the lists that a hand-written exchange needs, made with plain
 * MPI as one would write it for a few ranks. Oracles use them too.
 */
#ifndef BENCH_KIT_LISTS_H
#define BENCH_KIT_LISTS_H

#include "grove.h"

/* The arguments of grove_forest_set_graph, and the length of the leaf array. */
typedef struct bench_graph {
  int64_t nroots, nleaves, nslots;
  int64_t *leaf; /* NULL: leaf j is slot j */
  grove_root *root;
} bench_graph;

/* For every rank r of the communicator the slots index[start[r]] .. index[start[r+1]-1]. */
typedef struct bench_side {
  int *count, *start;
  int32_t *index;
} bench_side;

/* The entries of leaves.index for rank r, and those of roots.index there for this rank, are the two
 * ends of the same edges, in the same order. Where values are shared, a root appears there once for
 * all its leaves on a rank: place[i] says which of the rank's roots leaves.index[i] has. There are
 * then fewer units than leaves. */
typedef struct bench_lists {
  bench_side leaves, roots;
  bench_side units; /* of this rank's leaves: what it gets from every rank; without an index */
  int32_t *place;
} bench_lists;

/* `share`: share values where at least an eighth of what goes to a rank would be repeated.
 * Collective. */
void bench_lists_open(const bench_graph *g, MPI_Comm comm, int share, bench_lists *out);
void bench_lists_close(bench_lists *lists);

#endif
