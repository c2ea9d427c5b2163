/* A program that ignores every status; for tests/tools/must.sh. On its last rank it waits for an
 * operation that is NULL, if the argument is `wait`. The context is freed before its forest if the
 * argument is `forest`, and both before their operation if it is `op`. */
#include "grove.h"

#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
  int rank = 0, size = 1, x = 0;
  const char *how = argc > 1 ? argv[1] : "";
  grove_context *ctx = NULL;
  grove_forest *forest = NULL;
  grove_op *op = NULL;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  grove_context_create(MPI_COMM_WORLD, &ctx);
  grove_forest_create(ctx, &forest);
  grove_forest_set_graph(forest, 1, 0, NULL, NULL);
  grove_forest_set_up(forest);
  grove_bcast_init(forest, MPI_INT, &x, &x, MPI_REPLACE, &op);
  if (rank == size - 1 && strcmp(how, "wait") == 0) grove_wait(NULL);
  if (strcmp(how, "op") != 0) grove_op_free(&op);
  if (strcmp(how, "forest") != 0) grove_forest_free(&forest);
  grove_context_free(&ctx);
  grove_forest_free(&forest);
  grove_op_free(&op);
  MPI_Barrier(MPI_COMM_WORLD);
  printf("rank %d went on\n", rank);
  MPI_Finalize();
  return 0;
}
