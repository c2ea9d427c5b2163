#include "route/relay_plan.h"

#include <stdlib.h>

grove_status grove_relay_slots(const grove_relay_maker *m, grove_array which, int64_t n,
                               const int64_t *slots, grove_slots *out)
{
  grove_index list = {0};
  GROVE_PASS(grove_index_create(n, slots, &list));
  GROVE_PASS(grove_plan_adopt(m->plan, &list));
  *out = (grove_slots){.array = which, .index = list};
  return GROVE_OK;
}

grove_status grove_relay_units(const grove_relay_maker *m, grove_array which, int64_t units,
                               const int64_t *starts, const int64_t *slots, grove_message *out)
{
  grove_index bounds = {0};
  GROVE_PASS(grove_relay_slots(m, which, starts[units], slots, &out->slots));
  if (starts[units] == units) return GROVE_OK;
  GROVE_PASS(grove_index_create(units + 1, starts, &bounds));
  GROVE_PASS(grove_plan_adopt(m->plan, &bounds));
  out->starts = bounds;
  return GROVE_OK;
}

/* ---- legs of this rank's own blocks ---- */

int64_t grove_relay_next_leg(const grove_legs *legs, int64_t i, int both)
{
  int64_t next = i;
  while (next < legs->count && legs->leg[next].sender == legs->leg[i].sender &&
         (!both || legs->leg[next].receiver == legs->leg[i].receiver))
    next++;
  return next;
}

grove_status grove_relay_roots(const grove_relay_maker *m, int64_t first, int64_t end,
                               grove_slots *out)
{
  grove_status status = GROVE_OK;
  const grove_relay_state *h = m->state;
  int64_t *slots = NULL, n = 0;
  for (int64_t i = first; i < end; i++) n += h->legs.leg[i].end - h->legs.leg[i].begin;
  GROVE_ROOM(slots, n);
  n = 0;
  for (int64_t i = first; i < end; i++) {
    const grove_leg *leg = &h->legs.leg[i];
    const grove_contents *contents = &h->blocks.contents[grove_blocks_find(&h->blocks, leg->node)];
    for (int64_t u = leg->begin; u < leg->end; u++) slots[n++] = contents->values[u];
  }
  GROVE_TRY(grove_relay_slots(m, GROVE_ARRAY_ROOT, n, slots, out));
fail:
  free(slots);
  return status;
}

/* ---- gather ---- */

/* Where the units of one rank lie at their sender: sends first .. end-1. */
static grove_status sender_slots(const grove_relay_maker *m, int64_t first, int64_t end,
                                 grove_slots *out)
{
  grove_status status = GROVE_OK;
  const grove_relay_send *sends = m->state->sends;
  int64_t *slots = NULL, n = 0;
  for (int64_t i = first; i < end; i++) n += sends[i].units;
  GROVE_ROOM(slots, n);
  n = 0;
  for (int64_t i = first; i < end; i++)
    for (int64_t u = 0; u < sends[i].units; u++) slots[n++] = sends[i].at + u;
  GROVE_TRY(grove_relay_slots(m, GROVE_ARRAY_HUB, n, slots, out));
fail:
  free(slots);
  return status;
}

static grove_status gather_sends(const grove_relay_maker *m, grove_stage *stage)
{
  const grove_legs *legs = &m->state->legs;
  for (int64_t i = 0, next = 0, k = 0; i < legs->count; i = next) {
    int sender = legs->leg[i].sender;
    next = grove_relay_next_leg(legs, i, 0);
    if (sender != m->rank) stage->sends[k] = (grove_message){.peer = sender, .far_hub = 1};
    GROVE_PASS(grove_relay_roots(m, i, next,
                                 sender == m->rank ? &stage->keep_from : &stage->sends[k++].slots));
  }
  return GROVE_OK;
}

static int64_t next_send(const grove_relay_state *h, int64_t i)
{
  int64_t next = i;
  while (next < h->nsends && h->sends[next].from == h->sends[i].from) next++;
  return next;
}

