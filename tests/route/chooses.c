/* What clerks are told is what all edges say of their node; and the choice is the same on every
 * rank, and the one that prices made from all edges lead to. On random forests, however ranks sit
 * on nodes. */
#include "check.h"
#include "generate.h"
#include "places.h"
#include "route/choose.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int64_t list_edges(const graph *g, grove_edge **out)
{
  int64_t n = 0, used = 0;
  for (int i = 0; i < g->nranks; i++) n += g->part[i].nleaves;
  grove_edge *edges = need((size_t)(n + 1) * sizeof *edges);
  for (int i = 0; i < g->nranks; i++)
    for (int64_t j = 0; j < g->part[i].nleaves; j++) {
      grove_root root = g->part[i].root[j];
      edges[used++] = (grove_edge){.leaf_rank = i, .root_rank = root.rank, .root = root.index};
    }
  *out = edges;
  return n;
}

static grove_demand demand_of(const place *p, const graph *g, const grove_build *how)
{
  grove_demand d = {0};
  grove_edge *edges = NULL;
  int64_t n = list_edges(g, &edges);
  CHECK_OK(grove_demand_create(edges, n, &p->ctx->topo, how, &d));
  free(edges);
  return d;
}

/* ---- the survey ---- */

static void check_pairs(const grove_demand *all, const grove_demand *told, const grove_topo *topo,
                        int node)
{
  int64_t k = 0;
  for (int64_t i = 0; i < all->npairs; i++) {
    const grove_demand_pair *a = &all->pairs[i], *b = &told->pairs[k];
    if (topo->place[a->from].node != node && topo->place[a->to].node != node) continue;
    CHECK(k < told->npairs, "only %lld pairs are told of", (long long)k);
    CHECK(a->from == b->from && a->to == b->to && a->edges == b->edges &&
            a->distinct == b->distinct && !b->places,
          "%d to %d has %lld edges, %lld different; told: %d to %d, %lld, %lld", a->from, a->to,
          (long long)a->edges, (long long)a->distinct, b->from, b->to, (long long)b->edges,
          (long long)b->distinct);
    k++;
  }
  CHECK(k == told->npairs, "%lld pairs are told of, not %lld", (long long)told->npairs,
        (long long)k);
}

static void check_blocks(const grove_demand *all, const grove_demand *told, const grove_topo *topo,
                         int node)
{
  int64_t k = 0;
  for (int64_t i = 0; i < all->nblocks; i++) {
    const grove_demand_block *a = &all->blocks[i], *b = &told->blocks[k];
    if (topo->place[a->from].node != node && a->node != node) continue;
    CHECK(k < told->nblocks, "only %lld blocks are told of", (long long)k);
    CHECK(a->from == b->from && a->node == b->node && a->units == b->units,
          "%d has %lld units for node %d; told: %d, %lld, %d", a->from, (long long)a->units,
          a->node, b->from, (long long)b->units, b->node);
    k++;
  }
  CHECK(k == told->nblocks, "%lld blocks are told of, not %lld", (long long)told->nblocks,
        (long long)k);
}

static void check_survey(const place *p, const grove_survey *survey, const grove_demand *all)
{
  const grove_topo *topo = &p->ctx->topo;
  int node = topo->place[p->rank].node, lowest = 0;
  while (topo->place[lowest].node != node) lowest++;
  CHECK(survey->clerk == (lowest == p->rank), "the clerk is rank %d", lowest);
  if (survey->clerk) {
    check_pairs(all, &survey->demand, topo, node);
    check_blocks(all, &survey->demand, topo, node);
  } else {
    CHECK(survey->demand.npairs == 0 && survey->demand.nblocks == 0, "who is no clerk was told");
  }
}

/* ---- the choice ---- */

/* From all edges: the dearest node's. Split cuts blocks, and clerks do not know whose values are in
 * which piece: its price may differ. */
