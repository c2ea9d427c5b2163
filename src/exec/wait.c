#include "exec/op.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static grove_status check_idle(const grove_op *op)
{
  grove_status status = GROVE_OK;
  GROVE_CHECK(!op->begun, GROVE_ERR_STATE,
              "rank %d: grove_start: this %s was begun; it ends with grove_end", op->ctx->rank,
              grove_op_label(op));
  GROVE_CHECK(op->state == GROVE_OP_IDLE || op->state == GROVE_OP_TOLD, GROVE_ERR_STATE,
              "rank %d: grove_start: this %s is under way already", op->ctx->rank,
              grove_op_label(op));
  GROVE_CHECK(!grove_context_outlives_mpi(op->ctx), GROVE_ERR_STATE,
              "rank %d: grove_start: MPI_Finalize was called before this %s", op->ctx->rank,
              grove_op_label(op));
fail:
  return status;
}

/* Inside grove_start it would cost the usual start, which is a jump, some registers to save. */
__attribute__((noinline)) static grove_status start_with_care(grove_op *op)
{
  grove_status status = GROVE_OK;
  GROVE_CHECK(op, GROVE_ERR_ARG, "grove_start: the operation is NULL");
  grove_context_enter(op->ctx);
  status = check_idle(op);
  if (status == GROVE_OK) status = op->contest ? grove_contest_start(op) : grove_op_run(op);
  grove_context_leave(op->ctx);
fail:
  return status;
}

grove_status grove_start(grove_op *op)
{
  if (!op || op->ctx->careful || op->state != GROVE_OP_IDLE || op->careful)
    return start_with_care(op);
  return grove_op_run(op);
}

/* Another thread may just complete it: then what that thread wrote is seen as well. */
static grove_op_state state_of(const grove_op *op)
{
  return __atomic_load_n(&op->state, __ATOMIC_ACQUIRE);
}

/* Test and wait need an operation that was started. */
static grove_status check_started(const grove_op *op, const char *call)
{
  grove_status status = GROVE_OK;
  GROVE_CHECK(op, GROVE_ERR_ARG, "%s: the operation is NULL", call);
  GROVE_CHECK(state_of(op) != GROVE_OP_IDLE, GROVE_ERR_STATE,
              "rank %d: %s: this %s was not started", op->ctx->rank, call, grove_op_label(op));
  GROVE_CHECK(!op->unusable, GROVE_ERR_STATE,
              "rank %d: %s: the start of this %s failed; it can only be freed", op->ctx->rank, call,
              grove_op_label(op));
  GROVE_CHECK(state_of(op) != GROVE_OP_ACTIVE || !grove_context_outlives_mpi(op->ctx),
              GROVE_ERR_STATE,
              "rank %d: %s: MPI_Finalize was called while this %s was under way; it can only be "
              "freed",
              op->ctx->rank, call, grove_op_label(op));
fail:
  return status;
}

/* What went wrong while the operation was under way, if anything did. */
static grove_status outcome(grove_op *op)
{
  if (op->failure == GROVE_OK) return GROVE_OK;
  return grove_error_set(op->failure, op->sentence ? op->sentence : "no memory for a sentence");
}

/* Advances everything, and says whether the operation is complete. If another thread is just
 * inside, it advances this operation too. */
static int poll(const grove_op *op)
{
  if (grove_context_try(op->ctx)) {
    grove_context_progress(op->ctx);
    grove_context_leave(op->ctx);
  }
  return state_of(op) >= GROVE_OP_DONE;
}

grove_status grove_test(grove_op *op, int *done)
{
  grove_status status = GROVE_OK;
  GROVE_TRY(check_started(op, "grove_test"));
  GROVE_CHECK(done, GROVE_ERR_ARG, "grove_test: done is NULL");
  double since = grove_op_clock(op);
  int complete = poll(op);
  if (!complete && ++op->tests % GROVE_NUDGE_EVERY == 0) grove_context_nudge(op->ctx);
  if (op->timing.open) grove_op_note_wait(op, GROVE_SPAN_TEST, since, complete);
  if (complete && !op->begun) op->state = GROVE_OP_TOLD;
  if (complete) GROVE_TRY(outcome(op));
  *done = complete;
fail:
  return status;
}

