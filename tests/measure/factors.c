/* Factors are found again in made-up times: exactly where times are exact, nearly where they
 * scatter; and those that explain nothing stay at 1. */
#include "measure/factors.h"
#include "check.h"
#include "measure/fit.h"
#include "random.h"

#include <math.h>
#include <string.h>

enum { COUNT = 40, TERMS_USED = 5 };

/* Exchanges whose price is a sum of some terms. */
typedef struct world {
  double term[COUNT][GROVE_FACTORS];
  double truth[GROVE_FACTORS];
  double measured[COUNT];
  int asked; /* sets */
  int fails_at;
} world;

static uint64_t state;

static double draw(double least, double most)
{
  return least * exp(log(most / least) * (double)(mix(state++) % 1000001) / 1e6);
}

static double price_of(const double *term, const double *factor)
{
  double sum = 0;
  for (int t = 0; t < GROVE_FACTORS; t++) sum += factor[t] * term[t];
  return sum;
}

static grove_status price(void *self, int n, double (*factor)[GROVE_FACTORS], double *seconds)
{
  world *w = self;
  CHECK(n >= 1 && n <= GROVE_FACTOR_SETS, "%d sets", n);
  for (int k = 0; k < n; k++)
    for (int i = 0; i < COUNT; i++) seconds[k * COUNT + i] = price_of(w->term[i], factor[k]);
  w->asked += n;
  if (w->fails_at > 0 && w->asked >= w->fails_at)
    return grove_error(GROVE_ERR_MEMORY, __FILE__, __LINE__, "on purpose");
  return GROVE_OK;
}

/* Each exchange has mostly one of the terms. Those that are not used are 0. */
static void make_world(world *w)
{
  *w = (world){.asked = 0};
  for (int t = 0; t < GROVE_FACTORS; t++) w->truth[t] = t < TERMS_USED ? draw(0.4, 2.5) : 1;
  for (int i = 0; i < COUNT; i++) {
    for (int t = 0; t < TERMS_USED; t++)
      w->term[i][t] = draw(1e-6, 1e-5) * (t == i % TERMS_USED ? 10 : 1);
    w->measured[i] = price_of(w->term[i], w->truth);
  }
}

static void fit(world *w, double *factor, double *residual)
{
  static double room[COUNT * (GROVE_FACTOR_SETS + 1)];
  const grove_factors f = {COUNT, w->measured, price, w, room, NULL};
  CHECK_OK(grove_factors_fit(&f, factor, residual));
}

static double off_by(double a, double b)
{
  return exp(fabs(log(a / b))) - 1;
}

static void exact_times(void)
{
  world w;
  double factor[GROVE_FACTORS], residual = 1;
  for (int round = 0; round < test_samples(20); round++) {
    test_case(round);
    make_world(&w);
    fit(&w, factor, &residual);
    CHECK(residual < 0.02, "off by %g", residual);
    for (int t = 0; t < TERMS_USED; t++)
      CHECK(off_by(factor[t], w.truth[t]) < 0.06, "%s is %g, not %g", grove_term_names[t],
            factor[t], w.truth[t]);
    for (int t = TERMS_USED; t < GROVE_FACTORS; t++)
      CHECK(factor[t] == 1, "%s, which has no part in it, is %g", grove_term_names[t], factor[t]);
  }
}

/* Every time is up to 10 % off, and every tenth is five times too long. */
static void scattered_times(void)
{
  world w;
  double factor[GROVE_FACTORS], residual = 1;
  for (int round = 0; round < test_samples(20); round++) {
    test_case(round);
    make_world(&w);
    for (int i = 0; i < COUNT; i++) w.measured[i] *= draw(0.9, 1.1) * (i % 10 == 9 ? 5 : 1);
    fit(&w, factor, &residual);
    CHECK(residual > 0.01 && residual < 0.15, "off by %g", residual);
    for (int t = 0; t < TERMS_USED - 1; t++) /* the last one has all of the long times */
      CHECK(off_by(factor[t], w.truth[t]) < 0.5, "%s is %g, not %g", grove_term_names[t], factor[t],
            w.truth[t]);
  }
}