static double price_of(const place *p, const grove_route *route, const grove_demand *all,
                       const grove_build *how, const grove_question *q)
{
  const grove_topo *topo = &p->ctx->topo;
  grove_pricing pricing = {.unit_bytes = q->unit_bytes,
                           .shared_memory = p->ctx->shares_node,
                           .order = GROVE_QUEUE_TYPICAL};
  grove_price most = {0};
  grove_manifest m = {0};
  CHECK_OK(route->count(all, topo, how, &m));
  if (q->backward) grove_manifest_reverse(&m);
  for (int node = 0; node < topo->nnodes; node++) {
    grove_price price;
    CHECK_OK(grove_price_node(p->ctx->machine, topo, node, &m, &pricing, &price));
    if (grove_price_exceeds(&price, &most)) most = price;
  }
  grove_manifest_free(&m);
  return q->both ? 2 * most.seconds : most.seconds;
}

/* Every rank has the same. */
static void check_agreed(const place *p, const grove_choice *choice)
{
  double mine[GROVE_ROUTES + 2] = {0}, least[GROVE_ROUTES + 2], most[GROVE_ROUTES + 2];
  MPI_Request request;
  for (int i = 0; i < choice->n; i++)
    mine[i] = isnan(choice->candidates[i].seconds) ? -1 : choice->candidates[i].seconds;
  mine[GROVE_ROUTES] = choice->chosen;
  mine[GROVE_ROUTES + 1] = choice->runner_up;
  MPI_Iallreduce(mine, least, GROVE_ROUTES + 2, MPI_DOUBLE, MPI_MIN, p->comm, &request);
  polite_wait(&request);
  MPI_Iallreduce(mine, most, GROVE_ROUTES + 2, MPI_DOUBLE, MPI_MAX, p->comm, &request);
  polite_wait(&request);
  for (int i = 0; i < GROVE_ROUTES + 2; i++)
    CHECK(least[i] == most[i], "number %d is %g here and %g there", i, least[i], most[i]);
}

static int near(double a, double b)
{
  return isnan(a) ? isnan(b) : fabs(a - b) <= 1.1e-12;
}

/* By the rule that the header states. */
static void check_chosen(const place *p, const grove_choice *choice)
{
  const grove_candidate *c = choice->candidates;
  double needed = grove_machine_is_measured(p->ctx->machine) ? 1.05 : 1.3;
  int best = 0;
  for (int i = 1; i < choice->n; i++)
    if (c[i].seconds < c[best].seconds) best = i;
  if (!(c[0].seconds > needed * c[best].seconds)) best = 0;
  CHECK(choice->needed == needed, "%g times are asked for", choice->needed);
  CHECK(choice->chosen == best, "%s is chosen, not %s", c[choice->chosen].route->name,
        c[best].route->name);
  CHECK(choice->runner_up != choice->chosen && choice->runner_up < choice->n, "the runner-up is %d",
        choice->runner_up);
  for (int i = 0; i < choice->n; i++)
    if (!isnan(c[i].seconds) && c[i].seconds != c[best].seconds)
      CHECK(choice->runner_up >= 0 && c[choice->runner_up].seconds <= c[i].seconds,
            "%s is before the runner-up", c[i].route->name);
}

static void check_choice(const place *p, const grove_survey *survey, const grove_demand *all,
                         const grove_question *q)
{
  grove_choice choice;
  grove_build how = {.share = survey->share,
                     .back = q->backward || q->both,
                     .cap = grove_route_cap(p->ctx, q->unit_bytes)};
  CHECK_OK(grove_route_choose(survey, q, &choice));
  CHECK(choice.n == (grove_route_can_help(p->ctx) ? GROVE_ROUTES : 1), "%d candidates", choice.n);
  check_agreed(p, &choice);
  check_chosen(p, &choice);
  for (int i = 0; i < choice.n; i++) {
    const grove_candidate *c = &choice.candidates[i];
    CHECK(c->route == grove_routes[i], "candidate %d is another route", i);
    double want = price_of(p, c->route, all, &how, q);
    int exact = c->route != &grove_route_split;
    CHECK(exact ? near(want, c->seconds) : isnan(want) == isnan(c->seconds),
          "%s takes %.12g, not %.12g", c->route->name, c->seconds, want);
  }
}

