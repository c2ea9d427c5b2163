/* Freeing in any state. An operation that is not active is simply freed, or goes back to its pool.
 * One that is active is abandoned: the user's arrays may be gone a moment later, so receives into
 * them are taken back and posted again into memory of our own; then peers that start late are not
 * held up, and nothing is written where it should not. What is still under way when the context
 * goes is left alone on purpose: MPI may yet use it.
 */
#include "exec/op.h"

#include <stdlib.h>

static int by_sequence(const void *a, const void *b)
{
  const grove_op *x = *(grove_op *const *)a, *y = *(grove_op *const *)b;
  return (x->sequence > y->sequence) - (x->sequence < y->sequence);
}

/* The operation and those of its wiring that were started after it, in the order of their starts.
 * They share a tag, so their receives match in that order, and it must survive. */
static grove_status list_later(grove_op *op, int *n, grove_op ***out)
{
  grove_status status = GROVE_OK;
  int room = 1;
  grove_op **list = NULL;
  for (grove_op *k = op->wiring->members; k; k = k->next_member) room++;
  GROVE_NEW(list, room);
  list[(*n)++] = op;
  for (grove_op *k = op->wiring->members; k; k = k->next_member)
    if (k->state == GROVE_OP_ACTIVE && k->sequence > op->sequence) list[(*n)++] = k;
  qsort(list, (size_t)*n, sizeof *list, by_sequence);
  *out = list;
fail:
  return status;
}

/* Receive j over MPI of the first operation goes to memory of our own. All of the list are taken
 * back, the latest first, so that a message which comes meanwhile still finds the one it was meant
 * for. */
static grove_status divert(grove_op **list, int n, int stage, int j)
{
  grove_status status = GROVE_OK, outcome = GROVE_OK;
  double timeout = list[0]->ctx->options.timeout_seconds;
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
      outcome =
        grove_carrier_repost(list[k]->stages[stage].carrier, j, k == 0 || list[k]->abandoned);
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

static grove_status divert_receives(grove_op *op)
{
  grove_status status = GROVE_OK;
  double timeout = op->ctx->options.timeout_seconds;
  grove_op **list = NULL;
  int n = 0;
  GROVE_TRY(list_later(op, &n, &list));
  for (int k = op->oldest; k <= op->current; k++) {
    const grove_bound_stage *s = &op->stages[k];
    for (int j = 0; j < s->wired->np2p_receives; j++)
      if (grove_op_is_in_array(s, s->wired->p2p[j]) && grove_carrier_pending(s->carrier, j)) {
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
static grove_status save_message(grove_op *op, grove_bound_stage *s, int j)
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
  GROVE_TRY(grove_op_pack(op, s, i));
fail:
  return status;
}

/* Takes what this rank still owes others out of the user's arrays: of a stage that was entered,
 * what shared memory had no room for, and self edges whose turn has not come; of later ones all. */
static grove_status save_stage(grove_op *op, int k)
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
  if (later || !s->kept) GROVE_TRY(grove_op_save_keeps(op, k));
fail:
  return status;
}

void grove_op_leave(grove_op *op)
{
  grove_op **at = &op->wiring->members;
  while (*at && *at != op) at = &(*at)->next_member;
  if (*at) *at = op->next_member;
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
static void see_off(grove_op *op)
{
  grove_pause pause;
  int64_t left = INT64_MAX;
  grove_pause_begin(&pause, 0);
  for (int polls = 0; polls < PATIENCE; polls++) {
    grove_context_progress(op->ctx);
    int64_t now = 0;
    for (int k = op->oldest; k <= op->current; k++) now += left_to_send(&op->stages[k]);
    if (op->state != GROVE_OP_ACTIVE || now == 0) return;
    if (now < left) polls = 0;
    left = now;
    grove_context_pause(op->ctx, &pause);
  }
}

/* All that it still owes others, and nothing of the user's is needed for it any more. */
static grove_status save(grove_op *op)
{
  grove_status status = GROVE_OK;
  for (int k = op->oldest; k < op->nstages; k++) GROVE_TRY(save_stage(op, k));
  GROVE_TRY(grove_op_detach(op));
fail:
  return status;
}

/* From here on the operation belongs to the context, which sees its messages through; after
 * MPI_Finalize nobody does. */
static grove_status abandon(grove_op *op, int finalized)
{
  grove_status status = finalized ? GROVE_OK : divert_receives(op);
  grove_status saved = finalized ? GROVE_OK : save(op);
  if (status == GROVE_OK) status = saved;
  op->stuck = finalized || saved != GROVE_OK;
  for (grove_bound_stage *s = op->stages + op->oldest; s < op->stages + op->nstages; s++)
    for (grove_flow *flow = s->flows; flow < s->flows_end; flow++)
      flow->single = 0; /* its memory may go */
  op->abandoned = 1;
  op->ctx->abandoned++;
  grove_op_release_forests(op);
  if (!finalized) grove_context_progress(op->ctx); /* it may be the turn of others now */
  return status;
}

void grove_op_put_back(grove_op *op)
{
  op->state = GROVE_OP_IDLE;
  grove_wiring_release(op->wiring);
  grove_op_release_forests(op);
}

static grove_status free_op(grove_op *op)
{
  if (op->contest) grove_contest_close(op);
  if (op->state == GROVE_OP_ACTIVE) {
    int finalized = grove_mpi_is_gone();
    if (!op->unusable && !finalized) see_off(op); /* perhaps it is complete then */
    if (op->state == GROVE_OP_ACTIVE) return abandon(op, finalized);
  }
  if (op->begun) {
    grove_op_put_back(op);
    return GROVE_OK;
  }
  grove_wiring *wiring = op->wiring;
  grove_op_release_forests(op);
  grove_op_destroy(op);
  grove_wiring_release(wiring);
  return GROVE_OK;
}

grove_status grove_op_free(grove_op **pointer)
{
  if (!pointer || !*pointer) return GROVE_OK;
  grove_op *op = *pointer;
  *pointer = NULL;
  grove_context *ctx = grove_context_hold(op->ctx);
  grove_context_enter(ctx);
  grove_status status = free_op(op);
  grove_context_leave(ctx);
  grove_status last = grove_context_release(ctx);
  return status == GROVE_OK ? last : status;
}
