/* Units that go the long way, with every kind of operation, duplicate slots and shared units: too
 * large to be known piece by piece, of very many pieces, and lying in each other's gaps, so that
 * only some fit side by side into memory of our own. */
#include "pack/pack.h"

#include "check.h"
#include "random.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_PARTS = 300, MOST_ENTRIES = 600 };

/* A unit of 32-bit integers; slots are `extent` apart. */
typedef struct subject {
  const char *name;
  int parts;
  ptrdiff_t at[MOST_PARTS];
  ptrdiff_t extent;
  int slots;
  MPI_Datatype type;
} subject;

static const subject *now; /* for the user's operations */

typedef struct memory {
  size_t bytes;
  char *all;
} memory;

static memory memory_open(const subject *s)
{
  size_t bytes = (size_t)(s->extent * s->slots + s->at[s->parts - 1] + 4);
  return (memory){bytes, need(bytes)};
}

static int32_t *value(const subject *s, const char *base, int64_t slot, int part)
{
  return (int32_t *)(base + slot * s->extent + s->at[part]);
}

static void fill(const subject *s, memory *m, rng *r)
{
  memset(m->all, 0x5a, m->bytes);
  for (int k = 0; k < s->slots; k++)
    for (int p = 0; p < s->parts; p++) *value(s, m->all, k, p) = (int32_t)rng_below(r, 1000) - 500;
}

/* ---- operations ---- */

enum { REPLACE, SUM, MINUS, PLUS, OPERATIONS };

static int32_t apply(int operation, int32_t a, int32_t b)
{
  if (operation == REPLACE) return b;
  return operation == MINUS ? (int32_t)(2u * (uint32_t)a - (uint32_t)b)
                            : (int32_t)((uint32_t)a + (uint32_t)b);
}

/* b = 2 a - b, which does not commute; and a + b, as the user might write it. */
static void twice_minus(void *a, void *b, int *n, MPI_Datatype *type)
{
  (void)type;
  for (int i = 0; i < *n; i++)
    for (int p = 0; p < now->parts; p++)
      *value(now, b, i, p) = apply(MINUS, *value(now, a, i, p), *value(now, b, i, p));
}

static void plus(void *a, void *b, int *n, MPI_Datatype *type)
{
  (void)type;
  for (int i = 0; i < *n; i++)
    for (int p = 0; p < now->parts; p++)
      *value(now, b, i, p) = apply(PLUS, *value(now, a, i, p), *value(now, b, i, p));
}

static grove_mover mover(const subject *s, MPI_Op op)
{
  grove_unit u;
  grove_combine c;
  grove_mover m;
  CHECK_OK(grove_unit_create(s->type, MPI_COMM_SELF, &u));
  CHECK_OK(grove_combine_create(op, &u, &c));
  CHECK_OK(grove_mover_create(&u, &c, &m));
  return m;
}

/* ---- lists ---- */

typedef struct list {
  int64_t n, values[MOST_ENTRIES], units, start_values[MOST_ENTRIES + 1];
  grove_index index, starts;
  grove_shape shape;
} list;

/* Slots twice, and three times, unless they are in order. Few of the doubled values of MINUS. */
static void draw(const subject *s, rng *r, list *l, int64_t bytes)
{
  int in_order = rng_one_in(r, 3), shared = rng_one_in(r, 2);
  l->n = in_order ? rng_between(r, 1, s->slots) : rng_between(r, 1, 2 * s->slots);
  l->units = 0;
  for (int64_t i = 0; i < l->n; i++) {
    l->values[i] = in_order ? i : rng_below(r, s->slots);
    if (i == 0 || !shared || rng_one_in(r, 4)) l->start_values[l->units++] = i;
  }
  l->start_values[l->units] = l->n;
  l->starts = (grove_index){0};
  CHECK_OK(grove_index_create(l->n, l->values, &l->index));
  if (shared) CHECK_OK(grove_index_create(l->units + 1, l->start_values, &l->starts));
  CHECK_OK(grove_shape_create(&l->index, &l->starts, bytes, &l->shape));
}

static void list_free(list *l)
{
  grove_shape_free(&l->shape);
  grove_index_free(&l->index);
  grove_index_free(&l->starts);
}

/* ---- one case ---- */

static void check_pack(const subject *s, const grove_mover *m, int operation, const memory *array,
                       const list *l, int32_t *message)
{
  int64_t begin = l->units / 3, n = l->units - begin;
  CHECK_OK(grove_pack(m, &l->shape, array->all, begin, n, message));
  for (int64_t u = 0; u < n; u++)
    for (int p = 0; p < s->parts; p++) {
      const int64_t *start = &l->start_values[begin + u];
      int32_t expected = *value(s, array->all, l->values[start[0]], p);
      for (int64_t k = start[0] + 1; k < start[1]; k++)
        expected = apply(operation, expected, *value(s, array->all, l->values[k], p));
      int32_t got = message[u * s->parts + p];
      CHECK(got == expected, "%s, operation %d: part %d of unit %lld is %d, not %d", s->name,
            operation, p, (long long)u, got, expected);
    }
}

