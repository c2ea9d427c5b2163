/* The option effort=measure: an operation is tried on two routes and ends on one of them. Every
 * start gives what the oracle says; all ranks are on the same route at every start, by the turns
 * that docs/decisions/0016 states; in loops of one operation and of several, started and finished
 * in orders of each rank's own, with ranks that come late, alone and in bundles; and when they are
 * freed at any start. Which route wins is not asked here: see exec/keeps_the_faster. */
#include "check.h"
#include "exercise.h"
#include "places.h"

#include <stdlib.h>
#include <string.h>

/* As src/exec/contest.c has them. */
enum { TRIED = 20, DECISION = 84, STARTS = 90, SEVERAL = 4 };

static int64_t contests;

static void set_up(const place *p, rng *r)
{
  static const char *const names[] = {"tcp-10g", "lassen", "bluewaters", "infiniband"};
  place_draw_nodes(p, r);
  CHECK_OK(grove_context_set(p->ctx, "machine", names[rng_below(r, 4)]));
}

/* A graph on which routes differ, more often than not. */
static graph *draw(rng *r, int nranks)
{
  static const graph_kind kinds[] = {GRAPH_DENSE, GRAPH_ALL_TO_ALL, GRAPH_DUPLICATES, GRAPH_MIXED};
  graph_kind kind =
    rng_one_in(r, 4) ? (graph_kind)rng_below(r, GRAPH_KINDS) : kinds[rng_below(r, 4)];
  return graph_random(r, kind, nranks);
}

/* ---- which route ---- */

static int route_of(grove_op *op, int64_t starts)
{
  static const char *const names[] = {"standard", "2-step", "3-step", "split"};
  grove_report report = {.struct_size = sizeof report};
  CHECK_OK(grove_op_report(op, &report));
  CHECK(report.starts == starts, "%lld starts, not %lld", (long long)report.starts,
        (long long)starts);
  for (int i = 0; i < 4; i++)
    if (strcmp(report.route, names[i]) == 0) return i;
  CHECK(0, "there is no route '%s'", report.route);
}

/* The same at every start on every rank. */
static void check_agreement(const place *p, const int *routes, int n)
{
  int *first = need((size_t)n * sizeof *first);
  MPI_Request request;
  memcpy(first, routes, (size_t)n * sizeof *first);
  MPI_Ibcast(first, n, MPI_INT, 0, p->comm, &request);
  polite_wait(&request);
  for (int i = 0; i < n; i++)
    CHECK(routes[i] == first[i], "start %d is on route %d here, on %d on rank 0", i + 1, routes[i],
          first[i]);
  free(first);
}

/* By turns; then the first one; then one of the two for good. routes[0] is that of start 1. */
static void check_turns(const int *routes, int n)
{
  int best = routes[0], rival = routes[1];
  for (int start = 1; start <= n; start++) {
    int is = routes[start - 1];
    int should = start <= TRIED && start / 2 % 2 ? rival : best;
    if (start > DECISION) should = is == best || is == rival ? routes[DECISION] : -1;
    CHECK(is == should, "start %d of a contest of %d and %d is on %d", start, best, rival, is);
  }
  contests += best != rival;
}

static void check_routes(const place *p, const int *routes, int n)
{
  check_agreement(p, routes, n);
  if (n > 1) check_turns(routes, n);
}

/* ---- loops ---- */

static void come_late(rng *mine)
{
  if (rng_one_in(mine, 20)) linger(1e-5 * (double)rng_below(mine, 50));
}

static void complete(grove_op *op, rng *mine)
{
  int how = (int)rng_below(mine, 3);
  if (how > 0) polite_finish(op);
  if (how != 1) CHECK_OK(grove_wait(op));
}

static void loop(const place *p, exercise e, rng *mine)
{
  int routes[STARTS];
  exercise_open(&e);
  exercise_init(&e);
  for (int start = 1; start <= STARTS; start++) {
    exercise_renew(&e, start);
    come_late(mine);
    CHECK_OK(grove_start(e.op));
    complete(e.op, mine);
    exercise_check(&e);
    routes[start - 1] = route_of(e.op, start);
  }
  check_routes(p, routes, STARTS);
  exercise_close(&e);
}

static void in_random_order(rng *mine, int n, int64_t *order)
{
  for (int i = 0; i < n; i++) order[i] = i;
  rng_shuffle(mine, n, order);
}

