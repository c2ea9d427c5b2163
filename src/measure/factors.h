/* Factors: by what each term of a price is multiplied, so that prices of exchanges come as near as
 * possible to the times that were measured of them. Pings are measured on a quiet machine, one
 * thing at a time. What an exchange of all ranks adds to that, no ping can tell.
 *
 * Errors are relative: their logarithms are squared, and those above one half count less (Huber's
 * weights). A factor that explains nothing stays at 1, since each that leaves 1 costs something. No
 * factor leaves 1/4 to 4: beyond, the term is not what it is called.
 */
#ifndef GROVE_MEASURE_FACTORS_H
#define GROVE_MEASURE_FACTORS_H

#include "model/machine.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The prices of some exchanges with each of `n` sets of factors, one set after the other. */
typedef grove_status grove_price_all(void *self, int n, double (*factor)[GROVE_FACTORS],
                                     double *seconds);

/* Sets of factors that are asked for at once. */
enum { GROVE_FACTOR_SETS = 2 * GROVE_FACTORS };

typedef struct grove_factors {
  int count; /* of exchanges */
  const double *measured;
  grove_price_all *price;
  void *self;
  double *room;       /* count * (GROVE_FACTOR_SETS + 1): nobody is short of memory in the middle */
  const int *is_over; /* not 0: what has been found by now will do; NULL: there is time */
} grove_factors;

/* Finds the factors, and how far prices are off with them: the median of the larger of p/m and m/p,
 * less 1. Exchanges without a price, or without a time, do not count. Every rank that gets the same
 * prices finds the same. */
grove_status grove_factors_fit(const grove_factors *f, double *factor, double *residual);

#ifdef __cplusplus
}
#endif

#endif
