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
static int is_direct(const grove_recipe *recipe, const grove_message *m, int receives)
{
  if (recipe->check || !grove_pack_is_trivial(&recipe->unit, &m->slots.index)) return 0;
  return !receives ||
         (recipe->operation == GROVE_BCAST && recipe->combine.way == GROVE_COMBINE_REPLACE);
}

static const grove_message *message_number(const grove_stage *stage, int i)
{
  return i < stage->nreceives ? &stage->receives[i] : &stage->sends[i - stage->nreceives];
}

/* Hands out staging from `at` on; with at == NULL only adds up how much is needed. */
static int64_t lay_out(grove_op *op, char *at)
{
  const grove_recipe *recipe = op->recipe;
  int64_t used = 0;
  for (int s = 0; s < recipe->plan->nstages; s++) {
    const grove_stage *stage = &recipe->plan->stages[s];
    for (int i = 0; i < stage->nreceives + stage->nsends; i++) {
      const grove_message *m = message_number(stage, i);
      if (is_direct(recipe, m, i < stage->nreceives)) continue;
      if (at) op->stages[s].staging[i] = at + used;
      used += round_up(grove_message_bytes(recipe, m->slots.index.count) + 1);
    }
  }
  return used;
}

/* Self edges go through a buffer of bounded size, pack and unpack, like any message. */
static grove_status make_keep(grove_op *op)
{
  grove_status status = GROVE_OK;
  const grove_recipe *recipe = op->recipe;
  int64_t most = 0, bytes = recipe->unit.bytes;
  for (int s = 0; s < recipe->plan->nstages; s++)
    if (recipe->plan->stages[s].keep_from.index.count > most)
      most = recipe->plan->stages[s].keep_from.index.count;
  op->keep_units = bytes > 0 && KEEP_BYTES / bytes > 0 ? KEEP_BYTES / bytes : 1;
  if (op->keep_units > most) op->keep_units = most;
  if (most == 0) return GROVE_OK;
  op->keep = aligned_alloc(ALIGNMENT, (size_t)round_up(op->keep_units * bytes + 1));
  GROVE_CHECK(op->keep, GROVE_ERR_MEMORY, "no memory for a unit of %lld bytes", (long long)bytes);
fail:
  return status;
}

grove_status grove_op_create(grove_recipe *recipe, grove_op **out)
{
  grove_status status = GROVE_OK;
  grove_op *op = NULL;
  GROVE_NEW(op, 1);
  op->ctx = recipe->ctx;
  op->recipe = recipe;
  op->active.advance = grove_op_advance;
  GROVE_NEW(op->stages, recipe->plan->nstages);
  op->nstages = recipe->plan->nstages;
  for (int s = 0; s < op->nstages; s++) {
    const grove_stage *stage = &recipe->plan->stages[s];
    op->stages[s].plan = stage;
    op->stages[s].nreceives = stage->nreceives;
    op->stages[s].nsends = stage->nsends;
    GROVE_NEW(op->stages[s].staging, stage->nreceives + stage->nsends);
    GROVE_NEW(op->stages[s].arrived, stage->nreceives);
  }
  int64_t bytes = lay_out(op, NULL);
  op->memory = aligned_alloc(ALIGNMENT, (size_t)(bytes > 0 ? bytes : ALIGNMENT));
  GROVE_CHECK(op->memory, GROVE_ERR_MEMORY, "no memory for messages of %lld bytes",
              (long long)bytes);
  lay_out(op, op->memory);
  GROVE_TRY(make_keep(op));
  GROVE_TRY(grove_scratch_create(&recipe->unit, &recipe->combine, &op->scratch));
  *out = op;
  return GROVE_OK;
fail:
  if (op) grove_op_destroy(op);
  return status;
}

grove_status grove_op_connect(grove_op *op)
{
  grove_status status = GROVE_OK;
  const grove_recipe *recipe = op->recipe;
  for (int s = 0; s < recipe->plan->nstages; s++) {
    const grove_stage *stage = &recipe->plan->stages[s];
    GROVE_TRY(grove_p2p_create(op->ctx->comm, recipe->tag, recipe->persistent, stage->nreceives,
                               stage->nsends, &op->stages[s].p2p));
  }
fail:
  return status;
}

grove_status grove_op_set_arrays(grove_op *op, const void *from, void *to)
{
  grove_status status = GROVE_OK;
  const grove_recipe *recipe = op->recipe;
  op->from = from;
  op->to = to;
  for (int s = 0; s < recipe->plan->nstages; s++) {
    const grove_stage *stage = &recipe->plan->stages[s];
    for (int i = 0; i < stage->nreceives + stage->nsends; i++) {
      const grove_message *m = message_number(stage, i);
      const void *array = i < stage->nreceives ? to : from;
      void *buffer = op->stages[s].staging[i];
      if (!buffer) buffer = grove_unit_at(&recipe->unit, array, m->slots.index.first);
      GROVE_TRY(grove_p2p_bind(op->stages[s].p2p, i, m->peer, buffer,
                               grove_message_bytes(recipe, m->slots.index.count)));
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
  grove_scratch_free(&op->scratch);
  free(op);
}
