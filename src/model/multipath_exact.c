/* The exact solver: the least time in which the paths carry all the bytes.
 *
 * For one order of launching, what all paths have carried grows with time. The time is found by
 * bisection, each step shortened by the slope. The best order at a given time is found by dynamic
 * programming: when a path starts depends only on the set of paths before it. An order that has
 * carried more by then gives a shorter time; after a few rounds none does. A useless path goes last
 * and delays nobody. So neither an additional path nor a faster link ever makes a copy slower. The
 * direct path is always used.
 *
 * If the paths of that split want more of a resource than it has, all copies of the set are solved
 * together: at a given time each path gets what the resources give it. There, paths are launched in
 * their own order, and every choice of paths is tried. */
#include "model/multipath_parts.h"

#include <math.h>
#include <string.h>

enum { MOST_ORDERED = 10, MOST_SUBSETS = 6 };
static const double CLOSE = 1e-13; /* relative, for time or bytes: as near as numbers come */

/* ---- one copy, one order ---- */

typedef struct launches {
  int n;
  const grove_path *path[GROVE_PATHS];
  int entry[GROVE_PATHS]; /* of the copy */
  double at[GROVE_PATHS]; /* the launches before it */
} launches;

static void set_times(launches *l)
{
  double sum = 0;
  for (int i = 0; i < l->n; i++) {
    l->at[i] = sum;
    sum += l->path[i]->alpha;
  }
}

/* What all paths carry in this many seconds; the parts in `out`, unless NULL. */
static double carried_by(const launches *l, double seconds, double *slope, double *out,
                         int64_t *chunks)
{
  double sum = 0;
  *slope = 0;
  for (int i = 0; i < l->n; i++) {
    double more = 0;
    int64_t k = 1;
    double bytes = grove_path_carries(l->path[i], seconds - l->at[i], &k, &more);
    sum += bytes;
    *slope += more;
    if (out) out[i] = bytes;
    if (chunks) chunks[i] = k;
  }
  return sum;
}

/* When all bytes have arrived, but not before the direct path has something to do. */
static double finish_trial(const launches *l, double bytes, double high)
{
  double low = 0, slope = 0, after = 0;
  for (int i = 0; i < l->n; i++)
    if (l->path[i]->kind == GROVE_PATH_DIRECT) after = l->at[i] + l->path[i]->alpha;
  double seconds = high;
  for (int step = 0; step < 200 && high - low > CLOSE * high; step++) {
    double sum = carried_by(l, seconds, &slope, NULL, NULL);
    if (sum < bytes)
      low = seconds;
    else
      high = seconds;
    if (fabs(bytes - sum) <= CLOSE * bytes) break;
    double next = seconds + (bytes - sum) / slope;
    seconds = next > low && next < high ? next : (low + high) / 2;
  }
  return fmax(seconds, after * (1 + CLOSE));
}

/* ---- the best order ---- */

/* The direct path first, then those that delay others least for what they carry. */
static void first_order(launches *l)
{
  for (int i = 1; i < l->n; i++)
    for (int k = i; k > 0; k--) {
      const grove_path *a = l->path[k - 1], *b = l->path[k];
      if (a->kind == GROVE_PATH_DIRECT) break;
      if (a->alpha * grove_path_rate(b) <= b->alpha * grove_path_rate(a)) break;
      int entry = l->entry[k];
      l->path[k] = a;
      l->path[k - 1] = b;
      l->entry[k] = l->entry[k - 1];
      l->entry[k - 1] = entry;
    }
}

static int same_path(const grove_path *a, const grove_path *b)
{
  return a->kind != GROVE_PATH_DIRECT && b->kind != GROVE_PATH_DIRECT && a->alpha == b->alpha &&
         a->beta == b->beta && a->epsilon == b->epsilon && a->alpha2 == b->alpha2 &&
         a->beta2 == b->beta2 && a->slot_bytes == b->slot_bytes;
}

/* The order that has carried most after this many seconds; 0: the present one. Of two equal paths
 * the first goes first. */
