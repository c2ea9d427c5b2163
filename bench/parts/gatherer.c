/* On a route that gathers what leaves a node, one rank is late: the last one of the first node. On
 * the route 3-step it sends what the next node needs. With `start` all ranks call grove_start, that
 * one late. With `parts` all start by parts earlier, and that one marks its rows late.
 *
 *     others   from the start of the others until they have what need not wait for the late one:
 *              the last ghosts that arrived anywhere before it started
 *     whole    until every rank has all ghosts
 *
 * The share is that of the ghosts which arrived before it started.
 */
#include "halo.h"

#include "kit/need.h"

#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

typedef struct gatherer {
  bench_halo h;
  int by_parts, is_whole, late;
  double limit;        /* when the late one starts */
  double early, end;   /* when the last ghosts before that arrived, and all */
  double came, rounds; /* ghosts that arrived before that, over all rounds */
} gatherer;

static int last_of_first_node(grove_context *ctx, MPI_Comm comm)
{
  int size, node = 0, last = 0;
  MPI_Comm_size(comm, &size);
  for (int i = 0; i < size; i++) {
    bench_need_grove(grove_context_node(ctx, i, &node, NULL));
    if (node == 0) last = i;
  }
  return last;
}

static void *open_gatherer(bench_part_case *c, bench_part_entrant *e)
{
  gatherer *g = bench_alloc(1, sizeof *g);
  bench_halo_open(c, e, &g->h);
  g->by_parts = bench_halo_is(&g->h, "parts");
  g->is_whole = strcmp(c->line->mode->name, "gatherer-whole") == 0;
  g->late = last_of_first_node(e->ctx, c->comm);
  return g;
}

static void close_gatherer(void *state)
{
  gatherer *g = state;
  double all = bench_halo_sum(&g->h, (double)g->h.rows->ghosts * g->rounds);
  double came = bench_halo_sum(&g->h, g->came);
  bench_halo_close(&g->h, all > 0 ? came / all : 0);
  free(g);
}

static void run_round(void *state, int slot)
{
  gatherer *g = state;
  (void)slot;
  if (!g->by_parts)
    bench_need_grove(grove_start(g->h.op));
  else if (g->h.rows->rows > 0)
    bench_need_grove(grove_ready(g->h.op, 0, g->h.rows->rows));
  for (int64_t first, count, came = 0; came < g->h.rows->ghosts; came += count) {
    bench_need_grove(grove_arrivals(g->h.op, &first, &count));
    double now = bench_clock();
    if (count == 0) sched_yield();
    if (count == 0 || now >= g->limit) continue;
    g->early = now;
    g->came += (double)count;
  }
  bench_need_grove(grove_wait(g->h.op));
  g->end = bench_clock();
}

static double sample_gatherer(void *state, int64_t round)
{
  gatherer *g = state;
  const bench_job job = {.finish = run_round, .about = g};
  bench_halo_fill(&g->h, 0, g->h.rows->rows, round);
  if (g->by_parts) bench_need_grove(grove_start_parts(g->h.op));
  double begin = bench_halo_moment(&g->h), delay = begin - bench_clock();
  g->early = begin;
  g->limit = begin + g->h.c->line->noise.amount;
  if (g->h.c->rank == g->late) delay += g->h.c->line->noise.amount;
  bench_team_run(g->h.c->team, &job, &delay);
  g->rounds++;
  bench_halo_check(&g->h, round);
  return bench_halo_most(&g->h, g->is_whole ? g->end : g->early) - begin;
}

#define GATHERER                                                                                   \
  .is_forest = 1, .relays = 1, .warm = 4, .open = open_gatherer, .sample = sample_gatherer,        \
  .close = close_gatherer

const bench_part_mode bench_mode_gatherer_others = {.name = "gatherer-others", GATHERER};
const bench_part_mode bench_mode_gatherer_whole = {.name = "gatherer-whole", GATHERER};
