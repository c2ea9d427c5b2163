/* What a root holds, what the result must be, and what must leave a node: all without Grove.
 */
#include "grove/bench/bench.h"
#include "kit/lists.h"
#include "kit/need.h"

#include <stdlib.h>

/* Small whole numbers, whose sums are exact in any order. */
static double root_value(int rank, int64_t index)
{
  return (double)((rank * 7919 + index) % 100003);
}

void bench_fill(const bench *b, const bench_task *task)
{
  const pattern *p = task->edges;
  for (int64_t i = 0; i < p->nroots; i++)
    for (int64_t k = 0; k < b->width; k++)
      b->array[i * b->width + k] = task->reduce ? 0 : root_value(b->rank, i) + (double)k;
  for (int64_t i = 0; i < p->nleaves; i++)
    for (int64_t k = 0; k < b->width; k++)
      b->array[p->leaf[i] * b->width + k] =
        task->reduce ? root_value(p->root[i].rank, p->root[i].index) + (double)k : -1;
}

/* Writes other values of the same size, or reads them into `sum`. */
static void touch(double *unit, int64_t width, int writes, double *sum)
{
  for (int64_t k = 0; k < width; k++) {
    if (writes)
      unit[k] = -unit[k];
    else
      *sum += unit[k];
  }
}

void bench_use(const bench *b, const bench_task *task)
{
  static volatile double kept __attribute__((unused));
  const pattern *p = task->edges;
  double sum = 0;
  for (int64_t i = 0; i < p->nroots; i++)
    touch(&b->array[i * b->width], b->width, !task->reduce, &sum);
  for (int64_t i = 0; i < p->nleaves; i++)
    touch(&b->array[p->leaf[i] * b->width], b->width, task->reduce, &sum);
  kept = sum;
}

static int64_t wrong_leaves(const bench *b, const pattern *p)
{
  int64_t wrong = 0;
  for (int64_t i = 0; i < p->nleaves; i++)
    for (int64_t k = 0; k < b->width; k++)
      wrong += b->array[p->leaf[i] * b->width + k] !=
               root_value(p->root[i].rank, p->root[i].index) + (double)k;
  return wrong;
}

static int64_t wrong_roots(const bench *b, const pattern *p)
{
  const bench_graph graph = {.nleaves = p->nleaves, .leaf = p->leaf, .root = p->root};
  int64_t wrong = 0, *degree = bench_alloc((size_t)p->nroots, sizeof *degree);
  bench_lists lists;
  bench_lists_open(&graph, b->comm, 0, &lists);
  for (int i = 0; i < lists.roots.start[b->size]; i++) degree[lists.roots.index[i]]++;
  bench_lists_close(&lists);
  for (int64_t i = 0; i < p->nroots; i++)
    for (int64_t k = 0; k < b->width; k++)
      wrong +=
        b->array[i * b->width + k] != (double)degree[i] * (root_value(b->rank, i) + (double)k);
  free(degree);
  return wrong;
}

int64_t bench_wrong(const bench *b, const bench_task *task)
{
  return task->reduce ? wrong_roots(b, task->edges) : wrong_leaves(b, task->edges);
}

/* ---- what must leave a node ---- */

static int by_rank_and_index(const void *a, const void *b)
{
  const int64_t *x = a, *y = b;
  if (x[0] != y[0]) return x[0] < y[0] ? -1 : 1;
  return (x[1] > y[1]) - (x[1] < y[1]);
}

/* The roots of other nodes that this rank's leaves are joined to, two numbers each. */
static int64_t *list_roots_elsewhere(const bench *b, const pattern *edges, int node, int *n)
{
  int64_t *list = bench_alloc(2 * (size_t)edges->nleaves, sizeof *list), used = 0;
  for (int64_t i = 0; i < edges->nleaves; i++) {
    int theirs = 0;
    grove_context_node(b->ctx, edges->root[i].rank, &theirs, NULL);
    if (theirs == node) continue;
    list[used++] = edges->root[i].rank;
    list[used++] = edges->root[i].index;
  }
  *n = (int)used;
  return list;
}

static int64_t count_distinct(int64_t *pairs, int64_t n)
{
  int64_t distinct = 0;
  qsort(pairs, (size_t)n, 2 * sizeof *pairs, by_rank_and_index);
  for (int64_t i = 0; i < n; i++)
    distinct += i == 0 || by_rank_and_index(&pairs[2 * i - 2], &pairs[2 * i]) != 0;
  return distinct;
}

/* The lists of all ranks of a node, on its first rank. */
static int64_t *gather_on_node(MPI_Comm node, const int64_t *mine, int n, int *total)
{
  int rank, size;
  MPI_Comm_rank(node, &rank);
  MPI_Comm_size(node, &size);
  int *count = bench_alloc(2 * (size_t)size + 1, sizeof *count), *start = count + size;
  MPI_Gather(&n, 1, MPI_INT, count, 1, MPI_INT, 0, node);
  for (int r = 0; r < size; r++) start[r + 1] = start[r] + count[r];
  *total = rank == 0 ? start[size] : 0;
  int64_t *all = bench_alloc((size_t)*total, sizeof *all);
  MPI_Gatherv(mine, n, MPI_INT64_T, all, count, start, MPI_INT64_T, 0, node);
  free(count);
  return all;
}

double bench_deduplicated_bytes(const bench *b, const pattern *edges)
{
  int node = 0, n = 0, total = 0;
  MPI_Comm comm;
  grove_context_node(b->ctx, b->rank, &node, NULL);
  MPI_Comm_split(b->comm, node, b->rank, &comm);
  int64_t *mine = list_roots_elsewhere(b, edges, node, &n);
  int64_t *all = gather_on_node(comm, mine, n, &total);
  double bytes = (double)(count_distinct(all, total / 2) * b->set.unit_bytes), sum = 0;
  MPI_Allreduce(&bytes, &sum, 1, MPI_DOUBLE, MPI_SUM, b->comm);
  free(mine);
  free(all);
  MPI_Comm_free(&comm);
  return sum;
}
