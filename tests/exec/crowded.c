/* Many more ranks than cores: everybody with everybody, and rings of messages, each of which needs
 * all ranks to get their turn. */
#include "check.h"
#include "places.h"
#include "ring.h"

#include <stdlib.h>

static int64_t value(int from, int to, int64_t i, int round)
{
  return ((int64_t)from * 1000 + to) * 100 + i + 7 * (int64_t)round;
}

/* Leaf block j of rank i is root block i of rank j. */
static void everybody_with_everybody(const place *p, int64_t n, int rounds)
{
  grove_forest *f = NULL;
  grove_op *op[2] = {NULL, NULL};
  size_t bytes = (size_t)(p->size * n) * sizeof(int64_t);
  int64_t *root = need(bytes), *leaf = need(bytes);
  CHECK_OK(grove_forest_create(p->ctx, &f));
  CHECK_OK(grove_forest_set_pattern(f, GROVE_ALLTOALL, n));
  CHECK_OK(grove_forest_set_up(f));
  CHECK_OK(grove_bcast_init(f, MPI_INT64_T, root, leaf, MPI_REPLACE, &op[0]));
  CHECK_OK(grove_reduce_init(f, MPI_INT64_T, leaf, root, MPI_SUM, &op[1]));
  for (int round = 0; round < rounds; round++) {
    for (int r = 0; r < p->size; r++)
      for (int64_t i = 0; i < n; i++) root[r * n + i] = value(p->rank, r, i, round);
    CHECK_OK(grove_start(op[0]));
    CHECK_OK(grove_wait(op[0]));
    CHECK_OK(grove_start(op[1])); /* back to where it came from: it doubles */
    CHECK_OK(grove_wait(op[1]));
    for (int r = 0; r < p->size; r++)
      for (int64_t i = 0; i < n; i++) {
        CHECK(leaf[r * n + i] == value(r, p->rank, i, round), "from %d: wrong in round %d", r,
              round);
        CHECK(root[r * n + i] == 2 * value(p->rank, r, i, round), "to %d: wrong in round %d", r,
              round);
      }
  }
  for (int i = 0; i < 2; i++) CHECK_OK(grove_op_free(&op[i]));
  CHECK_OK(grove_forest_free(&f));
  free(root);
  free(leaf);
}

static void around(const place *p, int64_t n, int rounds)
{
  for (op_kind k = 0; k < OP_KINDS; k++) {
    ring x = ring_open(p, n, RING_NOBODY, k);
    ring_run(&x, rounds);
    ring_close(&x);
  }
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "exec/crowded");
  place p = place_create(split(0));
  int rounds = (int)test_samples(10);
  everybody_with_everybody(&p, 1, 2 * rounds);
  test_case(1);
  everybody_with_everybody(&p, 200, rounds);
  test_case(2);
  around(&p, RING_SMALL, 5 * rounds);
  test_case(3);
  around(&p, 5000, rounds);
  test_case(4);
  place_free(&p);
  return test_end();
}
