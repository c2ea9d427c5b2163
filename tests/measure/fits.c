/* Fits: lines and switch points are found again in made-up times, with noise and outliers in them.
 */
#include "check.h"
#include "measure/fit.h"
#include "random.h"

#include <math.h>
#include <stdlib.h>

static uint64_t mix_next(uint64_t *state)
{
  return mix((*state)++);
}

static double noise(uint64_t *state, double size)
{
  return 1 + size * (2 * (double)(mix_next(state) % 1000001) / 1e6 - 1);
}

/* Sizes as a ping-pong has them. */
static int sizes(double *x)
{
  int n = 0;
  x[n++] = 0;
  for (double s = 1; s <= 4 << 20; s *= 2) {
    x[n++] = s;
    if (s >= 16 && s < 4 << 20) x[n++] = 1.5 * s;
  }
  return n;
}

typedef struct truth {
  int ranges;
  double from[3];
  grove_postal cost[3];
} truth;

static const truth truths[] = {
  {1, {0}, {{5e-6, 1e-9}}},
  {2, {0, 8192}, {{1e-6, 4e-10}, {6e-6, 1e-10}}},
  {3, {0, 256, 16384}, {{1.9e-6, 6.9e-10}, {2.4e-6, 3.8e-10}, {7.8e-6, 8e-11}}}, /* like Lassen's */
  {3, {0, 512, 8192}, {{2.3e-6, 7.7e-10}, {7e-6, 1.3e-9}, {3e-5, 3.4e-10}}},
};

static int make(const truth *t, uint64_t *state, double size, int outliers, grove_sample *out)
{
  double x[64];
  int n = sizes(x);
  for (int i = 0; i < n; i++) {
    int k = 0;
    while (k + 1 < t->ranges && t->from[k + 1] <= x[i]) k++;
    out[i] = (grove_sample){x[i], (t->cost[k].alpha + t->cost[k].beta * x[i]) * noise(state, size)};
  }
  for (int i = 0; i < outliers; i++) out[mix_next(state) % (uint64_t)n].y *= 5;
  return n;
}

/* How many sizes the fit is off by more than `bound`, relatively. */
static int count_off(const truth *t, const grove_fit *range, int ranges, double bound)
{
  double x[64];
  int n = sizes(x), off = 0;
  for (int i = 0; i < n; i++) {
    int k = 0, j = 0;
    while (k + 1 < t->ranges && t->from[k + 1] <= x[i]) k++;
    while (j + 1 < ranges && range[j + 1].from <= x[i]) j++;
    double want = t->cost[k].alpha + t->cost[k].beta * x[i];
    off += fabs(range[j].cost.alpha + range[j].cost.beta * x[i] - want) > bound * want;
  }
  return off;
}

/* Exactly where there is no noise; within a quarter nearly everywhere where
 * there is; an outlier may move a switch point by a size or two. */
static void finds_pieces(void)
{
  uint64_t state = test_seed();
  grove_sample sample[64];
  grove_fit range[GROVE_RANGES];
  for (size_t i = 0; i < sizeof truths / sizeof *truths; i++) {
    test_case((int64_t)i);
    int n = make(&truths[i], &state, 0, 0, sample);
    int ranges = grove_fit_ranges(sample, n, 3, range);
    CHECK(ranges == truths[i].ranges, "%d ranges, not %d", ranges, truths[i].ranges);
    for (int k = 0; k < ranges; k++)
      CHECK(range[k].from == truths[i].from[k], "range %d from %g, not %g", k, range[k].from,
            truths[i].from[k]);
    CHECK(count_off(&truths[i], range, ranges, 1e-6) == 0, "not the line");
    for (int round = 0; round < test_samples(20); round++) {
      n = make(&truths[i], &state, 0.05, round % 3, sample);
      ranges = grove_fit_ranges(sample, n, 3, range);
      int off = count_off(&truths[i], range, ranges, 0.25), most = round % 3 ? 8 : 1;
      CHECK(off <= most, "round %d: %d ranges, off at %d sizes", round, ranges, off);
    }
  }
}

/* A fifth of the points ten times too high: the line hardly moves. */
static void shrugs_off_outliers(void)
{
  uint64_t state = test_seed() + 1;
  for (int round = 0; round < test_samples(80); round++) {
    grove_sample p[40];
    test_case(round);
    for (int i = 0; i < 40; i++)
      p[i] = (grove_sample){64.0 * i, (4e-6 + 2e-9 * 64.0 * i) * noise(&state, 0.02)};
    for (int i = 0; i < 8; i++) p[mix_next(&state) % 40].y *= 10;
    grove_fit line = grove_fit_line(p, 40);
    CHECK(fabs(line.cost.alpha - 4e-6) < 0.4e-6, "alpha %g", line.cost.alpha);
    CHECK(fabs(line.cost.beta - 2e-9) < 0.4e-9, "beta %g", line.cost.beta);
  }
}

