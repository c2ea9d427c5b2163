/* Starting by parts, and marks.
 *
 * Nothing is left behind. A thread that marks subtracts from counts (watch.c), sets `due`, and
 * tries to get in. Whoever drives resets `due`, looks at the counts, goes out, and looks at `due`
 * again. Channels do the same; partitioned/channel.h says why that is enough.
 */
#include "exec/partial.h"

/* ---- starting ---- */

grove_status grove_transfer_start_parts(grove_op *base)
{
  grove_transfer *op = (grove_transfer *)base;
  GROVE_PASS(grove_op_check_idle(base, "grove_start_parts"));
  if (op->fields[0].request.operation == GROVE_FETCH)
    return grove_op_no_parts(base, "grove_start_parts");
  if (!op->readying) GROVE_PASS(grove_readying_create(op));
  if (!op->arriving) GROVE_PASS(grove_arriving_create(op));
  op->readying->asked = 1;
  grove_status status = grove_transfer_run(op);
  op->readying->asked = 0;
  if (op->readying->needs_calls) grove_context_look_after(base->ctx);
  return status;
}

/* ---- marking ---- */

static void drive_transfer(grove_transfer *op)
{
  grove_readying *r = op->readying;
  do {
    if (!grove_transfer_try(op)) {
      if (op->base.ctx->alarm) grove_alarm_set(op->base.ctx->alarm, 0);
      return;
    }
    if (grove_op_state_of(&op->base) == GROVE_OP_ACTIVE) grove_transfer_advance(&op->base.active);
    grove_context_leave(op->base.ctx);
  } while (__atomic_fetch_or(&r->due, 0, __ATOMIC_ACQ_REL) &&
           grove_op_state_of(&op->base) == GROVE_OP_ACTIVE);
}

static grove_status mark_places(grove_transfer *op, int64_t first, int64_t count)
{
  grove_readying *r = op->readying;
  int64_t end = first + count, from = grove_index_below(&r->places, first);
  int64_t twice = grove_claims_take(r->claims, from, grove_index_below(&r->places, end) - from);
  GROVE_PASS_CHECK(twice < 0, GROVE_ERR_STATE,
                   "rank %d: grove_ready: %s %lld of this %s was marked already (start %lld)",
                   op->base.ctx->rank, grove_readying_noun(op),
                   (long long)grove_index_at(&r->places, twice), grove_op_label(&op->base),
                   (long long)op->sequence);
  if (op->base.guard) grove_guard_seal(op->base.guard, first, end);
  if (!grove_readying_note_final(r, first, end)) return GROVE_OK;
  __atomic_exchange_n(&r->due, 1, __ATOMIC_ACQ_REL);
  drive_transfer(op);
  return GROVE_OK;
}

static grove_status check_marks(const grove_transfer *op, int64_t first, int64_t count)
{
  const grove_readying *r = op->readying;
  int64_t most = grove_readying_source(op) == GROVE_ARRAY_LEAF ? INT64_MAX : r->places.count;
  GROVE_PASS_CHECK(first >= 0 && count >= 0 && count <= most && first <= most - count,
                   GROVE_ERR_ARG,
                   "rank %d: grove_ready: %lld %ss from %lld on, of this %s, which has %lld",
                   op->base.ctx->rank, (long long)count, grove_readying_noun(op), (long long)first,
                   grove_op_label(&op->base), (long long)r->places.count);
  return GROVE_OK;
}

grove_status grove_transfer_ready(grove_op *base, int64_t first, int64_t count)
{
  grove_transfer *op = (grove_transfer *)base;
  grove_readying *r = op->readying;
  grove_op_state state = grove_op_state_of(base);
  if (op->fields[0].request.operation == GROVE_FETCH) return grove_op_no_parts(base, "grove_ready");
  GROVE_PASS_CHECK(!grove_context_outlives_mpi(base->ctx), GROVE_ERR_STATE,
                   "rank %d: grove_ready: MPI_Finalize was called while this %s was under way",
                   base->ctx->rank, grove_op_label(base));
  GROVE_PASS_CHECK(state == GROVE_OP_ACTIVE || state >= GROVE_OP_DONE, GROVE_ERR_STATE,
                   "rank %d: grove_ready: this %s was not started", base->ctx->rank,
                   grove_op_label(base));
  GROVE_PASS_CHECK(
    r && r->by_parts, GROVE_ERR_STATE,
    "rank %d: grove_ready: this %s was started by grove_start, which says that all of it "
    "is final; grove_start_parts does not",
    base->ctx->rank, grove_op_label(base));
  GROVE_PASS(check_marks(op, first, count));
  if (count == 0) return GROVE_OK;
  __atomic_fetch_add(&r->inside, 1, __ATOMIC_ACQUIRE);
  grove_status status = mark_places(op, first, count);
  __atomic_fetch_sub(&r->inside, 1, __ATOMIC_RELEASE);
  return status;
}
