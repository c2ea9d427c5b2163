#include "exec/op.h"

#include <stdlib.h>

/* Messages start on cache lines of their own; a user's operation sees aligned units. */
enum { ALIGNMENT = 64, KEEP_BYTES = 1 << 14 };

static int64_t round_up(int64_t bytes)
{
  return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* Can the message travel straight from the array, or into it? What must be combined with what is
 * there, or checked first, can not. */
static int is_direct(const grove_op *op, const grove_shape *shape, int receives)
{
  if (op->channel->check || !grove_pack_is_trivial(&op->mover.unit, shape)) return 0;
  return !receives || (op->channel->key.operation == GROVE_BCAST &&
                       op->mover.combine.way == GROVE_COMBINE_REPLACE);
}

/* Hands out staging from `at` on; with at == NULL only adds up how much is needed. */
static int64_t lay_out(grove_op *op, char *at)
{
  int64_t used = 0;
  for (int s = 0; s < op->channel->plan->nstages; s++) {
    const grove_stage *stage = &op->channel->plan->stages[s];
    for (int i = 0; i < stage->nreceives + stage->nsends; i++) {
      const grove_shape *shape = &op->channel->stages[s].messages[i];
      if (is_direct(op, shape, i < stage->nreceives)) continue;
      if (at) op->stages[s].staging[i] = at + used;
      used += round_up(grove_message_bytes(op->channel, shape) + 1);
    }
  }
  return used;
}

/* Self edges go through a buffer of bounded size, pack and unpack, like any message. */
static grove_status make_keep(grove_op *op)
{
  grove_status status = GROVE_OK;
  int64_t most = 0, bytes = op->mover.unit.bytes;
  for (int s = 0; s < op->channel->plan->nstages; s++)
    if (op->channel->plan->stages[s].keep_from.index.count > most)
      most = op->channel->plan->stages[s].keep_from.index.count;
  op->keep_units = bytes > 0 && KEEP_BYTES / bytes > 0 ? KEEP_BYTES / bytes : 1;
  if (op->keep_units > most) op->keep_units = most;
  if (most == 0) return GROVE_OK;
  op->keep = aligned_alloc(ALIGNMENT, (size_t)round_up(op->keep_units * bytes + 1));
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
    const grove_stage *stage = &op->channel->plan->stages[s];
    op->stages[s].plan = stage;
    op->stages[s].shape = &op->channel->stages[s];
    op->stages[s].nreceives = stage->nreceives;
    op->stages[s].nsends = stage->nsends;
    GROVE_NEW(op->stages[s].staging, stage->nreceives + stage->nsends);
    GROVE_NEW(op->stages[s].arrived, stage->nreceives);
  }
fail:
  return status;
}

static grove_status make_staging(grove_op *op)
{
  grove_status status = GROVE_OK;
  int64_t bytes = lay_out(op, NULL);
  op->memory = aligned_alloc(ALIGNMENT, (size_t)(bytes > 0 ? bytes : ALIGNMENT));
  GROVE_CHECK(op->memory, GROVE_ERR_MEMORY, "no memory for messages of %lld bytes",
              (long long)bytes);
  lay_out(op, op->memory);
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
  if (op->identity) op->identity->references++;
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

grove_status grove_op_connect(grove_op *op)
{
  grove_status status = GROVE_OK;
  for (int s = 0; s < op->channel->plan->nstages; s++) {
    const grove_stage *stage = &op->channel->plan->stages[s];
    GROVE_TRY(grove_p2p_create(op->ctx->comm, op->channel->tag, op->channel->persistent,
                               stage->nreceives, stage->nsends, &op->stages[s].p2p));
  }
fail:
  return status;
}

grove_status grove_op_set_arrays(grove_op *op, const void *from, void *to)
{
  grove_status status = GROVE_OK;
  op->from = from;
  op->to = to;
  for (int s = 0; s < op->channel->plan->nstages; s++) {
    const grove_stage *stage = &op->channel->plan->stages[s];
    for (int i = 0; i < stage->nreceives + stage->nsends; i++) {
      const grove_message *m = grove_stage_message(stage, i);
      const grove_shape *shape = &op->channel->stages[s].messages[i];
      const void *array = i < stage->nreceives ? to : from;
      void *buffer = op->stages[s].staging[i];
      if (!buffer) buffer = grove_unit_at(&op->mover.unit, array, m->slots.index.first);
      GROVE_TRY(grove_p2p_bind(op->stages[s].p2p, i, m->peer, buffer,
                               grove_message_bytes(op->channel, shape)));
    }
  }
fail:
  return status;
}

void grove_op_destroy(grove_op *op)
{
  for (int s = 0; op->stages && s < op->nstages; s++) {
    grove_p2p_free(&op->stages[s].p2p);
    free(op->stages[s].staging);
    free(op->stages[s].arrived);
  }
  free(op->stages);
  free(op->memory);
  free(op->keep);
  free(op->sentence);
  grove_identity_release(op->identity);
  grove_mover_free(&op->mover);
  free(op);
}
