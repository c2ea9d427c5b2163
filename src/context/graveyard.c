/* What waits for streams when it goes, while streams wait for operations. A stream holds up all
 * that is freed on its device, whichever context that belongs to, so promises are counted for the
 * whole process. What was buried meanwhile goes with the next poll of its own context, or at the
 * end of that context.
 */
#include "context/context.h"

#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER; /* nobody promises while something goes */
static int all_promises;                                 /* atomic; more of them: with the gate */

static int is_promised(void)
{
  return __atomic_load_n(&all_promises, __ATOMIC_ACQUIRE) > 0;
}

void grove_context_end_graves(grove_context *ctx)
{
  while (ctx->graveyard) {
    grove_tomb *tomb = ctx->graveyard;
    ctx->graveyard = tomb->next;
    tomb->end(tomb);
  }
}

static void open_graves(grove_context *ctx)
{
  if (!ctx->graveyard || is_promised()) return;
  pthread_mutex_lock(&gate);
  if (!is_promised()) grove_context_end_graves(ctx);
  pthread_mutex_unlock(&gate);
}

/* Polls look at the graves as long as there are some. */
static void advance_graves(grove_active *active)
{
  grove_context *ctx = (grove_context *)((char *)active - offsetof(grove_context, graves));
  open_graves(ctx);
  if (ctx->graveyard) return;
  grove_context_deactivate(active);
  active->advance = NULL;
}

void grove_context_bury(grove_context *ctx, grove_tomb *tomb)
{
  tomb->next = ctx->graveyard;
  ctx->graveyard = tomb;
  open_graves(ctx);
  if (!ctx->graveyard || ctx->graves.advance) return;
  ctx->graves.advance = advance_graves;
  grove_context_activate(ctx, &ctx->graves);
}

void grove_context_begin_promise(void)
{
  pthread_mutex_lock(&gate);
}

void grove_context_end_promise(grove_context *ctx, int is_made)
{
  if (is_made) {
    __atomic_add_fetch(&ctx->promises, 1, __ATOMIC_RELAXED);
    __atomic_add_fetch(&all_promises, 1, __ATOMIC_RELAXED);
  }
  pthread_mutex_unlock(&gate);
}

void grove_context_keep_promise(grove_context *ctx)
{
  __atomic_sub_fetch(&ctx->promises, 1, __ATOMIC_RELAXED);
  __atomic_sub_fetch(&all_promises, 1, __ATOMIC_RELEASE);
}
