/* Fetch and op against a loop, one unit after the other: every type, alone, in blocks and with
 * gaps, every operation, lists of every form and with repetitions, wide and narrow, and parts of
 * them; with a message, and from an array to another or to itself. All bytes that nobody named stay
 * as they were. */
#include "pack/pack.h"

#include "arrays.h"
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 160, MOST_ENTRIES = 2 * SLOTS, CANARIES = 64 };

/* ---- the operations: those of the unit, and some on 32-bit integers of any layout ---- */

static const unit *now; /* for the users' operations */

static int32_t *integer(const void *base, int64_t slot, int p)
{
  return (int32_t *)((char *)base + slot * now->extent + now->piece[p].offset);
}

/* b = 2 a - b, which does not commute; and a + b, as the user might write it. */
static void twice_minus(void *a, void *b, int *n, MPI_Datatype *type)
{
  (void)type;
  for (int i = 0; i < *n; i++)
    for (int p = 0; p < now->npieces; p++) {
      uint32_t x = (uint32_t)*integer(a, i, p), y = (uint32_t)*integer(b, i, p);
      *integer(b, i, p) = (int32_t)(2 * x - y);
    }
}

static void plus(void *a, void *b, int *n, MPI_Datatype *type)
{
  (void)type;
  for (int i = 0; i < *n; i++)
    for (int p = 0; p < now->npieces; p++) {
      uint32_t x = (uint32_t)*integer(a, i, p), y = (uint32_t)*integer(b, i, p);
      *integer(b, i, p) = (int32_t)(x + y);
    }
}

static reduction no_op, replace, of_integers[2];

static void operations_open(void)
{
  no_op = (reduction){"NO_OP", OP_CODES, MPI_NO_OP, NULL};
  replace = (reduction){"REPLACE", OP_REPLACE, MPI_REPLACE, NULL};
  of_integers[0] = (reduction){"twice minus", OP_USER, MPI_OP_NULL, twice_minus};
  of_integers[1] = (reduction){"plus", OP_USER, MPI_OP_NULL, plus};
  for (int i = 0; i < 2; i++) MPI_Op_create(of_integers[i].function, i, &of_integers[i].op);
}

static void operations_close(void)
{
  for (int i = 0; i < 2; i++) MPI_Op_free(&of_integers[i].op);
}

static int consists_of_integers(const unit *u)
{
  for (int p = 0; p < u->npieces; p++)
    if (u->piece[p].kind != SCALAR_I32) return 0;
  return u->npieces > 0;
}

/* Number i of the operations on a unit; NULL when there are no more. */
static const reduction *operation(const unit *u, int i)
{
  if (i < u->nreductions) return &u->reduction[i];
  i -= u->nreductions;
  if (i == 0) return &no_op;
  return i <= 2 && consists_of_integers(u) ? &of_integers[i - 1] : NULL;
}

/* ---- lists of slots ---- */

typedef enum list_kind {
  CONSECUTIVE,
  SHUFFLED,
  REPETITIONS,
  FEW_OFTEN,  /* three slots, again and again */
  ONE,        /* a single slot, again and again */
  RUNS,       /* long ones */
  MANY_RUNS,  /* short ones, of any length */
  LONG_ROWS,  /* of a box */
  SHORT_ROWS, /* of a box */
  STRIDES,    /* a box without rows */
  SAME_ROWS,  /* a box, the same rows again */
  LIST_KINDS  /* a prime, so that the kinds meet everything else that comes by turns */
} list_kind;

typedef struct list {
  int64_t n, values[2 * MOST_ENTRIES];
  grove_index index;
  int wide;
  int64_t begin, count;
} list;

static void draw_box(list *l, int64_t first, const int64_t side[3], const int64_t stride[3])
{
  l->n = side[0] * side[1] * side[2];
  for (int64_t i = 0; i < l->n; i++)
    l->values[i] = first + i % side[0] * stride[0] + i / side[0] % side[1] * stride[1] +
                   i / (side[0] * side[1]) * stride[2];
}

