/* Units so far apart that offsets in an array pass 2^31 and 2^32 bytes. The arrays are addresses
 * with hardly any memory behind them. */
#include "check.h"
#include "places.h"
#include "sparse.h"

#include <string.h>

enum { SLOTS = 7, PIECES = 2 };

static const int64_t GIB = (int64_t)1 << 30;
static const int64_t ARRAY_BYTES = 8 * ((int64_t)1 << 30);

/* One to two doubles a slot. */
typedef struct wide {
  const char *name;
  MPI_Datatype type;
  int64_t extent;
  int npieces;
  int64_t at[PIECES];
  int has_user_op; /* scratch memory for one is no larger than its data */
} wide;

static wide make_wide(const char *name, int64_t extent, int64_t second)
{
  wide w = {.name = name,
            .extent = extent,
            .npieces = second > 0 ? 2 : 1,
            .at = {0, second},
            .has_user_op = second < GIB};
  MPI_Aint at[PIECES] = {0, (MPI_Aint)second};
  int lengths[PIECES] = {1, 1};
  MPI_Datatype inner;
  MPI_Type_create_hindexed(w.npieces, lengths, at, MPI_DOUBLE, &inner);
  MPI_Type_create_resized(inner, 0, (MPI_Aint)extent, &w.type);
  MPI_Type_commit(&w.type);
  MPI_Type_free(&inner);
  return w;
}

static double *element(const wide *w, const sparse *array, int64_t slot, int piece)
{
  return (double *)(void *)(array->memory + slot * w->extent + w->at[piece]);
}

static double root_value(int rank, int64_t slot, int piece)
{
  return 1000.0 * (rank + 1) + 10.0 * (double)slot + piece;
}

static double leaf_value(int rank, int64_t slot, int piece)
{
  return -root_value(rank, slot, piece) - 0.5;
}

/* ---- the graph: leaf j is joined to root joined(j) of the next rank ---- */

typedef enum order { IN_ORDER, MIXED, ORDERS } order;

static int64_t joined(order o, int64_t j)
{
  return o == IN_ORDER ? j : (3 * j + 5) % SLOTS;
}

static grove_forest *make_forest(const place *p, order o)
{
  grove_forest *f = NULL;
  grove_root root[SLOTS];
  for (int64_t j = 0; j < SLOTS; j++) root[j] = (grove_root){(p->rank + 1) % p->size, joined(o, j)};
  CHECK_OK(grove_forest_create(p->ctx, &f));
  CHECK_OK(grove_forest_set_graph(f, SLOTS, SLOTS, NULL, root));
  CHECK_OK(grove_forest_set_up(f));
  return f;
}

/* ---- operations ---- */

static void add(void *in, void *inout, int *n, MPI_Datatype *type)
{
  MPI_Aint lb = 0, extent = 0;
  MPI_Type_get_extent(*type, &lb, &extent);
  for (int i = 0; i < *n; i++)
    *(double *)(void *)((char *)inout + i * extent) += *(double *)(void *)((char *)in + i * extent);
}

static void fill(const wide *w, const place *p, const sparse *root, const sparse *leaf)
{
  for (int64_t s = 0; s < SLOTS; s++)
    for (int k = 0; k < w->npieces; k++) {
      *element(w, root, s, k) = root_value(p->rank, s, k);
      *element(w, leaf, s, k) = leaf_value(p->rank, s, k);
    }
}

static void check(const wide *w, const sparse *array, const char *side, int64_t slot, int piece,
                  double expected)
{
  double got = *element(w, array, slot, piece);
  CHECK(got == expected, "%s: %s %lld, double %d is %g, not %g", w->name, side, (long long)slot,
        piece, got, expected);
}

