/* Computing, for methods that have something between start and wait. */
#ifndef BENCH_DRIVER_COMPUTE_H
#define BENCH_DRIVER_COMPUTE_H

#include "driver/case.h"

/* So many rounds of a loop in registers: no memory, no calls. */
void bench_compute(int64_t rounds);

/* What the case wants between start and wait: nothing, unless overlap is measured. */
static inline void bench_meanwhile(const bench_case *c)
{
  if (c->work) bench_compute(c->work);
}

#endif
