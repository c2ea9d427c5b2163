/* What measuring ends with, on a machine whose exchanges take what a profile says that this test
 * chooses: the clock is its price (--wrap). Then the factors are those of that profile, whatever
 * the profile had that was measured before; on one node and on several, for all routes. */
#include "check.h"
#include "measure/factors.h"
#include "measure/trial.h"
#include "profile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char rows[] = "alpha cpu any eager 4e-6 s m\n"
                           "beta  cpu any eager 1e-9 s/B m\n"
                           "alpha cpu off-node eager 20e-6 s m\n"
                           "beta  cpu off-node eager 3e-9 s/B m\n"
                           "alpha cpu off-node rend 40e-6 s m\n"
                           "beta  cpu off-node rend 2e-9 s/B m\n"
                           "from  cpu off-node rend 8192 B m\n"
                           "injection cpu off-node any 1.5e-9 s/B m\n"
                           "gamma cpu any - 0.2e-6 s m\n"
                           "flag cpu any - 2e-6 s m\n"
                           "shared cpu on-node 2 0.5e-9 s/B m\n"
                           "pack cpu any 0.. 0.7e-9 s/B m\n";

/* By which libfabric takes nearly no time. */
static const char fabric_rows[] = "L cpu off-node 0.. 1e-4 s m\n"
                                  "g cpu off-node 0.. 1e-5 s m\n"
                                  "G cpu off-node 0.. 1e-9 s/B m\n"
                                  "fabric-L cpu off-node 0.. 1e-9 s m\n"
                                  "fabric-g cpu off-node 0.. 1e-9 s m\n"
                                  "fabric-G cpu off-node 0.. 1e-12 s/B m\n";

static const char *measured_rows = rows; /* that are there before the step */
static grove_machine *truth;             /* by which exchanges take their time */
static int timed, backward;
static int fails_at;         /* the exchange that cannot be timed, from 1 on; 0: none */
static int in_step;          /* where the clock is this test's */
static double slow, skipped; /* seconds that each takes by that clock; of all so far */

double __real_grove_clock(void);
double __wrap_grove_clock(void);
double __wrap_grove_clock(void)
{
  static double passed; /* so that it never stands still */
  return in_step ? skipped + (passed += 1e-9) : __real_grove_clock();
}

static double slow_price; /* seconds that a price takes */
static int priced;

grove_status __real_grove_price_node(const grove_machine *m, const grove_topo *topo, int node,
                                     const grove_manifest *manifest, const grove_pricing *how,
                                     grove_price *out);
grove_status __wrap_grove_price_node(const grove_machine *m, const grove_topo *topo, int node,
                                     const grove_manifest *manifest, const grove_pricing *how,
                                     grove_price *out);
grove_status __wrap_grove_price_node(const grove_machine *m, const grove_topo *topo, int node,
                                     const grove_manifest *manifest, const grove_pricing *how,
                                     grove_price *out)
{
  priced++;
  skipped += slow_price;
  return __real_grove_price_node(m, topo, node, manifest, how, out);
}

/* The price of what is timed, on the route that the options name. */
grove_status __wrap_grove_trial_time(grove_probe *p, grove_trial *t, double budget,
                                     double *seconds);
grove_status __wrap_grove_trial_time(grove_probe *p, grove_trial *t, double budget, double *seconds)
{
  const grove_route *route = grove_route_told(p->ctx->options.route);
  const grove_topo *topo = &p->ctx->topo;
  const grove_place *place = &topo->place[p->ctx->rank];
  grove_manifest manifest = {0};
  grove_pricing pricing;
  grove_price price = {0};
  CHECK(budget > 0 && route, "%g s", budget);
  CHECK_OK(grove_trial_count(p, t, route, &manifest, &pricing));
  if (place->local == 0)
    CHECK_OK(grove_price_node(truth, topo, place->node, &manifest, &pricing, &price));
  grove_manifest_free(&manifest);
  CHECK_OK(grove_start(t->op)); /* it can be run */
  CHECK_OK(grove_wait(t->op));
  grove_report report = {.struct_size = sizeof report};
  CHECK_OK(grove_op_report(t->op, &report));
  CHECK(strcmp(report.transport, "ofi") != 0, "an exchange over libfabric");
  *seconds = price.seconds;
  skipped += slow;
  timed++;
  if (timed == fails_at) return grove_error(GROVE_ERR_MEMORY, __FILE__, __LINE__, "on purpose");
  backward += t->backward;
  return grove_probe_meet(p, seconds, 1);
}

static void check_option(grove_context *ctx, const char *key, const char *wanted)
{
  char value[64];
  CHECK_OK(grove_context_get(ctx, key, value, sizeof value));
  CHECK(strcmp(value, wanted) == 0, "%s is %s, not %s", key, value, wanted);
}

