/* Units of every size that has a loop of its own, and some that have none, with a gap behind them
 * or without, in every form a list can take, and parts of it: the same bytes as by memcpy, unit by
 * unit, and as by exclusive or, byte by byte. */
#include "pack/pack.h"

#include "check.h"
#include "random.h"

#include <stdlib.h>
#include <string.h>

enum { KINDS = 7, SLOTS = 2200, MOST = 540, MARGIN = 64 };

/* ---- lists ---- */

typedef struct list {
  int64_t n, values[MOST];
  int32_t narrow[MOST];
  grove_index index;
} list;

static void draw_values(rng *r, int kind, list *l)
{
  int64_t first = rng_below(r, 20), side = rng_between(r, 2, 9);
  l->n = 60 * side;
  for (int64_t i = 0; i < l->n; i++) switch (kind) {
    case 0: l->values[i] = rng_below(r, SLOTS); break;
    case 1: l->values[i] = first + i; break;
    case 2: l->values[i] = i % 32 > 0 ? l->values[i - 1] + 1 : rng_below(r, SLOTS - 32); break;
    case 3: l->values[i] = first + i % side + 12 * (i / side); break;
    case 4: l->values[i] = first + i % side * 2 + i / side % 5 * 20 + i / (5 * side) * 100; break;
    case 5: l->values[i] = first + i * 4; break;
    default: l->values[i] = SLOTS - 1 - i; break;
    }
}

/* Stored narrow or wide, also where the slots would fit into less. */
static void draw(rng *r, int kind, list *l)
{
  draw_values(r, kind, l);
  int wide = rng_one_in(r, 3);
  l->index = (grove_index){.count = l->n, .first = l->values[0]};
  for (int64_t i = 0; i < l->n; i++) l->narrow[i] = (int32_t)l->values[i];
  l->index.narrow = wide ? NULL : l->narrow;
  l->index.wide = wide ? l->values : NULL;
}

/* ---- units ---- */

typedef struct subject {
  int64_t bytes, extent;
  grove_mover copy, mix; /* replace, and exclusive or */
} subject;

static grove_mover mover(MPI_Datatype type, MPI_Op op)
{
  grove_unit u;
  grove_combine c;
  grove_mover m;
  CHECK_OK(grove_unit_create(type, MPI_COMM_SELF, &u));
  CHECK_OK(grove_combine_create(op, &u, &c));
  CHECK_OK(grove_mover_create(&u, &c, &m));
  return m;
}

static subject subject_open(int bytes, int gap)
{
  subject s = {.bytes = bytes, .extent = bytes + gap};
  MPI_Datatype block, type;
  MPI_Type_contiguous(bytes, MPI_BYTE, &block);
  MPI_Type_create_resized(block, 0, bytes + gap, &type);
  MPI_Type_commit(&type);
  s.copy = mover(type, MPI_REPLACE);
  s.mix = mover(type, MPI_BXOR);
  CHECK(s.copy.unit.dense == !gap && s.copy.unit.npieces == 1, "%d bytes: %d pieces", bytes,
        s.copy.unit.npieces);
  MPI_Type_free(&block);
  MPI_Type_free(&type);
  return s;
}

/* ---- memory, aligned for nothing, with bytes around it that nobody may touch ---- */

typedef struct memory {
  int64_t bytes;
  unsigned char *all, *data;
} memory;

static memory memory_open(rng *r, int64_t bytes)
{
  memory m = {bytes + 2 * MARGIN, need((size_t)bytes + 2 * MARGIN), NULL};
  m.data = m.all + MARGIN;
  for (int64_t i = 0; i < m.bytes; i++) m.all[i] = (unsigned char)rng_next(r);
  return m;
}

static memory memory_copy(const memory *m)
{
  memory copy = {m->bytes, need((size_t)m->bytes), NULL};
  copy.data = copy.all + MARGIN;
  memcpy(copy.all, m->all, (size_t)m->bytes);
  return copy;
}

