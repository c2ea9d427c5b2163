/* Between arrays and messages: every type, lists with gaps, repetitions and in any order, boxes and
 * runs, slots that share units of the message, parts of all these, and every operation, slot by
 * slot as the reference does it. All bytes that nobody named stay as they were. */
#include "pack/pack.h"

#include "arrays.h"
#include "check.h"

#include <stdlib.h>
#include <string.h>

enum { FEW_SLOTS = 24, MOST_SLOTS = 160, CANARIES = 64 };

/* One unit of the test, as Grove sees it. */
typedef struct subject {
  const unit *u;
  grove_unit g;
} subject;

static subject subject_open(const unit *u)
{
  subject s = {.u = u};
  CHECK_OK(grove_unit_create(u->type, MPI_COMM_SELF, &s.g));
  return s;
}

static void subject_close(subject *s)
{
  grove_unit_free(&s->g);
}

/* The unit stays the subject's. */
static grove_mover mover_open(const subject *s, MPI_Op op)
{
  grove_combine c;
  grove_mover m = {0};
  CHECK_OK(grove_combine_create(op, &s->g, &c));
  CHECK_OK(grove_mover_create(&s->g, &c, &m));
  return m;
}

static void mover_close(grove_mover *m)
{
  m->unit.owned = 0;
  grove_mover_free(m);
  CHECK(!m->memory, "memory of a freed mover is still there");
  grove_mover_free(m); /* again: nothing happens */
}

/* ---- lists of slots, and the part of one that is used ---- */

typedef struct list {
  int64_t n, values[2 * MOST_SLOTS];
  grove_index index;
  int64_t units, start_values[2 * MOST_SLOTS + 1]; /* with nothing shared: a unit a slot */
  grove_index starts;
  int64_t begin, count; /* of units */
} list;

static int64_t least(int64_t a, int64_t b)
{
  return a < b ? a : b;
}

/* i + j stride[1] + k stride[2], with any strides that fit, also such that slots occur twice. */
static void draw_box(rng *r, int64_t nslots, list *l)
{
  int64_t side[3], stride[3], left = nslots - 1, first = 0;
  l->n = 1;
  for (int d = 0; d < 3; d++) {
    side[d] = rng_between(r, 1, rng_one_in(r, 3) ? 1 : 2 * MOST_SLOTS / l->n);
    side[d] = least(side[d], 12);
    if (l->n * side[d] > 2 * MOST_SLOTS) side[d] = 1;
    stride[d] = side[d] > 1 ? rng_between(r, 0, least(left / (side[d] - 1), 14)) : 1;
    if (d == 0 && rng_one_in(r, 2)) stride[d] = least(1, left / (side[d] > 1 ? side[d] - 1 : 1));
    left -= (side[d] - 1) * stride[d];
    if (left < 0) side[d] = 1, left = 0;
    if (rng_one_in(r, 4)) { /* backwards */
      first += (side[d] - 1) * stride[d];
      stride[d] = -stride[d];
    }
    l->n *= side[d];
  }
  for (int64_t i = 0; i < l->n; i++)
    l->values[i] = first + i % side[0] * stride[0] + i / side[0] % side[1] * stride[1] +
                   i / (side[0] * side[1]) * stride[2];
}

/* One slot after the other, seldom a jump. */
static void draw_runs(rng *r, int64_t nslots, int length, list *l)
{
  for (int64_t i = 0; i < l->n; i++)
    l->values[i] = i > 0 && l->values[i - 1] + 1 < nslots && !rng_one_in(r, length)
                     ? l->values[i - 1] + 1
                     : rng_below(r, nslots);
}

static void draw_slots(rng *r, int64_t nslots, list *l)
{
  int kind = nslots > 0 ? (int)rng_below(r, 6) : 0;
  l->n = rng_below(r, nslots + 1);
  int64_t first = rng_below(r, nslots - l->n + 1);
  for (int64_t i = 0; i < nslots; i++) l->values[i] = i;
  if (kind == 0) /* consecutive */
    for (int64_t i = 0; i < l->n; i++) l->values[i] = first + i;
  if (kind == 1) rng_shuffle(r, nslots, l->values); /* any order, gaps */
  if (kind == 2) {                                  /* repetitions, more than there are slots */
    l->n = rng_below(r, 2 * nslots + 1);
    for (int64_t i = 0; i < l->n; i++) l->values[i] = rng_below(r, nslots);
  }
  if (kind == 3) draw_runs(r, nslots, 3, l);
  if (kind == 4) draw_runs(r, nslots, 40, l);
  if (kind == 5) draw_box(r, nslots, l);
}

