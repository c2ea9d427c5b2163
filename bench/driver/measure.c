/* Batches and rounds. A batch is a number of iterations of one method, after a barrier and a few
 * untimed iterations. Its sample is the slowest rank's time of one exchange. Between two iterations
 * the ranks read what they received and rewrite what they send, with the clock stopped. There is no
 * barrier then: a rank that is late makes others wait in the exchange. So a rank's time is that of
 * an iteration of all ranks, without its own reading and writing. In a round every method has a
 * batch (kit/rounds.h).
 */
#include "driver/measure.h"

#include "driver/overlap.h"
#include "kit/clock.h"
#include "kit/rounds.h"
#include "kit/stats.h"

#include <malloc.h>
#include <stdlib.h>

static void call_on(void (*init_or_fini)(void *), void *state)
{
  if (init_or_fini) init_or_fini(state);
}

/* ---- verification ---- */

int64_t bench_verify(bench_entrant *e, int spoil)
{
  bench_case *c = e->c;
  bench_case_fill(c);
  void *state = e->method->set_up(c);
  call_on(e->method->init, state);
  e->method->run(state, 0, c->spec->buffers);
  call_on(e->method->fini, state);
  e->method->tear_down(state);
  if (spoil && c->rank == 0) (bench_writes_roots(c->spec) ? c->root : c->leaf)[0] ^= 1;
  int64_t wrong = bench_case_wrong(c);
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT64_T, MPI_SUM, c->comm);
  return wrong;
}

/* ---- one sample of each measure; times are this rank's ---- */

/* The time between two consecutive readings of the clock. */
static double clock_seconds(void)
{
  enum { LOOKS = 101 };
  static double found;
  double look[LOOKS];
  if (found > 0) return found;
  for (int i = 0; i < LOOKS; i++) {
    double begin = bench_clock();
    look[i] = bench_clock() - begin;
  }
  return found = bench_median(look, LOOKS);
}

static double time_unchanged(const bench_entrant *e, int iterations)
{
  double begin = bench_clock();
  e->method->run(e->state, 0, iterations);
  return bench_clock() - begin;
}

static double time_changed(const bench_entrant *e, int iterations)
{
  double seconds = 0;
  for (int i = 0; i < iterations; i++) {
    bench_case_use(e->c, i % e->c->spec->buffers);
    double begin = bench_clock();
    e->method->run(e->state, i, i + 1);
    seconds += bench_clock() - begin - clock_seconds();
  }
  return seconds;
}

double bench_time_run(const bench_entrant *e, int iterations)
{
  int unchanged = e->c->spec->measure == BENCH_UNCHANGED;
  double (*run)(const bench_entrant *, int) = unchanged ? time_unchanged : time_changed;
  MPI_Barrier(e->c->comm);
  run(e, 1 + iterations / 16);
  return run(e, iterations) / iterations;
}

static double time_exchanges(const bench_entrant *e)
{
  return bench_time_run(e, e->iterations) / e->c->nexchanges;
}

static double time_setup(bench_entrant *e)
{
  double begin = MPI_Wtime();
  void *state = e->method->set_up(e->c);
  call_on(e->method->init, state);
  e->method->run(state, 0, 1);
  double seconds = MPI_Wtime() - begin;
  call_on(e->method->fini, state);
  e->method->tear_down(state);
  return seconds;
}

static double time_init(bench_entrant *e)
{
  double begin = MPI_Wtime();
  call_on(e->method->init, e->state);
  double seconds = MPI_Wtime() - begin;
  call_on(e->method->fini, e->state);
  return seconds;
}

