/* A message is one request, or as many as it has chunks. Request i is that of the first chunk of
 * message i; those of further chunks come behind, when a message turns out to need them.
 *
 * Taking back. Receives of one tag and peer match in the order in which they were posted: chunk
 * after chunk, operation after operation. So at any time those that have been matched are the first
 * of them, and those that MPI gives back, taken back in the opposite order, are the last. A message
 * of which some chunks came and others did not keeps the former where they are; the latter are
 * posted again, in order, and behind them, by the caller, those of later operations.
 */
#include "transport/mpi_p2p.h"

#include "base/pause.h"

#include <limits.h>
#include <stdlib.h>

typedef struct message {
  int peer;
  int nchunks; /* 0: not bound yet */
  int more;    /* request of the second chunk; the others follow */
  int left;    /* chunks that are under way */
  int64_t bytes;
  char *buffer;
  char *own; /* where a receive goes that nobody wants any more */
  int early; /* completed while it was being withdrawn; not yet told */
} message;

typedef enum chunk_state { IDLE, UNDER_WAY, WITHDRAWN } chunk_state;

/* What a request is for. */
typedef struct chunk {
  int message;
  chunk_state state;
} chunk;

struct grove_p2p {
  MPI_Comm comm;
  int tag, persistent;
  int64_t most; /* bytes of a chunk */
  int nreceives, n;
  int pending, early; /* how many messages are */
  message *messages;
  int nrequests, room;
  MPI_Request *requests;
  chunk *chunks; /* one a request */
  int *completed;
};

/* ---- requests ---- */

static grove_status make_room(grove_p2p *p, int64_t wanted)
{
  grove_status status = GROVE_OK;
  int64_t twice = 2 * (int64_t)p->room, room = twice > wanted && twice <= INT_MAX ? twice : wanted;
  if (wanted <= p->room) return GROVE_OK;
  GROVE_CHECK(wanted <= INT_MAX, GROVE_ERR_UNSUPPORTED,
              "messages in %lld chunks of %lld bytes: choose a larger chunk", (long long)wanted,
              (long long)p->most);
  MPI_Request *requests = realloc(p->requests, (size_t)room * sizeof *requests);
  if (requests) p->requests = requests;
  chunk *chunks = realloc(p->chunks, (size_t)room * sizeof *chunks);
  if (chunks) p->chunks = chunks;
  int *completed = realloc(p->completed, (size_t)room * sizeof *completed);
  if (completed) p->completed = completed;
  GROVE_CHECK(requests && chunks && completed, GROVE_ERR_MEMORY, "no memory for %lld requests",
              (long long)room);
  p->room = (int)room;
fail:
  return status;
}

/* Adds so many requests for message i. */
static grove_status add_requests(grove_p2p *p, int i, int64_t count)
{
  grove_status status = GROVE_OK;
  GROVE_TRY(make_room(p, p->nrequests + count));
  for (int64_t k = 0; k < count; k++) {
    p->requests[p->nrequests] = MPI_REQUEST_NULL;
    p->chunks[p->nrequests++] = (chunk){i, IDLE};
  }
fail:
  return status;
}

/* The request of chunk k of message i. */
static int request_of(const grove_p2p *p, int i, int k)
{
  return k == 0 ? i : p->messages[i].more + k - 1;
}

/* And its size. */
static int chunk_bytes(const grove_p2p *p, int i, int k)
{
  int64_t rest = p->messages[i].bytes - k * p->most;
  return (int)(rest < p->most ? rest : p->most);
}

grove_status grove_p2p_create(MPI_Comm comm, int tag, int persistent, int chunk_limit,
                              int nreceives, int nsends, grove_p2p **out)
{
  grove_status status = GROVE_OK;
  grove_p2p *p = NULL;
  GROVE_NEW(p, 1);
  *p = (grove_p2p){.comm = comm,
                   .tag = tag,
                   .persistent = persistent,
                   .most = chunk_limit,
                   .nreceives = nreceives,
                   .n = nreceives + nsends};
  GROVE_NEW(p->messages, p->n);
  GROVE_TRY(make_room(p, p->n));
  for (int i = 0; i < p->n; i++) GROVE_TRY(add_requests(p, i, 1));
  *out = p;
  return GROVE_OK;
fail:
  grove_p2p_free(&p);
  return status;
}

