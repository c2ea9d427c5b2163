/* Computing between start and wait. */
#ifndef BENCH_DRIVER_COMPUTE_H
#define BENCH_DRIVER_COMPUTE_H

#include "driver/case.h"

/* This many rounds of a loop in registers: no memory, no calls. */
void bench_compute(int64_t rounds);

/* The case's computing between start and wait: none, unless overlap is measured. */
static inline void bench_meanwhile(const bench_case *c)
{
  if (c->work) bench_compute(c->work);
}

#endif
