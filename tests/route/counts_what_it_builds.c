/* What a route counts from plain edges is what the plans of all ranks send: message by message, on
 * random forests, however ranks sit on nodes and whatever order the edges come in. Every rank holds
 * its part of the plan against the count of the whole, at both ends of each message. */
#include "check.h"
#include "generate.h"
#include "places.h"
#include "route/pairs.h"
#include "route/route.h"

#include <stdlib.h>
#include <string.h>

/* ---- all edges of all ranks ---- */

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

static void shuffle(rng *r, int64_t n, grove_edge *edges)
{
  for (int64_t i = n - 1; i > 0; i--) {
    int64_t j = rng_below(r, i + 1);
    grove_edge e = edges[i];
    edges[i] = edges[j];
    edges[j] = e;
  }
}

/* ---- comparing ---- */

static int by_stage_and_ranks(const void *a, const void *b)
{
  const grove_shipment *x = a, *y = b;
  if (x->stage != y->stage) return x->stage < y->stage ? -1 : 1;
  if (x->from != y->from) return x->from < y->from ? -1 : 1;
  return (x->to > y->to) - (x->to < y->to);
}

/* Leaves those that this rank sends or receives. */
static void keep_own(grove_manifest *m, int rank)
{
  int64_t kept = 0;
  for (int64_t i = 0; i < m->count; i++)
    if (m->shipments[i].from == rank || m->shipments[i].to == rank)
      m->shipments[kept++] = m->shipments[i];
  m->count = kept;
}

static void check_same(grove_manifest *counted, grove_manifest *built)
{
  CHECK(counted->nstages == built->nstages, "%d stages are counted, %d built", counted->nstages,
        built->nstages);
  CHECK(counted->count == built->count, "%lld messages are counted, %lld built",
        (long long)counted->count, (long long)built->count);
  if (counted->count == 0) return;
  qsort(counted->shipments, (size_t)counted->count, sizeof *counted->shipments, by_stage_and_ranks);
  qsort(built->shipments, (size_t)built->count, sizeof *built->shipments, by_stage_and_ranks);
  for (int64_t i = 0; i < counted->count; i++) {
    const grove_shipment *c = &counted->shipments[i], *b = &built->shipments[i];
    CHECK(by_stage_and_ranks(c, b) == 0 && c->units == b->units,
          "counted: stage %d, %d to %d, %lld units; built: stage %d, %d to %d, %lld units",
          (int)c->stage, (int)c->from, (int)c->to, (long long)c->units, (int)b->stage, (int)b->from,
          (int)b->to, (long long)b->units);
  }
}

/* Between two nodes there is one message, at most, each way. */
static void check_one_message(const grove_manifest *m, const grove_topo *topo)
{
  char *met = need((size_t)topo->nnodes * (size_t)topo->nnodes);
  memset(met, 0, (size_t)topo->nnodes * (size_t)topo->nnodes);
  for (int64_t i = 0; i < m->count; i++) {
    int from = topo->place[m->shipments[i].from].node, to = topo->place[m->shipments[i].to].node;
    CHECK(from == to || !met[from * topo->nnodes + to], "a second message from node %d to %d", from,
          to);
    met[from * topo->nnodes + to] = 1;
  }
  free(met);
}

/* The topology with nothing in it but what a count may look at. */
static grove_topo bare_topo(const grove_topo *topo)
{
  grove_place *seats = need((size_t)topo->nranks * sizeof *seats);
  memset(seats, -1, (size_t)topo->nranks * sizeof *seats);
  for (int i = 0; i < topo->nranks; i++) {
    seats[i].node = topo->place[i].node;
    seats[i].socket = topo->place[i].socket;
    seats[i].local = topo->place[i].local;
    seats[i].node_begin = topo->place[i].node_begin;
    seats[i].node_rank = topo->place[i].node_rank;
  }
  return (grove_topo){.nranks = topo->nranks, .nnodes = topo->nnodes, .place = seats};
}

/* ---- what one node knows ---- */

static int concerns(const grove_topo *topo, int node, int from, int to_node)
{
  return topo->place[from].node == node || to_node == node;
}

/* The demand that concerns a node, without places. */
static grove_demand part_of(const grove_demand *all, const grove_topo *topo, int node)
{
  grove_demand some = {.pairs = need((size_t)(all->npairs + 1) * sizeof *some.pairs),
                       .blocks = need((size_t)(all->nblocks + 1) * sizeof *some.blocks)};
  for (int64_t i = 0; i < all->npairs; i++)
    if (concerns(topo, node, all->pairs[i].from, topo->place[all->pairs[i].to].node)) {
      some.pairs[some.npairs] = all->pairs[i];
      some.pairs[some.npairs++].places = NULL;
    }
  for (int64_t i = 0; i < all->nblocks; i++)
    if (concerns(topo, node, all->blocks[i].from, all->blocks[i].node))
      some.blocks[some.nblocks++] = all->blocks[i];
  return some;
}

