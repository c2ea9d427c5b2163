#include "measure/fit.h"

#include <math.h>
#include <stdlib.h>

/* A range has at least this many points; else it would explain nothing. */
enum { LEAST_POINTS = 3 };

/* Another range must remove this fraction of the squared error, and the points must be off by more
 * than a few per cent to begin with: less is noise. */
static const double WORTH_A_PIECE = 0.5, NOISE = 0.03;

/* Errors are capped at this, so that one bad point cannot place a cut. */
static const double ERROR_CAP = 0.5;

enum { ROUNDS = 12 }; /* of reweighting; it converges in a few */

static int by_size(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

double grove_median(double *values, int n)
{
  if (n == 0) return 0;
  qsort(values, (size_t)n, sizeof *values, by_size);
  return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

static double relative_error(const grove_sample *p, grove_postal line)
{
  return p->y > 0 ? (line.alpha + line.beta * p->x - p->y) / p->y : 0;
}

/* Weighted least squares; a negative alpha or beta is held at 0. With `through_zero`, no alpha. */
static grove_postal solve_line(const grove_sample *p, const double *weight, int n, int through_zero)
{
  double w = 0, x = 0, y = 0, xx = 0, xy = 0;
  for (int i = 0; i < n; i++) {
    double v = p[i].y > 0 ? weight[i] / (p[i].y * p[i].y) : 0;
    w += v;
    x += v * p[i].x;
    y += v * p[i].y;
    xx += v * p[i].x * p[i].x;
    xy += v * p[i].x * p[i].y;
  }
  double det = w * xx - x * x;
  grove_postal through = {0, xx > 0 ? fmax(xy / xx, 0) : 0};
  grove_postal level = {w > 0 ? y / w : 0, 0};
  if (through_zero) return through;
  if (!(det > 1e-12 * w * xx)) return level;
  grove_postal line = {(xx * y - x * xy) / det, (w * xy - x * y) / det};
  if (line.beta < 0) return level;
  return line.alpha < 0 ? through : line;
}

/* The median of the absolute errors. */
static double typical_error(const grove_sample *p, int n, grove_postal line, double *room)
{
  for (int i = 0; i < n; i++) room[i] = fabs(relative_error(&p[i], line));
  return grove_median(room, n);
}

static grove_fit fit_line(const grove_sample *p, int n, int through_zero)
{
  enum { MOST = 256 };
  double weight[MOST], room[MOST];
  grove_fit out = {.from = n > 0 ? p[0].x : 0, .points = n};
  if (n > MOST) n = MOST;
  for (int i = 0; i < n; i++) weight[i] = 1;
  for (int round = 0; round < ROUNDS && n > 0; round++) {
    out.cost = solve_line(p, weight, n, through_zero);
    out.residual = typical_error(p, n, out.cost, room);
    double k = fmax(1.345 * 1.4826 * out.residual, 1e-6); /* Huber's constant, for normal noise */
    for (int i = 0; i < n; i++) {
      double e = fabs(relative_error(&p[i], out.cost));
      weight[i] = e <= k ? 1 : k / e;
    }
  }
  return out;
}

grove_fit grove_fit_line(const grove_sample *samples, int n)
{
  return fit_line(samples, n, 0);
}

grove_fit grove_fit_proportional(const grove_sample *samples, int n)
{
  return fit_line(samples, n, 1);
}

static double error_of(const grove_sample *p, int n)
{
  grove_fit range = fit_line(p, n, 0);
  double sum = 0;
  for (int i = 0; i < n; i++) {
    double e = fmin(fabs(relative_error(&p[i], range.cost)), ERROR_CAP);
    sum += e * e;
  }
  return sum;
}

/* The best cuts into `k` ranges: cut[] holds the first point of each range after the first. */
static double best_cuts(const grove_sample *p, int n, int k, int *cut)
{
  if (k == 1) return error_of(p, n);
  double best = INFINITY;
  for (int i = LEAST_POINTS * (k - 1); i <= n - LEAST_POINTS; i++) {
    int before[GROVE_RANGES];
    double error = best_cuts(p, i, k - 1, before) + error_of(p + i, n - i);
    if (!(error < best)) continue;
    best = error;
    for (int j = 0; j < k - 2; j++) cut[j] = before[j];
    cut[k - 2] = i;
  }
  return best;
}

int grove_fit_ranges(const grove_sample *samples, int n, int most, grove_fit *out)
{
  int ranges = 1, cut[GROVE_RANGES] = {0};
  if (n == 0) return 0;
  double error = best_cuts(samples, n, 1, cut);
  for (int k = 2; k <= most && k * LEAST_POINTS <= n; k++) {
    int other[GROVE_RANGES] = {0};
    double less = best_cuts(samples, n, k, other);
    if (sqrt(error / n) < NOISE || less > WORTH_A_PIECE * error) continue;
    ranges = k;
    error = less;
    for (int j = 0; j < k - 1; j++) cut[j] = other[j];
  }
  for (int j = 0; j < ranges; j++) {
    int begin = j > 0 ? cut[j - 1] : 0, end = j + 1 < ranges ? cut[j] : n;
    out[j] = grove_fit_line(samples + begin, end - begin);
    if (j == 0) out[j].from = 0;
  }
  return ranges;
}
