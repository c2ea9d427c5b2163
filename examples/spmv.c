/* A sparse matrix times a vector, and its transpose times a vector. Data travels while the rank
 * multiplies the block of its own columns. For y = A x ghosts come meanwhile. For z = A' x
 * contributions to other ranks' entries go home.
 *
 *     mpirun -n 4 spmv [A.mtx]        a Matrix Market file; without one, a small grid
 */
#include "matrix.h"

/* z += A' x, of the entries from[i] .. to[i] - 1 of every row i. */
static void add_transposed(const csr *a, const int64_t *from, const int64_t *to, const double *x,
                           double *z)
{
  for (int64_t i = 0; i < a->rows; i++)
    for (int64_t k = from[i]; k < to[i]; k++) z[a->slot[k]] += a->value[k] * x[i];
}

int main(int argc, char **argv)
{
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  matrix_market m = read_matrix(argc, argv, 8, 0.25);
  csr a = take_own_rows(&m);
  double *x = vector(a.rows + a.ghosts), *y = vector(a.rows);
  double *z = vector(a.rows + a.ghosts), *inner = vector(a.rows);
  for (int64_t i = 0; i < a.rows; i++) x[i] = (double)(a.first + i + 1);

  grove_context *ctx;
  grove_op *update, *send_home;
  GROVE_MUST(grove_context_create(MPI_COMM_WORLD, &ctx));
  grove_forest *halo = make_halo(ctx, &a);
  GROVE_MUST(grove_bcast_init(halo, MPI_DOUBLE, x, x + a.rows, MPI_REPLACE, &update));
  GROVE_MUST(grove_reduce_init(halo, MPI_DOUBLE, z + a.rows, z, MPI_SUM, &send_home));

  GROVE_MUST(grove_start(update));
  add_product(&a, a.start, a.middle, x, y); /* the diagonal block: columns of this rank */
  GROVE_MUST(grove_wait(update));
  add_product(&a, a.middle, a.start + 1, x, y); /* the off-diagonal block: ghosts */

  add_transposed(&a, a.middle, a.start + 1, x, z);
  GROVE_MUST(grove_start(send_home)); /* until it ends, z is not ours: what is inside goes beside */
  add_transposed(&a, a.start, a.middle, x, inner);
  GROVE_MUST(grove_wait(send_home));
  for (int64_t i = 0; i < a.rows; i++) z[i] += inner[i];

  int right = is_product(&m, m.row, m.col, &a, y) && is_product(&m, m.col, m.row, &a, z);
  grove_report report = {.struct_size = sizeof report};
  GROVE_MUST(grove_op_report(update, &report));
  printf("rank %d: %lld rows, %lld ghosts in, %lld messages out, predicted %.1f us: %s\n", rank,
         (long long)a.rows, (long long)a.ghosts,
         (long long)(report.on_node_messages + report.off_node_messages),
         1e6 * report.predicted_seconds, right ? "right" : "WRONG");
  GROVE_MUST(grove_op_free(&update));
  GROVE_MUST(grove_op_free(&send_home));
  GROVE_MUST(grove_forest_free(&halo));
  GROVE_MUST(grove_context_free(&ctx));
  matrix_market_free(&m);
  csr_free(&a);
  free(x), free(y), free(z), free(inner);
  MPI_Finalize();
  return !right;
}
