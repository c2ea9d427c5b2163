/* A sparse matrix times a vector, row by row, as ghosts arrive. A row waits only for the ghosts
 * that it needs. While nothing arrives, the rank multiplies rows that need no ghosts.
 *
 *     mpirun -n 4 spmv_arrivals [A.mtx]        a Matrix Market file; without one, a grid
 */
#include "matrix.h"
#include <sched.h>

static csr a;
static double *x, *y;
static int64_t *missing;           /* of every row: its ghosts that have not come */
static int64_t *row_start, *a_row; /* ghost g is needed by rows a_row[row_start[g]] and after */

static void multiply(int64_t row)
{
  for (int64_t k = a.start[row]; k < a.start[row + 1]; k++) y[row] += a.value[k] * x[a.slot[k]];
}

/* The off-diagonal block by columns. */
static void list_rows_of_ghosts(void)
{
  int64_t *end = row_start = zeros(a.ghosts + 2, sizeof *row_start);
  a_row = zeros(a.nonzeros, sizeof *a_row);
  for (int64_t i = 0; i < a.rows; i++)
    for (int64_t k = a.middle[i]; k < a.start[i + 1]; k++) end[a.slot[k] - a.rows + 2]++;
  for (int64_t g = 0; g < a.ghosts; g++) end[g + 2] += end[g + 1];
  for (int64_t i = 0; i < a.rows; i++)
    for (int64_t k = a.middle[i]; k < a.start[i + 1]; k++) a_row[end[a.slot[k] - a.rows + 1]++] = i;
}

/* Returns the rows that were multiplied, of those that waited for these ghosts. */
static int64_t take_ghosts(int64_t first, int64_t count)
{
  int64_t done = 0;
  for (int64_t at = row_start[first]; at < row_start[first + count]; at++)
    if (--missing[a_row[at]] == 0) multiply(a_row[at]), done++;
  return done;
}

int main(int argc, char **argv)
{
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  matrix_market m = read_matrix(argc, argv, 24, 0.25);
  a = take_own_rows(&m);
  x = vector(a.rows + a.ghosts), y = vector(a.rows), missing = zeros(a.rows, sizeof *missing);
  list_rows_of_ghosts();
  for (int64_t i = 0; i < a.rows; i++) x[i] = (double)(a.first + i + 1);
  for (int64_t i = 0; i < a.rows; i++) missing[i] = a.start[i + 1] - a.middle[i];

  grove_context *ctx;
  grove_op *update;
  GROVE_MUST(grove_context_create(MPI_COMM_WORLD, &ctx));
  grove_forest *halo = make_halo(ctx, &a);
  GROVE_MUST(grove_bcast_init(halo, MPI_DOUBLE, x, x + a.rows, MPI_REPLACE, &update));
  GROVE_MUST(grove_start(update));
  for (int64_t done = 0, row = 0, first, count; done < a.rows;) {
    GROVE_MUST(grove_arrivals(update, &first, &count)); /* ghosts, by their slots */
    while (row < a.rows && a.middle[row] < a.start[row + 1]) row++;
    if (count > 0)
      done += take_ghosts(first, count);
    else if (row < a.rows)
      multiply(row++), done++;
    else
      sched_yield();
  }
  GROVE_MUST(grove_wait(update));

  int right = is_product(&m, m.row, m.col, &a, y);
  printf("rank %d: %lld rows, as ghosts came: %s\n", rank, (long long)a.rows,
         right ? "right" : "WRONG");
  GROVE_MUST(grove_op_free(&update));
  GROVE_MUST(grove_forest_free(&halo));
  GROVE_MUST(grove_context_free(&ctx));
  matrix_market_free(&m), csr_free(&a);
  free(x), free(y), free(missing), free(row_start), free(a_row);
  MPI_Finalize();
  return !right;
}
