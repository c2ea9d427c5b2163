/* From what a rank's hub knows to its part of the plan: the stages of relay.h. */
#include "route/direct.h"
#include "route/hub.h"

#include <stdlib.h>

/* A plan in the making. */
typedef struct maker {
  const grove_hub *hub;
  grove_plan *plan;
  const grove_topo *topo;
  int rank, node, node_size;
  int64_t sent;      /* hub slots of what is sent: what is received lies behind */
  int64_t own_first; /* arrivals by way of this rank itself: the first, and behind the last */
  int64_t own_end;
  int64_t own_leaves;
} maker;

/* Slots that the plan owns from now on. */
static grove_status own_slots(grove_plan *plan, grove_space space, int64_t n, const int64_t *slots,
                              grove_slots *out)
{
  grove_status status = GROVE_OK;
  grove_index list = {0};
  GROVE_TRY(grove_index_create(n, slots, &list));
  GROVE_TRY(grove_plan_adopt(plan, &list));
  *out = (grove_slots){.space = space, .index = list};
fail:
  return status;
}

/* Hub slots one after the other. */
static grove_slots consecutive(int64_t first, int64_t count)
{
  return (grove_slots){.space = GROVE_SPACE_HUB, .index = {.first = first, .count = count}};
}

/* Units in the order of their slots; `starts` says which slots are whose, and is kept where a unit
 * has several. */
static grove_status receive_units(grove_plan *plan, grove_space space, int64_t units,
                                  const int64_t *starts, const int64_t *slots, grove_message *m)
{
  grove_status status = GROVE_OK;
  grove_index bounds = {0};
  GROVE_TRY(own_slots(plan, space, starts[units], slots, &m->slots));
  if (starts[units] == units) return GROVE_OK;
  GROVE_TRY(grove_index_create(units + 1, starts, &bounds));
  GROVE_TRY(grove_plan_adopt(plan, &bounds));
  m->starts = bounds;
fail:
  return status;
}

static int by_peer(const void *a, const void *b)
{
  const grove_message *x = a, *y = b;
  return (x->peer > y->peer) - (x->peer < y->peer);
}

static void sort_messages(int n, grove_message *messages)
{
  if (n > 1) qsort(messages, (size_t)n, sizeof *messages, by_peer);
}

/* ---- legs of this rank's own blocks ---- */

/* Behind the legs from `i` on that have the same sender; with `to` the same receiver too. */
static int64_t next_leg(const grove_legs *legs, int64_t i, int to)
{
  int64_t next = i;
  while (next < legs->count && legs->leg[next].sender == legs->leg[i].sender &&
         (!to || legs->leg[next].receiver == legs->leg[i].receiver))
    next++;
  return next;
}

/* The roots of the legs first .. end-1. */
static grove_status root_slots(const maker *m, int64_t first, int64_t end, grove_slots *out)
{
  grove_status status = GROVE_OK;
  const grove_hub *h = m->hub;
  int64_t *slots = NULL, n = 0;
  for (int64_t i = first; i < end; i++) n += h->legs.leg[i].end - h->legs.leg[i].begin;
  GROVE_ROOM(slots, n);
  n = 0;
  for (int64_t i = first; i < end; i++) {
    const grove_leg *leg = &h->legs.leg[i];
    const grove_load *load = &h->cargo.loads[grove_cargo_find(&h->cargo, leg->node)];
    for (int64_t u = leg->begin; u < leg->end; u++) slots[n++] = load->values[u];
  }
  GROVE_TRY(own_slots(m->plan, GROVE_SPACE_ROOT, n, slots, out));
fail:
  free(slots);
  return status;
}

/* ---- gather ---- */

/* Where the units of one rank lie at their sender: passages first .. end-1. */
static grove_status sender_slots(const maker *m, int64_t first, int64_t end, grove_slots *out)
{
  grove_status status = GROVE_OK;
  const grove_passage *passages = m->hub->passages;
  int64_t *slots = NULL, n = 0;
  for (int64_t i = first; i < end; i++) n += passages[i].units;
  GROVE_ROOM(slots, n);
  n = 0;
  for (int64_t i = first; i < end; i++)
    for (int64_t u = 0; u < passages[i].units; u++) slots[n++] = passages[i].at + u;
  GROVE_TRY(own_slots(m->plan, GROVE_SPACE_HUB, n, slots, out));
fail:
  free(slots);
  return status;
}