/* Which reader of its flow's ring gets letter i: letters over MPI may lie between theirs. */
static int reader_of(const grove_wired_stage *w, int i)
{
  int reader = 0;
  for (int k = w->flows[~w->via[i]]; k < i; k++) reader += w->via[k] == w->via[i];
  return reader;
}

/* Is it the peer's fault that the message of a flow is not through? A receive may only wait for its
 * turn to be combined; of several readers one may have taken what others have not. */
static int is_held_up(const grove_op *op, const grove_bound_stage *s, const grove_flow *flow, int i)
{
  if (flow->done) return 0;
  if (flow->writer) return grove_ring_lags(flow->writer, reader_of(s->wired, i), flow->posted);
  return flow->reader->turn == op->sequence && !(i > s->next && grove_ring_peek(flow->reader));
}

/* Is message i still under way? */
static int is_pending(const grove_op *op, const grove_bound_stage *s, int i)
{
  int via = s->wired->via[i];
  return via < 0 ? is_held_up(op, s, &s->flows[~via], i) : grove_carrier_pending(s->carrier, via);
}

/* Appends "from ranks 1, 5" for the messages first .. end-1 that have not come. */
static void list_missing(const grove_op *op, const grove_bound_stage *s, int first, int end,
                         const char *what, char *text, size_t room)
{
  int listed = 0;
  for (int i = first; i < end; i++) {
    if (!is_pending(op, s, i)) continue;
    int peer = s->wired->letters[i].peer;
    size_t used = strlen(text);
    if (++listed <= 8) snprintf(text + used, room - used, "%s%d", listed == 1 ? what : ", ", peer);
  }
  size_t used = strlen(text);
  if (listed > 8) snprintf(text + used, room - used, " and %d more", listed - 8);
}

static grove_status time_out(const grove_op *op)
{
  char missing[256] = "";
  for (int k = op->oldest; k <= op->current; k++) {
    const grove_bound_stage *s = &op->stages[k];
    list_missing(op, s, 0, s->nreceives, "; no message from rank ", missing, sizeof missing);
    list_missing(op, s, s->nreceives, s->nreceives + s->nsends, "; not taken by rank ", missing,
                 sizeof missing);
  }
  /* In a later stage those who are missing may wait for others themselves. */
  const char *advice = grove_contest_holds(op)
                         ? "; have all ranks started it as often, to compare routes?"
                       : !*missing       ? "; an earlier one of its kind is not through"
                       : op->current > 0 ? "; has every rank started it?"
                                         : "; have those ranks started it?";
  return grove_error(GROVE_ERR_TIMEOUT, __FILE__, __LINE__,
                     "rank %d waited %g s in %s (start %lld)%s%s", op->ctx->rank,
                     op->ctx->options.timeout_seconds, grove_op_label(op), (long long)op->sequence,
                     missing, advice);
}

/* Polls that come before a wait in earnest, which reads the clock: as long as a small message may
 * take between two caches. */
enum { QUICK_POLLS = 50 };

/* After the time ran out there is one more look. */
static grove_status look_once_more(grove_op *op)
{
  grove_context_enter(op->ctx);
  grove_context_progress(op->ctx);
  grove_status status = op->state >= GROVE_OP_DONE ? GROVE_OK : time_out(op);
  grove_context_leave(op->ctx);
  return status;
}

static double timeout_of(grove_context *ctx)
{
  grove_context_enter(ctx);
  double timeout = ctx->options.timeout_seconds;
  grove_context_leave(ctx);
  return timeout;
}

/* Of several threads that wait in earnest the first may spin: it advances what all wait for. */
static grove_status wait_in_earnest(grove_op *op, int spins)
{
  grove_context *ctx = op->ctx;
  grove_pause pause;
  int done = 0;
  double timeout = timeout_of(ctx);
  int first = __atomic_fetch_add(&ctx->waiting, 1, __ATOMIC_RELAXED) == 0;
  grove_pause_begin(&pause, first ? spins : 0);
  for (unsigned n = 0; !(done = poll(op)) && !grove_pause_expired(&pause, timeout);) {
    grove_pause_step(&pause);
    if (grove_pause_yields(&pause) && ++n % GROVE_NUDGE_EVERY == 0) grove_context_nudge(ctx);
  }
  __atomic_sub_fetch(&ctx->waiting, 1, __ATOMIC_RELAXED);
  return done ? GROVE_OK : look_once_more(op);
}

