/* Entrants against each other.
 *
 * A batch is a number of exchanges of one entrant, start and wait, one after the other. Its time is
 * the slowest rank's, divided by the number. Between two exchanges a rank reads what it received
 * and rewrites what it sends, as programs do. The clock is stopped then, and there is no barrier.
 * In a round every entrant has one batch (kit/rounds.h). The result is the median over the rounds,
 * with the 95 % interval of order statistics.
 */
#include "kit/rounds.h"
#include "grove/bench/bench.h"
#include "kit/need.h"
#include "kit/stats.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SET_UPS = 3, WARM_UP = 5, MOST_EXCHANGES = 10000 };
static const double BATCH_SECONDS = 0.02;
static const double LONGEST_BATCH = 0.2; /* including the reading and writing between exchanges */

/* Open MPI yields by itself where the launcher tells it to (tools/launch, tools/cluster); yielding
 * once more would cost it every second turn. Others spin for as long as the system lets them. One
 * by one: MPICH 4.0's Testall does not know persistent collectives. */
void bench_wait_all(int n, MPI_Request *requests)
{
#ifdef OPEN_MPI
  MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
#else
  enum { SPINS = 200 };
  for (int i = 0, done = 0, polls = 0; i < n; i += done, polls++) {
    MPI_Test(&requests[i], &done, MPI_STATUS_IGNORE);
    if (!done && polls >= SPINS) sched_yield();
  }
#endif
}

static double slowest(const bench *b, double seconds)
{
  double most = 0;
  MPI_Request request;
  MPI_Iallreduce(&seconds, &most, 1, MPI_DOUBLE, MPI_MAX, b->comm, &request);
  bench_wait_all(1, &request);
  return most;
}

static void meet(const bench *b)
{
  MPI_Request request;
  MPI_Ibarrier(b->comm, &request);
  bench_wait_all(1, &request);
}

/* ---- set-up ---- */

/* Opens the entrant a few times, each from a fresh forest; the last stays open. */
static grove_status set_up(const bench *b, bench_entrant *e)
{
  double times[SET_UPS];
  grove_status status = GROVE_OK;
  for (int i = 0; i < SET_UPS && status == GROVE_OK; i++) {
    if (i > 0) e->method->close(e);
    meet(b);
    double begin = MPI_Wtime();
    status = e->method->open(e);
    times[i] = slowest(b, MPI_Wtime() - begin);
  }
  e->result.served = status == GROVE_OK;
  if (status == GROVE_OK) e->result.setup_seconds = bench_median(times, SET_UPS);
  int required = e->role == BENCH_AUTO || (e->role == BENCH_ROUTE && b->set.only);
  return status == GROVE_ERR_UNSUPPORTED && !required ? GROVE_OK : status;
}

static void note_terms(const grove_terms *p, double *out)
{
  const double terms[GROVE_TERMS] = {p->latency,    p->bandwidth, p->injection, p->queue,
                                     p->contention, p->on_node,   p->copy,      p->cores};
  memcpy(out, terms, sizeof terms);
}

static void note_report(const bench *b, bench_entrant *e)
{
  grove_report report = {.struct_size = sizeof report};
  bench_must(b, e->method->report(e, &report));
  bench_result *r = &e->result;
  double mine[4] = {(double)report.on_node_messages, (double)report.on_node_bytes,
                    (double)report.off_node_messages, (double)report.off_node_bytes};
  double all[4];
  MPI_Allreduce(mine, all, 4, MPI_DOUBLE, MPI_SUM, b->comm);
  r->on_node_messages = all[0];
  r->on_node_bytes = all[1];
  r->off_node_messages = all[2];
  r->off_node_bytes = all[3];
  r->predicted_seconds = report.predicted_seconds;
  note_terms(&report.predicted, r->term);
  snprintf(r->route, sizeof r->route, "%s", report.route);
  snprintf(r->transport, sizeof r->transport, "%s", report.transport);
  snprintf(r->machine, sizeof r->machine, "%s", report.machine ? report.machine : "");
}

/* ---- rounds ---- */

static double run(const bench *b, bench_entrant *e, int64_t n)
{
  double seconds = 0;
  for (int64_t i = 0; i < n; i++) {
    bench_use(b, e->task);
    double begin = MPI_Wtime();
    bench_must(b, e->method->run(e));
    seconds += MPI_Wtime() - begin;
  }
  return seconds;
}

