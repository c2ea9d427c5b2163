/* Sparse exchange by non-blocking consensus (Hoefler, Siebert, Lumsdaine, PPoPP 2010). A rank sends
 * its packets and receives what comes. Once it knows that all its packets were received, it enters
 * a non-blocking collective step. When all ranks have entered, no packet can be under way.
 * Logarithmic in the ranks, otherwise proportional to the packets.
 *
 * Here the acknowledgement of a packet is an answer, which says what its receiver thinks of it, and
 * the collective step is an agreement: when it ends, all ranks know whether all packets were good.
 *
 * A small packet is one message. A packet is large if a step of the context cannot hold it, or if
 * it exceeds the option `chunk`; an empty packet counts as large, too. An empty message announces a
 * large packet, and its size follows under another tag. The receiver, if it has the memory, posts
 * its receives and answers go. When all receivers have answered, the sender sends the chunks, which
 * are answered again. So a packet that a rank has no memory for is either small and discarded, or
 * never sent: its sender is told, and all fail together.
 *
 * A rank that left the agreement may start the next exchange while another is still in this one,
 * but not the one after it. Two tags, used alternately, keep them apart.
 */
#include "context/context.h"

#include <limits.h>
#include <stdlib.h>

/* How far an incoming packet is. */
typedef enum progress {
  COMING,    /* the packet is */
  ANNOUNCED, /* the announcement of a large one is */
  SIZED,     /* its size is */
  CHUNKED    /* its chunks are */
} progress;

/* A packet that has come or is coming, and its answer. It never moves in memory: MPI may be writing
 * to it, or reading. */
typedef struct incoming {
  progress progress;
  int peer;
  int64_t bytes; /* of a large packet, sent in a message */
  char *data;
  MPI_Request request; /* of the packet or the size; once all has come, of the answer */
  MPI_Request go;
  int nchunks;
  MPI_Request *chunks; /* of a large packet */
  grove_answer answer;
} incoming;

typedef struct exchange {
  grove_context *ctx;
  grove_packet_exchange *args;
  int tag, answer_tag, large_tag;
  int64_t most;  /* bytes of a message, at most */
  int64_t small; /* bytes of a small packet, at most */
  int nsent, nsends, nlarge;
  MPI_Request *sends, *replies; /* messages out, answers in */
  grove_answer *answers;
  int ncame, nmet, nanswered; /* met: answered for the first time */
  grove_packet *came;
  incoming **incoming; /* one for each packet that came */
} exchange;

/* Answers that need no judge. */
static const grove_answer go = {.status = GROVE_OK}, refusal = {.status = GROVE_ERR_MEMORY};

static int by_sender_rank(const void *a, const void *b)
{
  const grove_packet *x = a, *y = b;
  return (x->peer > y->peer) - (x->peer < y->peer);
}

void grove_packet_list_sort(int n, grove_packet *packets)
{
  if (n > 1) qsort(packets, (size_t)n, sizeof *packets, by_sender_rank);
}

void grove_packet_list_free(int n, grove_packet *packets)
{
  for (int i = 0; packets && i < n; i++) free(packets[i].data);
  free(packets);
}

/* ---- what comes ---- */

static grove_status make_place(exchange *e)
{
  GROVE_PASS_GROW(e->came, e->ncame, 1);
  GROVE_PASS_GROW(e->incoming, e->ncame, 1);
  return GROVE_OK;
}

/* Memory for a packet of this size, or for a large one, which an empty message announces. */
static grove_status make_incoming(exchange *e, int peer, int bytes, incoming **out)
{
  grove_status status = GROVE_OK;
  incoming *d = NULL;
  GROVE_TRY(make_place(e));
  GROVE_NEW(d, 1);
  *d = (incoming){.progress = bytes > 0 ? COMING : ANNOUNCED, .peer = peer, .bytes = bytes};
  d->request = d->go = MPI_REQUEST_NULL;
  GROVE_ROOM(d->data, bytes);
  *out = d;
  return GROVE_OK;
fail:
  free(d);
  return status;
}

/* Receives a message and discards it. It is small, and has come or is on its way. */
static grove_status drop_message(exchange *e, int peer, int bytes, int tag)
{
  MPI_Request request;
  GROVE_PASS_MPI(MPI_Irecv(e->ctx->step.text, bytes, MPI_BYTE, peer, tag, e->ctx->comm, &request));
  return grove_context_wait(e->ctx, &request);
}

