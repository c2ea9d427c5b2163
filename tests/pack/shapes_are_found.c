/* Which form a list of slots takes, and that walking any part of a form gives the list again. Faces
 * of a grid are boxes; slots without a pattern stay a list, also where a few of them follow each
 * other. */
#include "pack/shape.h"

#include "check.h"
#include "random.h"

#include <stdlib.h>

enum { MOST = 100000, UNIT = 8 /* bytes */ };

typedef struct list {
  int64_t n;
  int64_t *values;
} list;

static list list_open(void)
{
  return (list){0, need(MOST * sizeof(int64_t))};
}

static void add_run(list *l, int64_t first, int64_t n)
{
  for (int64_t i = 0; i < n; i++) l->values[l->n++] = first + i;
}

static void add_box(list *l, int64_t first, const int64_t n[3], const int64_t stride[3])
{
  for (int64_t k = 0; k < n[2]; k++)
    for (int64_t j = 0; j < n[1]; j++)
      for (int64_t i = 0; i < n[0]; i++)
        l->values[l->n++] = first + i * stride[0] + j * stride[1] + k * stride[2];
}

/* ---- walking ---- */

static void check_patch(const list *l, const grove_patch *p, int64_t at)
{
  for (int64_t k = 0; k < p->n[2]; k++)
    for (int64_t j = 0; j < p->n[1]; j++)
      for (int64_t i = 0; i < p->n[0]; i++, at++) {
        int64_t slot = p->first + i * p->stride[0] + j * p->stride[1] + k * p->stride[2];
        CHECK(slot == l->values[at], "entry %lld is %lld, not %lld", (long long)at, (long long)slot,
              (long long)l->values[at]);
      }
}

/* Returns the number of patches. */
static int64_t check_window(const grove_shape *s, const list *l, int64_t begin, int64_t count)
{
  grove_walk walk = grove_walk_begin(s, begin, count);
  grove_patch p;
  int64_t at = begin, patches = 0;
  for (; grove_walk_next(&walk, &p); patches++) {
    CHECK(grove_patch_count(&p) > 0 && at + grove_patch_count(&p) <= begin + count,
          "a patch of %lld entries at %lld", (long long)grove_patch_count(&p), (long long)at);
    check_patch(l, &p, at);
    at += grove_patch_count(&p);
  }
  CHECK(at == begin + count, "a walk ends after %lld entries of %lld", (long long)(at - begin),
        (long long)count);
  return patches;
}

static void check_walks(const grove_shape *s, const list *l)
{
  if (s->form == GROVE_SHAPE_LISTED) return;
  rng r = rng_from(test_seed(), (uint64_t)l->n);
  int64_t most = s->form == GROVE_SHAPE_RUNS ? s->nruns : s->form == GROVE_SHAPE_BOX ? 5 : 1;
  check_window(s, l, 0, l->n);
  for (int i = 0; i < 40; i++) {
    int64_t begin = rng_below(&r, l->n + 1), count = rng_below(&r, l->n - begin + 1);
    int64_t patches = check_window(s, l, begin, i % 2 ? count : count % 9);
    CHECK(patches <= most, "%lld patches", (long long)patches);
  }
}

/* ---- forms ---- */

/* Makes the shape, walks it, and empties the list. The caller frees the shape. */
static grove_shape found(list *l, grove_shape_form form, const char *what)
{
  grove_index x;
  grove_shape s;
  CHECK_OK(grove_index_create(l->n, l->values, &x));
  CHECK_OK(grove_shape_create(&x, &(grove_index){0}, UNIT, &s));
  CHECK(s.form == form, "%s: %s", what, grove_shape_form_name(s.form));
  CHECK(s.units == l->n, "%s: %lld units", what, (long long)s.units);
  check_walks(&s, l);
  grove_index_free(&x);
  l->n = 0;
  return s;
}

static void is(list *l, grove_shape_form form, const char *what)
{
  grove_shape s = found(l, form, what);
  grove_shape_free(&s);
  CHECK(!s.runs, "a freed shape has runs");
}

