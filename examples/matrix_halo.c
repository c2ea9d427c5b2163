/* A sparse matrix-vector product: every rank has a block of rows; entries of the vector that these
 * need and the rank does not own come as ghosts. The matrix is a Matrix Market file that every rank
 * reads (mpirun -n 4 matrix_halo A.mtx); without one, five-point differences on a small grid. */
#include <grove.h>
#include <matrix_market.h>
#include <stdlib.h>

static void must(int failed, const char *sentence)
{
  if (failed) fprintf(stderr, "%s\n", sentence);
  if (failed) MPI_Abort(MPI_COMM_WORLD, 1);
}
#define MUST(call) must((call) != GROVE_OK, grove_last_error())

/* The grid's matrix, as a file would have it: its lower half. */
static int read_grid(matrix_market *m, matrix_market_error *error)
{
  enum { SIDE = 8, N = SIDE * SIDE };
  static char text[100 + 3 * N * 16];
  int used = sprintf(text, "%%%%MatrixMarket matrix coordinate real symmetric\n%d %d %d\n", N, N,
                     N + 2 * SIDE * (SIDE - 1));
  for (int i = 1; i <= N; i++) {
    used += sprintf(text + used, "%d %d 4\n", i, i);
    if (i % SIDE != 0) used += sprintf(text + used, "%d %d -1\n", i + 1, i);
    if (i <= N - SIDE) used += sprintf(text + used, "%d %d -1\n", i + SIDE, i);
  }
  return matrix_market_read_memory(text, (size_t)used, "grid", NULL, m, error);
}

int main(int argc, char **argv)
{
  int rank, size, wrong = 0;
  matrix_market m;
  matrix_market_error bad = {0};
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  must(argc > 1 ? matrix_market_read(argv[1], NULL, &m, &bad) : read_grid(&m, &bad), bad.sentence);
  must(m.rows != m.cols || !m.value, "the matrix is not square, or has no values");
  int64_t first = rank * m.rows / size, own = (rank + 1) * m.rows / size - first, ghosts = 0;
  int64_t *wanted = malloc((size_t)(m.cols + 1) * sizeof *wanted); /* the ghosts, by column */
  int64_t *slot = calloc((size_t)m.cols + 1, sizeof *slot);        /* of x, and 1; 0: not needed */
  for (int64_t i = 0; i < own; i++) slot[first + i] = i + 1;
  for (int64_t k = 0; k < m.count; k++)
    if (m.row[k] >= first && m.row[k] < first + own && slot[m.col[k]] == 0) {
      wanted[ghosts++] = m.col[k];
      slot[m.col[k]] = own + ghosts;
    }

  grove_context *ctx;
  grove_forest *halo;
  grove_op *update;
  grove_report report = {.struct_size = sizeof report};
  double *x = calloc((size_t)(own + ghosts + 1), sizeof *x);
  double *y = calloc(2 * (size_t)own + 1, sizeof *y); /* the product, and what it should be */
  MUST(grove_context_create(MPI_COMM_WORLD, &ctx));
  MUST(grove_forest_create(ctx, &halo));
  MUST(grove_forest_set_graph_global(halo, own, ghosts, NULL, wanted));
  MUST(grove_forest_set_up(halo));
  MUST(grove_bcast_init(halo, MPI_DOUBLE, x, x + own, MPI_REPLACE, &update));
  for (int64_t i = 0; i < own; i++) x[i] = (double)(first + i); /* entry i of the vector is i */
  MUST(grove_start(update));
  MUST(grove_wait(update));
  for (int64_t k = 0; k < m.count; k++) {
    int64_t row = m.row[k] - first;
    if (row >= 0 && row < own) y[row] += m.value[k] * x[slot[m.col[k]] - 1];
    if (row >= 0 && row < own) y[own + row] += m.value[k] * (double)m.col[k];
  }
  for (int64_t i = 0; i < own; i++) wrong += y[i] != y[own + i];
  MUST(grove_op_report(update, &report));
  printf("rank %d: %lld ghosts, %lld messages, predicted %.1f us, measured %.1f us: %s\n", rank,
         (long long)ghosts, (long long)(report.on_node_messages + report.off_node_messages),
         1e6 * report.predicted_seconds, 1e6 * report.measured_seconds, wrong ? "WRONG" : "right");
  MUST(grove_op_free(&update) || grove_forest_free(&halo) || grove_context_free(&ctx));
  matrix_market_free(&m);
  free(wanted), free(slot), free(x), free(y);
  MPI_Finalize();
  return wrong > 0;
}