/* What rank 0 is told beside: terms that add up, and messages of all ranks. */
static void check_estimates(const place *p, const grove_survey *survey, const grove_demand *all)
{
  grove_choice choice;
  grove_question q = {.unit_bytes = 8};
  CHECK_OK(grove_route_explain(survey, &q, &choice));
  check_agreed(p, &choice);
  if (p->rank > 0) return;
  const grove_estimate *e = &choice.candidates[0].estimate;
  double sum = 0;
  for (int t = 0; t < GROVE_TERMS; t++) sum += e->price.term[t];
  CHECK(near(sum, choice.candidates[0].seconds), "the terms add up to %g, not %g", sum,
        choice.candidates[0].seconds);
  CHECK(e->stages == 1 && e->messages[0] + e->messages[1] == all->npairs, "%lld stages",
        (long long)e->stages);
}

/* ---- cases ---- */

static void set_nodes(const place *p, rng *r)
{
  char text[256] = "";
  int64_t nodes = rng_between(r, 1, p->size);
  for (int i = 0; i < p->size; i++)
    snprintf(text + strlen(text), sizeof text - strlen(text), "%s%d", i > 0 ? "," : "",
             (int)rng_below(r, nodes));
  CHECK_OK(grove_context_set(p->ctx, "node_map", rng_one_in(r, 5) ? "" : text));
}

static void set_machine(const place *p, rng *r)
{
  static const char *const names[] = {"tcp-10g", "lassen", "bluewaters", "infiniband", "frontier"};
  CHECK_OK(grove_context_set(p->ctx, "machine", names[rng_below(r, 5)]));
}

static void at_random(const place *p, uint64_t number)
{
  rng r = rng_from(test_seed(), number);
  graph *g = graph_random(&r, (graph_kind)(number % GRAPH_KINDS), p->size);
  grove_forest *f = NULL;
  set_nodes(p, &r);
  set_machine(p, &r);
  f = graph_forest(p->ctx, g, p->rank);
  for (int share = 0; share < 2; share++) {
    grove_survey *survey = NULL;
    grove_build how = {.share = share};
    grove_demand all = demand_of(p, g, &how);
    CHECK_OK(grove_survey_create(f, share, &survey));
    check_survey(p, survey, &all);
    for (int way = 0; way < 3; way++) {
      grove_question q = {.unit_bytes = rng_one_in(&r, 2) ? 8 : rng_between(&r, 1, 100000),
                          .backward = way == 1,
                          .both = way == 2};
      check_choice(p, survey, &all, &q);
    }
    check_estimates(p, survey, &all);
    grove_survey_free(&survey);
    CHECK(survey == NULL, "a freed survey is there");
    grove_demand_free(&all);
  }
  CHECK_OK(grove_forest_free(&f));
  graph_free(g);
}

/* ---- by hand ---- */

static void decides(void)
{
  grove_machine *m = NULL;
  CHECK_OK(grove_machine_open("tcp-10g", &m));
  static const struct {
    double seconds[GROVE_ROUTES];
    int chosen, runner_up;
  } row[] = {
    {{10, 8, 9, 20}, 0, 1},        /* gains 1.25 */
    {{10, 8, 7, 20}, 2, 1},        /* 1.43 */
    {{10, 9, 7, 7}, 2, 1},         /* what costs the same is the same */
    {{10, 10, 10, 10}, 0, -1},     /* so are all of these */
    {{10, NAN, 7, NAN}, 2, 0},     /* what has no price is not chosen */
    {{10, NAN, NAN, NAN}, 0, -1},  /* and no runner-up */
    {{NAN, 8, 7, 6}, 0, 3},        /* nobody knows the gain */
    {{NAN, NAN, NAN, NAN}, 0, -1}, /* nor anything */
    {{0, 0, 0, 0}, 0, -1},         /* nothing is sent */
  };
  for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
    grove_choice choice = {.n = GROVE_ROUTES};
    for (int k = 0; k < GROVE_ROUTES; k++) choice.candidates[k].seconds = row[i].seconds[k];
    grove_choice_decide(&choice, m);
    CHECK(choice.chosen == row[i].chosen && choice.runner_up == row[i].runner_up,
          "case %zu: %d is chosen before %d", i, choice.chosen, choice.runner_up);
  }
  grove_machine_free(&m);
}

