/* A wave over 2 x 2 ranks, as in Sweep3D: each waits for data from the west and the north, computes
 * with its threads, and sends to the east and the south. A thread marks its parts for both. The
 * time is that of a step without its computing.
 */
#include "part_case.h"

#include "kit/need.h"

#include <stdlib.h>

enum { STEPS = 8, STAGES = STEPS + 2, SIDES = 2 }; /* the wave needs two more steps */

typedef struct sweep {
  bench_part_case *c;
  bench_part_entrant *e;
  int nin, nout;
  void *in[SIDES], *out[SIDES];
  char *from[SIDES], *to[SIDES];
  int64_t step;   /* over all rounds */
  int64_t *wrong; /* one per thread */
  double *delay;
} sweep;

static void *open_side(sweep *s, int sends, int peer, char **memory)
{
  *memory = bench_alloc((size_t)s->c->bytes, 1);
  return bench_open_end(s->c, s->e, sends, peer, *memory);
}

static void *open_sweep(bench_part_case *c, bench_part_entrant *e)
{
  sweep *s = bench_alloc(1, sizeof *s);
  s->c = c;
  s->e = e;
  s->wrong = bench_alloc((size_t)c->threads, sizeof *s->wrong);
  s->delay = bench_alloc((size_t)c->threads, sizeof *s->delay);
  for (int side = 1; side <= SIDES; side++) { /* rank 2 y + x */
    if (c->rank & side) s->in[s->nin] = open_side(s, 0, c->rank - side, &s->from[s->nin]), s->nin++;
    if (~c->rank & side)
      s->out[s->nout] = open_side(s, 1, c->rank + side, &s->to[s->nout]), s->nout++;
  }
  return s;
}

static void close_sweep(void *state)
{
  sweep *s = state;
  if (s->nout) s->e->told = s->e->method->tell(s->out[0]);
  for (int i = 0; i < s->nin; i++) s->e->method->close(s->in[i]);
  for (int i = 0; i < s->nout; i++) s->e->method->close(s->out[i]);
  for (int i = 0; i < SIDES; i++) {
    free(s->from[i]);
    free(s->to[i]);
  }
  for (int i = 0; i < s->c->threads; i++) s->e->wrong += s->wrong[i];
  free(s->wrong);
  free(s->delay);
  free(s);
}

/* While computing, a thread checks its received data and rewrites what it sends. */
static void renew(void *state, int slot)
{
  sweep *s = state;
  int first, end;
  bench_share(s->c, slot, &first, &end);
  int64_t part = s->c->bytes / s->c->parts, at = first * part, bytes = (end - first) * part;
  for (int i = 0; i < s->nin; i++) s->wrong[slot] += bench_wrong(s->from[i], at, bytes, s->step);
  for (int i = 0; i < s->nout; i++) bench_fill(s->to[i], at, bytes, s->step);
}

static void mark_both(void *state, int slot)
{
  sweep *s = state;
  int first, end;
  bench_share(s->c, slot, &first, &end);
  for (int part = first; part < end; part++)
    for (int i = 0; i < s->nout; i++) s->e->method->ready(s->out[i], part);
}

/* `seed`: the same noise for every entrant. */
static void run_step(sweep *s, int is_first, uint64_t seed)
{
  const bench_part_method *m = s->e->method;
  const bench_job job = {renew, mark_both, s};
  uint64_t state = seed + (uint64_t)s->c->rank;
  s->step++;
  for (int i = 0; i < s->nin; i++) m->start(s->in[i]);
  for (int i = 0; i < s->nin; i++) m->wait(s->in[i]);
  for (int i = 0; i < s->nout && !is_first; i++) m->wait(s->out[i]);
  for (int i = 0; i < s->nout; i++) m->start(s->out[i]);
  bench_noise_draw(&s->c->line->noise, &state, s->c->threads, s->delay);
  bench_team_run(s->c->team, &job, s->delay);
}

static double sample_sweep(void *state, int64_t round)
{
  sweep *s = state;
  MPI_Barrier(s->c->comm);
  double begin = bench_clock();
  for (int i = 0; i < STEPS; i++) run_step(s, i == 0, (uint64_t)(round * STEPS + i) << 8);
  for (int i = 0; i < s->nout; i++) s->e->method->wait(s->out[i]);
  double seconds = bench_clock() - begin - STAGES * s->c->line->noise.compute;
  MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, s->c->comm);
  return seconds / STAGES;
}

const bench_part_mode bench_mode_sweep = {
  .name = "sweep",
  .ranks = SIDES * SIDES,
  .warm = 2,
  .open = open_sweep,
  .sample = sample_sweep,
  .close = close_sweep,
};