static grove_status gather_sends(const maker *m, grove_stage *stage)
{
  grove_status status = GROVE_OK;
  const grove_legs *legs = &m->hub->legs;
  for (int64_t i = 0, next = 0, k = 0; i < legs->count; i = next) {
    int sender = legs->leg[i].sender;
    next = next_leg(legs, i, 0);
    if (sender != m->rank) stage->sends[k].peer = sender;
    GROVE_TRY(
      root_slots(m, i, next, sender == m->rank ? &stage->keep_from : &stage->sends[k++].slots));
  }
fail:
  return status;
}

static int64_t next_passage(const grove_hub *h, int64_t i)
{
  int64_t next = i;
  while (next < h->npassages && h->passages[next].from == h->passages[i].from) next++;
  return next;
}

static grove_status gather_receives(const maker *m, grove_stage *stage)
{
  grove_status status = GROVE_OK;
  const grove_hub *h = m->hub;
  for (int64_t i = 0, next = 0, k = 0; i < h->npassages; i = next) {
    int from = h->passages[i].from;
    next = next_passage(h, i);
    if (from != m->rank) stage->receives[k].peer = from;
    GROVE_TRY(
      sender_slots(m, i, next, from == m->rank ? &stage->keep_to : &stage->receives[k++].slots));
  }
fail:
  return status;
}

static grove_status gather(const maker *m, int stage)
{
  grove_status status = GROVE_OK;
  const grove_hub *h = m->hub;
  int sends = 0, receives = 0;
  for (int64_t i = 0; i < h->legs.count; i = next_leg(&h->legs, i, 0))
    sends += h->legs.leg[i].sender != m->rank;
  for (int64_t i = 0; i < h->npassages; i = next_passage(h, i))
    receives += h->passages[i].from != m->rank;
  GROVE_TRY(grove_plan_stage(m->plan, stage, sends, receives));
  GROVE_TRY(gather_sends(m, &m->plan->stages[stage]));
  GROVE_TRY(gather_receives(m, &m->plan->stages[stage]));
fail:
  return status;
}

/* ---- cross: sending ---- */

/* Behind the passages from `i` on that have the same receiver, in the order of receivers. */
static int64_t next_receiver(const grove_hub *h, int64_t i)
{
  int64_t next = i;
  while (next < h->npassages &&
         h->passages[h->by_receiver[next]].receiver == h->passages[h->by_receiver[i]].receiver)
    next++;
  return next;
}

static int count_cross_sends(const grove_hub *h)
{
  int count = 0;
  if (h->relay->gathers)
    for (int64_t i = 0; i < h->npassages; i = next_receiver(h, i)) count++;
  else
    for (int64_t i = 0; i < h->legs.count; i = next_leg(&h->legs, i, 1)) count++;
  return count;
}

/* What was gathered lies ready, message after message. */
static void send_passages(const maker *m, grove_message *sends)
{
  const grove_hub *h = m->hub;
  for (int64_t i = 0, next = 0; i < h->npassages; i = next, sends++) {
    const grove_passage *first = &h->passages[h->by_receiver[i]];
    next = next_receiver(h, i);
    int64_t end = next < h->npassages ? h->passages[h->by_receiver[next]].at : m->sent;
    *sends =
      (grove_message){.peer = first->receiver, .slots = consecutive(first->at, end - first->at)};
  }
}

static grove_status send_legs(const maker *m, grove_message *sends)
{
  grove_status status = GROVE_OK;
  const grove_legs *legs = &m->hub->legs;
  for (int64_t i = 0, next = 0; i < legs->count; i = next, sends++) {
    next = next_leg(legs, i, 1);
    sends->peer = legs->leg[i].receiver;
    GROVE_TRY(root_slots(m, i, next, &sends->slots));
  }
fail:
  return status;
}

/* ---- cross: receiving ---- */

/* Behind the intakes from `i` on that have the same sender. */
static int64_t next_intake(const grove_hub *h, int64_t i)
{
  int64_t next = i;
  while (next < h->nintakes && h->intakes[next].sender == h->intakes[i].sender) next++;
  return next;
}

