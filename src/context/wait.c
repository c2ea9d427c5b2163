#include "context/context.h"

void grove_context_progress(grove_context *ctx)
{
  for (grove_active *item = ctx->active.next, *next; item != &ctx->active; item = next) {
    next = item->next; /* the item may leave the list */
    item->advance(item);
  }
}

grove_status grove_context_time_out(grove_context *ctx)
{
  ctx->broken = 1;
  return grove_error(GROVE_ERR_TIMEOUT, __FILE__, __LINE__,
                     "rank %d waited %g s in %s: some rank has not come as far; no collective call "
                     "can succeed on this context any more",
                     ctx->rank, ctx->options.timeout_seconds, ctx->call);
}

grove_status grove_context_wait(grove_context *ctx, MPI_Request *request)
{
  grove_status status = GROVE_OK;
  grove_pause pause;
  grove_pause_begin(&pause, ctx->spins);
  for (int done = 0;;) { /* after the time ran out there is one more look */
    int late = grove_pause_expired(&pause, ctx->options.timeout_seconds);
    GROVE_TRY_MPI(MPI_Test(request, &done, MPI_STATUS_IGNORE));
    if (done) return GROVE_OK;
    if (late) return grove_context_time_out(ctx);
    grove_context_progress(ctx);
    grove_pause_step(&pause);
  }
fail:
  return status;
}
