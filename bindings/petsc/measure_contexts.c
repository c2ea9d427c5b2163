/* What making a context of Grove takes, on the slowest rank: the first of the process, further ones
 * on the same ranks, and those of one rank. `measure` beside this file compiles and runs it. */
#include <grove.h>
#include <stdio.h>
#include <stdlib.h>

enum { FURTHER = 41 };

static double create_and_free(MPI_Comm comm)
{
  grove_context *ctx;
  MPI_Barrier(MPI_COMM_WORLD);
  double since = MPI_Wtime(), taken, most;
  GROVE_MUST(grove_context_create(comm, &ctx));
  taken = MPI_Wtime() - since;
  GROVE_MUST(grove_context_free(&ctx));
  MPI_Allreduce(&taken, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return 1e6 * most;
}

static int compare(const void *a, const void *b)
{
  const double *x = a, *y = b;
  return (*x > *y) - (*x < *y);
}

static double median_of_further(MPI_Comm comm)
{
  double taken[FURTHER];
  for (int i = 0; i < FURTHER; i++) taken[i] = create_and_free(comm);
  qsort(taken, FURTHER, sizeof *taken, compare);
  return taken[FURTHER / 2];
}

int main(int argc, char **argv)
{
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  double first = create_and_free(MPI_COMM_WORLD), further = median_of_further(MPI_COMM_WORLD);
  double alone = median_of_further(MPI_COMM_SELF);
  if (rank == 0)
    printf(
      "| context | us |\n|---|---|\n| first | %.0f |\n| further | %.0f |\n| of one rank | %.1f "
      "|\n",
      first, further, alone);
  return MPI_Finalize();
}
