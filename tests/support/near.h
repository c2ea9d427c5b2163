/* Numbers worked out by hand: equal except for the last digits of a double. */
#ifndef TEST_NEAR_H
#define TEST_NEAR_H

#include "check.h"

#include <math.h>

static inline int is_near(double got, double want)
{
  return isnan(want) ? isnan(got) : fabs(got - want) <= 1e-9 * fabs(want) + 1e-21;
}

#define CHECK_NEAR(got, want)                                                                      \
  do {                                                                                             \
    double got_ = (got), want_ = (want);                                                           \
    CHECK(is_near(got_, want_), #got " is %.12g, not %.12g", got_, want_);                         \
  } while (0)

#endif