/* Prices that are right are left alone; no factor exceeds 4, or falls below 1/4. */
static void limits(void)
{
  world w;
  double factor[GROVE_FACTORS], residual = 1;
  make_world(&w);
  for (int t = 0; t < GROVE_FACTORS; t++) w.truth[t] = 1;
  for (int i = 0; i < COUNT; i++) w.measured[i] = price_of(w.term[i], w.truth);
  fit(&w, factor, &residual);
  for (int t = 0; t < GROVE_FACTORS; t++) CHECK(factor[t] == 1, "factor %g", factor[t]);
  CHECK(residual == 0, "off by %g", residual);
  for (int i = 0; i < COUNT; i++) w.measured[i] *= 40;
  fit(&w, factor, &residual);
  for (int t = 0; t < TERMS_USED; t++)
    CHECK(off_by(factor[t], 4) < 1e-9, "%s is %g, not 4", grove_term_names[t], factor[t]);
  CHECK(off_by(residual, 9) < 1e-6, "off by %g, not 9", residual); /* 40 / 4, less 1 */
  for (int i = 0; i < COUNT; i++) w.measured[i] /= 1600;
  fit(&w, factor, &residual);
  for (int t = 0; t < TERMS_USED; t++)
    CHECK(off_by(factor[t], 0.25) < 1e-9, "%s is %g, not 1/4", grove_term_names[t], factor[t]);
}

static int over;

static grove_status price_once_more(void *self, int n, double (*factor)[GROVE_FACTORS],
                                    double *seconds)
{
  over = ((world *)self)->asked > GROVE_FACTOR_SETS;
  return price(self, n, factor, seconds);
}

/* When time is over, what was found is better than nothing. */
static void ends_early(void)
{
  world w;
  double factor[GROVE_FACTORS], residual = 1, room[COUNT * (GROVE_FACTOR_SETS + 1)];
  for (int round = 0; round < test_samples(20); round++) {
    double ones[GROVE_FACTORS], off[COUNT];
    test_case(round);
    make_world(&w);
    for (int t = 0; t < GROVE_FACTORS; t++) ones[t] = 1;
    for (int i = 0; i < COUNT; i++) off[i] = off_by(price_of(w.term[i], ones), w.measured[i]);
    const grove_factors f = {COUNT, w.measured, price_once_more, &w, room, &over};
    over = 0;
    CHECK_OK(grove_factors_fit(&f, factor, &residual));
    CHECK(w.asked == 1 + 2 * GROVE_FACTOR_SETS + 1, "%d sets", w.asked);
    CHECK(residual < grove_median(off, COUNT), "off by %g, and by %g without factors", residual,
          grove_median(off, COUNT));
  }
}

/* Exchanges without a time or without a price do not count; a failure comes out. */
static void gaps(void)
{
  world w;
  double factor[GROVE_FACTORS], residual = 1;
  make_world(&w);
  for (int i = 0; i < COUNT; i += 7) w.measured[i] = i % 2 ? 0 : NAN;
  for (int i = 3; i < COUNT; i += 9) w.term[i][0] = INFINITY;
  fit(&w, factor, &residual);
  CHECK(residual < 0.02, "off by %g", residual);
  for (int i = 0; i < COUNT; i++) w.measured[i] = 0; /* nothing is left */
  fit(&w, factor, &residual);
  for (int t = 0; t < GROVE_FACTORS; t++) CHECK(factor[t] == 1, "factor %g", factor[t]);
  for (int at = 1; at < 50; at += 6) {
    double room[COUNT * (GROVE_FACTOR_SETS + 1)];
    const grove_factors f = {COUNT, w.measured, price, &w, room, NULL};
    make_world(&w);
    w.fails_at = at;
    CHECK_STATUS(grove_factors_fit(&f, factor, &residual), GROVE_ERR_MEMORY);
  }
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "measure/factors");
  state = test_seed();
  exact_times();
  scattered_times();
  limits();
  ends_early();
  gaps();
  return test_end();
}
