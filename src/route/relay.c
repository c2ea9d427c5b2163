#include "route/relay.h"

#include "base/order.h"
#include "route/relay_state.h"

#include <stdlib.h>

static void free_state(grove_relay_state *h)
{
  grove_blocks_free(&h->blocks);
  grove_needs_free(&h->needs);
  grove_legs_free(&h->legs);
  grove_legs_free(&h->arrivals);
  grove_packets_free(&h->packets);
  free(h->sends);
  free(h->by_receiver);
  free(h->receives);
  free(h->needed);
  *h = (grove_relay_state){0};
}

static int is_rank(const grove_relay_state *h, int64_t rank)
{
  return rank >= 0 && rank < h->f->ctx->size;
}

static int on_node_of(const grove_relay_state *h, int64_t rank, int other)
{
  return is_rank(h, rank) && grove_topo_same_node(&h->f->ctx->topo, (int)rank, other);
}

static int on_own_node(const grove_relay_state *h, int64_t rank)
{
  return on_node_of(h, rank, h->f->ctx->rank);
}

static grove_status misunderstood_leg(const grove_relay_state *h, int from)
{
  GROVE_PASS_CHECK(0, GROVE_ERR_STATE,
                   "route %s: rank %d does not understand what rank %d tells it",
                   h->relay->route->name, h->f->ctx->rank, from);
  return GROVE_OK;
}

/* ---- packets of the owners ---- */

/* What one rank needs of a leg. */
static grove_status write_list(grove_relay_state *h, const grove_leg *leg, int rank, int64_t n,
                               const int64_t *places)
{
  int64_t first = grove_order_below(n, places, leg->begin), *words = NULL;
  int64_t count = grove_order_below(n, places, leg->end) - first;
  if (count == 0) return GROVE_OK;
  GROVE_PASS(grove_packets_write(&h->packets, leg->receiver, 2 + count, &words));
  words[0] = rank;
  words[1] = count;
  for (int64_t i = 0; i < count; i++) words[2 + i] = places[first + i] - leg->begin;
  return GROVE_OK;
}

/* The number of lists of a contents that have something in a leg. */
static int64_t count_lists(const grove_contents *contents, const grove_leg *leg)
{
  int64_t count = 0;
  for (int i = 0; i < contents->nlists; i++) {
    const int64_t *places = contents->places + contents->begin[i];
    int64_t n = contents->begin[i + 1] - contents->begin[i],
            at = grove_order_below(n, places, leg->begin);
    count += at < n && places[at] < leg->end;
  }
  return count;
}

/* Tells the receiver about a leg: sender, begin, units, lists; then the lists themselves. */
static grove_status write_to_receiver(grove_relay_state *h, const grove_leg *leg)
{
  int b = grove_blocks_find(&h->blocks, leg->node);
  const grove_contents *contents = &h->blocks.contents[b];
  const int *ranks = h->blocks.ranks + h->blocks.first[b];
  int64_t *words = NULL;
  GROVE_PASS(grove_packets_write(&h->packets, leg->receiver, 4, &words));
  words[0] = leg->sender;
  words[1] = leg->begin;
  words[2] = leg->end - leg->begin;
  words[3] = count_lists(contents, leg);
  for (int i = 0; i < contents->nlists; i++)
    GROVE_PASS(write_list(h, leg, ranks[i], contents->begin[i + 1] - contents->begin[i],
                          contents->places + contents->begin[i]));
  return GROVE_OK;
}

/* Tells the sender how many units come for which receiver. */
static grove_status write_to_sender(grove_relay_state *h, const grove_leg *leg)
{
  int64_t *words = NULL;
  GROVE_PASS(grove_packets_write(&h->packets, leg->sender, 2, &words));
  words[0] = leg->receiver;
  words[1] = leg->end - leg->begin;
  return GROVE_OK;
}

static grove_status write_to_all(grove_relay_state *h)
{
  grove_legs_sort(&h->legs, grove_legs_by_sender);
  for (int64_t i = 0; i < h->legs.count; i++) {
    if (h->relay->gathers) GROVE_PASS(write_to_sender(h, &h->legs.leg[i]));
    GROVE_PASS(write_to_receiver(h, &h->legs.leg[i]));
  }
  return GROVE_OK;
}

/* ---- what senders and receivers read ---- */

/* A packet from a rank of this node: what passes through this rank on its way out. Legs between the
 * same two ranks become one send. */
static grove_status read_sends(grove_relay_state *h, grove_reader *r)
{
  while (r->at < r->end) {
    int64_t receiver = grove_reader_next(r), units = grove_reader_next(r);
    if (r->torn || !is_rank(h, receiver) || on_own_node(h, receiver) || units <= 0)
      return misunderstood_leg(h, r->from);
    grove_relay_send *last = h->nsends > 0 ? &h->sends[h->nsends - 1] : NULL;
    if (last && last->from == r->from && last->receiver == receiver)
      last->units += units;
    else
      h->sends[h->nsends++] =
        (grove_relay_send){.from = r->from, .receiver = (int32_t)receiver, .units = units};
  }
  return GROVE_OK;
}

