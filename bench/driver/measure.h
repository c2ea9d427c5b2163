/* Timing the methods of one case against each other. */
#ifndef BENCH_DRIVER_MEASURE_H
#define BENCH_DRIVER_MEASURE_H

#include "methods/method.h"

typedef struct bench_effort {
  int batches;          /* rounds at most: in each every method runs one batch */
  double batch_seconds; /* how long a batch should take */
  double case_seconds;  /* after so long a case ends, but not before 7 rounds */
} bench_effort;

/* What overlap is made of. */
enum { BENCH_TIME_EXCHANGE, BENCH_TIME_COMPUTE, BENCH_TIME_TOTAL, BENCH_TIMES };

/* A method in a case. Usually the case is the same for all of them; one with a variant, such as
 * "grove@double", has a case of its own. */
typedef struct bench_entrant {
  char variant[16];
  const bench_method *method;
  bench_case *c;
  void *state;
  int iterations;             /* of a batch */
  double *samples;            /* one for each batch: see bench/METRICS.md for the unit */
  int64_t work;               /* of overlap: rounds of computing in an exchange */
  double *times[BENCH_TIMES]; /* of overlap, beside the samples: seconds */
} bench_entrant;

/* Runs the entrant once and returns the number of wrong values on all ranks. `spoil` breaks one
 * value first, to show that it would be found. Collective. */
int64_t bench_verify(bench_entrant *e, int spoil);

/* The seconds of an iteration on this rank, without what is between two (measure.c). Collective. */
double bench_time_run(const bench_entrant *e, int iterations);

/* Fills the samples of all entrants and returns how many each has. Collective; the samples are the
 * same on every rank. */
int bench_measure_all(bench_entrant *entrants, int n, bench_effort effort);

/* Frees what bench_measure_all has filled. */
void bench_samples_free(bench_entrant *e);

#endif
