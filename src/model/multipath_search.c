/* The search: shares on a grid, every order of launching, then smaller and smaller steps from the
 * best of them. Slow, and simple enough to be trusted: it knows nothing of Theorem 1. All copies of
 * a set get the same shares. */
#include "model/multipath_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SEARCHED = 6 };
static const int GRID[MOST_SEARCHED + 1] = {1, 1, 400, 60, 16, 8, 5};
static const double FINEST = 1e-9; /* of the bytes: the last step */

typedef struct grid_trial {
  int n; /* paths */
  int order[MOST_SEARCHED];
  double share[MOST_SEARCHED];
} grid_trial;

typedef struct search_state {
  const grove_copies *set;
  int entry[GROVE_COPIES][MOST_SEARCHED]; /* the useful paths of each copy */
  grid_trial best;
  double seconds;
  int64_t chunks[GROVE_COPIES][MOST_SEARCHED][512]; /* on the grid, by share */
} search_state;

/* Makes the trial's loads; returns when the last byte arrives. `steps`: shares are on the grid. */
static double try_split(const search_state *s, const grid_trial *t, int steps, grove_split *out)
{
  int binds = -1;
  for (int c = 0; c < s->set->count; c++) {
    const grove_copy_paths *copy = &s->set->copy[c];
    double launch = 0;
    int place = 0;
    out[c].npaths = copy->npaths;
    for (int i = 0; i < copy->npaths; i++) out[c].load[i] = grove_no_load;
    for (int k = 0; k < t->n; k++) {
      int j = t->order[k], i = s->entry[c][j];
      double bytes = t->share[j] * copy->bytes;
      if (!(t->share[j] > 0)) continue;
      grove_path_load *load = &out[c].load[i];
      load->share = t->share[j];
      load->chunks = steps > 0 ? s->chunks[c][j][(int)(t->share[j] * steps + 0.5)]
                               : grove_path_chunks(&copy->path[i], bytes);
      load->launch = launch;
      load->place = place++;
      load->seconds = launch + grove_path_seconds(&copy->path[i], bytes, (double)load->chunks);
      launch += copy->path[i].alpha;
    }
  }
  return grove_resources_check(s->set, out, &binds);
}

/* Is the direct path used? */
static int is_allowed(const search_state *s, const grid_trial *t)
{
  return s->set->copy[0].path[0].kind != GROVE_PATH_DIRECT || t->share[0] > 0;
}

/* Keeps the trial if it is better. */
static void consider_split(search_state *s, const grid_trial *t, int steps)
{
  grove_split splits[GROVE_COPIES];
  if (!is_allowed(s, t)) return;
  double seconds = try_split(s, t, steps, splits);
  if (!(seconds < s->seconds)) return;
  s->seconds = seconds;
  s->best = *t;
}

/* All ways to divide the remaining steps among the paths from `path` on. */
static void try_grid(search_state *s, grid_trial *t, int path, int left, int steps)
{
  if (path == t->n - 1) {
    t->share[path] = (double)left / steps;
    consider_split(s, t, steps);
    return;
  }
  for (int i = 0; i <= left; i++) {
    t->share[path] = (double)i / steps;
    try_grid(s, t, path + 1, left - i, steps);
  }
}

static void tabulate_chunks(search_state *s, int n, int steps)
{
  for (int c = 0; c < s->set->count; c++)
    for (int j = 0; j < n; j++)
      for (int i = 0; i <= steps; i++)
        s->chunks[c][j][i] = grove_path_chunks(&s->set->copy[c].path[s->entry[c][j]],
                                               s->set->copy[c].bytes * i / steps);
}