static grove_status wait_on(grove_op *op)
{
  int spins = __atomic_load_n(&op->ctx->spins, __ATOMIC_RELAXED);
  int polls = spins < QUICK_POLLS ? spins : QUICK_POLLS;
  while (polls-- > 0)
    if (poll(op)) return GROVE_OK;
  return wait_in_earnest(op, spins);
}

static grove_status wait_with_care(grove_op *op)
{
  grove_status status = GROVE_OK;
  GROVE_TRY(check_started(op, "grove_wait"));
  double since = grove_op_clock(op);
  if (grove_context_locks(op->ctx) || op->state == GROVE_OP_ACTIVE) status = wait_on(op);
  if (op->timing.open) grove_op_note_wait(op, GROVE_SPAN_WAIT, since, status == GROVE_OK);
  GROVE_TRY(status);
  if (!op->begun) op->state = GROVE_OP_IDLE; /* what was begun is waited for once more by end */
  GROVE_TRY(outcome(op));
fail:
  return status;
}

grove_status grove_wait(grove_op *op)
{
  if (!op || op->timing.open || op->ctx->careful) return wait_with_care(op);
  grove_active *first = op->ctx->active.next;
  if (first == &op->active && first == op->ctx->active.previous)
    grove_op_advance(first); /* with luck that is all */
  else if (first != &op->ctx->active)
    grove_context_progress(op->ctx);
  if (op->state != GROVE_OP_DONE || op->failure != GROVE_OK) return wait_with_care(op);
  if (!op->begun) op->state = GROVE_OP_IDLE;
  return GROVE_OK;
}

grove_status grove_end(grove_op **pointer)
{
  grove_status status = GROVE_OK;
  GROVE_CHECK(pointer && *pointer, GROVE_ERR_ARG, "grove_end: the operation is NULL");
  grove_op *op = *pointer;
  GROVE_CHECK(op->begun, GROVE_ERR_STATE,
              "rank %d: grove_end: this %s was made by _init; it ends with grove_wait and "
              "grove_op_free",
              op->ctx->rank, grove_op_label(op));
  status = grove_wait(op);
  if (state_of(op) == GROVE_OP_ACTIVE) return status; /* timed out: it can be ended later */
  if (status == GROVE_OK && !grove_context_locks(op->ctx) &&
      op->fields[0].request.forest->references > 1) { /* as usual */
    *pointer = NULL;
    grove_op_put_back(op);
    return GROVE_OK;
  }
  if (status == GROVE_OK)
    status = grove_op_free(pointer); /* perhaps of all that the context had */
  else
    grove_op_give_up(pointer);
fail:
  return status;
}

static grove_terms terms_of(const grove_price *p)
{
  return (grove_terms){.latency = p->term[GROVE_TERM_LATENCY],
                       .bandwidth = p->term[GROVE_TERM_BANDWIDTH],
                       .injection = p->term[GROVE_TERM_INJECTION],
                       .queue = p->term[GROVE_TERM_QUEUE],
                       .contention = p->term[GROVE_TERM_CONTENTION],
                       .on_node = p->term[GROVE_TERM_ON_NODE],
                       .copy = p->term[GROVE_TERM_COPY],
                       .cores = p->term[GROVE_TERM_CORES]};
}

/* All that can be told, at one moment. */
static grove_report tell(const grove_op *op)
{
  const grove_wiring *wiring = op->wiring;
  return (grove_report){
    .route = grove_wiring_route(wiring),
    .transport = grove_carrier_name(wiring->transport),
    .transport_on_node = wiring->uses_shm ? "shm" : "mpi",
    .on_node_messages = wiring->sent.on_node_messages,
    .on_node_bytes = wiring->sent.on_node_bytes,
    .off_node_messages = wiring->sent.off_node_messages,
    .off_node_bytes = wiring->sent.off_node_bytes,
    .starts = op->starts,
    .measured_seconds = op->timed_starts > 0 ? op->seconds / (double)op->timed_starts : 0,
    .predicted_seconds = wiring->predicted,
    .predicted = terms_of(&wiring->price),
    .machine = wiring->machine,
  };
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
  grove_report all = tell(op);
  grove_context_leave(op->ctx);
  all.struct_size = report->struct_size;
  size_t bytes = report->struct_size < sizeof all ? report->struct_size : sizeof all;
  memcpy(report, &all, bytes);
fail:
  return status;
}