static void try_bcast(const wide *w, const place *p, order o, MPI_Op op, const sparse *root,
                      const sparse *leaf)
{
  grove_forest *f = make_forest(p, o);
  fill(w, p, root, leaf);
  CHECK_OK(grove_bcast(f, w->type, root->memory, leaf->memory, op));
  for (int64_t j = 0; j < SLOTS; j++)
    for (int k = 0; k < w->npieces; k++) {
      double value = root_value((p->rank + 1) % p->size, joined(o, j), k);
      if (op != MPI_REPLACE) value += leaf_value(p->rank, j, k);
      check(w, leaf, "leaf", j, k, value);
      check(w, root, "root", j, k, root_value(p->rank, j, k));
    }
  CHECK_OK(grove_forest_free(&f));
}

static void try_reduce(const wide *w, const place *p, order o, MPI_Op op, const sparse *root,
                       const sparse *leaf)
{
  grove_forest *f = make_forest(p, o);
  fill(w, p, root, leaf);
  CHECK_OK(grove_reduce(f, w->type, leaf->memory, root->memory, op));
  for (int64_t j = 0; j < SLOTS; j++)
    for (int k = 0; k < w->npieces; k++) {
      int64_t i = joined(o, j);
      double value = leaf_value((p->rank + p->size - 1) % p->size, j, k);
      if (op != MPI_REPLACE) value += root_value(p->rank, i, k);
      check(w, root, "root", i, k, value);
      check(w, leaf, "leaf", j, k, leaf_value(p->rank, j, k));
    }
  CHECK_OK(grove_forest_free(&f));
}

static void try_all(const wide *w, const place *p, const sparse *root, const sparse *leaf)
{
  MPI_Op own;
  MPI_Op_create(add, 1, &own);
  const MPI_Op ops[] = {MPI_REPLACE, MPI_SUM, own};
  for (int i = 0; i < (w->has_user_op && w->npieces == 1 ? 3 : 2); i++)
    for (order o = IN_ORDER; o < ORDERS; o++) {
      try_bcast(w, p, o, ops[i], root, leaf);
      try_reduce(w, p, o, ops[i], root, leaf);
    }
  MPI_Op_free(&own);
}

/* A unit of 2^31 bytes is refused, in the same words everywhere. */
static void refuse_large(const place *p, const sparse *root, const sparse *leaf)
{
  MPI_Datatype large;
  grove_op *op = NULL;
  grove_forest *f = make_forest(p, IN_ORDER);
  MPI_Type_contiguous(1 << 30, MPI_SHORT, &large);
  MPI_Type_commit(&large);
  grove_status status = grove_bcast_init(f, large, root->memory, leaf->memory, MPI_REPLACE, &op);
  CHECK(status == GROVE_ERR_UNSUPPORTED, "%s: %s", grove_status_name(status), grove_last_error());
  CHECK_SAME_ERROR(p->comm, status);
  CHECK_NUMBER_IN(grove_last_error(), 2 * GIB);
  MPI_Type_free(&large);
  CHECK_OK(grove_forest_free(&f));
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "exec/large_extent");
  sparse root = sparse_memory(ARRAY_BYTES), leaf = sparse_memory(ARRAY_BYTES);
  if (!sparse_everywhere(&root) || !sparse_everywhere(&leaf))
    return test_skip("there are no 16 GiB of addresses for a rank");
  place p = place_create(split(0));
  wide units[] = {make_wide("1 GiB apart", GIB, 0), make_wide("a pair 1 GiB apart", GIB, 256),
                  make_wide("3 GiB within", 16, 3 * GIB),
                  make_wide("5 GiB within, 400 MiB apart", 400 << 20, 5 * GIB + 8)};
  for (int on_node = 0; on_node < 2; on_node++) {
    CHECK_OK(grove_context_set(p.ctx, "transport_on_node", on_node ? "mpi" : "shm"));
    for (int i = 0; i < 4; i++) {
      test_case(i);
      try_all(&units[i], &p, &root, &leaf);
    }
  }
  refuse_large(&p, &root, &leaf);
  for (int i = 0; i < 4; i++) MPI_Type_free(&units[i].type);
  place_free(&p);
  sparse_free(&root);
  sparse_free(&leaf);
  return test_end();
}
