#include "context/vote.h"

/* Tells a rank what this one knows, and hears from another. */
static grove_status post_round(grove_vote *vote)
{
  grove_status status = GROVE_OK;
  int rank = vote->ctx->rank, size = vote->ctx->size;
  int to = (rank + vote->reach) % size, from = (rank - vote->reach + size) % size;
  MPI_Comm comm = vote->ctx->comm;
  GROVE_TRY_MPI(
    MPI_Irecv(vote->heard, vote->n, MPI_INT64_T, from, vote->tag, comm, &vote->requests[0]));
  GROVE_TRY_MPI(
    MPI_Isend(vote->known, vote->n, MPI_INT64_T, to, vote->tag, comm, &vote->requests[1]));
fail:
  return status;
}

static void take_maxima(grove_vote *vote)
{
  for (int i = 0; i < vote->n; i++)
    if (vote->heard[i] > vote->known[i]) vote->known[i] = vote->heard[i];
}

static grove_status go_on(grove_vote *vote, int *over)
{
  grove_status status = GROVE_OK;
  int done = 0;
  GROVE_TRY_MPI(MPI_Testall(2, vote->requests, &done, MPI_STATUSES_IGNORE));
  if (!done) return GROVE_OK;
  take_maxima(vote);
  vote->reach *= 2;
  *over = vote->reach >= vote->ctx->size;
  if (!*over) GROVE_TRY(post_round(vote));
fail:
  return status;
}

static void advance(grove_active *active)
{
  grove_vote *vote = (grove_vote *)active;
  int over = 0;
  grove_status status = go_on(vote, &over);
  if (status == GROVE_OK && !over) return;
  grove_context_deactivate(active);
  vote->over(vote, status);
}

void grove_vote_begin(grove_context *ctx, grove_vote *vote)
{
  grove_status status = GROVE_OK;
  vote->active.advance = advance;
  vote->ctx = ctx;
  vote->reach = 1;
  if (ctx->size > 1) status = post_round(vote);
  if (ctx->size == 1 || status != GROVE_OK)
    vote->over(vote, status);
  else
    grove_context_activate(ctx, &vote->active);
}
