/* Freeing in any state. An operation that is not active is freed, or goes back to its pool. One
 * that is active is abandoned. The user's arrays may be gone a moment later, so it goes on with
 * copies (rebind.c). Its receives into the arrays are taken back from MPI and posted again. So
 * peers that start late are not held up, and nothing is written where it should not be. What is
 * still under way when the context goes is left alone on purpose, since MPI may still use it.
 */
#include "exec/transfer.h"

#include <stdlib.h>

/* An operation whose receives are taken back, and posted again. */
typedef struct later {
  grove_transfer *op;
  int withdrawn;
} later;

static int by_sequence(const void *a, const void *b)
{
  int64_t x = ((const later *)a)->op->sequence, y = ((const later *)b)->op->sequence;
  return (x > y) - (x < y);
}

/* The operation and those of its wiring that were started later, in the order of their starts. They
 * share a tag, so their receives match in that order. That order must survive. */
static grove_status list_later(grove_transfer *op, int *n, later **out)
{
  int room = 1;
  later *list = NULL;
  for (grove_transfer *k = op->wiring->run.members; k; k = k->next_member) room++;
  GROVE_PASS_NEW(list, room);
  list[(*n)++].op = op;
  for (grove_transfer *k = op->wiring->run.members; k; k = k->next_member)
    if (grove_op_is_under_way(&k->base) && k->sequence > op->sequence) list[(*n)++].op = k;
  qsort(list, (size_t)*n, sizeof *list, by_sequence);
  *out = list;
  return GROVE_OK;
}

/* Receive j of a haul of the first operation goes to its copy, if it has one. The receives of the
 * whole list are taken back, latest first. So a message that comes meanwhile still finds its own
 * receive. */
static grove_status divert_receive(later *list, int n, int stage, int haul, int j)
{
  grove_status status = GROVE_OK;
  double timeout = list->op->base.ctx->options.timeout_seconds;
  for (later *k = list + n; k-- > list;) {
    grove_carrier *c = k->op->stages[stage].hauls[haul].carrier;
    k->withdrawn = 0;
    if (!grove_carrier_pending(c, j)) continue;
    grove_status outcome = grove_carrier_withdraw(c, j, timeout, &k->withdrawn);
    if (outcome != GROVE_OK) status = outcome;
  }
  for (later *k = list; k < list + n; k++) {
    grove_bound_stage *s = &k->op->stages[stage];
    if (!k->withdrawn || k->op->base.state == GROVE_OP_STUCK) continue;
    grove_status outcome = GROVE_OK;
    if (k == list) outcome = grove_letter_bind(k->op, s, &s->hauls[haul], j);
    if (outcome == GROVE_OK) outcome = grove_carrier_repost(s->hauls[haul].carrier, j);
    if (outcome != GROVE_OK) status = outcome;
  }
  return status;
}

/* Is all of it for the user's arrays, or was it? */
static int is_unwanted(const grove_letter *letter)
{
  for (int k = 0; k < letter->nsections; k++) {
    grove_array array = letter->sections[k].array;
    if (!grove_array_is_users(array) && array != GROVE_ARRAY_COPY) return 0;
  }
  return 1;
}

/* Diverts, or forgoes, all receives of a haul that are for the user's arrays. What was forgone need
 * not come, so nobody looks at it. */
static grove_status divert_haul(later *list, int n, int stage, int c)
{
  grove_status status = GROVE_OK;
  grove_bound_stage *s = &list->op->stages[stage];
  grove_bound_haul *haul = &s->hauls[c];
  double timeout = list->op->base.ctx->options.timeout_seconds;
  for (int j = 0; haul->carrier && j < haul->wired->nreceives; j++) {
    if (!is_unwanted(&s->wired->letters[haul->wired->letters[j]])) continue;
    if (haul->letters[j].direct && grove_carrier_pending(haul->carrier, j)) {
      grove_status outcome = divert_receive(list, n, stage, c, j);
      if (outcome != GROVE_OK) status = outcome;
    } else {
      GROVE_PASS(grove_carrier_forgo(haul->carrier, j, timeout));
      haul->letters[j].memory = NULL;
    }
  }
  return status;
}

