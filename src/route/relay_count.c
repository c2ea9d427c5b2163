/* Counts the messages of a relay from a demand: those that relay_plan.c makes on all ranks. */
#include "base/order.h"
#include "route/direct.h"
#include "route/relay.h"

#include <stdlib.h>

/* Legs of one block lie together; returns where those of (from, node) begin. */
static int64_t find_legs(const grove_legs *legs, int from, int node)
{
  int64_t low = 0, high = legs->count;
  const grove_leg least = {.from = from, .node = node};
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (grove_legs_by_block(&legs->leg[middle], &least) < 0)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* How many values of a pair come before `limit` in a block of `units`; a proportional estimate if
 * the places are unknown. */
static int64_t values_below(const grove_demand_pair *p, int64_t limit, int64_t units)
{
  if (limit == 0 || limit == units) return limit == 0 ? 0 : p->distinct;
  if (p->places) return grove_order_below(p->distinct, p->places, limit);
  return (int64_t)((double)p->distinct * (double)limit / (double)units);
}

/* What receivers pass on to one rank from another. */
static grove_status add_spread(const grove_legs *legs, const grove_demand_pair *p, int node,
                               int stage, grove_manifest *m)
{
  int64_t first = find_legs(legs, p->from, node), end = first;
  while (end < legs->count && legs->leg[end].from == p->from && legs->leg[end].node == node) end++;
  for (int64_t i = first; i < end; i++) {
    const grove_leg *leg = &legs->leg[i];
    int64_t units = legs->leg[end - 1].end;
    int64_t count = values_below(p, leg->end, units) - values_below(p, leg->begin, units);
    if (count > 0 && leg->receiver != p->to)
      GROVE_PASS(grove_manifest_add(m, stage, leg->receiver, p->to, count));
  }
  return GROVE_OK;
}

static grove_status add_pairs(const grove_demand *demand, const grove_topo *topo,
                              const grove_build *how, const grove_legs *legs, int cross,
                              grove_manifest *m)
{
  for (int64_t i = 0; i < demand->npairs; i++) {
    const grove_demand_pair *p = &demand->pairs[i];
    if (grove_topo_same_node(topo, p->from, p->to))
      GROVE_PASS(grove_manifest_add(m, cross, p->from, p->to, grove_direct_units(p, topo, how)));
    else
      GROVE_PASS(add_spread(legs, p, topo->place[p->to].node, cross + 1, m));
  }
  return GROVE_OK;
}

static grove_status add_legs(const grove_legs *legs, int cross, grove_manifest *m)
{
  for (int64_t i = 0; i < legs->count; i++) {
    const grove_leg *leg = &legs->leg[i];
    int64_t units = leg->end - leg->begin;
    if (leg->sender != leg->from)
      GROVE_PASS(grove_manifest_add(m, 0, leg->from, leg->sender, units));
    GROVE_PASS(grove_manifest_add(m, cross, leg->sender, leg->receiver, units));
  }
  return GROVE_OK;
}

static int by_stage_and_ranks(const void *a, const void *b)
{
  const grove_shipment *x = a, *y = b;
  if (x->stage != y->stage) return x->stage < y->stage ? -1 : 1;
  if (x->from != y->from) return x->from < y->from ? -1 : 1;
  return (x->to > y->to) - (x->to < y->to);
}

/* All that goes from one rank to another in a stage is one message. */
static void merge_legs(grove_manifest *m)
{
  int64_t used = 0;
  if (m->count > 1) qsort(m->shipments, (size_t)m->count, sizeof *m->shipments, by_stage_and_ranks);
  for (int64_t i = 0; i < m->count; i++) {
    if (used > 0 && by_stage_and_ranks(&m->shipments[used - 1], &m->shipments[i]) == 0)
      m->shipments[used - 1].units += m->shipments[i].units;
    else
      m->shipments[used++] = m->shipments[i];
  }
  m->count = used;
}

grove_status grove_relay_count(const grove_relay *relay, const grove_demand *demand,
                               const grove_topo *topo, const grove_build *how, grove_manifest *out)
{
  grove_status status = GROVE_OK;
  int cross = relay->gathers ? 1 : 0;
  grove_manifest m = {.nstages = cross + 2};
  grove_legs legs = {0};
  GROVE_TRY(relay->divide(topo, how, demand->nblocks, demand->blocks, &legs));
  grove_legs_sort(&legs, grove_legs_by_block);
  GROVE_TRY(add_legs(&legs, cross, &m));
  GROVE_TRY(add_pairs(demand, topo, how, &legs, cross, &m));
  merge_legs(&m);
  *out = m;
  m = (grove_manifest){0};
fail:
  grove_manifest_free(&m);
  grove_legs_free(&legs);
  return status;
}
