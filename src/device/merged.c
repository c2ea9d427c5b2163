#include "device/merged.h"

#include "base/distinct.h"

#include <stdlib.h>

/* What is known of a window: its units by their numbers, and which targets it has something for. */
typedef struct merged_window {
  int64_t from, to;
  int64_t single_begin, single_end;   /* targets with one value, all of this window */
  int64_t several_begin, several_end; /* others: those outside have nothing of it */
  grove_prepared touched;
} merged_window;

struct grove_merged {
  char *base; /* the first message */
  int64_t unit_bytes, grain;
  int64_t words; /* items of a target */
  grove_prepared single, several;
  int n;
  merged_window *windows;
};

/* ---- numbers of units ---- */

/* Numbers units in grains: bytes that divide all distances. False if the messages do not lie one
 * behind the other, or too far apart. */
static int number_windows(grove_merged *m, const grove_window *windows)
{
  int64_t end = 0;
  m->grain = m->unit_bytes;
  for (int w = 0; w < m->n; w++)
    m->grain = grove_common_divisor(windows[w].message - m->base, m->grain);
  for (int w = 0; w < m->n; w++) {
    int64_t at = windows[w].message - m->base;
    if (at < end) return 0;
    end = at + windows[w].count * m->unit_bytes;
    m->windows[w].from = at / m->grain;
    m->windows[w].to = end / m->grain;
  }
  return end / m->grain < INT32_MAX;
}

/* ---- entries: a slot and a unit ---- */

typedef struct entry_lists {
  int64_t n, least, most; /* the most and the least slot */
  int64_t *slots, *units;
  int32_t *number; /* of the slot, as slots first appear */
  int64_t distinct;
  int64_t *count; /* of entries of a slot */
} entry_lists;

static void free_entries(entry_lists *e)
{
  free(e->slots);
  free(e->units);
  free(e->number);
  free(e->count);
}

static int has_starts(const grove_window *w)
{
  return w->shape->starts.count > 0;
}

static int64_t first_entry(const grove_window *w, int64_t unit)
{
  return has_starts(w) ? grove_index_at(&w->shape->starts, unit) : unit;
}

static int64_t count_entries(const grove_window *w)
{
  return first_entry(w, w->begin + w->count) - first_entry(w, w->begin);
}

static void read_window(const grove_merged *m, int which, const grove_window *w, entry_lists *e)
{
  int64_t first = first_entry(w, w->begin), n = count_entries(w), step = m->unit_bytes / m->grain;
  for (int64_t k = 0; k < n; k++) {
    int64_t slot = grove_index_at(&w->shape->slots, first + k);
    int64_t unit = has_starts(w) ? w->shape->owner[first + k] - w->begin : k;
    e->least = slot < e->least ? slot : e->least;
    e->most = slot > e->most ? slot : e->most;
    e->slots[e->n] = slot;
    e->units[e->n++] = m->windows[which].from + unit * step;
  }
}

static grove_status read_entries(const grove_merged *m, const grove_window *windows, int64_t n,
                                 entry_lists *e)
{
  *e = (entry_lists){.least = INT64_MAX, .most = INT64_MIN};
  GROVE_PASS_ROOM(e->slots, n);
  GROVE_PASS_ROOM(e->units, n);
  GROVE_PASS_ROOM(e->number, n);
  GROVE_PASS_NEW(e->count, n);
  for (int w = 0; w < m->n; w++) read_window(m, w, &windows[w], e);
  GROVE_PASS(
    grove_distinct_number(&(grove_index){.count = n, .wide = e->slots}, e->number, &e->distinct));
  for (int64_t k = 0; k < n; k++) e->count[e->number[k]]++;
  return GROVE_OK;
}

/* ---- targets ---- */

