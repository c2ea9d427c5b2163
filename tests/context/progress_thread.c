/* With progress=thread operations advance although nobody calls Grove; all that works without works
 * with it; and MPI must allow threads. */
#include "check.h"
#include "places.h"
#include "threads.h"

#include <sched.h>
#include <stdlib.h>

enum { UNITS = 200000, ROUNDS = 20 };

typedef struct pair {
  grove_forest *forest;
  int64_t *root, *leaf;
} pair;

/* Every rank has the roots of the next one as leaves: far more than the rings hold. */
static pair pair_open(grove_context *ctx, int rank, int size)
{
  pair x = {.root = need(UNITS * sizeof *x.root), .leaf = need(UNITS * sizeof *x.leaf)};
  grove_root *root = need(UNITS * sizeof *root);
  for (int64_t i = 0; i < UNITS; i++) {
    root[i] = (grove_root){(rank + 1) % size, i};
    x.leaf[i] = 0;
  }
  CHECK_OK(grove_forest_create(ctx, &x.forest));
  CHECK_OK(grove_forest_set_graph(x.forest, UNITS, UNITS, NULL, root));
  CHECK_OK(grove_forest_set_up(x.forest));
  free(root);
  return x;
}

static void pair_close(pair *x)
{
  CHECK_OK(grove_forest_free(&x->forest));
  free(x->root);
  free(x->leaf);
}

static int64_t starts_of(grove_op *op)
{
  grove_report report = {.struct_size = sizeof report};
  CHECK_OK(grove_op_report(op, &report));
  return report.starts;
}

/* The operation completes although this thread does nothing but look. */
static void advances_alone(pair *x, int rank, int size)
{
  grove_op *op = NULL;
  CHECK_OK(grove_bcast_init(x->forest, MPI_INT64_T, x->root, x->leaf, MPI_REPLACE, &op));
  for (int round = 1; round <= ROUNDS; round++) {
    int64_t expected = 1000 * round + (rank + 1) % size;
    for (int64_t i = 0; i < UNITS; i++) x->root[i] = 1000 * round + rank;
    polite_barrier(MPI_COMM_WORLD);
    CHECK_OK(grove_start(op));
    while (starts_of(op) < round) sched_yield();
    polite_barrier(MPI_COMM_WORLD); /* in MPI, not in Grove, until everybody has it */
    CHECK_OK(grove_wait(op));
    for (int64_t i = 0; i < UNITS; i++)
      CHECK(x->leaf[i] == expected, "leaf %lld is %lld, not %lld", (long long)i,
            (long long)x->leaf[i], (long long)expected);
  }
  CHECK_OK(grove_op_free(&op));
}

/* Calls and the helper at once, operations of several kinds, freed in the middle. */
static void with_calls(pair *x, int rank, int size)
{
  for (int round = 0; round < ROUNDS; round++) {
    grove_op *a = NULL, *b = NULL;
    int done = 0;
    for (int64_t i = 0; i < UNITS; i++) x->root[i] = x->leaf[i] = rank + round;
    CHECK_OK(grove_reduce_begin(x->forest, MPI_INT64_T, x->leaf, x->root, MPI_SUM, &a));
    while (!done) CHECK_OK(grove_test(a, &done));
    CHECK_OK(grove_end(&a));
    int before = (rank + size - 1) % size;
    CHECK(x->root[UNITS / 2] == rank + before + 2 * round, "round %d: a sum is %lld", round,
          (long long)x->root[UNITS / 2]);
    CHECK_OK(grove_bcast_init(x->forest, MPI_INT64_T, x->root, x->leaf, MPI_MAX, &b));
    CHECK_OK(grove_start(b));
    if (round % 2) CHECK_OK(grove_wait(b));
    polite_barrier(MPI_COMM_WORLD);
    CHECK_OK(grove_op_free(&b));
    polite_barrier(MPI_COMM_WORLD);
  }
}

/* A rank frees what it has started and goes on in MPI; others, who start only then, get its data
 * all the same, which is far more than the rings hold. */
static void freed_and_seen_off(pair *x, int rank, int size)
{
  grove_op *op = NULL;
  for (int64_t i = 0; i < UNITS; i++) x->root[i] = 77 + rank;
  CHECK_OK(grove_bcast_init(x->forest, MPI_INT64_T, x->root, x->leaf, MPI_REPLACE, &op));
  if (rank == 0) {
    CHECK_OK(grove_start(op));
    CHECK_OK(grove_op_free(&op));
  }
  polite_barrier(MPI_COMM_WORLD);
  if (rank != 0) {
    CHECK_OK(grove_start(op));
    CHECK_OK(grove_wait(op));
    CHECK(x->leaf[UNITS - 1] == 77 + (rank + 1) % size, "the last leaf is %lld",
          (long long)x->leaf[UNITS - 1]);
  }
  polite_barrier(MPI_COMM_WORLD); /* rank 0 is here all the while */
  CHECK_OK(grove_op_free(&op));
}

static void comes_and_goes(grove_context *ctx, pair *x, int rank, int size)
{
  static const char *const values[] = {"thread", "calls", "thread", "thread"};
  for (int i = 0; i < 4; i++) {
    CHECK_OK(grove_context_set(ctx, "progress", values[i]));
    for (int64_t k = 0; k < UNITS; k++) x->root[k] = rank;
    CHECK_OK(grove_bcast(x->forest, MPI_INT64_T, x->root, x->leaf, MPI_REPLACE));
    CHECK(x->leaf[7] == (rank + 1) % size, "leaf is %lld", (long long)x->leaf[7]);
  }
  CHECK_STATUS(grove_context_set(ctx, "progress", "magic"), GROVE_ERR_OPTION);
}

int main(int argc, char **argv)
{
  int threads = test_begin_threads(&argc, &argv, "context/progress_thread");
  grove_context *ctx = NULL;
  CHECK_OK(grove_context_create(MPI_COMM_WORLD, &ctx));
  if (!threads) {
    CHECK_STATUS(grove_context_set(ctx, "progress", "thread"), GROVE_ERR_UNSUPPORTED);
    CHECK_OK(grove_context_free(&ctx));
    return test_end();
  }
  CHECK_OK(grove_context_set(ctx, "progress", "thread"));
  pair x = pair_open(ctx, world_rank(), world_size());
  advances_alone(&x, world_rank(), world_size());
  with_calls(&x, world_rank(), world_size());
  freed_and_seen_off(&x, world_rank(), world_size());
  comes_and_goes(ctx, &x, world_rank(), world_size());
  pair_close(&x);
  if (world_size() != 3) CHECK_OK(grove_context_free(&ctx)); /* else MPI_Finalize meets it */
  return test_end();
}
