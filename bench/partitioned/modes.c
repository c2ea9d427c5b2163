/* Code shared by modes, and the modes of two ranks: rank 0 sends, rank 1 receives.
 *
 *     overhead    from the first mark until the receiver has everything
 *     perceived   from the last mark on
 *     whole       from the start of the sender on
 */
#include "part_case.h"

#include "kit/need.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void bench_share(const bench_part_case *c, int slot, int *first, int *end)
{
  *first = (int)((int64_t)slot * c->parts / c->threads);
  *end = (int)((int64_t)(slot + 1) * c->parts / c->threads);
}

void *bench_open_end(const bench_part_case *c, const bench_part_entrant *e, int sends, int peer,
                     char *memory)
{
  return e->method->open(&(bench_end){.comm = c->comm,
                                      .ctx = e->ctx,
                                      .sends = sends,
                                      .peer = peer,
                                      .parts = c->parts,
                                      .part_bytes = c->bytes / c->parts,
                                      .memory = memory});
}

double bench_mark_seconds(const bench_part_case *c, void (*mark)(void *about, int slot),
                          void *about, double *seconds)
{
  const bench_job job = {.finish = mark, .about = about};
  double sum = 0, *delay = bench_alloc((size_t)c->threads + 1, sizeof *delay);
  delay[c->threads] = 1e-9; /* the caller's slot */
  bench_team_run(c->team, &job, delay);
  free(delay);
  for (int i = 0; i < c->threads; i++) sum += seconds[i];
  double looking = bench_thread_clock();
  looking = bench_thread_clock() - looking;
  return sum - c->threads * looking;
}

static uint64_t value_of(int64_t round, int64_t word)
{
  return (uint64_t)round * 0x9e3779b97f4a7c15u + (uint64_t)word;
}

void bench_fill(char *memory, int64_t offset, int64_t bytes, int64_t round)
{
  uint64_t *words = (uint64_t *)(void *)memory;
  for (int64_t i = offset / 8; i < (offset + bytes) / 8; i++) words[i] = value_of(round, i);
}

int64_t bench_wrong(const char *memory, int64_t offset, int64_t bytes, int64_t round)
{
  const uint64_t *words = (const uint64_t *)(const void *)memory;
  int64_t wrong = 0;
  for (int64_t i = offset / 8; i < (offset + bytes) / 8; i++)
    wrong += words[i] != value_of(round, i);
  return wrong;
}

/* ---- two ranks ---- */

/* When a thread marked its first part and its last; each has its own cache line. */
typedef struct moments {
  _Alignas(64) double first;
  double last;
} moments;

typedef struct pair {
  bench_part_case *c;
  bench_part_entrant *e;
  char *memory; /* the case's, or from grove_alloc */
  void *end;
  int sends, is_whole, is_perceived;
  moments *moments; /* one for each thread */
  double *delay;
} pair;

/* The entrant's own memory where its name has memory=alloc. */
static char *memory_of(bench_part_case *c, bench_part_entrant *e)
{
  void *own = c->memory;
  if (strstr(e->name, "memory=alloc"))
    bench_need_grove(grove_alloc(e->ctx, (size_t)c->bytes, &own));
  return own;
}

static void *open_pair(bench_part_case *c, bench_part_entrant *e)
{
  pair *p = bench_alloc(1, sizeof *p);
  p->c = c;
  p->e = e;
  p->sends = c->rank == 0;
  p->is_whole = strcmp(c->line->mode->name, "whole") == 0;
  p->is_perceived = strcmp(c->line->mode->name, "perceived") == 0;
  p->memory = memory_of(c, e);
  p->moments = aligned_alloc(64, (size_t)c->threads * sizeof *p->moments);
  bench_need(p->moments != NULL, "no memory left");
  p->delay = bench_alloc((size_t)c->threads, sizeof *p->delay);
  p->end = bench_open_end(c, e, p->sends, 1 - c->rank, p->memory);
  return p;
}

static void close_pair(void *state)
{
  pair *p = state;
  if (p->sends) p->e->told = p->e->method->tell(p->end);
  p->e->method->close(p->end);
  if (p->memory != p->c->memory) bench_need_grove(grove_dealloc(p->e->ctx, p->memory));
  free(p->moments);
  free(p->delay);
  free(p);
}

static void mark(void *state, int slot)
{
  pair *p = state;
  int first, end;
  bench_share(p->c, slot, &first, &end);
  p->moments[slot].first = bench_clock();
  if (p->is_whole) p->e->method->start(p->end);
  for (int part = first; part < end; part++) {
    if (part == end - 1) p->moments[slot].last = bench_clock();
    p->e->method->ready(p->end, part);
  }
}

/* Returns the moment at which the time begins. */
static double send(pair *p, int64_t round)
{
  const bench_job job = {.finish = mark, .about = p};
  uint64_t state = (uint64_t)round;
  double first = INFINITY, last = 0;
  bench_noise_draw(&p->c->line->noise, &state, p->c->threads, p->delay);
  bench_team_run(p->c->team, &job, p->delay);
  p->e->method->wait(p->end);
  for (int i = 0; i < p->c->threads; i++) {
    first = fmin(first, p->moments[i].first);
    last = fmax(last, p->moments[i].last);
  }
  return p->is_perceived ? last : first;
}

static double receive(pair *p)
{
  p->e->method->wait(p->end);
  return bench_clock();
}

static void check(pair *p, int64_t round)
{
  int64_t bytes = p->e->method->sends_one ? p->c->bytes / p->c->parts : p->c->bytes;
  if (p->e->is_spoilt) p->memory[p->c->bytes - 1] ^= 1;
  p->e->wrong += bench_wrong(p->memory, p->c->bytes - bytes, bytes, round);
}

static double sample_pair(void *state, int64_t round)
{
  pair *p = state;
  double moment[2] = {0, 0};
  if (p->sends) bench_fill(p->memory, 0, p->c->bytes, round);
  if (!p->sends || !p->is_whole) p->e->method->start(p->end);
  MPI_Barrier(p->c->comm);
  if (p->sends)
    moment[0] = send(p, round);
  else
    moment[1] = receive(p);
  MPI_Allreduce(MPI_IN_PLACE, moment, 2, MPI_DOUBLE, MPI_MAX, p->c->comm);
  if (!p->sends) check(p, round);
  bench_need(moment[1] > moment[0], "the ranks' clocks differ: this is for one machine");
  return moment[1] - moment[0];
}

#define PAIR .ranks = 2, .warm = 10, .open = open_pair, .sample = sample_pair, .close = close_pair

static const bench_part_mode overhead = {.name = "overhead", PAIR};
static const bench_part_mode perceived = {.name = "perceived", PAIR};
static const bench_part_mode whole = {.name = "whole", PAIR};
extern const bench_part_mode bench_mode_sweep, bench_mode_mark, bench_mode_last;
extern const bench_part_mode bench_mode_late, bench_mode_late_rows, bench_mode_even,
  bench_mode_ghosts, bench_mode_gatherer_others, bench_mode_gatherer_whole, bench_mode_range;

const bench_part_mode *bench_part_mode_find(const char *name)
{
  static const bench_part_mode *const modes[] = {
    &overhead,
    &perceived,
    &whole,
    &bench_mode_sweep,
    &bench_mode_mark,
    &bench_mode_last,
    &bench_mode_late,
    &bench_mode_late_rows,
    &bench_mode_even,
    &bench_mode_ghosts,
    &bench_mode_gatherer_others,
    &bench_mode_gatherer_whole,
    &bench_mode_range,
  };
  for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
    if (strcmp(modes[i]->name, name) == 0) return modes[i];
  return NULL;
}