static void is_box(list *l, const char *what, const int64_t n[3], const int64_t stride[3])
{
  grove_shape s = found(l, GROVE_SHAPE_BOX, what);
  for (int d = 0; d < 3; d++)
    CHECK(s.n[d] == n[d] && (n[d] == 1 || s.stride[d] == stride[d]),
          "%s: dimension %d is %lld, %lld apart", what, d, (long long)s.n[d],
          (long long)s.stride[d]);
  grove_shape_free(&s);
}

#define THREE(a, b, c)                                                                             \
  (const int64_t[3])                                                                               \
  {                                                                                                \
    a, b, c                                                                                        \
  }

/* The inside of a grid of 50 x 50 x 50 has sides of 48. */
static void faces(list *l)
{
  enum { Y = 50, Z = 50 * 50, AT = 1 + Y + Z };
  add_box(l, AT, THREE(48, 48, 1), THREE(Y, Z, 0));
  is_box(l, "x face", THREE(48, 48, 1), THREE(Y, Z, 0));
  add_box(l, AT, THREE(48, 48, 1), THREE(1, Z, 0));
  is_box(l, "y face", THREE(48, 48, 1), THREE(1, Z, 0));
  add_box(l, AT, THREE(48, 48, 1), THREE(1, Y, 0));
  is_box(l, "z face", THREE(48, 48, 1), THREE(1, Y, 0));
  add_box(l, AT, THREE(2, 48, 48), THREE(1, Y, Z));
  is_box(l, "two x faces", THREE(2, 48, 48), THREE(1, Y, Z));
  add_box(l, AT, THREE(12, 10, 8), THREE(1, Y, Z));
  is_box(l, "a part", THREE(12, 10, 8), THREE(1, Y, Z));
  add_box(l, AT, THREE(50, 48, 1), THREE(Y, Z, 0)); /* one dimension after all */
  is_box(l, "x face of all y", THREE(50 * 48, 1, 1), THREE(Y, 0, 0));
  add_box(l, 0, THREE(50, 50, 3), THREE(1, Y, Z));
  is(l, GROVE_SHAPE_CONSECUTIVE, "z faces of everything");
}

static void other_boxes(list *l)
{
  add_box(l, 999, THREE(1000, 1, 1), THREE(-1, 0, 0));
  is_box(l, "backwards", THREE(1000, 1, 1), THREE(-1, 0, 0));
  add_box(l, 7, THREE(1000, 1, 1), THREE(0, 0, 0));
  is_box(l, "always the same", THREE(1000, 1, 1), THREE(0, 0, 0));
  add_box(l, 0, THREE(1000, 1, 1), THREE(3, 0, 0));
  is_box(l, "every third", THREE(1000, 1, 1), THREE(3, 0, 0));
  add_box(l, (int64_t)1 << 40, THREE(50, 20, 1), THREE(1, 100, 0));
  is_box(l, "far away", THREE(50, 20, 1), THREE(1, 100, 0));
}

/* What is nearly a box is none. */
static void nearly_boxes(list *l)
{
  add_box(l, 0, THREE(3, 18, 18), THREE(2, 20, 400));
  l->values[l->n - 1]++;
  is(l, GROVE_SHAPE_LISTED, "a box with a wrong end");
  add_box(l, 0, THREE(3, 18, 18), THREE(2, 20, 400));
  l->n--;
  is(l, GROVE_SHAPE_LISTED, "a box without its end");
  add_box(l, 0, THREE(3, 100, 1), THREE(2, 20, 0));
  l->values[150]--;
  is(l, GROVE_SHAPE_LISTED, "a box with a wrong middle");
}