/* Leaves those that begin or end on a node. */
static void keep_node(grove_manifest *m, const grove_topo *topo, int node)
{
  int64_t kept = 0;
  for (int64_t i = 0; i < m->count; i++)
    if (concerns(topo, node, m->shipments[i].from, topo->place[m->shipments[i].to].node))
      m->shipments[kept++] = m->shipments[i];
  m->count = kept;
}

static int64_t units_into(const grove_manifest *m, const grove_topo *topo, int node)
{
  int64_t units = 0;
  for (int64_t i = 0; i < m->count; i++)
    if (topo->place[m->shipments[i].to].node == node &&
        topo->place[m->shipments[i].from].node != node)
      units += m->shipments[i].units;
  return units;
}

/* From what concerns a node, what begins or ends there is counted as from all; who sends slices of
 * a split from elsewhere cannot be known, but how much they are. */
static void check_part(const grove_route *route, const grove_demand *demand, const grove_topo *topo,
                       const grove_build *how, const grove_manifest *whole)
{
  int node = topo->nnodes / 2;
  grove_demand some = part_of(demand, topo, node);
  grove_manifest counted = {0};
  grove_manifest all = {.nstages = whole->nstages, .count = whole->count};
  all.shipments = need((size_t)(all.count + 1) * sizeof *all.shipments);
  if (all.count > 0)
    memcpy(all.shipments, whole->shipments, (size_t)all.count * sizeof *all.shipments);
  CHECK_OK(route->count(&some, topo, how, &counted));
  CHECK(units_into(&counted, topo, node) == units_into(&all, topo, node), "%lld units, not %lld",
        (long long)units_into(&counted, topo, node), (long long)units_into(&all, topo, node));
  keep_node(&counted, topo, node);
  keep_node(&all, topo, node);
  if (route != &grove_route_split) check_same(&counted, &all);
  grove_manifest_free(&counted);
  grove_manifest_free(&all);
  grove_demand_free(&some);
}

static void check_route(const grove_route *route, const place *p, const graph *g, rng *r)
{
  grove_forest *f = graph_forest(p->ctx, g, p->rank);
  grove_topo topo = bare_topo(&f->ctx->topo);
  grove_edge *edges = NULL;
  int64_t n = list_edges(g, &edges);
  if (rng_one_in(r, 2)) shuffle(r, n, edges);
  for (int way = 0; way < 8; way++) {
    grove_build how = {
      .share = way & 1, .by_root = way >> 1 & 1, .back = way >> 2, .cap = rng_between(r, 1, 40)};
    grove_manifest counted = {0}, built = {0};
    grove_demand demand = {0};
    grove_plan *plan = NULL;
    CHECK_OK(route->build(f, &how, &plan));
    CHECK_OK(grove_manifest_of_plan(plan, &built));
    CHECK_OK(grove_demand_create(edges, n, &topo, &how, &demand));
    CHECK_OK(route->count(&demand, &topo, &how, &counted));
    if (route == &grove_route_three_step) check_one_message(&counted, &topo);
    check_part(route, &demand, &topo, &how, &counted);
    keep_own(&counted, p->rank);
    check_same(&counted, &built);
    grove_manifest_free(&counted);
    grove_manifest_free(&built);
    grove_demand_free(&demand);
    CHECK(built.count == 0 && built.shipments == NULL, "a freed manifest is not empty");
    grove_plan_free(&plan);
  }
  free(edges);
  free((grove_place *)topo.place);
  CHECK_OK(grove_forest_free(&f));
}

static void at_random(const place *p, uint64_t number)
{
  rng r = rng_from(test_seed(), number);
  graph *g = graph_random(&r, (graph_kind)(number % GRAPH_KINDS), p->size);
  place_draw_nodes(p, &r);
  for (int i = 0; i < GROVE_ROUTES; i++) check_route(grove_routes[i], p, g, &r);
  graph_free(g);
}

/* ---- by hand, and against loops that anybody can read ---- */