/* Every unit stands for at least one slot. */
static void draw_starts(rng *r, int shared, list *l)
{
  l->units = 0;
  for (int64_t i = 0; i < l->n; i++)
    if (i == 0 || !shared || rng_one_in(r, 3)) l->start_values[l->units++] = i;
  l->start_values[l->units] = l->n;
  l->starts = (grove_index){0};
  if (shared) CHECK_OK(grove_index_create(l->units + 1, l->start_values, &l->starts));
}

static void draw_list(rng *r, int64_t nslots, int shared, list *l)
{
  draw_slots(r, nslots, l);
  draw_starts(r, shared, l);
  CHECK_OK(grove_index_create(l->n, l->values, &l->index));
  l->begin = rng_one_in(r, 2) ? 0 : rng_below(r, l->units + 1);
  l->count = rng_one_in(r, 2) ? l->units - l->begin : rng_below(r, l->units - l->begin + 1);
}

static void list_free(list *l)
{
  grove_index_free(&l->index);
  grove_index_free(&l->starts);
}

static grove_shape shape_open(const subject *s, const list *l)
{
  grove_shape shape;
  CHECK_OK(grove_shape_create(&l->index, &l->starts, s->g.bytes, &shape));
  CHECK(shape.units == l->units, "a shape of %lld units", (long long)shape.units);
  return shape;
}

/* ---- the reference: one slot after the other ---- */

static void pack_by_mpi(const subject *s, const array *a, int64_t count, unsigned char *message)
{
  for (int64_t i = 0; i < count; i++) {
    int position = 0;
    MPI_Pack(array_slot(a, s->u, i), 1, s->u->type, message + i * s->g.bytes, (int)s->g.bytes,
             &position, MPI_COMM_SELF);
  }
}

static void unpack_by_mpi(const subject *s, unsigned char *message, int64_t count, array *a)
{
  for (int64_t i = 0; i < count; i++) {
    int position = 0;
    MPI_Unpack(message + i * s->g.bytes, (int)s->g.bytes, &position, array_slot(a, s->u, i), 1,
               s->u->type, MPI_COMM_SELF);
  }
}

/* Slot i of `to` becomes what entry i of the message should be: the slots that share it, combined
 * in their order. */
static void collect_by_hand(const subject *s, const reduction *op, const array *from, const list *l,
                            array *to)
{
  const reduction replace = {.name = "REPLACE", .code = OP_REPLACE, .op = MPI_REPLACE};
  for (int64_t i = 0; i < l->count; i++) {
    const int64_t *start = &l->start_values[l->begin + i];
    for (int64_t k = start[0]; k < start[1]; k++)
      unit_apply(s->u, k == start[0] ? &replace : op, array_slot(to, s->u, i),
                 array_slot(from, s->u, l->values[k]));
  }
}

/* Slot i of `from` holds what entry i of the message does. */
static void combine_by_hand(const subject *s, const reduction *op, const array *from, const list *l,
                            array *to)
{
  for (int64_t i = 0; i < l->count; i++) {
    const int64_t *start = &l->start_values[l->begin + i];
    for (int64_t k = start[0]; k < start[1]; k++)
      unit_apply(s->u, op, array_slot(to, s->u, l->values[k]), array_slot(from, s->u, i));
  }
}

/* ---- messages with canaries ---- */

static unsigned char *message_create(int64_t bytes)
{
  unsigned char *memory = need((size_t)bytes + 2 * CANARIES);
  memset(memory, 0xc3, (size_t)bytes + 2 * CANARIES);
  return memory + CANARIES;
}

static void message_free(unsigned char *message, int64_t bytes, const char *what)
{
  for (int64_t i = -CANARIES; i < bytes + CANARIES; i++)
    CHECK((i >= 0 && i < bytes) || message[i] == 0xc3, "%s: byte %lld of a message of %lld changed",
          what, (long long)i, (long long)bytes);
  free(message - CANARIES);
}

/* ---- the way there ---- */

/* Types whose slots lie in each other's gaps allow only so many. */
static array many(const subject *s, const reduction *op, int64_t n, uint64_t seed)
{
  array a = array_create(s->u, n);
  array_fill(&a, s->u, op, seed);
  return a;
}

