#include "methods/lists.h"

#include <stdlib.h>
#include <string.h>

static void open_side(bench_side *s, int nranks)
{
  s->count = bench_alloc((size_t)nranks, sizeof *s->count);
  s->start = bench_alloc((size_t)nranks + 1, sizeof *s->start);
}

static void find_starts(bench_side *s, int nranks)
{
  for (int r = 0; r < nranks; r++) s->start[r + 1] = s->start[r] + s->count[r];
  s->index = bench_alloc((size_t)s->start[nranks], sizeof *s->index);
}

void bench_lists_open(const bench_graph *g, MPI_Comm comm, bench_lists *out)
{
  int nranks;
  MPI_Comm_size(comm, &nranks);
  bench_side *leaves = &out->leaves, *roots = &out->roots;
  open_side(leaves, nranks);
  open_side(roots, nranks);
  for (int64_t j = 0; j < g->nleaves; j++) leaves->count[g->root[j].rank]++;
  find_starts(leaves, nranks);

  int *at = bench_alloc((size_t)nranks, sizeof *at);
  int32_t *wanted = bench_alloc((size_t)g->nleaves, sizeof *wanted);
  memcpy(at, leaves->start, (size_t)nranks * sizeof *at);
  for (int64_t j = 0; j < g->nleaves; j++) {
    int k = at[g->root[j].rank]++;
    leaves->index[k] = (int32_t)(g->leaf ? g->leaf[j] : j);
    wanted[k] = (int32_t)g->root[j].index;
  }
  MPI_Alltoall(leaves->count, 1, MPI_INT, roots->count, 1, MPI_INT, comm);
  find_starts(roots, nranks);
  MPI_Alltoallv(wanted, leaves->count, leaves->start, MPI_INT32_T, roots->index, roots->count,
                roots->start, MPI_INT32_T, comm);
  free(at);
  free(wanted);
}

static void close_side(bench_side *s)
{
  free(s->count);
  free(s->start);
  free(s->index);
}

void bench_lists_close(bench_lists *lists)
{
  close_side(&lists->leaves);
  close_side(&lists->roots);
}
