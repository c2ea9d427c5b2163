#include "context/vote.h"

static void advance_vote(grove_active *active)
{
  grove_vote *vote = (grove_vote *)active;
  int over = 0;
  grove_status status = grove_rounds_test(&vote->rounds, &over);
  if (status == GROVE_OK && !over) return;
  grove_context_deactivate(active);
  vote->over(vote, status);
}

void grove_vote_begin(grove_context *ctx, grove_vote *vote)
{
  vote->active.advance = advance_vote;
  vote->ctx = ctx;
  vote->rounds.comm = ctx->comm;
  grove_rounds_of_ranks(&vote->rounds, ctx->rank, ctx->size);
  grove_status status = grove_rounds_begin(&vote->rounds);
  if (ctx->size == 1 || status != GROVE_OK)
    vote->over(vote, status);
  else
    grove_context_activate(ctx, &vote->active);
}
