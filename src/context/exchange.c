/* Sparse exchange by non-blocking consensus (Hoefler, Siebert, Lumsdaine, PPoPP 2010): send, take
 * what comes; once all that was sent is known to have been taken, enter a collective step that does
 * not block; when all have entered, nothing can be under way. Logarithmic in the ranks, else
 * proportional to the parcels.
 *
 * Here the word that a parcel was taken is an answer, which says what its receiver thinks of it,
 * and the collective step is an agreement: when it ends, all ranks know whether all parcels were
 * good.
 *
 * A parcel is a message of its size. One that is larger than the option `chunk` allows is freight
 * (and so is an empty one): an empty message announces it, its size follows under another tag, and
 * then the parcel in chunks. Usual parcels are thus taken as they come, and no message is added to
 * them; who sees the announcement knows what else to wait for.
 *
 * A rank that left the agreement may start the next exchange while another is still in this one,
 * but not the one after it: two tags, used in turn, keep them apart.
 */
#include "context/context.h"

#include <limits.h>
#include <stdlib.h>

/* How far a delivery is. */
typedef enum progress {
  COMING,    /* the parcel is */
  ANNOUNCED, /* the announcement of freight is */
  SIZED,     /* its size is */
  LOADED     /* its chunks are */
} progress;

/* A parcel that came, or is just coming, and what it is answered. */
typedef struct delivery {
  progress progress;
  MPI_Request request; /* of the parcel or the size; once all is here, of the answer */
  int nchunks;
  MPI_Request *chunks; /* of freight */
  int64_t *bytes;      /* its size, where MPI may write it */
  grove_answer *answer;
} delivery;

typedef struct exchange {
  grove_context *ctx;
  grove_mail *mail;
  int tag, answer_tag, freight_tag;
  int64_t most; /* bytes of a message */
  int nsent, nsends;
  MPI_Request *sends, *replies; /* messages out, answers in */
  grove_answer *answers;
  int ncame, nanswered, room;
  grove_parcel *came;
  delivery *deliveries; /* one a parcel that came */
} exchange;

static int by_peer(const void *a, const void *b)
{
  const grove_parcel *x = a, *y = b;
  return (x->peer > y->peer) - (x->peer < y->peer);
}

void grove_parcels_sort(int n, grove_parcel *parcels)
{
  if (n > 1) qsort(parcels, (size_t)n, sizeof *parcels, by_peer);
}

void grove_parcels_free(int n, grove_parcel *parcels)
{
  for (int i = 0; parcels && i < n; i++) free(parcels[i].data);
  free(parcels);
}

/* ---- what comes ---- */

static grove_status make_room(exchange *e)
{
  grove_status status = GROVE_OK;
  if (e->ncame < e->room) return GROVE_OK;
  int room = 2 * e->room + 8;
  grove_parcel *came = realloc(e->came, (size_t)room * sizeof *came);
  if (came) e->came = came;
  delivery *deliveries = realloc(e->deliveries, (size_t)room * sizeof *deliveries);
  if (deliveries) e->deliveries = deliveries;
  GROVE_CHECK(came && deliveries, GROVE_ERR_MEMORY, "no memory for %d neighbours", room);
  e->room = room;
fail:
  return status;
}

/* Begins to receive one parcel, or the announcement of one, if one has come. */
static grove_status take(exchange *e, int *came)
{
  grove_status status = GROVE_OK;
  MPI_Status about;
  GROVE_TRY_MPI(MPI_Iprobe(MPI_ANY_SOURCE, e->tag, e->ctx->comm, came, &about));
  if (!*came) return GROVE_OK;
  int bytes = 0;
  GROVE_TRY_MPI(MPI_Get_count(&about, MPI_BYTE, &bytes));
  GROVE_TRY(make_room(e));
  char *data = NULL;
  GROVE_ROOM(data, bytes);
  delivery *d = &e->deliveries[e->ncame];
  *d = (delivery){.progress = bytes > 0 ? COMING : ANNOUNCED};
  e->came[e->ncame] = (grove_parcel){.peer = about.MPI_SOURCE, .bytes = bytes, .data = data};
  GROVE_NEW(d->answer, 1);
  GROVE_TRY_MPI(
    MPI_Irecv(data, bytes, MPI_BYTE, about.MPI_SOURCE, e->tag, e->ctx->comm, &d->request));
  e->ncame++;
fail:
  return status;
}

/* ---- freight ---- */

static int64_t count_chunks(const exchange *e, int64_t bytes)
{
  return (bytes + e->most - 1) / e->most;
}

static int chunk_bytes(const exchange *e, int64_t bytes, int64_t k)
{
  int64_t rest = bytes - k * e->most;
  return (int)(rest < e->most ? rest : e->most);
}

