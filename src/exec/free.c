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

/* Receive j of a haul of the first operation goes to memory of our own. All of the list are taken
 * back, the latest first, so that a message which comes meanwhile still finds the one it was meant
 * for. */
static grove_status divert(grove_transfer **list, int n, int stage, int haul, int j)
{
  grove_status status = GROVE_OK, outcome = GROVE_OK;
  double timeout = list[0]->base.ctx->options.timeout_seconds;
  unsigned char *again = NULL;
  GROVE_NEW(again, n);
  for (int k = n - 1; k >= 0; k--) {
    grove_carrier *c = list[k]->stages[stage].hauls[haul].carrier;
    int withdrawn = 0;
    if (grove_carrier_pending(c, j)) outcome = grove_carrier_withdraw(c, j, timeout, &withdrawn);
    if (outcome != GROVE_OK) status = outcome;
    again[k] = (unsigned char)withdrawn;
  }
  for (int k = 0; k < n; k++)
    if (again[k])
      outcome = grove_carrier_repost(list[k]->stages[stage].hauls[haul].carrier, j,
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

/* All receives of a haul that are for the user's arrays. */
static grove_status divert_haul(grove_transfer **list, int n, int stage, int c)
{
  grove_status status = GROVE_OK;
  const grove_bound_stage *s = &list[0]->stages[stage];
  const grove_bound_haul *haul = &s->hauls[c];
  double timeout = list[0]->base.ctx->options.timeout_seconds;
  for (int j = 0; haul->carrier && j < haul->wired->nreceives; j++) {
    int i = haul->wired->letters[j];
    if (grove_letter_is_in_array(s, i) && grove_carrier_pending(haul->carrier, j)) {
      grove_status outcome = divert(list, n, stage, c, j);
      if (outcome != GROVE_OK) status = outcome;
    } else if (is_unwanted(&s->wired->letters[i])) {
      GROVE_TRY(grove_carrier_forgo(haul->carrier, j, timeout));
    }
  }
fail:
  return status;
}

static grove_status divert_receives(grove_transfer *op)
{
  grove_status status = GROVE_OK;
  grove_transfer **list = NULL;
  int n = 0;
  GROVE_TRY(list_later(op, &n, &list));
  for (int k = op->oldest; k <= op->current; k++)
    for (int c = 0; c < op->stages[k].nhauls; c++) {
      grove_status outcome = divert_haul(list, n, k, c);
      if (outcome != GROVE_OK) status = outcome;
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

/* Is it still, or again, to be taken out of its array? */
static int is_to_be_saved(const grove_letter *letter, const grove_bound_letter *bound)
{
  int packed = bound->memory && !bound->direct;
  if (!reads_array(letter) || bound->state == GROVE_LETTER_DONE) return 0;
  return bound->state == GROVE_LETTER_WAITS || (bound->state == GROVE_LETTER_LEAVES && !packed);
}

static grove_status save_flow(grove_transfer *op, grove_bound_stage *s, grove_flow *flow)
{
  grove_status status = GROVE_OK;
  if (flow->posted || !is_to_be_saved(&s->wired->letters[flow->letter], &flow->bound))
    return GROVE_OK;
  GROVE_TRY(grove_letter_save(op, s, flow->letter));
  flow->in_place = 0;
fail:
  return status;
}

/* What its carrier has, or had, MPI has seen to. */
static grove_status save_message(grove_transfer *op, grove_bound_stage *s, grove_bound_haul *haul,
                                 int j)
{
  grove_status status = GROVE_OK;
  int i = haul->wired->letters[j];
  if (haul->letters[j].state != GROVE_LETTER_WAITS || !reads_array(&s->wired->letters[i]))
    return GROVE_OK;
  int direct = haul->letters[j].direct;
  GROVE_TRY(grove_letter_save(op, s, i));
  if (direct) GROVE_TRY(grove_carrier_bind(haul->carrier, j, haul->letters[j].memory));
fail:
  return status;
}

/* A stage that was not entered: all of it waits. */
static void await_all(grove_bound_stage *s)
{
  for (grove_flow *flow = s->sends; flow < s->flows_end; flow++)
    flow->bound.state = GROVE_LETTER_WAITS;
  for (int c = 0; c < s->nhauls; c++)
    for (int j = 0; s->hauls[c].carrier && j < grove_haul_size(s->hauls[c].wired); j++)
      s->hauls[c].letters[j].state = GROVE_LETTER_WAITS;
  s->own.state = GROVE_LETTER_WAITS;
}

/* Takes what this rank still owes others out of the user's arrays: what has not left, or only
 * halfway, and self edges whose turn has not come. */
static grove_status save_stage(grove_transfer *op, int k)
{
  grove_status status = GROVE_OK;
  grove_bound_stage *s = &op->stages[k];
  if (k > op->current) await_all(s);
  for (grove_flow *flow = s->sends; flow < s->flows_end; flow++) GROVE_TRY(save_flow(op, s, flow));
  for (int c = 0; c < s->nhauls; c++) {
    grove_bound_haul *haul = &s->hauls[c];
    for (int j = haul->wired->nreceives; haul->carrier && j < grove_haul_size(haul->wired); j++)
      GROVE_TRY(save_message(op, s, haul, j));
  }
  if (s->own.state != GROVE_LETTER_DONE) GROVE_TRY(grove_transfer_save_keeps(op, k));
fail:
  return status;
}

/* Polls in vain before those who want what is left to send are taken not to be there yet. */
enum { PATIENCE = 2000 };

static int64_t left_to_send(const grove_bound_stage *s)
{
  int64_t left = 0;
  for (const grove_flow *flow = s->sends; flow < s->flows_end; flow++)
    if (flow->bound.state != GROVE_LETTER_DONE && flow->bound.missing == 0)
      left += flow->bytes - flow->at + 1;
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
  grove_transfer_settle(op);
  for (int k = op->oldest; k < op->nstages; k++) GROVE_TRY(save_stage(op, k));
  GROVE_TRY(grove_transfer_detach(op));
  grove_apart_finish(op);
fail:
  return status;
}

/* It may stay until the context goes, and an MPI may have room for few datatypes. Only what MPI
 * itself packs or combines needs its own. */
static void forget_types(grove_transfer *op)
{
  for (int k = 0; k < op->nfields; k++) {
    grove_field *f = &op->fields[k];
    int by_mpi = f->fetcher.combine.way == GROVE_COMBINE_MPI ||
                 f->merger.combine.way == GROVE_COMBINE_MPI; /* they borrow it */
    if (!by_mpi) grove_mover_forget_type(&f->mover);
  }
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
      flow->bound.single = 0; /* its memory may go */
  grove_op_move(&op->base, finalized || saved != GROVE_OK      ? GROVE_OP_STUCK
                           : op->base.state == GROVE_OP_FAILED ? GROVE_OP_LEAVING
                                                               : GROVE_OP_ABANDONED);
  op->base.ctx->abandoned++;
  if (!finalized && saved == GROVE_OK) forget_types(op);
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
