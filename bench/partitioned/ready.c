/* What a mark costs the thread that makes it, in processor time. The threads first mark every other
 * part, then the rest. With groups of two (max_messages = parts / 2) each of the rest is the last
 * of its group; with one group (max_messages = 1) only the very last is.
 *
 *     mark    of the first half
 *     last    of the rest
 *
 * The thread that started the round marks nothing. So below MPI_THREAD_MULTIPLE the others only
 * mark, and what the last mark of a group causes is not in the time.
 */
#include "part_case.h"

#include "kit/need.h"

#include <stdlib.h>
#include <string.h>

typedef struct marking {
  bench_part_case *c;
  bench_part_entrant *e;
  void *end;
  int is_last;     /* this is the second half */
  double *seconds; /* one per thread */
} marking;

static void *open_marking(bench_part_case *c, bench_part_entrant *e)
{
  marking *m = bench_alloc(1, sizeof *m);
  m->c = c;
  m->e = e;
  m->seconds = bench_alloc((size_t)c->threads + 1, sizeof *m->seconds);
  m->end = bench_open_end(c, e, c->rank == 0, 1 - c->rank, c->memory);
  return m;
}

static void close_marking(void *state)
{
  marking *m = state;
  if (m->c->rank == 0) m->e->told = m->e->method->tell(m->end);
  m->e->method->close(m->end);
  free(m->seconds);
  free(m);
}

static void mark_half(void *state, int slot)
{
  marking *m = state;
  int first, end;
  if (slot == m->c->threads) return; /* the caller */
  bench_share(m->c, slot, &first, &end);
  double begin = bench_thread_clock();
  for (int part = first + m->is_last; part < end; part += 2) m->e->method->ready(m->end, part);
  m->seconds[slot] = bench_thread_clock() - begin;
}

/* Seconds per mark of one half, as the mean over threads. */
static double mark_all(marking *m, int is_last)
{
  m->is_last = is_last;
  return bench_mark_seconds(m->c, mark_half, m, m->seconds) / (0.5 * m->c->parts);
}

static double sample_marking(void *state, int64_t round)
{
  marking *m = state;
  const bench_part_method *method = m->e->method;
  double seconds = 0;
  if (m->c->rank == 0) bench_fill(m->c->memory, 0, m->c->bytes, round);
  method->start(m->end);
  MPI_Barrier(m->c->comm);
  if (m->c->rank == 0) {
    double first = mark_all(m, 0), rest = mark_all(m, 1);
    seconds = strcmp(m->c->line->mode->name, "last") == 0 ? rest : first;
  }
  method->wait(m->end);
  if (m->c->rank == 1) m->e->wrong += bench_wrong(m->c->memory, 0, m->c->bytes, round);
  MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, m->c->comm);
  return seconds;
}

#define MARKING                                                                                    \
  .ranks = 2, .idle = 1, .warm = 3, .open = open_marking, .sample = sample_marking,                \
  .close = close_marking

const bench_part_mode bench_mode_mark = {.name = "mark", MARKING};
const bench_part_mode bench_mode_last = {.name = "last", MARKING};