/* Runs the step on the rows. `against`: on rank 0, whose prices points get; or NULL. */
static grove_machine *run_step(grove_context *ctx, grove_effort effort,
                               const grove_machine *against, grove_points *points)
{
  char off_node[64];
  const grove_measuring how = {.effort = effort, .against = against};
  grove_probe p = {.ctx = ctx,
                   .how = &how,
                   .points = points,
                   .machine = machine_of(measured_rows),
                   .began = 0,
                   .planned = 12,
                   .source = "measured 2026-11-19"};
  grove_machine *before = ctx->machine;
  timed = backward = 0;
  CHECK_OK(grove_context_get(ctx, "transport_off_node", off_node, sizeof off_node));
  in_step = 1;
  CHECK_STATUS(grove_measure_exchanges(&p, 12), fails_at ? GROVE_ERR_MEMORY : GROVE_OK);
  in_step = 0;
  CHECK_OK(p.status);
  CHECK(ctx->machine == before, "the context has another machine");
  check_option(ctx, "route", "auto");
  check_option(ctx, "transport_off_node", off_node);
  CHECK_OK(grove_machine_digest(p.machine));
  return p.machine;
}

static grove_machine *machine_with(const char *factors)
{
  char text[4000];
  snprintf(text, sizeof text, "%s%s", rows, factors);
  return machine_of(text);
}

/* The median and the worst of what prices are off by. */
static void check_points(const grove_points *points, double most, int at_least)
{
  int off = 0;
  CHECK(points->count >= at_least, "%d points", points->count);
  for (int i = 0; i < points->count; i++) {
    const grove_point *x = &points->point[i];
    CHECK(strncmp(x->series, "exchange ", 9) == 0, "'%s'", x->series);
    off += !(fabs(log(x->predicted / x->y)) <= most);
  }
  CHECK(4 * off <= points->count, "%d of %d points are off by more than %g", off, points->count,
        most);
}

static void finds_factors(grove_context *ctx, int nodes)
{
  static const char *const made[] = {"",
                                     "factor cpu any on_node 2.5 1 m\n"
                                     "factor cpu any copy 0.5 1 m\n",
                                     "factor cpu any latency 2 1 m\n"
                                     "factor cpu any bandwidth 0.6 1 m\n"
                                     "factor cpu any on_node 1.7 1 m\n"};
  for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
    grove_points points = {0};
    test_case((int64_t)i);
    truth = machine_with(made[i]);
    grove_machine *m = run_step(ctx, GROVE_MEASURE_NORMAL, NULL, &points);
    check_points(&points, 0.05, 3);
    CHECK(timed == points.count && (timed > 30) == (nodes > 1 && nodes < ctx->size), "%d exchanges",
          timed);
    CHECK(backward > 0 && backward < timed, "%d reduces of %d", backward, timed);
    int on_node = GROVE_TERM_ON_NODE;
    if (nodes < ctx->size)
      CHECK(fabs(log(m->factor[on_node] / truth->factor[on_node])) < 0.2, "on_node is %g, not %g",
            m->factor[on_node], truth->factor[on_node]);
    if (nodes > 1)
      CHECK(fabs(log(m->factor[GROVE_TERM_LATENCY] / truth->factor[GROVE_TERM_LATENCY])) < 0.2,
            "latency is %g, not %g", m->factor[GROVE_TERM_LATENCY],
            truth->factor[GROVE_TERM_LATENCY]);
    char samples[64];
    snprintf(samples, sizeof samples, ", %d samples, residual ", points.count);
    for (int r = 0; r < m->nrows; r++)
      if (strcmp(m->rows[r].term, "factor") == 0)
        CHECK(i > 0 && strstr(m->rows[r].source, samples), "factor %s %g: '%s'", m->rows[r].range,
              m->rows[r].value, m->rows[r].source);
    grove_points_free(&points);
    grove_machine_free(&m);
    grove_machine_free(&truth);
  }
}

static int count_factors(const grove_machine *m)
{
  int n = 0;
  for (int i = 0; i < m->nrows; i++) n += strcmp(m->rows[i].term, "factor") == 0;
  return n;
}

/* The time that was planned bounds the step: when it is over there is one size of each pattern all
 * the same, as where it must be quick. Of one or two exchanges nothing is learnt. */
static void keeps_to_its_time(grove_context *ctx, int nodes)
{
  int few = 0;
  truth = machine_with("factor cpu any on_node 2.5 1 m\nfactor cpu any latency 2 1 m\n");
  for (int i = 0; i < 3; i++) {
    grove_points points = {0};
    test_case(100 + i);
    slow = i == 1 ? 20 : i == 2 ? 18.5 / (few + 2) : 0;
    grove_machine *m =
      run_step(ctx, i == 0 ? GROVE_MEASURE_QUICK : GROVE_MEASURE_NORMAL, NULL, &points);
    if (i == 0) few = timed;
    CHECK(timed == (i == 2 ? few + 2 : few), "%d exchanges, where %d are quick", timed, few);
    CHECK(few >= (nodes > 1 ? 2 : 1), "%d exchanges", few);
    CHECK((count_factors(m) > 0) == (timed > 2), "%d factors of %d exchanges", count_factors(m),
          timed);
    grove_points_free(&points);
    grove_machine_free(&m);
  }
  slow = 0;
  grove_machine_free(&truth);
}

