/* The stage of a relay in which values cross from node to node, and go directly inside a node. */
#include "route/direct.h"
#include "route/relay_plan.h"

#include <stdlib.h>

/* ---- sending ---- */

/* One past the sends from `i` on that have the same receiver, in the order of receivers. */
static int64_t next_receiver(const grove_relay_state *h, int64_t i)
{
  int64_t next = i;
  while (next < h->nsends &&
         h->sends[h->by_receiver[next]].receiver == h->sends[h->by_receiver[i]].receiver)
    next++;
  return next;
}

static int count_cross_sends(const grove_relay_state *h)
{
  int count = 0;
  if (h->relay->gathers)
    for (int64_t i = 0; i < h->nsends; i = next_receiver(h, i)) count++;
  else
    for (int64_t i = 0; i < h->legs.count; i = grove_relay_next_leg(&h->legs, i, 1)) count++;
  return count;
}

/* What was gathered lies ready, message after message. */
static void send_on(const grove_relay_maker *m, grove_message *sends)
{
  const grove_relay_state *h = m->state;
  for (int64_t i = 0, next = 0; i < h->nsends; i = next, sends++) {
    const grove_relay_send *first = &h->sends[h->by_receiver[i]];
    next = next_receiver(h, i);
    int64_t end = next < h->nsends ? h->sends[h->by_receiver[next]].at : m->sent;
    *sends = (grove_message){.peer = first->receiver,
                             .slots = grove_relay_run(first->at, end - first->at)};
  }
}

static grove_status send_legs(const grove_relay_maker *m, grove_message *sends)
{
  const grove_legs *legs = &m->state->legs;
  for (int64_t i = 0, next = 0; i < legs->count; i = next, sends++) {
    next = grove_relay_next_leg(legs, i, 1);
    sends->peer = legs->leg[i].receiver;
    GROVE_PASS(grove_relay_roots(m, i, next, &sends->slots));
  }
  return GROVE_OK;
}

/* ---- receiving ---- */

/* One past the receives from `i` on that have the same sender. */
static int64_t next_receive(const grove_relay_state *h, int64_t i)
{
  int64_t next = i;
  while (next < h->nreceives && h->receives[next].sender == h->receives[i].sender) next++;
  return next;
}

static int count_cross_receives(const grove_relay_state *h)
{
  int count = 0;
  for (int64_t i = 0; i < h->nreceives; i = next_receive(h, i)) count++;
  return count;
}

/* As it comes. */
static void receive_as_sent(const grove_relay_maker *m, grove_message *receives)
{
  const grove_relay_state *h = m->state;
  for (int64_t i = 0, next = 0; i < h->nreceives; i = next, receives++) {
    next = next_receive(h, i);
    const grove_relay_receive *last = &h->receives[next - 1];
    int64_t first = h->receives[i].at;
    *receives =
      (grove_message){.peer = last->sender,
                      .slots = grove_relay_run(m->sent + first, last->at + last->units - first)};
  }
}

/* How far the slots of each rank of the node are filled, and which own unit is next. */
typedef struct cursor {
  int64_t *next; /* by local number */
  int64_t own_leg, own_unit;
} cursor;

static grove_status cursor_create(const grove_relay_maker *m, cursor *out)
{
  int64_t at = m->sent;
  *out = (cursor){.own_leg = m->own_first};
  GROVE_PASS_ROOM(out->next, m->node_size);
  for (int l = 0; l < m->node_size; l++) {
    out->next[l] = at;
    at += grove_relay_slots_for(m, l);
  }
  return GROVE_OK;
}

/* The number of leaves of the next own unit. */
static int64_t next_own_unit(const grove_relay_maker *m, cursor *c)
{
  const grove_leg *leg = &m->state->arrivals.leg[c->own_leg];
  int64_t u = leg->begin + c->own_unit++;
  if (u + 1 == leg->end) {
    c->own_leg++;
    c->own_unit = 0;
  }
  return m->state->needs.starts[u + 1] - m->state->needs.starts[u];
}

/* counts[u] becomes the number of slots of unit u of a received leg. */
static void count_slots(const grove_relay_maker *m, const grove_relay_receive *in, cursor *c,
                        int64_t *counts)
{
  const int64_t *at = in->lists;
  for (int64_t k = 0; k < in->nlists; k++) {
    grove_listed list = grove_relay_list(&at);
    for (int64_t i = 0; i < list.count; i++)
      counts[list.places[i]] += list.rank == m->rank ? next_own_unit(m, c) : 1;
  }
}

/* Fills in the slots of its units, from place[u] on, by ascending rank. */
static void fill_unit_slots(const grove_relay_maker *m, const grove_relay_receive *in, cursor *c,
                            int64_t *place, int64_t *slots)
{
  const int64_t *at = in->lists;
  for (int64_t k = 0; k < in->nlists; k++) {
    grove_listed list = grove_relay_list(&at);
    int64_t *next = &c->next[m->topo->place[list.rank].local];
    for (int64_t i = 0; i < list.count; i++) {
      int64_t n = list.rank == m->rank ? next_own_unit(m, c) : 1;
      for (int64_t j = 0; j < n; j++) slots[place[list.places[i]]++] = (*next)++;
    }
  }
}

/* The message of the receives first .. end-1, each value to a slot for each rank that needs it. */
static grove_status receive_for_each(const grove_relay_maker *m, int64_t first, int64_t end,
                                     cursor *c, grove_message *out)
{
  grove_status status = GROVE_OK;
  const grove_relay_receive *in = m->state->receives, *last = &in[end - 1];
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
  for (int64_t i = first; i < end; i++)
    fill_unit_slots(m, &in[i], c, place + in[i].at - base, slots);
  out->peer = last->sender;
  GROVE_TRY(grove_relay_units(m, GROVE_ARRAY_HUB, units, starts, slots, out));
fail:
  free(starts);
  free(place);
  free(slots);
  return status;
}

static grove_status receive_apart(const grove_relay_maker *m, grove_message *receives)
{
  grove_status status = GROVE_OK;
  cursor c = {0};
  GROVE_TRY(cursor_create(m, &c));
  for (int64_t i = 0, next = 0; i < m->state->nreceives; i = next) {
    next = next_receive(m->state, i);
    GROVE_TRY(receive_for_each(m, i, next, &c, receives++));
  }
fail:
  free(c.next);
  return status;
}

static int by_message_peer(const void *a, const void *b)
{
  const grove_message *x = a, *y = b;
  return (x->peer > y->peer) - (x->peer < y->peer);
}

static void sort_messages(int n, grove_message *messages)
{
  if (n > 1) qsort(messages, (size_t)n, sizeof *messages, by_message_peer);
}

grove_status grove_relay_cross(const grove_relay_maker *m, int stage)
{
  const grove_relay_state *h = m->state;
  grove_stage *s = &m->plan->stages[stage];
  int sends = count_cross_sends(h), receives = count_cross_receives(h);
  GROVE_PASS(
    grove_direct_stage(h->f, h->how, GROVE_DIRECT_ON_NODE, sends, receives, stage, m->plan));
  grove_message *out = s->sends + s->nsends - sends, *in = s->receives + s->nreceives - receives;
  if (h->relay->gathers)
    send_on(m, out);
  else
    GROVE_PASS(send_legs(m, out));
  if (h->how->back)
    GROVE_PASS(receive_apart(m, in));
  else
    receive_as_sent(m, in);
  sort_messages(s->nsends, s->sends);
  sort_messages(s->nreceives, s->receives);
  return GROVE_OK;
}