static grove_status divert_receives(later *list, int n)
{
  grove_status status = GROVE_OK;
  const grove_transfer *op = list->op;
  for (int k = op->oldest; k <= op->current; k++)
    for (int c = 0; c < op->stages[k].nhauls; c++) {
      grove_status outcome = divert_haul(list, n, k, c);
      if (outcome != GROVE_OK) status = outcome;
    }
  return status;
}

/* ---- what is to be sent ---- */

/* After this many polls in vain, whoever wants the rest is taken to be late. */
enum { PATIENCE = 2000 };

static int64_t left_to_send(const grove_bound_stage *s)
{
  int64_t left = 0;
  for (const grove_flow *flow = s->sends; flow < s->flows_end; flow++)
    if (flow->bound.state != GROVE_LETTER_DONE && flow->bound.missing == 0)
      left += flow->bytes - flow->at + 1;
  return left;
}

/* Goes on sending what shared memory has no room for yet, as long as somebody takes it. This rank
 * may not call the library again for a long time. */
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

/* The operation may stay until the context goes, and an MPI may have room for few datatypes. Only
 * what MPI itself packs or combines needs its datatype. */
static void forget_types(grove_transfer *op)
{
  for (int k = 0; k < op->nfields; k++) {
    grove_field *f = &op->fields[k];
    int by_mpi = f->fetcher.combine.way == GROVE_COMBINE_MPI ||
                 f->merger.combine.way == GROVE_COMBINE_MPI; /* they borrow it */
    if (!by_mpi) grove_mover_forget_type(&f->mover);
  }
}

static void close_lifts(grove_tomb *tomb)
{
  grove_apart_close(grove_transfer_of(tomb));
}

/* From here on the operation belongs to the context, which sees its messages through. After
 * MPI_Finalize nobody does. */
static grove_status abandon_transfer(grove_transfer *op, int finalized)
{
  grove_status status = GROVE_OK, diverted = GROVE_OK;
  later *list = NULL;
  int n = 0;
  if (!finalized) {
    grove_transfer_settle(op);
    status = list_later(op, &n, &list);
    if (status == GROVE_OK) status = grove_transfer_rebind(op);
    grove_apart_finish(op);
  }
  int failed = op->nspaces > 0 && op->base.state == GROVE_OP_FAILED; /* nobody waits for it */
  int stuck = finalized || failed || status != GROVE_OK;
  grove_op_move(&op->base, stuck                               ? GROVE_OP_STUCK
                           : op->base.state == GROVE_OP_FAILED ? GROVE_OP_LEAVING
                                                               : GROVE_OP_ABANDONED);
  op->base.ctx->abandoned++;
  op->tomb.end = close_lifts;
  if (failed && !finalized) /* it may be there to the end of the program */
    grove_context_bury(op->base.ctx, &op->tomb);
  if (list) diverted = divert_receives(list, n);
  free(list);
  if (status == GROVE_OK) status = diverted;
  if (!stuck) forget_types(op);
  grove_transfer_release_forests(op);
  if (!finalized) grove_context_progress(op->base.ctx); /* others may have their turn now */
  return status;
}

grove_status grove_transfer_let_rest(grove_transfer *op, int *rests)
{
  int finalized = grove_mpi_is_gone();
  if (op->base.guard) grove_guard_close(op->base.guard);
  if (op->base.state == GROVE_OP_ACTIVE && !finalized)
    see_off(op); /* perhaps it is complete then */
  *rests = !grove_op_is_under_way(&op->base);
  return *rests ? GROVE_OK : abandon_transfer(op, finalized);
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
  if (op->promise) grove_promise_end(op);
  grove_status verdict = grove_verdict(ctx, op->kind->free(op));
  grove_context_leave(ctx);
  grove_status last = grove_context_release(ctx);
  if (verdict == GROVE_OK) verdict = last;
  return verdict;
}

void grove_op_give_up(grove_op **op)
{
  grove_sentence sentence;
  if (!*op) return;
  grove_error_keep(&sentence);
  grove_op_free(op);
  grove_error_restore(&sentence);
}