/* Tells a sender that there is no memory for its packet; it is waiting for the answer. */
static grove_status refuse_packet(exchange *e, int peer)
{
  MPI_Request request;
  GROVE_PASS_MPI(MPI_Isend(&refusal, (int)sizeof refusal, MPI_BYTE, peer, e->answer_tag,
                           e->ctx->comm, &request));
  return grove_context_wait(e->ctx, &request);
}

static grove_status turn_away(exchange *e, int peer, int bytes)
{
  GROVE_PASS(drop_message(e, peer, bytes, e->tag));
  if (bytes == 0) GROVE_PASS(drop_message(e, peer, (int)sizeof(int64_t), e->large_tag));
  return refuse_packet(e, peer);
}

/* Begins to receive one packet, or the announcement of one, if one has come. */
static grove_status take_packet(exchange *e, int *came)
{
  MPI_Status about;
  incoming *d = NULL;
  int bytes = 0;
  GROVE_PASS_MPI(MPI_Iprobe(MPI_ANY_SOURCE, e->tag, e->ctx->comm, came, &about));
  if (!*came) return GROVE_OK;
  GROVE_PASS_MPI(MPI_Get_count(&about, MPI_BYTE, &bytes));
  if (make_incoming(e, about.MPI_SOURCE, bytes, &d) != GROVE_OK)
    return turn_away(e, about.MPI_SOURCE, bytes);
  e->incoming[e->ncame++] = d;
  GROVE_PASS_MPI(MPI_Irecv(d->data, bytes, MPI_BYTE, d->peer, e->tag, e->ctx->comm, &d->request));
  return GROVE_OK;
}

/* Drops an incoming packet: nothing of it is under way. */
static void forget_incoming(exchange *e, int i)
{
  free(e->incoming[i]->data);
  free(e->incoming[i]);
  e->ncame--;
  for (int k = i; k < e->ncame; k++) e->incoming[k] = e->incoming[k + 1];
}

static grove_status answer_packet(exchange *e, incoming *d)
{
  grove_packet packet = {.peer = d->peer, .bytes = d->bytes, .data = d->data};
  if (e->args->judge) e->args->judge(e->args->self, &packet, &d->answer);
  GROVE_PASS_MPI(MPI_Isend(&d->answer, (int)sizeof d->answer, MPI_BYTE, d->peer, e->answer_tag,
                           e->ctx->comm, &d->request));
  return GROVE_OK;
}

/* ---- large packets ---- */

static int64_t count_chunks(const exchange *e, int64_t bytes)
{
  return (bytes + e->most - 1) / e->most;
}

static int bytes_of_chunk(const exchange *e, int64_t bytes, int64_t k)
{
  int64_t rest = bytes - k * e->most;
  return (int)(rest < e->most ? rest : e->most);
}

/* Begins to receive the size. */
static grove_status receive_size(exchange *e, incoming *d)
{
  GROVE_PASS_MPI(MPI_Irecv(&d->bytes, (int)sizeof d->bytes, MPI_BYTE, d->peer, e->large_tag,
                           e->ctx->comm, &d->request));
  d->progress = SIZED;
  return GROVE_OK;
}

static grove_status make_space(const exchange *e, incoming *d)
{
  grove_status status = GROVE_OK;
  free(d->data);
  d->data = NULL;
  GROVE_ROOM(d->chunks, count_chunks(e, d->bytes));
  GROVE_ROOM(d->data, d->bytes);
  return GROVE_OK;
fail:
  free(d->chunks);
  return status;
}

/* Posts the receives of the chunks, and tells the sender to go. */
static grove_status receive_chunks(exchange *e, incoming *d)
{
  int64_t n = count_chunks(e, d->bytes);
  for (; d->nchunks < n; d->nchunks++)
    GROVE_PASS_MPI(MPI_Irecv(d->data + d->nchunks * e->most,
                             bytes_of_chunk(e, d->bytes, d->nchunks), MPI_BYTE, d->peer,
                             e->large_tag, e->ctx->comm, &d->chunks[d->nchunks]));
  GROVE_PASS_MPI(
    MPI_Isend(&go, (int)sizeof go, MPI_BYTE, d->peer, e->answer_tag, e->ctx->comm, &d->go));
  d->progress = CHUNKED;
  return GROVE_OK;
}

/* Advances the first incoming packet without an answer: it gets its answer, a large one its go.
 * Both wait only for messages that the sender has already sent, whatever other ranks do. */
