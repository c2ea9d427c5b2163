/* Halo exchange, by hand and with Grove. A grid is cut into strips, one per rank. A strip needs the
 * last column of the strip to its left and the first column of the one to its right. They are its
 * ghosts, at the end of its vector. By hand they are packed and sent. Grove is told once of which
 * cell each ghost is a copy, and does the rest. The program runs both and compares them.
 *
 *     mpirun -n 4 halo
 */
#include "common.h"
#include <string.h>

enum { NX = 6, NY = 4, OWN = NX * NY, ALL = OWN + 2 * NY, ROUNDS = 5 };

static void exchange_by_hand(double *x, int left, int right)
{
  double to_left[NY], to_right[NY];
  for (int y = 0; y < NY; y++) {
    to_left[y] = x[y * NX];
    to_right[y] = x[y * NX + NX - 1];
  }
  MPI_Request request[4];
  MPI_Irecv(x + OWN, NY, MPI_DOUBLE, left, 0, MPI_COMM_WORLD, &request[0]);
  MPI_Irecv(x + OWN + NY, NY, MPI_DOUBLE, right, 1, MPI_COMM_WORLD, &request[1]);
  MPI_Isend(to_left, NY, MPI_DOUBLE, left, 1, MPI_COMM_WORLD, &request[2]);
  MPI_Isend(to_right, NY, MPI_DOUBLE, right, 0, MPI_COMM_WORLD, &request[3]);
  MPI_Waitall(4, request, MPI_STATUSES_IGNORE);
}

/* The same ghosts: slot OWN + y and slot OWN + NY + y of the vector. */
static grove_forest *make_halo(grove_context *ctx, int left, int right)
{
  int64_t slot[2 * NY], n = 0;
  grove_root owner[2 * NY];
  for (int y = 0; y < NY && left != MPI_PROC_NULL; y++, n++) {
    slot[n] = OWN + y;
    owner[n] = (grove_root){left, y * NX + NX - 1};
  }
  for (int y = 0; y < NY && right != MPI_PROC_NULL; y++, n++) {
    slot[n] = OWN + NY + y;
    owner[n] = (grove_root){right, y * NX};
  }
  grove_forest *halo;
  GROVE_MUST(grove_forest_create(ctx, &halo));
  GROVE_MUST(grove_forest_set_graph(halo, OWN, n, slot, owner));
  GROVE_MUST(grove_forest_set_up(halo));
  return halo;
}

int main(int argc, char **argv)
{
  int rank, size, wrong = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int left = rank > 0 ? rank - 1 : MPI_PROC_NULL;
  int right = rank + 1 < size ? rank + 1 : MPI_PROC_NULL;

  double x[ALL] = {0}, by_hand[ALL] = {0}; /* at the ends of the grid the ghosts stay 0 */
  grove_context *ctx;
  grove_op *update;
  GROVE_MUST(grove_context_create(MPI_COMM_WORLD, &ctx));
  grove_forest *halo = make_halo(ctx, left, right);
  GROVE_MUST(grove_bcast_init(halo, MPI_DOUBLE, x, x, MPI_REPLACE, &update));

  for (int round = 0; round < ROUNDS; round++) {
    for (int i = 0; i < OWN; i++) x[i] = by_hand[i] = 1000 * round + 100 * rank + i;
    exchange_by_hand(by_hand, left, right);
    GROVE_MUST(grove_start(update));
    GROVE_MUST(grove_wait(update));
    wrong += memcmp(x, by_hand, sizeof x) != 0;
    if (rank > 0) wrong += x[OWN] != 1000 * round + 100 * left + NX - 1;
  }
  printf("rank %d: %s\n", rank, wrong ? "WRONG" : "the same ghosts both ways");
  GROVE_MUST(grove_op_free(&update));
  GROVE_MUST(grove_forest_free(&halo));
  GROVE_MUST(grove_context_free(&ctx));
  MPI_Finalize();
  return wrong > 0;
}