static int count_cross_receives(const grove_hub *h)
{
  int count = 0;
  for (int64_t i = 0; i < h->nintakes; i = next_intake(h, i)) count++;
  return count;
}

/* As it comes. */
static void receive_as_sent(const maker *m, grove_message *receives)
{
  const grove_hub *h = m->hub;
  for (int64_t i = 0, next = 0; i < h->nintakes; i = next, receives++) {
    next = next_intake(h, i);
    const grove_intake *last = &h->intakes[next - 1];
    int64_t first = h->intakes[i].at;
    *receives = (grove_message){
      .peer = last->sender, .slots = consecutive(m->sent + first, last->at + last->units - first)};
  }
}

/* How far the slots of each rank of the node are filled, and which of the own units is next. */
typedef struct cursor {
  int64_t *next; /* by local number */
  int64_t own_leg, own_unit;
} cursor;

/* Where the hub has a slot for each rank that needs a value, and behind the last. */
static int64_t slots_for(const maker *m, int local)
{
  int own = m->topo->place[m->rank].local == local;
  return own ? m->own_leaves : m->hub->needed[local];
}

static grove_status cursor_create(const maker *m, cursor *out)
{
  grove_status status = GROVE_OK;
  int64_t at = m->sent;
  *out = (cursor){.own_leg = m->own_first};
  GROVE_ROOM(out->next, m->node_size);
  for (int l = 0; l < m->node_size; l++) {
    out->next[l] = at;
    at += slots_for(m, l);
  }
fail:
  return status;
}

/* How many leaves the next of the own units has. */
static int64_t next_own_unit(const maker *m, cursor *c)
{
  const grove_leg *leg = &m->hub->arrivals.leg[c->own_leg];
  int64_t u = leg->begin + c->own_unit++;
  if (u + 1 == leg->end) {
    c->own_leg++;
    c->own_unit = 0;
  }
  return m->hub->needs.starts[u + 1] - m->hub->needs.starts[u];
}

/* counts[u] becomes how many slots unit u of an intake has. */
static void count_slots(const maker *m, const grove_intake *in, cursor *c, int64_t *counts)
{
  const int64_t *at = in->lists;
  for (int64_t k = 0; k < in->nlists; k++) {
    grove_listed list = grove_intake_list(&at);
    for (int64_t i = 0; i < list.count; i++)
      counts[list.places[i]] += list.rank == m->rank ? next_own_unit(m, c) : 1;
  }
}

/* Fills in the slots of its units, from place[u] on: by ascending rank. */
static void fill_slots(const maker *m, const grove_intake *in, cursor *c, int64_t *place,
                       int64_t *slots)
{
  const int64_t *at = in->lists;
  for (int64_t k = 0; k < in->nlists; k++) {
    grove_listed list = grove_intake_list(&at);
    int64_t *next = &c->next[m->topo->place[list.rank].local];
    for (int64_t i = 0; i < list.count; i++) {
      int64_t n = list.rank == m->rank ? next_own_unit(m, c) : 1;
      for (int64_t j = 0; j < n; j++) slots[place[list.places[i]]++] = (*next)++;
    }
  }
}

/* The message of the intakes first .. end-1, each value to a slot for each rank that needs it. */
static grove_status receive_for_each(const maker *m, int64_t first, int64_t end, cursor *c,
                                     grove_message *out)
{
  grove_status status = GROVE_OK;
  const grove_intake *in = m->hub->intakes, *last = &in[end - 1];
  int64_t base = in[first].at, units = last->at + last->units - base;
  int64_t *starts = NULL, *place = NULL, *slots = NULL;
  cursor ahead = *c;
  GROVE_NEW(starts, units + 1);
  GROVE_ROOM(place, units + 1);
  for (int64_t i = first; i < end; i++)
    count_slots(m, &in[i], &ahead, starts + 1 + in[i].at - base);
  for (int64_t u = 0; u < units; u++) starts[u + 1] += starts[u];
  for (int64_t u = 0; u <= units; u++) place[u] = starts[u];
  GROVE_ROOM(slots, starts[units]);
  for (int64_t i = first; i < end; i++) fill_slots(m, &in[i], c, place + in[i].at - base, slots);
  out->peer = last->sender;
  GROVE_TRY(receive_units(m->plan, GROVE_SPACE_HUB, units, starts, slots, out));
fail:
  free(starts);
  free(place);
  free(slots);
  return status;
}