/* Numbers that are no times: as large as their squares, and with nothing among them. */
static void of_any_size(void)
{
  const grove_sample line[] = {{0, 0}, {1, 3}, {2, 5}, {3, 7}, {4, 9}};
  grove_fit p = grove_fit_line(line, 5); /* what took no time counts for nothing */
  CHECK(fabs(p.cost.alpha - 1) < 1e-9 && fabs(p.cost.beta - 2) < 1e-9, "%g + %g x", p.cost.alpha,
        p.cost.beta);
  CHECK(p.from == 0 && p.points == 5 && p.residual < 1e-9, "from %g, %d points, %g", p.from,
        p.points, p.residual);
  const grove_sample nowhere[] = {{0, 3}, {0, 5}};
  p = grove_fit_proportional(nowhere, 2);
  CHECK(p.cost.alpha == 0 && p.cost.beta == 0, "%g x", p.cost.beta);
  p = grove_fit_line(nowhere, 2); /* relative errors: 3 counts for more than 5 */
  CHECK(p.cost.beta == 0 && p.cost.alpha > 3 && p.cost.alpha < 4, "%g", p.cost.alpha);
  const grove_sample level[] = {{1, 2}, {2, 2}, {4, 2}};
  p = grove_fit_line(level, 3);
  CHECK(fabs(p.cost.alpha - 2) < 1e-9 && fabs(p.cost.beta) < 1e-9, "%g + %g x", p.cost.alpha,
        p.cost.beta);
}

/* One point that is off by ten, the first, one in the middle or the last, moves nothing; what it is
 * off by is not in the residual either. */
static void one_outlier(void)
{
  for (int bad = 0; bad < 12; bad++) {
    grove_sample points[12], through[12];
    for (int i = 0; i < 12; i++) {
      points[i] = (grove_sample){i + 1, 1 + 2.0 * (i + 1)};
      through[i] = (grove_sample){i + 1, 3.0 * (i + 1)};
    }
    points[bad].y *= 10;
    through[bad].y *= 10;
    grove_fit p = grove_fit_line(points, 12);
    CHECK(fabs(p.cost.alpha - 1) < 0.01 && fabs(p.cost.beta - 2) < 0.01, "point %d: %g + %g x", bad,
          p.cost.alpha, p.cost.beta);
    CHECK(p.residual < 0.01, "point %d: %g", bad, p.residual);
    p = grove_fit_proportional(through, 12);
    CHECK(p.cost.alpha == 0 && fabs(p.cost.beta - 3) < 0.01, "point %d: %g x", bad, p.cost.beta);
  }
}

/* The least squares of relative errors, (c x - y) / y, by hand. Both are within Huber's bound,
 * which is about two of their medians. */
static void least_squares(void)
{
  const grove_sample two[] = {{1, 4}, {1, 6}};
  /* c = (1/4 + 1/6) / (1/16 + 1/36) = 60 / 13 */
  grove_fit p = grove_fit_proportional(two, 2);
  CHECK(fabs(p.cost.beta - 60.0 / 13) < 1e-9, "%.12g", p.cost.beta);
  /* Errors of 2/13 and 3/13: their median. */
  CHECK(fabs(p.residual - 2.5 / 13) < 1e-9, "%.12g", p.residual);
}

/* More points than a fit looks at: the others change nothing. */
static void many_points(void)
{
  enum { MANY = 5000, LOOKED_AT = 256 };
  grove_sample *p = need(MANY * sizeof *p);
  for (int i = 0; i < MANY; i++)
    p[i] = (grove_sample){i + 1, i < LOOKED_AT ? 1 + 2.0 * (i + 1) : 1e9};
  grove_fit line = grove_fit_line(p, MANY);
  CHECK(fabs(line.cost.alpha - 1) < 1e-9 && fabs(line.cost.beta - 2) < 1e-9, "%g + %g x",
        line.cost.alpha, line.cost.beta);
  free(p);
}

static void limits(void)
{
  grove_fit range[GROVE_RANGES];
  const grove_sample one[] = {{8, 1e-6}}, falling[] = {{1, 3e-6}, {2, 2e-6}, {3, 1e-6}};
  const grove_sample steep[] = {{10, 1e-6}, {20, 3e-6}, {30, 5e-6}};
  const grove_sample squares[] = {{1, 2e-9}, {100, 2e-7}, {10000, 2.1e-5}};
  CHECK(grove_fit_ranges(one, 0, 3, range) == 0, "ranges of nothing");
  CHECK(grove_fit_ranges(one, 1, 3, range) == 1 && fabs(range[0].cost.alpha - 1e-6) < 1e-12,
        "alpha %g of one point", range[0].cost.alpha);
  grove_fit p = grove_fit_line(falling, 3);
  CHECK(p.cost.beta == 0 && p.cost.alpha > 0, "%g + %g s", p.cost.alpha, p.cost.beta);
  p = grove_fit_line(steep, 3);
  CHECK(p.cost.alpha == 0 && p.cost.beta > 0, "%g + %g s", p.cost.alpha, p.cost.beta);
  p = grove_fit_proportional(squares, 3);
  CHECK(p.cost.alpha == 0 && fabs(p.cost.beta - 2e-9) < 1e-10, "%g x", p.cost.beta);
  double values[] = {3, 1, 2, 10};
  CHECK(grove_median(values, 3) == 2 && grove_median(values, 4) == 2.5, "not the median");
  CHECK(grove_median(values, 0) == 0, "the median of nothing");
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "measure/fits");
  finds_pieces();
  shrugs_off_outliers();
  of_any_size();
  one_outlier();
  least_squares();
  limits();
  many_points();
  return test_end();
}
