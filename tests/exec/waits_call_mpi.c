/* Who waits for shared memory alone still calls MPI now and then: MPI may have called a send
 * complete that is not on its way yet, and somebody may be waiting for that. Here rank 0 starts,
 * without calling MPI, only after every other rank has called MPI in its wait, or in its tests. */
#include "check.h"

#include <sched.h>
#include <stdlib.h>

static int *called;  /* a flag a rank, in memory that all share */
static int watching; /* calls count */

/* Instead of MPI's own, which it calls: MPI allows for that. The library must find it, also where
 * the whole program is optimised at once. */
__attribute__((used, visibility("default"))) int MPI_Iprobe(int, int, MPI_Comm, int *,
                                                            MPI_Status *);

int MPI_Iprobe(int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status)
{
  if (watching) __atomic_store_n(&called[world_rank()], 1, __ATOMIC_RELEASE);
  return PMPI_Iprobe(source, tag, comm, flag, status);
}

static MPI_Win share_flags(void)
{
  MPI_Win window;
  MPI_Aint bytes;
  int unit;
  MPI_Win_allocate_shared(world_rank() == 0 ? (MPI_Aint)(world_size() * sizeof(int)) : 0,
                          sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &called, &window);
  MPI_Win_shared_query(window, 0, &bytes, &unit, &called);
  called[world_rank()] = 0;
  polite_barrier(MPI_COMM_WORLD);
  return window;
}

static void await_calls(void)
{
  for (int r = 1; r < world_size(); r++)
    while (!__atomic_load_n(&called[r], __ATOMIC_ACQUIRE)) sched_yield();
}

static void finish(grove_op *op, int by_tests)
{
  watching = 1;
  if (by_tests)
    polite_finish(op);
  else
    CHECK_OK(grove_wait(op));
  watching = 0;
}

static void exchange(grove_op *op, int by_tests)
{
  called[world_rank()] = 0;
  polite_barrier(MPI_COMM_WORLD);
  if (world_rank() == 0) await_calls();
  CHECK_OK(grove_start(op));
  finish(op, by_tests);
  polite_barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
  grove_context *ctx;
  grove_forest *forest;
  grove_op *op;
  int64_t root = 7, leaf = 0;
  test_begin(&argc, &argv, "exec/waits_call_mpi");
  MPI_Win window = share_flags();
  CHECK_OK(grove_context_create(MPI_COMM_WORLD, &ctx));
  CHECK_OK(grove_forest_create(ctx, &forest));
  CHECK_OK(grove_forest_set_graph(forest, world_rank() == 0, world_rank() != 0, NULL,
                                  &(grove_root){0, 0}));
  CHECK_OK(grove_forest_set_up(forest));
  CHECK_OK(grove_bcast_init(forest, MPI_INT64_T, &root, &leaf, MPI_REPLACE, &op));
  for (int by_tests = 0; by_tests < 2; by_tests++) {
    test_case(by_tests);
    leaf = 0;
    exchange(op, by_tests);
    CHECK(leaf == (world_rank() != 0 ? 7 : 0), "leaf is %lld", (long long)leaf);
  }
  CHECK_OK(grove_op_free(&op));
  CHECK_OK(grove_forest_free(&forest));
  CHECK_OK(grove_context_free(&ctx));
  MPI_Win_free(&window);
  return test_end();
}
