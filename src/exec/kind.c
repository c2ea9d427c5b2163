/* How a transfer describes itself, and the tables of the kinds that are transfers. */
#include "exec/partial.h"

#include <stdio.h>
#include <string.h>

/* ---- its name ---- */

const char *grove_transfer_label(const grove_op *base)
{
  static _Thread_local char text[160];
  const grove_transfer *op = (const grove_transfer *)base;
  const grove_forest *forest = op->fields[0].request.forest;
  snprintf(text, sizeof text, "%s on forest '%.100s'", grove_wiring_name(op->wiring),
           forest ? grove_forest_label(forest) : "unnamed");
  return text;
}

static const char *label_bundle(const grove_op *base)
{
  static _Thread_local char text[32];
  const grove_transfer *op = (const grove_transfer *)base;
  if (op->nfields == 1) return grove_transfer_label(base);
  snprintf(text, sizeof text, "bundle of %d", op->nfields);
  return text;
}

/* ---- what has not come ---- */

/* Which reader of its flow's ring gets letter i. Letters of other carriers may lie in between. */
static int reader_of(const grove_wired_stage *w, int i)
{
  grove_link link = w->links[i];
  int reader = 0;
  for (int k = w->hauls[link.carrier].letters[link.number]; k < i; k++)
    reader += w->links[k].carrier == link.carrier && w->links[k].number == link.number;
  return reader;
}

/* Is it the peer's fault that the message of a flow is not through? A receive may be waiting only
 * for others in the order. Of several readers, some may have taken it and others not. */
static int is_held_up(const grove_transfer *op, const grove_bound_stage *s, const grove_flow *flow,
                      int i)
{
  if (flow->bound.state == GROVE_LETTER_DONE || flow->bound.missing > 0) return 0;
  uint64_t posted = flow->bound.docked ? grove_dock_awaited(flow) : flow->posted;
  if (flow->writer) return grove_ring_lags(flow->writer, reader_of(s->wired, i), posted);
  return flow->reader->turn == op->sequence && !(i > s->next && grove_ring_peek(flow->reader));
}

/* Is message i still under way? */
static int is_pending(const grove_transfer *op, const grove_bound_stage *s, int i)
{
  grove_link link = s->wired->links[i];
  const grove_bound_haul *haul = &s->hauls[link.carrier];
  return haul->letters ? grove_carrier_pending(haul->carrier, link.number)
                       : is_held_up(op, s, &s->flows[link.number], i);
}

/* Appends "from ranks 1, 5" for the messages first .. end-1 that have not come. */
static void list_missing(const grove_transfer *op, const grove_bound_stage *s, int first, int end,
                         const char *what, char *text, size_t room)
{
  int listed = 0;
  for (int i = first; i < end; i++) {
    if (!is_pending(op, s, i)) continue;
    int peer = s->wired->letters[i].peer;
    size_t used = strlen(text);
    if (++listed <= 8) snprintf(text + used, room - used, "%s%d", listed == 1 ? what : ", ", peer);
  }
  size_t used = strlen(text);
  if (listed > 8) snprintf(text + used, room - used, " and %d more", listed - 8);
}

void grove_transfer_missing(const grove_op *base, char *text, size_t room)
{
  const grove_transfer *op = (const grove_transfer *)base;
  int used = snprintf(text, room, " (start %lld)", (long long)op->sequence);
  char *missing = text + used;
  int reached = op->plain || op->met > op->current ? op->current : op->met;
  for (int k = op->oldest; k <= reached; k++) {
    const grove_bound_stage *s = &op->stages[k];
    list_missing(op, s, 0, s->nreceives, "; no message from rank ", text, room);
    list_missing(op, s, s->nreceives, s->nreceives + s->nsends, "; not taken by rank ", text, room);
  }
  int names_others = *missing != 0;
  if (op->readying) grove_readying_tell_missing(op, text, room);
  /* In a later stage, missing ranks may themselves wait for others. */
  const char *advice = !*missing       ? "; an earlier one of its kind is not through"
                       : !names_others ? ""
                       : reached > 0   ? "; has every rank started it?"
                                       : "; have those ranks started it?";
  size_t length = strlen(text);
  snprintf(text + length, room - length, "%s", advice);
}

