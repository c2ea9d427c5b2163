/* Freeing in any state. An operation that is not active is simply freed, or goes back to its pool.
 * One that is active is abandoned: the user's arrays may be gone a moment later, so receives into
 * them are taken back and posted again into memory of our own; then peers that start late are not
 * held up, and nothing is written where it should not. What is still under way when the context
 * goes is left alone on purpose: MPI may yet use it.
 */
#include "exec/transfer.h"

#include <stdlib.h>

static int by_sequence(const void *a, const void *b)
{
  const grove_transfer *x = *(grove_transfer *const *)a, *y = *(grove_transfer *const *)b;
  return (x->sequence > y->sequence) - (x->sequence < y->sequence);
}

/* The operation and those of its wiring that were started after it, in the order of their starts.
 * They share a tag, so their receives match in that order, and it must survive. */
static grove_status list_later(grove_transfer *op, int *n, grove_transfer ***out)
{
  grove_status status = GROVE_OK;
  int room = 1;
  grove_transfer **list = NULL;
  for (grove_transfer *k = op->wiring->run.members; k; k = k->next_member) room++;
  GROVE_NEW(list, room);
  list[(*n)++] = op;
  for (grove_transfer *k = op->wiring->run.members; k; k = k->next_member)
    if (grove_op_is_under_way(&k->base) && k->sequence > op->sequence) list[(*n)++] = k;
  qsort(list, (size_t)*n, sizeof *list, by_sequence);
  *out = list;
fail:
  return status;
}

/* Receive j over MPI of the first operation goes to memory of our own. All of the list are taken
 * back, the latest first, so that a message which comes meanwhile still finds the one it was meant
 * for. */
static grove_status divert(grove_transfer **list, int n, int stage, int j)
{
  grove_status status = GROVE_OK, outcome = GROVE_OK;
  double timeout = list[0]->base.ctx->options.timeout_seconds;
  unsigned char *again = NULL;
  GROVE_NEW(again, n);
  for (int k = n - 1; k >= 0; k--) {
    grove_carrier *c = list[k]->stages[stage].carrier;
    int withdrawn = 0;
    if (grove_carrier_pending(c, j)) outcome = grove_carrier_withdraw(c, j, timeout, &withdrawn);
    if (outcome != GROVE_OK) status = outcome;
    again[k] = (unsigned char)withdrawn;
  }
  for (int k = 0; k < n; k++)
    if (again[k])
      outcome = grove_carrier_repost(list[k]->stages[stage].carrier, j,
                                     k == 0 || grove_op_is_freed(&list[k]->base));
  if (outcome != GROVE_OK) status = outcome;
fail:
  free(again);
  return status;
}

/* All of it is for the user's arrays. */
static int is_unwanted(const grove_letter *letter)
{
  for (int k = 0; k < letter->nsections; k++)
    if (!grove_array_is_users(letter->sections[k].array)) return 0;
  return 1;
}

static grove_status divert_receives(grove_transfer *op)
{
  grove_status status = GROVE_OK;
  double timeout = op->base.ctx->options.timeout_seconds;
  grove_transfer **list = NULL;
  int n = 0;
  GROVE_TRY(list_later(op, &n, &list));
  for (int k = op->oldest; k <= op->current; k++) {
    const grove_bound_stage *s = &op->stages[k];
    for (int j = 0; j < s->wired->np2p_receives; j++)
      if (grove_transfer_is_in_array(s, s->wired->p2p[j]) && grove_carrier_pending(s->carrier, j)) {
        grove_status outcome = divert(list, n, k, j);
        if (outcome != GROVE_OK) status = outcome;
      } else if (is_unwanted(&s->wired->letters[s->wired->p2p[j]])) {
        GROVE_TRY(grove_carrier_forgo(s->carrier, j, timeout));
      }
  }
fail:
  free(list);
  return status;
}

/* ---- what is to be sent ---- */

static int reads_array(const grove_letter *letter)
{
  for (int k = 0; k < letter->nsections; k++)
    if (grove_array_is_users(letter->sections[k].array)) return 1;
  return 0;
}

/* A letter over MPI of a stage that was not entered, out of the array. */
static grove_status save_message(grove_transfer *op, grove_bound_stage *s, int j)
{
  grove_status status = GROVE_OK;
  int i = s->wired->p2p[j];
  const grove_letter *letter = &s->wired->letters[i];
  if (!reads_array(letter)) return GROVE_OK;
  if (!s->staging[i]) {
    GROVE_ROOM(s->saved[i], (size_t)letter->bytes + 1);
    s->staging[i] = s->saved[i];
    GROVE_TRY(grove_carrier_bind(s->carrier, j, s->saved[i]));
  }
  GROVE_TRY(grove_transfer_pack(op, s, i));
fail:
  return status;
}

