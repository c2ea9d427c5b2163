/* Units that are legal and rare: made of Fortran's parametrised types, with empty blocks, of one C
 * type under several names, by constructors with large counts, with parts very far apart, or too
 * large. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "check.h"
#include "places.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* ---- units of a few numbers ---- */

typedef enum scalar { I32, I64, F32, F64 } scalar;

enum { ELEMENTS = 4, SLOTS = 2, BYTES = 256 };

/* The unit as it should be. */
typedef struct unit {
  const char *name;
  scalar kind;
  int n;
  ptrdiff_t at[ELEMENTS];
  ptrdiff_t extent;
} unit;

/* SLOTS entries, the first from the next rank and the second of one's own. */
typedef struct bench {
  const place *p;
  grove_forest *forest;
} bench;

static int owner_of(const bench *b, int rank, int slot)
{
  return slot == 0 ? (rank + 1) % b->p->size : rank;
}

static bench bench_open(const place *p)
{
  bench b = {.p = p};
  grove_root root[SLOTS];
  for (int s = 0; s < SLOTS; s++) root[s] = (grove_root){owner_of(&b, p->rank, s), s};
  CHECK_OK(grove_forest_create(p->ctx, &b.forest));
  CHECK_OK(grove_forest_set_graph(b.forest, SLOTS, SLOTS, NULL, root));
  CHECK_OK(grove_forest_set_up(b.forest));
  return b;
}

static void put(const unit *u, char *array, int slot, int e, int value)
{
  char *to = array + slot * u->extent + u->at[e];
  int32_t i32 = value;
  int64_t i64 = value;
  float f32 = (float)value;
  double f64 = value;
  switch (u->kind) {
  case I32: memcpy(to, &i32, sizeof i32); break;
  case I64: memcpy(to, &i64, sizeof i64); break;
  case F32: memcpy(to, &f32, sizeof f32); break;
  case F64: memcpy(to, &f64, sizeof f64); break;
  }
}

static int root_value(int rank, int slot, int e)
{
  return 100 * (rank + 1) + 10 * slot + e;
}

static int leaf_value(int rank, int slot, int e)
{
  return -7 * (rank + 1) - 3 * slot - e;
}

typedef int value_of(int rank, int slot, int e);

/* What lies between the numbers is not touched. */
static void fill(const bench *b, const unit *u, char array[BYTES], value_of *value)
{
  memset(array, 0x55, BYTES);
  for (int s = 0; s < SLOTS; s++)
    for (int e = 0; e < u->n; e++) put(u, array, s, e, value(b->p->rank, s, e));
}

static void compare(const unit *u, const char *what, const char *got, const char *expected)
{
  for (int i = 0; i < BYTES; i++)
    CHECK(got[i] == expected[i], "%s: %s: byte %d is %d, not %d", u->name, what, i, got[i],
          expected[i]);
}

static void check_bcast(const bench *b, const unit *u, MPI_Datatype type, int adds)
{
  _Alignas(16) char root[BYTES], leaf[BYTES], expected[BYTES];
  fill(b, u, root, root_value);
  fill(b, u, leaf, leaf_value);
  memcpy(expected, leaf, BYTES);
  int me = b->p->rank;
  for (int s = 0; s < SLOTS; s++)
    for (int e = 0; e < u->n; e++) {
      int moved = root_value(owner_of(b, me, s), s, e);
      put(u, expected, s, e, adds ? leaf_value(me, s, e) + moved : moved);
    }
  CHECK_OK(grove_bcast(b->forest, type, root, leaf, adds ? MPI_SUM : MPI_REPLACE));
  compare(u, adds ? "bcast SUM" : "bcast", leaf, expected);
}

static void check_reduce(const bench *b, const unit *u, MPI_Datatype type)
{
  _Alignas(16) char root[BYTES], leaf[BYTES], expected[BYTES];
  fill(b, u, root, root_value);
  fill(b, u, leaf, leaf_value);
  memcpy(expected, root, BYTES);
  int me = b->p->rank, previous = (me + b->p->size - 1) % b->p->size;
  for (int s = 0; s < SLOTS; s++)
    for (int e = 0; e < u->n; e++)
      put(u, expected, s, e, root_value(me, s, e) + leaf_value(s == 0 ? previous : me, s, e));
  CHECK_OK(grove_reduce(b->forest, type, leaf, root, MPI_SUM));
  compare(u, "reduce SUM", root, expected);
}

