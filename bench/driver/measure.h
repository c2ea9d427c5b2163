/* Timing the methods of one case against each other. */
#ifndef BENCH_DRIVER_MEASURE_H
#define BENCH_DRIVER_MEASURE_H

#include "methods/method.h"

typedef struct bench_effort {
  int batches;          /* maximum number of rounds; each has one batch per method */
  double batch_seconds; /* how long a batch should take */
  double case_seconds;  /* a case ends after this time, but not before 7 rounds */
} bench_effort;

/* The components of overlap. */
enum { BENCH_TIME_EXCHANGE, BENCH_TIME_COMPUTE, BENCH_TIME_TOTAL, BENCH_TIMES };

/* A method in a case. Usually all methods share the case; a variant, such as "grove@double", has
 * its own. */
typedef struct bench_entrant {
  char variant[16];
  const bench_method *method;
  bench_case *c;
  void *state;
  int iterations;             /* per batch */
  double *samples;            /* one per batch: see bench/METRICS.md for the unit */
  int64_t work;               /* for overlap: rounds of computing per exchange */
  double *times[BENCH_TIMES]; /* for overlap, besides the samples: seconds */
} bench_entrant;

/* Runs the entrant once and returns the number of wrong values over all ranks. `spoil` breaks one
 * value first, to show that it is noticed. Collective. */
int64_t bench_verify(bench_entrant *e, int spoil);

/* Seconds per iteration on this rank, without the time between iterations (measure.c). Collective.
 * */
double bench_time_run(const bench_entrant *e, int iterations);

/* Fills the samples of all entrants and returns how many each has. Collective; the samples are the
 * same on every rank. */
int bench_measure_all(bench_entrant *entrants, int n, bench_effort effort);

/* Frees what bench_measure_all has filled. */
void bench_samples_free(bench_entrant *e);

#endif
