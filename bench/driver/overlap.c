#include "driver/overlap.h"

#include "driver/compute.h"
#include "kit/stats.h"

/* Each step depends on the one before: about five nanoseconds that no compiler can shorten. */
void bench_compute(int64_t rounds)
{
  static volatile double kept = 1;
  double x = kept;
  for (int64_t i = 0; i < rounds; i++) x = x * 0.999 + 0.001;
  kept = x;
}

static double time_compute(int64_t rounds)
{
  double begin = MPI_Wtime();
  bench_compute(rounds);
  return MPI_Wtime() - begin;
}

static double exchange_seconds(const bench_entrant *e)
{
  enum { TIMES = 9 };
  double seconds[TIMES];
  for (int i = 0; i < TIMES; i++) seconds[i] = bench_time_run(e, e->iterations);
  return bench_median(seconds, TIMES);
}

void bench_overlap_prepare(bench_entrant *e)
{
  enum { ROUNDS = 100000 };
  double of_rounds = time_compute(ROUNDS), again = time_compute(ROUNDS);
  if (again < of_rounds) of_rounds = again;
  e->work = (int64_t)(exchange_seconds(e) / of_rounds * ROUNDS) + 1;
  MPI_Bcast(&e->work, 1, MPI_INT64_T, 0, e->c->comm);
}

double bench_overlap_sample(bench_entrant *e, int round)
{
  double time[BENCH_TIMES];
  time[BENCH_TIME_EXCHANGE] = bench_time_run(e, e->iterations);
  MPI_Barrier(e->c->comm);
  time[BENCH_TIME_COMPUTE] = time_compute(e->work * e->iterations) / e->iterations;
  e->c->work = e->work;
  time[BENCH_TIME_TOTAL] = bench_time_run(e, e->iterations);
  e->c->work = 0;
  MPI_Allreduce(MPI_IN_PLACE, time, BENCH_TIMES, MPI_DOUBLE, MPI_MAX, e->c->comm);
  for (int i = 0; i < BENCH_TIMES; i++) e->times[i][round] = time[i];
  double x = time[BENCH_TIME_EXCHANGE], c = time[BENCH_TIME_COMPUTE];
  double share = (x + c - time[BENCH_TIME_TOTAL]) / (x < c ? x : c);
  return share < 1 ? share : 1;
}
