/* Fits: lines and switch points are found again in made-up times, with noise and outliers in them.
 */
#include "check.h"
#include "measure/fit.h"
#include "random.h"

#include <math.h>

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
  int pieces;
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
    while (k + 1 < t->pieces && t->from[k + 1] <= x[i]) k++;
    out[i] = (grove_sample){x[i], (t->cost[k].alpha + t->cost[k].beta * x[i]) * noise(state, size)};
  }
  for (int i = 0; i < outliers; i++) out[mix_next(state) % (uint64_t)n].y *= 5;
  return n;
}

/* How many sizes the fit is off by more than `bound`, relatively. */
static int count_off(const truth *t, const grove_piece *piece, int pieces, double bound)
{
  double x[64];
  int n = sizes(x), off = 0;
  for (int i = 0; i < n; i++) {
    int k = 0, j = 0;
    while (k + 1 < t->pieces && t->from[k + 1] <= x[i]) k++;
    while (j + 1 < pieces && piece[j + 1].from <= x[i]) j++;
    double want = t->cost[k].alpha + t->cost[k].beta * x[i];
    off += fabs(piece[j].cost.alpha + piece[j].cost.beta * x[i] - want) > bound * want;
  }
  return off;
}

/* Exactly where there is no noise; within a quarter nearly everywhere where
 * there is; an outlier may move a switch point by a size or two. */
static void finds_pieces(void)
{
  uint64_t state = test_seed();
  grove_sample sample[64];
  grove_piece piece[GROVE_PIECES];
  for (size_t i = 0; i < sizeof truths / sizeof *truths; i++) {
    test_case((int64_t)i);
    int n = make(&truths[i], &state, 0, 0, sample);
    int pieces = grove_fit_pieces(sample, n, 3, piece);
    CHECK(pieces == truths[i].pieces, "%d pieces, not %d", pieces, truths[i].pieces);
    for (int k = 0; k < pieces; k++)
      CHECK(piece[k].from == truths[i].from[k], "piece %d from %g, not %g", k, piece[k].from,
            truths[i].from[k]);
    CHECK(count_off(&truths[i], piece, pieces, 1e-6) == 0, "not the line");
    for (int round = 0; round < test_samples(50); round++) {
      n = make(&truths[i], &state, 0.05, round % 3, sample);
      pieces = grove_fit_pieces(sample, n, 3, piece);
      int off = count_off(&truths[i], piece, pieces, 0.25), most = round % 3 ? 8 : 1;
      CHECK(off <= most, "round %d: %d pieces, off at %d sizes", round, pieces, off);
    }
  }
}

/* A fifth of the points ten times too high: the line hardly moves. */
static void shrugs_off_outliers(void)
{
  uint64_t state = test_seed() + 1;
  for (int round = 0; round < test_samples(200); round++) {
    grove_sample p[40];
    test_case(round);
    for (int i = 0; i < 40; i++)
      p[i] = (grove_sample){64.0 * i, (4e-6 + 2e-9 * 64.0 * i) * noise(&state, 0.02)};
    for (int i = 0; i < 8; i++) p[mix_next(&state) % 40].y *= 10;
    grove_piece line = grove_fit_line(p, 40);
    CHECK(fabs(line.cost.alpha - 4e-6) < 0.4e-6, "alpha %g", line.cost.alpha);
    CHECK(fabs(line.cost.beta - 2e-9) < 0.4e-9, "beta %g", line.cost.beta);
  }
}

static void limits(void)
{
  grove_piece piece[GROVE_PIECES];
  const grove_sample one[] = {{8, 1e-6}}, falling[] = {{1, 3e-6}, {2, 2e-6}, {3, 1e-6}};
  const grove_sample steep[] = {{10, 1e-6}, {20, 3e-6}, {30, 5e-6}};
  const grove_sample squares[] = {{1, 2e-9}, {100, 2e-7}, {10000, 2.1e-5}};
  CHECK(grove_fit_pieces(one, 0, 3, piece) == 0, "pieces of nothing");
  CHECK(grove_fit_pieces(one, 1, 3, piece) == 1 && fabs(piece[0].cost.alpha - 1e-6) < 1e-12,
        "alpha %g of one point", piece[0].cost.alpha);
  grove_piece p = grove_fit_line(falling, 3);
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
  limits();
  return test_end();
}
