#include "kit/stats.h"

#include "kit/need.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DRAWS = 1000 };

static int ascending(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* The k-th smallest, by Hoare's selection, which reorders the samples. Sorting for each of a
 * thousand draws of hundreds of rows would take seconds. */
static double select_kth(double *x, int n, int k)
{
  int low = 0, high = n - 1;
  while (low < high) {
    double pivot = x[k];
    int i = low, j = high;
    while (i <= j) {
      while (x[i] < pivot) i++;
      while (x[j] > pivot) j--;
      if (i > j) break;
      double kept = x[i];
      x[i++] = x[j];
      x[j--] = kept;
    }
    if (j < k) low = i;
    if (i > k) high = j;
  }
  return x[k];
}

static double median_of(double *samples, int n)
{
  double upper = select_kth(samples, n, n / 2);
  return n % 2 ? upper : 0.5 * (upper + select_kth(samples, n, n / 2 - 1));
}

static int compare_numbers(const void *a, const void *b)
{
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

int64_t bench_sort_distinct(int64_t *numbers, int64_t n)
{
  int64_t kept = 0;
  qsort(numbers, (size_t)n, sizeof *numbers, compare_numbers);
  for (int64_t k = 0; k < n; k++)
    if (kept == 0 || numbers[kept - 1] != numbers[k]) numbers[kept++] = numbers[k];
  return kept;
}

int64_t bench_find(const int64_t *numbers, int64_t n, int64_t wanted)
{
  const int64_t *at = bsearch(&wanted, numbers, (size_t)n, sizeof *numbers, compare_numbers);
  return at - numbers;
}

double bench_median(const double *samples, int n)
{
  double *copy = bench_alloc((size_t)n, sizeof *copy);
  memcpy(copy, samples, (size_t)n * sizeof *copy);
  double median = median_of(copy, n);
  free(copy);
  return median;
}

/* One draw of n rounds. The same numbers on every machine. */
static double draw(const double *a, const double *b, int n, unsigned *state, double *x, double *y)
{
  for (int i = 0; i < n; i++) {
    *state = *state * 1664525u + 1013904223u;
    int round = (int)((uint64_t)(*state >> 8) * (uint64_t)n >> 24);
    x[i] = a[round];
    if (b) y[i] = b[round];
  }
  return b ? median_of(x, n) / median_of(y, n) : median_of(x, n);
}

bench_interval bench_ratio(const double *a, const double *b, int n)
{
  unsigned state = 12345;
  double *x = bench_alloc((size_t)n, sizeof *x), *y = bench_alloc((size_t)n, sizeof *y);
  double *drawn = bench_alloc(DRAWS, sizeof *drawn);
  for (int i = 0; i < DRAWS; i++) drawn[i] = draw(a, b, n, &state, x, y);
  qsort(drawn, DRAWS, sizeof *drawn, ascending);
  bench_interval out = {bench_median(a, n), drawn[DRAWS / 40], drawn[DRAWS - 1 - DRAWS / 40]};
  if (b) out.value /= bench_median(b, n);
  free(x);
  free(y);
  free(drawn);
  return out;
}

bench_interval bench_centre(const double *a, int n)
{
  return bench_ratio(a, NULL, n);
}

/* How many of n sorted samples to leave out at either end: with one more the interval would miss
 * the median in more than 5 % of cases. */
static int outside_interval(int n)
{
  double term = pow(0.5, n), below = term;
  int k = 0;
  while (below <= 0.025) {
    term *= (double)(n - k) / (k + 1);
    below += term;
    k++;
  }
  return k > 0 ? k - 1 : 0;
}

bench_interval bench_centre_by_order(const double *a, int n)
{
  int outside = outside_interval(n);
  double *sorted = bench_alloc((size_t)n, sizeof *sorted);
  memcpy(sorted, a, (size_t)n * sizeof *sorted);
  qsort(sorted, (size_t)n, sizeof *sorted, ascending);
  bench_interval out = {bench_median(a, n), sorted[outside], sorted[n - 1 - outside]};
  free(sorted);
  return out;
}
