/* A program that ends by GROVE_MUST, on its last rank; for tests/tools/must.sh. With an argument:
 * without MPI. */
#include "grove.h"

#include <stdio.h>

int main(int argc, char **argv)
{
  int rank = 0, size = 1, done = 0;
  GROVE_MUST(grove_version(NULL, NULL, NULL));
  if (argc > 1) GROVE_MUST(grove_test(NULL, &done));
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (rank == size - 1) GROVE_MUST(grove_wait(NULL));
  MPI_Barrier(MPI_COMM_WORLD); /* the job ends here, or never */
  printf("rank %d went on\n", rank);
  MPI_Finalize();
  return 0;
}
