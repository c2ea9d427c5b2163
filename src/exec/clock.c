/* Where the time of an operation goes: inside start; inside the waits and tests of it, up to the
 * one that told of its end; and between these, when the program computed, or called the library
 * for something else, or a thread of the library's own moved the data. The three add up to the time
 * from the call of start to the return of that wait or test.
 *
 * Only channels with an account come here: without the options that ask for one, nothing but the
 * flag is looked at.
 */
#include "exec/op.h"

static grove_status open_tally(const grove_request *r, grove_channel *channel)
{
  grove_tally like = {.forest = (char *)grove_forest_label(r->forest),
                      .operation = grove_operation_name(r->operation),
                      .route = channel->plan->route,
                      .unit_bytes = channel->key.unit_bytes};
  return grove_context_tally(r->forest->ctx, &like, &channel->account.tally);
}

grove_status grove_channel_open_account(const grove_request *r, grove_channel *channel)
{
  grove_status status = GROVE_OK;
  const grove_context *ctx = r->forest->ctx;
  if (ctx->options.log == GROVE_LOG_OFF) return GROVE_OK;
  GROVE_TRY(open_tally(r, channel));
  channel->account.kept = 1;
fail:
  return status;
}

static void count_start(const grove_op *op, double seconds)
{
  const grove_channel *channel = op->channel;
  grove_tally *t = &op->ctx->tallies[channel->account.tally];
  t->starts++;
  t->start_seconds += seconds;
  t->on_node_messages += channel->counts.on_node_messages;
  t->off_node_messages += channel->counts.off_node_messages;
  t->on_node_bytes += channel->counts.on_node_units * channel->key.unit_bytes;
  t->off_node_bytes += channel->counts.off_node_units * channel->key.unit_bytes;
}

void grove_op_note_start(grove_op *op)
{
  double now = grove_clock();
  op->timing = (grove_timing){.open = 1, .returned = now};
  count_start(op, now - op->since);
}

static void count_end(const grove_op *op, double between)
{
  grove_tally *t = &op->ctx->tallies[op->channel->account.tally];
  t->ends++;
  t->between_seconds += between;
  t->wait_seconds += op->timing.inside;
}

void grove_op_note_wait(grove_op *op, double since, int complete)
{
  double now = grove_clock();
  op->timing.inside += now - since;
  if (!complete) return;
  op->timing.open = 0;
  grove_context_enter(op->ctx);
  count_end(op, now - op->timing.returned - op->timing.inside);
  grove_context_leave(op->ctx);
}