/* Gains of a few percent count where somebody measured. */
static void decides_by_measurement(void)
{
  grove_machine *m = NULL;
  CHECK_OK(grove_machine_create("ours", &m));
  grove_choice choice = {.n = 2, .candidates = {{.seconds = 10.6}, {.seconds = 10}}};
  for (int measured = 0; measured < 2; measured++) {
    CHECK_OK(grove_machine_add(m, measured ? "beta" : "gamma", "cpu", measured ? "off-node" : "any",
                               measured ? "any" : "-", 1e-9, measured ? "s/B" : "s",
                               "measured 2026-11-15"));
    grove_choice_decide(&choice, m);
    CHECK(choice.chosen == measured, "%d is chosen", choice.chosen);
  }
  CHECK_OK(grove_machine_add(m, "alpha", "cpu", "off-node", "any", 1e-6, "s", "assumed: by hand"));
  grove_choice_decide(&choice, m);
  CHECK(choice.chosen == 0, "half of a message is assumed");
  grove_machine_free(&m);
}

static void caps(void)
{
  grove_machine *tcp = NULL, *frontier = NULL;
  CHECK_OK(grove_machine_open("tcp-10g", &tcp));
  CHECK_OK(grove_machine_open("frontier", &frontier)); /* says nothing of protocols */
  CHECK(grove_split_cap(tcp, -1, 8) == 8192, "%lld", (long long)grove_split_cap(tcp, -1, 8));
  CHECK(grove_split_cap(frontier, -1, 1) == 8192, "%lld",
        (long long)grove_split_cap(frontier, -1, 1));
  CHECK(grove_split_cap(tcp, 100, 8) == 12, "the option counts");
  CHECK(grove_split_cap(tcp, 0, 8) == 1 && grove_split_cap(tcp, 4, 8) == 1,
        "a message has a unit at least");
  CHECK(grove_split_cap(tcp, 16, 0) == 16, "units without bytes");
  grove_machine_free(&tcp);
  grove_machine_free(&frontier);
}

/* One node, nodes with a rank each, a transport that only standard has: nothing to choose. */
static void can_help(const place *p)
{
  static const struct {
    const char *nodes, *transport;
    int least;
  } row[] = {{"1000", "p2p", 99}, {"1", "p2p", 99}, {"2", "p2p", 3}, {"2", "rma", 99}};
  for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
    CHECK_OK(grove_context_set(p->ctx, "node_size", row[i].nodes));
    CHECK_OK(grove_context_set(p->ctx, "transport_off_node", row[i].transport));
    CHECK(grove_route_can_help(p->ctx) == (p->size >= row[i].least), "case %zu with %d ranks", i,
          p->size);
  }
  CHECK_OK(grove_context_set(p->ctx, "node_size", "0"));
  CHECK_OK(grove_context_set(p->ctx, "transport_off_node", "p2p"));
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "route/chooses");
  places all = places_create();
  decides();
  decides_by_measurement();
  caps();
  for (int i = 0; i < all.n; i++) can_help(&all.place[i]);
  for (int64_t i = 0; i < test_samples(48); i++) {
    test_case(i);
    const place *p = places_turn(&all, i);
    at_random(p, (uint64_t)i * 2 + (uint64_t)p->side);
  }
  places_free(&all);
  return test_end();
}