static grove_status receive_apart(const maker *m, grove_message *receives)
{
  grove_status status = GROVE_OK;
  cursor c = {0};
  GROVE_TRY(cursor_create(m, &c));
  for (int64_t i = 0, next = 0; i < m->hub->nintakes; i = next) {
    next = next_intake(m->hub, i);
    GROVE_TRY(receive_for_each(m, i, next, &c, receives++));
  }
fail:
  free(c.next);
  return status;
}

static grove_status cross(const maker *m, int stage)
{
  grove_status status = GROVE_OK;
  const grove_hub *h = m->hub;
  grove_stage *s = &m->plan->stages[stage];
  int sends = count_cross_sends(h), receives = count_cross_receives(h);
  GROVE_TRY(
    grove_direct_stage(h->f, h->how, GROVE_DIRECT_ON_NODE, sends, receives, stage, m->plan));
  grove_message *out = s->sends + s->nsends - sends, *in = s->receives + s->nreceives - receives;
  if (h->relay->gathers)
    send_passages(m, out);
  else
    GROVE_TRY(send_legs(m, out));
  if (h->how->back)
    GROVE_TRY(receive_apart(m, in));
  else
    receive_as_sent(m, in);
  sort_messages(s->nsends, s->sends);
  sort_messages(s->nreceives, s->receives);
fail:
  return status;
}

/* ---- spread: sending ---- */

/* For every rank of the node, one after the other, where the units that it needs lie. `next` is
 * where each one's begin, and then where they end. */
static void list_units(const maker *m, int64_t *next, int64_t *slots)
{
  const grove_hub *h = m->hub;
  for (int64_t i = 0; i < h->nintakes; i++) {
    const grove_intake *in = &h->intakes[i];
    const int64_t *at = in->lists;
    for (int64_t k = 0; k < in->nlists; k++) {
      grove_listed list = grove_intake_list(&at);
      int64_t *to = &next[m->topo->place[list.rank].local];
      for (int64_t u = 0; u < list.count; u++) slots[(*to)++] = m->sent + in->at + list.places[u];
    }
  }
}

/* The own units of this rank, each for every leaf of it. */
static grove_status keep_listed(const maker *m, const int64_t *units, grove_slots *out)
{
  grove_status status = GROVE_OK;
  const grove_hub *h = m->hub;
  int64_t *slots = NULL, n = 0;
  GROVE_ROOM(slots, m->own_leaves);
  for (int64_t i = m->own_first; i < m->own_end; i++)
    for (int64_t u = h->arrivals.leg[i].begin; u < h->arrivals.leg[i].end; u++, units++)
      for (int64_t k = h->needs.starts[u]; k < h->needs.starts[u + 1]; k++) slots[n++] = *units;
  GROVE_TRY(own_slots(m->plan, GROVE_SPACE_HUB, n, slots, out));
fail:
  free(slots);
  return status;
}

/* Messages that read a value for each rank that needs it. */
static grove_status send_listed(const maker *m, grove_stage *stage)
{
  grove_status status = GROVE_OK;
  const int64_t *needed = m->hub->needed;
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
      GROVE_TRY(own_slots(m->plan, GROVE_SPACE_HUB, needed[l], first, &stage->sends[i++].slots));
    }
  }
fail:
  free(slots);
  free(next);
  return status;
}

/* Messages of slots of their own. */
static void send_apart(const maker *m, grove_stage *stage)
{
  int64_t at = m->sent;
  for (int l = 0, i = 0; l < m->node_size; l++) {
    int peer = grove_topo_node_rank(m->topo, m->node, l);
    grove_slots slots = consecutive(at, slots_for(m, l));
    at += slots.index.count;
    if (peer == m->rank)
      stage->keep_from = slots;
    else if (slots.index.count > 0)
      stage->sends[i++] = (grove_message){.peer = peer, .slots = slots};
  }
}

/* ---- spread: receiving ---- */

