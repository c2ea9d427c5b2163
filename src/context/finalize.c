/* The end of MPI, which contexts may outlive. Their helpers must have ended by then, and calls that
 * need MPI must notice. Contexts that were not freed yet tell what ran (tell.c). The hook:
 * MPI_Finalize first deletes the attributes of MPI_COMM_SELF.
 */
#include "context/context.h"

#include <pthread.h>

/* When MPI_Finalize is called no other thread is in the library. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static grove_context *list;
static int watched;

/* ---- what ran ---- */

/* Nobody gets a status here. Where all ranks could say the same, rank 0 does. */
static void print_trouble(const grove_context *ctx, grove_status status)
{
  if (ctx->roll.late)
    fprintf(
      stderr,
      "Grove: rank %d in MPI_Finalize waited %g s for rank 0 of its context: what ran on this "
      "rank is not told\n",
      ctx->rank, ctx->roll.patience_seconds);
  else if (status != GROVE_OK && ctx->rank == 0)
    fprintf(stderr, "Grove: in MPI_Finalize: %s\n", grove_last_error());
}

/* Goes on with one context. Rank 0 waits for others while it writes, so it writes one at a time. */
static void serve_context(grove_context *ctx, int may_write)
{
  grove_status status = GROVE_OK;
  grove_sentence before;
  if (!grove_context_has_news(ctx) || !ctx->roll.begun) return;
  if (ctx->rank == 0 && !may_write) {
    grove_roll_is_called(ctx);
    return;
  }
  grove_error_keep(&before);
  grove_context_step_telling(ctx, &status);
  if (ctx->told) print_trouble(ctx, status);
  grove_error_restore(&before);
}

/* While one is written the others go on as far as they can. */
static void serve_listed(void)
{
  for (grove_context *ctx = list; ctx; ctx = ctx->next_listed) serve_context(ctx, 0);
}

static int any_has_news(void)
{
  for (grove_context *ctx = list; ctx; ctx = ctx->next_listed)
    if (grove_context_has_news(ctx)) return 1;
  return 0;
}

/* All of them at once: ranks may have listed them in different orders. */
static void tell_all_contexts(void)
{
  grove_pause pause;
  for (grove_context *ctx = list; ctx; ctx = ctx->next_listed)
    if (grove_context_has_news(ctx)) {
      ctx->roll.meanwhile = serve_listed;
      grove_roll_begin(ctx);
    }
  grove_pause_begin(&pause, 0);
  while (any_has_news()) {
    for (grove_context *ctx = list; ctx; ctx = ctx->next_listed) serve_context(ctx, 1);
    grove_pause_step(&pause);
  }
}

/* ---- communicators that have retired ---- */

/* MPI_Finalize waits for all ranks anyway, but not everyone there calls this hook, or not before it
 * has waited for this rank elsewhere. */
static const double PATIENCE_SECONDS = 10;

/* The contexts that were not freed, too: other ranks may have freed theirs. */
static void wait_for_retired(void)
{
  grove_pause pause;
  for (grove_context *ctx = list; ctx; ctx = ctx->next_listed) grove_context_retire(ctx);
  grove_pause_begin(&pause, 0);
  while (grove_context_end_retired() && !grove_pause_expired(&pause, PATIENCE_SECONDS))
    grove_pause_step(&pause);
  grove_context_leave_retired();
}

/* ---- the hook ---- */

/* From now on calls ask MPI whether it is still there. It is for now: other attributes may be
 * deleted after this one, and their delete functions may call the library. */
static int at_finalize(MPI_Comm comm, int key, void *value, void *extra)
{
  (void)comm;
  (void)key;
  (void)value;
  (void)extra;
  for (grove_context *ctx = list; ctx; ctx = ctx->next_listed) {
    if (ctx->helper) grove_helper_end(ctx->helper);
    if (ctx->alarm) grove_alarm_end(ctx->alarm);
    ctx->closing = ctx->careful = 1;
  }
  tell_all_contexts();
  for (grove_context *ctx = list; ctx; ctx = ctx->next_listed) ctx->told = 1;
  wait_for_retired();
  return MPI_SUCCESS;
}

static grove_status watch_finalize(void)
{
  int keyval = MPI_KEYVAL_INVALID;
  if (watched) return GROVE_OK;
  GROVE_PASS_MPI(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_finalize, &keyval, NULL));
  GROVE_PASS_MPI(MPI_Comm_set_attr(MPI_COMM_SELF, keyval, NULL));
  GROVE_PASS_MPI(MPI_Comm_free_keyval(&keyval)); /* lives as long as the attribute */
  watched = 1;
  return GROVE_OK;
}

grove_status grove_context_watch_finalize(void)
{
  pthread_mutex_lock(&mutex);
  grove_status status = watch_finalize();
  pthread_mutex_unlock(&mutex);
  return status;
}

grove_status grove_context_enlist(grove_context *ctx)
{
  pthread_mutex_lock(&mutex);
  grove_status status = watch_finalize();
  if (status == GROVE_OK) {
    ctx->next_listed = list;
    list = ctx;
  }
  pthread_mutex_unlock(&mutex);
  return status;
}

void grove_context_strike_off(grove_context *ctx)
{
  pthread_mutex_lock(&mutex);
  grove_context **at = &list;
  while (*at && *at != ctx) at = &(*at)->next_listed;
  if (*at) *at = ctx->next_listed;
  pthread_mutex_unlock(&mutex);
}