/* Begins to receive the size. */
static grove_status receive_size(exchange *e, const grove_parcel *parcel, delivery *d)
{
  grove_status status = GROVE_OK;
  GROVE_NEW(d->bytes, 1);
  GROVE_TRY_MPI(MPI_Irecv(d->bytes, (int)sizeof *d->bytes, MPI_BYTE, parcel->peer, e->freight_tag,
                          e->ctx->comm, &d->request));
  d->progress = SIZED;
fail:
  return status;
}

/* Begins to receive the chunks. */
static grove_status receive_chunks(exchange *e, grove_parcel *parcel, delivery *d)
{
  grove_status status = GROVE_OK;
  char *data = NULL;
  int64_t n = count_chunks(e, *d->bytes);
  GROVE_ROOM(data, *d->bytes);
  free(parcel->data);
  parcel->data = data;
  parcel->bytes = *d->bytes;
  GROVE_ROOM(d->chunks, n);
  for (; d->nchunks < n; d->nchunks++)
    GROVE_TRY_MPI(MPI_Irecv(data + d->nchunks * e->most, chunk_bytes(e, parcel->bytes, d->nchunks),
                            MPI_BYTE, parcel->peer, e->freight_tag, e->ctx->comm,
                            &d->chunks[d->nchunks]));
  d->progress = LOADED;
fail:
  return status;
}

/* Is all of a parcel here? Asks for what of it comes next. */
static grove_status advance(exchange *e, grove_parcel *parcel, delivery *d, int *here)
{
  grove_status status = GROVE_OK;
  int done = 0;
  *here = 0;
  if (d->progress == LOADED) {
    GROVE_TRY_MPI(MPI_Testall(d->nchunks, d->chunks, here, MPI_STATUSES_IGNORE));
    return GROVE_OK;
  }
  GROVE_TRY_MPI(MPI_Test(&d->request, &done, MPI_STATUS_IGNORE));
  if (!done) return GROVE_OK;
  if (d->progress == COMING)
    *here = 1;
  else if (d->progress == ANNOUNCED)
    GROVE_TRY(receive_size(e, parcel, d));
  else
    GROVE_TRY(receive_chunks(e, parcel, d));
fail:
  return status;
}

/* Answers the next parcel if it is all here. */
static grove_status reply(exchange *e, int *replied)
{
  grove_status status = GROVE_OK;
  *replied = 0;
  if (e->nanswered == e->ncame) return GROVE_OK;
  grove_parcel *parcel = &e->came[e->nanswered];
  delivery *d = &e->deliveries[e->nanswered];
  GROVE_TRY(advance(e, parcel, d, replied));
  if (!*replied) return GROVE_OK;
  if (e->mail->judge) e->mail->judge(e->mail->self, parcel, d->answer);
  GROVE_TRY_MPI(MPI_Isend(d->answer, (int)sizeof *d->answer, MPI_BYTE, parcel->peer, e->answer_tag,
                          e->ctx->comm, &d->request));
  e->nanswered++;
fail:
  return status;
}

/* ---- what goes out ---- */

static int is_freight(const exchange *e, const grove_parcel *parcel)
{
  return parcel->bytes == 0 || parcel->bytes > e->most;
}

/* Freight has an announcement, a size and chunks. */
static int64_t count_messages(const exchange *e, const grove_parcel *parcel)
{
  return is_freight(e, parcel) ? 2 + count_chunks(e, parcel->bytes) : 1;
}

static grove_status send_message(exchange *e, const void *data, int bytes, int peer, int tag)
{
  grove_status status = GROVE_OK;
  GROVE_TRY_MPI(MPI_Isend(data, bytes, MPI_BYTE, peer, tag, e->ctx->comm, &e->sends[e->nsends++]));
fail:
  return status;
}

static grove_status send_freight(exchange *e, const grove_parcel *parcel)
{
  grove_status status = GROVE_OK;
  const char *data = parcel->data;
  int64_t n = count_chunks(e, parcel->bytes);
  GROVE_TRY(send_message(e, NULL, 0, parcel->peer, e->tag));
  GROVE_TRY(send_message(e, &parcel->bytes, (int)sizeof parcel->bytes, parcel->peer,
                         e->freight_tag)); /* `sent` stays until all is through */
  for (int64_t k = 0; k < n; k++)
    GROVE_TRY(send_message(e, data + k * e->most, chunk_bytes(e, parcel->bytes, k), parcel->peer,
                           e->freight_tag));
fail:
  return status;
}

