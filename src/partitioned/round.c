/* A round of either end, from its start to its end. */
#include "partitioned/guarded.h"
#include "partitioned/staged.h"
#include "partitioned/way.h"

#include <math.h>

/* ---- a round begins ---- */

static grove_status begin_receive(grove_channel *c)
{
  c->missing = c->bytes;
  for (int64_t p = 0; p < c->parts; p++) __atomic_store_n(&c->come[p], 0, __ATOMIC_RELAXED);
  __atomic_store_n(&c->told, 0, __ATOMIC_RELAXED);
  __atomic_store_n(&c->narrivals, 0, __ATOMIC_RELAXED);
  if (c->bond == GROVE_BOND_TIED)
    GROVE_PASS(c->way->open(c));
  else if (c->bond == GROVE_BOND_NONE)
    GROVE_PASS(grove_match_seek(c, NULL));
  return GROVE_OK;
}

static void forget_times(grove_channel *c)
{
  for (int64_t p = 0; c->when && p < c->parts; p++)
    c->when[p] = (grove_part_time){NAN, NAN, NAN, -1};
}

enum { TIMED_STARTS = 8, TIMED_EVERY = 16 };

grove_status grove_channel_start(grove_op *op)
{
  grove_channel *c = (grove_channel *)op;
  GROVE_PASS(grove_op_check_idle(op, "grove_start"));
  if (c->bond == GROVE_BOND_REFUSED) return grove_error_set(c->refused, c->refusal);
  if (c->staged) GROVE_PASS(grove_staged_start(c));
  GROVE_PASS(grove_guarded_open(c));
  grove_op_forget_failure(op);
  op->timed = op->starts < TIMED_STARTS || op->starts % TIMED_EVERY == 0;
  if (op->timed || c->timed || c->when || c->account.kept) op->since = c->since = grove_clock();
  forget_times(c);
  c->round++;
  c->messages = 0;
  c->starter = grove_this_thread();
  grove_op_move(op, GROVE_OP_ACTIVE);
  grove_status status = c->sends ? grove_send_begin(c) : begin_receive(c);
  if (status != GROVE_OK) {
    grove_op_move(op, GROVE_OP_FAILED);
    if (op->guard) grove_guard_close(op->guard);
    return status;
  }
  grove_context_activate(op->ctx, &op->active);
  int has_nothing_yet = c->sends && c->bond == GROVE_BOND_TIED && c->bytes > 0;
  if (!has_nothing_yet) grove_channel_advance(&op->active);
  if (c->account.kept) grove_op_note_start(op, &c->account, c->round);
  return status;
}

/* ---- going on ---- */

void grove_channel_dispose(grove_channel *c)
{
  grove_staged_close(c);
  grove_guard_free(&c->base.guard);
  if (c->way && c->end) c->way->close(c);
  if (c->memory) c->aggregator->forget(&c->memory);
  grove_machine_free(&c->machine);
  grove_part_plan_free(&c->plan);
  grove_readiness_free(&c->readiness);
  grove_mover_free(&c->mover);
  grove_op_forget_failure(&c->base);
  free(c->doors);
  free(c->refusal);
  free(c->reply);
  free(c->staging);
  free(c->come);
  free(c->arrivals);
  free(c->when);
  free(c);
}

/* A receiver has taken all of the round. A sender has not sent it: in the next one the receiver
 * would take its parts for those that it lacks. */
static void refuse_next_round(grove_channel *c)
{
  const char *why = c->base.sentence ? c->base.sentence : "no memory for a sentence";
  if (c->bond == GROVE_BOND_SOUGHT) grove_match_leave(c);
  grove_channel_refuse(c, c->base.failure, why);
}

static void finish_round(grove_channel *c)
{
  grove_op *op = &c->base;
  op->starts++;
  if (op->timed) {
    op->timed_starts++;
    op->seconds += grove_clock() - op->since;
  }
  c->planned = c->messages;
  if (c->account.kept) grove_account_note_round(c);
  if (c->memory && op->failure == GROVE_OK) grove_op_note(op, grove_send_learn(c));
  if (c->sends && c->staged && grove_staged_has_failed(c)) refuse_next_round(c);
  grove_context_deactivate(&op->active);
  grove_op_move(op, GROVE_OP_DONE);
}

