/* What any thread may call between start and wait: marking and looking. */
#include "partitioned/guarded.h"
#include "partitioned/staged.h"
#include "partitioned/way.h"

/* These calls take no lock, but their work may need MPI. */
static grove_status check_mpi(const grove_op *op, const char *call)
{
  GROVE_PASS_CHECK(!grove_context_outlives_mpi(op->ctx), GROVE_ERR_STATE,
                   "rank %d: %s: MPI_Finalize was called while this %s was under way",
                   op->ctx->rank, call, grove_op_label(op));
  return GROVE_OK;
}

/* ---- the wrong end ---- */

static grove_status refuse_part(const grove_op *op, const char *call, int64_t part)
{
  const grove_channel *c = (const grove_channel *)op;
  return grove_error(GROVE_ERR_STATE, __FILE__, __LINE__,
                     "rank %d: %s: part %lld (round %lld): this is a %s, the end that %s",
                     op->ctx->rank, call, (long long)part, (long long)c->round, grove_op_label(op),
                     c->sends ? "sends" : "receives");
}

grove_status grove_marks_no_ready(grove_op *op, int64_t first, int64_t count)
{
  (void)count;
  return refuse_part(op, "grove_ready", first);
}

grove_status grove_marks_no_arrived(grove_op *op, int64_t first, int64_t count, int *yes)
{
  (void)count, (void)yes;
  return refuse_part(op, "grove_arrived", first);
}

grove_status grove_marks_no_arrivals(grove_op *op, int64_t *first, int64_t *count)
{
  (void)first, (void)count;
  return refuse_part(op, "grove_arrivals", 0);
}

/* ---- marking ---- */

/* May any thread post what is due? What must be packed is left to whoever drives. */
static int is_posted_by_threads(const grove_channel *c)
{
  return c->way->by_threads && c->dense;
}

static grove_status mark_parts(grove_channel *c, int64_t first, int64_t count)
{
  int due = 0;
  if (c->staged) GROVE_PASS(grove_staged_mark(c, first, count));
  int64_t twice =
    grove_readiness_mark(c->readiness, first, count, c->timed ? grove_clock() : 0, &due);
  GROVE_PASS_CHECK(twice < 0, GROVE_ERR_STATE,
                   "rank %d: grove_ready: part %lld (round %lld) of this %s was marked already",
                   c->base.ctx->rank, (long long)twice, (long long)c->round,
                   grove_op_label(&c->base));
  grove_guarded_seal(c, first, count);
  if (c->bytes == 0) due = grove_readiness_marked(c->readiness) == c->parts;
  if (!due) return GROVE_OK;
  __atomic_exchange_n(&c->due, 1, __ATOMIC_ACQ_REL);
  if (is_posted_by_threads(c) && c->bytes > 0)
    GROVE_PASS(grove_send_post(c));
  else
    grove_channel_drive(c);
  return GROVE_OK;
}

grove_status grove_marks_ready(grove_op *op, int64_t first, int64_t count)
{
  grove_channel *c = (grove_channel *)op;
  GROVE_PASS(grove_channel_check_range(c, "grove_ready", first, count));
  GROVE_PASS(check_mpi(op, "grove_ready"));
  grove_op_state state = grove_op_state_of(op);
  GROVE_PASS_CHECK(state == GROVE_OP_ACTIVE || state == GROVE_OP_DONE, GROVE_ERR_STATE,
                   "rank %d: grove_ready: part %lld (round %lld): this %s was not started",
                   op->ctx->rank, (long long)first, (long long)c->round, grove_op_label(op));
  if (count == 0) return GROVE_OK;
  int *inside = &c->doors[grove_thread_number() & (c->ndoors - 1)].inside;
  __atomic_fetch_add(inside, 1, __ATOMIC_ACQUIRE);
  grove_status status = mark_parts(c, first, count);
  __atomic_fetch_sub(inside, 1, __ATOMIC_RELEASE);
  return status;
}

/* ---- looking ---- */

static grove_status check_parts_asked(const grove_op *op, const char *call)
{
  GROVE_PASS_CHECK(((const grove_channel *)op)->round > 0, GROVE_ERR_STATE,
                   "rank %d: %s: this %s was not started", op->ctx->rank, call, grove_op_label(op));
  return GROVE_OK;
}

grove_status grove_marks_arrived(grove_op *op, int64_t first, int64_t count, int *yes)
{
  grove_channel *c = (grove_channel *)op;
  GROVE_PASS(grove_channel_check_range(c, "grove_arrived", first, count));
  GROVE_PASS(check_parts_asked(op, "grove_arrived"));
  grove_guarded_note_asked(c);
  int have = grove_channel_have_come(c, first, count);
  if (!have) {
    GROVE_PASS(check_mpi(op, "grove_arrived"));
    grove_channel_poll(c);
    have = grove_channel_have_come(c, first, count);
    if (!have) GROVE_PASS(grove_staged_check(c, "grove_arrived"));
  }
  *yes = have;
  return GROVE_OK;
}

grove_status grove_marks_arrivals(grove_op *op, int64_t *first, int64_t *count)
{
  grove_channel *c = (grove_channel *)op;
  grove_part_run run = {0, 0};
  GROVE_PASS(check_parts_asked(op, "grove_arrivals"));
  grove_guarded_note_asked(c);
  if (!grove_channel_claim(c, &run)) {
    GROVE_PASS(check_mpi(op, "grove_arrivals"));
    grove_channel_poll(c);
    if (!grove_channel_claim(c, &run)) GROVE_PASS(grove_staged_check(c, "grove_arrivals"));
  }
  *first = run.first;
  *count = run.count;
  return GROVE_OK;
}