static grove_status send(exchange *e)
{
  grove_status status = GROVE_OK;
  for (int i = 0; i < e->nsent; i++) {
    const grove_parcel *parcel = &e->mail->sent[i];
    GROVE_TRY_MPI(MPI_Irecv(&e->answers[i], (int)sizeof *e->answers, MPI_BYTE, parcel->peer,
                            e->answer_tag, e->ctx->comm, &e->replies[i]));
    if (is_freight(e, parcel))
      GROVE_TRY(send_freight(e, parcel));
    else
      GROVE_TRY(send_message(e, parcel->data, (int)parcel->bytes, parcel->peer, e->tag));
  }
fail:
  return status;
}

/* The first answer that is not well. */
static grove_status heed(const exchange *e)
{
  for (int i = 0; i < e->nsent; i++)
    if (e->answers[i].status != GROVE_OK)
      return e->mail->heed(e->mail->self, &e->mail->sent[i], &e->answers[i]);
  return GROVE_OK;
}

/* ---- consensus ---- */

/* Takes and answers parcels until every rank's have been answered. */
static grove_status reach_consensus(exchange *e, grove_status mine, const int64_t *values, int n,
                                    grove_agreement *agreement)
{
  grove_status status = GROVE_OK;
  int entered = 0, done = 0;
  grove_pause pause;
  grove_pause_begin(&pause, e->ctx->spins);
  for (;;) {
    int came = 0, replied = 0, late = grove_pause_expired(&pause, e->ctx->options.timeout_seconds);
    if (!entered) {
      GROVE_TRY_MPI(MPI_Testall(e->nsent, e->replies, &entered, MPI_STATUSES_IGNORE));
      if (entered && mine == GROVE_OK) mine = heed(e);
      if (entered) GROVE_TRY(grove_agreement_begin(e->ctx, mine, values, n, agreement));
    } else {
      GROVE_TRY_MPI(MPI_Test(&agreement->request, &done, MPI_STATUS_IGNORE));
      if (done) return GROVE_OK;
    }
    GROVE_TRY(take(e, &came));
    GROVE_TRY(reply(e, &replied));
    if (came || replied) continue;
    if (late) return grove_context_time_out(e->ctx);
    grove_context_progress(e->ctx);
    grove_context_pause(e->ctx, &pause);
  }
fail:
  return status;
}

/* All parcels and answers have been received: what is left is to let MPI say so. */
static grove_status finish(exchange *e)
{
  grove_status status = GROVE_OK;
  for (int i = 0; i < e->nsends; i++) GROVE_TRY(grove_context_wait(e->ctx, &e->sends[i]));
  for (int i = 0; i < e->ncame; i++) {
    GROVE_TRY(grove_context_wait(e->ctx, &e->deliveries[i].request));
    free(e->deliveries[i].answer);
    free(e->deliveries[i].chunks);
    free(e->deliveries[i].bytes);
  }
  free(e->sends);
  free(e->replies);
  free(e->answers);
  free(e->deliveries);
  grove_parcels_sort(e->ncame, e->came);
  e->mail->ncame = e->ncame;
  e->mail->came = e->came;
fail:
  return status;
}

/* The memory for what goes out and for the answers to it. */
static grove_status open_exchange(exchange *e)
{
  grove_status status = GROVE_OK;
  int64_t nsends = 0;
  for (int i = 0; i < e->mail->nsent; i++) nsends += count_messages(e, &e->mail->sent[i]);
  GROVE_CHECK(nsends <= INT_MAX, GROVE_ERR_UNSUPPORTED,
              "rank %d has set-up data for %lld messages of %lld bytes: choose a larger chunk",
              e->ctx->rank, (long long)nsends, (long long)e->most);
  GROVE_ROOM(e->sends, nsends);
  GROVE_ROOM(e->replies, e->mail->nsent);
  GROVE_ROOM(e->answers, e->mail->nsent);
  e->nsent = e->mail->nsent;
fail:
  return status;
}

grove_status grove_context_exchange(grove_context *ctx, grove_status mine, int64_t *values, int n,
                                    grove_mail *mail)
{
  grove_status status = GROVE_OK;
  grove_agreement agreement;
  exchange e = {.ctx = ctx,
                .mail = mail,
                .most = ctx->options.chunk,
                .tag = GROVE_TAG_EXCHANGE + ctx->exchanges % 2,
                .answer_tag = GROVE_TAG_ANSWER + ctx->exchanges % 2,
                .freight_tag = GROVE_TAG_FREIGHT + ctx->exchanges % 2};
  if (ctx->broken) return grove_context_agree(ctx, mine, values, n); /* which says why not */
  ctx->exchanges++;
  if (mine == GROVE_OK) mine = open_exchange(&e);
  GROVE_TRY(send(&e));
  GROVE_TRY(reach_consensus(&e, mine, values, n, &agreement));
  GROVE_TRY(finish(&e));
  return grove_agreement_end(ctx, &agreement, values);
fail:
  /* What MPI was given is left alone. */
  ctx->broken = 1;
  mail->sent = NULL;
  return status;
}
