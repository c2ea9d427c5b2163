#include "explore.h"

#include "check.h"

#include <stdlib.h>
#include <string.h>

void explorer_begin(explorer *x, size_t bytes, void *model,
                    void (*all_steps)(explorer *, const void *),
                    int (*ended)(const explorer *, const void *))
{
  memset(x, 0, sizeof *x);
  x->bytes = bytes;
  x->stride = (bytes + 7) / 8 * 8;
  x->model = model;
  x->all_steps = all_steps;
  x->ended = ended;
}

void explorer_free(explorer *x)
{
  free(x->seen);
  free(x->from);
  free(x->next);
  free(x->first);
  free(x->table);
  memset(x, 0, sizeof *x);
}

static unsigned char *stored(const explorer *x, uint64_t i)
{
  return x->seen + i * x->stride;
}

const void *explorer_state(const explorer *x, uint32_t i)
{
  return stored(x, i);
}

int explorer_depth(const explorer *x, uint32_t i)
{
  int depth = 0;
  for (; i != 0; i = x->from[i]) depth++;
  return depth;
}

void explorer_fail(explorer *x, int what)
{
  if (x->failed == 0) x->failed = what;
}

/* ---- the set of states ---- */

static uint64_t hash(const explorer *x, const unsigned char *state)
{
  uint64_t h = 0, part;
  for (size_t i = 0; i < x->stride; i += sizeof part) {
    memcpy(&part, state + i, sizeof part);
    h = (h ^ part) * 0x9e3779b97f4a7c15u;
    h ^= h >> 29;
  }
  return h;
}

/* Where stored state i is in the table, or an equal one, or where it would be. */
static uint64_t place(const explorer *x, uint64_t i)
{
  const unsigned char *state = stored(x, i);
  uint64_t at = hash(x, state) & (x->table_size - 1);
  while (x->table[at] != 0 && memcmp(stored(x, x->table[at] - 1), state, x->stride) != 0)
    at = (at + 1) & (x->table_size - 1);
  return at;
}

static void *grown(void *p, uint64_t bytes)
{
  p = realloc(p, bytes);
  CHECK(p != NULL, "no memory for %llu bytes of states", (unsigned long long)bytes);
  return p;
}

static void make_room(explorer *x)
{
  if (x->states == x->room) {
    x->room = x->room == 0 ? 1 << 12 : 2 * x->room;
    CHECK(x->room < UINT32_MAX, "more states than can be numbered");
    x->seen = grown(x->seen, x->room * x->stride);
    x->from = grown(x->from, x->room * sizeof *x->from);
    x->first = grown(x->first, (x->room + 1) * sizeof *x->first);
    x->table_size = 2 * x->room;
    x->table = grown(x->table, x->table_size * sizeof *x->table);
    memset(x->table, 0, x->table_size * sizeof *x->table);
    for (uint64_t i = 0; i < x->states; i++) x->table[place(x, i)] = (uint32_t)i + 1;
  }
  if (x->steps == x->step_room) {
    x->step_room = x->step_room == 0 ? 1 << 14 : 2 * x->step_room;
    x->next = grown(x->next, x->step_room * sizeof *x->next);
  }
}

void explorer_reach(explorer *x, const void *state)
{
  make_room(x);
  unsigned char *last = stored(x, x->states);
  memset(last + x->stride - 8, 0, 8);
  memcpy(last, state, x->bytes);
  uint64_t at = place(x, x->states);
  if (x->table[at] == 0) {
    x->from[x->states] = x->now;
    x->table[at] = (uint32_t)++x->states;
  }
  x->next[x->steps++] = x->table[at] - 1;
}

/* ---- the search ---- */

/* Fails if there are states from which the end cannot be reached, with the last one found. States
 * are swept from the last to the first, against the direction of most steps: few sweeps do. */
static void look_for_dead_ends(explorer *x)
{
  unsigned char *ends = need(x->states);
  for (uint64_t i = 0; i < x->states; i++) ends[i] = x->ended(x, stored(x, i)) != 0;
  for (int changed = 1; changed;) {
    changed = 0;
    for (uint64_t i = x->states; i-- > 0;)
      for (uint64_t k = x->first[i]; k < x->first[i + 1] && !ends[i]; k++)
        changed |= ends[i] = ends[x->next[k]];
  }
  for (uint64_t i = 0; i < x->states; i++)
    if (!ends[i]) {
      x->failed = EXPLORER_DEAD_END;
      x->now = (uint32_t)i;
    }
  free(ends);
}

void explorer_run(explorer *x, const void *start)
{
  unsigned char *now = need(x->stride); /* `seen` moves as it grows */
  explorer_reach(x, start);
  x->steps = 0; /* nobody's */
  for (uint64_t i = 0; i < x->states && !x->failed; i++) {
    memcpy(now, stored(x, i), x->stride);
    x->now = (uint32_t)i;
    x->first[i] = x->steps;
    x->all_steps(x, now);
    x->first[i + 1] = x->steps;
  }
  if (!x->failed) look_for_dead_ends(x);
  free(now);
}