/* Frees the type. */
static void works(const bench *b, unit u, MPI_Datatype type)
{
  check_bcast(b, &u, type, 0);
  check_bcast(b, &u, type, 1);
  check_reduce(b, &u, type);
  MPI_Type_free(&type);
}

static MPI_Datatype committed(MPI_Datatype type)
{
  MPI_Type_commit(&type);
  return type;
}

static MPI_Datatype two_of(MPI_Datatype part)
{
  MPI_Datatype type;
  MPI_Type_contiguous(2, part, &type);
  return committed(type);
}

/* A struct of two blocks. */
static MPI_Datatype blocks(int n, MPI_Aint at, MPI_Datatype a, int m, MPI_Aint then, MPI_Datatype b)
{
  MPI_Datatype type;
  MPI_Type_create_struct(2, (int[]){n, m}, (MPI_Aint[]){at, then}, (MPI_Datatype[]){a, b}, &type);
  return committed(type);
}

/* Predefined types that have a constructor, and are not to be freed. */
static void parametrised(const bench *b)
{
  MPI_Datatype real, single, integer;
  MPI_Type_create_f90_real(12, MPI_UNDEFINED, &real);
  MPI_Type_create_f90_real(6, 30, &single);
  MPI_Type_create_f90_integer(9, &integer);
  works(b, (unit){"2 real(12)", F64, 2, {0, 8}, 16}, two_of(real));
  works(b, (unit){"2 real(6, 30)", F32, 2, {0, 4}, 8}, two_of(single));
  works(b, (unit){"2 integer(9)", I32, 2, {0, 4}, 8}, two_of(integer));
  works(b, (unit){"real(12), double", F64, 2, {0, 8}, 16}, blocks(1, 0, real, 1, 8, MPI_DOUBLE));
  MPI_Datatype pair = two_of(real);
  works(b, (unit){"2 real(12), real(12)", F64, 3, {0, 8, 24}, 32}, blocks(1, 0, pair, 1, 24, real));
  works(b, (unit){"2 * 2 real(12)", F64, 4, {0, 8, 16, 24}, 32}, two_of(pair));
  MPI_Type_free(&pair); /* the predefined ones have survived all of it */
  works(b, (unit){"2 real(12) again", F64, 2, {0, 8}, 16}, two_of(real));
}

/* A block of length 0 is no part of the unit. */
static void empty_blocks(const bench *b)
{
  MPI_Datatype ints = two_of(MPI_INT);
  works(b, (unit){"0 int, 2 double", F64, 2, {0, 8}, 16}, blocks(0, 0, MPI_INT, 2, 0, MPI_DOUBLE));
  works(b, (unit){"2 double, 0 char", F64, 2, {0, 8}, 16},
        blocks(2, 0, MPI_DOUBLE, 0, 16, MPI_CHAR));
  works(b, (unit){"0 * 2 int, 1 double", F64, 1, {0}, 8}, blocks(0, 0, ints, 1, 0, MPI_DOUBLE));
  MPI_Datatype odd = blocks(0, 0, MPI_DOUBLE, 1, 0, MPI_INT);
  works(b, (unit){"(0 double, 1 int), int", I32, 2, {0, 12}, 16},
        blocks(1, 0, odd, 1, 12, MPI_INT));
  MPI_Type_free(&ints);
  MPI_Type_free(&odd);
}

static void several_names(const bench *b)
{
  works(b, (unit){"int, int32_t", I32, 2, {0, 4}, 8}, blocks(1, 0, MPI_INT, 1, 4, MPI_INT32_T));
  works(b, (unit){"2 int64_t, long long", I64, 3, {0, 8, 16}, 24},
        blocks(2, 0, MPI_INT64_T, 1, 16, MPI_LONG_LONG));
  works(b, (unit){"int64_t, MPI_Aint", I64, 2, {0, 8}, 16},
        blocks(1, 0, MPI_INT64_T, 1, 8, MPI_AINT));
}