static int better_order(launches *l, double seconds, double now)
{
  enum { SETS = 1 << MOST_ORDERED };
  double most[SETS], begin[SETS];
  signed char last[SETS];
  int twin[GROVE_PATHS];
  for (int i = 0; i < l->n; i++) {
    twin[i] = i - 1;
    while (twin[i] >= 0 && !same_path(l->path[twin[i]], l->path[i])) twin[i]--;
  }
  for (unsigned s = 0; s < 1U << l->n; s++) most[s] = -1;
  most[0] = begin[0] = 0;
  for (unsigned s = 0; s < 1U << l->n; s++) {
    if (most[s] < 0) continue;
    for (int i = 0; i < l->n; i++) {
      unsigned with = s | 1U << i;
      if (with == s || (twin[i] >= 0 && !(s >> twin[i] & 1))) continue;
      int64_t chunks = 0;
      double slope = 0, rest = seconds - begin[s];
      double sum = most[s] + grove_path_carries(l->path[i], rest, &chunks, &slope);
      if (l->path[i]->kind == GROVE_PATH_DIRECT &&
          begin[s] + l->path[i]->alpha >= seconds * (1 - 1e-9))
        continue; /* it would have nothing to do, or hardly earlier than now */
      if (sum <= most[with]) continue;
      most[with] = sum;
      last[with] = (signed char)i;
      begin[with] = begin[s] + l->path[i]->alpha;
    }
  }
  unsigned s = (1U << l->n) - 1;
  if (!(most[s] > now * (1 + 1e-11))) return 0;
  launches old = *l;
  for (int i = l->n - 1; i >= 0; i--) {
    int k = last[s];
    l->path[i] = old.path[k];
    l->entry[i] = old.entry[k];
    s &= ~(1U << k);
  }
  set_times(l);
  return 1;
}

/* ---- one copy ---- */

static launches launch_paths(const grove_copy_paths *copy, unsigned allowed)
{
  launches l = {.n = 0};
  for (int i = 0; i < copy->npaths; i++)
    if (allowed >> i & 1) {
      l.path[l.n] = &copy->path[i];
      l.entry[l.n++] = i;
    }
  return l;
}

/* If the others could have ended before the direct path begins, they have more time than they need:
 * they get no more than there is, and end before it. */
static void take_exact_loads(const grove_copy_paths *copy, const launches *l, double seconds,
                             grove_split *out)
{
  double bytes[GROVE_PATHS], slope = 0;
  int64_t chunks[GROVE_PATHS];
  int place = 0;
  double sum = carried_by(l, seconds, &slope, bytes, chunks);
  int early = sum > copy->bytes * (1 + 1e-9);
  out->seconds = 0;
  for (int i = 0; i < l->n; i++) {
    grove_path_load *load = &out->load[l->entry[i]];
    if (!(bytes[i] > 0)) continue;
    double part = bytes[i] / sum * copy->bytes;
    *load = (grove_path_load){
      .share = bytes[i] / sum,
      .chunks = early ? grove_path_chunks(l->path[i], part) : chunks[i],
      .launch = l->at[i],
      .place = place++,
      .limited_by = copy->limited[l->entry[i]],
    };
    grove_load_describe(l->path[i], part, load);
    load->seconds = load->launch + grove_path_seconds(l->path[i], part, (double)load->chunks);
    out->seconds = fmax(out->seconds, load->seconds);
  }
}

/* For too many paths to try all orders: drops those that carry nothing. 0: all carry something. */
static int drop_useless(launches *l, double seconds)
{
  double bytes[GROVE_PATHS], slope = 0;
  int kept = 0, n = l->n;
  carried_by(l, seconds, &slope, bytes, NULL);
  for (int i = 0; i < n; i++) {
    if (!(bytes[i] > 0) && l->path[i]->kind != GROVE_PATH_DIRECT) continue;
    l->path[kept] = l->path[i];
    l->entry[kept++] = l->entry[i];
  }
  l->n = kept;
  set_times(l);
  return kept < n;
}