static int fits(const subject *s, int64_t n)
{
  return s->u->most_slots == 0 || n <= s->u->most_slots;
}

static void check_trivial(const subject *s, const list *l, const grove_shape *shape)
{
  int trivial = grove_pack_is_trivial(&s->g, shape);
  int expected = s->g.dense && grove_index_consecutive(&l->index) && l->starts.count == 0;
  CHECK(trivial == expected, "%s: trivial is %d", s->u->name, trivial);
}

static void check_pack(const subject *s, const reduction *op, rng *r, int64_t nslots, int shared)
{
  list l;
  draw_list(r, nslots, shared, &l);
  if (!fits(s, l.count)) l.count = s->u->most_slots;
  array a = many(s, op, nslots, rng_next(r)), before = array_copy(&a);
  array expected = many(s, op, l.count, rng_next(r)), got = array_copy(&expected);
  int64_t bytes = l.count * s->g.bytes;
  unsigned char *message = message_create(bytes);
  grove_mover m = mover_open(s, op->op);
  grove_shape shape = shape_open(s, &l);
  CHECK_OK(grove_pack(&m, &shape, a.slot0, l.begin, l.count, message));
  collect_by_hand(s, op, &a, &l, &expected);
  unpack_by_mpi(s, message, l.count, &got);
  array_check(s->u, &got, &expected, "packed", s->u->name);
  array_check(s->u, &a, &before, "source", s->u->name);
  check_trivial(s, &l, &shape);
  grove_shape_free(&shape);
  mover_close(&m);
  message_free(message, bytes, s->u->name);
  array_free(&a);
  array_free(&before);
  array_free(&expected);
  array_free(&got);
  list_free(&l);
}

/* ---- the way back ---- */

static void check_unpack(const subject *s, const reduction *op, rng *r, int64_t nslots, int shared)
{
  char what[96];
  snprintf(what, sizeof what, "%s of %s", op->name, s->u->name);
  list l;
  draw_list(r, nslots, shared, &l);
  if (!fits(s, l.count)) l.count = s->u->most_slots;
  grove_mover m = mover_open(s, op->op);
  grove_shape shape = shape_open(s, &l);
  array from = many(s, op, l.count, rng_next(r)), to = many(s, op, nslots, rng_next(r));
  array expected = array_copy(&to);
  int64_t bytes = l.count * s->g.bytes;
  unsigned char *message = message_create(bytes), *copy = message_create(bytes);
  pack_by_mpi(s, &from, l.count, message);
  memcpy(copy, message, (size_t)bytes);
  combine_by_hand(s, op, &from, &l, &expected);
  CHECK_OK(grove_unpack(&m, &shape, message, to.slot0, l.begin, l.count));
  array_check(s->u, &to, &expected, "target", what);
  CHECK(memcmp(copy, message, (size_t)bytes) == 0, "%s: the message was written to", what);
  grove_shape_free(&shape);
  mover_close(&m);
  message_free(message, bytes, what);
  message_free(copy, bytes, what);
  array_free(&from);
  array_free(&to);
  array_free(&expected);
  list_free(&l);
}

/* MPI_NO_OP leaves everything alone. */
static void check_no_op(const subject *s, rng *r)
{
  list l;
  draw_list(r, 5, 0, &l);
  grove_mover m = mover_open(s, MPI_NO_OP);
  grove_shape shape = shape_open(s, &l);
  array a = array_create(s->u, 5);
  array_fill(&a, s->u, &s->u->reduction[0], rng_next(r));
  array before = array_copy(&a);
  unsigned char *message = message_create(l.count * s->g.bytes);
  CHECK_OK(grove_unpack(&m, &shape, message, a.slot0, l.begin, l.count));
  array_check(s->u, &a, &before, "target", "NO_OP");
  grove_shape_free(&shape);
  mover_close(&m);
  message_free(message, l.count * s->g.bytes, "NO_OP");
  array_free(&a);
  array_free(&before);
  list_free(&l);
}

