/* Test, wait, end and report: the calls that see an operation through. */
#include "exec/transfer.h"

#include <string.h>

grove_status grove_op_check_started(const grove_op *op, const char *call)
{
  GROVE_PASS_CHECK(op, GROVE_ERR_ARG, "%s: the operation is NULL", call);
  GROVE_PASS_CHECK(grove_op_state_of(op) != GROVE_OP_IDLE, GROVE_ERR_STATE,
                   "rank %d: %s: this %s was not started", op->ctx->rank, call, grove_op_label(op));
  GROVE_PASS_CHECK(grove_op_state_of(op) != GROVE_OP_FAILED, GROVE_ERR_STATE,
                   "rank %d: %s: the start of this %s failed; it can only be freed", op->ctx->rank,
                   call, grove_op_label(op));
  GROVE_PASS_CHECK(
    grove_op_state_of(op) != GROVE_OP_ACTIVE || !grove_context_outlives_mpi(op->ctx),
    GROVE_ERR_STATE,
    "rank %d: %s: MPI_Finalize was called while this %s was under way; it can only be "
    "freed",
    op->ctx->rank, call, grove_op_label(op));
  return GROVE_OK;
}

/* What went wrong while the operation was under way, if anything did. */
static grove_status outcome_of(grove_op *op)
{
  if (op->guard) grove_op_look_back(op);
  if (op->failure == GROVE_OK) return GROVE_OK;
  return grove_error_set(op->failure, op->sentence ? op->sentence : "no memory for a sentence");
}

/* Advances everything, and says whether the operation is complete. */
static int poll_context(const grove_op *op)
{
  grove_op_poll(op);
  return grove_op_state_of(op) >= GROVE_OP_DONE;
}

grove_status grove_op_end_test(grove_op *op, double since, int complete)
{
  if (!complete && ++op->tests % GROVE_NUDGE_EVERY == 0) grove_context_nudge(op->ctx);
  if (op->timing.open) grove_op_note_wait(op, GROVE_SPAN_TEST, since, complete);
  if (complete && !grove_op_is_begun(op)) grove_op_move(op, GROVE_OP_TOLD);
  return complete ? outcome_of(op) : GROVE_OK;
}

grove_status grove_test(grove_op *op, int *done)
{
  grove_status status = GROVE_OK;
  GROVE_TRY(grove_op_check_started(op, "grove_test"));
  GROVE_CHECK(done, GROVE_ERR_ARG, "grove_test: done is NULL");
  double since = grove_op_clock(op);
  int complete = poll_context(op);
  GROVE_TRY(grove_op_end_test(op, since, complete));
  *done = complete;
fail:
  return GROVE_VERDICT(op, status);
}

static grove_status time_out(const grove_op *op)
{
  char missing[384];
  op->kind->missing(op, missing, sizeof missing);
  return grove_error(GROVE_ERR_TIMEOUT, __FILE__, __LINE__, "rank %d waited %g s in %s%s",
                     op->ctx->rank, op->ctx->options.timeout_seconds, grove_op_label(op), missing);
}

/* Polls before a wait in earnest, which reads the clock. They take about as long as a small message
 * between two caches. */
enum { QUICK_POLLS = 50 };

grove_status grove_op_look_once_more(grove_op *op)
{
  grove_context_enter(op->ctx);
  grove_context_progress(op->ctx);
  grove_status status = op->state >= GROVE_OP_DONE ? GROVE_OK : time_out(op);
  grove_context_leave(op->ctx);
  return status;
}

double grove_op_timeout(const grove_op *op)
{
  grove_context *ctx = op->ctx;
  grove_context_enter(ctx);
  double timeout = ctx->options.timeout_seconds;
  grove_context_leave(ctx);
  return timeout;
}

/* If several threads wait in earnest, the first may spin: it advances what all of them wait for. */
static grove_status wait_in_earnest(grove_op *op, int spins)
{
  grove_context *ctx = op->ctx;
  grove_pause pause;
  int done = 0;
  double timeout = grove_op_timeout(op);
  int first = __atomic_fetch_add(&ctx->waiting, 1, __ATOMIC_RELAXED) == 0;
  grove_pause_begin(&pause, first ? spins : 0);
  for (unsigned n = 0; !(done = poll_context(op)) && !grove_pause_expired(&pause, timeout);) {
    grove_pause_step(&pause);
    if (grove_pause_yields(&pause) && ++n % GROVE_NUDGE_EVERY == 0) grove_context_nudge(ctx);
  }
  __atomic_sub_fetch(&ctx->waiting, 1, __ATOMIC_RELAXED);
  return done ? GROVE_OK : grove_op_look_once_more(op);
}

