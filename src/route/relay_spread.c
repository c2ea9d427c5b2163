/* The stage of a relay that passes on what came to a node to the ranks that need it. */
#include "route/relay_plan.h"

#include <stdlib.h>

/* ---- sending ---- */

/* For every rank of the node, one after the other, lists where the units that it needs lie. `next`
 * is where each rank's list begins; afterwards, where it ends. */
static void list_units(const grove_relay_maker *m, int64_t *next, int64_t *slots)
{
  const grove_relay_state *h = m->state;
  for (int64_t i = 0; i < h->nreceives; i++) {
    const grove_relay_receive *in = &h->receives[i];
    const int64_t *at = in->lists;
    for (int64_t k = 0; k < in->nlists; k++) {
      grove_listed list = grove_relay_list(&at);
      int64_t *to = &next[m->topo->place[list.rank].local];
      for (int64_t u = 0; u < list.count; u++) slots[(*to)++] = m->sent + in->at + list.places[u];
    }
  }
}

/* This rank's own units, each for every leaf that needs it. */
static grove_status keep_listed(const grove_relay_maker *m, const int64_t *units, grove_slots *out)
{
  grove_status status = GROVE_OK;
  const grove_relay_state *h = m->state;
  int64_t *slots = NULL, n = 0;
  GROVE_ROOM(slots, m->own_leaves);
  for (int64_t i = m->own_first; i < m->own_end; i++)
    for (int64_t u = h->arrivals.leg[i].begin; u < h->arrivals.leg[i].end; u++, units++)
      for (int64_t k = h->needs.starts[u]; k < h->needs.starts[u + 1]; k++) slots[n++] = *units;
  GROVE_TRY(grove_relay_slots(m, GROVE_ARRAY_HUB, n, slots, out));
fail:
  free(slots);
  return status;
}

/* Messages that read a value once for each rank that needs it. */
static grove_status send_listed(const grove_relay_maker *m, grove_stage *stage)
{
  grove_status status = GROVE_OK;
  const int64_t *needed = m->state->needed;
  int64_t *slots = NULL, *next = NULL, n = 0;
  GROVE_ROOM(next, m->node_size);
  for (int l = 0; l < m->node_size; l++) {
    next[l] = n;
    n += needed[l];
  }
  GROVE_ROOM(slots, n);
  list_units(m, next, slots);
  for (int l = 0, i = 0; l < m->node_size; l++) {
    int peer = grove_topo_node_rank(m->topo, m->node, l);
    const int64_t *first = slots + next[l] - needed[l];
    if (peer == m->rank) {
      GROVE_TRY(keep_listed(m, first, &stage->keep_from));
    } else if (needed[l] > 0) {
      stage->sends[i].peer = peer;
      GROVE_TRY(grove_relay_slots(m, GROVE_ARRAY_HUB, needed[l], first, &stage->sends[i++].slots));
    }
  }
fail:
  free(slots);
  free(next);
  return status;
}

/* Messages that have their own slots. */
static void send_apart(const grove_relay_maker *m, grove_stage *stage)
{
  int64_t at = m->sent;
  for (int l = 0, i = 0; l < m->node_size; l++) {
    int peer = grove_topo_node_rank(m->topo, m->node, l);
    grove_slots slots = grove_relay_run(at, grove_relay_slots_for(m, l));
    at += slots.index.count;
    if (peer == m->rank)
      stage->keep_from = slots;
    else if (slots.index.count > 0)
      stage->sends[i++] = (grove_message){.peer = peer, .slots = slots};
  }
}

/* ---- receiving ---- */

/* What comes in the arrivals first .. end-1, to the leaves that need it. */
static grove_status receive_leaves(const grove_relay_maker *m, int64_t first, int64_t end,
                                   grove_message *out)
{
  grove_status status = GROVE_OK;
  const grove_needs *needs = &m->state->needs;
  const grove_leg *legs = m->state->arrivals.leg;
  int64_t *starts = NULL, *slots = NULL, units = 0, leaves = 0;
  for (int64_t i = first; i < end; i++) {
    units += legs[i].end - legs[i].begin;
    leaves += needs->starts[legs[i].end] - needs->starts[legs[i].begin];
  }
  GROVE_ROOM(starts, units + 1);
  GROVE_ROOM(slots, leaves);
  units = leaves = 0;
  for (int64_t i = first; i < end; i++)
    for (int64_t u = legs[i].begin; u < legs[i].end; u++) {
      starts[units++] = leaves;
      for (int64_t k = needs->starts[u]; k < needs->starts[u + 1]; k++)
        slots[leaves++] = needs->slots[k];
    }
  starts[units] = leaves;
  out->peer = legs[first].receiver;
  out->far_hub = 1;
  GROVE_TRY(grove_relay_units(m, GROVE_ARRAY_LEAF, units, starts, slots, out));
fail:
  free(starts);
  free(slots);
  return status;
}

static int64_t next_arrival(const grove_legs *legs, int64_t i)
{
  int64_t next = i;
  while (next < legs->count && legs->leg[next].receiver == legs->leg[i].receiver) next++;
  return next;
}

static grove_status spread_receives(const grove_relay_maker *m, grove_stage *stage)
{
  const grove_legs *arrivals = &m->state->arrivals;
  grove_message kept = {0};
  for (int64_t i = 0, next = 0, k = 0; i < arrivals->count; i = next) {
    next = next_arrival(arrivals, i);
    int own = arrivals->leg[i].receiver == m->rank;
    GROVE_PASS(receive_leaves(m, i, next, own ? &kept : &stage->receives[k++]));
  }
  stage->keep_to = kept.slots; /* one entry per leaf */
  return GROVE_OK;
}

grove_status grove_relay_spread(const grove_relay_maker *m, int stage)
{
  const grove_relay_state *h = m->state;
  grove_stage *s = &m->plan->stages[stage];
  int sends = 0, receives = 0;
  for (int l = 0; l < m->node_size; l++)
    sends += h->needed[l] > 0 && l != m->topo->place[m->rank].local;
  for (int64_t i = 0; i < h->arrivals.count; i = next_arrival(&h->arrivals, i))
    receives += h->arrivals.leg[i].receiver != m->rank;
  GROVE_PASS(grove_plan_stage(m->plan, stage, sends, receives));
  if (h->how->back)
    send_apart(m, s);
  else
    GROVE_PASS(send_listed(m, s));
  return spread_receives(m, s);
}