#define BOX(...) draw_box(l, rng_below(r, 8), __VA_ARGS__)

/* Runs of 20 slots, in no regular distance. */
static void draw_runs(list *l)
{
  l->n = 7 * 20;
  for (int64_t i = 0; i < l->n; i++) l->values[i] = i / 20 * 22 + i / 20 * (i / 20) % 3 + i % 20;
}

static void draw_many_runs(list *l, rng *r)
{
  l->n = rng_between(r, 1, MOST_ENTRIES);
  for (int64_t i = 0; i < l->n; i++)
    l->values[i] = i > 0 && l->values[i - 1] + 1 < SLOTS && !rng_one_in(r, 3) ? l->values[i - 1] + 1
                                                                              : rng_below(r, SLOTS);
}

/* Any of the first `slots`. */
static void draw_any(list *l, rng *r, int64_t slots)
{
  l->n = rng_between(r, SLOTS, MOST_ENTRIES);
  for (int64_t i = 0; i < l->n; i++) l->values[i] = rng_below(r, slots);
}

static void draw_consecutive(list *l, rng *r)
{
  l->n = rng_between(r, 2, SLOTS);
  int64_t first = rng_below(r, SLOTS - l->n + 1);
  for (int64_t i = 0; i < l->n; i++) l->values[i] = first + i;
}

static void draw_shuffled(list *l, rng *r)
{
  for (int64_t i = 0; i < SLOTS; i++) l->values[i] = i;
  rng_shuffle(r, SLOTS, l->values);
  l->n = rng_between(r, 1, SLOTS);
}

static void draw_values(list *l, rng *r, list_kind kind)
{
  switch (kind) {
  case CONSECUTIVE: draw_consecutive(l, r); break;
  case SHUFFLED: draw_shuffled(l, r); break;
  case REPETITIONS: draw_any(l, r, SLOTS); break;
  case FEW_OFTEN: draw_any(l, r, 3); break;
  case ONE: draw_any(l, r, 1); break;
  case RUNS: draw_runs(l); break;
  case MANY_RUNS: draw_many_runs(l, r); break;
  case LONG_ROWS: BOX((int64_t[]){12, 4, 2}, (int64_t[]){1, 13, 60}); break;
  case SHORT_ROWS: BOX((int64_t[]){3, 5, 4}, (int64_t[]){1, 5, 30}); break;
  case STRIDES: BOX((int64_t[]){20, 3, 2}, (int64_t[]){3, 1, 70}); break;
  default: BOX((int64_t[]){12, 6, 1}, (int64_t[]){1, 0, 0});
  }
}

/* All, the end, or some in the middle. */
static void draw_window(list *l, rng *r, int64_t turn)
{
  l->begin = turn % 3 == 0 ? 0 : rng_below(r, l->n);
  l->count = turn % 3 == 2 ? rng_between(r, 0, l->n - l->begin) : l->n - l->begin;
}

static void list_index(list *l, int wide)
{
  l->wide = wide;
  l->index = (grove_index){.count = l->n, .wide = l->values};
  if (!wide) CHECK_OK(grove_index_create(l->n, l->values, &l->index));
}

static void list_open(list *l, rng *r, int64_t turn)
{
  draw_values(l, r, turn % LIST_KINDS);
  draw_window(l, r, turn);
  list_index(l, turn % 2);
}

static void list_close(list *l)
{
  if (!l->wide) grove_index_free(&l->index);
}

/* ---- the reference ---- */

/* to = to o from */
static void apply(const unit *u, const reduction *op, unsigned char *to, const unsigned char *from)
{
  if (op->code == OP_CODES) return;
  if (op != &of_integers[0] && op != &of_integers[1]) {
    unit_apply(u, op, to, from);
    return;
  }
  for (int p = 0; p < u->npieces; p++) {
    uint32_t a, b;
    memcpy(&a, to + u->piece[p].offset, sizeof a);
    memcpy(&b, from + u->piece[p].offset, sizeof b);
    a = op == &of_integers[0] ? 2 * a - b : a + b;
    memcpy(to + u->piece[p].offset, &a, sizeof a);
  }
}