/* Contests of several at once; the first two may be ahead by some starts. */
static void loop_over_several(const place *p, const units *types, grove_forest *f, const graph *g,
                              rng *r, rng *mine)
{
  exercise e[SEVERAL];
  int routes[SEVERAL][STARTS], started[SEVERAL] = {0};
  for (int i = 0; i < SEVERAL; i++) {
    e[i] = (exercise){.g = g, .f = f, .me = p->rank};
    exercise_draw(&e[i], types, r);
    exercise_open(&e[i]);
    exercise_init(&e[i]);
  }
  for (int round = 0; round < STARTS + SEVERAL; round++) {
    int64_t order[SEVERAL];
    in_random_order(mine, SEVERAL, order);
    for (int k = 0; k < SEVERAL; k++) {
      int i = (int)order[k];
      if (round < i || round >= i + STARTS) continue; /* each begins a round later */
      exercise_renew(&e[i], ++started[i]);
      CHECK_OK(grove_start(e[i].op));
    }
    in_random_order(mine, SEVERAL, order);
    for (int k = 0; k < SEVERAL; k++) {
      int i = (int)order[k];
      if (round < i || round >= i + STARTS) continue;
      complete(e[i].op, mine);
      exercise_check(&e[i]);
      routes[i][started[i] - 1] = route_of(e[i].op, started[i]);
    }
  }
  for (int i = 0; i < SEVERAL; i++) {
    check_routes(p, routes[i], STARTS);
    exercise_close(&e[i]);
  }
}

/* A bundle of two operations, which are in contests of their own meanwhile. */
static void loop_over_bundle(const place *p, const units *types, grove_forest *f, const graph *g,
                             rng *r)
{
  exercise e[2];
  grove_op *bundle = NULL, *members[2];
  int routes[STARTS];
  for (int i = 0; i < 2; i++) {
    e[i] = (exercise){.g = g, .f = f, .me = p->rank};
    exercise_draw(&e[i], types, r);
    exercise_open(&e[i]);
    exercise_init(&e[i]);
    members[i] = e[i].op;
  }
  CHECK_OK(grove_start(members[0])); /* its other route has a turn at the second start */
  CHECK_OK(grove_wait(members[0]));
  CHECK_OK(grove_op_bundle(2, members, &bundle));
  for (int start = 1; start <= STARTS; start++) {
    for (int i = 0; i < 2; i++) exercise_renew(&e[i], start);
    CHECK_OK(grove_start(bundle));
    CHECK_OK(grove_wait(bundle));
    routes[start - 1] = route_of(bundle, start);
    for (int i = 0; i < 2; i++) exercise_check(&e[i]);
    for (int i = 0; i < 2; i++) exercise_renew(&e[i], STARTS + start);
    CHECK_OK(grove_start(members[start % 2]));
    CHECK_OK(grove_wait(members[start % 2]));
  }
  check_routes(p, routes, STARTS);
  CHECK_OK(grove_op_free(&bundle));
  for (int i = 0; i < 2; i++) exercise_close(&e[i]);
}

/* ---- freeing ---- */

/* Arrays that an abandoned operation was sending from outlive the contexts. */
static struct {
  int n;
  exercise e[256];
} abandoned;

/* After so many starts, the last of which may be active. */
static void free_after(exercise e, int starts, int active)
{
  exercise_open(&e);
  exercise_init(&e);
  for (int start = 1; start <= starts; start++) {
    exercise_renew(&e, start);
    CHECK_OK(grove_start(e.op));
    if (start == starts && active) break;
    CHECK_OK(grove_wait(e.op));
    exercise_check(&e);
  }
  CHECK_OK(grove_op_free(&e.op));
  if (abandoned.n < 256) abandoned.e[abandoned.n++] = e;
}

static void free_anywhere(exercise e, rng *r)
{
  static const int where[] = {
    0, 1, 2, 3, TRIED - 1, TRIED, TRIED + 1, DECISION - 1, DECISION, DECISION + 1};
  for (int i = 0; i < 3; i++) {
    int starts = where[rng_below(r, sizeof where / sizeof *where)];
    free_after(e, starts, rng_one_in(r, 2));
  }
}

/* ---- waiting for the outcome ---- */

enum { BUSY = 4 };

