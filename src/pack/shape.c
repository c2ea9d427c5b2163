/* How a form is found. The first entries show whether a list may be a box. The first entry that
 * breaks the pattern ends the search, so other lists fail soon. Runs are counted, but in a long
 * list only if a sample of neighbours promises enough of them.
 *
 * How it is chosen: by the cost of copying the units, in nanoseconds.
 */
#include "pack/shape.h"

#include <stdlib.h>

/* ---- costs ---- */

/* Measured on a Neoverse V1 at 2.6 GHz (2026), arrays in the first-level cache, units of 8 to 64
 * bytes, boxes with sides of 2 to 400. Only their ratios matter; where two forms are close, either
 * will do. */
static const double bytes_cost = 0.01;   /* of moving a byte, in all forms */
static const double listed_cost = 0.28;  /* of an entry: load the index, then the unit */
static const double strided_cost = 0.21; /* of a unit of a box */
static const double row_cost = 1.4;      /* of a row of a box */
static const double run_cost = 3.3;      /* of a run, or a long contiguous row: a call of memcpy */
static const double box_cost = 18;       /* of a box: a window must be divided into boxes */

static double cost_of_list(int64_t n, int64_t unit_bytes)
{
  return (double)n * (listed_cost + bytes_cost * (double)unit_bytes);
}

static double cost_of_runs(int64_t n, int64_t nruns, int64_t unit_bytes)
{
  return (double)nruns * run_cost + (double)n * bytes_cost * (double)unit_bytes;
}

/* A contiguous row of few bytes is moved as if it were a unit. */
static double cost_of_box(const grove_shape *s, int64_t unit_bytes)
{
  double rows = (double)(s->n[1] * s->n[2]), row_bytes = (double)(s->n[0] * unit_bytes);
  double one = row_cost + (double)s->n[0] * strided_cost;
  if (s->stride[0] == 1) {
    int constant = grove_copy_is_constant(s->n[0] * unit_bytes);
    double whole = constant ? strided_cost + row_cost / (double)s->n[1] : run_cost;
    if (whole < one) one = whole;
  }
  return box_cost + rows * (one + bytes_cost * row_bytes);
}

/* ---- boxes ---- */

/* The first entry from `lag` on that does not exceed the entry `lag` before it by `stride`. */
static int64_t first_break(const grove_index *x, int64_t lag, int64_t stride)
{
  int64_t i = lag;
  if (x->narrow)
    while (i < x->count && (int64_t)x->narrow[i] - x->narrow[i - lag] == stride) i++;
  else
    while (i < x->count && x->wide[i] - x->wide[i - lag] == stride) i++;
  return i;
}

/* Are all slots one box of up to three dimensions? If so, sets n and stride. */
static int find_box(const grove_index *x, grove_shape *s)
{
  int64_t lag = 1;
  for (int d = 0; d < GROVE_DIMENSIONS; d++) s->n[d] = 1;
  for (int d = 0; d < GROVE_DIMENSIONS && lag < x->count; d++) {
    s->stride[d] = grove_index_at(x, lag) - grove_index_at(x, 0);
    int64_t end = first_break(x, lag, s->stride[d]);
    if (end % lag != 0) return 0;
    s->n[d] = end / lag;
    lag = end;
  }
  return lag == x->count;
}

/* ---- runs ---- */

/* Runs have 32 bits, like the lists they may replace; wide lists stay as they are. A slot is never
 * negative. */
static int run_breaks(const int32_t *slots, int64_t i)
{
  return slots[i] - slots[i - 1] != 1;
}

static int64_t count_runs(const grove_index *x)
{
  int64_t n = 1;
  for (int64_t i = 1; i < x->count; i++) n += run_breaks(x->narrow, i);
  return n;
}

/* Samples neighbours all over the list. It errs by a few per cent, so only very unpromising lists
 * are given up. */