/* ---- binding ---- */

static grove_status make_persistent(grove_p2p *p, int i, int k)
{
  grove_status status = GROVE_OK;
  const message *m = &p->messages[i];
  char *at = m->buffer + k * p->most;
  int bytes = chunk_bytes(p, i, k);
  MPI_Request *request = &p->requests[request_of(p, i, k)];
  if (i < p->nreceives)
    GROVE_TRY_MPI(MPI_Recv_init(at, bytes, MPI_BYTE, m->peer, p->tag, p->comm, request));
  else
    GROVE_TRY_MPI(MPI_Send_init(at, bytes, MPI_BYTE, m->peer, p->tag, p->comm, request));
fail:
  return status;
}

grove_status grove_p2p_bind(grove_p2p *p, int i, int peer, void *buffer, int64_t bytes)
{
  grove_status status = GROVE_OK;
  message *m = &p->messages[i];
  if (m->nchunks == 0) {
    int64_t nchunks = bytes <= p->most ? 1 : (bytes - 1) / p->most + 1;
    m->more = p->nrequests;
    GROVE_TRY(add_requests(p, i, nchunks - 1));
    m->nchunks = (int)nchunks;
  }
  m->peer = peer;
  m->bytes = bytes;
  m->buffer = buffer;
  for (int k = 0; k < m->nchunks && p->persistent; k++) GROVE_TRY(make_persistent(p, i, k));
fail:
  return status;
}

/* ---- starting ---- */

static grove_status post_receive(grove_p2p *p, int i, int k, char *buffer)
{
  grove_status status = GROVE_OK;
  const message *m = &p->messages[i];
  GROVE_TRY_MPI(MPI_Irecv(buffer + k * p->most, chunk_bytes(p, i, k), MPI_BYTE, m->peer, p->tag,
                          p->comm, &p->requests[request_of(p, i, k)]));
fail:
  return status;
}

static grove_status post_send(grove_p2p *p, int i, int k)
{
  grove_status status = GROVE_OK;
  const message *m = &p->messages[i];
  GROVE_TRY_MPI(MPI_Isend(m->buffer + k * p->most, chunk_bytes(p, i, k), MPI_BYTE, m->peer, p->tag,
                          p->comm, &p->requests[request_of(p, i, k)]));
fail:
  return status;
}

/* Notes that chunk k of message i is under way, and with it the message. */
static void note_start(grove_p2p *p, int i, int k)
{
  p->chunks[request_of(p, i, k)].state = UNDER_WAY;
  if (p->messages[i].left++ == 0) p->pending++;
}

static grove_status start_chunk(grove_p2p *p, int i, int k)
{
  grove_status status = GROVE_OK;
  if (p->persistent)
    GROVE_TRY_MPI(MPI_Start(&p->requests[request_of(p, i, k)]));
  else if (i < p->nreceives)
    GROVE_TRY(post_receive(p, i, k, p->messages[i].buffer));
  else
    GROVE_TRY(post_send(p, i, k));
  note_start(p, i, k);
fail:
  return status;
}

grove_status grove_p2p_start(grove_p2p *p, int i)
{
  grove_status status = GROVE_OK;
  for (int k = 0; k < p->messages[i].nchunks; k++) GROVE_TRY(start_chunk(p, i, k));
fail:
  return status;
}

/* ---- completing ---- */

/* Request r is through, or withdrawn. Says whether nothing of its message is under way any more. */
static int note_end(grove_p2p *p, int r, chunk_state state)
{
  message *m = &p->messages[p->chunks[r].message];
  p->chunks[r].state = state;
  if (--m->left > 0) return 0;
  p->pending--;
  return 1;
}

grove_status grove_p2p_poll(grove_p2p *p, int *n, const int **which)
{
  grove_status status = GROVE_OK;
  int tested = 0;
  *n = 0;
  *which = p->completed;
  for (int i = 0; p->early > 0 && i < p->nreceives; i++)
    if (p->messages[i].early) {
      p->messages[i].early = 0;
      p->early--;
      p->completed[(*n)++] = i;
    }
  if (*n > 0 || p->pending == 0) return GROVE_OK;
  GROVE_TRY_MPI(
    MPI_Testsome(p->nrequests, p->requests, &tested, p->completed, MPI_STATUSES_IGNORE));
  if (tested == MPI_UNDEFINED) tested = 0;
  for (int k = 0; k < tested; k++) {
    int r = p->completed[k];
    if (note_end(p, r, IDLE)) p->completed[(*n)++] = p->chunks[r].message;
  }
fail:
  return status;
}

