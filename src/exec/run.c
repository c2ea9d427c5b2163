/* An operation under way. Start posts all receives and sends of the first stage and returns; from
 * then on every poll of the context advances it: what has come is unpacked, and a stage that is
 * complete makes room for the next one.
 *
 * The order of combination. In a bcast every slot is written once, so messages are unpacked as they
 * come. In a reduce several contributions may meet in one root, and must be combined in the order
 * of the ranks they come from, the own one in its place: a message that comes early waits.
 */
#include "exec/op.h"

#include <stdlib.h>
#include <string.h>

/* Keeps the first failure; the user hears of it from test or wait. */
static void note_failure(grove_op *op, grove_status status)
{
  if (status == GROVE_OK || op->failure != GROVE_OK) return;
  op->failure = status;
  op->sentence = strdup(grove_last_error());
}

/* ---- between arrays and messages ---- */

static grove_status pack_message(grove_op *op, grove_bound_stage *s, int i)
{
  grove_status status = GROVE_OK;
  const grove_shape *shape = &s->shape->messages[s->nreceives + i];
  void *message = s->staging[s->nreceives + i];
  if (!message) return GROVE_OK;
  GROVE_TRY(grove_pack(&op->mover, shape, op->from, 0, shape->units, message));
  if (op->channel->check)
    grove_check_seal(message, shape->units * op->mover.unit.bytes, op->sequence);
fail:
  return status;
}

static grove_status unpack_message(grove_op *op, grove_bound_stage *s, int i)
{
  grove_status status = GROVE_OK;
  const grove_message *m = &s->plan->receives[i];
  const grove_shape *shape = &s->shape->messages[i];
  void *message = s->staging[i];
  if (!message) return GROVE_OK;
  if (op->channel->check)
    GROVE_TRY(grove_check_open(op, m->peer, message, shape->units * op->mover.unit.bytes));
  GROVE_TRY(grove_unpack(&op->mover, shape, message, op->to, 0, shape->units));
fail:
  return status;
}

/* Self edges, a chunk at a time. */
static grove_status keep(grove_op *op, const grove_shaped_stage *shape)
{
  grove_status status = GROVE_OK;
  int64_t units = shape->keep_from.units;
  for (int64_t at = 0; at < units; at += op->keep_units) {
    int64_t n = units - at < op->keep_units ? units - at : op->keep_units;
    GROVE_TRY(grove_pack(&op->mover, &shape->keep_from, op->from, at, n, op->keep));
    GROVE_TRY(grove_unpack(&op->mover, &shape->keep_to, op->keep, op->to, at, n));
  }
fail:
  return status;
}

/* Reduce: combines what has come, as far as the order allows. */
static void combine_in_order(grove_op *op, grove_bound_stage *s)
{
  const grove_message *receives = s->plan->receives;
  for (;;) {
    int at_end = s->next == s->nreceives;
    if (!s->kept && (at_end || receives[s->next].peer > op->channel->rank)) {
      note_failure(op, keep(op, s->shape));
      s->kept = 1;
    } else if (!at_end && s->arrived[s->next]) {
      note_failure(op, unpack_message(op, s, s->next));
      s->next++;
    } else {
      return;
    }
  }
}

/* ---- stages ---- */

static grove_status start_stage(grove_op *op)
{
  grove_status status = GROVE_OK;
  grove_bound_stage *s = &op->stages[op->current];
  s->narrived = s->nsent = s->next = 0;
  s->kept = s->plan->keep_from.index.count == 0;
  memset(s->arrived, 0, (size_t)s->nreceives);
  for (int i = 0; i < s->nreceives; i++) GROVE_TRY(grove_p2p_start(s->p2p, i));
  for (int i = 0; i < s->nsends; i++) {
    GROVE_TRY(pack_message(op, s, i));
    GROVE_TRY(grove_p2p_start(s->p2p, s->nreceives + i));
  }
  if (op->channel->key.operation == GROVE_REDUCE) {
    combine_in_order(op, s);
  } else if (!s->kept) {
    GROVE_TRY(keep(op, s->shape));
    s->kept = 1;
  }
fail:
  return status;
}

static int stage_is_complete(const grove_bound_stage *s)
{
  return s->narrived == s->nreceives && s->nsent == s->nsends && s->kept;
}

static void arrive(grove_op *op, grove_bound_stage *s, int i)
{
  s->narrived++;
  s->arrived[i] = 1;
  if (op->channel->key.operation == GROVE_REDUCE)
    combine_in_order(op, s);
  else
    note_failure(op, unpack_message(op, s, i));
}

/* Adds one exchange to the row of the summary, if there is one. */
static void count_exchange(const grove_op *op, double seconds)
{
  const grove_channel *channel = op->channel;
  if (channel->tally < 0) return;
  grove_tally *t = &op->ctx->tallies[channel->tally];
  t->starts++;
  t->total_seconds += seconds;
  t->on_node_messages += channel->counts.on_node_messages;
  t->off_node_messages += channel->counts.off_node_messages;
  t->on_node_bytes += channel->counts.on_node_units * op->mover.unit.bytes;
  t->off_node_bytes += channel->counts.off_node_units * op->mover.unit.bytes;
}

static void finish(grove_op *op)
{
  double seconds = grove_clock() - op->since;
  grove_context_deactivate(&op->active);
  op->state = GROVE_OP_DONE;
  op->starts++;
  op->seconds += seconds;
  count_exchange(op, seconds);
}

/* Freed while active: the messages are seen through, their data is not looked at. */
static void advance_abandoned(grove_op *op)
{
  grove_p2p *p2p = op->stages[op->current].p2p;
  const int *which = NULL;
  int n = 0;
  if (grove_p2p_poll(p2p, &n, &which) != GROVE_OK || grove_p2p_busy(p2p)) return;
  grove_channel *channel = op->channel;
  op->ctx->abandoned--;
  grove_context_deactivate(&op->active);
  grove_op_leave(op);
  grove_op_destroy(op);
  grove_channel_release(channel);
}

void grove_op_advance(grove_active *active)
{
  grove_op *op = (grove_op *)active;
  if (op->abandoned) {
    advance_abandoned(op);
    return;
  }
  if (op->unusable) return;
  grove_bound_stage *s = &op->stages[op->current];
  const int *which = NULL;
  int n = 0;
  grove_status status = grove_p2p_poll(s->p2p, &n, &which);
  for (int k = 0; k < n; k++) {
    if (which[k] < s->nreceives)
      arrive(op, s, which[k]);
    else
      s->nsent++;
  }
  if (status == GROVE_OK && !stage_is_complete(s)) return;
  if (status == GROVE_OK && op->current + 1 < op->nstages) {
    op->current++;
    status = start_stage(op);
    if (status == GROVE_OK) return;
  }
  note_failure(op, status);
  finish(op);
}

grove_status grove_op_run(grove_op *op)
{
  grove_status status = GROVE_OK;
  op->since = grove_clock();
  op->sequence = ++op->channel->sequence;
  op->state = GROVE_OP_ACTIVE;
  op->current = 0;
  op->failure = GROVE_OK;
  free(op->sentence);
  op->sentence = NULL;
  grove_context_activate(op->ctx, &op->active);
  GROVE_TRY(start_stage(op));
  if (op->channel->tally >= 0)
    op->ctx->tallies[op->channel->tally].start_seconds += grove_clock() - op->since;
  return GROVE_OK;
fail:
  /* Some messages are under way, others will never be: all that is left is to free it. */
  op->unusable = 1;
  return status;
}
