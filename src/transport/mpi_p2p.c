/* Point to point: a request per message. It is made once and restarted (persistent), or posted anew
 * at every start, so that buffers can change from start to start. A message larger than a chunk
 * goes in chunks of that many bytes. Each is a message for MPI, all with the same tag. Two carriers
 * with the same tag match in the order in which they are started.
 *
 * Requests. A message has one request per chunk. Request i is that of the first chunk of message i.
 * Those of further chunks come after all of these, when a message turns out to need them.
 *
 * Parts. A send of one chunk may leave in parts, each a message for MPI. The receiver has posted a
 * receive for the whole message. What comes is shorter, so it posts another for the rest. No
 * agreement is needed, as long as no other message of that tag is under way between the two.
 *
 * Taking back. Receives of one tag and peer match in the order in which they were posted: chunk
 * after chunk, operation after operation. So at any time the matched ones are the first of them.
 * Those that MPI gives back, taken back in the opposite order, are the last. If only some chunks of
 * a message came, these stay where they are. The others are posted again, in order; after them, the
 * caller posts those of later operations.
 */
#include "transport/mpi_p2p.h"

#include "base/pause.h"

#include <limits.h>
#include <stdlib.h>

typedef struct message {
  int nchunks; /* 0: not bound yet */
  int more;    /* request of the second chunk; the others follow */
  int left;    /* chunks that are under way */
  char *buffer;
  int early;    /* completed while being withdrawn; not yet told */
  int64_t done; /* in parts: bytes that were sent, or have come, and ... */
  int rest;     /* ... the request for the others; 0: none yet */
  int open;     /* a send whose parts have left, except the last */
} message;

typedef enum chunk_state { IDLE, UNDER_WAY, WITHDRAWN } chunk_state;

/* What a request is for. */
typedef struct chunk {
  int message;
  chunk_state state;
} chunk;

typedef struct p2p {
  const grove_carriage *about;
  int pending, early; /* how many messages are pending, or early */
  message *messages;
  int nrequests;
  MPI_Request *requests;
  chunk *chunks; /* one per request */
  int *completed;
  MPI_Status *statuses;
} p2p;

/* The carriers of a carriage share only the tag. */
static grove_status open_nothing(grove_carriage *a)
{
  (void)a;
  return GROVE_OK;
}

static void close_nothing(grove_carriage *a)
{
  (void)a;
}

/* ---- requests ---- */

/* Adds `count` requests for message i. */
static grove_status add_requests(p2p *p, int i, int64_t count)
{
  GROVE_PASS_CHECK(p->nrequests + count <= INT_MAX, GROVE_ERR_UNSUPPORTED,
                   "messages in %lld chunks of %d bytes: choose a larger chunk",
                   (long long)(p->nrequests + count), p->about->chunk);
  GROVE_PASS_GROW(p->requests, p->nrequests, count);
  GROVE_PASS_GROW(p->chunks, p->nrequests, count);
  GROVE_PASS_GROW(p->completed, p->nrequests, count);
  GROVE_PASS_GROW(p->statuses, p->nrequests, count);
  for (int64_t k = 0; k < count; k++) {
    p->requests[p->nrequests] = MPI_REQUEST_NULL;
    p->chunks[p->nrequests++] = (chunk){i, IDLE};
  }
  return GROVE_OK;
}

/* The request of chunk k of message i, or of the rest of a message that comes in parts. */
static int request_of(const p2p *p, int i, int k)
{
  const message *m = &p->messages[i];
  if (k > 0) return m->more + k - 1;
  return m->done > 0 && i < p->about->nreceives ? m->rest : i;
}

/* Where it begins, and its size. */
static int64_t chunk_begin(const p2p *p, int i, int k)
{
  return (int64_t)k * p->about->chunk + p->messages[i].done;
}

static int chunk_bytes(const p2p *p, int i, int k)
{
  int64_t rest = p->about->messages[i].bytes - chunk_begin(p, i, k);
  return (int)(rest < p->about->chunk ? rest : p->about->chunk);
}

