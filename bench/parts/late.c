/* Threads finish blocks of rows, each in its own time. `end` starts the operation when the last one
 * is done. `parts` has started it before, and every thread marks its block. With look=1 in its name
 * the first thread then looks for arrivals now and then, until shortly before the last one is done:
 * some thread has to, if data is to move while all others compute.
 *
 *     late        from the last block's end until every rank has all ghosts. Blocks are cut so that
 *                 each sends the same number of values, the last one no fewer than the others.
 *     late-rows   the same with blocks of equally many rows, except that the last one begins
 *                 earlier where it would send fewer values than its share
 *     even        from the moment at which all threads begin to compute
 */
#include "halo.h"

#include "kit/need.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* When a thread's blocks were done; each has its own cache line. */
typedef struct moment {
  _Alignas(64) double end;
} moment;

typedef struct late {
  bench_halo h;
  int by_parts, is_even, looks;
  int64_t *first; /* block b is rows first[b] .. first[b + 1] - 1 */
  double share;   /* of the last thread's blocks in the values that this rank sends */
  moment *moments;
  double *delay;
  double until; /* the looking thread stops then */
  int64_t round;
} late;

/* How many values the rows from i on send, for all i. */
static double *count_sent(late *l)
{
  int64_t n = l->h.rows->rows, *degree = bench_alloc((size_t)n + 1, sizeof *degree);
  double *sent = bench_alloc((size_t)n + 1, sizeof *sent);
  bench_need_grove(grove_forest_degrees(l->h.forest, degree));
  for (int64_t i = n - 1; i >= 0; i--) sent[i] = sent[i + 1] + (double)degree[i];
  free(degree);
  return sent;
}

static void cut(late *l, int by_rows)
{
  int blocks = l->h.c->parts, last, end;
  int64_t n = l->h.rows->rows, i = n;
  double *sent = count_sent(l);
  l->first[blocks] = n;
  for (int b = blocks - 1; b > 0; b--) {
    while (i > 0 && sent[i] * blocks < sent[0] * (blocks - b)) i--;
    l->first[b] = sent[0] > 0 ? i : b * n / blocks;
  }
  for (int b = 1; by_rows && b < blocks; b++) {
    int64_t most = l->first[blocks - 1];
    l->first[b] = b * n / blocks < most ? b * n / blocks : most;
  }
  bench_share(l->h.c, l->h.c->threads - 1, &last, &end);
  l->share = sent[0] > 0 ? sent[l->first[last]] / sent[0] : 1;
  free(sent);
}

static void *open_late(bench_part_case *c, bench_part_entrant *e)
{
  late *l = bench_alloc(1, sizeof *l);
  bench_halo_open(c, e, &l->h);
  l->by_parts = bench_halo_is(&l->h, "parts");
  l->is_even = strcmp(c->line->mode->name, "even") == 0;
  l->looks = strstr(e->name, "look=1") != NULL;
  l->first = bench_alloc((size_t)c->parts + 1, sizeof *l->first);
  l->moments = aligned_alloc(64, (size_t)c->threads * sizeof *l->moments);
  bench_need(l->moments != NULL, "no memory left");
  l->delay = bench_alloc((size_t)c->threads, sizeof *l->delay);
  cut(l, strcmp(c->line->mode->name, "late-rows") == 0);
  return l;
}

static void close_late(void *state)
{
  late *l = state;
  bench_halo_close(&l->h, -bench_halo_most(&l->h, -l->share)); /* the least */
  free(l->first);
  free(l->moments);
  free(l->delay);
  free(l);
}

static void compute_blocks(void *state, int slot)
{
  late *l = state;
  int b, end;
  bench_share(l->h.c, slot, &b, &end);
  bench_halo_fill(&l->h, l->first[b], l->first[end], l->round);
}

static void look_around(late *l)
{
  const struct timespec rest = {.tv_nsec = 20000};
  int64_t first, count;
  while (bench_clock() < l->until) {
    bench_need_grove(grove_arrivals(l->h.op, &first, &count));
    if (count == 0) nanosleep(&rest, NULL);
  }
}

static void end_blocks(void *state, int slot)
{
  late *l = state;
  int b, end;
  bench_share(l->h.c, slot, &b, &end);
  l->moments[slot].end = bench_clock();
  for (; l->by_parts && b < end; b++) {
    int64_t first = l->first[b], count = l->first[b + 1] - first;
    if (count > 0) bench_need_grove(grove_ready(l->h.op, first, count));
  }
  if (l->looks && slot == 0) look_around(l);
}

static double sample_late(void *state, int64_t round)
{
  late *l = state;
  const bench_job job = {compute_blocks, end_blocks, l};
  int threads = l->h.c->threads;
  uint64_t seed = (uint64_t)round;
  double last = 0;
  l->round = round;
  if (l->by_parts) bench_need_grove(grove_start_parts(l->h.op));
  double begin = bench_halo_moment(&l->h), ahead = begin - bench_clock();
  bench_noise_draw(&l->h.c->line->noise, &seed, threads, l->delay);
  l->until = begin + l->delay[threads - 1] - 1e-4;
  for (int i = 0; i < threads; i++) l->delay[i] += ahead;
  bench_team_run(l->h.c->team, &job, l->delay);
  if (!l->by_parts) bench_need_grove(grove_start(l->h.op));
  bench_need_grove(grove_wait(l->h.op));
  double done = bench_halo_most(&l->h, bench_clock());
  for (int i = 0; i < threads; i++) last = fmax(last, l->moments[i].end);
  bench_halo_check(&l->h, round);
  return done - (l->is_even ? begin : bench_halo_most(&l->h, last));
}

#define LATE                                                                                       \
  .is_forest = 1, .warm = 4, .open = open_late, .sample = sample_late, .close = close_late

const bench_part_mode bench_mode_late = {.name = "late", LATE};
const bench_part_mode bench_mode_late_rows = {.name = "late-rows", LATE};
const bench_part_mode bench_mode_even = {.name = "even", LATE};
