/* What the levels of a multigrid hierarchy cost. Plain aggregation makes each matrix from the one
 * before: a row and its neighbours on the rank become one row. The table says what a product with a
 * vector (SpMV: ghosts) and with the matrix itself (SpGEMM: ghost rows) sends, the microseconds it
 * takes here, and those that a model predicts for a machine: of each term, the most of any rank.
 *
 *     mpirun -n 16 levels [MACHINE [RANKS-PER-NODE [SIDE]]]      bluewaters 2 32, if not given
 */
#include "matrix.h"

enum { LEVELS = 5, ROUNDS = 50, TERMS = sizeof(grove_terms) / sizeof(double) };

/* The next level. Groups of rows are numbered from 1 until the rank knows how many come before. */
static csr coarsen(const csr *a, grove_forest *halo)
{
  int64_t *group = zeros(a->rows + a->ghosts, sizeof *group), before = 0, n = 0;
  for (int64_t i = 0; i < a->rows; i++) {
    if (group[i] > 0) continue;
    group[i] = ++n;
    for (int64_t k = a->start[i]; k < a->middle[i]; k++)
      if (group[a->slot[k]] == 0) group[a->slot[k]] = n;
  }
  MPI_Exscan(&n, &before, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  for (int64_t i = 0; i < a->rows; i++) group[i] += before - 1;
  GROVE_MUST(grove_bcast(halo, MPI_INT64_T, group, group + a->rows, MPI_REPLACE));
  csr coarse = renumber(a, group, before, n);
  free(group);
  return coarse;
}

static void print_cost(int level, const char *name, const csr *a, grove_forest *f)
{
  int64_t nroots, nleaves;
  grove_op *op;
  grove_report r = {.struct_size = sizeof r};
  GROVE_MUST(grove_forest_sizes(f, &nroots, &nleaves));
  double *root = vector(nroots), *leaf = vector(nleaves), term[TERMS], here;
  GROVE_MUST(grove_bcast_init(f, MPI_DOUBLE, root, leaf, MPI_REPLACE, &op));
  repeat(op, ROUNDS);
  GROVE_MUST(grove_op_report(op, &r));
  long long sum[4] = {a->rows, a->nonzeros, r.on_node_messages + r.off_node_messages,
                      r.on_node_bytes + r.off_node_bytes};
  MPI_Allreduce(MPI_IN_PLACE, sum, 4, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
  MPI_Allreduce(&r.predicted, term, TERMS, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  MPI_Allreduce(&r.measured_seconds, &here, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  print("%5d %-7s %7lld %8lld %8lld %8lld  %-8s %8.2f %9.2f", level, name, sum[0], sum[1], sum[2],
        sum[3], r.route, 1e6 * here, 1e6 * r.predicted_seconds);
  for (int k = 0; k < TERMS; k++) print(" %10.2f%s", 1e6 * term[k], k + 1 < TERMS ? "" : "\n");
  GROVE_MUST(grove_op_free(&op));
  free(root), free(leaf);
}

int main(int argc, char **argv)
{
  double skew = 0, all;
  MPI_Init(&argc, &argv);
  matrix_market m = grid_matrix(argc > 3 ? atoi(argv[3]) : 32, 0);
  csr a = take_own_rows(&m);
  grove_context *ctx;
  GROVE_MUST(grove_context_create(MPI_COMM_WORLD, &ctx));
  GROVE_MUST(grove_context_set(ctx, "machine", argc > 1 ? argv[1] : "bluewaters"));
  GROVE_MUST(grove_context_set(ctx, "node_size", argc > 2 ? argv[2] : "2"));
  print("level product    rows nonzeros messages    bytes  route    measured predicted    latency "
        " bandwidth  injection      queue contention    on node       copy      cores\n");
  for (int level = 0; level < LEVELS; level++) {
    grove_forest *halo = make_halo(ctx, &a), *entries, *words;
    int64_t *length = row_lengths(&a);
    GROVE_MUST(grove_forest_expand(halo, length, NULL, NULL, &entries));
    GROVE_MUST(grove_forest_strided(entries, 2, 0, 0, &words)); /* a column and a value each */
    print_cost(level, "SpMV", &a, halo);
    print_cost(level, "SpGEMM", &a, words);
    csr coarse = coarsen(&a, halo);
    csr_free(&a), free(length), a = coarse;
    skew += csr_skew(&a);
    grove_forest_free(&halo), grove_forest_free(&entries), grove_forest_free(&words);
  }
  MPI_Allreduce(&skew, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  GROVE_MUST(grove_context_free(&ctx));
  matrix_market_free(&m), csr_free(&a);
  return MPI_Finalize() || all != 0;
}