#if MPI_VERSION >= 4
static void large_counts(const bench *b)
{
  MPI_Datatype type, copy;
  MPI_Type_contiguous_c(4, MPI_INT, &type);
  works(b, (unit){"contiguous_c", I32, 4, {0, 4, 8, 12}, 16}, committed(type));
  MPI_Type_vector_c(2, 1, 3, MPI_DOUBLE, &type);
  works(b, (unit){"vector_c", F64, 2, {0, 24}, 32}, committed(type));
  MPI_Type_create_hindexed_c(2, (MPI_Count[]){1, 2}, (MPI_Count[]){16, 0}, MPI_INT, &type);
  works(b, (unit){"hindexed_c", I32, 3, {0, 4, 16}, 20}, committed(type));
  MPI_Type_create_struct_c(2, (MPI_Count[]){0, 2}, (MPI_Count[]){0, 8},
                           (MPI_Datatype[]){MPI_INT, MPI_DOUBLE}, &type);
  MPI_Type_create_resized_c(type, 0, 24, &copy);
  works(b, (unit){"struct_c, resized_c", F64, 2, {8, 16}, 24}, committed(copy));
  MPI_Type_free(&type);
}
#else
static void large_counts(const bench *b)
{
  (void)b;
}
#endif

/* ---- large units ---- */

/* A unit of n ints, `stride` apart, joined to the next rank's. */
static void large_unit(const place *p, int n, int stride)
{
  MPI_Datatype type;
  grove_forest *f = NULL;
  grove_op *op = NULL;
  int next = (p->rank + 1) % p->size;
  size_t ints = (size_t)n * (size_t)stride;
  int *root = need(ints * sizeof *root), *leaf = need(ints * sizeof *leaf);
  for (size_t i = 0; i < ints; i++) {
    root[i] = 1000 * p->rank + (int)(i % 1000);
    leaf[i] = -1;
  }
  MPI_Type_vector(n, 1, stride, MPI_INT, &type);
  MPI_Type_commit(&type);
  CHECK_OK(grove_forest_create(p->ctx, &f));
  CHECK_OK(grove_forest_set_graph(f, 1, 1, NULL, &(grove_root){next, 0}));
  CHECK_OK(grove_forest_set_up(f));
  CHECK_OK(grove_bcast_init(f, type, root, leaf, MPI_REPLACE, &op));
  CHECK_OK(grove_start(op));
  CHECK_OK(grove_wait(op));
  CHECK_OK(grove_op_free(&op));
  CHECK_OK(grove_bcast(f, type, root, leaf, MPI_SUM));
  for (size_t i = 0; i < ints; i++) {
    int expected = i % (size_t)stride == 0 ? 2 * (1000 * next + (int)(i % 1000)) : -1;
    CHECK(leaf[i] == expected, "int %zu is %d, not %d", i, leaf[i], expected);
  }
  CHECK_OK(grove_forest_free(&f));
  MPI_Type_free(&type);
  free(root);
  free(leaf);
}

/* ---- far apart ---- */

static int on_all(const place *p, int here)
{
  int all = 0;
  MPI_Request request;
  MPI_Iallreduce(&here, &all, 1, MPI_INT, MPI_MIN, p->comm, &request);
  polite_wait(&request);
  return all;
}

/* Address space without memory behind it, or NULL. */
static char *sparse(size_t bytes)
{
  void *p =
    mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return p == MAP_FAILED ? NULL : p;
}

static void check_far(const bench *b, const char *leaf, MPI_Aint far, int adds)
{
  for (int s = 0; s < SLOTS; s++)
    for (int k = 0; k < 2; k++) {
      const double *got = (const double *)(leaf + 8 * s + (k ? far : 0));
      double moved = root_value(owner_of(b, b->p->rank, s), s, k);
      CHECK(*got == (adds ? 2 * moved : moved), "slot %d, part %d: %g, not %g", s, k, *got,
            adds ? 2 * moved : moved);
    }
}