/* Those with one value, in the order of units. */
static grove_status prepare_single(const grove_driver *driver, int device, const grove_mover *mover,
                                   grove_motion motion, const entry_lists *e, grove_merged *m)
{
  grove_status status = GROVE_OK;
  grove_chains c = {.grain = m->grain};
  int w = 0;
  GROVE_ROOM(c.slots, e->distinct);
  GROVE_ROOM(c.units, e->distinct);
  for (int64_t k = 0; k < e->n; k++) {
    while (e->units[k] >= m->windows[w].to) m->windows[w++].single_end = c.targets;
    if (e->count[e->number[k]] > 1) continue;
    c.slots[c.targets] = e->slots[k];
    c.units[c.targets++] = e->units[k];
  }
  while (w < m->n) m->windows[w++].single_end = c.targets;
  for (w = 1; w < m->n; w++) m->windows[w].single_begin = m->windows[w - 1].single_end;
  c.nunits = c.targets;
  if (c.targets > 0)
    GROVE_TRY(grove_recipe_prepare_lists(driver, device, mover, motion, &c, &m->single));
  if (c.targets > 0) m->words = m->single.items / c.targets;
fail:
  free(c.slots);
  free(c.units);
  return status;
}

/* The place of each slot with several values among these; -1: it has one. */
static int64_t place_several(const entry_lists *e, int64_t *place, int64_t *starts)
{
  int64_t n = 0;
  for (int64_t k = 0; k < e->distinct; k++) {
    place[k] = e->count[k] > 1 ? n : -1;
    if (e->count[k] > 1) starts[n + 1] = starts[n] + e->count[k];
    n += e->count[k] > 1;
  }
  return n;
}

/* A window has something for this target. */
static void note_several(merged_window *w, int64_t target)
{
  if (w->several_end == 0) w->several_begin = target;
  if (target < w->several_begin) w->several_begin = target;
  if (target >= w->several_end) w->several_end = target + 1;
}

static void group_several(grove_merged *m, const entry_lists *e, const int64_t *place,
                          int64_t *next, grove_chains *c)
{
  int w = 0;
  for (int64_t t = 0; t < c->targets; t++) next[t] = c->starts[t];
  for (int64_t k = 0; k < e->n; k++) {
    int64_t target = place[e->number[k]];
    if (target < 0) continue;
    while (e->units[k] >= m->windows[w].to) w++;
    note_several(&m->windows[w], target);
    c->slots[target] = e->slots[k];
    c->units[next[target]++] = e->units[k];
  }
  c->nunits = c->starts[c->targets];
}

static grove_status prepare_several(const grove_driver *driver, int device,
                                    const grove_mover *mover, grove_motion motion,
                                    const entry_lists *e, grove_merged *m)
{
  grove_status status = GROVE_OK;
  grove_chains c = {.grain = m->grain};
  int64_t *place = NULL, *next = NULL;
  GROVE_ROOM(place, e->distinct);
  GROVE_NEW(c.starts, e->distinct + 1);
  c.targets = place_several(e, place, c.starts);
  if (c.targets > 0) {
    GROVE_ROOM(c.slots, c.targets);
    GROVE_ROOM(c.units, c.starts[c.targets]);
    GROVE_ROOM(next, c.targets);
    group_several(m, e, place, next, &c);
    GROVE_TRY(grove_recipe_prepare_lists(driver, device, mover, motion, &c, &m->several));
    m->words = m->several.items / c.targets;
  }
fail:
  free(place);
  free(next);
  free(c.slots);
  free(c.units);
  free(c.starts);
  return status;
}

/* ---- the whole ---- */

/* Is there anything to be merged, and can kernels do it? Returns how many entries, or 0. */
static int64_t count_mergeable(const grove_mover *mover, grove_motion motion, int n,
                               const grove_window *windows)
{
  int64_t entries = 0;
  for (int w = 0; w < n; w++) {
    const grove_shape *shape = windows[w].shape;
    if (!grove_recipe_writes_slots(mover, shape, motion)) return 0;
    if (!grove_recipe_is_possible(mover, shape, motion)) return 0;
    entries += count_entries(&windows[w]);
  }
  return n > 1 && entries <= GROVE_LIST_MOST ? entries : 0;
}

static grove_status note_windows(const grove_driver *driver, const grove_unit *unit,
                                 const grove_window *windows, grove_merged *m)
{
  for (int w = 0; w < m->n && driver->checks_order; w++)
    GROVE_PASS(grove_recipe_note_touched(unit, windows[w].shape, windows[w].begin, windows[w].count,
                                         &m->windows[w].touched));
  return GROVE_OK;
}