/* Nodes of many ranks take long to price: the fit ends when its time is over. */
static void fits_in_time(grove_context *ctx)
{
  grove_points points = {0};
  truth = machine_with("factor cpu any on_node 2.5 1 m\nfactor cpu any latency 2 1 m\n");
  slow_price = 0.1;
  priced = 0;
  grove_machine *m = run_step(ctx, GROVE_MEASURE_NORMAL, NULL, &points);
  /* The operation's own, twice, and that of what is timed; sets: the first, one turn, the last;
   * and what is kept. */
  int most = 42 * (3 + 1 + GROVE_FACTOR_SETS + 1 + 1);
  CHECK(timed < 30 || priced <= most, "%d prices, and %d would be enough", priced, most);
  slow_price = 0;
  grove_points_free(&points);
  grove_machine_free(&m);
  grove_machine_free(&truth);
}

/* The options are as before. */
static void fails(grove_context *ctx)
{
  grove_points points = {0};
  truth = machine_with("");
  for (fails_at = 1; fails_at <= 3; fails_at += 2) {
    grove_machine *m = run_step(ctx, GROVE_MEASURE_NORMAL, NULL, &points);
    grove_machine_free(&m);
    CHECK(timed == fails_at, "%d exchanges", timed);
  }
  fails_at = 0;
  grove_points_free(&points);
  grove_machine_free(&truth);
}

/* Prices are those of messages of MPI: so are the times, whatever operations go by later. */
static void goes_by_messages(grove_context *ctx)
{
  grove_points points = {0};
  char all[2000];
  snprintf(all, sizeof all, "%s%s", rows, fabric_rows);
  measured_rows = all;
  truth = machine_with("");
  CHECK_OK(grove_context_set(ctx, "fabric", "tcp;ofi_rxm@lo"));
  CHECK_OK(grove_context_set(ctx, "transport_off_node", "auto"));
  grove_machine *m = run_step(ctx, GROVE_MEASURE_QUICK, NULL, &points);
  CHECK(points.count > 0, "no points");
  CHECK_OK(grove_context_set(ctx, "transport_off_node", "p2p"));
  measured_rows = rows;
  grove_points_free(&points);
  grove_machine_free(&m);
  grove_machine_free(&truth);
}

/* Ranks may bring more numbers than are told at once. */
static void meets_with_many(grove_context *ctx)
{
  enum { MANY = 5000 };
  static double values[MANY];
  grove_probe p = {.ctx = ctx};
  for (int i = 0; i < MANY; i++) values[i] = i % ctx->size == ctx->rank ? i + 1 : 0;
  CHECK_OK(grove_probe_meet(&p, values, MANY));
  for (int i = 0; i < MANY; i++) CHECK(values[i] == i + 1, "number %d is %g", i, values[i]);
}

/* Points get the prices of a profile that only rank 0 has. */
static void holds_against(grove_context *ctx)
{
  grove_points points = {0};
  truth = machine_with("");
  grove_machine *other = ctx->rank == 0 ? machine_with("factor cpu any latency 3 1 m\n"
                                                       "factor cpu any bandwidth 3 1 m\n"
                                                       "factor cpu any injection 3 1 m\n"
                                                       "factor cpu any queue 3 1 m\n"
                                                       "factor cpu any on_node 3 1 m\n"
                                                       "factor cpu any copy 3 1 m\n"
                                                       "factor cpu any cores 3 1 m\n")
                                        : NULL;
  grove_machine *m = run_step(ctx, GROVE_MEASURE_QUICK, other, &points);
  CHECK(points.count > 0, "no points");
  for (int i = 0; i < points.count; i++)
    CHECK(fabs(points.point[i].predicted / points.point[i].y - 3) < 1e-6, "%s: %g for %g",
          points.point[i].series, points.point[i].predicted, points.point[i].y);
  grove_points_free(&points);
  grove_machine_free(&other);
  grove_machine_free(&m);
  grove_machine_free(&truth);
}

/* Where the profile says nothing of messages, nothing is fitted. */
static void without_prices(grove_context *ctx)
{
  const grove_measuring how = {.effort = GROVE_MEASURE_QUICK};
  grove_probe p = {.ctx = ctx, .how = &how, .machine = machine_of(""), .planned = 12};
  truth = machine_with("");
  CHECK_OK(grove_measure_exchanges(&p, 12));
  CHECK(p.machine->nrows == 0, "%d rows", p.machine->nrows);
  grove_machine_free(&p.machine);
  grove_machine_free(&truth);
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "measure/exchanges");
  grove_context *ctx = NULL;
  int nodes = 1;
  CHECK_OK(grove_context_create(MPI_COMM_WORLD, &ctx));
  CHECK_OK(grove_context_node(ctx, world_rank(), NULL, &nodes));
  if (world_size() > 1) {
    finds_factors(ctx, nodes);
    holds_against(ctx);
    keeps_to_its_time(ctx, nodes);
    fits_in_time(ctx);
    fails(ctx);
    goes_by_messages(ctx);
  }
  meets_with_many(ctx);
  without_prices(ctx);
  CHECK_OK(grove_context_free(&ctx));
  return test_end();
}