void grove_exact_alone(const grove_copy_paths *copy, unsigned allowed, grove_split *out)
{
  launches l = launch_paths(copy, allowed);
  out->npaths = copy->npaths;
  for (int i = 0; i < copy->npaths; i++) out->load[i] = grove_no_load;
  first_order(&l);
  set_times(&l);
  double k = (double)grove_path_chunks(l.path[0], copy->bytes);
  double seconds = finish_trial(&l, copy->bytes, grove_path_seconds(l.path[0], copy->bytes, k));
  while (l.n > MOST_ORDERED && drop_useless(&l, seconds))
    seconds = finish_trial(&l, copy->bytes, seconds);
  launches best = l;
  while (l.n > 1 && l.n <= MOST_ORDERED && better_order(&l, seconds, copy->bytes)) {
    double sooner = finish_trial(&l, copy->bytes, seconds);
    if (!(sooner < seconds)) break;
    seconds = sooner;
    best = l;
  }
  take_exact_loads(copy, &best, seconds, out);
}

/* ---- copies that share something ---- */

typedef struct shared_trial {
  unsigned allowed[GROVE_COPIES];
  double launch[GROVE_COPIES][GROVE_PATHS];
  double begins[GROVE_RESOURCES];
  double bytes[GROVE_COPIES][GROVE_PATHS];
  int stopped[GROVE_COPIES][GROVE_PATHS];
} shared_trial;

static void launch_in_turn(const grove_copies *set, shared_trial *t)
{
  for (int r = 0; r < set->nresources; r++) t->begins[r] = INFINITY;
  for (int c = 0; c < set->count; c++) {
    const grove_copy_paths *copy = &set->copy[c];
    double sum = 0;
    for (int i = 0; i < copy->npaths; i++) {
      if (!(t->allowed[c] >> i & 1)) continue;
      t->launch[c][i] = sum;
      sum += copy->path[i].alpha;
      for (int k = 0; k < copy->ncrossings[i]; k++) {
        double *begins = &t->begins[copy->crossing[i][k].resource];
        *begins = fmin(
          *begins, grove_crossing_begins(&copy->path[i], &copy->crossing[i][k], t->launch[c][i]));
      }
    }
  }
}

/* Can all copies have ended after this many seconds? */
static int is_enough(const grove_copies *set, shared_trial *t, double seconds)
{
  double most[GROVE_COPIES][GROVE_PATHS] = {{0}}, room[GROVE_RESOURCES], need[GROVE_COPIES];
  for (int c = 0; c < set->count; c++)
    for (int i = 0; i < set->copy[c].npaths; i++) {
      int64_t chunks = 0;
      double slope = 0;
      if (!(t->allowed[c] >> i & 1)) continue;
      most[c][i] =
        grove_path_carries(&set->copy[c].path[i], seconds - t->launch[c][i], &chunks, &slope);
    }
  for (int r = 0; r < set->nresources; r++)
    room[r] = fmax(set->resource[r].rate * (seconds - t->begins[r]), 0);
  for (int c = 0; c < set->count; c++) need[c] = set->copy[c].bytes;
  grove_resources_fill(set, most, room, need, t->bytes, t->stopped);
  for (int c = 0; c < set->count; c++) {
    double sum = 0;
    for (int i = 0; i < set->copy[c].npaths; i++) sum += t->bytes[c][i];
    if (sum < need[c] * (1 - CLOSE)) return 0;
  }
  return 1;
}

static double finish_together(const grove_copies *set, shared_trial *t, double high)
{
  double low = 0;
  while (!is_enough(set, t, high) && high < 1e300) {
    low = high;
    high *= 2;
  }
  for (int step = 0; step < 100 && high - low > CLOSE * high; step++) {
    double middle = (low + high) / 2;
    if (is_enough(set, t, middle))
      high = middle;
    else
      low = middle;
  }
  is_enough(set, t, high);
  return high;
}

static void take_shared(const grove_copies *set, shared_trial *t, double seconds, grove_split *out)
{
  for (int c = 0; c < set->count; c++) {
    const grove_copy_paths *copy = &set->copy[c];
    int place = 0;
    out[c].npaths = copy->npaths;
    out[c].seconds = seconds;
    for (int i = 0; i < copy->npaths; i++) {
      double bytes = t->bytes[c][i];
      grove_path_load *load = &out[c].load[i];
      *load = grove_no_load;
      if (!(bytes > 0)) continue;
      load->share = bytes / copy->bytes;
      load->chunks = grove_path_chunks(&copy->path[i], bytes);
      load->launch = t->launch[c][i];
      load->place = place++;
      load->limited_by = t->stopped[c][i] >= 0 ? t->stopped[c][i] : copy->limited[i];
      grove_load_describe(&copy->path[i], bytes, load);
      load->seconds = seconds;
      load->omega = (seconds - load->delta) / bytes; /* slower than its links if stopped */
    }
  }
}