static void count_by_hand(void)
{
  /* Rank 2 needs root 4 of rank 0 eight times and root 5 once, rank 1 root 7 of rank 0 twice, rank
   * 0 one of its own; ranks 0 and 1 are one node, rank 2 another. */
  grove_edge edges[16] = {{0, 0, 3}, {1, 0, 7}, {1, 0, 7}, {2, 0, 5}};
  grove_place seats[3] = {{.node = 0}, {.node = 0}, {.node = 1}};
  grove_topo topo = {.nranks = 3, .nnodes = 2, .place = seats};
  for (int i = 4; i < 12; i++) edges[i] = (grove_edge){2, 0, 4};
  for (int share = 0; share < 2; share++) {
    grove_manifest m = {0};
    grove_build how = {.share = share};
    grove_demand demand = {0};
    CHECK_OK(grove_demand_create(edges, 12, &topo, &how, &demand));
    CHECK_OK(grove_route_standard.count(&demand, &topo, &how, &m));
    CHECK(m.nstages == 1 && m.count == 2, "%d stages, %lld messages", m.nstages,
          (long long)m.count);
    CHECK(m.shipments[0].to == 1 && m.shipments[0].units == (share ? 1 : 2), "%lld units to 1",
          (long long)m.shipments[0].units);
    CHECK(m.shipments[1].to == 2 && m.shipments[1].units == (share ? 2 : 9), "%lld units to 2",
          (long long)m.shipments[1].units);
    grove_manifest_free(&m);
    grove_demand_free(&demand);
  }
  grove_manifest none = {0};
  grove_demand nothing = {0};
  CHECK_OK(grove_demand_create(NULL, 0, &topo, &(grove_build){0}, &nothing));
  CHECK_OK(grove_route_standard.count(&nothing, &topo, &(grove_build){0}, &none));
  CHECK(none.nstages == 1 && none.count == 0, "no edge makes %lld messages", (long long)none.count);
  grove_manifest_free(&none);
  grove_demand_free(&nothing);
}

static void refuses(void)
{
  const grove_edge bad[] = {{3, 0, 0}, {0, 3, 0}, {-1, 0, 0}, {0, -1, 0}, {0, 1, -1}};
  grove_place seats[3] = {{.node = 0}, {.node = 0}, {.node = 1}};
  grove_topo topo = {.nranks = 3, .nnodes = 2, .place = seats};
  for (int i = 0; i < 5; i++) {
    grove_demand d = {0};
    CHECK_STATUS(grove_demand_create(&bad[i], 1, &topo, &(grove_build){0}, &d), GROVE_ERR_ARG);
    CHECK(d.pairs == NULL && d.npairs == 0, "a failure leaves a demand");
  }
}

static void check_pairs(const grove_pairs *pairs, const grove_edge *edges, int64_t n)
{
  int64_t found = 0;
  for (int64_t p = 0; p < pairs->count; p++) {
    int leaf = pairs->leaf_rank[p], root = pairs->root_rank[p];
    int64_t at = pairs->begin[p];
    CHECK(p == 0 || pairs->leaf_rank[p - 1] < leaf ||
            (pairs->leaf_rank[p - 1] == leaf && pairs->root_rank[p - 1] < root),
          "pair %lld is out of order", (long long)p);
    for (int64_t i = 0; i < n; i++)
      if (edges[i].leaf_rank == leaf && edges[i].root_rank == root)
        CHECK(pairs->roots[at++] == edges[i].root, "edge %lld is elsewhere", (long long)i);
    CHECK(at == pairs->begin[p + 1], "pair %lld has other edges", (long long)p);
    found += at - pairs->begin[p];
  }
  CHECK(found == n, "%lld edges of %lld", (long long)found, (long long)n);
}

static void pairs_at_random(uint64_t number)
{
  rng r = rng_from(test_seed(), number);
  int nranks = (int)rng_between(&r, 1, 40);
  int64_t n = rng_below(&r, 300);
  grove_edge *edges = need((size_t)(n + 1) * sizeof *edges);
  for (int64_t i = 0; i < n; i++)
    edges[i] = (grove_edge){.leaf_rank = (int32_t)rng_below(&r, nranks),
                            .root_rank = (int32_t)rng_below(&r, nranks),
                            .root = rng_below(&r, INT64_MAX)};
  grove_pairs pairs = {0};
  CHECK_OK(grove_pairs_create(edges, n, nranks, &pairs));
  check_pairs(&pairs, edges, n);
  grove_pairs_free(&pairs);
  free(edges);
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "route/counts_what_it_builds");
  places all = places_create();
  count_by_hand();
  refuses();
  for (int64_t i = 0; i < test_samples(120); i++) {
    test_case(i);
    const place *p = places_turn(&all, i);
    at_random(p, (uint64_t)i * 2 + (uint64_t)p->side);
    pairs_at_random((uint64_t)i);
  }
  places_free(&all);
  return test_end();
}