/* ---- what it took ---- */

static grove_terms terms_of(const grove_price *p)
{
  return (grove_terms){.latency = p->term[GROVE_TERM_LATENCY],
                       .bandwidth = p->term[GROVE_TERM_BANDWIDTH],
                       .injection = p->term[GROVE_TERM_INJECTION],
                       .queue = p->term[GROVE_TERM_QUEUE],
                       .contention = p->term[GROVE_TERM_CONTENTION],
                       .on_node = p->term[GROVE_TERM_ON_NODE],
                       .copy = p->term[GROVE_TERM_COPY],
                       .cores = p->term[GROVE_TERM_CORES]};
}

grove_report grove_transfer_report(const grove_op *base)
{
  const grove_transfer *op = (const grove_transfer *)base;
  const grove_wiring *wiring = op->wiring;
  grove_report report = {
    .route = grove_wiring_route(wiring),
    .transport = wiring->carriers[wiring->ncarriers - 1]->name,
    .transport_on_node = wiring->ncarriers > 1 ? wiring->carriers[0]->name : "mpi",
    .on_node_messages = wiring->sent.on_node_messages,
    .on_node_bytes = wiring->sent.on_node_bytes,
    .off_node_messages = wiring->sent.off_node_messages,
    .off_node_bytes = wiring->sent.off_node_bytes,
    .on_node_messages_received = wiring->received.on_node_messages,
    .on_node_bytes_received = wiring->received.on_node_bytes,
    .off_node_messages_received = wiring->received.off_node_messages,
    .off_node_bytes_received = wiring->received.off_node_bytes,
    .starts = base->starts,
    .measured_seconds = base->timed_starts > 0 ? base->seconds / (double)base->timed_starts : 0,
    .predicted_seconds = wiring->price.seconds,
    .predicted = terms_of(&wiring->price),
    .machine = wiring->machine,
    .aggregator = op->readying ? op->readying->aggregator : NULL,
    .messages = op->readying ? op->readying->messages : 0,
  };
  if (op->nspaces > 0) grove_apart_tell(op, &report);
  if (wiring->lifts_for_nothing) report.price_note = GROVE_LACKS_COPIES;
  return report;
}

/* ---- what it asks for ---- */

int grove_transfer_count(const grove_op *op)
{
  return ((const grove_transfer *)op)->nfields;
}

grove_request grove_transfer_request(const grove_op *op, int k)
{
  return ((const grove_transfer *)op)->fields[k].request;
}

/* ---- starts and ends ---- */

static grove_status start_transfer(grove_op *op)
{
  GROVE_PASS(grove_op_check_idle(op, "grove_start"));
  GROVE_PASS(grove_apart_check((grove_transfer *)op));
  return grove_transfer_run((grove_transfer *)op);
}

const grove_op_kind grove_kind_transfer = {
  GROVE_TRANSFER_SLOTS,
  .name = "transfer",
  .start = start_transfer,
  .start_parts = grove_transfer_start_parts,
  .label = grove_transfer_label,
  .free = grove_transfer_free,
  .ready = grove_transfer_ready,
  .arrived = grove_transfer_arrived,
  .arrivals = grove_transfer_arrivals,
};

const grove_op_kind grove_kind_bundle = {
  GROVE_TRANSFER_SLOTS,
  .name = "bundle",
  .start = start_transfer,
  .start_parts = grove_op_no_start_parts,
  .label = label_bundle,
  .free = grove_transfer_free,
  .ready = grove_op_no_ready,
  .arrived = grove_op_no_arrived,
  .arrivals = grove_op_no_arrivals,
};