/* Is a list of places valid? Counts its units. */
static int read_list(grove_relay_state *h, grove_reader *r, int64_t units, int *last)
{
  int64_t rank = grove_reader_next(r), n = grove_reader_next(r);
  const int64_t *places = grove_reader_take(r, n);
  if (!places || n == 0 || !on_own_node(h, rank) || rank <= *last) return 0;
  for (int64_t i = 0; i < n; i++)
    if (places[i] < (i > 0 ? places[i - 1] + 1 : 0) || places[i] >= units) return 0;
  h->needed[h->f->ctx->topo.place[rank].local] += n;
  *last = (int)rank;
  return 1;
}

/* A packet from a rank of another node: legs of its block for this one. */
static grove_status read_receives(grove_relay_state *h, grove_reader *r)
{
  while (r->at < r->end) {
    int64_t sender = grove_reader_next(r), begin = grove_reader_next(r);
    int64_t units = grove_reader_next(r), nlists = grove_reader_next(r);
    int right = !r->torn && on_node_of(h, sender, r->from) && begin >= 0 && units > 0;
    h->receives[h->nreceives++] = (grove_relay_receive){.from = r->from,
                                                        .sender = (int32_t)sender,
                                                        .begin = begin,
                                                        .units = units,
                                                        .nlists = nlists,
                                                        .lists = r->at};
    int last = -1;
    for (int64_t i = 0; i < nlists && right; i++) right = read_list(h, r, units, &last);
    if (!right) return misunderstood_leg(h, r->from);
  }
  return GROVE_OK;
}

static int by_sender(const void *a, const void *b)
{
  const grove_relay_receive *x = a, *y = b;
  if (x->sender != y->sender) return x->sender < y->sender ? -1 : 1;
  if (x->from != y->from) return x->from < y->from ? -1 : 1;
  return (x->begin > y->begin) - (x->begin < y->begin);
}

/* Room for as many sends and receives as the packets can have. */
static grove_status make_lists(grove_relay_state *h)
{
  const grove_topo *topo = &h->f->ctx->topo;
  int64_t out = 0, in = 0;
  for (int i = 0; i < grove_packets_count(&h->packets); i++) {
    grove_reader r = grove_packets_read(&h->packets, i);
    *(on_own_node(h, r.from) ? &out : &in) += r.end - r.at;
  }
  GROVE_PASS_ROOM(h->sends, out / 2 + 1);
  GROVE_PASS_ROOM(h->receives, in / 4 + 1);
  GROVE_PASS_NEW(h->needed, grove_topo_node_size(topo, topo->place[topo->rank].node));
  return GROVE_OK;
}

/* What is sent is sorted by receiver; what is received, by sender. */
static grove_status place_units(grove_relay_state *h)
{
  grove_status status = GROVE_OK;
  int64_t *receivers = NULL, at = 0;
  GROVE_ROOM(receivers, h->nsends);
  for (int64_t i = 0; i < h->nsends; i++) receivers[i] = h->sends[i].receiver;
  GROVE_TRY(grove_order_create(h->nsends, receivers, &h->by_receiver));
  for (int64_t i = 0; i < h->nsends; i++) {
    h->sends[h->by_receiver[i]].at = at;
    at += h->sends[h->by_receiver[i]].units;
  }
  if (h->nreceives > 1) qsort(h->receives, (size_t)h->nreceives, sizeof *h->receives, by_sender);
  at = 0;
  for (int64_t i = 0; i < h->nreceives; i++) {
    h->receives[i].at = at;
    at += h->receives[i].units;
  }
fail:
  free(receivers);
  return status;
}

static grove_status read_all_legs(grove_relay_state *h)
{
  GROVE_PASS(make_lists(h));
  for (int i = 0; i < grove_packets_count(&h->packets); i++) {
    grove_reader r = grove_packets_read(&h->packets, i);
    GROVE_PASS(on_own_node(h, r.from) ? read_sends(h, &r) : read_receives(h, &r));
  }
  return place_units(h);
}

/* ---- what arrives where ---- */

/* If blocks are not divided, every rank knows the way of the blocks that it needs. */
static grove_status derive_arrivals(grove_relay_state *h)
{
  grove_status status = GROVE_OK;
  const grove_side *leaves = &h->f->leaves;
  const grove_topo *topo = &h->f->ctx->topo;
  grove_demand_block *blocks = NULL;
  int64_t n = 0;
  GROVE_ROOM(blocks, leaves->count);
  for (int g = 0; g < leaves->count; g++) {
    int64_t units = h->needs.first[g + 1] - h->needs.first[g];
    if (units > 0)
      blocks[n++] = (grove_demand_block){
        .from = leaves->ranks[g], .node = topo->place[topo->rank].node, .units = units};
  }
  GROVE_TRY(h->relay->divide(topo, h->how, n, blocks, &h->arrivals));
fail:
  free(blocks);
  return status;
}

