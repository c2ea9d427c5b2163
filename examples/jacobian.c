/* Which columns the rows of a Jacobian have, from the adjacency of a mesh. The mesh is a grid, cut
 * into strips of elements. The rank above a cut owns its nodes, and the rank below has them as
 * ghosts. Only that rank knows their neighbours in its own elements. The inverse of the ghosts'
 * forest, expanded by the numbers of neighbours, brings these to the owner of the row.
 *
 *     mpirun -n 4 jacobian
 */
#include "common.h"

enum { W = 6, H = 11, ROW = W + 1, MOST = 9 }; /* elements; nodes of a row; columns of a row */

/* Writes the nodes of rows `low` to `high` that share an element with a node, and returns how many.
 * Nodes are numbered along rows. */
static int64_t neighbours(int64_t node, int64_t low, int64_t high, int64_t *out)
{
  int64_t n = 0, y = node / ROW, x = node % ROW;
  for (int64_t v = y - 1; v <= y + 1; v++)
    for (int64_t u = x - 1; u <= x + 1; u++)
      if (v >= low && v <= high && u >= 0 && u <= W) out[n++] = v * ROW + u;
  return n;
}

/* How many columns of a row are wrong: they do not belong to it, or did not come. */
static int check_row(int64_t node, int64_t n, const int64_t *own, int64_t m, const int64_t *came)
{
  int64_t want[MOST], count = neighbours(node, 0, H, want);
  int wrong = 0, seen[(H + 1) * ROW] = {0};
  for (int64_t k = 0; k < n; k++) seen[own[k]] = 1;
  for (int64_t k = 0; k < m; k++) seen[came[k]] = 1;
  for (int64_t k = 0; k < count; k++) wrong += seen[want[k]]-- != 1;
  for (int64_t i = 0; i < (H + 1) * ROW; i++) wrong += seen[i] != 0;
  return wrong;
}

int main(int argc, char **argv)
{
  int rank, size, wrong = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int64_t low = rank * H / size, high = (rank + 1) * H / size; /* rows of nodes in the strip */
  int64_t own = (high - low + (rank + 1 == size)) * ROW, ghosts = rank + 1 < size ? ROW : 0;
  int64_t ghost[ROW], length[ROW], adjacent[ROW * MOST], sum = 0, total;
  for (int64_t i = 0; i < ghosts; i++) {
    ghost[i] = high * ROW + i;
    sum += length[i] = neighbours(ghost[i], low, high, adjacent + sum);
  }
  grove_context *ctx;
  grove_forest *halo, *each, *back, *jacobian;
  GROVE_MUST(grove_context_create(MPI_COMM_WORLD, &ctx));
  GROVE_MUST(grove_forest_create(ctx, &halo));
  GROVE_MUST(grove_forest_set_graph_global(halo, own, ghosts, NULL, ghost));
  GROVE_MUST(grove_forest_set_up(halo));
  GROVE_MUST(grove_forest_multi(halo, &each));
  GROVE_MUST(grove_forest_inverse(each, &back));
  GROVE_MUST(grove_forest_expand(back, length, NULL, NULL, &jacobian));
  GROVE_MUST(grove_forest_sizes(back, NULL, &total));
  int64_t *copies = zeros(own, sizeof *copies), *lengths = zeros(total, sizeof *lengths), at = 0;
  GROVE_MUST(grove_forest_degrees(halo, copies)); /* how many ranks have neighbours for a row */
  GROVE_MUST(grove_bcast(back, MPI_INT64_T, length, lengths, MPI_REPLACE));
  GROVE_MUST(grove_forest_sizes(jacobian, NULL, &total));
  int64_t *column = zeros(total, sizeof *column), first = 0;
  GROVE_MUST(grove_bcast(jacobian, MPI_INT64_T, adjacent, column, MPI_REPLACE));

  for (int64_t i = 0; i < own; first += copies[i++]) {
    int64_t mine[MOST], n = neighbours(low * ROW + i, low, high, mine), m = 0;
    for (int64_t k = 0; k < copies[i]; k++) m += lengths[first + k];
    wrong += check_row(low * ROW + i, n, mine, m, column + at);
    at += m;
  }
  printf("rank %d: %lld rows, %lld columns came, %s\n", rank, (long long)own, (long long)at,
         wrong ? "WRONG" : "all right");
  GROVE_MUST(grove_forest_free(&halo));
  GROVE_MUST(grove_forest_free(&each));
  GROVE_MUST(grove_forest_free(&back));
  GROVE_MUST(grove_forest_free(&jacobian));
  GROVE_MUST(grove_context_free(&ctx));
  free(copies), free(lengths), free(column);
  return MPI_Finalize() || wrong > 0;
}