static int runs_are_likely(const grove_index *x, int64_t unit_bytes)
{
  enum { SAMPLE = 256 };
  int64_t nruns = 0;
  if (x->count < 8 * SAMPLE) return 1;
  for (int64_t k = 0; k < SAMPLE; k++)
    nruns += run_breaks(x->narrow, 1 + k * (x->count - 1) / SAMPLE);
  return cost_of_runs(SAMPLE, nruns, unit_bytes) < 2 * cost_of_list(SAMPLE, unit_bytes);
}

/* Writes every entry; the next one overwrites it unless it begins a run. This needs no branch. */
static grove_status make_runs(const grove_index *x, int64_t nruns, grove_shape *s)
{
  GROVE_PASS_NEW(s->runs, nruns + 1);
  grove_run *run = s->runs;
  *run++ = (grove_run){0, x->narrow[0]};
  for (int64_t i = 1; i < x->count; i++) {
    *run = (grove_run){(int32_t)i, x->narrow[i]};
    run += run_breaks(x->narrow, i);
  }
  run->begin = (int32_t)x->count;
  s->nruns = nruns;
  return GROVE_OK;
}

/* ---- the choice ---- */

static grove_status choose_form(const grove_index *x, int64_t unit_bytes, grove_shape *s)
{
  double least = cost_of_list(x->count, unit_bytes);
  s->form = GROVE_SHAPE_LISTED;
  if (find_box(x, s)) {
    if (s->stride[0] == 1 && s->n[0] == x->count)
      s->form = GROVE_SHAPE_CONSECUTIVE;
    else if (cost_of_box(s, unit_bytes) <= least)
      s->form = GROVE_SHAPE_BOX;
    if (s->form != GROVE_SHAPE_LISTED) return GROVE_OK;
  }
  if (!x->narrow || x->count > GROVE_LIST_MOST || !runs_are_likely(x, unit_bytes)) return GROVE_OK;
  int64_t nruns = count_runs(x);
  if (cost_of_runs(x->count, nruns, unit_bytes) >= least) return GROVE_OK;
  GROVE_PASS(make_runs(x, nruns, s));
  s->form = GROVE_SHAPE_RUNS;
  return GROVE_OK;
}

/* ---- shared units ---- */

static grove_status find_owners(grove_shape *s)
{
  GROVE_PASS_CHECK(s->units <= GROVE_LIST_MOST, GROVE_ERR_UNSUPPORTED,
                   "a message of %lld units that stand for several slots: %lld are possible",
                   (long long)s->units, (long long)GROVE_LIST_MOST);
  GROVE_PASS_NEW(s->owner, s->slots.count);
  for (int64_t u = 0, k = 0; u < s->units; u++)
    for (int64_t end = grove_index_at(&s->starts, u + 1); k < end; k++) s->owner[k] = (int32_t)u;
  return GROVE_OK;
}

/* Separates the first entry of every unit from the others. The first is copied, the others are
 * combined with it. */
static grove_status part_entries(grove_shape *s)
{
  int64_t n = s->slots.count - s->units, k = 0;
  if (s->slots.wide) return GROVE_OK;
  GROVE_PASS_ROOM(s->firsts, s->units);
  GROVE_PASS_ROOM(s->others, n);
  GROVE_PASS_ROOM(s->other_units, n);
  for (int64_t u = 0; u < s->units; u++) {
    int64_t entry = grove_index_at(&s->starts, u), end = grove_index_at(&s->starts, u + 1);
    s->firsts[u] = (int32_t)grove_index_at(&s->slots, entry);
    while (++entry < end) {
      s->others[k] = (int32_t)grove_index_at(&s->slots, entry);
      s->other_units[k++] = (int32_t)u;
    }
  }
  return GROVE_OK;
}