/* Uses only these paths and, for each copy, only the useful ones; 0: not a valid choice. */
static int choose_paths(const grove_copies *set, unsigned paths, shared_trial *t)
{
  for (int c = 0; c < set->count; c++) {
    const grove_copy_paths *copy = &set->copy[c];
    t->allowed[c] = 0;
    for (int i = 0; i < copy->npaths; i++)
      if ((paths >> i & 1) && copy->useless[i] < 0) t->allowed[c] |= 1U << i;
    if (t->allowed[c] == 0) return 0;
    if (copy->path[0].kind == GROVE_PATH_DIRECT && !(t->allowed[c] & 1)) return 0;
  }
  launch_in_turn(set, t);
  return 1;
}

/* Drops paths that got nothing; 0: there are none. */
static int drop_idle(const grove_copies *set, shared_trial *t)
{
  int dropped = 0;
  for (int c = 0; c < set->count; c++)
    for (int i = 0; i < set->copy[c].npaths; i++)
      if ((t->allowed[c] >> i & 1) && !(t->bytes[c][i] > 0)) {
        t->allowed[c] &= ~(1U << i);
        dropped = 1;
      }
  if (dropped) launch_in_turn(set, t);
  return dropped;
}

/* The choices of paths to try: all or, if they are too many, the first ones and all but one. 0: no
 * more. */
static unsigned nth_choice(int paths, int n)
{
  unsigned all = (1U << paths) - 1;
  if (paths <= MOST_SUBSETS) return n < (int)all ? (unsigned)n + 1 : 0;
  if (n < paths) return (1U << (n + 1)) - 1;
  return n < 2 * paths ? all & ~(1U << (n - paths)) : 0;
}

/* Each copy by itself, over these paths; infinite if together they want too much. */
static double solve_apart(const grove_copies *set, const unsigned *allowed, grove_split *out)
{
  double last = 0;
  int binds = -1;
  for (int c = 0; c < set->count; c++) {
    grove_exact_alone(&set->copy[c], allowed[c], &out[c]);
    last = fmax(last, out[c].seconds);
  }
  int fits = set->alone || grove_resources_check(set, out, &binds) <= last * (1 + 1e-9);
  return fits ? last : INFINITY;
}

/* Tries every choice of paths, with what is shared; or apart, if that fits. The first of equal
 * choices counts. */
static void solve_together(const grove_copies *set, grove_split *out)
{
  shared_trial trial, best;
  grove_split apart[GROVE_COPIES];
  double seconds = INFINITY, guess = 1e-6;
  int most = 0, fits = 0;
  for (int c = 0; c < set->count; c++)
    if (set->copy[c].npaths > most) most = set->copy[c].npaths;
  for (int n = 0; nth_choice(most, n) > 0; n++) {
    if (!choose_paths(set, nth_choice(most, n), &trial)) continue;
    double ends = solve_apart(set, trial.allowed, apart);
    if (ends < seconds * (1 - 1e-9)) {
      memcpy(out, apart, (size_t)set->count * sizeof *out);
      seconds = ends;
      fits = 1;
    }
    if (isfinite(seconds) && !is_enough(set, &trial, seconds * (1 - 1e-9))) continue;
    ends = finish_together(set, &trial, isfinite(seconds) ? seconds : guess);
    while (drop_idle(set, &trial)) ends = finish_together(set, &trial, ends);
    if (isfinite(seconds) && !(ends < seconds)) continue;
    seconds = ends;
    best = trial;
    fits = 0;
  }
  if (!fits) take_shared(set, &best, seconds, out);
}

grove_status grove_multipath_exact(const grove_copies *set, grove_split *out)
{
  unsigned allowed[GROVE_COPIES] = {0};
  for (int c = 0; c < set->count; c++)
    for (int i = 0; i < set->copy[c].npaths; i++)
      if (set->copy[c].useless[i] < 0) allowed[c] |= 1U << i;
  if (isinf(solve_apart(set, allowed, out))) solve_together(set, out);
  return GROVE_OK;
}
