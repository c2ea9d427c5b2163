/* A product of sparse matrices, C = A A. If this rank has an entry in column j, it needs row j of
 * A. The forest that brings a vector's ghosts also fits these ghost rows. grove_forest_expand makes
 * the forest of their entries from it. Along that one columns and values come in one message. The
 * product is compared with that of the whole matrix.
 *
 *     mpirun -n 4 rows [A.mtx]        a Matrix Market file; without one, a small grid
 */
#include "matrix.h"

/* The row of every slot: this rank's own rows, then the ghost rows. */
static csr bring_rows(grove_context *ctx, const csr *a)
{
  grove_forest *rows = make_halo(ctx, a), *entries;
  int64_t own = a->nonzeros, all = a->rows + a->ghosts, *length = row_lengths(a);
  GROVE_MUST(grove_bcast(rows, MPI_INT64_T, length, length + a->rows, MPI_REPLACE));
  GROVE_MUST(grove_forest_expand(rows, length, NULL, NULL, &entries)); /* row after row */

  csr b = {.rows = all, .start = zeros(all + 1, sizeof *b.start)};
  for (int64_t i = 0; i < all; i++) b.start[i + 1] = b.start[i] + length[i];
  b.nonzeros = b.start[all];
  b.col = memcpy(zeros(b.nonzeros, sizeof *b.col), a->col, (size_t)own * sizeof *b.col);
  b.value = memcpy(vector(b.nonzeros), a->value, (size_t)own * sizeof *b.value);
  grove_op *op[2], *both;
  GROVE_MUST(grove_bcast_init(entries, MPI_INT64_T, b.col, b.col + own, MPI_REPLACE, &op[0]));
  GROVE_MUST(grove_bcast_init(entries, MPI_DOUBLE, b.value, b.value + own, MPI_REPLACE, &op[1]));
  GROVE_MUST(grove_op_bundle(2, op, &both));
  GROVE_MUST(grove_start(both));
  GROVE_MUST(grove_wait(both));
  GROVE_MUST(grove_op_free(&op[0]));
  GROVE_MUST(grove_op_free(&op[1]));
  GROVE_MUST(grove_op_free(&both));
  GROVE_MUST(grove_forest_free(&rows));
  GROVE_MUST(grove_forest_free(&entries));
  free(length);
  return b;
}

/* Adds row i of A B to c. In `size` it adds up the products without their signs. */
static void multiply_row(const csr *a, int64_t i, const csr *b, double *c, double *size)
{
  for (int64_t k = a->start[i]; k < a->start[i + 1]; k++)
    for (int64_t j = a->slot[k], l = b->start[j]; l < b->start[j + 1]; l++) {
      double product = a->value[k] * b->value[l];
      c[b->col[l]] += product;
      size[b->col[l]] += product > 0 ? product : -product;
    }
}

int main(int argc, char **argv)
{
  MPI_Init(&argc, &argv);
  matrix_market m = read_matrix(argc, argv, 8, 0.25);
  csr a = take_own_rows(&m), whole = take_rows(&m, 0, m.rows);
  grove_context *ctx;
  GROVE_MUST(grove_context_create(MPI_COMM_WORLD, &ctx));
  csr b = bring_rows(ctx, &a);

  int64_t wrong = 0, nonzeros = 0;
  for (int64_t i = 0; i < a.rows; i++) {
    double *c = vector(m.rows), *want = vector(m.rows), *size = vector(m.rows);
    multiply_row(&a, i, &b, c, size);
    multiply_row(&whole, a.first + i, &whole, want, size);
    for (int64_t j = 0; j < m.rows; j++) {
      double error = c[j] > want[j] ? c[j] - want[j] : want[j] - c[j];
      wrong += !(error <= 1e-12 * size[j]); /* sums come in different orders */
      nonzeros += size[j] > 0;
    }
    free(c), free(want), free(size);
  }
  printf("%lld rows with %lld entries, and %lld ghost rows with %lld, make %lld entries: %s\n",
         (long long)a.rows, (long long)a.nonzeros, (long long)a.ghosts,
         (long long)(b.nonzeros - a.nonzeros), (long long)nonzeros, wrong ? "WRONG" : "right");
  GROVE_MUST(grove_context_free(&ctx));
  matrix_market_free(&m), csr_free(&a), csr_free(&b), csr_free(&whole);
  MPI_Finalize();
  return wrong > 0;
}
