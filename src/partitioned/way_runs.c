/* Over MPI, where it is known only late what leaves together. A message has a head that tells which
 * bytes of which round it brings. Few bytes travel behind their head and are copied into place.
 * Many bytes follow in messages of their own, in order, with a second tag, and are received in
 * place. The receiver posts one receive for heads at a time, and only while some bytes of its round
 * are unannounced. So it never takes a message of a later round, which stays with MPI.
 */
#include "partitioned/way.h"

#include <stdlib.h>
#include <string.h>

enum { FEW_BYTES = 1 << 15 };

typedef struct head {
  int64_t offset, bytes;
  int64_t follows; /* the bytes come in their own messages */
} head;

/* A message under way. */
typedef struct message {
  int used;
  int head; /* it is a head: */
  char *buffer;
  int64_t offset, bytes;
  int64_t order; /* number in the order of posting */
} message;

typedef struct runs {
  int64_t mpi_tag, chunk;
  int n, pending;
  message *messages;
  MPI_Request *requests;
  int *done;
  int64_t announced; /* receiver: bytes of this round */
  int empty;         /* receiver: a message of no bytes was announced */
  int64_t posted;
} runs;

/* ---- messages ---- */

/* A place for one more message; for a head, one with a buffer. */
static grove_status find_place(runs *r, int is_head, int *out)
{
  for (int i = 0; i < r->n; i++)
    if (!r->messages[i].used && r->messages[i].head == is_head) {
      *out = i;
      return GROVE_OK;
    }
  GROVE_PASS_GROW(r->messages, r->n, 1);
  GROVE_PASS_GROW(r->requests, r->n, 1);
  GROVE_PASS_GROW(r->done, r->n, 1);
  r->messages[r->n] = (message){.head = is_head};
  r->requests[r->n] = MPI_REQUEST_NULL;
  if (is_head) GROVE_PASS_ROOM(r->messages[r->n].buffer, sizeof(head) + FEW_BYTES);
  *out = r->n++;
  return GROVE_OK;
}

static void note_message_start(runs *r, int i)
{
  r->messages[i].used = 1;
  r->messages[i].order = r->posted++;
  r->pending++;
}

/* ---- the two ends meet ---- */

static grove_status make_channel_runs(grove_channel *c, int64_t chunk)
{
  runs *r = NULL;
  GROVE_PASS_NEW(r, 1);
  r->chunk = chunk;
  c->end = r;
  return GROVE_OK;
}

static grove_status offer_by_runs(grove_channel *c, grove_greeting *greeting)
{
  return make_channel_runs(c, greeting->chunk);
}

static grove_status accept_runs(grove_channel *c, const grove_greeting *greeting,
                                grove_greeting *answer)
{
  GROVE_PASS(make_channel_runs(c, greeting->chunk));
  GROVE_PASS(grove_match_tags(c, 2, &answer->mpi_tag));
  ((runs *)c->end)->mpi_tag = answer->mpi_tag;
  return GROVE_OK;
}

static grove_status tie_runs(grove_channel *c, const grove_greeting *answer)
{
  ((runs *)c->end)->mpi_tag = answer->mpi_tag;
  return GROVE_OK;
}

/* ---- sending ---- */

static grove_status send_bytes(grove_channel *c, runs *r, int64_t offset, int64_t bytes)
{
  for (int64_t at = 0; at < bytes; at += r->chunk) {
    int i = 0, n = (int)(bytes - at < r->chunk ? bytes - at : r->chunk);
    GROVE_PASS(find_place(r, 0, &i));
    GROVE_PASS_MPI(MPI_Isend(c->data + offset + at, n, MPI_BYTE, c->peer, (int)r->mpi_tag + 1,
                             c->base.ctx->comm, &r->requests[i]));
    note_message_start(r, i);
  }
  return GROVE_OK;
}

static grove_status post_runs(grove_channel *c, int64_t offset, int64_t bytes)
{
  runs *r = c->end;
  int i = 0;
  head h = {offset, bytes, bytes > FEW_BYTES};
  GROVE_PASS(find_place(r, 1, &i));
  char *buffer = r->messages[i].buffer;
  size_t behind = h.follows ? 0 : (size_t)bytes;
  memcpy(buffer, &h, sizeof h);
  if (behind > 0) memcpy(buffer + sizeof h, c->data + offset, behind);
  GROVE_PASS_MPI(MPI_Isend(buffer, (int)(sizeof h + behind), MPI_BYTE, c->peer, (int)r->mpi_tag,
                           c->base.ctx->comm, &r->requests[i]));
  note_message_start(r, i);
  if (h.follows) GROVE_PASS(send_bytes(c, r, offset, bytes));
  grove_channel_note_sent(c, offset, bytes);
  return GROVE_OK;
}

/* ---- receiving ---- */

static grove_status await_head(grove_channel *c, runs *r)
{
  int i = 0;
  if (r->announced == c->bytes && (c->bytes > 0 || r->empty)) return GROVE_OK;
  GROVE_PASS(find_place(r, 1, &i));
  GROVE_PASS_MPI(MPI_Irecv(r->messages[i].buffer, (int)sizeof(head) + FEW_BYTES, MPI_BYTE, c->peer,
                           (int)r->mpi_tag, c->base.ctx->comm, &r->requests[i]));
  note_message_start(r, i);
  return GROVE_OK;
}

