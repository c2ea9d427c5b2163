/* Medians, their confidence intervals and those of their ratio; lists of numbers.
 *
 * Samples are taken in rounds: sample i of every method comes from round i, so that a temporary
 * disturbance affects all of them. The interval of a ratio is a bootstrap over rounds: rounds are
 * drawn with repetition and the ratio of the two medians is taken, a thousand times. The interval
 * holds the middle 95 %.
 */
#ifndef BENCH_KIT_STATS_H
#define BENCH_KIT_STATS_H

#include <stdint.h>

typedef struct bench_interval {
  double value, low, high;
} bench_interval;

double bench_median(const double *samples, int n);

/* Sorts them and removes duplicates; returns how many are left. */
int64_t bench_sort_distinct(int64_t *numbers, int64_t n);
/* The index of one of them, once they are sorted. */
int64_t bench_find(const int64_t *numbers, int64_t n, int64_t wanted);

/* median(a) / median(b), of samples from the same n rounds; median(a) without b. */
bench_interval bench_ratio(const double *a, const double *b, int n);

/* The median with its own interval. */
bench_interval bench_centre(const double *a, int n);

/* The same by order statistics: the number of samples below the median is distributed like heads of
 * coins. */
bench_interval bench_centre_by_order(const double *a, int n);

#endif
