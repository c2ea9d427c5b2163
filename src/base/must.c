/* GROVE_MUST and the option on_error: a program that does nothing about a failure ends with its
 * sentence. */
#include "base/options.h"

#include <stdlib.h>
#include <time.h>

/* This rank in MPI_COMM_WORLD; -1 where there is no MPI, or no more. */
static int rank_in_world(void)
{
  int initialized = 0, rank = -1;
  MPI_Initialized(&initialized);
  if (initialized && !grove_mpi_is_gone()) MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

/* MPICH's mpiexec ends an aborted job at once, and may lose what it has not read yet: without this,
 * three sentences of a hundred. */
static void let_mpiexec_read(void)
{
  const struct timespec moment = {0, 50 * 1000 * 1000};
  nanosleep(&moment, NULL);
}

/* Prints in one piece, since other ranks may be printing. */
static void end_job(grove_status status, const char *call, const char *file, int line)
{
  int rank = rank_in_world();
  char who[32] = "";
  const char *name = grove_status_name(status), *sentence = grove_last_error();
  if (rank >= 0) snprintf(who, sizeof who, "rank %d: ", rank);
  fflush(stdout); /* what the program has said comes first */
  if (call)
    fprintf(stderr, "grove: %s%s:%d: %s is %s: %s\n", who, file, line, call, name, sentence);
  else
    fprintf(stderr, "grove: %s%s: %s\n", who, name, sentence);
  fflush(stderr);
  if (rank >= 0) {
    let_mpiexec_read();
    MPI_Abort(MPI_COMM_WORLD, (int)status);
  }
  abort();
}

void grove_must_end(grove_status status, const char *call, const char *file, int line)
{
  end_job(status, call, file, line);
}

grove_status grove_verdict_by(int on_error, grove_status status)
{
  if (on_error == GROVE_ON_ERROR_ABORT) end_job(status, NULL, NULL, 0);
  return status;
}

grove_status grove_verdict_alone(grove_status status)
{
  if (status == GROVE_OK) return GROVE_OK;
  return grove_verdict_by(grove_options_read_on_error(), status);
}
