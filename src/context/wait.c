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
  if (!ctx->broken) grove_board_stand(&ctx->board, call);
  return GROVE_OK;
fail:
  grove_context_leave(ctx);
  return status;
}

void grove_context_leave_call(grove_context *ctx)
{
  /* A rank that gave up stays where it was, for those who give up after it. */
  if (--ctx->calls == 0 && !ctx->broken) grove_board_stand(&ctx->board, "");
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

/* ---- who has not come ---- */

enum { PLACES_NAMED = 4 };

void grove_rank_list_add(grove_rank_list *list, int rank)
{
  if (list->n++ < GROVE_RANKS_NAMED)
    list->used += (size_t)snprintf(list->text + list->used, sizeof list->text - list->used, "%s%d",
                                   list->n > 1 ? ", " : "", rank);
  else
    snprintf(list->text + list->used, sizeof list->text - list->used, " and %d more",
             list->n - GROVE_RANKS_NAMED);
}

static int is_on_this_host(const grove_context *ctx, int rank)
{
  return ctx->place[rank].domain == ctx->place[ctx->rank].domain;
}

/* Where a rank of this host is. */
static void find_rank(const grove_context *ctx, int rank, char out[GROVE_STAND_BYTES])
{
  grove_board_find(&ctx->board, ctx->place[rank].seat, out);
  if (!*out) grove_copy_text(out, GROVE_STAND_BYTES, "no collective call");
}

/* One in this call may still be in an earlier step of it. */
static int has_not_come(const grove_context *ctx, int rank)
{
  char stand[GROVE_STAND_BYTES];
  if (!is_on_this_host(ctx, rank)) return 0;
  find_rank(ctx, rank, stand);
  return strcmp(stand, ctx->call) != 0 || grove_board_lacks(&ctx->board, ctx->place[rank].seat);
}

/* As far as is known here: "rank 3 has", "ranks 2, 5 have", "some rank has". */
static void name_missing(const grove_context *ctx, char *out, size_t room)
{
  grove_rank_list missing = {0};
  for (int r = 0; ctx->board.seats && r < ctx->size; r++)
    if (has_not_come(ctx, r)) grove_rank_list_add(&missing, r);
  snprintf(out, room,
           missing.n == 0   ? "some rank%s has"
           : missing.n == 1 ? "rank %s has"
                            : "ranks %s have",
           missing.text);
}

/* Appends the ranks that are where `first` is. */
static size_t name_place(const grove_context *ctx, int first, char *out, size_t room)
{
  char stand[GROVE_STAND_BYTES], other[GROVE_STAND_BYTES];
  grove_rank_list there = {0};
  find_rank(ctx, first, stand);
  for (int r = 0; r < ctx->size; r++) {
    if (!is_on_this_host(ctx, r)) continue;
    find_rank(ctx, r, other);
    if (strcmp(stand, other) == 0 && r < first) return 0; /* told */
    if (strcmp(stand, other) == 0) grove_rank_list_add(&there, r);
  }
  int used = snprintf(out, room, "; %s %s %s in %s", there.n > 1 ? "ranks" : "rank", there.text,
                      there.n > 1 ? "are" : "is", stand);
  return used < (int)room ? (size_t)used : room - 1;
}

/* "; ranks 0, 1 are in grove_forest_set_up; rank 2 is in no collective call". */
static void name_places(const grove_context *ctx, char *out, size_t room)
{
  size_t used = 0;
  int elsewhere = 0;
  *out = '\0';
  if (!ctx->board.seats) return;
  for (int r = 0, named = 0; r < ctx->size; r++) {
    elsewhere += !is_on_this_host(ctx, r);
    if (!is_on_this_host(ctx, r) || named == PLACES_NAMED) continue;
    size_t more = name_place(ctx, r, out + used, room - used);
    named += more > 0;
    used += more;
  }
  if (elsewhere > 0)
    snprintf(out + used, room - used, "; of the ranks on other hosts nothing is known");
}

/* "; rank 2 is in grove_forest_set_up": those that are known to be in another collective call. */
static void name_strays(const grove_context *ctx, char *out, size_t room)
{
  size_t used = 0;
  *out = '\0';
  for (int r = 0; ctx->board.seats && r < ctx->size; r++) {
    char stand[GROVE_STAND_BYTES];
    if (!is_on_this_host(ctx, r)) continue;
    grove_board_find(&ctx->board, ctx->place[r].seat, stand);
    if (*stand && strcmp(stand, ctx->call) != 0)
      used += name_place(ctx, r, out + used, room - used);
  }
}

grove_status grove_context_refuse_call(const grove_context *ctx)
{
  char others[512];
  name_strays(ctx, others, sizeof others);
  return grove_error(GROVE_ERR_STATE, __FILE__, __LINE__,
                     "rank %d: some rank is in another collective call than %s%s; every rank must "
                     "make the same collective calls in the same order",
                     ctx->rank, ctx->call, others);
}

grove_status grove_context_time_out(grove_context *ctx)
{
  int made = strcmp(ctx->call, "grove_context_create") != 0;
  char missing[256], places[512];
  ctx->broken = 1;
  name_missing(ctx, missing, sizeof missing);
  name_places(ctx, places, sizeof places);
  return grove_error(GROVE_ERR_TIMEOUT, __FILE__, __LINE__,
                     "rank %d waited %g s in %s: %s not come as far%s; no collective call can "
                     "succeed on this %s any more",
                     ctx->rank, ctx->options.timeout_seconds, ctx->call, missing, places,
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
