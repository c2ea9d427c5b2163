/* Cells move to other ranks, with what they carry: a number, a point in the plane, and any number
 * of labels. The forest of cells is made from the rank to which each cell goes. Expanded by the
 * numbers of labels, it becomes the forest of labels. (The example mesh moves a real mesh.)
 *
 *     mpirun -n 4 migrate
 */
#include "common.h"

enum { CELLS = 50, MOST = 4 }; /* cells of a rank at first; labels of a cell */

static int labels_of(int64_t cell)
{
  return (int)(cell % MOST);
}

static int label(int64_t cell, int k)
{
  return (int)(10 * cell + k);
}

/* Cells that go to one rank are leaves of one root there. Multi gives each of them a root of its
 * own, and inverse turns that round: a cell is a root where it lies, and a leaf where it goes. */
static grove_forest *move_cells(grove_context *ctx, const grove_root *goal)
{
  grove_forest *meet, *each, *cells;
  GROVE_MUST(grove_forest_create(ctx, &meet));
  GROVE_MUST(grove_forest_set_graph(meet, 1, CELLS, NULL, goal));
  GROVE_MUST(grove_forest_set_up(meet));
  GROVE_MUST(grove_forest_multi(meet, &each));
  GROVE_MUST(grove_forest_inverse(each, &cells));
  GROVE_MUST(grove_forest_free(&meet));
  GROVE_MUST(grove_forest_free(&each));
  return cells;
}

int main(int argc, char **argv)
{
  int rank, size, from_label[CELLS * MOST], wrong = 0;
  int64_t from[CELLS], from_size[CELLS], have = 0, came = 0, all_labels = 0;
  double from_point[CELLS][2];
  grove_root goal[CELLS];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int64_t i = 0; i < CELLS; i++) {
    int64_t cell = from[i] = rank * CELLS + i;
    goal[i] = (grove_root){(int)(cell * cell % size), 0};
    from_point[i][0] = (double)cell, from_point[i][1] = 0.5 * (double)cell;
    from_size[i] = labels_of(cell);
    for (int k = 0; k < labels_of(cell); k++) from_label[have++] = label(cell, k);
  }
  grove_context *ctx;
  grove_forest *labels;
  MPI_Datatype point;
  MPI_Type_contiguous(2, MPI_DOUBLE, &point), MPI_Type_commit(&point);
  GROVE_MUST(grove_context_create(MPI_COMM_WORLD, &ctx));
  grove_forest *cells = move_cells(ctx, goal);
  GROVE_MUST(grove_forest_expand(cells, from_size, NULL, NULL, &labels));
  GROVE_MUST(grove_forest_sizes(cells, NULL, &came));
  GROVE_MUST(grove_forest_sizes(labels, NULL, &all_labels));
  int64_t *to = zeros(came, sizeof *to), at = 0;
  double(*to_point)[2] = zeros(came, sizeof *to_point);
  int *to_label = zeros(all_labels, sizeof *to_label);
  GROVE_MUST(grove_bcast(cells, MPI_INT64_T, from, to, MPI_REPLACE));
  GROVE_MUST(grove_bcast(cells, point, from_point, to_point, MPI_REPLACE));
  GROVE_MUST(grove_bcast(labels, MPI_INT, from_label, to_label, MPI_REPLACE));
  for (int64_t i = 0; i < came; i++) {
    wrong += to[i] * to[i] % size != rank;
    wrong += to_point[i][0] != (double)to[i] || to_point[i][1] != 0.5 * (double)to[i];
    for (int k = 0; k < labels_of(to[i]); k++) wrong += to_label[at++] != label(to[i], k);
  }
  MPI_Allreduce(MPI_IN_PLACE, &came, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  wrong += (at != all_labels) + (came != (int64_t)size * CELLS);
  printf("rank %d: %lld labels came, %s\n", rank, (long long)at, wrong ? "WRONG" : "all right");
  GROVE_MUST(grove_forest_free(&cells));
  GROVE_MUST(grove_forest_free(&labels));
  GROVE_MUST(grove_context_free(&ctx));
  MPI_Type_free(&point), free(to), free(to_point), free(to_label);
  return MPI_Finalize() || wrong > 0;
}