/* Unit i is slot own[i] of `values`, and its old value goes to that slot of `old`. */
static void fetch_by_hand(const unit *u, const reduction *op, const list *l, array *to,
                          const int64_t *own, const array *values, array *old)
{
  array one = array_create(u, 1);
  for (int64_t i = 0; i < l->count; i++) {
    unsigned char *slot = array_slot(to, u, l->values[l->begin + i]);
    unit_apply(u, &replace, one.slot0, slot);
    apply(u, op, slot, array_slot(values, u, own[i]));
    unit_apply(u, &replace, array_slot(old, u, own[i]), one.slot0);
  }
  array_free(&one);
}

/* In a message the pieces follow each other. */
static void copy_message(const unit *u, array *entries, int64_t n, unsigned char *message,
                         int there)
{
  for (int64_t i = 0; i < n; i++)
    for (int p = 0; p < u->npieces; p++) {
      size_t bytes = scalar_bytes(u->piece[p].kind);
      unsigned char *at = array_slot(entries, u, i) + u->piece[p].offset;
      memcpy(there ? message : at, there ? at : message, bytes);
      message += bytes;
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
  for (int64_t i = 0; i < CANARIES; i++)
    CHECK(message[i - CANARIES] == 0xc3 && message[bytes + i] == 0xc3,
          "%s: byte %lld before or behind a message of %lld changed", what, (long long)i,
          (long long)bytes);
  free(message - CANARIES);
}

/* ---- one case ---- */

enum { FORMS = GROVE_SHAPE_LISTED + 1, WAYS = GROVE_COMBINE_MPI + 1, OPAQUE = FORMS };

static int64_t tried[FORMS + 1][WAYS]; /* how often; last, units whose pieces are unknown */

static void note(const grove_mover *m, const grove_shape *shape)
{
  tried[shape->form][m->combine.way]++;
  if (m->unit.npieces == 0) tried[OPAQUE][m->combine.way]++;
}

static grove_mover mover_open(const unit *u, const reduction *op)
{
  grove_unit g;
  grove_combine c;
  grove_mover m;
  CHECK_OK(grove_unit_create(u->type, MPI_COMM_SELF, &g));
  CHECK_OK(grove_combine_create(op->op, &g, &c));
  CHECK_OK(grove_mover_create(&g, &c, &m));
  return m;
}

static void fetch(const grove_mover *m, const list *l, array *to, unsigned char *message)
{
  grove_shape shape;
  CHECK_OK(grove_shape_create(&l->index, &(grove_index){0}, m->unit.bytes, &shape));
  note(m, &shape);
  CHECK_OK(grove_pack_fetch(m, &shape, to->slot0, l->begin, l->count, message));
  grove_shape_free(&shape);
}

static array array_drawn(const unit *u, const reduction *op, int64_t slots, rng *r)
{
  array a = array_create(u, slots);
  array_fill(&a, u, op, rng_next(r));
  return a;
}

/* With a message: slot i of `entries` is its unit i. */
static void try_message(const unit *u, const reduction *op, const list *l, rng *r, const char *what)
{
  int64_t same[MOST_ENTRIES];
  for (int64_t i = 0; i < l->count; i++) same[i] = i;
  array to = array_drawn(u, op, SLOTS, r), entries = array_drawn(u, op, l->count, r);
  array to_expected = array_copy(&to), entries_expected = array_copy(&entries);
  grove_mover m = mover_open(u, op);
  int64_t bytes = l->count * m.unit.bytes;
  unsigned char *message = message_create(bytes);
  copy_message(u, &entries, l->count, message, 1);
  fetch_by_hand(u, op, l, &to_expected, same, &entries_expected, &entries_expected);
  fetch(&m, l, &to, message);
  copy_message(u, &entries, l->count, message, 0);
  array_check(u, &to, &to_expected, "target", what);
  array_check(u, &entries, &entries_expected, "fetched", what);
  message_free(message, bytes, what);
  grove_mover_free(&m);
  array_free(&to);
  array_free(&entries);
  array_free(&to_expected);
  array_free(&entries_expected);
}

/* ---- one case, from array to array ---- */

/* Different slots, at most twice as many: in a row, every other, or in any order. */
static int64_t draw_own(list *own, const unit *u, int64_t count, rng *r, int64_t turn)
{
  int64_t slots = u->most_slots > 0 && 2 * count > u->most_slots ? u->most_slots : 2 * count;
  int64_t step = turn % 3 == 1 && 2 * count == slots ? 2 : 1;
  for (int64_t i = 0; i < slots; i++) own->values[i] = i;
  if (turn % 3 == 2) rng_shuffle(r, slots, own->values);
  for (int64_t i = 0; i < count; i++) own->values[i] = own->values[i * step];
  own->n = own->count = count;
  list_index(own, turn / 3 % 4 == 1);
  return slots;
}

static void fetch_own(const grove_mover *m, const list *l, array *to, const list *own,
                      const array *values, array *old, int64_t room)
{
  grove_shape shape, own_shape;
  grove_mover plain = *m;
  int64_t bytes = room * m->unit.bytes;
  unsigned char *buffer = message_create(bytes);
  CHECK_OK(grove_combine_create(MPI_REPLACE, &m->unit, &plain.combine));
  CHECK_OK(grove_shape_create(&l->index, &(grove_index){0}, m->unit.bytes, &shape));
  CHECK_OK(grove_shape_create(&own->index, &(grove_index){0}, m->unit.bytes, &own_shape));
  CHECK_OK(grove_pack_fetch_own(m, &shape, to->slot0, l->begin, &plain, &own_shape, values->slot0,
                                old->slot0, buffer, room));
  grove_shape_free(&shape);
  grove_shape_free(&own_shape);
  message_free(buffer, bytes, "a fetch from array to array");
}

static void try_own(const unit *u, const reduction *op, const list *l, rng *r, int64_t turn,
                    const char *what)
{
  list own;
  int in_place = turn / 2 % 2; /* `turn % 2` makes lists wide */
  int64_t slots = draw_own(&own, u, l->count, r, turn), room = rng_between(r, 1, 40);
  array to = array_drawn(u, op, SLOTS, r), values = array_drawn(u, op, slots, r);
  array old = array_drawn(u, op, slots, r), to_expected = array_copy(&to);
  array values_expected = array_copy(&values), old_expected = array_copy(&old);
  grove_mover m = mover_open(u, op);
  fetch_by_hand(u, op, l, &to_expected, own.values, &values_expected,
                in_place ? &values_expected : &old_expected);
  fetch_own(&m, l, &to, &own, &values, in_place ? &values : &old, room);
  array_check(u, &to, &to_expected, "target", what);
  array_check(u, &values, &values_expected, "values", what);
  array_check(u, &old, &old_expected, "old", what);
  grove_mover_free(&m);
  list_close(&own);
  array *all[] = {&to, &values, &old, &to_expected, &values_expected, &old_expected};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) array_free(all[i]);
}

