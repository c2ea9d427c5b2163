/* Many operations on several forests at once, each rank starting, testing and waiting for them in
 * an order of its own.
 *
 * What a program must keep so that it cannot deadlock by its own fault: a rank waits for the k-th
 * start of an operation only when it has started every operation k times. Everything else is free.
 */
#include "check.h"
#include "exercise.h"
#include "places.h"
#include "ring.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

enum { FORESTS = 4, OPERATIONS = 12, ROUNDS = 4 };

static const char *const routes[] = {"standard", "2-step", "3-step", "split", "auto"};
enum { ROUTES = sizeof routes / sizeof *routes };

typedef struct flight {
  exercise e;
  int started, finished; /* rounds */
} flight;

static int least_started(const flight *f)
{
  int least = ROUNDS;
  for (int i = 0; i < OPERATIONS; i++)
    if (f[i].started < least) least = f[i].started;
  return least;
}

static int all_finished(const flight *f)
{
  for (int i = 0; i < OPERATIONS; i++)
    if (f[i].finished < ROUNDS) return 0;
  return 1;
}

static void start(flight *f)
{
  exercise_renew(&f->e, f->started);
  CHECK_OK(grove_start(f->e.op));
  f->started++;
}

static void finish(flight *f)
{
  exercise_check(&f->e);
  f->finished++;
}

static void test(flight *f, rng *mine)
{
  int done = 0;
  CHECK_OK(grove_test(f->e.op, &done));
  if (!done) {
    sched_yield();
    return;
  }
  if (rng_one_in(mine, 2)) CHECK_OK(grove_wait(f->e.op)); /* of what is complete: legal */
  finish(f);
}

/* One random legal step. */
static void step(flight *flights, rng *mine)
{
  flight *f = &flights[rng_below(mine, OPERATIONS)];
  if (f->started == f->finished) {
    if (f->started < ROUNDS) start(f);
  } else if (rng_one_in(mine, 2)) {
    test(f, mine);
  } else if (f->started <= least_started(flights)) {
    CHECK_OK(grove_wait(f->e.op));
    finish(f);
  }
}

/* `mixed`: each on a route of its own, among nodes that change too. */
static void try_flights(const units *types, const place *p, int64_t number, int mixed)
{
  rng r = rng_from(test_seed() + (uint64_t)p->side, (uint64_t)number);
  rng mine = rng_from(r.state, (uint64_t)world_rank());
  graph *g[FORESTS];
  grove_forest *forest[FORESTS];
  flight flights[OPERATIONS] = {0};
  for (int i = 0; i < FORESTS; i++) {
    g[i] = graph_random(&r, (graph_kind)rng_below(&r, GRAPH_KINDS_AND_REPEATED), p->size);
    forest[i] = graph_forest(p->ctx, g[i], p->rank);
  }
  for (int i = 0; i < OPERATIONS; i++) {
    exercise *e = &flights[i].e;
    *e = (exercise){.g = g[i % FORESTS], .f = forest[i % FORESTS], .me = p->rank};
    exercise_draw_of(e, (op_kind)(i % OP_KINDS), types, &r);
    exercise_open(e);
    if (mixed && i % 4 == 0) place_draw_nodes(p, &r);
    if (mixed) place_set_route(p, routes[rng_below(&r, ROUTES)]);
    exercise_init(e);
  }
  while (!all_finished(flights)) step(flights, &mine);
  for (int i = 0; i < OPERATIONS; i++) exercise_close(&flights[i].e);
  for (int i = 0; i < FORESTS; i++) {
    CHECK_OK(grove_forest_free(&forest[i]));
    graph_free(g[i]);
  }
}

/* A hundred alive at once, started upwards and waited for downwards; then again, so that whatever
 * told them apart is used a second time. */
static void hundreds(const place *p, op_kind k)
{
  enum { ALIVE = 100 };
  ring x[ALIVE];
  x[0] = ring_open(p, RING_SMALL, RING_NOBODY, k);
  for (int i = 1; i < ALIVE; i++) x[i] = ring_sibling(&x[0]);
  for (int again = 0; again < 2; again++) {
    for (int i = 0; i < ALIVE; i++) ring_init(&x[i]);
    for (int i = 0; i < ALIVE; i++) {
      ring_fill(&x[i], i + again);
      CHECK_OK(grove_start(x[i].op));
    }
    for (int i = ALIVE - 1; i >= 0; i--) {
      CHECK_OK(grove_wait(x[i].op));
      ring_check(&x[i], i + again);
    }
    for (int i = 0; i < ALIVE; i++) CHECK_OK(grove_op_free(&x[7 * i % ALIVE].op));
  }
  for (int i = ALIVE - 1; i >= 0; i--) ring_close(&x[i]);
}

/* ---- several contexts ---- */

/* Each rank starts and tests them from another one on. A wait advances one context alone, so nobody
 * waits. */
static void run_round(exercise e[ROUTES], int round)
{
  int done[ROUTES] = {0}, left = ROUTES;
  for (int i = 0; i < ROUTES; i++) {
    exercise *x = &e[(i + world_rank()) % ROUTES];
    exercise_renew(x, round);
    CHECK_OK(grove_start(x->op));
  }
  for (int k = world_rank() % ROUTES; left > 0; k = (k + 1) % ROUTES) {
    if (done[k]) continue;
    CHECK_OK(grove_test(e[k].op, &done[k]));
    left -= done[k];
    sched_yield();
  }
  for (int i = 0; i < ROUTES; i++) exercise_check(&e[i]);
}

/* Each route in a context of its own, with nodes of its own. */
static void try_contexts(const units *types, int64_t number)
{
  rng r = rng_from(test_seed() + 2, (uint64_t)number);
  graph *g = graph_random(&r, (graph_kind)(number % GRAPH_KINDS_AND_REPEATED), world_size());
  place p[ROUTES];
  exercise e[ROUTES];
  for (int i = 0; i < ROUTES; i++) {
    p[i] = place_create(split(0));
    place_draw_nodes(&p[i], &r);
    place_set_route(&p[i], routes[i]);
    e[i] = (exercise){.g = g, .f = graph_forest(p[i].ctx, g, p[i].rank), .me = p[i].rank};
    exercise_draw_of(&e[i], (op_kind)((i + number) % OP_KINDS), types, &r);
    exercise_open(&e[i]);
    exercise_init(&e[i]);
  }
  for (int round = 0; round < ROUNDS; round++) run_round(e, round);
  for (int i = 0; i < ROUTES; i++) {
    exercise_close(&e[i]);
    CHECK_OK(grove_forest_free(&e[i].f));
    place_free(&p[i]);
  }
  graph_free(g);
}

int main(int argc, char **argv)
{
  char before[2048]; /* other tests of the launch may have left a sentence */
  test_begin(&argc, &argv, "exec/several_in_flight");
  snprintf(before, sizeof before, "%s", grove_last_error());
  units *types = units_create();
  places all = places_create();
  place mixed = place_create(split(0));
  for (op_kind k = 0; k < OP_KINDS; k++) hundreds(&all.place[0], k);
  int64_t cases = test_samples(8);
  for (int64_t i = 0; i < cases; i++) {
    test_case(i);
    try_flights(types, places_turn(&all, i), i, 0);
    try_flights(types, &mixed, i, 1);
    if (i % 3 == 0) try_contexts(types, i / 3);
  }
  /* Some MPIs make windows only at the second attempt. */
  CHECK(strcmp(before, grove_last_error()) == 0, "no call has failed, but '%s'",
        grove_last_error());
  place_free(&mixed);
  places_free(&all);
  units_free(types);
  return test_end();
}