int grove_p2p_pending(const grove_p2p *p, int i)
{
  return p->messages[i].left > 0;
}

int grove_p2p_busy(const grove_p2p *p)
{
  return p->pending > 0;
}

/* ---- taking back ---- */

/* What MPI would not cancel is arriving: as soon as its sender calls MPI again. */
static grove_status withdraw_chunk(grove_p2p *p, int r, grove_pause *pause, double timeout,
                                   int *withdrawn)
{
  grove_status status = GROVE_OK;
  MPI_Status about;
  int done = 0;
  GROVE_TRY_MPI(MPI_Cancel(&p->requests[r]));
  for (;;) {
    GROVE_TRY_MPI(MPI_Test(&p->requests[r], &done, &about));
    if (done) break;
    GROVE_CHECK(
      !grove_pause_expired(pause, timeout), GROVE_ERR_TIMEOUT,
      "a message from rank %d is arriving since %g s: the array that it goes to must stay "
      "until the context is freed",
      p->messages[p->chunks[r].message].peer, timeout);
    grove_pause_step(pause);
  }
  GROVE_TRY_MPI(MPI_Test_cancelled(&about, withdrawn));
  note_end(p, r, *withdrawn ? WITHDRAWN : IDLE);
fail:
  return status;
}

grove_status grove_p2p_withdraw(grove_p2p *p, int i, double timeout, int *withdrawn)
{
  grove_status status = GROVE_OK;
  message *m = &p->messages[i];
  grove_pause pause;
  *withdrawn = 0;
  grove_pause_begin(&pause, 0);
  for (int k = m->nchunks - 1; k >= 0; k--) {
    int r = request_of(p, i, k), taken = 0;
    if (p->chunks[r].state != UNDER_WAY) continue;
    status = withdraw_chunk(p, r, &pause, timeout, &taken);
    *withdrawn |= taken;
    GROVE_TRY(status);
  }
  if (!*withdrawn) {
    m->early = 1; /* the next poll tells */
    p->early++;
  }
fail:
  return status;
}

static grove_status repost_chunk(grove_p2p *p, int i, int k, char *buffer)
{
  grove_status status = GROVE_OK;
  int r = request_of(p, i, k);
  if (p->requests[r] != MPI_REQUEST_NULL) GROVE_TRY_MPI(MPI_Request_free(&p->requests[r]));
  GROVE_TRY(post_receive(p, i, k, buffer));
  note_start(p, i, k);
fail:
  return status;
}

grove_status grove_p2p_repost(grove_p2p *p, int i, int discard)
{
  grove_status status = GROVE_OK;
  message *m = &p->messages[i];
  if (discard && !m->own) {
    m->own = grove_memory((size_t)m->bytes, 1);
    GROVE_CHECK(m->own, GROVE_ERR_MEMORY, "no memory for %lld bytes", (long long)m->bytes);
  }
  for (int k = 0; k < m->nchunks; k++)
    if (p->chunks[request_of(p, i, k)].state == WITHDRAWN)
      GROVE_TRY(repost_chunk(p, i, k, discard ? m->own : m->buffer));
fail:
  return status;
}

grove_status grove_p2p_discard(grove_p2p *p, int i)
{
  for (int k = 0; k < p->messages[i].nchunks; k++) p->chunks[request_of(p, i, k)].state = WITHDRAWN;
  return grove_p2p_repost(p, i, 1);
}

void grove_p2p_free(grove_p2p **pointer)
{
  grove_p2p *p = *pointer;
  if (!p) return;
  int finalized = grove_mpi_is_gone();
  for (int r = 0; r < p->nrequests && !finalized; r++)
    if (p->requests[r] != MPI_REQUEST_NULL) MPI_Request_free(&p->requests[r]);
  for (int i = 0; p->messages && i < p->n; i++) free(p->messages[i].own);
  free(p->messages);
  free(p->requests);
  free(p->chunks);
  free(p->completed);
  free(p);
  *pointer = NULL;
}