static void try_list(const unit *u, const reduction *op, list *l, rng *r, int64_t turn)
{
  char what[96];
  snprintf(what, sizeof what, "%s of %s", op->name, u->name);
  if (u->most_slots > 0 && l->count > u->most_slots) l->count = u->most_slots;
  try_message(u, op, l, r, what);
  try_own(u, op, l, r, turn, what);
}

static int64_t turns; /* the cases so far */

static void try_unit(const unit *u, int64_t samples)
{
  const reduction *op;
  now = u;
  for (int o = 0; (op = operation(u, o)) != NULL; o++)
    for (int64_t k = 0; k < samples; k++) {
      test_case(turns);
      rng r = rng_from(test_seed(), (uint64_t)turns);
      list l;
      list_open(&l, &r, turns);
      try_list(u, op, &l, &r, turns++);
      list_close(&l);
    }
}

/* ---- units of several elements of one basic type ---- */

/* `blocks` of `length` elements, each with a gap of one element behind it if there are several. */
static unit several(const unit *basic, int blocks, int length)
{
  unit u = *basic;
  int stride = blocks > 1 ? length + 1 : length;
  snprintf(u.name, sizeof u.name, "%d x %d %.30s", blocks, length, basic->name);
  MPI_Type_vector(blocks, length, stride, basic->type, &u.type);
  MPI_Type_commit(&u.type);
  u.npieces = blocks * length;
  u.piece = need((size_t)u.npieces * sizeof *u.piece);
  for (int i = 0; i < u.npieces; i++)
    u.piece[i] = (piece){(i / length * stride + i % length) * basic->extent, basic->piece[0].kind};
  u.extent = u.last = ((blocks - 1) * stride + length) * basic->extent;
  while (u.reduction[u.nreductions - 1].code == OP_USER) u.nreductions--;
  return u;
}