static grove_status gather_receives(const grove_relay_maker *m, grove_stage *stage)
{
  const grove_relay_state *h = m->state;
  for (int64_t i = 0, next = 0, k = 0; i < h->nsends; i = next) {
    int from = h->sends[i].from;
    next = next_send(h, i);
    if (from != m->rank) stage->receives[k].peer = from;
    GROVE_PASS(
      sender_slots(m, i, next, from == m->rank ? &stage->keep_to : &stage->receives[k++].slots));
  }
  return GROVE_OK;
}

static grove_status gather_stage(const grove_relay_maker *m, int stage)
{
  const grove_relay_state *h = m->state;
  int sends = 0, receives = 0;
  for (int64_t i = 0; i < h->legs.count; i = grove_relay_next_leg(&h->legs, i, 0))
    sends += h->legs.leg[i].sender != m->rank;
  for (int64_t i = 0; i < h->nsends; i = next_send(h, i)) receives += h->sends[i].from != m->rank;
  GROVE_PASS(grove_plan_stage(m->plan, stage, sends, receives));
  GROVE_PASS(gather_sends(m, &m->plan->stages[stage]));
  return gather_receives(m, &m->plan->stages[stage]);
}

/* ---- all of it ---- */

/* What a rank expects from itself must match what owners said it needs. */
static grove_status find_own(grove_relay_maker *m)
{
  const grove_legs *arrivals = &m->state->arrivals;
  const int64_t *starts = m->state->needs.starts;
  int64_t units = 0, told = m->state->needed[m->topo->place[m->rank].local], i = 0;
  while (i < arrivals->count && arrivals->leg[i].receiver < m->rank) i++;
  m->own_first = i;
  for (; i < arrivals->count && arrivals->leg[i].receiver == m->rank; i++) {
    units += arrivals->leg[i].end - arrivals->leg[i].begin;
    m->own_leaves += starts[arrivals->leg[i].end] - starts[arrivals->leg[i].begin];
  }
  m->own_end = i;
  GROVE_PASS_CHECK(units == told, GROVE_ERR_STATE,
                   "route %s: rank %d needs %lld units of what it receives, and is told of %lld",
                   m->state->relay->route->name, m->rank, (long long)units, (long long)told);
  return GROVE_OK;
}

static int64_t received_slots(const grove_relay_maker *m)
{
  const grove_relay_state *h = m->state;
  int64_t n = 0;
  if (h->how->back)
    for (int l = 0; l < m->node_size; l++) n += grove_relay_slots_for(m, l);
  else
    for (int64_t i = 0; i < h->nreceives; i++) n += h->receives[i].units;
  return n;
}

static grove_status fill_stages(grove_relay_maker *m)
{
  const grove_relay_state *h = m->state;
  int stage = 0;
  for (int64_t i = 0; i < h->nsends; i++) m->sent += h->sends[i].units;
  GROVE_PASS(find_own(m));
  m->plan->hub = m->sent + received_slots(m);
  if (h->relay->gathers) GROVE_PASS(gather_stage(m, stage++));
  GROVE_PASS(grove_relay_cross(m, stage++));
  return grove_relay_spread(m, stage);
}

grove_status grove_relay_make_plan(const grove_relay_state *state, grove_plan **out)
{
  grove_status status = GROVE_OK;
  const grove_topo *topo = &state->f->ctx->topo;
  int rank = state->f->ctx->rank, node = topo->place[rank].node;
  grove_plan *plan = NULL;
  GROVE_TRY(
    grove_plan_create(state->relay->route->name, rank, state->relay->gathers ? 3 : 2, &plan));
  grove_relay_maker m = {.state = state,
                         .plan = plan,
                         .topo = topo,
                         .rank = rank,
                         .node = node,
                         .node_size = grove_topo_node_size(topo, node)};
  GROVE_TRY(fill_stages(&m));
  *out = plan;
  return GROVE_OK;
fail:
  grove_plan_free(&plan);
  return status;
}