/* Ranks 0 to 3, on two nodes, need something of each other; all others nothing of anybody. */
static graph *draw_busy(int nranks)
{
  graph *g = graph_empty(nranks);
  for (int i = 0; i < BUSY; i++) {
    part_resize(&g->part[i], 8, 8 * BUSY);
    for (int j = 0; j < 8 * BUSY; j++) g->part[i].root[j] = (grove_root){j / 8, j % 8};
  }
  return g;
}

static place place_busy(MPI_Comm comm)
{
  place p = place_create(comm);
  char map[64] = "0,0,1,1";
  for (int i = BUSY; i < p.size; i++) strcat(map, ",2");
  CHECK_OK(grove_context_set(p.ctx, "node_map", map));
  CHECK_OK(grove_context_set(p.ctx, "machine", "tcp-10g"));
  CHECK_OK(grove_context_set(p.ctx, "effort", "measure"));
  CHECK_OK(grove_context_set(p.ctx, "timeout", test_timeout()));
  return p;
}

static void start_until(exercise *e, int *started, int last)
{
  while (*started < last) {
    if (*started > 0) CHECK_OK(grove_wait(e->op));
    CHECK_OK(grove_start(e->op));
    ++*started;
  }
}

/* The last start before the decision waits for ranks that have nothing to do with it: they vote. */
static void wait_in_vain(exercise *e, int *started)
{
  int routes[2];
  for (int i = 0; i < 2; i++) {
    start_until(e, started, i + 1);
    routes[i] = route_of(e->op, i);
  }
  CHECK(routes[0] != routes[1], "there is no contest");
  start_until(e, started, DECISION);
  CHECK_STATUS(grove_wait(e->op), GROVE_ERR_TIMEOUT);
  CHECK(strstr(grove_last_error(), "to compare routes") != NULL, "'%s'", grove_last_error());
}

static void wait_for_late_ranks(const units *types, int frees)
{
  place p = place_busy(split(0));
  graph *g = draw_busy(p.size);
  exercise e = {.g = g, .f = graph_forest(p.ctx, g, p.rank), .me = p.rank, .kind = KIND_BCAST};
  int started = 0;
  e.u = units_find(types, "MPI_DOUBLE");
  e.r = unit_reduction(e.u, "REPLACE");
  exercise_open(&e);
  exercise_init(&e);
  exercise_renew(&e, 0);
  if (p.rank < BUSY) wait_in_vain(&e, &started);
  polite_barrier(p.comm);
  if (!frees) {
    start_until(&e, &started, DECISION + 1);
    CHECK_OK(grove_wait(e.op));
    route_of(e.op, DECISION + 1);
    exercise_check(&e);
  }
  CHECK_OK(grove_op_free(&e.op));
  CHECK_OK(grove_forest_free(&e.f));
  place_free(&p);
  exercise_close(&e);
  graph_free(g);
}

/* ---- all ---- */

static void try_forest(const units *types, const place *p, int64_t number)
{
  rng r = rng_from(test_seed() + (uint64_t)p->side, (uint64_t)number);
  rng mine = rng_from(r.state, (uint64_t)world_rank());
  set_up(p, &r);
  graph *g = draw(&r, p->size);
  exercise e = {.g = g, .f = graph_forest(p->ctx, g, p->rank), .me = p->rank};
  exercise_draw(&e, types, &r);
  switch (number % 4) {
  case 0: loop(p, e, &mine); break;
  case 1: loop_over_several(p, types, e.f, g, &r, &mine); break;
  case 2: loop_over_bundle(p, types, e.f, g, &r); break;
  default: free_anywhere(e, &r);
  }
  CHECK_OK(grove_forest_free(&e.f));
  graph_free(g);
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "exec/tries_routes");
  contests = 0; /* a suite may have run it before */
  units *types = units_create();
  places all = places_create();
  for (int i = 0; i < all.n; i++)
    CHECK_OK(grove_context_set(all.place[i].ctx, "effort", "measure"));
  for (int64_t i = 0; i < test_samples(12); i++) {
    test_case(i);
    const place *p = &all.place[i / 4 % 3 == 2 ? i / 12 % all.n : 0]; /* mostly all ranks */
    try_forest(types, p, i);
  }
  CHECK(contests > 0 || world_size() < 4 || test_samples(12) < 12, "there was no contest");
  places_free(&all);
  while (abandoned.n > 0) exercise_close(&abandoned.e[--abandoned.n]);
  for (int frees = 0; frees < 2 && world_size() > BUSY; frees++) wait_for_late_ranks(types, frees);
  units_free(types);
  return test_end();
}