static grove_status wait_on(grove_op *op)
{
  int spins = __atomic_load_n(&op->ctx->spins, __ATOMIC_RELAXED);
  int polls = spins < QUICK_POLLS ? spins : QUICK_POLLS;
  while (polls-- > 0)
    if (poll_context(op)) return GROVE_OK;
  return wait_in_earnest(op, spins);
}

grove_status grove_op_end_wait(grove_op *op, double since, grove_status status)
{
  if (op->timing.open) grove_op_note_wait(op, GROVE_SPAN_WAIT, since, status == GROVE_OK);
  GROVE_PASS(status);
  op->awaited = 0;
  grove_op_move(op, op->rest);
  return outcome_of(op);
}

/* Inlined, this would cost the usual wait an instruction. */
__attribute__((noinline)) static grove_status check_wait(const grove_op *op)
{
  return GROVE_VERDICT(op, grove_op_check_started(op, "grove_wait"));
}

static grove_status wait_with_care(grove_op *op)
{
  grove_status status = GROVE_OK;
  GROVE_PASS(check_wait(op));
  double since = grove_op_clock(op);
  if (grove_context_locks(op->ctx) || op->state == GROVE_OP_ACTIVE) status = wait_on(op);
  return grove_verdict(op->ctx, grove_op_end_wait(op, since, status));
}

grove_status grove_wait(grove_op *op)
{
  if (!op || op->timing.open || op->ctx->careful) return wait_with_care(op);
  grove_active *first = op->ctx->active.next;
  if (first == &op->active && first == op->ctx->active.previous)
    first->advance(first); /* with luck that is all */
  else if (first != &op->ctx->active)
    grove_context_progress(op->ctx);
  if (op->state != GROVE_OP_DONE || op->failure != GROVE_OK) return wait_with_care(op);
  grove_op_move(op, op->rest);
  return GROVE_OK;
}

/* Does nothing else hold its forest, and perhaps the context? */
static int is_last(const grove_transfer *op)
{
  return op->fields[0].request.forest->references <= 1;
}

grove_status grove_end(grove_op **pointer)
{
  grove_status status = GROVE_OK;
  grove_op *op = pointer ? *pointer : NULL;
  GROVE_CHECK(op, GROVE_ERR_ARG, "grove_end: the operation is NULL");
  GROVE_CHECK(grove_op_is_begun(op), GROVE_ERR_STATE,
              "rank %d: grove_end: this %s was made by _init; it ends with grove_wait and "
              "grove_op_free",
              op->ctx->rank, grove_op_label(op));
  status = grove_wait(op);
  if (grove_op_state_of(op) == GROVE_OP_ACTIVE) goto fail; /* timed out: it can be ended later */
  if (status == GROVE_OK && !grove_context_locks(op->ctx) && !is_last((grove_transfer *)op)) {
    *pointer = NULL;
    grove_transfer_put_back((grove_transfer *)op);
    return GROVE_OK;
  }
  if (status == GROVE_OK) return grove_op_free(pointer); /* perhaps the last of the context */
  grove_status verdict = grove_verdict(op->ctx, status);
  grove_op_give_up(pointer);
  return verdict;
fail:
  return GROVE_VERDICT(op, status);
}

grove_status grove_op_set_user(grove_op *op, void *user)
{
  grove_status status = GROVE_OK;
  GROVE_CHECK(op, GROVE_ERR_ARG, "grove_op_set_user: the operation is NULL");
  op->user = user;
fail:
  return GROVE_VERDICT(op, status);
}

grove_status grove_op_get_user(grove_op *op, void **user)
{
  grove_status status = GROVE_OK;
  GROVE_CHECK(op && user, GROVE_ERR_ARG, "grove_op_get_user: the %s is NULL",
              op ? "place for the pointer" : "operation");
  *user = op->user;
fail:
  return GROVE_VERDICT(op, status);
}

grove_status grove_op_report(grove_op *op, grove_report *report)
{
  grove_status status = GROVE_OK;
  GROVE_CHECK(op && report, GROVE_ERR_ARG, "grove_op_report: the %s is NULL",
              op ? "report" : "operation");
  GROVE_CHECK(report->struct_size >= sizeof report->struct_size, GROVE_ERR_ARG,
              "grove_op_report: struct_size is %zu; set it to sizeof(grove_report)",
              report->struct_size);
  grove_context_enter(op->ctx);
  grove_report all = op->kind->report(op);
  grove_context_leave(op->ctx);
  all.struct_size = report->struct_size;
  if (!all.aggregator) all.aggregator = "none";
  if (!all.memory) all.memory = all.path = "host";
  if (!all.by_host) all.by_host = "";
  if (!all.price_note) all.price_note = "";
  size_t bytes = report->struct_size < sizeof all ? report->struct_size : sizeof all;
  memcpy(report, &all, bytes);
fail:
  return GROVE_VERDICT(op, status);
}
