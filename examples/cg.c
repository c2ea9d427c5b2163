/* Conjugate gradients, preconditioned by the diagonal, for a symmetric positive definite matrix.
 * The right-hand side is made from a known solution. The program prints how many iterations it
 * takes to find that solution again, and how large the error is. It fails if the error is large.
 *
 *     mpirun -n 4 cg [A.mtx]          a Matrix Market file; without one, Poisson's on a grid
 */
#include "matrix.h"

enum { MOST = 20000 }; /* iterations */

static double dot(int64_t n, const double *x, const double *y)
{
  double mine = 0, all;
  for (int64_t i = 0; i < n; i++) mine += x[i] * y[i];
  MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return all;
}

/* q = A p; `update` brings the ghosts of p. */
static void multiply(const csr *a, grove_op *update, const double *p, double *q)
{
  GROVE_MUST(grove_start(update));
  for (int64_t i = 0; i < a->rows; i++) q[i] = 0;
  add_product(a, a->start, a->middle, p, q);
  GROVE_MUST(grove_wait(update));
  add_product(a, a->middle, a->start + 1, p, q);
}

/* At first x is 0 and r is the right-hand side. In the end x is the solution and r the residual.
 * The directions are in p, with ghosts. Returns the number of iterations. */
static int solve(const csr *a, grove_op *update, double *p, double *r, double *x)
{
  int64_t n = a->rows;
  double *z = vector(n), *q = vector(n), *diagonal = vector(n), enough = 1e-24 * dot(n, r, r);
  for (int64_t i = 0; i < n; i++) {
    for (int64_t k = a->start[i]; k < a->middle[i]; k++)
      if (a->slot[k] == i) diagonal[i] = a->value[k];
    p[i] = z[i] = r[i] / diagonal[i];
  }
  int iterations = 0;
  for (double rz = dot(n, r, z); iterations < MOST && dot(n, r, r) > enough; iterations++) {
    multiply(a, update, p, q);
    double step = rz / dot(n, p, q), before = rz;
    for (int64_t i = 0; i < n; i++) x[i] += step * p[i], r[i] -= step * q[i];
    for (int64_t i = 0; i < n; i++) z[i] = r[i] / diagonal[i];
    rz = dot(n, r, z);
    for (int64_t i = 0; i < n; i++) p[i] = z[i] + rz / before * p[i];
  }
  free(z), free(q), free(diagonal);
  return iterations;
}

int main(int argc, char **argv)
{
  MPI_Init(&argc, &argv);
  matrix_market m = read_matrix(argc, argv, 32, 0);
  csr a = take_own_rows(&m);
  double *p = vector(a.rows + a.ghosts), *b = vector(a.rows), *x = vector(a.rows);
  double *error = vector(a.rows); /* first the solution that is known: 1 + i % 7 */
  grove_context *ctx;
  grove_op *update;
  GROVE_MUST(grove_context_create(MPI_COMM_WORLD, &ctx));
  grove_forest *halo = make_halo(ctx, &a);
  GROVE_MUST(grove_bcast_init(halo, MPI_DOUBLE, p, p + a.rows, MPI_REPLACE, &update));
  for (int64_t i = 0; i < a.rows; i++) {
    error[i] = 1 + (a.first + i) % 7;
    for (int64_t k = a.start[i]; k < a.start[i + 1]; k++) b[i] += a.value[k] * (1 + a.col[k] % 7);
  }
  double size = dot(a.rows, error, error);
  int iterations = solve(&a, update, p, b, x);
  for (int64_t i = 0; i < a.rows; i++) error[i] -= x[i];
  double off = dot(a.rows, error, error) / size; /* the square of what is wanted below 1e-6 */
  print("%lld rows, %d iterations, squared error %.1e\n", (long long)m.rows, iterations, off);
  GROVE_MUST(grove_op_free(&update));
  GROVE_MUST(grove_forest_free(&halo));
  GROVE_MUST(grove_context_free(&ctx));
  matrix_market_free(&m), csr_free(&a), free(p), free(b), free(x), free(error);
  MPI_Finalize();
  return off <= 1e-12 ? 0 : 1;
}