/* What comes in the arrivals first .. end-1, to the leaves that need it. */
static grove_status receive_leaves(const maker *m, int64_t first, int64_t end, grove_message *out)
{
  grove_status status = GROVE_OK;
  const grove_needs *needs = &m->hub->needs;
  const grove_leg *legs = m->hub->arrivals.leg;
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
  GROVE_TRY(receive_units(m->plan, GROVE_SPACE_LEAF, units, starts, slots, out));
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

static grove_status spread_receives(const maker *m, grove_stage *stage)
{
  grove_status status = GROVE_OK;
  const grove_legs *arrivals = &m->hub->arrivals;
  grove_message kept = {0};
  for (int64_t i = 0, next = 0, k = 0; i < arrivals->count; i = next) {
    next = next_arrival(arrivals, i);
    int own = arrivals->leg[i].receiver == m->rank;
    GROVE_TRY(receive_leaves(m, i, next, own ? &kept : &stage->receives[k++]));
  }
  stage->keep_to = kept.slots; /* one entry a leaf */
fail:
  return status;
}

static grove_status spread(const maker *m, int stage)
{
  grove_status status = GROVE_OK;
  const grove_hub *h = m->hub;
  grove_stage *s = &m->plan->stages[stage];
  int sends = 0, receives = 0;
  for (int l = 0; l < m->node_size; l++)
    sends += h->needed[l] > 0 && l != m->topo->place[m->rank].local;
  for (int64_t i = 0; i < h->arrivals.count; i = next_arrival(&h->arrivals, i))
    receives += h->arrivals.leg[i].receiver != m->rank;
  GROVE_TRY(grove_plan_stage(m->plan, stage, sends, receives));
  if (h->how->back)
    send_apart(m, s);
  else
    GROVE_TRY(send_listed(m, s));
  GROVE_TRY(spread_receives(m, s));
fail:
  return status;
}

/* ---- all of it ---- */

/* What a rank expects of itself is what owners told it that it needs. */
static grove_status find_own(maker *m)
{
  grove_status status = GROVE_OK;
  const grove_legs *arrivals = &m->hub->arrivals;
  const int64_t *starts = m->hub->needs.starts;
  int64_t units = 0, told = m->hub->needed[m->topo->place[m->rank].local], i = 0;
  while (i < arrivals->count && arrivals->leg[i].receiver < m->rank) i++;
  m->own_first = i;
  for (; i < arrivals->count && arrivals->leg[i].receiver == m->rank; i++) {
    units += arrivals->leg[i].end - arrivals->leg[i].begin;
    m->own_leaves += starts[arrivals->leg[i].end] - starts[arrivals->leg[i].begin];
  }
  m->own_end = i;
  GROVE_CHECK(units == told, GROVE_ERR_STATE,
              "route %s: rank %d needs %lld units of what it receives, and is told of %lld",
              m->hub->relay->route->name, m->rank, (long long)units, (long long)told);
fail:
  return status;
}

static int64_t received_slots(const maker *m)
{
  const grove_hub *h = m->hub;
  int64_t n = 0;
  if (h->how->back)
    for (int l = 0; l < m->node_size; l++) n += slots_for(m, l);
  else
    for (int64_t i = 0; i < h->nintakes; i++) n += h->intakes[i].units;
  return n;
}

static grove_status fill(maker *m)
{
  grove_status status = GROVE_OK;
  const grove_hub *h = m->hub;
  int stage = 0;
  for (int64_t i = 0; i < h->npassages; i++) m->sent += h->passages[i].units;
  GROVE_TRY(find_own(m));
  m->plan->hub = m->sent + received_slots(m);
  if (h->relay->gathers) GROVE_TRY(gather(m, stage++));
  GROVE_TRY(cross(m, stage++));
  GROVE_TRY(spread(m, stage));
fail:
  return status;
}

grove_status grove_hub_plan(const grove_hub *hub, grove_plan **out)
{
  grove_status status = GROVE_OK;
  const grove_topo *topo = &hub->f->ctx->topo;
  int rank = hub->f->ctx->rank, node = topo->place[rank].node;
  grove_plan *plan = NULL;
  GROVE_TRY(grove_plan_create(hub->relay->route->name, rank, hub->relay->gathers ? 3 : 2, &plan));
  maker m = {.hub = hub,
             .plan = plan,
             .topo = topo,
             .rank = rank,
             .node = node,
             .node_size = grove_topo_node_size(topo, node)};
  GROVE_TRY(fill(&m));
  *out = plan;
  return GROVE_OK;
fail:
  grove_plan_free(&plan);
  return status;
}
