/* GROVE_MUST: a program that can do nothing about a failure ends with its sentence. */
#include "base/status.h"

#include <stdlib.h>

/* This rank in MPI_COMM_WORLD; -1 where there is no MPI, or no more. */
static int rank_in_world(void)
{
  int initialized = 0, rank = -1;
  MPI_Initialized(&initialized);
  if (initialized && !grove_mpi_is_gone()) MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

void grove_must_end(grove_status status, const char *call, const char *file, int line)
{
  int rank = rank_in_world();
  char who[32] = "";
  if (rank >= 0) snprintf(who, sizeof who, "rank %d: ", rank);
  fflush(stdout); /* what the program has said comes first */
  fprintf(stderr, "grove: %s%s:%d: %s is %s: %s\n", who, file, line, call,
          grove_status_name(status), grove_last_error());
  fflush(stderr);
  if (rank >= 0) MPI_Abort(MPI_COMM_WORLD, (int)status);
  abort();
}
