/* Batches and rounds. A batch is a number of iterations of one method, after a barrier and a few
 * iterations that are not timed; its sample is the time of the slowest rank for one exchange. In a
 * round every method has a batch, and the order of the methods moves on by one from round to round,
 * so that each of them runs after each other one.
 */
#include "driver/measure.h"

#include <malloc.h>
#include <stdlib.h>

/* ---- verification ---- */

int64_t bench_verify(bench_entrant *e, int spoil)
{
  bench_case *c = e->c;
  bench_case_fill(c);
  void *state = e->method->set_up(c);
  e->method->init(state);
  e->method->run(state, c->spec->buffers);
  e->method->fini(state);
  e->method->tear_down(state);
  if (spoil && c->rank == 0) (c->spec->reduce ? c->root : c->leaf)[0] ^= 1;
  int64_t wrong = bench_case_wrong(c);
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT64_T, MPI_SUM, c->comm);
  return wrong;
}

/* ---- one sample of each measure; times are this rank's ---- */

static double time_exchanges(bench_entrant *e, int iterations)
{
  e->method->run(e->state, 1 + iterations / 16);
  double begin = MPI_Wtime();
  e->method->run(e->state, iterations);
  return (MPI_Wtime() - begin) / iterations / e->c->nexchanges;
}

static double time_setup(bench_entrant *e)
{
  double begin = MPI_Wtime();
  void *state = e->method->set_up(e->c);
  e->method->init(state);
  e->method->run(state, 1);
  double seconds = MPI_Wtime() - begin;
  e->method->fini(state);
  e->method->tear_down(state);
  return seconds;
}

static double time_init(bench_entrant *e)
{
  double begin = MPI_Wtime();
  e->method->init(e->state);
  double seconds = MPI_Wtime() - begin;
  e->method->fini(e->state);
  return seconds;
}

/* Memory that malloc has given out and not got back. */
static double bytes_in_use(void)
{
#ifdef BENCH_HAVE_MALLINFO2
  struct mallinfo2 info = mallinfo2();
  return (double)info.uordblks + (double)info.hblkhd;
#else
  return 0;
#endif
}

static double count_memory(bench_entrant *e)
{
  double before = bytes_in_use();
  void *state = e->method->set_up(e->c);
  double bytes = bytes_in_use() - before;
  e->method->tear_down(state);
  MPI_Allreduce(MPI_IN_PLACE, &bytes, 1, MPI_DOUBLE, MPI_SUM, e->c->comm);
  return bytes / (double)bench_case_edges(e->c);
}

static double sample(bench_entrant *e)
{
  MPI_Barrier(e->c->comm);
  switch (e->c->spec->measure) {
  case BENCH_EXCHANGE: return time_exchanges(e, e->iterations);
  case BENCH_SETUP: return time_setup(e);
  case BENCH_INIT: return time_init(e);
  case BENCH_MEMORY: break;
  }
  return count_memory(e);
}

/* ---- rounds ---- */

/* How many iterations take about so long: the same number on every rank. */
static int calibrate(bench_entrant *e, double seconds)
{
  int iterations = 1;
  for (;;) {
    MPI_Barrier(e->c->comm);
    double took = time_exchanges(e, iterations) * iterations * e->c->nexchanges;
    MPI_Bcast(&took, 1, MPI_DOUBLE, 0, e->c->comm);
    if (took >= 0.5 * seconds || iterations > 1 << 24) {
      int wanted = (int)(iterations * seconds / took);
      return wanted > 0 ? wanted : 1;
    }
    iterations *= took < 0.1 * seconds ? 8 : 2;
  }
}

static int keeps_state(const bench_entrant *e)
{
  return e->c->spec->measure == BENCH_EXCHANGE || e->c->spec->measure == BENCH_INIT;
}

static void prepare(bench_entrant *e, bench_effort effort)
{
  if (keeps_state(e)) e->state = e->method->set_up(e->c);
  if (e->c->spec->measure != BENCH_EXCHANGE) return;
  e->method->init(e->state);
  bench_case_fill(e->c);
  e->iterations = calibrate(e, effort.batch_seconds);
}

static void finish(bench_entrant *e, bench_effort effort)
{
  if (e->c->spec->measure == BENCH_EXCHANGE) e->method->fini(e->state);
  if (keeps_state(e)) e->method->tear_down(e->state);
  MPI_Allreduce(MPI_IN_PLACE, e->samples, effort.batches, MPI_DOUBLE, MPI_MAX, e->c->comm);
}

void bench_measure_all(bench_entrant *entrants, int n, bench_effort effort)
{
  for (int i = 0; i < n; i++) {
    entrants[i].samples = bench_alloc((size_t)effort.batches, sizeof(double));
    prepare(&entrants[i], effort);
  }
  for (int round = 0; round < effort.batches; round++)
    for (int i = 0; i < n; i++) {
      bench_entrant *e = &entrants[(i + round) % n];
      e->samples[round] = sample(e);
    }
  for (int i = 0; i < n; i++) finish(&entrants[i], effort);
}
