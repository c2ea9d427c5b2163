#include "kit/lists.h"

#include "kit/need.h"

#include <stdlib.h>
#include <string.h>

/* An edge at the leaf's rank. */
typedef struct want {
  int32_t root, slot;
} want;

static void open_side(bench_side *s, int nranks)
{
  s->count = bench_alloc((size_t)nranks, sizeof *s->count);
  s->start = bench_alloc((size_t)nranks + 1, sizeof *s->start);
}

static void find_starts(bench_side *s, int nranks)
{
  for (int r = 0; r < nranks; r++) s->start[r + 1] = s->start[r] + s->count[r];
}

/* This rank's edges, by the rank of their root. */
static want *group_edges(const bench_graph *g, bench_side *leaves, int nranks)
{
  want *list = bench_alloc((size_t)g->nleaves, sizeof *list);
  int *at = bench_alloc((size_t)nranks, sizeof *at);
  for (int64_t j = 0; j < g->nleaves; j++) leaves->count[g->root[j].rank]++;
  find_starts(leaves, nranks);
  memcpy(at, leaves->start, (size_t)nranks * sizeof *at);
  for (int64_t j = 0; j < g->nleaves; j++)
    list[at[g->root[j].rank]++] =
      (want){(int32_t)g->root[j].index, (int32_t)(g->leaf ? g->leaf[j] : j)};
  free(at);
  return list;
}

static int by_root(const void *a, const void *b)
{
  const want *x = a, *y = b;
  if (x->root != y->root) return x->root < y->root ? -1 : 1;
  return (x->slot > y->slot) - (x->slot < y->slot);
}

/* If many roots are needed several times, sorts the list by root, sets `place` to the index of each
 * entry's root in `roots`, and returns the number of roots. Otherwise returns 0 and leaves the list
 * alone. */
static int share_values(want *list, int n, int32_t *place, int32_t *roots)
{
  int distinct = 0;
  want *sorted = bench_alloc((size_t)n, sizeof *sorted);
  memcpy(sorted, list, (size_t)n * sizeof *list);
  qsort(sorted, (size_t)n, sizeof *sorted, by_root);
  for (int i = 0; i < n; i++) {
    if (i == 0 || sorted[i].root != sorted[i - 1].root) roots[distinct++] = sorted[i].root;
    place[i] = distinct - 1;
  }
  if (distinct > n - n / 8 - 1) distinct = 0;
  if (distinct) memcpy(list, sorted, (size_t)n * sizeof *list);
  free(sorted);
  return distinct;
}

/* What this rank asks the others for: `wanted`, in the order of ranks. */
static void list_wanted(want *list, int rank, int nranks, int share, bench_lists *out,
                        int32_t *wanted)
{
  for (int r = 0; r < nranks; r++) {
    int begin = out->leaves.start[r], count = out->leaves.count[r];
    int32_t *asked = wanted + out->units.start[r];
    int distinct =
      share && r != rank ? share_values(list + begin, count, out->place + begin, asked) : 0;
    for (int i = 0; i < count && !distinct; i++) asked[i] = list[begin + i].root;
    for (int i = 0; i < count; i++) out->leaves.index[begin + i] = list[begin + i].slot;
    out->units.count[r] = distinct ? distinct : count;
    out->units.start[r + 1] = out->units.start[r] + out->units.count[r];
  }
}

void bench_lists_open(const bench_graph *g, MPI_Comm comm, int share, bench_lists *out)
{
  int rank, nranks;
  bench_side *units = &out->units, *roots = &out->roots;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &nranks);
  open_side(&out->leaves, nranks);
  open_side(units, nranks);
  open_side(roots, nranks);
  units->index = NULL;
  want *list = group_edges(g, &out->leaves, nranks);
  int32_t *wanted = bench_alloc((size_t)g->nleaves, sizeof *wanted);
  out->leaves.index = bench_alloc((size_t)g->nleaves, sizeof *wanted);
  out->place = share ? bench_alloc((size_t)g->nleaves, sizeof *wanted) : NULL;
  list_wanted(list, rank, nranks, share, out, wanted);
  MPI_Alltoall(units->count, 1, MPI_INT, roots->count, 1, MPI_INT, comm);
  find_starts(roots, nranks);
  roots->index = bench_alloc((size_t)roots->start[nranks], sizeof *roots->index);
  MPI_Alltoallv(wanted, units->count, units->start, MPI_INT32_T, roots->index, roots->count,
                roots->start, MPI_INT32_T, comm);
  free(list);
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
  close_side(&lists->units);
  free(lists->place);
}