static grove_status receive_chunk(grove_channel *c, runs *r, int i)
{
  const message *m = &r->messages[i];
  GROVE_PASS_MPI(MPI_Irecv(c->data + m->offset, (int)m->bytes, MPI_BYTE, c->peer,
                           (int)r->mpi_tag + 1, c->base.ctx->comm, &r->requests[i]));
  note_message_start(r, i);
  return GROVE_OK;
}

static grove_status receive_bytes(grove_channel *c, runs *r, const head *h)
{
  for (int64_t at = 0; at < h->bytes; at += r->chunk) {
    int i = 0;
    GROVE_PASS(find_place(r, 0, &i));
    r->messages[i].offset = h->offset + at;
    r->messages[i].bytes = h->bytes - at < r->chunk ? h->bytes - at : r->chunk;
    GROVE_PASS(receive_chunk(c, r, i));
  }
  return GROVE_OK;
}

static grove_status read_head(grove_channel *c, runs *r, const char *buffer)
{
  head h;
  memcpy(&h, buffer, sizeof h);
  r->announced += h.bytes;
  r->empty = h.bytes == 0;
  if (h.follows) {
    GROVE_PASS(receive_bytes(c, r, &h));
  } else {
    if (h.bytes > 0) memcpy(c->data + h.offset, buffer + sizeof h, (size_t)h.bytes);
    GROVE_PASS(grove_channel_take(c, h.offset, h.bytes));
    c->messages++;
  }
  return await_head(c, r);
}

static grove_status open_runs_round(grove_channel *c)
{
  runs *r = c->end;
  if (c->sends) return GROVE_OK;
  r->announced = 0;
  r->empty = 0;
  return await_head(c, r);
}

static grove_status advance_runs(grove_channel *c)
{
  runs *r = c->end;
  for (int n = 1; n > 0 && r->pending > 0;) {
    GROVE_PASS_MPI(MPI_Testsome(r->n, r->requests, &n, r->done, MPI_STATUSES_IGNORE));
    if (n == MPI_UNDEFINED) n = 0;
    r->pending -= n;
    for (int k = 0; k < n; k++) { /* a place is free when its message has been handled */
      const message m = r->messages[r->done[k]];
      if (!c->sends && !m.head) {
        GROVE_PASS(grove_channel_take(c, m.offset, m.bytes));
        c->messages++;
      }
      r->messages[r->done[k]].used = 0;
      if (!c->sends && m.head) GROVE_PASS(read_head(c, r, m.buffer));
    }
  }
  return GROVE_OK;
}

static int runs_need_calls(const grove_channel *c)
{
  return c->end && ((const runs *)c->end)->pending > 0;
}

static int runs_are_quiet(const grove_channel *c)
{
  return !runs_need_calls(c);
}

/* ---- freeing ---- */

/* The latest posted message that lies in the array, or -1. */
static int latest_runs(const runs *r)
{
  int last = -1;
  for (int i = 0; i < r->n; i++) {
    const message *m = &r->messages[i];
    if (m->used && !m->head && (last < 0 || m->order > r->messages[last].order)) last = i;
  }
  return last;
}

/* Takes messages that lie in the array back from MPI, and receives them elsewhere, in the same
 * order. */
static grove_status divert_runs(grove_channel *c, runs *r)
{
  grove_status status = GROVE_OK;
  int *again = NULL, n = 0;
  GROVE_NEW(again, r->n);
  for (int i; (i = latest_runs(r)) >= 0;) {
    int withdrawn = 0;
    GROVE_TRY(grove_way_withdraw(c, &r->requests[i], &withdrawn));
    r->messages[i].used = 0;
    r->pending--;
    if (withdrawn)
      again[n++] = i;
    else
      GROVE_TRY(grove_channel_take(c, r->messages[i].offset, r->messages[i].bytes));
  }
  while (n-- > 0) GROVE_TRY(receive_chunk(c, r, again[n]));
fail:
  free(again);
  return status;
}

static grove_status detach_runs(grove_channel *c)
{
  if (c->sends || !c->dense) return GROVE_OK;
  GROVE_PASS_ROOM(c->staging, c->bytes);
  c->data = c->staging;
  return divert_runs(c, c->end);
}

static void close_runs(grove_channel *c)
{
  runs *r = c->end;
  int gone = grove_mpi_is_gone();
  for (int i = 0; i < r->n; i++) {
    if (!gone && r->requests[i] != MPI_REQUEST_NULL) MPI_Request_free(&r->requests[i]);
    free(r->messages[i].buffer);
  }
  free(r->messages);
  free(r->requests);
  free(r->done);
  free(r);
  c->end = NULL;
}

const grove_way_kind grove_way_runs = {
  .name = "mpi",
  .sees_through = 1,
  .offer = offer_by_runs,
  .accept = accept_runs,
  .tie = tie_runs,
  .open = open_runs_round,
  .post = post_runs,
  .advance = advance_runs,
  .is_quiet = runs_are_quiet,
  .needs_calls = runs_need_calls,
  .detach = detach_runs,
  .close = close_runs,
};
