/* Units that are larger than what travels at once over shared memory, in every operation, alone and
 * bundled with small ones whose size does not divide a piece. Every rank has leaves on all roots of
 * rank 0, so that all meet in the same roots. */
#include "check.h"
#include "places.h"

#include <stdlib.h>

enum { ROOTS = 3, KINDS = 5 };

/* A unit of `n` 64-bit integers, which all have the same value. */
typedef struct field {
  int64_t n;
  MPI_Datatype type;
  int64_t *root, *leaf, *update, *many;
} field;

static field field_open(int64_t n, int ranks)
{
  field f = {.n = n};
  size_t one = (size_t)n * sizeof *f.root;
  MPI_Type_contiguous((int)n, MPI_INT64_T, &f.type);
  MPI_Type_commit(&f.type);
  f.root = need(ROOTS * one);
  f.leaf = need(ROOTS * one);
  f.update = need(ROOTS * one);
  f.many = need((size_t)ranks * ROOTS * one);
  return f;
}

static void field_close(field *f)
{
  MPI_Type_free(&f->type);
  free(f->root);
  free(f->leaf);
  free(f->update);
  free(f->many);
}

static void fill(const field *f, int64_t *array, int64_t slot, int64_t value)
{
  for (int64_t i = 0; i < f->n; i++) array[slot * f->n + i] = value;
}

static void check(const field *f, const int64_t *array, int64_t slot, int64_t value,
                  const char *what)
{
  for (int64_t i = 0; i < f->n; i++)
    CHECK(array[slot * f->n + i] == value, "%s %lld of %lld: element %lld is %lld, not %lld", what,
          (long long)slot, (long long)f->n, (long long)i, (long long)array[slot * f->n + i],
          (long long)value);
}

static void fill_all(const field *f, const place *p)
{
  for (int s = 0; s < ROOTS; s++) {
    fill(f, f->root, s, 1000 * (s + 1));
    fill(f, f->leaf, s, p->rank + 1);
    fill(f, f->update, s, -1);
    for (int r = 0; r < p->size; r++) fill(f, f->many, s * p->size + r, -100 * r - s);
  }
}

static grove_op *init(grove_forest *f, const field *x, int kind)
{
  grove_op *op = NULL;
  switch (kind) {
  case 0: CHECK_OK(grove_bcast_init(f, x->type, x->root, x->leaf, MPI_REPLACE, &op)); break;
  case 1: CHECK_OK(grove_reduce_init(f, x->type, x->leaf, x->root, MPI_SUM, &op)); break;
  case 2: CHECK_OK(grove_fetch_init(f, x->type, x->root, x->leaf, x->update, MPI_SUM, &op)); break;
  case 3: CHECK_OK(grove_gather_init(f, x->type, x->leaf, x->many, &op)); break;
  default: CHECK_OK(grove_scatter_init(f, x->type, x->many, x->leaf, &op)); break;
  }
  return op;
}

static void check_all(const field *x, const place *p, int kind)
{
  int64_t before = p->rank * (p->rank + 1) / 2, all = p->size * (p->size + 1) / 2;
  for (int s = 0; s < ROOTS; s++) {
    if (kind == 0) check(x, x->leaf, s, 1000 * (s + 1), "bcast: leaf");
    if (kind == 2) check(x, x->update, s, 1000 * (s + 1) + before, "fetch: update");
    if (kind == 4) check(x, x->leaf, s, -100 * p->rank - s, "scatter: leaf");
    if (p->rank > 0) continue;
    if (kind == 1 || kind == 2) check(x, x->root, s, 1000 * (s + 1) + all, "root");
    for (int r = 0; r < p->size && kind == 3; r++)
      check(x, x->many, s * p->size + r, r + 1, "gather: multiroot");
  }
}

/* As they are, and then all in one. */
static void run(const place *p, grove_forest *f, const int64_t *sizes, int n)
{
  grove_op *op[KINDS], *bundle = NULL;
  field x[KINDS];
  for (int k = 0; k < n; k++) {
    x[k] = field_open(sizes[k], p->size);
    op[k] = init(f, &x[k], k);
  }
  CHECK_OK(grove_op_bundle(n, op, &bundle));
  for (int round = 0; round < 4; round++) {
    for (int k = 0; k < n; k++) fill_all(&x[k], p);
    for (int k = 0; k < n && round % 2; k++) CHECK_OK(grove_start(op[k]));
    if (round % 2 == 0) CHECK_OK(grove_start(bundle));
    for (int k = 0; k < n && round % 2; k++) CHECK_OK(grove_wait(op[k]));
    if (round % 2 == 0) CHECK_OK(grove_wait(bundle));
    for (int k = 0; k < n; k++) check_all(&x[k], p, k);
    polite_barrier(p->comm);
  }
  CHECK_OK(grove_op_free(&bundle));
  for (int k = 0; k < n; k++) {
    CHECK_OK(grove_op_free(&op[k]));
    field_close(&x[k]);
  }
}

int main(int argc, char **argv)
{
  static const int64_t sizes[][KINDS] = {{2500, 2500, 2500, 2500, 2500}, /* 20 000 bytes */
                                         {3, 2500, 3, 2048, 3},
                                         {2049, 3, 2500, 5, 700},
                                         {2045, 2046, 2047, 2048, 2046}};
  grove_root roots[ROOTS];
  grove_forest *f = NULL;
  test_begin(&argc, &argv, "exec/wide_units");
  place p = place_create(split(0));
  for (int s = 0; s < ROOTS; s++) roots[s] = (grove_root){0, s};
  CHECK_OK(grove_forest_create(p.ctx, &f));
  CHECK_OK(grove_forest_set_graph(f, p.rank == 0 ? ROOTS : 0, ROOTS, NULL, roots));
  CHECK_OK(grove_forest_set_up(f));
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    test_case((int64_t)i);
    run(&p, f, sizes[i], KINDS);
  }
  CHECK_OK(grove_forest_free(&f));
  place_free(&p);
  return test_end();
}