/* Otherwise the receivers tell: sender, owner, begin, and the number of units of the leg. */
static grove_status write_arrivals(const grove_relay_state *h, grove_packets *packets)
{
  for (int64_t i = 0; i < h->nreceives; i++) {
    const grove_relay_receive *in = &h->receives[i];
    const int64_t *at = in->lists;
    for (int64_t k = 0; k < in->nlists; k++) {
      grove_listed list = grove_relay_list(&at);
      int64_t *words = NULL;
      GROVE_PASS(grove_packets_write(packets, list.rank, 4, &words));
      words[0] = in->sender;
      words[1] = in->from;
      words[2] = in->begin;
      words[3] = list.count;
    }
  }
  return GROVE_OK;
}

static grove_status read_arrivals(grove_relay_state *h, grove_reader *r)
{
  while (r->at < r->end) {
    int64_t sender = grove_reader_next(r), from = grove_reader_next(r);
    int64_t begin = grove_reader_next(r), units = grove_reader_next(r);
    if (r->torn || !on_own_node(h, r->from) || !is_rank(h, from) || units <= 0 || begin < 0 ||
        !on_node_of(h, sender, (int)from))
      return misunderstood_leg(h, r->from);
    grove_leg leg = {.from = (int32_t)from,
                     .sender = (int32_t)sender,
                     .receiver = r->from,
                     .begin = begin,
                     .end = begin + units};
    GROVE_PASS(grove_legs_add(&h->arrivals, &leg));
  }
  return GROVE_OK;
}

/* Collective. Agreed by all, except for faults in the packets: those are this rank's failure. */
static grove_status tell_arrivals(grove_relay_state *h, grove_status mine)
{
  grove_status status = GROVE_OK;
  grove_packets packets = {0};
  if (mine == GROVE_OK) mine = write_arrivals(h, &packets);
  GROVE_TRY(grove_packets_exchange(h->f->ctx, mine, &packets));
  for (int i = 0; i < grove_packets_count(&packets); i++) {
    grove_reader r = grove_packets_read(&packets, i);
    GROVE_TRY(read_arrivals(h, &r));
  }
fail:
  grove_packets_free(&packets);
  return status;
}

/* Legs of one owner come in the order of their places, and so do the units needed from it. The
 * numbers of these units become the legs' begin and end. All must have come. */
static grove_status number_arrivals(grove_relay_state *h)
{
  const grove_side *leaves = &h->f->leaves;
  const int64_t *first = h->needs.first;
  int64_t i = 0;
  grove_legs_sort(&h->arrivals, grove_legs_by_block);
  for (int g = 0; g < leaves->count; g++) {
    int64_t unit = first[g];
    for (; i < h->arrivals.count && h->arrivals.leg[i].from == leaves->ranks[g]; i++) {
      grove_leg *leg = &h->arrivals.leg[i];
      int64_t units = leg->end - leg->begin;
      leg->begin = unit;
      leg->end = unit += units;
    }
    if (unit != first[g + 1]) return misunderstood_leg(h, leaves->ranks[g]);
  }
  if (i != h->arrivals.count) return misunderstood_leg(h, h->arrivals.leg[i].receiver);
  grove_legs_sort(&h->arrivals, grove_legs_by_receiver);
  return GROVE_OK;
}

/* ---- all of it ---- */

/* What this rank can do alone. */
static grove_status prepare_relay(grove_relay_state *h)
{
  const grove_topo *topo = &h->f->ctx->topo;
  GROVE_PASS(grove_blocks_create(h->f, h->how->share, &h->blocks));
  GROVE_PASS(grove_needs_create(h->f, h->how->share, &h->needs));
  if (h->relay->settle) return GROVE_OK;
  GROVE_PASS(h->relay->divide(topo, h->how, h->blocks.count, h->blocks.about, &h->legs));
  return derive_arrivals(h);
}

/* Every rank takes part in every exchange, whatever failed on it before. */
static grove_status tell_neighbours(grove_relay_state *h)
{
  grove_status mine = prepare_relay(h);
  if (h->relay->settle)
    GROVE_PASS(
      h->relay->settle(h->f->ctx, h->how, h->blocks.count, h->blocks.about, &h->legs, &mine));
  if (mine == GROVE_OK) mine = write_to_all(h);
  GROVE_PASS(grove_packets_exchange(h->f->ctx, mine, &h->packets));
  mine = read_all_legs(h);
  if (h->relay->settle)
    GROVE_PASS(tell_arrivals(h, mine));
  else
    GROVE_PASS(mine);
  return number_arrivals(h);
}

grove_status grove_relay_build(const grove_relay *relay, const grove_forest *f,
                               const grove_build *how, grove_plan **out)
{
  grove_status status = GROVE_OK;
  grove_relay_state h = {.relay = relay, .f = f, .how = how};
  GROVE_TRY(tell_neighbours(&h));
  GROVE_TRY(grove_relay_make_plan(&h, out));
fail:
  free_state(&h);
  return status;
}