static grove_status meet_incoming(exchange *e, int *moved)
{
  *moved = 0;
  if (e->nmet == e->ncame) return GROVE_OK;
  incoming *d = e->incoming[e->nmet];
  GROVE_PASS_MPI(MPI_Test(&d->request, moved, MPI_STATUS_IGNORE));
  if (!*moved) return GROVE_OK;
  if (d->progress == ANNOUNCED) return receive_size(e, d);
  if (d->progress == COMING) {
    GROVE_PASS(answer_packet(e, d));
  } else if (make_space(e, d) == GROVE_OK) {
    GROVE_PASS(receive_chunks(e, d));
  } else {
    int peer = d->peer;
    forget_incoming(e, e->nmet);
    return refuse_packet(e, peer);
  }
  e->nmet++;
  return GROVE_OK;
}

/* Advances the first large packet that is incomplete. Its sender sends the chunks only when all its
 * packets are answered, so no answer ever waits for them. */
static grove_status unload_large(exchange *e, int *moved)
{
  *moved = 0;
  while (e->nanswered < e->nmet && e->incoming[e->nanswered]->progress == COMING) e->nanswered++;
  if (e->nanswered == e->nmet) return GROVE_OK;
  incoming *d = e->incoming[e->nanswered];
  GROVE_PASS_MPI(MPI_Testall(d->nchunks, d->chunks, moved, MPI_STATUSES_IGNORE));
  if (!*moved) return GROVE_OK;
  GROVE_PASS(answer_packet(e, d));
  e->nanswered++;
  return GROVE_OK;
}

/* ---- what goes out ---- */

static int is_large(const exchange *e, const grove_packet *packet)
{
  return packet->bytes == 0 || packet->bytes > e->small;
}

/* A large packet has an announcement, a size and chunks. */
static int64_t messages_of(const exchange *e, const grove_packet *packet)
{
  return is_large(e, packet) ? 2 + count_chunks(e, packet->bytes) : 1;
}

static grove_status send_message(exchange *e, const void *data, int bytes, int peer, int tag)
{
  GROVE_PASS_MPI(MPI_Isend(data, bytes, MPI_BYTE, peer, tag, e->ctx->comm, &e->sends[e->nsends++]));
  return GROVE_OK;
}

/* `sent` stays until all is through. */
static grove_status announce_large(exchange *e, const grove_packet *packet)
{
  e->nlarge++;
  GROVE_PASS(send_message(e, NULL, 0, packet->peer, e->tag));
  return send_message(e, &packet->bytes, (int)sizeof packet->bytes, packet->peer, e->large_tag);
}

static grove_status expect_answer(exchange *e, int i)
{
  GROVE_PASS_MPI(MPI_Irecv(&e->answers[i], (int)sizeof *e->answers, MPI_BYTE, e->args->sent[i].peer,
                           e->answer_tag, e->ctx->comm, &e->replies[i]));
  return GROVE_OK;
}

static grove_status send_packets(exchange *e)
{
  for (int i = 0; i < e->nsent; i++) {
    const grove_packet *packet = &e->args->sent[i];
    GROVE_PASS(expect_answer(e, i));
    if (is_large(e, packet))
      GROVE_PASS(announce_large(e, packet));
    else
      GROVE_PASS(send_message(e, packet->data, (int)packet->bytes, packet->peer, e->tag));
  }
  return GROVE_OK;
}

/* Sends the chunks to those who have memory for them. */
static grove_status send_chunks(exchange *e)
{
  for (int i = 0; i < e->nsent; i++) {
    const grove_packet *packet = &e->args->sent[i];
    const char *data = packet->data;
    int64_t n = count_chunks(e, packet->bytes);
    if (!is_large(e, packet) || e->answers[i].status != GROVE_OK) continue;
    GROVE_PASS(expect_answer(e, i));
    for (int64_t k = 0; k < n; k++)
      GROVE_PASS(send_message(e, data + k * e->most, bytes_of_chunk(e, packet->bytes, k),
                              packet->peer, e->large_tag));
  }
  e->nlarge = 0;
  return GROVE_OK;
}

/* Handles the first answer that reports a failure. */
static grove_status heed_answers(const exchange *e)
{
  for (int i = 0; i < e->nsent; i++) {
    const grove_packet *packet = &e->args->sent[i];
    if (e->answers[i].status == GROVE_OK) continue;
    if (e->args->heed) return e->args->heed(e->args->self, packet, &e->answers[i]);
    return grove_error((grove_status)e->answers[i].status, __FILE__, __LINE__,
                       "rank %d: no memory for %lld bytes from rank %d", packet->peer,
                       (long long)packet->bytes, e->ctx->rank);
  }
  return GROVE_OK;
}

/* ---- consensus ---- */