/* Frees the second. */
static void same(const memory *got, memory *expected, const subject *s, const grove_shape *shape,
                 const char *what)
{
  for (int64_t i = 0; i < got->bytes; i++)
    CHECK(got->all[i] == expected->all[i], "%s of %lld bytes, %lld apart, %s: byte %lld", what,
          (long long)s->bytes, (long long)s->extent, grove_shape_form_name(shape->form),
          (long long)i - MARGIN);
  free(expected->all);
}

/* ---- one case ---- */

static void check(const subject *s, rng *r, const list *l, const grove_shape *shape)
{
  int64_t begin = rng_one_in(r, 2) ? 0 : rng_below(r, l->n);
  int64_t n = rng_one_in(r, 2) ? l->n - begin : rng_below(r, l->n - begin + 1);
  memory array = memory_open(r, SLOTS * s->extent), message = memory_open(r, n * s->bytes);
  memory mixed = memory_copy(&array), packed = memory_copy(&message);
  memory array_before = memory_copy(&array), message_before = memory_copy(&message);
  for (int64_t i = 0; i < n; i++)
    memcpy(packed.data + i * s->bytes, array.data + l->values[begin + i] * s->extent,
           (size_t)s->bytes);
  CHECK_OK(grove_pack(&s->copy, shape, array.data, begin, n, message.data));
  same(&message, &packed, s, shape, "packing");
  same(&array, &array_before, s, shape, "packing, the source");
  memcpy(message.all, message_before.all, (size_t)message.bytes);
  memory moved = memory_copy(&array), xored = memory_copy(&array);
  for (int64_t i = 0; i < n; i++)
    for (int64_t b = 0; b < s->bytes; b++) {
      int64_t to = l->values[begin + i] * s->extent + b;
      moved.data[to] = message.data[i * s->bytes + b];
      xored.data[to] ^= message.data[i * s->bytes + b];
    }
  CHECK_OK(grove_unpack(&s->copy, shape, message.data, array.data, begin, n));
  same(&array, &moved, s, shape, "unpacking");
  CHECK_OK(grove_unpack(&s->mix, shape, message.data, mixed.data, begin, n));
  same(&mixed, &xored, s, shape, "combining");
  same(&message, &message_before, s, shape, "unpacking, the message");
  free(array.all);
  free(message.all);
  free(mixed.all);
}

int main(int argc, char **argv)
{
  static const int sizes[] = {1,   2,   3,   4,   5,   6,   7,   8,   12,  16,  20,  24,  32,
                              40,  48,  56,  64,  72,  80,  88,  96,  100, 104, 112, 120, 128,
                              144, 160, 176, 192, 200, 256, 264, 272, 512, 520, 528};
  enum { SIZES = sizeof sizes / sizeof *sizes };
  int64_t forms[GROVE_SHAPE_LISTED + 1] = {0};
  test_begin(&argc, &argv, "pack/moves_every_size");
  for (int i = 0; i < 2 * SIZES; i++) {
    test_case(i);
    subject s = subject_open(sizes[i / 2], i % 2 * 3);
    rng r = rng_from(test_seed(), (uint64_t)i);
    for (int64_t k = 0; k < test_samples(8); k++) {
      list l;
      grove_shape shape;
      draw(&r, (int)((i + k) % KINDS), &l);
      CHECK_OK(grove_shape_create(&l.index, &(grove_index){0}, s.bytes, &shape));
      forms[shape.form]++;
      check(&s, &r, &l, &shape);
      grove_shape_free(&shape);
    }
    grove_mover_free(&s.copy);
    grove_mover_free(&s.mix);
  }
  for (int f = 0; f <= GROVE_SHAPE_LISTED; f++)
    CHECK(forms[f] > 10 || test_samples(8) < 8, "only %lld shapes were %s", (long long)forms[f],
          grove_shape_form_name(f));
  return test_end();
}
