/* Arrays that the ranks of a node read in place. Every rank has a large block of its own, and needs
 * a copy of its left neighbour's block. The blocks are from grove_alloc. So inside a node each is
 * copied only once, from the owner's array straight into the reader's. Between nodes it travels as
 * usual. With malloc the program works as well, only slower.
 *
 *     mpirun -n 4 ./shared_array
 */
#include "common.h"

enum { VALUES = 1 << 17, ROUNDS = 10 };

int main(int argc, char **argv)
{
  int rank, size, wrong = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int left = (rank + size - 1) % size;

  grove_context *ctx;
  GROVE_MUST(grove_context_create(MPI_COMM_WORLD, &ctx));
  void *memory;
  GROVE_MUST(grove_alloc(ctx, VALUES * sizeof(double), &memory));
  double *own = memory, *copy = malloc(VALUES * sizeof *copy);
  grove_root *root = malloc(VALUES * sizeof *root);
  for (int i = 0; i < VALUES; i++) root[i] = (grove_root){left, i};

  grove_forest *forest;
  grove_op *update;
  GROVE_MUST(grove_forest_create(ctx, &forest));
  GROVE_MUST(grove_forest_set_graph(forest, VALUES, VALUES, NULL, root));
  GROVE_MUST(grove_forest_set_up(forest));
  GROVE_MUST(grove_bcast_init(forest, MPI_DOUBLE, own, copy, MPI_REPLACE, &update));
  free(root);

  for (int round = 0; round < ROUNDS; round++) {
    for (int i = 0; i < VALUES; i++) own[i] = 1000 * round + rank;
    GROVE_MUST(grove_start(update));
    GROVE_MUST(grove_wait(update)); /* the neighbour has taken it: own[] may change again */
    for (int i = 0; i < VALUES; i++) wrong += copy[i] != 1000 * round + left;
  }

  grove_report report = {.struct_size = sizeof report};
  GROVE_MUST(grove_op_report(update, &report));
  printf("rank %d: %d wrong, %lld bytes per round inside the node, over %s\n", rank, wrong,
         (long long)report.on_node_bytes, report.transport_on_node);

  GROVE_MUST(grove_op_free(&update));
  GROVE_MUST(grove_forest_free(&forest));
  GROVE_MUST(grove_dealloc(ctx, own));
  GROVE_MUST(grove_context_free(&ctx));
  free(copy);
  MPI_Finalize();
  return wrong > 0;
}
