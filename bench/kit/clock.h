/* Seconds. */
#ifndef BENCH_KIT_CLOCK_H
#define BENCH_KIT_CLOCK_H

#include <time.h>

static inline double bench_clock_of(clockid_t clock)
{
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Shared by all processes of a machine. */
static inline double bench_clock(void)
{
  return bench_clock_of(CLOCK_MONOTONIC);
}

/* Processor time of the calling thread. */
static inline double bench_thread_clock(void)
{
  return bench_clock_of(CLOCK_THREAD_CPUTIME_ID);
}

#endif