/* This rank's time of one exchange. */
static double run_batch(const bench *b, bench_entrant *e, int64_t n)
{
  meet(b);
  run(b, e, n / 16 + 1);
  return run(b, e, n) / (double)n;
}

/* Exchanges per batch, the same on every rank. Where nothing has to move, an exchange takes no
 * time, and what is around it takes all. */
static int64_t calibrate(const bench *b, bench_entrant *e)
{
  double begin = MPI_Wtime();
  double exchange = slowest(b, run_batch(b, e, WARM_UP));
  double whole = slowest(b, MPI_Wtime() - begin) / WARM_UP;
  if (b->set.batch > 0) return b->set.batch;
  double n = fmin(BATCH_SECONDS / exchange, LONGEST_BATCH / whole);
  return (int64_t)fmin(fmax(n, 1), MOST_EXCHANGES);
}

/* The entrants that take part in the rounds. */
typedef struct contest {
  const bench *b;
  const bench_task *task;
  int n;
  bench_entrant *entrants[BENCH_ENTRANTS];
  int64_t exchanges[BENCH_ENTRANTS]; /* per batch */
  double *times[BENCH_ENTRANTS];     /* one per round */
} contest;

static void show_progress(void *about, int round)
{
  const contest *c = about;
  const char *name = c->task->reduce ? "reduce" : "bcast";
  int rounds = (int)c->b->set.rounds, fourth = (rounds + 3) / 4;
  if (c->b->rank != 0) return;
  if (!isatty(2)) { /* mpirun hides the terminal from its ranks */
    if (c->b->set.progress && round < rounds && round % fourth == 0)
      fprintf(stderr, "%3d %%: %s, round %d of %d\n", 100 * round / rounds, name, round + 1,
              rounds);
    return;
  }
  if (round < rounds)
    fprintf(stderr, "\r%s: round %d of %d ", name, round + 1, rounds);
  else
    fprintf(stderr, "\r%40s\r", "");
}

static void take_sample(void *about, int entrant, int round)
{
  contest *c = about;
  c->times[entrant][round] = run_batch(c->b, c->entrants[entrant], c->exchanges[entrant]);
}

static void sum_up(const bench *b, bench_entrant *e, double *times)
{
  int n = (int)b->set.rounds;
  MPI_Allreduce(MPI_IN_PLACE, times, n, MPI_DOUBLE, MPI_MAX, b->comm);
  bench_interval centre = bench_centre_by_order(times, n);
  e->result.seconds = centre.value;
  e->result.low = centre.low;
  e->result.high = centre.high;
}

static void run_rounds(const bench *b, bench_field *field)
{
  contest c = {.b = b, .task = &field->task};
  bench_fill(b, &field->task);
  for (int i = 0; i < field->n; i++) {
    bench_entrant *e = &field->entrants[i];
    if (!e->result.served) continue;
    c.entrants[c.n] = e;
    c.exchanges[c.n] = calibrate(b, e);
    c.times[c.n++] = bench_alloc((size_t)b->set.rounds, sizeof(double));
  }
  bench_rounds_run(&(bench_rounds){.comm = b->comm,
                                   .entrants = c.n,
                                   .most = (int)b->set.rounds,
                                   .seconds = INFINITY,
                                   .sample = take_sample,
                                   .begin = show_progress,
                                   .about = &c});
  for (int i = 0; i < c.n; i++) {
    sum_up(b, c.entrants[i], c.times[i]);
    free(c.times[i]);
  }
}

/* ---- the whole measurement ---- */

/* One more exchange, with fresh values. */
static void verify(const bench *b, bench_entrant *e)
{
  int64_t wrong = 0;
  bench_fill(b, e->task);
  meet(b);
  bench_must(b, e->method->run(e));
  wrong = bench_wrong(b, e->task);
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT64_T, MPI_SUM, b->comm);
  e->result.verified = wrong == 0;
}

grove_status bench_measure(const bench *b, bench_field *field)
{
  grove_status status = GROVE_OK;
  for (int i = 0; i < field->n; i++) {
    bench_entrant *e = &field->entrants[i];
    GROVE_TRY(set_up(b, e));
    if (e->result.served && e->method->report) note_report(b, e);
    if (e->result.served && e->role == BENCH_AUTO) bench_must(b, bench_explain(e));
  }
  run_rounds(b, field);
  for (int i = 0; i < field->n; i++)
    if (field->entrants[i].result.served) verify(b, &field->entrants[i]);
fail:
  for (int i = 0; i < field->n; i++) field->entrants[i].method->close(&field->entrants[i]);
  return status;
}
