/* Assembly and halo exchange on a line of elements, as every finite element code does them. Each
 * rank owns some nodes. Its last element reaches to the first node of the next rank, and that node
 * is its ghost. A reduce takes contributions to ghosts home, and a bcast brings values.
 *
 *     mpirun -n 4 assemble
 */
#include "common.h"

enum { NODES = 5 }; /* how many a rank owns */

/* Joins the ghost, slot NODES, to the first node of the next rank. The last rank has no ghost. */
static grove_forest *make_forest(grove_context *ctx, int rank, int size)
{
  grove_forest *halo;
  int64_t slot = NODES;
  grove_root owner = {rank + 1, 0};
  GROVE_MUST(grove_forest_create(ctx, &halo));
  GROVE_MUST(grove_forest_set_name(halo, "shared nodes"));
  GROVE_MUST(grove_forest_set_graph(halo, NODES, rank + 1 < size, &slot, &owner));
  GROVE_MUST(grove_forest_set_up(halo));
  return halo;
}

int main(int argc, char **argv)
{
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);

  grove_context *ctx;
  GROVE_MUST(grove_context_create(MPI_COMM_WORLD, &ctx));
  grove_forest *halo = make_forest(ctx, rank, size);
  double load[NODES + 1] = {0};
  grove_op *send_home, *update;
  GROVE_MUST(grove_reduce_init(halo, MPI_DOUBLE, load, load, MPI_SUM, &send_home));
  GROVE_MUST(grove_bcast_init(halo, MPI_DOUBLE, load, load, MPI_REPLACE, &update));

  /* Every element gives half of its load to each of its two nodes. The last element comes first, so
   * that its ghost travels while the others are computed. */
  int elements = rank + 1 < size ? NODES : NODES - 1;
  if (elements == NODES) load[NODES - 1] = load[NODES] = 0.5;
  GROVE_MUST(grove_start(send_home));
  double inner[NODES] = {0};
  for (int e = 0; e < NODES - 1; e++) {
    inner[e] += 0.5;
    inner[e + 1] += 0.5;
  }
  GROVE_MUST(grove_wait(send_home));
  for (int i = 0; i < NODES; i++) load[i] += inner[i];

  GROVE_MUST(grove_start(update)); /* now the ghost is the owner's value */
  GROVE_MUST(grove_wait(update));

  /* Every node has a load of 1, but the two ends of the line have 1/2. */
  int wrong = 0;
  for (int i = 0; i < NODES + (rank + 1 < size); i++) {
    int at_end = (rank == 0 && i == 0) || (rank == size - 1 && i == NODES - 1);
    wrong += load[i] != (at_end ? 0.5 : 1.0);
  }
  printf("rank %d: %s\n", rank, wrong ? "WRONG" : "all loads right");
  GROVE_MUST(grove_op_free(&send_home));
  GROVE_MUST(grove_op_free(&update));
  GROVE_MUST(grove_forest_free(&halo));
  GROVE_MUST(grove_context_free(&ctx));
  MPI_Finalize();
  return wrong > 0;
}
