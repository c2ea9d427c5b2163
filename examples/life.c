/* A 2-D array with a frame: Conway's game of life on a torus. Each rank has a block of the world in
 * an array with one cell more on every side. grove_forest_box makes the forest that fills this
 * frame from the other blocks, corners included. The result is compared with that of one rank.
 *
 *     mpirun -n 4 life
 */
#include "common.h"
#include <string.h>

enum { NY = 18, NX = 23, ROUNDS = 30 };

static int alive_at_first(int64_t y, int64_t x)
{
  return (y * y + 3 * x + y * x) % 5 < 2;
}

/* What becomes of a cell, in an array whose rows have `row` cells. */
static int next_of(const int *cell, int64_t row)
{
  int n = 0;
  for (int64_t dy = -1; dy <= 1; dy++)
    for (int64_t dx = -1; dx <= 1; dx++) n += cell[dy * row + dx];
  return n == 3 || (*cell && n == 4); /* n counts the cell itself, too */
}

static void play_alone(int world[NY][NX])
{
  for (int64_t i = 0; i < NY * NX; i++) world[i / NX][i % NX] = alive_at_first(i / NX, i % NX);
  for (int round = 0; round < ROUNDS; round++) {
    int framed[NY + 2][NX + 2];
    for (int64_t y = 0; y < NY + 2; y++)
      for (int64_t x = 0; x < NX + 2; x++)
        framed[y][x] = world[(y + NY - 1) % NY][(x + NX - 1) % NX];
    for (int64_t y = 0; y < NY; y++)
      for (int64_t x = 0; x < NX; x++) world[y][x] = next_of(&framed[y + 1][x + 1], NX + 2);
  }
}

int main(int argc, char **argv)
{
  int rank, size, procs[2] = {0, 0}, wrong = 0, whole[NY][NX];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Dims_create(size, 2, procs);
  int64_t at_y = rank / procs[1], at_x = rank % procs[1], y0 = at_y * NY / procs[0];
  int64_t x0 = at_x * NX / procs[1], ny = (at_y + 1) * NY / procs[0] - y0;
  int64_t nx = (at_x + 1) * NX / procs[1] - x0, row = nx + 2;
  int *cell = zeros((ny + 2) * row, sizeof *cell), *next = zeros((ny + 2) * row, sizeof *next);
  for (int64_t i = 0; i < ny * nx; i++)
    cell[(i / nx + 1) * row + i % nx + 1] = alive_at_first(y0 + i / nx, x0 + i % nx);

  grove_context *ctx;
  grove_forest *frame;
  grove_op *update;
  GROVE_MUST(grove_context_create(MPI_COMM_WORLD, &ctx));
  GROVE_MUST(grove_forest_box(ctx, 2, (int64_t[]){NY, NX}, procs, (int[]){1, 1}, NULL, 1, &frame));
  GROVE_MUST(grove_bcast_init(frame, MPI_INT, cell, cell, MPI_REPLACE, &update));
  for (int round = 0; round < ROUNDS; round++) {
    GROVE_MUST(grove_start(update));
    GROVE_MUST(grove_wait(update));
    for (int64_t y = 1; y <= ny; y++)
      for (int64_t x = 1; x <= nx; x++) next[y * row + x] = next_of(cell + y * row + x, row);
    memcpy(cell, next, (size_t)((ny + 2) * row) * sizeof *cell);
  }

  play_alone(whole);
  for (int64_t y = 0; y < ny; y++)
    for (int64_t x = 0; x < nx; x++) wrong += cell[(y + 1) * row + x + 1] != whole[y0 + y][x0 + x];
  printf("rank %d: a block of %d x %d, %s\n", rank, (int)ny, (int)nx,
         wrong ? "WRONG" : "all right");
  GROVE_MUST(grove_op_free(&update));
  GROVE_MUST(grove_forest_free(&frame));
  GROVE_MUST(grove_context_free(&ctx));
  free(cell), free(next);
  MPI_Finalize();
  return wrong > 0;
}
