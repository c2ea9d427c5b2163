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
  x->update = x->kind == KIND_FETCH ? need((size_t)x->n * sizeof *x->update) : NULL;
  ring_fill(x, 0);
}

ring ring_open(const place *p, int64_t n, int left_out, op_kind k)
{
  ring x = {.me = p->rank, .kind = k};
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
  enum { SMALL_BYTES = 1024 - 64, SMALL_SLOTS = 16 }; /* src/transport/shm.c; `check` adds some */
  grove_report report = {.struct_size = sizeof report};
  ring x = ring_open(p, 1, RING_NOBODY, KIND_BCAST);
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

op_call ring_call(const ring *x)
{
  return (op_call){.kind = x->kind,
                   .f = x->forest,
                   .unit = MPI_INT64_T,
                   .op = x->kind == KIND_BCAST ? MPI_REPLACE : MPI_SUM,
                   .root = x->root,
                   .leaf = x->leaf,
                   .update = x->update};
}

void ring_init(ring *x)
{
  op_call c = ring_call(x);
  CHECK_OK(call_init(&c, &x->op));
}

void ring_begin(ring *x)
{
  op_call c = ring_call(x);
  CHECK_OK(call_begin(&c, &x->op));
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
    if (x->update != NULL) x->update[i] = -1;
  }
}

static int64_t root_after(const ring *x, int round, int64_t i)
{
  int64_t root = root_value(x->me, round, i), leaf = leaf_value(x->previous, round, i);
  if (!kind_goes_to_roots(x->kind)) return root;
  return x->kind == KIND_GATHER ? leaf : root + leaf;
}

static int64_t leaf_after(const ring *x, int round, int64_t i)
{
  return kind_goes_to_roots(x->kind) ? leaf_value(x->me, round, i) : root_value(x->next, round, i);
}

static void check_value(const ring *x, const char *what, int64_t got, int64_t expected, int round,
                        int64_t i)
{
  CHECK(got == expected, "%s: %s %lld is %lld, not %lld, in round %d", kind_name(x->kind), what,
        (long long)i, (long long)got, (long long)expected, round);
}

void ring_check(const ring *x, int round)
{
  for (int64_t i = 0; i < x->n; i++) {
    check_value(x, "root", x->root[i], root_after(x, round, i), round, i);
    check_value(x, "leaf", x->leaf[i], leaf_after(x, round, i), round, i);
    if (x->update != NULL)
      check_value(x, "update", x->update[i], root_value(x->next, round, i), round, i);
  }
}

int64_t *ring_snapshot(const ring *x)
{
  size_t bytes = (size_t)x->n * sizeof *x->root;
  int64_t *copy = need(3 * bytes);
  memcpy(copy, x->root, bytes);
  memcpy(copy + x->n, x->leaf, bytes);
  if (x->update != NULL) memcpy(copy + 2 * x->n, x->update, bytes);
  return copy;
}

void ring_check_unchanged(const ring *x, int64_t *then)
{
  size_t bytes = (size_t)x->n * sizeof *x->root;
  CHECK(memcmp(x->root, then, bytes) == 0, "%s: the roots changed", kind_name(x->kind));
  CHECK(memcmp(x->leaf, then + x->n, bytes) == 0, "%s: the leaves changed", kind_name(x->kind));
  CHECK(x->update == NULL || memcmp(x->update, then + 2 * x->n, bytes) == 0, "the updates changed");
  free(then);
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
  free(x->update);
  *x = (ring){0};
}