/* Takes what this rank still owes others out of the user's arrays: of a stage that was entered,
 * what shared memory had no room for, and self edges whose turn has not come; of later ones all. */
static grove_status save_stage(grove_transfer *op, int k)
{
  grove_status status = GROVE_OK;
  grove_bound_stage *s = &op->stages[k];
  const grove_wired_stage *w = s->wired;
  int later = k > op->current;
  for (grove_flow *flow = s->sends; flow < s->flows_end; flow++) {
    if (later) flow->done = 0;
    if (reads_array(&w->letters[flow->letter])) GROVE_TRY(grove_flow_save(op, s, flow));
  }
  for (int j = w->np2p_receives; later && j < w->np2p_receives + w->np2p_sends; j++)
    GROVE_TRY(save_message(op, s, j));
  if (later || !s->kept) GROVE_TRY(grove_transfer_save_keeps(op, k));
fail:
  return status;
}

/* Polls in vain before those who want what is left to send are taken not to be there yet. */
enum { PATIENCE = 2000 };

static int64_t left_to_send(const grove_bound_stage *s)
{
  int64_t left = 0;
  for (const grove_flow *flow = s->sends; flow < s->flows_end; flow++)
    if (!flow->done) left += flow->bytes - flow->at + 1;
  return left;
}

/* What shared memory has no room for yet goes on as long as somebody takes it: the rank may not
 * call the library again for long. */
static void see_off(grove_transfer *op)
{
  grove_pause pause;
  int64_t left = INT64_MAX;
  grove_pause_begin(&pause, 0);
  for (int polls = 0; polls < PATIENCE; polls++) {
    grove_context_progress(op->base.ctx);
    int64_t now = 0;
    for (int k = op->oldest; k <= op->current; k++) now += left_to_send(&op->stages[k]);
    if (op->base.state != GROVE_OP_ACTIVE || now == 0) return;
    if (now < left) polls = 0;
    left = now;
    grove_context_pause(op->base.ctx, &pause);
  }
}

/* All that it still owes others, and nothing of the user's is needed for it any more. */
static grove_status save(grove_transfer *op)
{
  grove_status status = GROVE_OK;
  for (int k = op->oldest; k < op->nstages; k++) GROVE_TRY(save_stage(op, k));
  GROVE_TRY(grove_transfer_detach(op));
fail:
  return status;
}

/* From here on the operation belongs to the context, which sees its messages through; after
 * MPI_Finalize nobody does. */
static grove_status abandon(grove_transfer *op, int finalized)
{
  grove_status status = finalized ? GROVE_OK : divert_receives(op);
  grove_status saved = finalized ? GROVE_OK : save(op);
  if (status == GROVE_OK) status = saved;
  for (grove_bound_stage *s = op->stages + op->oldest; s < op->stages + op->nstages; s++)
    for (grove_flow *flow = s->flows; flow < s->flows_end; flow++)
      flow->single = 0; /* its memory may go */
  grove_op_move(&op->base, finalized || saved != GROVE_OK      ? GROVE_OP_STUCK
                           : op->base.state == GROVE_OP_FAILED ? GROVE_OP_LEAVING
                                                               : GROVE_OP_ABANDONED);
  op->base.ctx->abandoned++;
  grove_transfer_release_forests(op);
  if (!finalized) grove_context_progress(op->base.ctx); /* it may be the turn of others now */
  return status;
}

grove_status grove_transfer_let_rest(grove_transfer *op, int *rests)
{
  int finalized = grove_mpi_is_gone();
  if (op->base.state == GROVE_OP_ACTIVE && !finalized)
    see_off(op); /* perhaps it is complete then */
  *rests = !grove_op_is_under_way(&op->base);
  return *rests ? GROVE_OK : abandon(op, finalized);
}

grove_status grove_transfer_free(grove_op *base)
{
  grove_transfer *op = (grove_transfer *)base;
  int rests = 0;
  grove_status status = grove_transfer_let_rest(op, &rests);
  if (!rests) return status;
  grove_transfer_release_forests(op);
  grove_transfer_dispose(op);
  return GROVE_OK;
}

/* ---- the call ---- */

grove_status grove_op_free(grove_op **pointer)
{
  if (!pointer || !*pointer) return GROVE_OK;
  grove_op *op = *pointer;
  *pointer = NULL;
  grove_context *ctx = grove_context_hold(op->ctx);
  grove_context_enter(ctx);
  grove_status status = op->kind->free(op);
  grove_context_leave(ctx);
  grove_status last = grove_context_release(ctx);
  return status == GROVE_OK ? last : status;
}

void grove_op_give_up(grove_op **op)
{
  grove_sentence sentence;
  if (!*op) return;
  grove_error_keep(&sentence);
  grove_op_free(op);
  grove_error_restore(&sentence);
}
