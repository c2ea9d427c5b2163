#include "errand.h"

#include "check.h"

#include <stdlib.h>

grove_forest *errand_forest(grove_context *ctx, int64_t n, int64_t step)
{
  grove_forest *f = NULL;
  grove_root *root = need((size_t)n * sizeof *root);
  int next = (world_rank() + 1) % world_size();
  for (int64_t i = 0; i < n; i++) root[i] = (grove_root){next, i * step % n};
  CHECK_OK(grove_forest_create(ctx, &f));
  CHECK_OK(grove_forest_set_graph(f, n, n, NULL, root));
  CHECK_OK(grove_forest_set_up(f));
  free(root);
  return f;
}

void errand_open(errand *e, MPI_Comm comm)
{
  MPI_Comm_rank(comm, &e->rank);
  MPI_Comm_size(comm, &e->size);
  e->root = need((size_t)(e->n * e->width) * sizeof *e->root);
  e->leaf = need((size_t)(e->n * e->width) * sizeof *e->leaf);
}

void errand_close(errand *e)
{
  CHECK_OK(grove_op_free(&e->op));
  free(e->root);
  free(e->leaf);
}

void errand_init(errand *e)
{
  if (e->reduces)
    CHECK_OK(grove_reduce_init(e->forest, e->unit, e->leaf, e->root, MPI_SUM, &e->op));
  else
    CHECK_OK(grove_bcast_init(e->forest, e->unit, e->root, e->leaf, MPI_REPLACE, &e->op));
}

void errand_begin(errand *e)
{
  errand_fill(e);
  if (e->reduces)
    CHECK_OK(grove_reduce_begin(e->forest, e->unit, e->leaf, e->root, MPI_SUM, &e->op));
  else
    CHECK_OK(grove_bcast_begin(e->forest, e->unit, e->root, e->leaf, MPI_REPLACE, &e->op));
}

/* What is at `place` of an array before the operation. */
static int64_t before(const errand *e, int rank, int is_root, int64_t place)
{
  int64_t which = 2 * (rank + e->size * (int64_t)e->number) + is_root;
  return 1000000000 * which + 100003 * (int64_t)e->round + place;
}

void errand_fill(errand *e)
{
  e->round++;
  for (int64_t i = 0; i < e->n * e->width; i++) {
    e->root[i] = before(e, e->rank, 1, i);
    e->leaf[i] = before(e, e->rank, 0, i);
  }
}

/* Number k of unit i, after the operation. */
static void check_unit(const errand *e, int64_t i, int k)
{
  int next = (e->rank + 1) % e->size, previous = (e->rank + e->size - 1) % e->size;
  int64_t here = i * e->width + k, there = i * e->step % e->n * e->width + k;
  int64_t leaf = e->reduces ? before(e, e->rank, 0, here) : before(e, next, 1, there);
  int64_t root = before(e, e->rank, 1, there);
  if (e->reduces) root += before(e, previous, 0, here);
  CHECK(e->leaf[here] == leaf, "errand %d, round %d: leaf %lld is %lld, not %lld", e->number,
        e->round, (long long)i, (long long)e->leaf[here], (long long)leaf);
  CHECK(e->root[there] == root, "errand %d, round %d: the root of leaf %lld is %lld, not %lld",
        e->number, e->round, (long long)i, (long long)e->root[there], (long long)root);
}

void errand_check(const errand *e)
{
  for (int64_t i = 0; i < e->n; i++)
    for (int k = 0; k < e->width; k++) check_unit(e, i, k);
}