static grove_status create_p2p(grove_carrier *c)
{
  p2p *p = NULL;
  int n = c->carriage->n;
  GROVE_PASS_NEW(p, 1);
  c->self = p;
  p->about = c->carriage;
  GROVE_PASS_NEW(p->messages, n);
  GROVE_PASS(add_requests(p, 0, n));
  for (int i = 0; i < n; i++) p->chunks[i].message = i;
  return GROVE_OK;
}

/* ---- binding ---- */

static grove_status make_persistent(p2p *p, int i, int k)
{
  const message *m = &p->messages[i];
  char *at = m->buffer + (int64_t)k * p->about->chunk;
  int bytes = chunk_bytes(p, i, k);
  MPI_Request *request = &p->requests[request_of(p, i, k)];
  if (*request != MPI_REQUEST_NULL) GROVE_PASS_MPI(MPI_Request_free(request));
  if (i < p->about->nreceives)
    GROVE_PASS_MPI(MPI_Recv_init(at, bytes, MPI_BYTE, p->about->messages[i].peer, p->about->tag,
                                 p->about->ctx->comm, request));
  else
    GROVE_PASS_MPI(MPI_Send_init(at, bytes, MPI_BYTE, p->about->messages[i].peer, p->about->tag,
                                 p->about->ctx->comm, request));
  return GROVE_OK;
}

static grove_status bind_p2p(grove_carrier *c, int i, void *buffer)
{
  p2p *p = c->self;
  message *m = &p->messages[i];
  int64_t bytes = p->about->messages[i].bytes, most = p->about->chunk;
  if (m->nchunks == 0) {
    int64_t nchunks = bytes <= most ? 1 : (bytes - 1) / most + 1;
    m->more = p->nrequests;
    GROVE_PASS(add_requests(p, i, nchunks - 1));
    m->nchunks = (int)nchunks;
  }
  m->buffer = buffer;
  for (int k = 0; k < m->nchunks && p->about->persistent; k++)
    if (p->chunks[request_of(p, i, k)].state != UNDER_WAY) GROVE_PASS(make_persistent(p, i, k));
  return GROVE_OK;
}

/* ---- starting ---- */

static grove_status post_receive(p2p *p, int i, int k)
{
  GROVE_PASS_MPI(MPI_Irecv(p->messages[i].buffer + chunk_begin(p, i, k), chunk_bytes(p, i, k),
                           MPI_BYTE, p->about->messages[i].peer, p->about->tag, p->about->ctx->comm,
                           &p->requests[request_of(p, i, k)]));
  return GROVE_OK;
}

static grove_status post_send(p2p *p, int i, int k)
{
  const message *m = &p->messages[i];
  GROVE_PASS_MPI(MPI_Isend(m->buffer + (int64_t)k * p->about->chunk, chunk_bytes(p, i, k), MPI_BYTE,
                           p->about->messages[i].peer, p->about->tag, p->about->ctx->comm,
                           &p->requests[request_of(p, i, k)]));
  return GROVE_OK;
}

/* Notes that chunk k of message i, and with it the message, is under way. */
static void note_chunk_start(p2p *p, int i, int k)
{
  p->chunks[request_of(p, i, k)].state = UNDER_WAY;
  if (p->messages[i].left++ == 0) p->pending++;
}

static grove_status start_chunk(p2p *p, int i, int k)
{
  if (p->about->persistent)
    GROVE_PASS_MPI(MPI_Start(&p->requests[request_of(p, i, k)]));
  else if (i < p->about->nreceives)
    GROVE_PASS(post_receive(p, i, k));
  else
    GROVE_PASS(post_send(p, i, k));
  note_chunk_start(p, i, k);
  return GROVE_OK;
}

/* A free request of message i, besides those of its chunks. */
static grove_status find_request(p2p *p, int i, int *out)
{
  const message *m = &p->messages[i];
  for (int r = p->about->n; r < p->nrequests; r++) {
    int of_chunk = r >= m->more && r < m->more + m->nchunks - 1;
    if (p->chunks[r].message != i || p->chunks[r].state != IDLE || of_chunk) continue;
    *out = r;
    return GROVE_OK;
  }
  *out = p->nrequests;
  return add_requests(p, i, 1);
}

