/* What leaders are told is what all edges say of their node; and the choice is the same on every
 * rank, and the one that prices made from all edges lead to. On random forests, however ranks sit
 * on nodes; and on one whose prices were worked out by hand. What decides a choice is in
 * route/each_term_decides. */
#include "check.h"
#include "generate.h"
#include "places.h"
#include "profile.h"
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
  CHECK(survey->leader == (lowest == p->rank), "the leader is rank %d", lowest);
  if (survey->leader) {
    check_pairs(all, &survey->demand, topo, node);
    check_blocks(all, &survey->demand, topo, node);
  } else {
    CHECK(survey->demand.npairs == 0 && survey->demand.nblocks == 0, "who is no leader was told");
  }
}

/* ---- the choice ---- */

static int on_node_messages; /* what the option transport_on_node says */

/* From all edges: the dearest node's. Split cuts blocks, and leaders do not know whose values are
 * in which slice: its price may differ. */
static double price_of(const place *p, const grove_route *route, const grove_demand *all,
                       const grove_build *how, const grove_question *q)
{
  const grove_topo *topo = &p->ctx->topo;
  grove_pricing pricing = {.unit_bytes = q->unit_bytes,
                           .shared_memory = p->ctx->shares_node && !on_node_messages,
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
  on_node_messages = rng_one_in(&r, 2);
  CHECK_OK(grove_context_set(p->ctx, "transport_on_node", on_node_messages ? "mpi" : "shm"));
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

enum { BY_HAND = 4 };

/* Ranks 0 and 1 have six values of 1000 bytes each, which ranks 2 and 3, on another node, both need
 * all. */
static graph *draw_by_hand(void)
{
  graph *g = graph_empty(BY_HAND);
  for (int i = 0; i < BY_HAND; i++) {
    part_resize(&g->part[i], i < 2 ? 6 : 0, i < 2 ? 0 : 12);
    for (int j = 0; j < g->part[i].nleaves; j++) g->part[i].root[j] = (grove_root){j / 6, j % 6};
  }
  return g;
}

static grove_machine *machine_by_hand(void)
{
  return machine_of("alpha cpu off-node any 20e-6 s m\n"
                    "beta cpu off-node any 1e-9 s/B m\n"
                    "alpha cpu on-socket any 2e-6 s m\n"
                    "beta cpu on-socket any 0.25e-9 s/B m\n"
                    "flag cpu any - 0.5e-6 s m\n"
                    "shared cpu on-node 2 0.1e-9 s/B m\n");
}

/* Between nodes 6000 bytes take 26 us, inside 3.5 us as a message and 1.1 us in shared memory. */
static void check_prices(const grove_survey *survey, int messages)
{
  static const double us[2][3] = {
    /* Two messages; one, and one inside, while a rank is busy with two copies of 0.85 us; 12000
     * bytes, and 12000 inside. */
    {52, 26 + 1.7, 32 + 1.7},
    {52, 26 + 3.5, 32 + 5},
  };
  for (int way = 0; way < 3; way++) {
    grove_choice choice;
    grove_question q = {.unit_bytes = 1000, .backward = way == 1, .both = way == 2};
    CHECK_OK(grove_route_choose(survey, &q, &choice));
    for (int i = 0; i < 3; i++)
      CHECK(near(choice.candidates[i].seconds, 1e-6 * us[messages][i] * (1 + q.both)),
            "way %d: %s takes %.12g", way, grove_routes[i]->name, choice.candidates[i].seconds);
    CHECK(choice.candidates[3].seconds == choice.candidates[2].seconds, "split is cut");
    CHECK(choice.chosen == 1 && choice.runner_up == 2, "%d before %d", choice.chosen,
          choice.runner_up);
    CHECK(choice.needed == 1.3, "%g", choice.needed);
  }
}

/* What rank 0 is told: what all ranks send, and the terms of the dearest node. */
static void check_told(const grove_survey *survey, int messages)
{
  static const int64_t sent[3][5] = {/* stages; messages inside and between; bytes */
                                     {1, 0, 4, 0, 24000},
                                     {2, 2, 2, 12000, 12000},
                                     {3, 2, 1, 18000, 12000}};
  static const double us[2][3][GROVE_TERMS] = {
    {{40, 12}, {20, 6, 0, 0, 0, 0.5, 0.6, 0.6}, {20, 12, 0, 0, 0, 0.5, 1.2}},
    {{40, 12}, {20, 6, 0, 0, 0, 3.5}, {20, 12, 0, 0, 0, 5}},
  };
  for (int both = 0; both < 2; both++) {
    grove_choice choice;
    grove_question q = {.unit_bytes = 1000, .both = both};
    CHECK_OK(grove_route_explain(survey, &q, &choice));
    for (int i = 0; i < 3 && survey->ctx->rank == 0; i++) {
      const grove_estimate *e = &choice.candidates[i].estimate;
      const int64_t got[] = {e->stages, e->messages[0], e->messages[1], e->bytes[0], e->bytes[1]};
      for (int k = 0; k < 5; k++)
        CHECK(got[k] == sent[i][k] * (1 + both), "%s: number %d is %lld", grove_routes[i]->name, k,
              (long long)got[k]);
      for (int t = 0; t < GROVE_TERMS; t++)
        CHECK(near(e->price.term[t], 1e-6 * us[messages][i][t] * (1 + both)), "%s: %s is %g",
              grove_routes[i]->name, grove_term_names[t], e->price.term[t]);
    }
  }
}

static void by_hand(const place *p)
{
  if (p->size != BY_HAND) return;
  graph *g = draw_by_hand();
  grove_machine *m = machine_by_hand();
  CHECK_OK(grove_context_set(p->ctx, "node_map", "0,0,1,1"));
  CHECK_OK(grove_context_set(p->ctx, "message_cap", "1000000"));
  CHECK_OK(grove_context_use_machine(p->ctx, m));
  for (int messages = 0; messages < 2; messages++) {
    grove_survey *survey = NULL;
    CHECK_OK(grove_context_set(p->ctx, "transport_on_node", messages ? "mpi" : "shm"));
    grove_forest *f = graph_forest(p->ctx, g, p->rank);
    CHECK_OK(grove_survey_create(f, 1, &survey));
    check_prices(survey, messages || !p->ctx->shares_node);
    check_told(survey, messages || !p->ctx->shares_node);
    grove_survey_free(&survey);
    CHECK_OK(grove_forest_free(&f));
  }
  CHECK_OK(grove_context_set(p->ctx, "message_cap", "auto"));
  CHECK_OK(grove_context_set(p->ctx, "node_map", ""));
  grove_machine_free(&m);
  graph_free(g);
}

/* One node, nodes with a rank each, a transport that only standard has: nothing to choose. */
static void can_help(const place *p)
{
  static const struct {
    const char *nodes, *transport;
    int least;
  } row[] = {
    {"1000", "p2p", 99}, {"1", "p2p", 99}, {"2", "p2p", 3}, {"2", "rma", 99}, {"2", "ofi", 3}};
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
  for (int i = 0; i < all.n; i++) can_help(&all.place[i]);
  for (int i = 0; i < all.n; i++) by_hand(&all.place[i]);
  for (int64_t i = 0; i < test_samples(48); i++) {
    test_case(i);
    const place *p = places_turn(&all, i);
    at_random(p, (uint64_t)i * 2 + (uint64_t)p->side);
  }
  places_free(&all);
  return test_end();
}
