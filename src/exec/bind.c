/* An operation gets memory, requests and arrays. A message can travel straight from the array or
 * into it, packed piece by piece into a ring of shared memory, or whole through staging memory.
 */
#include "exec/op.h"

#include <stdlib.h>

/* Messages start on cache lines of their own; a user's operation sees aligned units. */
enum { ALIGNMENT = 64, KEEP_BYTES = 1 << 14 };

/* Can the message travel straight from the array, or into it? What must be combined with what is
 * there, or checked first, can not. */
static int is_direct(const grove_op *op, const grove_shape *shape, int receives)
{
  if (op->channel->check || !grove_pack_is_trivial(&op->mover.unit, shape)) return 0;
  return !receives || (op->channel->key.operation == GROVE_BCAST &&
                       op->mover.combine.way == GROVE_COMBINE_REPLACE);
}

/* Must it be complete before it can be sent or unpacked? Over shared memory only if it has a
 * checksum, or units that do not fit into a piece. */
static int is_staged(const grove_op *op, const grove_wired_stage *w, int i, int receives)
{
  if (is_direct(op, &w->shapes[i], receives)) return 0;
  if (w->via[i] >= 0) return 1;
  return w->flows[~w->via[i]] == i &&
         (op->channel->check || op->mover.unit.bytes > op->channel->piece);
}

/* ---- memory ---- */

/* Hands out staging from `at` on; with at == NULL only adds up how much is needed. */
static int64_t lay_out(grove_op *op, char *at)
{
  int64_t used = 0;
  for (int s = 0; s < op->nstages; s++) {
    const grove_wired_stage *w = op->stages[s].wired;
    for (int i = 0; i < w->nmessages; i++) {
      if (!is_staged(op, w, i, i < op->stages[s].nreceives)) continue;
      if (at) op->stages[s].staging[i] = at + used;
      used += grove_round_up(grove_message_bytes(op->channel, &w->shapes[i]) + 1, ALIGNMENT);
    }
  }
  return used;
}

static grove_status make_staging(grove_op *op)
{
  grove_status status = GROVE_OK;
  int64_t bytes = lay_out(op, NULL);
  if (bytes == 0) return GROVE_OK;
  op->memory = aligned_alloc(ALIGNMENT, (size_t)bytes);
  GROVE_CHECK(op->memory, GROVE_ERR_MEMORY, "no memory for messages of %lld bytes",
              (long long)bytes);
  lay_out(op, op->memory);
fail:
  return status;
}

/* Self edges for which there is no way from array to array go through a buffer of bounded size. */
static grove_status make_keep(grove_op *op)
{
  grove_status status = GROVE_OK;
  int64_t most = 0, bytes = op->mover.unit.bytes;
  for (int s = 0; s < op->nstages; s++)
    if (op->stages[s].wired->keep_from.units > most) most = op->stages[s].wired->keep_from.units;
  op->keep_units = bytes > 0 && KEEP_BYTES / bytes > 0 ? KEEP_BYTES / bytes : 1;
  if (op->keep_units > most) op->keep_units = most;
  if (most == 0) return GROVE_OK;
  op->keep =
    aligned_alloc(ALIGNMENT, (size_t)grove_round_up(op->keep_units * bytes + 1, ALIGNMENT));
  GROVE_CHECK(op->keep, GROVE_ERR_MEMORY, "no memory for a unit of %lld bytes", (long long)bytes);
fail:
  return status;
}

static grove_status make_stages(grove_op *op)
{
  grove_status status = GROVE_OK;
  GROVE_NEW(op->stages, op->channel->plan->nstages);
  op->nstages = op->channel->plan->nstages;
  for (int s = 0; s < op->nstages; s++) {
    grove_bound_stage *bound = &op->stages[s];
    bound->plan = &op->channel->plan->stages[s];
    bound->wired = &op->channel->stages[s];
    bound->nreceives = bound->plan->nreceives;
    bound->nsends = bound->plan->nsends;
    GROVE_NEW(bound->staging, bound->wired->nmessages);
    GROVE_NEW(bound->arrived, bound->nreceives);
    GROVE_NEW(bound->flows, bound->wired->nflows_in + bound->wired->nflows_out);
  }
fail:
  return status;
}