/* The driver has one context already. Every rank is through when the last one is. */
static double time_context(const bench_entrant *e)
{
  grove_context *ctx = NULL;
  double begin = MPI_Wtime();
  bench_need_grove(grove_context_create(e->c->comm, &ctx));
  double seconds = MPI_Wtime() - begin;
  bench_need_grove(grove_context_free(&ctx));
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

/* malloc's rounding to pages for large blocks would blur the count of bytes. The change is
 * permanent, so memory cases come last in the grid. */
static void count_exactly(void)
{
#ifdef BENCH_HAVE_MALLINFO2
  mallopt(M_MMAP_MAX, 0);
#endif
}

/* The bytes that all ranks keep for a case's graph. */
static double count_memory(const bench_method *method, bench_case *c)
{
  count_exactly();
  method->tear_down(method->set_up(c)); /* what a case makes once is not counted */
  double before = bytes_in_use();
  void *state = method->set_up(c);
  double bytes = bytes_in_use() - before;
  method->tear_down(state);
  MPI_Allreduce(MPI_IN_PLACE, &bytes, 1, MPI_DOUBLE, MPI_SUM, c->comm);
  return bytes;
}

/* The difference to a graph of half the size: costs per neighbour cancel. */
static double count_growth(const bench_entrant *e)
{
  bench_case *c = e->c, half;
  bench_spec spec = *c->spec;
  spec.size /= 2;
  bench_need(bench_case_open(&spec, c->comm, c->ctx, &half) == 0, "a case cannot be made");
  double bytes = count_memory(e->method, c) - count_memory(e->method, &half);
  double edges = (double)(bench_case_edges(c) - bench_case_edges(&half));
  bench_case_close(&half);
  return bytes / edges;
}

/* The bytes that all ranks keep for the first operation on a graph: the operation itself, and what
 * the graph keeps for its kind. */
static double count_bound(const bench_entrant *e)
{
  count_exactly();
  void *state = e->method->set_up(e->c);
  double before = bytes_in_use();
  call_on(e->method->init, state);
  double bytes = bytes_in_use() - before;
  call_on(e->method->fini, state);
  e->method->tear_down(state);
  MPI_Allreduce(MPI_IN_PLACE, &bytes, 1, MPI_DOUBLE, MPI_SUM, e->c->comm);
  return bytes / (double)bench_case_edges(e->c);
}

static double sample(bench_entrant *e, int round)
{
  MPI_Barrier(e->c->comm);
  switch (e->c->spec->measure) {
  case BENCH_EXCHANGE:
  case BENCH_UNCHANGED: return time_exchanges(e);
  case BENCH_SETUP: return time_setup(e);
  case BENCH_INIT: return time_init(e);
  case BENCH_CONTEXT: return time_context(e);
  case BENCH_GROWTH: return count_growth(e);
  case BENCH_BOUND: return count_bound(e);
  case BENCH_OVERLAP: return bench_overlap_sample(e, round);
  case BENCH_MEMORY: break;
  }
  return count_memory(e->method, e->c) / (double)bench_case_edges(e->c);
}

/* ---- rounds ---- */

/* How many iterations take about this long: the same number on every rank. */
static int calibrate(bench_entrant *e, double seconds)
{
  int iterations = 1;
  for (;;) {
    double took = bench_time_run(e, iterations) * iterations;
    MPI_Bcast(&took, 1, MPI_DOUBLE, 0, e->c->comm);
    if (took >= 0.5 * seconds || iterations > 1 << 24) {
      int wanted = (int)(iterations * seconds / took);
      return wanted > 0 ? wanted : 1;
    }
    iterations *= took < 0.1 * seconds ? 8 : 2;
  }
}

static int runs_exchanges(const bench_entrant *e)
{
  return e->c->spec->measure <= BENCH_UNCHANGED || e->c->spec->measure == BENCH_OVERLAP;
}

static int keeps_state(const bench_entrant *e)
{
  return runs_exchanges(e) || e->c->spec->measure == BENCH_INIT;
}

static void open_samples(bench_entrant *e, int batches)
{
  e->samples = bench_alloc((size_t)batches, sizeof(double));
  for (int i = 0; i < BENCH_TIMES && e->c->spec->measure == BENCH_OVERLAP; i++)
    e->times[i] = bench_alloc((size_t)batches, sizeof(double));
}

void bench_samples_free(bench_entrant *e)
{
  free(e->samples);
  for (int i = 0; i < BENCH_TIMES; i++) free(e->times[i]);
}

static void prepare(bench_entrant *e, bench_effort effort)
{
  if (keeps_state(e)) e->state = e->method->set_up(e->c);
  if (!runs_exchanges(e)) return;
  call_on(e->method->init, e->state);
  bench_case_fill(e->c);
  e->iterations = calibrate(e, effort.batch_seconds);
  if (e->c->spec->measure == BENCH_OVERLAP) bench_overlap_prepare(e);
}

static void finish(bench_entrant *e, int rounds)
{
  if (runs_exchanges(e)) call_on(e->method->fini, e->state);
  if (keeps_state(e)) e->method->tear_down(e->state);
  MPI_Allreduce(MPI_IN_PLACE, e->samples, rounds, MPI_DOUBLE, MPI_MAX, e->c->comm);
}

static void take_sample(void *about, int entrant, int round)
{
  bench_entrant *e = (bench_entrant *)about + entrant;
  e->samples[round] = sample(e, round);
}

int bench_measure_all(bench_entrant *entrants, int n, bench_effort effort)
{
  if (n == 0) return 0;
  for (int i = 0; i < n; i++) {
    open_samples(&entrants[i], effort.batches);
    prepare(&entrants[i], effort);
  }
  int rounds = bench_rounds_run(&(bench_rounds){.comm = entrants[0].c->comm,
                                                .entrants = n,
                                                .most = effort.batches,
                                                .seconds = effort.case_seconds,
                                                .sample = take_sample,
                                                .about = entrants});
  for (int i = 0; i < n; i++) finish(&entrants[i], rounds);
  return rounds;
}