static grove_status start_part(grove_carrier *c, int i, int64_t begin, int64_t end)
{
  p2p *p = c->self;
  message *m = &p->messages[i];
  int r = 0;
  GROVE_PASS(find_request(p, i, &r));
  GROVE_PASS_MPI(MPI_Isend(m->buffer + begin, (int)(end - begin), MPI_BYTE,
                           p->about->messages[i].peer, p->about->tag, p->about->ctx->comm,
                           &p->requests[r]));
  p->chunks[r].state = UNDER_WAY;
  if (m->left++ == 0) p->pending++;
  m->done = end;
  m->open = end < p->about->messages[i].bytes;
  if (!m->open) m->done = 0;
  return GROVE_OK;
}

static grove_status start_p2p(grove_carrier *c, int i)
{
  p2p *p = c->self;
  message *m = &p->messages[i];
  if (m->open) return start_part(c, i, m->done, p->about->messages[i].bytes);
  for (int k = 0; k < p->messages[i].nchunks; k++) GROVE_PASS(start_chunk(p, i, k));
  return GROVE_OK;
}

/* ---- completing ---- */

/* Request r is through, or withdrawn. Returns whether nothing of its message is under way any more,
 * or will be. */
static int note_end(p2p *p, int r, chunk_state state)
{
  message *m = &p->messages[p->chunks[r].message];
  p->chunks[r].state = state;
  if (--m->left > 0) return 0;
  p->pending--;
  return !m->open;
}

/* If message i comes in parts, what came is shorter than its receive. Is there a rest? Then that
 * gets a request. */
static grove_status find_rest(p2p *p, int i, const MPI_Status *about, int *is_there)
{
  message *m = &p->messages[i];
  int bytes = 0, wanted = chunk_bytes(p, i, 0);
  *is_there = 0;
  if (i >= p->about->nreceives || m->nchunks > 1) return GROVE_OK;
  GROVE_PASS_MPI(MPI_Get_count(about, MPI_BYTE, &bytes));
  *is_there = bytes < wanted;
  m->done = bytes < wanted ? m->done + bytes : 0;
  if (*is_there && !m->rest) GROVE_PASS(find_request(p, i, &m->rest));
  return GROVE_OK;
}

/* Request r is through: is its message? */
static grove_status take_end(p2p *p, int r, const MPI_Status *about, int *through)
{
  int i = p->chunks[r].message, has_rest = 0;
  *through = note_end(p, r, IDLE);
  GROVE_PASS(find_rest(p, i, about, &has_rest));
  if (!has_rest) return GROVE_OK;
  *through = 0;
  GROVE_PASS(post_receive(p, i, 0));
  note_chunk_start(p, i, 0);
  return GROVE_OK;
}

static grove_status poll_p2p(grove_carrier *c, int *n, const int **which)
{
  p2p *p = c->self;
  int tested = 0, through = 0;
  *n = 0;
  *which = p->completed;
  for (int i = 0; p->early > 0 && i < p->about->nreceives; i++)
    if (p->messages[i].early) {
      p->messages[i].early = 0;
      p->early--;
      p->completed[(*n)++] = i;
    }
  if (*n > 0 || p->pending == 0) return GROVE_OK;
  GROVE_PASS_MPI(MPI_Testsome(p->nrequests, p->requests, &tested, p->completed, p->statuses));
  if (tested == MPI_UNDEFINED) tested = 0;
  for (int k = 0; k < tested; k++) {
    int r = p->completed[k];
    GROVE_PASS(take_end(p, r, &p->statuses[k], &through));
    if (through) p->completed[(*n)++] = p->chunks[r].message;
  }
  *which = p->completed; /* only now: requests may have been added */
  return GROVE_OK;
}

static int pending_p2p(const grove_carrier *c, int i)
{
  return ((const p2p *)c->self)->messages[i].left > 0;
}