grove_status grove_shape_create(const grove_index *slots, const grove_index *starts,
                                int64_t unit_bytes, grove_shape *out)
{
  grove_status status = GROVE_OK;
  grove_shape s = {.form = GROVE_SHAPE_CONSECUTIVE,
                   .units = starts->count > 0 ? starts->count - 1 : slots->count,
                   .slots = *slots,
                   .starts = *starts};
  if (slots->count > 0) s.first = grove_index_at(slots, 0);
  if (starts->count > 0) {
    s.form = GROVE_SHAPE_LISTED; /* entry by entry: each has its own place in the message */
    GROVE_TRY(find_owners(&s));
    GROVE_TRY(part_entries(&s));
  } else if (!grove_index_consecutive(slots) && slots->count > 0) {
    GROVE_TRY(choose_form(slots, unit_bytes, &s));
  }
  *out = s;
  return GROVE_OK;
fail:
  grove_shape_free(&s);
  return status;
}

void grove_shape_free(grove_shape *shape)
{
  free(shape->runs);
  free(shape->owner);
  free(shape->firsts);
  free(shape->others);
  free(shape->other_units);
  *shape = (grove_shape){0};
}

const char *grove_shape_form_name(grove_shape_form form)
{
  static const char *const names[] = {"consecutive", "runs", "box", "listed"};
  return names[form];
}

/* ---- walking ---- */

const grove_run *grove_shape_run(const grove_shape *s, int64_t entry)
{
  int64_t low = 0, high = s->nruns;
  while (high - low > 1) {
    int64_t middle = low + (high - low) / 2;
    if (s->runs[middle].begin <= entry)
      low = middle;
    else
      high = middle;
  }
  return &s->runs[low];
}

grove_walk grove_walk_begin(const grove_shape *shape, int64_t begin, int64_t count)
{
  grove_walk walk = {.shape = shape, .at = begin, .end = begin + count};
  if (shape->form == GROVE_SHAPE_RUNS) walk.run = grove_shape_run(shape, begin) - shape->runs;
  return walk;
}

static grove_patch row_patch(int64_t first, int64_t n, int64_t stride)
{
  return (grove_patch){.first = first, .n = {n, 1, 1}, .stride = {stride, 0, 0}};
}

/* All of it, or whole planes, or whole rows, or part of a row. */
static grove_patch next_in_box(const grove_shape *s, int64_t at, int64_t left)
{
  if (left == s->slots.count) /* without a division */
    return (grove_patch){
      s->first, {s->n[0], s->n[1], s->n[2]}, {s->stride[0], s->stride[1], s->stride[2]}};
  int64_t plane = s->n[0] * s->n[1];
  int64_t k = at / plane, j = at % plane / s->n[0], i = at % s->n[0];
  grove_patch p = {.first = s->first + i * s->stride[0] + j * s->stride[1] + k * s->stride[2],
                   .n = {s->n[0], s->n[1], 1},
                   .stride = {s->stride[0], s->stride[1], s->stride[2]}};
  int64_t rest = s->n[0] - i;
  if (i > 0 || left < s->n[0]) return row_patch(p.first, left < rest ? left : rest, s->stride[0]);
  int64_t rows = left / s->n[0], rows_here = s->n[1] - j;
  if (j > 0 || rows < s->n[1])
    p.n[1] = rows < rows_here ? rows : rows_here;
  else
    p.n[2] = left / plane;
  return p;
}

int grove_walk_next(grove_walk *walk, grove_patch *patch)
{
  const grove_shape *s = walk->shape;
  int64_t left = walk->end - walk->at;
  if (left <= 0) return 0;
  if (s->form == GROVE_SHAPE_BOX) {
    *patch = next_in_box(s, walk->at, left);
  } else if (s->form == GROVE_SHAPE_RUNS) {
    const grove_run *run = &s->runs[walk->run++];
    int64_t skipped = walk->at - run->begin, n = run[1].begin - walk->at;
    *patch = row_patch(run->first + skipped, n < left ? n : left, 1);
  } else {
    *patch = row_patch(s->first + walk->at, left, 1);
  }
  walk->at += grove_patch_count(patch);
  return 1;
}
