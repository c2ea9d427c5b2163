/* Ghosts in the memory of a GPU. A vector is spread over the ranks, and each has its part on its
 * device. Behind it lie copies of the neighbours' first and last values. The program touches device
 * memory only by grove_copy. So it needs no header of CUDA, and runs without a GPU:
 *
 *     mpirun -n 4 device_halo                             on the GPU, if there is one
 *     GROVE_DEVICE=emulated mpirun -n 4 device_halo       on a device that is made up
 */
#include "common.h"
#include "grove_cuda.h"

enum { OWN = 1000, LEFT = OWN, RIGHT = OWN + 1, ALL = OWN + 2, ROUNDS = 5 };

static grove_forest *make_halo(grove_context *ctx, int rank, int size)
{
  int64_t slot[2], n = 0;
  grove_root owner[2];
  if (rank > 0) {
    slot[n] = LEFT;
    owner[n++] = (grove_root){rank - 1, OWN - 1};
  }
  if (rank + 1 < size) {
    slot[n] = RIGHT;
    owner[n++] = (grove_root){rank + 1, 0};
  }
  grove_forest *halo;
  GROVE_MUST(grove_forest_create(ctx, &halo));
  GROVE_MUST(grove_forest_set_graph(halo, OWN, n, slot, owner));
  GROVE_MUST(grove_forest_set_up(halo));
  return halo;
}

/* A GPU if there is one. If not, the emulated device shows the same. */
static const char *take_memory(grove_context *ctx, double **x)
{
  if (grove_alloc_device(ctx, ALL * sizeof **x, (void **)x) == GROVE_OK) return "a device";
  GROVE_MUST(grove_context_set(ctx, "device", "emulated"));
  GROVE_MUST(grove_alloc_device(ctx, ALL * sizeof **x, (void **)x));
  return "an emulated device";
}

int main(int argc, char **argv)
{
  int rank, size, wrong = 0;
  double *x, values[ALL] = {0};
  grove_context *ctx;
  grove_op *update;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  GROVE_MUST(grove_context_create(MPI_COMM_WORLD, &ctx));
  const char *where = take_memory(ctx, &x);
  grove_forest *halo = make_halo(ctx, rank, size);
  GROVE_MUST(grove_bcast_init(halo, MPI_DOUBLE, x, x, MPI_REPLACE, &update));

  for (int round = 0; round < ROUNDS; round++) {
    for (int i = 0; i < OWN; i++) values[i] = 1e6 * round + 1e4 * rank + i;
    GROVE_MUST(grove_copy(ctx, x, values, sizeof values));
    GROVE_MUST(grove_start(update));
    GROVE_MUST(grove_wait(update));
    GROVE_MUST(grove_copy(ctx, values, x, sizeof values));
    if (rank > 0) wrong += values[LEFT] != 1e6 * round + 1e4 * (rank - 1) + OWN - 1;
    if (rank + 1 < size) wrong += values[RIGHT] != 1e6 * round + 1e4 * (rank + 1);
  }
  printf("rank %d: ghosts in the memory of %s %s\n", rank, where, wrong ? "are WRONG" : "agree");

  GROVE_MUST(grove_op_free(&update));
  GROVE_MUST(grove_forest_free(&halo));
  GROVE_MUST(grove_dealloc(ctx, x));
  GROVE_MUST(grove_context_free(&ctx));
  MPI_Finalize();
  return wrong > 0;
}
