/* Where the time of an operation goes: inside start; inside its waits and tests, up to the one that
 * told of its end; and in between. In between, the program computed or called the library for
 * something else, or a thread of the library moved the data. The three add up to the time from the
 * call of start to the return of that wait or test. The option `log` gets their sums, `trace` each
 * one.
 *
 * Only wirings and channels with an account come here. Without the options that ask for one, only a
 * flag is tested.
 */
#include "exec/transfer.h"

#include <stdio.h>

/* ---- accounts ---- */

/* The names of its forests: all of them for a bundle. */
static void name_forests(const grove_transfer *op, char *text, size_t room)
{
  size_t used = 0;
  text[0] = 0;
  for (int k = 0; k < op->nfields && used + 1 < room; k++)
    used += (size_t)snprintf(text + used, room - used, "%s%s", k > 0 ? "+" : "",
                             grove_forest_label(op->fields[k].request.forest));
}

static int64_t bytes_of_units(const grove_wiring *wiring)
{
  int64_t bytes = 0;
  for (int k = 0; k < wiring->nlanes; k++) bytes += wiring->lanes[k].key.unit_bytes;
  return bytes;
}

static grove_status open_tally(grove_wiring *wiring, char *forests)
{
  grove_tally like = {.forest = forests,
                      .operation = grove_wiring_name(wiring),
                      .route = grove_wiring_route(wiring),
                      .unit_bytes = bytes_of_units(wiring)};
  wiring->account.counted = 1;
  return grove_context_tally(wiring->ctx, &like, &wiring->account.tally);
}

static void open_subject(grove_wiring *wiring, char *forests, int64_t serial, double since)
{
  const grove_sent *sent = &wiring->sent;
  grove_subject like = {.forest = forests,
                        .serial = serial,
                        .operation = grove_wiring_name(wiring),
                        .route = grove_wiring_route(wiring),
                        .unit_bytes = bytes_of_units(wiring),
                        .on_node_messages = sent->on_node_messages,
                        .on_node_bytes = sent->on_node_bytes,
                        .off_node_messages = sent->off_node_messages,
                        .off_node_bytes = sent->off_node_bytes};
  wiring->account.traced = 1;
  wiring->account.subject = grove_trace_subject(wiring->ctx->trace, &like);
  grove_span span = {.kind = GROVE_SPAN_INIT,
                     .subject = wiring->account.subject,
                     .begin = since,
                     .end = grove_clock()};
  grove_trace_note(wiring->ctx->trace, &span);
}

grove_status grove_wiring_open_account(const grove_transfer *op, double since)
{
  grove_wiring *wiring = op->wiring;
  char forests[256];
  int counted = op->base.ctx->options.log == GROVE_LOG_SUMMARY,
      traced = grove_trace_is_on(op->base.ctx);
  if (counted || traced) name_forests(op, forests, sizeof forests);
  if (counted) GROVE_PASS(open_tally(wiring, forests));
  if (traced) open_subject(wiring, forests, op->fields[0].request.forest->serial, since);
  wiring->account.kept = wiring->account.counted || wiring->account.traced;
  wiring->run.timed = wiring->account.kept;
  return GROVE_OK;
}

/* ---- starts and ends ---- */

static grove_tally *tally_of(const grove_context *ctx, const grove_account *account)
{
  return (account->own ? ctx->own_tallies : ctx->tallies) + account->tally;
}

static void count_sent_bytes(const grove_transfer *op)
{
  const grove_wiring *wiring = op->wiring;
  grove_tally *t = tally_of(op->base.ctx, &wiring->account);
  t->on_node_messages += wiring->sent.on_node_messages;
  t->off_node_messages += wiring->sent.off_node_messages;
  t->on_node_bytes += wiring->sent.on_node_bytes;
  t->off_node_bytes += wiring->sent.off_node_bytes;
}

static void count_start(const grove_op *op, double seconds)
{
  grove_tally *t = tally_of(op->ctx, op->timing.account);
  t->starts++;
  t->start_seconds += seconds;
}

static void count_end(const grove_op *op, double between)
{
  grove_tally *t = tally_of(op->ctx, op->timing.account);
  t->ends++;
  t->between_seconds += between;
  t->wait_seconds += op->timing.inside;
}

static void trace_span(const grove_op *op, grove_span_kind kind, double begin, double end,
                       double between)
{
  grove_span span = {.kind = kind,
                     .subject = op->timing.account->subject,
                     .start = op->timing.start,
                     .begin = begin,
                     .end = end,
                     .between = between};
  grove_trace_note(op->ctx->trace, &span);
}

void grove_op_note_start(grove_op *op, const grove_account *account, int64_t start)
{
  double now = grove_clock();
  op->timing = (grove_stopwatch){.open = 1, .account = account, .start = start, .returned = now};
  if (account->counted) count_start(op, now - op->since);
  if (account->traced) trace_span(op, GROVE_SPAN_START, op->since, now, 0);
}

void grove_transfer_note_start(grove_transfer *op)
{
  const grove_account *account = &op->wiring->account;
  grove_op_note_start(&op->base, account, op->sequence);
  if (account->counted) count_sent_bytes(op);
}

void grove_op_note_wait(grove_op *op, grove_span_kind kind, double since, int complete)
{
  const grove_account *account = op->timing.account;
  double now = grove_clock();
  op->timing.inside += now - since;
  double between = now - op->timing.returned - op->timing.inside;
  if (!complete && kind == GROVE_SPAN_TEST) return;
  op->timing.open = !complete;
  grove_context_enter(op->ctx);
  if (account->counted && complete) count_end(op, between);
  if (account->traced) trace_span(op, complete ? kind : GROVE_SPAN_TIMEOUT, since, now, between);
  grove_context_leave(op->ctx);
}
