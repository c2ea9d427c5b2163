/* What ran, told at the end of a context: the summary and the trace. The end is the last release,
 * or MPI_Finalize if that comes first (finalize.c). It is told once.
 */
#include "context/context.h"

#include "context/trace.h"

int grove_context_has_news(const grove_context *ctx)
{
  return !ctx->told && ctx->comm != MPI_COMM_NULL &&
         (ctx->options.log == GROVE_LOG_SUMMARY || ctx->trace);
}

/* On rank 0: which rows the file lacks. */
static void name_gap(const grove_context *ctx, char *out, size_t room)
{
  char missing[256];
  grove_roll_missing(ctx, missing, sizeof missing);
  snprintf(
    out, room,
    "the trace %.300s is without %s, which neither freed the context nor called MPI_Finalize "
    "within %g s",
    ctx->trace->path, missing, ctx->roll.patience_seconds);
}

/* On rank 0. What all ranks are told of it in the end. */
static void tell_all_ranks(grove_context *ctx, grove_roll_message *end)
{
  grove_sentence before;
  grove_error_keep(&before);
  if (ctx->options.log == GROVE_LOG_SUMMARY) grove_context_summarise(ctx);
  grove_status status = ctx->trace ? grove_trace_write(ctx) : GROVE_OK;
  *end = (grove_roll_message){.word = GROVE_WORD_END, .number = status};
  end->complete = grove_roll_has_all(ctx);
  if (status != GROVE_OK)
    snprintf(end->text, sizeof end->text, "rank 0: %.1000s", grove_last_error());
  else if (ctx->trace && !end->complete)
    name_gap(ctx, end->text, sizeof end->text);
  grove_error_restore(&before);
  for (int r = 1; r < ctx->size; r++)
    if (grove_roll_has(ctx, r)) grove_roll_order(ctx, end, r);
}

/* The same on every rank that came, but for its number. */
static grove_status conclude_telling(const grove_context *ctx, const grove_roll_message *end)
{
  if (end->number != GROVE_OK) return grove_error_set((grove_status)end->number, end->text);
  if (!ctx->trace) return GROVE_OK;
  GROVE_PASS_CHECK(end->word == GROVE_WORD_END, GROVE_ERR_TIMEOUT,
                   "rank %d: rank 0 neither freed the context nor called MPI_Finalize within %g s: "
                   "the trace is without this rank's row",
                   ctx->rank, ctx->roll.patience_seconds);
  GROVE_PASS_CHECK(end->complete, GROVE_ERR_TIMEOUT, "rank %d: %s", ctx->rank, end->text);
  return GROVE_OK;
}

/* Where ranks are missing, words of theirs may yet come: then the communicator must stay. */
void grove_context_step_telling(grove_context *ctx, grove_status *status)
{
  grove_roll_message end;
  if (ctx->rank == 0) {
    if (!grove_roll_is_called(ctx)) return;
    ctx->told = 1;
    tell_all_ranks(ctx, &end);
  } else {
    if (!grove_witness_step(ctx, &end)) return;
    ctx->told = 1;
  }
  if (!end.complete) ctx->broken = 1;
  *status = conclude_telling(ctx, &end);
}

grove_status grove_context_tell_last(grove_context *ctx)
{
  grove_status status = GROVE_OK;
  grove_pause pause;
  if (!grove_context_has_news(ctx)) return GROVE_OK;
  grove_roll_begin(ctx);
  grove_pause_begin(&pause, ctx->spins);
  for (;;) {
    grove_context_step_telling(ctx, &status);
    if (ctx->told) return status;
    grove_pause_step(&pause);
  }
}
