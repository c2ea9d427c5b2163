/* The one wait: polls, lets operations advance meanwhile, and gives up after the option `timeout`.
 */
#include "context/context.h"

#include <string.h>

void grove_context_progress(grove_context *ctx)
{
  for (grove_active *item = ctx->active.next, *next; item != &ctx->active; item = next) {
    next = item->next; /* the item may leave the list */
    item->advance(item);
  }
}

void grove_context_nudge(grove_context *ctx)
{
  int found = 0;
  MPI_Iprobe(ctx->rank, GROVE_TAG_NOBODY, ctx->comm, &found, MPI_STATUS_IGNORE);
}

grove_status grove_context_enter_call(grove_context *ctx, const char *call)
{
  grove_status status = GROVE_OK;
  grove_context_enter(ctx);
  GROVE_CHECK(!grove_context_outlives_mpi(ctx), GROVE_ERR_STATE,
              "rank %d: %s: MPI_Finalize was called", ctx->rank, call);
  GROVE_CHECK(ctx->calls == 0 || !ctx->lock || ctx->caller == grove_this_thread(), GROVE_ERR_STATE,
              "rank %d: %s: another thread is in %s on this context; collective calls on one "
              "context are made one after the other",
              ctx->rank, call, ctx->call);
  if (ctx->calls++ > 0) return GROVE_OK;
  ctx->call = call;
  ctx->caller = grove_this_thread();
  return GROVE_OK;
fail:
  grove_context_leave(ctx);
  return status;
}

void grove_context_leave_call(grove_context *ctx)
{
  ctx->calls--;
  grove_context_leave(ctx);
}

grove_status grove_context_claim(grove_context *ctx, const char *call)
{
  grove_status status = grove_context_enter_call(ctx, call);
  if (status == GROVE_OK) grove_context_leave(ctx);
  return status;
}

void grove_context_disclaim(grove_context *ctx)
{
  grove_context_enter(ctx);
  grove_context_leave_call(ctx);
}

/* Who has not come, as far as is known here: "rank 3 has", "ranks 2, 5 have", "some rank has". */
static void name_missing(const grove_context *ctx, char *out, size_t room)
{
  enum { MOST_NAMED = 8 };
  int n = 0;
  size_t used = 0;
  char ranks[16 * MOST_NAMED] = "", rest[32] = "";
  for (int r = 0; ctx->board.seats && r < ctx->size; r++)
    if (grove_board_lacks(&ctx->board, ctx->place[r].seat) && n++ < MOST_NAMED)
      used += (size_t)snprintf(ranks + used, sizeof ranks - used, "%s%d", n > 1 ? ", " : "", r);
  if (n > MOST_NAMED) snprintf(rest, sizeof rest, " and %d more", n - MOST_NAMED);
  snprintf(out, room,
           n == 0   ? "some rank%s%s has"
           : n == 1 ? "rank %s%s has"
                    : "ranks %s%s have",
           ranks, rest);
}

grove_status grove_context_time_out(grove_context *ctx)
{
  int made = strcmp(ctx->call, "grove_context_create") != 0;
  char missing[256];
  ctx->broken = 1;
  name_missing(ctx, missing, sizeof missing);
  return grove_error(GROVE_ERR_TIMEOUT, __FILE__, __LINE__,
                     "rank %d waited %g s in %s: %s not come as far; no collective call can "
                     "succeed on this %s any more",
                     ctx->rank, ctx->options.timeout_seconds, ctx->call, missing,
                     made ? "context" : "communicator");
}

grove_status grove_context_wait_for(grove_context *ctx, grove_poll *poll, void *self)
{
  grove_pause pause;
  grove_pause_begin(&pause, ctx->spins);
  for (int done = 0;;) { /* one more look after the time has run out */
    int late = grove_pause_expired(&pause, ctx->options.timeout_seconds);
    GROVE_PASS(poll(ctx, self, &done));
    if (done) return GROVE_OK;
    if (late) return grove_context_time_out(ctx);
    grove_context_progress(ctx);
    grove_context_pause(ctx, &pause);
  }
  return GROVE_OK;
}

static grove_status test_request(grove_context *ctx, void *self, int *done)
{
  (void)ctx;
  GROVE_PASS_MPI(MPI_Test(self, done, MPI_STATUS_IGNORE));
  return GROVE_OK;
}

grove_status grove_context_wait(grove_context *ctx, MPI_Request *request)
{
  return grove_context_wait_for(ctx, test_request, request);
}
