/* Shares and chunks found by trying them, as a static configuration would be: bytes move from path
 * to path in ever smaller steps, and chunks are doubled and halved, as long as the load gets
 * faster. Nothing of the model is used. */
#include "multipath.h"

#include <math.h>

enum { FIRST_CHUNKS = 8, MOST_CHUNKS = 512 };

typedef struct trial {
  bench_load *load;
  grove_copier *c;
  int npaths, is_staged[GROVE_PATHS];
  double share[GROVE_PATHS]; /* of each path of the pair */
  int64_t chunks[GROVE_PATHS];
  double seconds;
  int tries;
} trial;

static grove_copy_decision decision_of(const trial *t)
{
  grove_copy_decision d = {.gain = 2};
  for (int i = 0; i < t->npaths; i++) {
    if (t->share[i] <= 0) continue;
    d.path[d.npaths] = i;
    d.share[d.npaths] = t->share[i];
    d.chunks[d.npaths++] = t->chunks[i];
  }
  return d;
}

/* Where the clock is the host's, the fastest of three. */
static double time_trial(const trial *t)
{
  double least = INFINITY;
  grove_copy_decision d = decision_of(t);
  t->load->as = &d;
  bench_load_once(t->load, t->c);
  for (int i = 0; i < (t->load->p->is_emulated ? 1 : 3); i++)
    least = fmin(least, bench_load_once(t->load, t->c));
  t->load->as = NULL;
  return least;
}

/* Keeps the other one if it is faster. */
static int is_better(trial *t, trial *other)
{
  if (t->tries <= 0) return 0;
  t->tries--;
  other->seconds = time_trial(other);
  if (!(other->seconds < t->seconds * (1 - 1e-6))) return 0;
  other->tries = t->tries;
  *t = *other;
  return 1;
}

/* From path i to path k. */
static int move_share(trial *t, int i, int k, double step)
{
  int moved = 0;
  for (;;) {
    trial other = *t;
    double bytes = fmin(step, other.share[i]);
    if (i == k || bytes <= 0) return moved;
    other.share[i] -= bytes;
    other.share[k] += bytes;
    if (!is_better(t, &other)) return moved;
    moved = 1;
  }
}

static int change_chunks(trial *t, int i, double factor)
{
  int changed = 0;
  for (;;) {
    trial other = *t;
    other.chunks[i] = llround((double)t->chunks[i] * factor);
    int is_same = other.chunks[i] == t->chunks[i];
    if (is_same || other.chunks[i] < 1 || other.chunks[i] > MOST_CHUNKS) return changed;
    if (!is_better(t, &other)) return changed;
    changed = 1;
  }
}

static int improve(trial *t, double step)
{
  int better = 0;
  double factor = 1 + 6 * step;
  for (int i = 0; i < t->npaths; i++)
    for (int k = 0; k < t->npaths; k++) better |= move_share(t, i, k, step);
  for (int i = 0; i < t->npaths; i++) {
    if (!t->is_staged[i]) continue;
    better |= change_chunks(t, i, factor);
    better |= change_chunks(t, i, 1 / factor);
  }
  return better;
}

double bench_search(bench_load *l, grove_copier *c, grove_copy_decision *out)
{
  grove_copy_pair *pair = NULL;
  trial t = {.load = l, .c = c, .tries = l->p->s->tries};
  bench_need_grove(grove_copy_pair_find(c, l->from, l->to, &pair));
  t.npaths = pair->route->npaths;
  for (int i = 0; i < t.npaths; i++) {
    t.is_staged[i] = pair->route->path[i].kind != GROVE_PATH_DIRECT;
    t.share[i] = 1.0 / t.npaths;
    t.chunks[i] = t.is_staged[i] ? FIRST_CHUNKS : 1;
  }
  t.seconds = time_trial(&t);
  for (double step = 0.16; step > 0.002; step /= 2)
    while (improve(&t, step) && t.tries > 0) continue;
  *out = decision_of(&t);
  return t.seconds;
}