grove_status grove_merged_create(const grove_driver *driver, int device, const grove_mover *mover,
                                 grove_motion motion, int n, const grove_window *windows,
                                 grove_merged **out)
{
  grove_status status = GROVE_OK;
  grove_merged *m = NULL;
  entry_lists e = {0};
  int64_t entries = count_mergeable(mover, motion, n, windows);
  *out = NULL;
  if (entries == 0) return GROVE_OK;
  GROVE_NEW(m, 1);
  m->n = n;
  m->base = windows[0].message;
  m->unit_bytes = mover->unit.bytes;
  GROVE_NEW(m->windows, n);
  if (!number_windows(m, windows)) goto fail;
  GROVE_TRY(read_entries(m, windows, entries, &e));
  if (!grove_slots_are_apart(&mover->unit, e.most - e.least + 1)) goto fail;
  GROVE_TRY(prepare_single(driver, device, mover, motion, &e, m));
  GROVE_TRY(prepare_several(driver, device, mover, motion, &e, m));
  GROVE_TRY(note_windows(driver, &mover->unit, windows, m));
  *out = m;
  m = NULL;
fail:
  free_entries(&e);
  grove_merged_free(driver, device, m);
  return status;
}

void grove_merged_free(const grove_driver *driver, int device, grove_merged *m)
{
  if (!m) return;
  grove_recipe_free(driver, device, &m->single);
  grove_recipe_free(driver, device, &m->several);
  for (int w = 0; w < m->n && m->windows; w++)
    grove_recipe_free(driver, device, &m->windows[w].touched);
  free(m->windows);
  free(m);
}

int64_t grove_merged_bytes(const grove_merged *m)
{
  return m->single.bytes + m->several.bytes;
}

/* ---- sweeps ---- */

/* The last window that begins at this unit, or before it. */
static int window_at(const grove_merged *m, int64_t unit)
{
  int low = 0, high = m->n;
  while (high - low > 1) {
    int middle = low + (high - low) / 2;
    if (m->windows[middle].from <= unit)
      low = middle;
    else
      high = middle;
  }
  return low;
}

/* A sweep to the end of a window ends where the next one begins, so that both can be joined. */
int grove_merged_find(const grove_merged *m, const char *message, int64_t count, grove_sweep *out)
{
  int64_t at = message - m->base, end = at + count * m->unit_bytes;
  if (at < 0 || at % m->grain != 0 || at / m->grain >= m->windows[m->n - 1].to) return 0;
  int w = window_at(m, at / m->grain);
  int64_t from = at / m->grain, to = end / m->grain;
  if (to > m->windows[w].to) return 0;
  if (to == m->windows[w].to) to = w + 1 < m->n ? m->windows[w + 1].from : INT32_MAX;
  *out = (grove_sweep){w, w, (int32_t)from, (int32_t)to};
  return 1;
}

int grove_sweep_join(grove_sweep *sweep, const grove_sweep *more)
{
  if (more->from == sweep->to) {
    sweep->last = more->last;
    sweep->to = more->to;
    return 1;
  }
  if (more->to != sweep->from) return 0;
  sweep->first = more->first;
  sweep->from = more->from;
  return 1;
}

/* Targets begin .. end-1 of a recipe. */
static grove_job job_of_targets(const grove_merged *m, const grove_prepared *p,
                                const grove_sweep *sweep, void *array, int64_t begin, int64_t end,
                                int64_t before)
{
  int all = sweep->from == 0 && sweep->to == INT32_MAX;
  return (grove_job){.recipe = p->recipe,
                     .array = array,
                     .message = m->base,
                     .end = before + (end - begin) * m->words,
                     .first = begin,
                     .from = all ? 0 : sweep->from,
                     .to = all ? 0 : sweep->to};
}

void grove_merged_apply(const grove_merged *m, const grove_sweep *sweep, void *array,
                        int64_t before, grove_job *jobs)
{
  int64_t begin = INT64_MAX, end = 0;
  for (const merged_window *w = &m->windows[sweep->first]; w <= &m->windows[sweep->last]; w++) {
    if (w->several_end == 0) continue;
    begin = w->several_begin < begin ? w->several_begin : begin;
    end = w->several_end > end ? w->several_end : end;
  }
  if (end == 0) begin = 0;
  jobs[0] = job_of_targets(m, &m->single, sweep, array, m->windows[sweep->first].single_begin,
                           m->windows[sweep->last].single_end, before);
  jobs[1] = job_of_targets(m, &m->several, sweep, array, begin, end, jobs[0].end);
}

const grove_prepared *grove_merged_touched(const grove_merged *m, int window)
{
  return &m->windows[window].touched;
}