grove_status grove_op_create(grove_channel *channel, const grove_request *r, const grove_unit *unit,
                             const grove_combine *combine, grove_op **out)
{
  grove_status status = GROVE_OK;
  grove_op *op = NULL;
  GROVE_NEW(op, 1);
  op->ctx = channel->ctx;
  op->channel = channel;
  op->active.advance = grove_op_advance;
  op->type = r->unit;
  GROVE_TRY(grove_identity_of(r->unit, &op->identity));
  grove_identity_hold(op->identity);
  GROVE_TRY(grove_mover_create(unit, combine, &op->mover));
  GROVE_TRY(make_stages(op));
  GROVE_TRY(make_staging(op));
  GROVE_TRY(make_keep(op));
  *out = op;
  return GROVE_OK;
fail:
  if (op) {
    op->mover.unit.owned = 0; /* still the caller's */
    grove_op_destroy(op);
  }
  return status;
}

/* ---- requests and rings ---- */

/* The ends of the rings, in the order in which the channel has them. */
static void join_rings(grove_op *op)
{
  const grove_shm *shm = op->channel->shm;
  int reader = 0, writer = 0;
  for (int s = 0; s < op->nstages; s++) {
    const grove_wired_stage *w = op->stages[s].wired;
    op->stages[s].nflows_in = w->nflows_in;
    op->stages[s].nflows = w->nflows_in + w->nflows_out;
    op->stages[s].nsendings = w->np2p_sends + w->nflows_out;
    for (int k = 0; k < op->stages[s].nflows; k++) {
      grove_flow *flow = &op->stages[s].flows[k];
      flow->message = w->flows[k];
      flow->bytes = grove_message_bytes(op->channel, &w->shapes[flow->message]);
      flow->direct = is_direct(op, &w->shapes[flow->message], k < w->nflows_in);
      flow->single = flow->direct && flow->bytes > 0 && flow->bytes <= op->channel->piece;
      flow->memory = op->stages[s].staging[flow->message];
      if (k < w->nflows_in)
        flow->reader = &shm->readers[reader++];
      else
        flow->writer = &shm->writers[writer++];
    }
  }
}

grove_status grove_op_connect(grove_op *op, int rewired)
{
  grove_status status = GROVE_OK;
  if (rewired) { /* what was a flow is a message now */
    free(op->memory);
    op->memory = NULL;
    GROVE_TRY(make_staging(op));
  }
  for (int s = 0; s < op->nstages; s++) {
    const grove_wired_stage *w = op->stages[s].wired;
    if (w->np2p_receives + w->np2p_sends == 0) continue;
    GROVE_TRY(grove_p2p_create(op->ctx->comm, op->channel->tag, op->channel->persistent,
                               w->np2p_receives, w->np2p_sends, &op->stages[s].p2p));
  }
  join_rings(op);
fail:
  return status;
}

/* ---- arrays ---- */

static void *message_memory(const grove_op *op, const grove_bound_stage *s, int i)
{
  const void *array = i < s->nreceives ? op->to : op->from;
  if (s->staging[i]) return s->staging[i];
  return grove_unit_at(&op->mover.unit, array, s->wired->shapes[i].slots.first);
}

static void bind_flow(const grove_op *op, const grove_bound_stage *s, grove_flow *flow)
{
  if (!flow->direct) return; /* in staging for good, or packed piece by piece */
  flow->memory = message_memory(op, s, flow->message);
  flow->in_place = flow->writer && flow->bytes >= GROVE_IN_PLACE_BYTES && op->ctx->shared &&
                   grove_context_locate(op->ctx, flow->memory, &flow->spot);
}

grove_status grove_op_set_arrays(grove_op *op, const void *from, void *to)
{
  grove_status status = GROVE_OK;
  op->from = from;
  op->to = to;
  for (int k = 0; k < op->nstages; k++) {
    grove_bound_stage *s = &op->stages[k];
    const grove_wired_stage *w = s->wired;
    for (int j = 0; j < w->np2p_receives + w->np2p_sends; j++) {
      int i = w->p2p[j];
      GROVE_TRY(grove_p2p_bind(s->p2p, j, grove_stage_message(s->plan, i)->peer,
                               message_memory(op, s, i),
                               grove_message_bytes(op->channel, &w->shapes[i])));
    }
    for (int f = 0; f < s->nflows; f++) bind_flow(op, s, &s->flows[f]);
  }
fail:
  return status;
}

void grove_op_destroy(grove_op *op)
{
  for (int k = 0; op->stages && k < op->nstages; k++) {
    grove_bound_stage *s = &op->stages[k];
    grove_p2p_free(&s->p2p);
    for (int f = 0; s->flows && f < s->nflows; f++) free(s->flows[f].spill);
    free(s->flows);
    free(s->staging);
    free(s->arrived);
  }
  free(op->stages);
  free(op->memory);
  free(op->keep);
  free(op->sentence);
  grove_mover_free(&op->mover);
  grove_identity_release(op->identity);
  free(op);
}