/* It was freed while under way. Is it over, as far as it will go? */
static int round_is_through(grove_channel *c)
{
  if (c->bond == GROVE_BOND_REFUSED) return 1;
  if (!c->sends)
    return c->bond == GROVE_BOND_TIED && (!c->way->sees_through || grove_channel_has_come(c));
  return (grove_channel_flows(c) || grove_readiness_marked(c->readiness) == 0) &&
         c->way->is_quiet(c);
}

static void let_channel_go(grove_channel *c)
{
  grove_context_deactivate(&c->base.active);
  c->base.ctx->abandoned--;
  grove_match_leave(c);
  grove_channel_dispose(c);
}

static grove_status go_on(grove_channel *c)
{
  if (!grove_channel_flows(c)) return GROVE_OK;
  if (c->sends) GROVE_PASS(grove_send_post(c));
  GROVE_PASS(c->way->advance(c));
  if (c->staged && !c->sends) grove_channel_land(c);
  if (c->sends && grove_send_needs_calls(c)) c->base.ctx->look_again = 1;
  return GROVE_OK;
}

/* Is the round over, well or not? A device's failure does not take back what is under way. */
static int round_is_over(const grove_channel *c)
{
  if (c->staged && grove_staged_has_failed(c))
    return c->sends ? grove_send_is_spent(c) : grove_channel_has_come(c);
  if (c->base.failure != GROVE_OK) return 1;
  return c->bond == GROVE_BOND_TIED &&
         (c->sends ? grove_send_is_over(c) : grove_channel_has_come(c));
}

void grove_channel_advance(grove_active *active)
{
  grove_channel *c = (grove_channel *)active;
  grove_op_state state = c->base.state;
  if (state == GROVE_OP_STUCK) return;
  grove_status status = go_on(c);
  if (state == GROVE_OP_ABANDONED) {
    if (status != GROVE_OK)
      grove_op_move(&c->base, GROVE_OP_STUCK);
    else if (round_is_through(c))
      let_channel_go(c);
    return;
  }
  if (status != GROVE_OK) grove_op_note(&c->base, status);
  if (round_is_over(c)) finish_round(c);
}

/* May this thread move things on? If so, it must leave the context afterwards. */
static int enter_context(grove_channel *c)
{
  grove_context *ctx = c->base.ctx;
  if (!ctx->lock && c->starter != grove_this_thread()) return 0;
  return grove_context_try(ctx);
}

void grove_channel_poll(grove_channel *c)
{
  grove_context *ctx = c->base.ctx;
  if (!enter_context(c)) return;
  grove_context_progress(ctx);
  if (++c->looks % GROVE_NUDGE_EVERY == 0) grove_context_nudge(ctx);
  grove_context_leave(ctx);
}

/* Sends what is due. What has left is looked after only now and then: there may be much of it. */
static void drive_once(grove_channel *c)
{
  if (c->bond == GROVE_BOND_SOUGHT) grove_match_poll(c->base.ctx); /* it fails again, and reports */
  if (grove_op_state_of(&c->base) != GROVE_OP_ACTIVE) return;
  if (c->sends && grove_channel_flows(c) && ++c->looks % GROVE_NUDGE_EVERY != 0)
    grove_op_note(&c->base, grove_send_post(c));
  else
    grove_channel_advance(&c->base.active);
}

/* Something may become due while this thread is inside and another cannot get in. The loop sees to
 * that. But the thread inside may be there for something else. */
void grove_channel_drive(grove_channel *c)
{
  do {
    if (!enter_context(c)) {
      grove_send_tell_alarm(c, 1);
      return;
    }
    __atomic_exchange_n(&c->due, 0, __ATOMIC_ACQ_REL);
    drive_once(c);
    grove_context_leave(c->base.ctx);
  } while (__atomic_fetch_or(&c->due, 0, __ATOMIC_ACQ_REL) &&
           grove_op_state_of(&c->base) == GROVE_OP_ACTIVE);
}
