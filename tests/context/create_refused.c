/* One rank cannot have a context, so nobody gets one. What the others have begun goes on all ranks:
 * nothing of it meets a communicator that is made later, and MPI_Finalize waits for none of it. */
#include "check.h"
#include "context/context.h"

/* All ranks are here, and look. */
static void all_is_gone(void)
{
  enum { SECONDS = 60 };
  grove_pause pause;
  int some = 1;
  grove_pause_begin(&pause, 0);
  while ((some = grove_context_end_retired()) && !grove_pause_expired(&pause, SECONDS))
    grove_pause_step(&pause);
  CHECK(!some, "a communicator still waits for other ranks");
}

static void refuse(int bad)
{
  grove_context *ctx = NULL;
  grove_status status = grove_context_create(MPI_COMM_WORLD, world_rank() == bad ? NULL : &ctx);
  CHECK_STATUS(status, GROVE_ERR_ARG);
  CHECK_SAME_ERROR(MPI_COMM_WORLD, status);
  CHECK(ctx == NULL, "an output was set by a call that failed");
}

/* A communicator whose number the refused one may have had, without one of its ranks. */
static void make_another(int bad)
{
  MPI_Comm some = split(world_rank() == bad), again;
  grove_context *ctx = NULL;
  MPI_Comm_dup(some, &again);
  polite_barrier(again);
  CHECK_OK(grove_context_create(some, &ctx));
  CHECK_OK(grove_context_free(&ctx));
  MPI_Comm_free(&again);
  MPI_Comm_free(&some);
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "context/create_refused");
  for (int64_t i = 0; i < test_samples(20); i++) {
    int bad = (int)(i % world_size());
    test_case(i);
    refuse(bad);
    if (i % 2) all_is_gone();
    make_another((bad + 1) % world_size());
    all_is_gone();
  }
  return test_end();
}
