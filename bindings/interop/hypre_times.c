/* A ParCSR matrix of hypre's, its exchange and Grove's: equal values, and times in turn.
 *
 *     mpirun -n 4 grove_interop_hypre [--check] [MATRIX.mtx...]
 *
 * Without a matrix it is a grid of 300 x 300 points.
 */
#include "grove_hypre.h"
#include "hypre_exchange.h"
#include "times.h"

#include <HYPRE.h>
#include <HYPRE_IJ_mv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct halo {
  hypre_ParCSRCommPkg *package;
  grove_op *update, *add;
  int64_t rows, ghosts;
  double *packed, *x, *theirs, *ours; /* own entries; external ones, by hypre and by Grove */
  double *their_sum, *our_sum;
} halo;

static HYPRE_IJMatrix make_matrix(const places *p)
{
  HYPRE_IJMatrix a;
  HYPRE_BigInt low = (HYPRE_BigInt)p->first, high = (HYPRE_BigInt)(p->first + p->nrows - 1);
  HYPRE_IJMatrixCreate(MPI_COMM_WORLD, low, high, low, high, &a);
  HYPRE_IJMatrixSetObjectType(a, HYPRE_PARCSR);
  HYPRE_IJMatrixInitialize(a);
  for (int64_t k = 0; k < p->count; k++) {
    HYPRE_Int one = 1;
    HYPRE_BigInt row = (HYPRE_BigInt)p->row[k], col = (HYPRE_BigInt)p->col[k];
    double value = 1;
    HYPRE_IJMatrixSetValues(a, 1, &one, &row, &col, &value);
  }
  HYPRE_IJMatrixAssemble(a);
  return a;
}

static void by_hypre(void *user)
{
  halo *h = user;
  hypre_forward(h->package, h->packed, h->x, h->theirs);
}

static void by_grove(void *user)
{
  halo *h = user;
  GROVE_MUST(grove_start(h->update));
  GROVE_MUST(grove_wait(h->update));
}

static void back_by_hypre(void *user)
{
  halo *h = user;
  hypre_backward(h->package, h->packed, h->theirs, h->their_sum);
}

static void back_by_grove(void *user)
{
  halo *h = user;
  GROVE_MUST(grove_start(h->add));
  GROVE_MUST(grove_wait(h->add));
}

static double *numbers(int64_t n)
{
  double *x = calloc((size_t)n + 1, sizeof *x);
  if (!x) MPI_Abort(MPI_COMM_WORLD, 1);
  return x;
}

static void fill(halo *h, const places *p)
{
  h->rows = p->nrows;
  h->ghosts = hypre_ParCSRCommPkgRecvVecStart(h->package, hypre_ParCSRCommPkgNumRecvs(h->package));
  h->packed = numbers(hypre_packed_entries(h->package));
  h->x = numbers(h->rows);
  h->their_sum = numbers(h->rows);
  h->our_sum = numbers(h->rows);
  h->theirs = numbers(h->ghosts);
  h->ours = numbers(h->ghosts);
  for (int64_t i = 0; i < h->rows; i++) h->x[i] = 1 + 0.25 * (double)(p->first + i);
}

static void compare(const char *name, halo *h)
{
  by_hypre(h);
  by_grove(h);
  times_agree(name, h->theirs, h->ours, h->ghosts);
  times_compare(name, "hypre", by_hypre, by_grove, h);
  back_by_hypre(h);
  back_by_grove(h);
  times_agree(name, h->their_sum, h->our_sum, h->rows);
  times_compare("  transposed", "hypre", back_by_hypre, back_by_grove, h);
}

static void measure(grove_context *ctx, const char *path)
{
  halo h;
  grove_forest *forest;
  hypre_ParCSRMatrix *matrix;
  places p = places_read(path, 300);
  HYPRE_IJMatrix a = make_matrix(&p);
  HYPRE_IJMatrixGetObject(a, (void **)&matrix);
  if (!hypre_ParCSRMatrixCommPkg(matrix)) hypre_MatvecCommPkgCreate(matrix);
  h.package = hypre_ParCSRMatrixCommPkg(matrix);
  fill(&h, &p);
  GROVE_MUST(grove_forest_from_hypre(ctx, h.package, (HYPRE_Int)h.rows, &forest));
  GROVE_MUST(grove_bcast_init(forest, MPI_DOUBLE, h.x, h.ours, MPI_REPLACE, &h.update));
  GROVE_MUST(grove_reduce_init(forest, MPI_DOUBLE, h.ours, h.our_sum, MPI_SUM, &h.add));
  const char *slash = path ? strrchr(path, '/') : NULL;
  compare(!path ? "a grid" : slash ? slash + 1 : path, &h);
  GROVE_MUST(grove_op_free(&h.update));
  GROVE_MUST(grove_op_free(&h.add));
  GROVE_MUST(grove_forest_free(&forest));
  HYPRE_IJMatrixDestroy(a);
  double *lists[] = {h.packed, h.x, h.theirs, h.ours, h.their_sum, h.our_sum};
  for (int i = 0; i < 6; i++) free(lists[i]);
  places_free(&p);
}

int main(int argc, char **argv)
{
  int rank;
  int first = times_begin(argc, argv);
  grove_context *ctx;
  MPI_Init(&argc, &argv);
  HYPRE_Init();
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  GROVE_MUST(grove_context_create(MPI_COMM_WORLD, &ctx));
  if (argc == first) measure(ctx, NULL);
  for (int i = first; i < argc; i++) measure(ctx, argv[i]);
  GROVE_MUST(grove_context_free(&ctx));
  if (rank == 0) printf("all values are hypre's\n");
  HYPRE_Finalize();
  return MPI_Finalize();
}