static int busy_p2p(const grove_carrier *c)
{
  return ((const p2p *)c->self)->pending > 0;
}

/* ---- taking back ---- */

/* A message that MPI would not cancel is arriving: it comes as soon as its sender calls MPI
 * again. */
static grove_status withdraw_chunk(p2p *p, int r, grove_pause *pause, double timeout,
                                   int *withdrawn)
{
  MPI_Status about;
  int done = 0;
  GROVE_PASS_MPI(MPI_Cancel(&p->requests[r]));
  for (;;) {
    GROVE_PASS_MPI(MPI_Test(&p->requests[r], &done, &about));
    if (done) break;
    GROVE_PASS_CHECK(
      !grove_pause_expired(pause, timeout), GROVE_ERR_TIMEOUT,
      "a message from rank %d is arriving since %g s: the array that it goes to must stay "
      "until the context is freed",
      p->about->messages[p->chunks[r].message].peer, timeout);
    grove_pause_step(pause);
  }
  GROVE_PASS_MPI(MPI_Test_cancelled(&about, withdrawn));
  note_end(p, r, *withdrawn ? WITHDRAWN : IDLE);
  if (*withdrawn) return GROVE_OK;
  int i = p->chunks[r].message;
  GROVE_PASS(find_rest(p, i, &about, withdrawn));
  if (*withdrawn) p->chunks[request_of(p, i, 0)].state = WITHDRAWN;
  return GROVE_OK;
}

static grove_status withdraw_p2p(grove_carrier *c, int i, double timeout, int *withdrawn)
{
  p2p *p = c->self;
  message *m = &p->messages[i];
  grove_pause pause;
  *withdrawn = 0;
  grove_pause_begin(&pause, 0);
  for (int k = m->nchunks - 1; k >= 0; k--) {
    int r = request_of(p, i, k), taken = 0;
    if (p->chunks[r].state != UNDER_WAY) continue;
    grove_status status = withdraw_chunk(p, r, &pause, timeout, &taken);
    *withdrawn |= taken;
    GROVE_PASS(status);
  }
  if (!*withdrawn) {
    m->early = 1; /* the next poll tells */
    p->early++;
  }
  return GROVE_OK;
}

static grove_status repost_chunk(p2p *p, int i, int k)
{
  int r = request_of(p, i, k);
  if (p->requests[r] != MPI_REQUEST_NULL) GROVE_PASS_MPI(MPI_Request_free(&p->requests[r]));
  GROVE_PASS(post_receive(p, i, k));
  note_chunk_start(p, i, k);
  return GROVE_OK;
}

static grove_status repost_p2p(grove_carrier *c, int i)
{
  p2p *p = c->self;
  for (int k = 0; k < p->messages[i].nchunks; k++)
    if (p->chunks[request_of(p, i, k)].state == WITHDRAWN) GROVE_PASS(repost_chunk(p, i, k));
  return GROVE_OK;
}

static void free_p2p(grove_carrier *c)
{
  p2p *p = c->self;
  if (!p) return;
  int finalized = grove_mpi_is_gone();
  for (int r = 0; r < p->nrequests && !finalized; r++)
    if (p->requests[r] != MPI_REQUEST_NULL) MPI_Request_free(&p->requests[r]);
  free(p->messages);
  free(p->requests);
  free(p->chunks);
  free(p->completed);
  free(p->statuses);
  free(p);
}

const grove_carrier_kind grove_carrier_p2p = {
  .name = "p2p",
  .reach = GROVE_REACHES_ALL,
  .writes_arrays = 1,
  .takes_parts = 1,
  .memories = GROVE_SPACE_HOST,
  .open = open_nothing,
  .close = close_nothing,
  .create = create_p2p,
  .bind = bind_p2p,
  .start = start_p2p,
  .start_part = start_part,
  .go = grove_carrier_go_nowhere,
  .poll = poll_p2p,
  .pending = pending_p2p,
  .busy = busy_p2p,
  .forgo = grove_carrier_let_come,
  .withdraw = withdraw_p2p,
  .repost = repost_p2p,
  .free = free_p2p,
};
