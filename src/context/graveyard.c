/* What waits for streams when it goes, while streams wait for operations. */
#include "context/context.h"

void grove_context_bury(grove_context *ctx, grove_tomb *tomb)
{
  if (__atomic_load_n(&ctx->promises, __ATOMIC_RELAXED) == 0) {
    tomb->end(tomb);
    return;
  }
  tomb->next = ctx->graveyard;
  ctx->graveyard = tomb;
}

void grove_context_open_graves(grove_context *ctx)
{
  while (ctx->graveyard) {
    grove_tomb *tomb = ctx->graveyard;
    ctx->graveyard = tomb->next;
    tomb->end(tomb);
  }
}
