#include "ring.h"

#include "check.h"

#include <stdlib.h>
#include <string.h>

static int other(const place *p, int step, int left_out)
{
  int rank = p->rank;
  do rank = (rank + step + p->size) % p->size;
  while (rank == left_out);
  return rank;
}

static void make_arrays(ring *x)
{
  x->root = need((size_t)x->n * sizeof *x->root);
  x->leaf = need((size_t)x->n * sizeof *x->leaf);
  ring_fill(x, 0);
}

ring ring_open(const place *p, int64_t n, int left_out, int reduces)
{
  ring x = {.me = p->rank, .reduces = reduces};
  CHECK(left_out == RING_NOBODY || p->size > 1, "nobody is left in the ring");
  if (p->rank != left_out) {
    x.n = n;
    x.previous = other(p, -1, left_out);
    x.next = other(p, 1, left_out);
  }
  grove_root *root = need((size_t)x.n * sizeof *root);
  for (int64_t i = 0; i < x.n; i++) root[i] = (grove_root){x.next, i};
  CHECK_OK(grove_forest_create(p->ctx, &x.forest));
  CHECK_OK(grove_forest_set_name(x.forest, "ring"));
  CHECK_OK(grove_forest_set_graph(x.forest, x.n, x.n, NULL, root));
  CHECK_OK(grove_forest_set_up(x.forest));
  free(root);
  make_arrays(&x);
  return x;
}

int64_t ring_room(const place *p, int64_t n, int starts)
{
  enum { SMALL_BYTES = 1024, SMALL_SLOTS = 16 }; /* src/transport/shm.c */
  grove_report report = {.struct_size = sizeof report};
  ring x = ring_open(p, 1, RING_NOBODY, 0);
  ring_init(&x);
  CHECK_OK(grove_op_report(x.op, &report));
  ring_close(&x);
  if (strcmp(report.transport_on_node, "shm") != 0) return n;
  CHECK(starts <= SMALL_SLOTS, "no message is so small that %d of it have room", starts);
  int64_t most = SMALL_BYTES / (int64_t)sizeof *x.root;
  return n < most ? n : most;
}

ring ring_sibling(const ring *x)
{
  ring y = *x;
  y.borrowed = 1;
  y.op = NULL;
  make_arrays(&y);
  return y;
}

void ring_init(ring *x)
{
  if (x->reduces)
    CHECK_OK(grove_reduce_init(x->forest, MPI_INT64_T, x->leaf, x->root, MPI_SUM, &x->op));
  else
    CHECK_OK(grove_bcast_init(x->forest, MPI_INT64_T, x->root, x->leaf, MPI_REPLACE, &x->op));
}

void ring_begin(ring *x)
{
  if (x->reduces)
    CHECK_OK(grove_reduce_begin(x->forest, MPI_INT64_T, x->leaf, x->root, MPI_SUM, &x->op));
  else
    CHECK_OK(grove_bcast_begin(x->forest, MPI_INT64_T, x->root, x->leaf, MPI_REPLACE, &x->op));
}

static int64_t root_value(int rank, int round, int64_t i)
{
  return 1000003 * (int64_t)(rank + 1) + 70001 * (int64_t)round + i;
}

static int64_t leaf_value(int rank, int round, int64_t i)
{
  return -(900001 * (int64_t)(rank + 1) + 50021 * (int64_t)round + 3 * i);
}

void ring_fill(ring *x, int round)
{
  for (int64_t i = 0; i < x->n; i++) {
    x->root[i] = root_value(x->me, round, i);
    x->leaf[i] = leaf_value(x->me, round, i);
  }
}

void ring_check(const ring *x, int round)
{
  for (int64_t i = 0; i < x->n; i++) {
    int64_t root = root_value(x->me, round, i), leaf = leaf_value(x->me, round, i);
    if (x->reduces)
      root += leaf_value(x->previous, round, i);
    else
      leaf = root_value(x->next, round, i);
    CHECK(x->root[i] == root, "root %lld is %lld, not %lld, in round %d", (long long)i,
          (long long)x->root[i], (long long)root, round);
    CHECK(x->leaf[i] == leaf, "leaf %lld is %lld, not %lld, in round %d", (long long)i,
          (long long)x->leaf[i], (long long)leaf, round);
  }
}

void ring_run(ring *x, int rounds)
{
  ring_init(x);
  for (int round = 1; round <= rounds; round++) {
    ring_fill(x, round);
    CHECK_OK(grove_start(x->op));
    CHECK_OK(grove_wait(x->op));
    ring_check(x, round);
  }
  CHECK_OK(grove_op_free(&x->op));
}

void ring_close(ring *x)
{
  CHECK_OK(grove_op_free(&x->op));
  if (!x->borrowed) CHECK_OK(grove_forest_free(&x->forest));
  free(x->root);
  free(x->leaf);
  *x = (ring){0};
}
