/* Sparse exchange by non-blocking consensus (Hoefler, Siebert, Lumsdaine, PPoPP 2010): send, take
 * what comes; once all that was sent is known to have been taken, enter a collective step that does
 * not block; when all have entered, nothing can be under way. Logarithmic in the ranks, else
 * proportional to the parcels.
 *
 * Here the word that a parcel was taken is an answer, which says what its receiver thinks of it,
 * and the collective step is an agreement: when it ends, all ranks know whether all parcels were
 * good.
 *
 * A rank that left the agreement may start the next exchange while another is still in this one,
 * but not the one after it: two tags, used in turn, keep them apart.
 */
#include "context/context.h"

#include <limits.h>
#include <stdlib.h>

/* A parcel that came, or is just coming, and what it is answered. */
typedef struct delivery {
  MPI_Request request; /* of the parcel; once it is here, of the answer */
  grove_answer *answer;
} delivery;

typedef struct exchange {
  grove_context *ctx;
  grove_mail *mail;
  int tag, answer_tag;
  int nsent;
  MPI_Request *sends, *replies; /* parcels out, answers in */
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
  char *data = NULL;
  GROVE_ROOM(data, bytes);
  e->came[e->ncame] = (grove_parcel){.peer = about.MPI_SOURCE, .bytes = bytes, .data = data};
  GROVE_NEW(e->deliveries[e->ncame].answer, 1);
  GROVE_TRY_MPI(MPI_Irecv(data, bytes, MPI_BYTE, about.MPI_SOURCE, e->tag, e->ctx->comm,
                          &e->deliveries[e->ncame].request));
  e->ncame++;
fail:
  return status;
}

/* Answers the next parcel if it is all here. */
static grove_status reply(exchange *e, int *replied)
{
  grove_status status = GROVE_OK;
  *replied = 0;
  if (e->nanswered == e->ncame) return GROVE_OK;
  const grove_parcel *parcel = &e->came[e->nanswered];
  delivery *d = &e->deliveries[e->nanswered];
  GROVE_TRY_MPI(MPI_Test(&d->request, replied, MPI_STATUS_IGNORE));
  if (!*replied) return GROVE_OK;
  if (e->mail->judge) e->mail->judge(e->mail->self, parcel, d->answer);
  GROVE_TRY_MPI(MPI_Isend(d->answer, (int)sizeof *d->answer, MPI_BYTE, parcel->peer, e->answer_tag,
                          e->ctx->comm, &d->request));
  e->nanswered++;
fail:
  return status;
}

/* ---- what goes out ---- */

static grove_status check_sizes(const grove_context *ctx, const grove_mail *mail)
{
  grove_status status = GROVE_OK;
  for (int i = 0; i < mail->nsent; i++)
    GROVE_CHECK(mail->sent[i].bytes <= INT_MAX, GROVE_ERR_UNSUPPORTED,
                "rank %d has %lld bytes of set-up data for rank %d: more than 2^31 - 1 are not "
                "possible yet",
                ctx->rank, (long long)mail->sent[i].bytes, mail->sent[i].peer);
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
    GROVE_TRY_MPI(MPI_Isend(parcel->data, (int)parcel->bytes, MPI_BYTE, parcel->peer, e->tag,
                            e->ctx->comm, &e->sends[i]));
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
  for (int i = 0; i < e->nsent; i++) GROVE_TRY(grove_context_wait(e->ctx, &e->sends[i]));
  for (int i = 0; i < e->ncame; i++) {
    GROVE_TRY(grove_context_wait(e->ctx, &e->deliveries[i].request));
    free(e->deliveries[i].answer);
  }
  free(e->sends);
  free(e->replies);
  free(e->answers);
  free(e->deliveries);
  if (e->ncame > 1) qsort(e->came, (size_t)e->ncame, sizeof *e->came, by_peer);
  e->mail->ncame = e->ncame;
  e->mail->came = e->came;
fail:
  return status;
}

/* The memory for what goes out and for the answers to it. */
static grove_status open_exchange(exchange *e)
{
  grove_status status = GROVE_OK;
  GROVE_TRY(check_sizes(e->ctx, e->mail));
  GROVE_ROOM(e->sends, e->mail->nsent);
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
                .tag = GROVE_TAG_EXCHANGE + ctx->exchanges % 2,
                .answer_tag = GROVE_TAG_ANSWER + ctx->exchanges % 2};
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