/* A rank that owns nothing has NULL for an array, and lists without entries. */
static void check_nothing(const subject *s)
{
  const list none = {0};
  grove_shape shape = shape_open(s, &none);
  for (int i = 0; i < s->u->nreductions; i++) {
    grove_mover m = mover_open(s, s->u->reduction[i].op);
    CHECK_OK(grove_pack(&m, &shape, NULL, 0, 0, NULL));
    CHECK_OK(grove_unpack(&m, &shape, NULL, NULL, 0, 0));
    mover_close(&m);
  }
  grove_shape_free(&shape);
}

/* ---- a user's operation on units far from their origin ---- */

enum { SHIFTED_EXTENT = 48, SHIFTED_SLOTS = 7 };
static MPI_Aint shift; /* of the two doubles from their origin */

/* b = 2 a - b: does not commute. */
static void twice_minus(void *a, void *b, int *n, MPI_Datatype *type)
{
  (void)type;
  for (int i = 0; i < *n; i++)
    for (int k = 0; k < 2; k++) {
      double *x = (double *)((char *)a + i * SHIFTED_EXTENT + shift) + k;
      double *y = (double *)((char *)b + i * SHIFTED_EXTENT + shift) + k;
      *y = 2 * *x - *y;
    }
}

static double *shifted_slot(char *base, int slot)
{
  return (double *)(base + slot * SHIFTED_EXTENT + shift);
}

static void check_shifted(MPI_Aint by)
{
  static const int64_t values[] = {3, 0, 3, 6};
  MPI_Datatype inner, type;
  MPI_Op op;
  grove_unit g;
  grove_combine c;
  grove_mover m;
  grove_shape slots_shape;
  grove_index slots;
  double memory[SHIFTED_SLOTS * SHIFTED_EXTENT / 8], expected[SHIFTED_SLOTS * SHIFTED_EXTENT / 8];
  double message[4][2];
  shift = by;
  MPI_Type_create_hindexed(1, (int[]){2}, &shift, MPI_DOUBLE, &inner);
  MPI_Type_create_resized(inner, 0, SHIFTED_EXTENT, &type);
  MPI_Type_commit(&type);
  MPI_Op_create(twice_minus, 0, &op);
  CHECK_OK(grove_unit_create(type, MPI_COMM_SELF, &g));
  CHECK_OK(grove_combine_create(op, &g, &c));
  CHECK_OK(grove_mover_create(&g, &c, &m));
  CHECK_OK(grove_index_create(4, values, &slots));
  CHECK_OK(grove_shape_create(&slots, &(grove_index){0}, g.bytes, &slots_shape));
  for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) memory[i] = expected[i] = (double)i;
  char *base = (char *)memory - shift, *base_expected = (char *)expected - shift;
  for (int i = 0; i < 4; i++)
    for (int k = 0; k < 2; k++) {
      message[i][k] = 100 * i + k;
      double *e = shifted_slot(base_expected, (int)values[i]) + k;
      *e = 2 * *e - message[i][k];
    }
  CHECK_OK(grove_unpack(&m, &slots_shape, message, base, 0, 4));
  for (size_t i = 0; i < sizeof memory / sizeof *memory; i++)
    CHECK(memory[i] == expected[i], "shifted by %lld: entry %zu is %g, not %g", (long long)shift, i,
          memory[i], expected[i]);
  grove_shape_free(&slots_shape);
  grove_index_free(&slots);
  grove_mover_free(&m);
  MPI_Op_free(&op);
  MPI_Type_free(&type);
  MPI_Type_free(&inner);
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "pack/pack_round_trip");
  units *types = units_create();
  for (int i = 0; i < types->n; i++) {
    subject s = subject_open(&types->unit[i]);
    check_nothing(&s);
    for (int64_t k = 0; k < test_samples(12); k++) {
      test_case(k * types->n + i);
      rng r = rng_from(test_seed(), mix2((uint64_t)i, (uint64_t)k));
      check_no_op(&s, &r);
      for (int o = 0; o < s.u->nreductions; o++) {
        int64_t most = k % 3 == 0 ? MOST_SLOTS : FEW_SLOTS;
        int shared = rng_one_in(&r, 3);
        check_pack(&s, &s.u->reduction[o], &r, rng_below(&r, most + 1), shared);
        check_unpack(&s, &s.u->reduction[o], &r, rng_below(&r, most + 1), shared);
      }
    }
    subject_close(&s);
  }
  units_free(types);
  check_shifted(0);
  check_shifted(8);
  check_shifted(-16);
  check_shifted(100000);
  check_shifted(-100008);
  return test_end();
}
