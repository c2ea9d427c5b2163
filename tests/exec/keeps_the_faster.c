/* The option effort=measure keeps the faster of two routes, whatever the model said: with a clock
 * of this test's own, in which a start takes as long as a case says. Ranks that come late, by much
 * more than a start takes, a few starts that take very long, and clocks that are far apart, as
 * those of several hosts may be, change nothing. */
#include "check.h"
#include "exec/op.h"
#include "exercise.h"
#include "places.h"

#include <string.h>

/* As src/exec/contest.c has them. */
enum { TRIED = 20, DECISION = 84 };

/* ---- the clock ---- */

/* The first look at it is at the beginning of a start. */
static struct {
  int runs, looks;
  double begin, end; /* by the clock of rank 0 */
  double ahead;      /* this rank's is, of that */
} fake;

double __real_grove_clock(void);
double __wrap_grove_clock(void);
double __wrap_grove_clock(void)
{
  if (!fake.runs) return __real_grove_clock();
  return (fake.looks++ == 0 ? fake.begin : fake.end) + fake.ahead;
}

/* ---- cases ---- */

typedef struct trial {
  double seconds[2]; /* of the route that the model likes best, and of the other */
  int outliers[2];   /* starts that take very long */
  int winner;
} trial;

static const trial trials[] = {
  {{2e-6, 1e-6}, {0, 0}, 1}, {{1e-6, 2e-6}, {0, 0}, 0}, {{1e-6, 1e-6}, {0, 0}, 0},
  {{1.1, 1}, {0, 0}, 1},     {{2e-6, 1e-6}, {0, 3}, 1}, {{1e-6, 2e-6}, {3, 0}, 0},
};
enum { TRIALS = sizeof trials / sizeof *trials };

/* All ranks draw the delays of all: the last to come begins `most` late. One rank, another one each
 * time, is through last, the others earlier. */
static void set_clock(const place *p, const trial *t, int start, rng *r)
{
  int turn = start <= TRIED ? start / 2 % 2 : 0, round = (start - 1) / 4;
  double delay = 0, most = 0, seconds = t->seconds[turn];
  for (int i = 0; i < p->size; i++) {
    double late = rng_one_in(r, 2) ? 1e-3 * (double)rng_below(r, 1000) : 0;
    if (i == p->rank) delay = late;
    if (late > most) most = late;
  }
  if (round >= 1 && round <= t->outliers[turn] && start % 2 == 0) seconds *= 1000;
  if (start % p->size != p->rank) seconds *= 0.1;
  fake.begin = 1000 * start + delay;
  fake.end = 1000 * start + most + seconds;
  fake.looks = 0;
}

static const char *route_of(grove_op *op)
{
  grove_report report = {.struct_size = sizeof report};
  CHECK_OK(grove_op_report(op, &report));
  return report.route;
}

/* Some seconds ahead or behind, each rank by another number of them; or all alike. */
static void part_clocks(const place *p, int apart)
{
  fake.ahead = apart ? 1000.0 * p->rank - 1500 * (p->rank % 2) : 0;
  p->ctx->clocks_compared = 1; /* with this outcome */
  p->ctx->clock_ahead = fake.ahead;
}

/* Did it end on the route that is faster? 0: there was no contest. */
static int ends_on_faster(const place *p, exercise *e, const trial *t, rng *r)
{
  const char *routes[2] = {NULL, NULL};
  exercise_init(e);
  fake.runs = 1;
  for (int start = 1; start <= DECISION + 1; start++) {
    exercise_renew(e, start);
    set_clock(p, t, start, r);
    CHECK_OK(grove_start(e->op));
    CHECK_OK(grove_wait(e->op));
    exercise_check(e);
    if (start <= 2) routes[start - 1] = route_of(e->op);
  }
  fake.runs = 0;
  int contest = strcmp(routes[0], routes[1]) != 0;
  CHECK(!contest || strcmp(route_of(e->op), routes[t->winner]) == 0,
        "of %s (%g s) and %s (%g s) it ends on %s", routes[0], t->seconds[0], routes[1],
        t->seconds[1], route_of(e->op));
  CHECK_OK(grove_op_free(&e->op));
  return contest;
}

static int try_forest(const place *p, const units *types, rng *r)
{
  graph *g = graph_random(r, GRAPH_ALL_TO_ALL, p->size);
  exercise e = {.g = g, .f = graph_forest(p->ctx, g, p->rank), .me = p->rank};
  int contests = 0;
  exercise_draw(&e, types, r);
  exercise_open(&e);
  for (int i = 0; i < TRIALS; i++) contests += ends_on_faster(p, &e, &trials[i], r);
  exercise_close(&e);
  CHECK_OK(grove_forest_free(&e.f));
  graph_free(g);
  return contests;
}

int main(int argc, char **argv)
{
  int contests = 0;
  test_begin(&argc, &argv, "exec/keeps_the_faster");
  units *types = units_create();
  place p = place_create(split(0));
  CHECK_OK(grove_context_set(p.ctx, "effort", "measure"));
  CHECK_OK(grove_context_set(p.ctx, "node_size", "2"));
  for (int64_t i = 0; i < test_samples(8); i++) {
    test_case(i);
    rng r = rng_from(test_seed(), (uint64_t)i);
    CHECK_OK(grove_context_set(p.ctx, "machine", i % 2 ? "lassen" : "tcp-10g"));
    part_clocks(&p, i / 2 % 2);
    contests += try_forest(&p, types, &r);
  }
  CHECK(contests > 0 || test_samples(8) < 8, "there was no contest");
  place_free(&p);
  units_free(types);
  return test_end();
}