/* Have this rank's packets been answered, so that it can enter the agreement? */
static grove_status are_answered(exchange *e, int *all)
{
  GROVE_PASS_MPI(MPI_Testall(e->nsent, e->replies, all, MPI_STATUSES_IGNORE));
  if (!*all || e->nlarge == 0) return GROVE_OK;
  *all = 0;
  return send_chunks(e);
}

/* Receives and answers packets until all packets of all ranks have been answered. */
static grove_status reach_consensus(exchange *e, grove_status mine, const int64_t *values, int n,
                                    grove_agreement *agreement)
{
  int entered = 0, done = 0;
  grove_pause pause;
  grove_pause_begin(&pause, e->ctx->spins);
  for (;;) {
    int came = 0, met = 0, unloaded = 0;
    int late = grove_pause_expired(&pause, e->ctx->options.timeout_seconds);
    if (!entered) {
      GROVE_PASS(are_answered(e, &entered));
      if (entered && mine == GROVE_OK) mine = heed_answers(e);
      if (entered) GROVE_PASS(grove_agreement_begin(e->ctx, mine, values, n, agreement));
    } else {
      GROVE_PASS(grove_agreement_test(e->ctx, agreement, &done));
      if (done) return GROVE_OK;
    }
    GROVE_PASS(take_packet(e, &came));
    GROVE_PASS(meet_incoming(e, &met));
    GROVE_PASS(unload_large(e, &unloaded));
    if (came || met || unloaded) continue;
    if (late) return grove_context_time_out(e->ctx);
    grove_context_progress(e->ctx);
    grove_context_pause(e->ctx, &pause);
  }
  return GROVE_OK;
}

/* All packets and answers have been received; only MPI's requests remain to be completed. */
static grove_status finish_exchange(exchange *e)
{
  for (int i = 0; i < e->nsends; i++) GROVE_PASS(grove_context_wait(e->ctx, &e->sends[i]));
  for (int i = 0; i < e->ncame; i++) {
    incoming *d = e->incoming[i];
    GROVE_PASS(grove_context_wait(e->ctx, &d->go));
    GROVE_PASS(grove_context_wait(e->ctx, &d->request));
    e->came[i] = (grove_packet){.peer = d->peer, .bytes = d->bytes, .data = d->data};
    free(d->chunks);
    free(d);
  }
  free(e->sends);
  free(e->replies);
  free(e->answers);
  free(e->incoming);
  grove_packet_list_sort(e->ncame, e->came);
  e->args->ncame = e->ncame;
  e->args->came = e->came;
  return GROVE_OK;
}

/* Memory for outgoing packets and for the answers to them. */
static grove_status open_exchange(exchange *e)
{
  int64_t nsends = 0;
  for (int i = 0; i < e->args->nsent; i++) nsends += messages_of(e, &e->args->sent[i]);
  GROVE_PASS_CHECK(nsends <= INT_MAX, GROVE_ERR_UNSUPPORTED,
                   "rank %d has set-up data for %lld messages of %lld bytes: choose a larger chunk",
                   e->ctx->rank, (long long)nsends, (long long)e->most);
  GROVE_PASS_ROOM(e->sends, nsends);
  GROVE_PASS_ROOM(e->replies, e->args->nsent);
  GROVE_PASS_ROOM(e->answers, e->args->nsent);
  e->nsent = e->args->nsent;
  return GROVE_OK;
}

grove_status grove_context_exchange(grove_context *ctx, grove_status mine, int64_t *values, int n,
                                    grove_packet_exchange *args)
{
  grove_status status = GROVE_OK;
  grove_agreement agreement;
  exchange e = {.ctx = ctx,
                .args = args,
                .most = ctx->options.chunk,
                .small =
                  ctx->options.chunk < GROVE_STEP_BYTES ? ctx->options.chunk : GROVE_STEP_BYTES,
                .tag = GROVE_TAG_EXCHANGE + ctx->exchanges % 2,
                .answer_tag = GROVE_TAG_ANSWER + ctx->exchanges % 2,
                .large_tag = GROVE_TAG_LARGE + ctx->exchanges % 2};
  if (ctx->broken) return grove_context_agree(ctx, mine, values, n); /* which says why not */
  ctx->exchanges++;
  if (mine == GROVE_OK) mine = open_exchange(&e);
  GROVE_TRY(send_packets(&e));
  GROVE_TRY(reach_consensus(&e, mine, values, n, &agreement));
  GROVE_TRY(finish_exchange(&e));
  return grove_agreement_end(ctx, &agreement, values);
fail:
  /* What MPI was given is left alone. */
  ctx->broken = 1;
  args->sent = NULL;
  return status;
}
