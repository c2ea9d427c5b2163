/* Sparse exchange by non-blocking consensus (Hoefler, Siebert, Lumsdaine, PPoPP 2010): send
 * synchronously, take what comes; once the own sends are taken enter a barrier that does not block;
 * when all have entered, nothing can be under way. Logarithmic in the ranks, else proportional to
 * the parcels.
 *
 * A rank that left the barrier may start the next exchange while another is still in this one, but
 * not the one after it: two tags, used in turn, keep them apart.
 */
#include "context/context.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

typedef struct exchange {
  grove_context *ctx;
  int tag;
  int nsend;
  MPI_Request *sends;
  int nreceived, room;
  grove_parcel *received;
  MPI_Request *receives; /* one a parcel */
} exchange;

static int by_peer(const void *a, const void *b)
{
  const grove_parcel *x = a, *y = b;
  return (x->peer > y->peer) - (x->peer < y->peer);
}

void grove_parcels_free(int n, grove_parcel *parcels)
{
  for (int i = 0; parcels && i < n; i++) free(parcels[i].data);
  free(parcels);
}

static grove_status make_room(exchange *e)
{
  grove_status status = GROVE_OK;
  if (e->nreceived < e->room) return GROVE_OK;
  int room = 2 * e->room + 8;
  grove_parcel *received = realloc(e->received, (size_t)room * sizeof *received);
  if (received) e->received = received;
  MPI_Request *receives = realloc(e->receives, (size_t)room * sizeof *receives);
  if (receives) e->receives = receives;
  GROVE_CHECK(received && receives, GROVE_ERR_MEMORY, "no memory for %d neighbours", room);
  e->room = room;
fail:
  return status;
}

/* Begins to receive one parcel if one has come. */
static grove_status take(exchange *e, int *came)
{
  grove_status status = GROVE_OK;
  MPI_Status about;
  GROVE_TRY_MPI(MPI_Iprobe(MPI_ANY_SOURCE, e->tag, e->ctx->comm, came, &about));
  if (!*came) return GROVE_OK;
  int bytes = 0;
  GROVE_TRY_MPI(MPI_Get_count(&about, MPI_BYTE, &bytes));
  GROVE_TRY(make_room(e));
  grove_parcel *parcel = &e->received[e->nreceived];
  *parcel = (grove_parcel){.peer = about.MPI_SOURCE, .bytes = bytes};
  GROVE_NEW(parcel->data, bytes);
  GROVE_TRY_MPI(MPI_Irecv(parcel->data, bytes, MPI_BYTE, parcel->peer, e->tag, e->ctx->comm,
                          &e->receives[e->nreceived]));
  e->nreceived++;
fail:
  return status;
}

grove_status grove_parcels_check(const grove_context *ctx, int n, const grove_parcel *parcels)
{
  grove_status status = GROVE_OK;
  for (int i = 0; i < n; i++)
    GROVE_CHECK(parcels[i].bytes <= INT_MAX, GROVE_ERR_UNSUPPORTED,
                "rank %d has %lld bytes of set-up data for rank %d: more than 2^31 - 1 are not "
                "possible yet",
                ctx->rank, (long long)parcels[i].bytes, parcels[i].peer);
fail:
  return status;
}

static grove_status post_sends(exchange *e, const grove_parcel *send)
{
  grove_status status = GROVE_OK;
  for (int i = 0; i < e->nsend; i++) e->sends[i] = MPI_REQUEST_NULL;
  for (int i = 0; i < e->nsend; i++)
    GROVE_TRY_MPI(MPI_Issend(send[i].data, (int)send[i].bytes, MPI_BYTE, send[i].peer, e->tag,
                             e->ctx->comm, &e->sends[i]));
fail:
  return status;
}

/* Takes parcels until every rank's have been taken. */
static grove_status reach_consensus(exchange *e)
{
  grove_status status = GROVE_OK;
  MPI_Request barrier = MPI_REQUEST_NULL;
  int entered = 0, done = 0;
  grove_pause pause;
  grove_pause_begin(&pause, e->ctx->spins);
  while (!done) {
    int came = 0, late = grove_pause_expired(&pause, e->ctx->options.timeout_seconds);
    GROVE_TRY(take(e, &came));
    if (came) continue;
    if (!entered) {
      GROVE_TRY_MPI(MPI_Testall(e->nsend, e->sends, &entered, MPI_STATUSES_IGNORE));
      if (entered) GROVE_TRY_MPI(MPI_Ibarrier(e->ctx->comm, &barrier));
    } else {
      GROVE_TRY_MPI(MPI_Test(&barrier, &done, MPI_STATUS_IGNORE));
    }
    if (done) break;
    if (late) return grove_context_time_out(e->ctx);
    grove_context_progress(e->ctx);
    grove_pause_step(&pause);
  }
  for (int i = 0; i < e->nreceived; i++) GROVE_TRY(grove_context_wait(e->ctx, &e->receives[i]));
fail:
  return status;
}

grove_status grove_context_exchange(grove_context *ctx, int nsend, grove_parcel **send,
                                    int *nreceived, grove_parcel **received)
{
  grove_status status = GROVE_OK;
  exchange e = {.ctx = ctx, .tag = GROVE_TAG_EXCHANGE + ctx->exchanges % 2, .nsend = nsend};
  grove_parcel *parcels = *send;
  *send = NULL;
  ctx->exchanges++;
  GROVE_NEW(e.sends, nsend);
  GROVE_TRY(post_sends(&e, parcels));
  GROVE_TRY(reach_consensus(&e));
  if (e.nreceived > 1) qsort(e.received, (size_t)e.nreceived, sizeof *e.received, by_peer);
  *nreceived = e.nreceived;
  *received = e.received;
  grove_parcels_free(nsend, parcels);
  free(e.sends);
  free(e.receives);
  return GROVE_OK;
fail:
  /* What MPI was given is left alone. */
  ctx->broken = 1;
  return status;
}