/* Moves `step` from the path that ends last to the one that then ends first; 0: no better. */
static int level_loads(search_state *s, double step)
{
  grove_split now[GROVE_COPIES], then[GROVE_COPIES];
  grid_trial best = s->best;
  int last = 0, found = 0;
  try_split(s, &s->best, 0, now);
  for (int j = 1; j < best.n; j++)
    if (now[0].load[s->entry[0][j]].seconds > now[0].load[s->entry[0][last]].seconds) last = j;
  double least = now[0].load[s->entry[0][last]].seconds;
  for (int j = 0; j < best.n; j++) {
    grid_trial t = s->best;
    if (j == last || !(t.share[last] > step) || !(t.share[j] > 0)) continue;
    t.share[last] -= step;
    t.share[j] += step;
    double seconds = try_split(s, &t, 0, then);
    double ends = then[0].load[s->entry[0][j]].seconds;
    if (seconds > s->seconds * (1 + 1e-14) || !(ends < least)) continue;
    least = ends;
    best = t;
    found = 1;
  }
  if (!found) return 0;
  s->best = best;
  s->seconds = fmin(s->seconds, try_split(s, &best, 0, then));
  return 1;
}

/* From any path to any other, if that is faster. */
static int move_load(search_state *s, double step)
{
  double before = s->seconds;
  const grid_trial now = s->best;
  for (int a = 0; a < now.n; a++)
    for (int b = 0; b < now.n; b++) {
      grid_trial t = now;
      if (a == b || !(t.share[a] > 0)) continue;
      double moved = fmin(step, t.share[a]);
      t.share[a] -= moved;
      t.share[b] += moved;
      consider_split(s, &t, 0);
    }
  return s->seconds < before * (1 - 1e-12);
}

static void refine_split(search_state *s, double step)
{
  for (; step > FINEST; step /= 2)
    for (int round = 0; round < 50; round++) {
      int better = step > 1e-6 && round < 8 && move_load(s, step);
      better |= level_loads(s, step);
      if (!better) break;
    }
}

/* The best shares for each order, and the best of those. */
static void try_orders(search_state *s, int *order, int n, int fixed, search_state *best)
{
  if (fixed == n) {
    grid_trial t = {.n = n};
    memcpy(t.order, order, sizeof t.order);
    s->seconds = INFINITY;
    try_grid(s, &t, 0, GRID[n], GRID[n]);
    refine_split(s, 1.0 / GRID[n]);
    if (s->seconds < best->seconds) {
      best->seconds = s->seconds;
      best->best = s->best;
    }
    return;
  }
  for (int k = fixed; k < n; k++) {
    int other = order[k];
    order[k] = order[fixed];
    order[fixed] = other;
    try_orders(s, order, n, fixed + 1, best);
    order[fixed] = order[k];
    order[k] = other;
  }
}

static int list_useful(const grove_copy_paths *copy, int *entry)
{
  int n = 0;
  for (int i = 0; i < copy->npaths; i++)
    if (copy->useless[i] < 0 && n++ < MOST_SEARCHED) entry[n - 1] = i;
  return n;
}

grove_status grove_multipath_search(const grove_copies *set, grove_split *out)
{
  grove_status status = GROVE_OK;
  search_state *s = NULL, *best = NULL;
  int order[MOST_SEARCHED], paths = 0;
  GROVE_NEW(s, 1);
  GROVE_NEW(best, 1);
  s->set = set;
  best->seconds = INFINITY;
  for (int c = 0; c < set->count; c++) {
    int n = list_useful(&set->copy[c], s->entry[c]);
    GROVE_CHECK(n <= MOST_SEARCHED, GROVE_ERR_ARG,
                "a search tries at most %d paths, and there are %d: name some of them",
                MOST_SEARCHED, n);
    GROVE_CHECK(c == 0 || n == paths, GROVE_ERR_ARG,
                "a search needs copies with as many paths each");
    paths = n;
  }
  for (int i = 0; i < MOST_SEARCHED; i++) order[i] = i;
  tabulate_chunks(s, paths, GRID[paths]);
  try_orders(s, order, paths, 0, best);
  try_split(s, &best->best, 0, out);
  for (int c = 0; c < set->count; c++) {
    out[c].seconds = best->seconds;
    for (int i = 0; i < out[c].npaths; i++)
      if (out[c].load[i].share > 0)
        grove_load_describe(&set->copy[c].path[i], out[c].load[i].share * set->copy[c].bytes,
                            &out[c].load[i]);
  }
fail:
  free(s);
  free(best);
  return status;
}