static void runs(list *l)
{
  for (int64_t i = 0, at = 0; i < 50; i++, at += 60 + i % 7) add_run(l, at, 40 + i % 3);
  grove_shape s = found(l, GROVE_SHAPE_RUNS, "long runs");
  CHECK(s.nruns == 50, "%lld runs", (long long)s.nruns);
  grove_shape_free(&s);
  for (int64_t i = 0, at = 0; i < 500; i++, at += 2 + i % 7) add_run(l, at, 1);
  is(l, GROVE_SHAPE_LISTED, "runs of length one");
  for (int64_t i = 0, at = 0; i < 500; i++, at += 3 + i % 7) add_run(l, at, 2);
  is(l, GROVE_SHAPE_LISTED, "runs of length two");
  add_run(l, 5, 1);
  is(l, GROVE_SHAPE_CONSECUTIVE, "a slot");
  is(l, GROVE_SHAPE_CONSECUTIVE, "nothing");
  add_run(l, 5, 1);
  add_run(l, 3, 1);
  is(l, GROVE_SHAPE_LISTED, "two slots");
}

/* Long lists are judged by a sample, but all over. */
static void long_lists(list *l)
{
  rng r = rng_from(test_seed(), 7);
  while (l->n < MOST) add_run(l, rng_below(&r, MOST), 1);
  is(l, GROVE_SHAPE_LISTED, "random");
  for (int i = 0; i < 200; i++) add_run(l, rng_below(&r, MOST), 1);
  for (int64_t at = 0; l->n < MOST - 200; at += 1000) add_run(l, at, 100 + at % 7);
  is(l, GROVE_SHAPE_RUNS, "a random beginning");
  for (int64_t at = 0; l->n < MOST - 2000; at += 1000) add_run(l, at, 500);
  while (l->n < MOST) add_run(l, rng_below(&r, MOST), 1);
  is(l, GROVE_SHAPE_RUNS, "a random end");
  while (l->n < MOST) add_run(l, rng_below(&r, MOST), l->n % 2 ? 1 : 2);
  is(l, GROVE_SHAPE_LISTED, "random pairs");
}

/* The list may be stored as a list though it is none: an index into a part of a longer one. */
static void stored(void)
{
  int32_t narrow[] = {4, 5, 6, 7, 8};
  int64_t wide[] = {4, 5, 6, 7, 8};
  const grove_index index[] = {{.count = 5, .narrow = narrow}, {.count = 5, .wide = wide}};
  for (int i = 0; i < 2; i++) {
    grove_shape s;
    CHECK_OK(grove_shape_create(&index[i], &(grove_index){0}, UNIT, &s));
    CHECK(s.form == GROVE_SHAPE_CONSECUTIVE && s.first == 4, "%s from %lld",
          grove_shape_form_name(s.form), (long long)s.first);
    grove_shape_free(&s);
  }
}

/* Rows of `length` slots with gaps of several sizes: whether they are worth being runs depends on
 * their length, and not on the bytes of a unit, which cost the same in either form. */
static void any_unit(int64_t length, grove_shape_form form)
{
  enum { ROWS = 50 };
  int64_t slots[ROWS * 64], n = 0;
  for (int64_t row = 0, at = 0; row < ROWS; row++, at += length + 1 + row * row % 3)
    for (int64_t i = 0; i < length; i++) slots[n++] = at + i;
  for (int64_t bytes = 1; bytes <= 1 << 16; bytes *= 4) {
    grove_index x;
    grove_shape s;
    CHECK_OK(grove_index_create(n, slots, &x));
    CHECK_OK(grove_shape_create(&x, &(grove_index){0}, bytes, &s));
    CHECK(s.form == form, "rows of %lld units of %lld bytes: %s", (long long)length,
          (long long)bytes, grove_shape_form_name(s.form));
    grove_shape_free(&s);
    grove_index_free(&x);
  }
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "pack/shapes_are_found");
  any_unit(2, GROVE_SHAPE_LISTED);
  any_unit(64, GROVE_SHAPE_RUNS);
  list l = list_open();
  faces(&l);
  other_boxes(&l);
  nearly_boxes(&l);
  runs(&l);
  long_lists(&l);
  stored();
  free(l.values);
  return test_end();
}