static void try_several(const unit *basic, int blocks, int length, int64_t samples)
{
  unit u = several(basic, blocks, length);
  try_unit(&u, samples);
  MPI_Type_free(&u.type);
  free(u.piece);
}

static void try_layouts(const unit *basic, int64_t samples)
{
  for (int length = 2; length <= 6; length++) try_several(basic, 1, length, samples);
  try_several(basic, 2, 1, samples);
  try_several(basic, 3, 2, samples);
}

/* ---- integers far from each other ---- */

/* A unit of `parts` integers, `stride` bytes from one to the next; slots are `extent` apart. */
static void try_far(const char *name, int parts, ptrdiff_t stride, ptrdiff_t extent, int pieces)
{
  unit u = {.extent = extent, .last = (parts - 1) * stride + 4, .npieces = parts, .nreductions = 2};
  MPI_Datatype t;
  snprintf(u.name, sizeof u.name, "%s", name);
  if (extent < u.last) u.most_slots = stride / extent; /* they lie in each other's gaps */
  u.reduction[0] = replace;
  u.reduction[1] = (reduction){"SUM", OP_SUM, MPI_SUM, NULL};
  u.piece = need((size_t)parts * sizeof *u.piece);
  for (int p = 0; p < parts; p++) u.piece[p] = (piece){p * stride, SCALAR_I32};
  MPI_Type_create_hvector(parts, 1, stride, MPI_INT32_T, &t);
  MPI_Type_create_resized(t, 0, extent, &u.type);
  MPI_Type_commit(&u.type);
  grove_mover m = mover_open(&u, &replace);
  CHECK(m.unit.npieces == pieces, "%s: %d pieces", name, m.unit.npieces);
  grove_mover_free(&m);
  try_unit(&u, test_samples(4));
  MPI_Type_free(&u.type);
  MPI_Type_free(&t);
  free(u.piece);
}

/* ---- slots further from each other than 32 bits count ---- */

/* One in static memory, one on the stack. */
static void try_apart(void)
{
  static int32_t here = 5;
  int32_t there = 7;
  _Alignas(16) int32_t message[4] = {1, 2, 3, 4};
  int64_t slot = ((intptr_t)&there - (intptr_t)&here) / 4, slots[4] = {0, slot, slot, 0};
  grove_mover m = mover_open(&(unit){.type = MPI_INT32_T}, &(reduction){.op = MPI_SUM});
  grove_shape shape;
  CHECK_OK(
    grove_shape_create(&(grove_index){.count = 4, .wide = slots}, &(grove_index){0}, 4, &shape));
  CHECK_OK(grove_pack_fetch(&m, &shape, &here, 0, 4, message));
  CHECK(here == 10 && there == 12, "slots far apart are %d and %d", here, there);
  CHECK(message[0] == 5 && message[1] == 7 && message[2] == 9 && message[3] == 6,
        "slots far apart were %d, %d, %d, %d", message[0], message[1], message[2], message[3]);
  grove_shape_free(&shape);
  grove_mover_free(&m);
}

