#include "transport/mpi_p2p.h"

#include "base/pause.h"

#include <limits.h>
#include <stdlib.h>

typedef struct message {
  int peer;
  int bytes;
  void *buffer;
  void *own; /* where a receive goes that nobody wants any more */
  int pending;
  int early; /* completed while it was being withdrawn; not yet told */
} message;

struct grove_p2p {
  MPI_Comm comm;
  int tag, persistent;
  int nreceives, n;
  int pending, early; /* how many messages are */
  message *messages;
  MPI_Request *requests;
  int *completed;
};

grove_status grove_p2p_create(MPI_Comm comm, int tag, int persistent, int nreceives, int nsends,
                              grove_p2p **out)
{
  grove_status status = GROVE_OK;
  grove_p2p *p = NULL;
  GROVE_NEW(p, 1);
  *p = (grove_p2p){.comm = comm,
                   .tag = tag,
                   .persistent = persistent,
                   .nreceives = nreceives,
                   .n = nreceives + nsends};
  GROVE_NEW(p->messages, p->n);
  GROVE_NEW(p->completed, p->n);
  GROVE_NEW(p->requests, p->n);
  for (int i = 0; i < p->n; i++) p->requests[i] = MPI_REQUEST_NULL;
  *out = p;
  return GROVE_OK;
fail:
  grove_p2p_free(&p);
  return status;
}

grove_status grove_p2p_bind(grove_p2p *p, int i, int peer, void *buffer, int64_t bytes)
{
  grove_status status = GROVE_OK;
  message *m = &p->messages[i];
  GROVE_CHECK(bytes <= INT_MAX, GROVE_ERR_UNSUPPORTED,
              "a message of %lld bytes %s rank %d: more than 2^31 - 1 is not possible yet",
              (long long)bytes, i < p->nreceives ? "from" : "to", peer);
  *m = (message){.peer = peer, .bytes = (int)bytes, .buffer = buffer};
  if (!p->persistent) return GROVE_OK;
  if (i < p->nreceives)
    GROVE_TRY_MPI(
      MPI_Recv_init(buffer, m->bytes, MPI_BYTE, peer, p->tag, p->comm, &p->requests[i]));
  else
    GROVE_TRY_MPI(
      MPI_Send_init(buffer, m->bytes, MPI_BYTE, peer, p->tag, p->comm, &p->requests[i]));
fail:
  return status;
}

static grove_status post_receive(grove_p2p *p, int i, void *buffer)
{
  grove_status status = GROVE_OK;
  const message *m = &p->messages[i];
  GROVE_TRY_MPI(MPI_Irecv(buffer, m->bytes, MPI_BYTE, m->peer, p->tag, p->comm, &p->requests[i]));
fail:
  return status;
}

grove_status grove_p2p_start(grove_p2p *p, int i)
{
  grove_status status = GROVE_OK;
  message *m = &p->messages[i];
  if (p->persistent)
    GROVE_TRY_MPI(MPI_Start(&p->requests[i]));
  else if (i < p->nreceives)
    GROVE_TRY(post_receive(p, i, m->buffer));
  else
    GROVE_TRY_MPI(
      MPI_Isend(m->buffer, m->bytes, MPI_BYTE, m->peer, p->tag, p->comm, &p->requests[i]));
  m->pending = 1;
  p->pending++;
fail:
  return status;
}

/* Notes that message i is complete. */
static void complete(grove_p2p *p, int i)
{
  p->messages[i].pending = 0;
  p->pending--;
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
  GROVE_TRY_MPI(MPI_Testsome(p->n, p->requests, &tested, p->completed, MPI_STATUSES_IGNORE));
  if (tested == MPI_UNDEFINED) tested = 0;
  for (int k = 0; k < tested; k++) complete(p, p->completed[k]);
  *n = tested;
fail:
  return status;
}

int grove_p2p_pending(const grove_p2p *p, int i)
{
  return p->messages[i].pending;
}

int grove_p2p_busy(const grove_p2p *p)
{
  return p->pending > 0;
}

grove_status grove_p2p_withdraw(grove_p2p *p, int i, double timeout, int *withdrawn)
{
  grove_status status = GROVE_OK;
  MPI_Status about;
  grove_pause pause;
  int done = 0;
  *withdrawn = 0;
  GROVE_TRY_MPI(MPI_Cancel(&p->requests[i]));
  /* What MPI would not cancel is arriving: as soon as its sender calls MPI again. */
  grove_pause_begin(&pause, 0);
  for (;;) {
    GROVE_TRY_MPI(MPI_Test(&p->requests[i], &done, &about));
    if (done) break;
    GROVE_CHECK(
      !grove_pause_expired(&pause, timeout), GROVE_ERR_TIMEOUT,
      "a message from rank %d is arriving since %g s: the array that it goes to must stay "
      "until the context is freed",
      p->messages[i].peer, timeout);
    grove_pause_step(&pause);
  }
  GROVE_TRY_MPI(MPI_Test_cancelled(&about, withdrawn));
  complete(p, i);
  if (!*withdrawn) {
    p->messages[i].early = 1; /* the next poll tells */
    p->early++;
  }
fail:
  return status;
}

grove_status grove_p2p_repost(grove_p2p *p, int i, int discard)
{
  grove_status status = GROVE_OK;
  message *m = &p->messages[i];
  if (p->requests[i] != MPI_REQUEST_NULL) GROVE_TRY_MPI(MPI_Request_free(&p->requests[i]));
  if (discard && !m->own) {
    m->own = grove_memory((size_t)m->bytes, 1);
    GROVE_CHECK(m->own, GROVE_ERR_MEMORY, "no memory for %d bytes", m->bytes);
  }
  GROVE_TRY(post_receive(p, i, discard ? m->own : m->buffer));
  m->pending = 1;
  p->pending++;
fail:
  return status;
}

void grove_p2p_free(grove_p2p **pointer)
{
  grove_p2p *p = *pointer;
  if (!p) return;
  int finalized = 0;
  MPI_Finalized(&finalized);
  for (int i = 0; p->requests && i < p->n && !finalized; i++)
    if (p->requests[i] != MPI_REQUEST_NULL) MPI_Request_free(&p->requests[i]);
  for (int i = 0; p->messages && i < p->n; i++) free(p->messages[i].own);
  free(p->messages);
  free(p->requests);
  free(p->completed);
  free(p);
  *pointer = NULL;
}
