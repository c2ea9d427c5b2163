/* A submatrix. Every rank chooses some of its own rows and columns, and these are numbered anew. A
 * bcast tells ranks the new numbers of their ghosts, or that they are gone. The forest of the
 * submatrix is made from that of the matrix. Both are checked against the whole matrix.
 *
 *     mpirun -n 4 submatrix [A.mtx]        a Matrix Market file; without one, a small grid
 */
#include "matrix.h"

/* Numbers chosen rows and columns from `next` on. The others get -1. */
static int64_t number_chosen(int64_t first, int64_t n, int64_t next, int64_t *number)
{
  for (int64_t i = 0; i < n; i++) number[i] = (first + i) % 3 != 1 ? next++ : -1;
  return next;
}

/* Whether the ghosts that the submatrix needs get their numbers from their owners. Their forest is
 * the one from new columns to old ones, then the halo, then without the ghosts that nobody needs
 * now. The others stay in their slots, so that the rows can still use these. */
static int ghosts_are_right(grove_context *ctx, grove_forest *halo, const csr *a, const csr *sub,
                            const int64_t *number)
{
  grove_forest *to_old, *to_ghosts, *sub_halo;
  int64_t *own = zeros(sub->rows, sizeof *own), *slot = zeros(sub->ghosts, sizeof *slot);
  int64_t *copy = zeros(a->ghosts, sizeof *copy), kept = 0, nleaves, right = 1;
  for (int64_t j = 0; j < sub->rows; j++) own[j] = sub->first + j;
  for (int64_t s = 0; s < a->ghosts && kept < sub->ghosts; s++)
    if (number[a->rows + s] == sub->ghost[kept]) slot[kept++] = s;

  GROVE_MUST(grove_forest_match(ctx, sub->rows, own, a->rows, number, &to_old));
  GROVE_MUST(grove_forest_compose(to_old, halo, &to_ghosts));
  GROVE_MUST(grove_forest_embed_leaves(to_ghosts, kept, slot, &sub_halo));

  GROVE_MUST(grove_bcast(sub_halo, MPI_INT64_T, own, copy, MPI_REPLACE));
  GROVE_MUST(grove_forest_sizes(sub_halo, NULL, &nleaves));
  for (int64_t j = 0; j < kept; j++) right = right && copy[slot[j]] == sub->ghost[j];
  GROVE_MUST(grove_forest_free(&to_old));
  GROVE_MUST(grove_forest_free(&to_ghosts));
  GROVE_MUST(grove_forest_free(&sub_halo));
  free(own), free(slot), free(copy);
  return right && kept == sub->ghosts && nleaves == kept;
}

static int is_same(const csr *a, const csr *b)
{
  int same = a->nonzeros == b->nonzeros;
  for (int64_t i = 0; i <= a->rows; i++) same = same && a->start[i] == b->start[i];
  for (int64_t k = 0; k < a->nonzeros; k++)
    same = same && a->col[k] == b->col[k] && a->value[k] == b->value[k];
  return same;
}

int main(int argc, char **argv)
{
  MPI_Init(&argc, &argv);
  matrix_market m = read_matrix(argc, argv, 8, 0.25);
  csr a = take_own_rows(&m), whole = take_rows(&m, 0, m.rows);
  int64_t *number = zeros(a.rows + a.ghosts, sizeof *number), *all = zeros(m.rows, sizeof *all);
  int64_t first = 0, n = number_chosen(a.first, a.rows, 0, number);
  MPI_Exscan(&n, &first, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  number_chosen(a.first, a.rows, first, number);
  number_chosen(0, m.rows, 0, all);

  grove_context *ctx;
  GROVE_MUST(grove_context_create(MPI_COMM_WORLD, &ctx));
  grove_forest *halo = make_halo(ctx, &a);
  GROVE_MUST(grove_bcast(halo, MPI_INT64_T, number, number + a.rows, MPI_REPLACE));
  csr sub = renumber(&a, number, first, n), want = renumber(&whole, all, first, n);
  int right = ghosts_are_right(ctx, halo, &a, &sub, number) && is_same(&sub, &want);
  printf("%lld of %lld rows, %lld of %lld entries, %lld of %lld ghosts: %s\n", (long long)n,
         (long long)a.rows, (long long)sub.nonzeros, (long long)a.nonzeros, (long long)sub.ghosts,
         (long long)a.ghosts, right ? "right" : "WRONG");
  GROVE_MUST(grove_forest_free(&halo));
  GROVE_MUST(grove_context_free(&ctx));
  matrix_market_free(&m), csr_free(&a), csr_free(&whole), csr_free(&sub), csr_free(&want);
  free(number), free(all);
  MPI_Finalize();
  return !right;
}
