/* The option `timeout` while a context is made. Ranks whose partner does not come, or stays behind
 * halfway, get GROVE_ERR_TIMEOUT with the name of the call; contexts on other communicators are
 * made and work, and MPI_Finalize returns.
 *
 * The last rank is the one that the others wait for. It begins a context with rank 0 and is held up
 * in it; the others want one with it too, and it does not come. */
#define _POSIX_C_SOURCE 200809L /* setenv */
#include "check.h"
#include "places.h"
#include "shared.h"

#include <stdlib.h>
#include <string.h>

/* ---- holding the last rank up ---- */

static int held; /* it is to wait for rank 0's word */

/* MPI's profiling interface: the first message of a rank that makes a context says where it is. */
GROVE_API int MPI_Isend(const void *data, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm,
                        MPI_Request *request)
{
  if (held) {
    MPI_Request word;
    held = 0;
    MPI_Irecv(NULL, 0, MPI_INT, 0, 0, MPI_COMM_WORLD, &word);
    polite_wait(&word);
  }
  return PMPI_Isend(data, n, type, to, tag, comm, request);
}

static void release(int last)
{
  MPI_Request word;
  MPI_Isend(NULL, 0, MPI_INT, last, 0, MPI_COMM_WORLD, &word);
  polite_wait(&word);
}

/* ---- contexts ---- */

static void times_out(MPI_Comm comm)
{
  grove_context *ctx = NULL;
  grove_status status = grove_context_create(comm, &ctx);
  CHECK(status == GROVE_ERR_TIMEOUT, "%s: %s", grove_status_name(status), grove_last_error());
  CHECK(strstr(grove_last_error(), "grove_context_create"), "'%s'", grove_last_error());
  CHECK(ctx == NULL, "an output was set by a call that failed");
  CHECK(shared_bytes() == 0, "%lld bytes of shared memory are left", (long long)shared_bytes());
}

static void works(void)
{
  place p = place_create(split(0));
  int x = p.rank, *all = need((size_t)p.size * sizeof *all);
  grove_forest *f = NULL;
  CHECK_OK(grove_forest_create(p.ctx, &f));
  CHECK_OK(grove_forest_set_pattern(f, GROVE_ALLGATHER, 1));
  CHECK_OK(grove_forest_set_up(f));
  CHECK_OK(grove_bcast(f, MPI_INT, &x, all, MPI_REPLACE));
  for (int r = 0; r < p.size; r++) CHECK(all[r] == r, "rank %d sent %d", r, all[r]);
  CHECK_OK(grove_forest_free(&f));
  place_free(&p);
  free(all);
}

/* Rank 0's timeout counts for all, as soon as it is known. */
static void own_timeouts(void)
{
  setenv("GROVE_TIMEOUT", world_rank() > 0 ? "soon" : "100", 1);
  works();
  setenv("GROVE_TIMEOUT", "0.3", 1); /* nobody is to succeed before it ends */
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "context/creation_timeout");
  int rank = world_rank(), last = world_size() - 1;
  if (last == 0) return test_skip("one rank waits for nobody");
  MPI_Comm with_first = split(rank == 0 || rank == last ? 0 : MPI_UNDEFINED);
  MPI_Comm with_others = split(rank > 0 ? 0 : MPI_UNDEFINED);
  own_timeouts();
  held = rank == last;
  polite_barrier(MPI_COMM_WORLD);
  times_out(rank == 0 || rank == last ? with_first : with_others);
  if (rank == 0) release(last);
  polite_barrier(MPI_COMM_WORLD);
  unsetenv("GROVE_TIMEOUT");
  works();
  return test_end();
}