/* ---- nothing, and everything ---- */

/* A rank that owns nothing has NULL for an array, and lists without entries. */
static void try_nothing(const unit *u)
{
  grove_shape shape;
  const reduction *op;
  CHECK_OK(grove_shape_create(&(grove_index){0}, &(grove_index){0}, 8, &shape));
  for (int o = 0; (op = operation(u, o)) != NULL; o++) {
    grove_mover m = mover_open(u, op);
    CHECK_OK(grove_pack_fetch(&m, &shape, NULL, 0, 0, NULL));
    grove_mover_free(&m);
  }
  grove_shape_free(&shape);
}

static void check_tried(void)
{
  for (int way = 0; way < WAYS; way++)
    for (int form = 0; form < FORMS + 1; form++)
      CHECK(tried[form][way] > 0, "no case of %s combined in way %d",
            form == OPAQUE ? "opaque" : grove_shape_form_name(form), way);
}

/* a - b of plain integers. */
static void minus(void *a, void *b, int *n, MPI_Datatype *type)
{
  (void)type;
  for (int i = 0; i < *n; i++) ((int *)b)[i] = ((int *)a)[i] - ((int *)b)[i];
}

/* A row of many batches, by a user's operation. */
static void try_long_row(void)
{
  enum { UNITS = 1000, FIRST = 7 };
  int slots[UNITS + FIRST], message[UNITS];
  MPI_Op op;
  grove_unit integer_unit = {0};
  grove_combine combine;
  grove_mover m = {0};
  grove_shape shape = {0};
  for (int i = 0; i < UNITS + FIRST; i++) slots[i] = 3 * i;
  for (int i = 0; i < UNITS; i++) message[i] = 100000 + i;
  MPI_Op_create(minus, 0, &op);
  CHECK_OK(grove_unit_create(MPI_INT, MPI_COMM_SELF, &integer_unit));
  CHECK_OK(grove_combine_create(op, &integer_unit, &combine));
  CHECK_OK(grove_mover_create(&integer_unit, &combine, &m));
  CHECK_OK(grove_shape_create(&(grove_index){.count = UNITS, .first = FIRST}, &(grove_index){0},
                              sizeof(int), &shape));
  CHECK_OK(grove_pack_fetch(&m, &shape, slots, 0, UNITS, message));
  for (int i = 0; i < UNITS; i++) {
    int old = 3 * (FIRST + i);
    CHECK(message[i] == old, "unit %d is %d, not %d", i, message[i], old);
    CHECK(slots[FIRST + i] == old - 100000 - i, "slot %d is %d", FIRST + i, slots[FIRST + i]);
  }
  grove_shape_free(&shape);
  grove_mover_free(&m);
  MPI_Op_free(&op);
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "pack/fetch_matches_loop");
  units *types = units_create();
  operations_open();
  int64_t samples = test_samples(4);
  for (int i = 0; i < types->n; i++) {
    const unit *u = &types->unit[i];
    try_nothing(u);
    try_unit(u, samples);
    if (!u->derived && u->npieces == 1) try_layouts(u, samples);
  }
  try_far("a comb", 300, 12, 3604, 300);
  try_far("columns", 5, 800, 4, 5);
  /* Beyond the mebibyte up to which pieces are looked for. */
  try_far("large columns", 2, (1 << 20) + 32, 4, 0);
  try_apart();
  try_long_row();
  check_tried();
  operations_close();
  units_free(types);
  return test_end();
}
