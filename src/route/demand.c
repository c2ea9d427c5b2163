#include "route/demand.h"

#include "base/distinct.h"
#include "base/order.h"
#include "route/contents.h"
#include "route/pairs.h"

#include <stdlib.h>
#include <string.h>

/* A demand in the making. */
typedef struct maker {
  const grove_topo *topo;
  int share;
  grove_pairs edges;
  int64_t *source; /* for each pair of the demand: its number in `edges` */
  grove_demand *demand;
  int64_t nplaces; /* used so far */
} maker;

void grove_demand_free(grove_demand *demand)
{
  free(demand->pairs);
  free(demand->blocks);
  free(demand->places);
  *demand = (grove_demand){0};
}

static int node_of_pair(const maker *m, int64_t pair)
{
  return m->topo->place[m->demand->pairs[pair].to].node;
}

/* ---- pairs ---- */

/* `edges` has pairs by leaf rank, then by root rank: here it is the other way round. */
static grove_status sort_pairs(maker *m)
{
  grove_status status = GROVE_OK;
  const grove_pairs *e = &m->edges;
  int64_t *next = NULL, n = 0;
  GROVE_NEW(next, m->topo->nranks + 1);
  for (int64_t i = 0; i < e->count; i++)
    if (e->leaf_rank[i] != e->root_rank[i]) next[e->root_rank[i] + 1]++;
  for (int r = 0; r < m->topo->nranks; r++) next[r + 1] += next[r];
  n = next[m->topo->nranks];
  GROVE_ROOM(m->source, n);
  GROVE_ROOM(m->demand->pairs, n);
  for (int64_t i = 0; i < e->count; i++)
    if (e->leaf_rank[i] != e->root_rank[i]) m->source[next[e->root_rank[i]]++] = i;
  for (int64_t k = 0; k < n; k++) {
    int64_t i = m->source[k], edges = e->begin[i + 1] - e->begin[i];
    m->demand->pairs[k] = (grove_demand_pair){
      .from = e->root_rank[i], .to = e->leaf_rank[i], .edges = edges, .distinct = edges};
  }
  m->demand->npairs = n;
fail:
  free(next);
  return status;
}

/* ---- blocks ---- */

static grove_index roots_of(const maker *m, int64_t pair)
{
  return (grove_index){.count = m->demand->pairs[pair].edges,
                       .wide = m->edges.roots + m->edges.begin[m->source[pair]]};
}

/* Gives each pair the places of its values. */
static void copy_places(maker *m, const grove_contents *block, const int64_t *pairs)
{
  for (int i = 0; i < block->nlists; i++) {
    grove_demand_pair *p = &m->demand->pairs[pairs[i]];
    int64_t *places = m->demand->places + m->nplaces;
    p->distinct = block->begin[i + 1] - block->begin[i];
    p->places = places;
    memcpy(places, block->places + block->begin[i], (size_t)p->distinct * sizeof *places);
    m->nplaces += p->distinct;
  }
}

/* `pairs` are those of one rank with one node. */
static grove_status add_demand_block(maker *m, int n, const int64_t *pairs)
{
  grove_status status = GROVE_OK;
  grove_demand *d = m->demand;
  grove_contents block = {0};
  grove_index *lists = NULL;
  GROVE_ROOM(lists, n);
  for (int i = 0; i < n; i++) lists[i] = roots_of(m, pairs[i]);
  GROVE_TRY(grove_contents_create(n, lists, m->share, &block));
  copy_places(m, &block, pairs);
  d->blocks[d->nblocks++] = (grove_demand_block){
    .from = d->pairs[pairs[0]].from, .node = node_of_pair(m, pairs[0]), .units = block.units};
fail:
  grove_contents_free(&block);
  free(lists);
  return status;
}

/* ---- one rank after the other ---- */

/* Inside a node there are no blocks. */
static grove_status count_distinct_roots(maker *m, int64_t pair)
{
  grove_demand_pair *p = &m->demand->pairs[pair];
  if (!m->share) return GROVE_OK;
  grove_index roots = {.count = p->edges, .wide = m->edges.roots + m->edges.begin[m->source[pair]]};
  return grove_distinct_count(&roots, &p->distinct);
}

/* The pairs begin .. end-1 are those of one root rank. */
static grove_status add_demands_of(maker *m, int64_t begin, int64_t end)
{
  grove_status status = GROVE_OK;
  int64_t n = end - begin, *nodes = NULL, *sorted = NULL;
  int32_t *order = NULL;
  int own = m->topo->place[m->demand->pairs[begin].from].node;
  GROVE_ROOM(nodes, n);
  GROVE_ROOM(sorted, n);
  for (int64_t i = 0; i < n; i++) nodes[i] = node_of_pair(m, begin + i);
  GROVE_TRY(grove_order_create(n, nodes, &order));
  for (int64_t i = 0; i < n; i++) sorted[i] = begin + order[i];
  for (int64_t i = 0, next = 0; i < n; i = next) {
    int node = node_of_pair(m, sorted[i]);
    for (next = i; next < n && node_of_pair(m, sorted[next]) == node; next++)
      if (node == own) GROVE_TRY(count_distinct_roots(m, sorted[next]));
    if (node != own) GROVE_TRY(add_demand_block(m, (int)(next - i), sorted + i));
  }
fail:
  free(nodes);
  free(sorted);
  free(order);
  return status;
}

/* Room for the blocks, which are no more than the pairs, and for all places. */
static grove_status make_demand(maker *m)
{
  grove_demand *d = m->demand;
  int64_t off_node = 0;
  for (int64_t i = 0; i < d->npairs; i++)
    if (!grove_topo_same_node(m->topo, d->pairs[i].from, d->pairs[i].to))
      off_node += d->pairs[i].edges;
  GROVE_PASS_ROOM(d->blocks, d->npairs);
  GROVE_PASS_ROOM(d->places, off_node);
  return GROVE_OK;
}

grove_status grove_demand_create(const grove_edge *edges, int64_t n, const grove_topo *topo,
                                 const grove_build *how, grove_demand *out)
{
  grove_status status = GROVE_OK;
  grove_demand d = {0};
  maker m = {.topo = topo, .share = how->share, .demand = &d};
  GROVE_TRY(grove_pairs_create(edges, n, topo->nranks, &m.edges));
  GROVE_TRY(sort_pairs(&m));
  GROVE_TRY(make_demand(&m));
  for (int64_t i = 0, next = 0; i < d.npairs; i = next) {
    for (next = i; next < d.npairs && d.pairs[next].from == d.pairs[i].from;) next++;
    GROVE_TRY(add_demands_of(&m, i, next));
  }
  *out = d;
  d = (grove_demand){0};
fail:
  grove_demand_free(&d);
  grove_pairs_free(&m.edges);
  free(m.source);
  return status;
}