/* Two doubles, a terabyte apart: no memory of that length is needed to move them. */
static void far_apart(const bench *b)
{
  const MPI_Aint far = (MPI_Aint)1 << 40;
  const size_t bytes = (size_t)far + 4096;
  MPI_Datatype two, type;
  char *root = sparse(bytes), *leaf = sparse(bytes);
  if (on_all(b->p, root != NULL && leaf != NULL)) {
    MPI_Type_create_hindexed(2, (int[]){1, 1}, (MPI_Aint[]){0, far}, MPI_DOUBLE, &two);
    MPI_Type_create_resized(two, 0, 8, &type);
    MPI_Type_commit(&type);
    MPI_Type_free(&two);
    for (int s = 0; s < SLOTS; s++)
      for (int k = 0; k < 2; k++)
        *(double *)(root + 8 * s + (k ? far : 0)) = root_value(b->p->rank, s, k);
    CHECK_OK(grove_bcast(b->forest, type, root, leaf, MPI_REPLACE));
    check_far(b, leaf, far, 0);
    CHECK_OK(grove_bcast(b->forest, type, root, leaf, MPI_SUM));
    check_far(b, leaf, far, 1);
    CHECK_OK(grove_reduce(b->forest, type, leaf, root, MPI_NO_OP));
    MPI_Type_free(&type);
  } else if (b->p->rank == 0) {
    printf("no terabyte of addresses: parts that are far apart were not tried\n");
  }
  if (root != NULL) munmap(root, bytes);
  if (leaf != NULL) munmap(leaf, bytes);
}

/* ---- too large ---- */

/* Frees the type. */
static void too_large(const bench *b, MPI_Datatype type)
{
  grove_op *op = NULL;
  char x[8], y[8]; /* not looked at */
  MPI_Type_commit(&type);
  grove_status status = grove_bcast_init(b->forest, type, x, y, MPI_REPLACE, &op);
  CHECK(status == GROVE_ERR_UNSUPPORTED, "%s", grove_status_name(status));
  CHECK_SAME_ERROR(b->p->comm, status);
  CHECK(op == NULL, "an output was set by a call that failed");
  MPI_Type_free(&type);
}

static void too_large_units(const bench *b)
{
  MPI_Datatype type, part;
  MPI_Type_contiguous(1 << 30, MPI_INT, &type);
  too_large(b, type);
  MPI_Type_contiguous(1 << 20, MPI_INT, &part);
  MPI_Type_contiguous(1 << 20, part, &type);
  MPI_Type_free(&part);
  too_large(b, type);
#if MPI_VERSION >= 4
  MPI_Type_contiguous_c(3000000000, MPI_BYTE, &type);
  too_large(b, type);
#endif
}

/* ---- overlap in units with gaps, under the option `check` ---- */

/* Four ints, and as much room behind them. */
static void overlap(const bench *b)
{
  enum { UNIT = 8 };
  MPI_Datatype ints, type;
  int x[4 * SLOTS * UNIT] = {0}, elsewhere[SLOTS * UNIT] = {0}, *root = x + SLOTS * UNIT;
  MPI_Type_contiguous(4, MPI_INT, &ints);
  MPI_Type_create_resized(ints, 0, UNIT * sizeof(int), &type);
  MPI_Type_commit(&type);
  for (int bad = 0; bad < b->p->size; bad++)
    for (int shift = -SLOTS * UNIT; shift <= SLOTS * UNIT; shift++) {
      int *leaf = b->p->rank == bad ? root + shift : elsewhere, far = abs(shift) % UNIT;
      int meet = far != 4 && abs(shift) < SLOTS * UNIT - 4;
      grove_op *op = NULL;
      grove_status status = grove_bcast_init(b->forest, type, root, leaf, MPI_REPLACE, &op);
      CHECK(status == (meet ? GROVE_ERR_ARG : GROVE_OK), "leaves %d ints behind the roots: %s",
            shift, grove_status_name(status));
      if (meet) CHECK_SAME_ERROR(b->p->comm, status);
      CHECK_OK(grove_op_free(&op));
    }
  MPI_Type_free(&ints);
  MPI_Type_free(&type);
}

static void try_units(const place *p)
{
  bench b = bench_open(p);
  parametrised(&b);
  empty_blocks(&b);
  several_names(&b);
  large_counts(&b);
  far_apart(&b);
  too_large_units(&b);
  CHECK_OK(grove_forest_free(&b.forest));
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "exec/unusual_types");
  place p = place_create(split(0));
  try_units(&p);
  large_unit(&p, (1 << 18) + 1, 1); /* a little over a mebibyte */
  large_unit(&p, (1 << 18) + 1, 3);
  CHECK_OK(grove_context_set(p.ctx, "check", "on"));
  try_units(&p);
  bench b = bench_open(&p);
  overlap(&b);
  CHECK_OK(grove_forest_free(&b.forest));
  place_free(&p);
  return test_end();
}
