#include "measure/factors.h"

#include "measure/fit.h"

#include <math.h>
#include <string.h>

/* What a factor costs that is e times as far from 1, or 1/e; beside errors of that size. */
static const double COST_OF_LEAVING = 0.05;
static const double FIRST_STEP = 0.4, LAST_STEP = 0.01; /* of logarithms */
enum { MOST_STEPS = 200 };

/* ---- how good a set is ---- */

static double huber_loss(double error)
{
  const double bend = 0.5;
  double size = fabs(error);
  return size <= bend ? size * size : bend * (2 * size - bend);
}

static int is_counted(double seconds)
{
  return seconds > 0 && isfinite(seconds);
}

static double loss_of(const grove_factors *f, const double *logarithm, const double *seconds)
{
  double loss = 0;
  for (int i = 0; i < f->count; i++)
    if (is_counted(seconds[i]) && is_counted(f->measured[i]))
      loss += huber_loss(log(seconds[i] / f->measured[i]));
  for (int i = 0; i < GROVE_FACTORS; i++) loss += COST_OF_LEAVING * logarithm[i] * logarithm[i];
  return loss;
}

/* The losses of n sets, whose logarithms are in `at`. */
static grove_status weigh_sets(const grove_factors *f, int n, double (*at)[GROVE_FACTORS],
                               double *seconds, double *loss)
{
  double factor[GROVE_FACTOR_SETS][GROVE_FACTORS];
  for (int k = 0; k < n; k++)
    for (int i = 0; i < GROVE_FACTORS; i++) factor[k][i] = exp(at[k][i]);
  GROVE_PASS(f->price(f->self, n, factor, seconds));
  for (int k = 0; k < n; k++) loss[k] = loss_of(f, at[k], seconds + (size_t)k * (size_t)f->count);
  return GROVE_OK;
}

/* ---- the search ---- */

/* All sets that differ by one step in one factor. */
static void list_near_sets(const double *from, double step, double (*out)[GROVE_FACTORS])
{
  const double most = log(4);
  for (int k = 0; k < GROVE_FACTOR_SETS; k++) {
    memcpy(out[k], from, GROVE_FACTORS * sizeof *from);
    double moved = from[k / 2] + (k % 2 ? -step : step);
    out[k][k / 2] = fmin(fmax(moved, -most), most);
  }
}

/* From neighbour to neighbour, as long as one is better; then in smaller steps. */
static grove_status search_sets(const grove_factors *f, double *seconds, double *at)
{
  double near[GROVE_FACTOR_SETS][GROVE_FACTORS] = {{0}}, loss[GROVE_FACTOR_SETS], best = 0;
  GROVE_PASS(weigh_sets(f, 1, near, seconds, &best));
  double step = FIRST_STEP;
  for (int i = 0; i < MOST_STEPS && step >= LAST_STEP && !(f->is_over && *f->is_over); i++) {
    int k = 0;
    list_near_sets(at, step, near);
    GROVE_PASS(weigh_sets(f, GROVE_FACTOR_SETS, near, seconds, loss));
    for (int j = 1; j < GROVE_FACTOR_SETS; j++)
      if (loss[j] < loss[k]) k = j;
    if (loss[k] < best - 1e-9) {
      best = loss[k];
      memcpy(at, near[k], GROVE_FACTORS * sizeof *at);
    } else {
      step /= 2;
    }
  }
  return GROVE_OK;
}

static double median_error(const grove_factors *f, const double *seconds, double *errors)
{
  int n = 0;
  for (int i = 0; i < f->count; i++)
    if (is_counted(seconds[i]) && is_counted(f->measured[i]))
      errors[n++] = exp(fabs(log(seconds[i] / f->measured[i]))) - 1;
  return grove_median(errors, n);
}

grove_status grove_factors_fit(const grove_factors *f, double *factor, double *residual)
{
  double at[1][GROVE_FACTORS] = {{0}}, loss;
  double *seconds = f->room, *errors = f->room + (size_t)f->count * GROVE_FACTOR_SETS;
  GROVE_PASS(search_sets(f, seconds, at[0]));
  GROVE_PASS(weigh_sets(f, 1, at, seconds, &loss));
  for (int i = 0; i < GROVE_FACTORS; i++) factor[i] = exp(at[0][i]);
  *residual = median_error(f, seconds, errors);
  return GROVE_OK;
}