static void check_unpack(const subject *s, const grove_mover *m, int operation, memory *array,
                         const list *l, const int32_t *message)
{
  memory expected = {array->bytes, need(array->bytes)};
  int64_t begin = l->units / 4, n = l->units - begin;
  memcpy(expected.all, array->all, array->bytes);
  for (int64_t u = 0; u < n; u++)
    for (int64_t k = l->start_values[begin + u]; k < l->start_values[begin + u + 1]; k++)
      for (int p = 0; p < s->parts; p++) {
        int32_t *target = value(s, expected.all, l->values[k], p);
        *target = apply(operation, *target, message[u * s->parts + p]);
      }
  CHECK_OK(grove_unpack(m, &l->shape, message, array->all, begin, n));
  CHECK(memcmp(array->all, expected.all, array->bytes) == 0, "%s, operation %d: unpacked otherwise",
        s->name, operation);
  free(expected.all);
}

static void check(subject *s, int64_t samples, int pieces)
{
  MPI_Op ops[OPERATIONS] = {MPI_REPLACE, MPI_SUM};
  MPI_Op_create(twice_minus, 0, &ops[MINUS]);
  MPI_Op_create(plus, 1, &ops[PLUS]);
  MPI_Type_commit(&s->type);
  now = s;
  memory array = memory_open(s);
  int32_t *message = need(sizeof *message * MOST_ENTRIES * (size_t)s->parts);
  for (int64_t i = 0; i < samples * OPERATIONS; i++) {
    rng r = rng_from(test_seed(), (uint64_t)i);
    list l;
    grove_mover m = mover(s, ops[i % OPERATIONS]);
    CHECK(m.unit.npieces == pieces, "%s: %d pieces", s->name, m.unit.npieces);
    draw(s, &r, &l, m.unit.bytes);
    fill(s, &array, &r);
    check_pack(s, &m, (int)(i % OPERATIONS), &array, &l, message);
    for (int64_t k = 0; k < l.units * s->parts; k++) message[k] = (int32_t)rng_below(&r, 999);
    check_unpack(s, &m, (int)(i % OPERATIONS), &array, &l, message);
    list_free(&l);
    grove_mover_free(&m);
  }
  free(array.all);
  free(message);
  MPI_Type_free(&s->type);
  for (int k = MINUS; k < OPERATIONS; k++) MPI_Op_free(&ops[k]);
}

/* ---- units ---- */

/* Slots in each other's gaps: 4 bytes of each unit, a stride, 4 bytes more, ... */
static void columns(const char *name, int parts, int stride, int64_t samples, int pieces)
{
  subject s = {.name = name, .parts = parts, .extent = 4};
  MPI_Datatype t;
  s.slots = stride < MOST_ENTRIES ? stride / 2 : MOST_ENTRIES / 2;
  for (int p = 0; p < parts; p++) s.at[p] = 4 * (ptrdiff_t)p * stride;
  MPI_Type_vector(parts, 1, stride, MPI_INT32_T, &t);
  MPI_Type_create_resized(t, 0, 4, &s.type);
  check(&s, samples, pieces);
  MPI_Type_free(&t);
}

static void comb(int parts)
{
  subject s = {.name = "a comb", .parts = parts, .extent = 12 * parts, .slots = 20};
  MPI_Datatype t;
  for (int p = 0; p < parts; p++) s.at[p] = 12 * p + 4;
  MPI_Type_create_hindexed_block(1, 1, (MPI_Aint[]){4}, MPI_INT32_T, &t);
  MPI_Datatype tooth;
  MPI_Type_create_resized(t, 0, 12, &tooth);
  MPI_Type_contiguous(parts, tooth, &s.type);
  check(&s, test_samples(5), parts);
  MPI_Type_free(&t);
  MPI_Type_free(&tooth);
}

/* How many fit side by side. */
static void abreast(void)
{
  MPI_Datatype t, column;
  grove_unit u;
  MPI_Type_vector(3, 1, 50, MPI_INT, &t);
  MPI_Type_create_resized(t, 0, 4, &column);
  MPI_Type_commit(&t);
  MPI_Type_commit(&column);
  CHECK_OK(grove_unit_create(column, MPI_COMM_SELF, &u));
  CHECK(grove_unit_abreast(&u, 1000) == 50, "%lld columns",
        (long long)grove_unit_abreast(&u, 1000));
  CHECK(grove_unit_abreast(&u, 7) == 7, "%lld columns", (long long)grove_unit_abreast(&u, 7));
  grove_unit_free(&u);
  MPI_Type_free(&column);
  CHECK_OK(grove_unit_create(t, MPI_COMM_SELF, &u));
  CHECK(grove_unit_abreast(&u, 1000) == 1000, "whole ones do not fit");
  grove_unit_free(&u);
  MPI_Type_create_resized(t, 0, 0, &column);
  MPI_Type_commit(&column);
  CHECK_OK(grove_unit_create(column, MPI_COMM_SELF, &u));
  CHECK(grove_unit_abreast(&u, 1000) == 1, "all in one place");
  grove_unit_free(&u);
  MPI_Type_free(&column);
  MPI_Type_free(&t);
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "pack/odd_units");
  abreast();
  columns("columns", 5, 100, test_samples(10), 5);
  columns("narrow columns", 3, 7, test_samples(10), 3);
  comb(MOST_PARTS);
  comb(40);
  /* Beyond the mebibyte up to which pieces are looked for. */
  columns("large columns", 2, (1 << 18) + 8, test_samples(5), 0);
  return test_end();
}
