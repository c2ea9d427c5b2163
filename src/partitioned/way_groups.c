/* Over MPI, where both ends know the groups. Each group is a persistent message, sent from the
 * sender's message and received into its place. It has its own tag, so groups may leave in any
 * order. A group longer than a chunk goes in chunks, in order. A posted receive is the credit for
 * its round: what comes earlier stays with MPI.
 */
#include "partitioned/way.h"

#include "base/pause.h"

#include <stdlib.h>

typedef struct packet {
  int64_t offset, bytes;
  int64_t group;
  int pending;
} packet;

typedef struct groups {
  int n, pending;
  int64_t ngroups;
  packet *packets;
  int64_t *first;   /* the first packet of each group, and the end */
  int64_t *offsets; /* where each group begins, and the end */
  MPI_Request *requests;
  int *done;
  int64_t mpi_tag;
} groups;

/* ---- the packets, the same at both ends ---- */

static grove_status cut_groups(groups *g, const grove_greeting *offer)
{
  int64_t n = 0, part_bytes = offer->parts > 0 ? offer->bytes / offer->parts : 0;
  g->ngroups = offer->bytes > 0 ? offer->groups : 1;
  GROVE_PASS_NEW(g->first, g->ngroups + 1);
  GROVE_PASS_NEW(g->offsets, g->ngroups + 1);
  for (int64_t k = 0; k <= g->ngroups; k++)
    g->offsets[k] = grove_even_group(offer->parts, g->ngroups, k) * part_bytes;
  for (int64_t k = 0; k < g->ngroups; k++) {
    int64_t bytes = g->offsets[k + 1] - g->offsets[k];
    g->first[k] = n;
    n += bytes > offer->chunk ? (bytes - 1) / offer->chunk + 1 : 1;
  }
  g->first[g->ngroups] = n;
  GROVE_PASS_CHECK(n <= INT32_MAX, GROVE_ERR_UNSUPPORTED, "a channel of %lld messages",
                   (long long)n);
  g->n = (int)n;
  GROVE_PASS_NEW(g->packets, n);
  GROVE_PASS_ROOM(g->done, n);
  GROVE_PASS_ROOM(g->requests, n); /* set before anything fails */
  for (int64_t k = 0, i = 0; k < g->ngroups; k++)
    for (int64_t at = g->offsets[k]; i < g->first[k + 1]; i++, at += offer->chunk) {
      int64_t rest = g->offsets[k + 1] - at;
      g->packets[i] = (packet){at, rest < offer->chunk ? rest : offer->chunk, k, 0};
      g->requests[i] = MPI_REQUEST_NULL;
    }
  return GROVE_OK;
}

static grove_status make_request(grove_channel *c, groups *g, int64_t i)
{
  const packet *p = &g->packets[i];
  int tag = (int)(g->mpi_tag + p->group);
  MPI_Comm comm = c->base.ctx->comm;
  if (g->requests[i] != MPI_REQUEST_NULL) GROVE_PASS_MPI(MPI_Request_free(&g->requests[i]));
  if (c->sends)
    GROVE_PASS_MPI(MPI_Send_init(c->data + p->offset, (int)p->bytes, MPI_BYTE, c->peer, tag, comm,
                                 &g->requests[i]));
  else
    GROVE_PASS_MPI(MPI_Recv_init(c->data + p->offset, (int)p->bytes, MPI_BYTE, c->peer, tag, comm,
                                 &g->requests[i]));
  return GROVE_OK;
}

static grove_status make_requests(grove_channel *c, groups *g)
{
  for (int64_t i = 0; i < g->n; i++) GROVE_PASS(make_request(c, g, i));
  return GROVE_OK;
}

/* ---- the two ends meet ---- */

static grove_status offer_groups(grove_channel *c, grove_greeting *greeting)
{
  groups *g = NULL;
  GROVE_PASS_NEW(g, 1);
  c->end = g;
  return cut_groups(g, greeting);
}

static grove_status accept_groups(grove_channel *c, const grove_greeting *greeting,
                                  grove_greeting *answer)
{
  groups *g = NULL;
  GROVE_PASS_NEW(g, 1);
  c->end = g;
  GROVE_PASS(cut_groups(g, greeting));
  GROVE_PASS(grove_match_tags(c, g->ngroups, &g->mpi_tag));
  answer->mpi_tag = g->mpi_tag;
  return make_requests(c, g);
}

static grove_status tie_groups(grove_channel *c, const grove_greeting *answer)
{
  groups *g = c->end;
  g->mpi_tag = answer->mpi_tag;
  return make_requests(c, g);
}

/* ---- rounds ---- */

static grove_status start_packet(groups *g, int64_t i)
{
  GROVE_PASS_MPI(MPI_Start(&g->requests[i]));
  g->packets[i].pending = 1;
  g->pending++;
  return GROVE_OK;
}

static grove_status open_groups_round(grove_channel *c)
{
  groups *g = c->end;
  for (int64_t i = 0; !c->sends && i < g->n; i++) GROVE_PASS(start_packet(g, i));
  return GROVE_OK;
}

static int64_t group_at(const groups *g, int64_t offset)
{
  int64_t low = 0, high = g->ngroups - 1;
  while (low < high) {
    int64_t middle = (low + high + 1) / 2;
    if (g->offsets[middle] <= offset)
      low = middle;
    else
      high = middle - 1;
  }
  return low;
}

static grove_status post_groups(grove_channel *c, int64_t offset, int64_t bytes)
{
  groups *g = c->end;
  int64_t k = group_at(g, offset);
  for (int64_t i = g->first[k]; i < g->first[k + 1]; i++) GROVE_PASS(start_packet(g, i));
  grove_channel_note_sent(c, offset, bytes);
  return GROVE_OK;
}

static grove_status advance_groups(grove_channel *c)
{
  groups *g = c->end;
  int n = 0;
  if (g->pending == 0) return GROVE_OK;
  GROVE_PASS_MPI(MPI_Testsome(g->n, g->requests, &n, g->done, MPI_STATUSES_IGNORE));
  if (n == MPI_UNDEFINED) n = 0;
  for (int k = 0; k < n; k++) {
    packet *p = &g->packets[g->done[k]];
    p->pending = 0;
    g->pending--;
    if (c->sends) continue;
    GROVE_PASS(grove_channel_take(c, p->offset, p->bytes));
    c->messages++;
  }
  return GROVE_OK;
}

static int groups_need_calls(const grove_channel *c)
{
  return c->end && ((const groups *)c->end)->pending > 0;
}

static int groups_are_quiet(const grove_channel *c)
{
  return !groups_need_calls(c);
}

/* ---- freeing ---- */

grove_status grove_way_withdraw(const grove_channel *c, MPI_Request *request, int *withdrawn)
{
  double timeout = c->base.ctx->options.timeout_seconds;
  MPI_Status about;
  grove_pause pause;
  grove_pause_begin(&pause, 0);
  GROVE_PASS_MPI(MPI_Cancel(request));
  for (int done = 0;;) {
    GROVE_PASS_MPI(MPI_Test(request, &done, &about));
    if (done) break;
    GROVE_PASS_CHECK(
      !grove_pause_expired(&pause, timeout), GROVE_ERR_TIMEOUT,
      "a message from rank %d is arriving since %g s: the buffer that it goes to must "
      "stay until the context is freed",
      c->peer, timeout);
    grove_pause_step(&pause);
  }
  GROVE_PASS_MPI(MPI_Test_cancelled(&about, withdrawn));
  return GROVE_OK;
}

/* A receive that is under way goes to our own memory. */
static grove_status divert_groups(grove_channel *c, groups *g, int64_t i)
{
  packet *p = &g->packets[i];
  int withdrawn = 0;
  GROVE_PASS(grove_way_withdraw(c, &g->requests[i], &withdrawn));
  p->pending = 0;
  g->pending--;
  if (!withdrawn) return grove_channel_take(c, p->offset, p->bytes);
  GROVE_PASS(make_request(c, g, i));
  return start_packet(g, i);
}

static grove_status detach_groups(grove_channel *c)
{
  groups *g = c->end;
  if (!c->sends && c->dense) {
    GROVE_PASS_ROOM(c->staging, c->bytes);
    c->data = c->staging;
  }
  for (int64_t i = g->n - 1; i >= 0; i--) {
    if (!c->sends && c->dense && g->packets[i].pending)
      GROVE_PASS(divert_groups(c, g, i));
    else if (c->sends && !g->packets[i].pending)
      GROVE_PASS(make_request(c, g, i));
  }
  return GROVE_OK;
}

static void close_groups(grove_channel *c)
{
  groups *g = c->end;
  int gone = grove_mpi_is_gone();
  for (int64_t i = 0; g->requests && i < g->n && !gone; i++)
    if (g->requests[i] != MPI_REQUEST_NULL) MPI_Request_free(&g->requests[i]);
  free(g->packets);
  free(g->first);
  free(g->offsets);
  free(g->requests);
  free(g->done);
  free(g);
  c->end = NULL;
}

const grove_way_kind grove_way_groups = {
  .name = "mpi",
  .sees_through = 1,
  .offer = offer_groups,
  .accept = accept_groups,
  .tie = tie_groups,
  .open = open_groups_round,
  .post = post_groups,
  .advance = advance_groups,
  .is_quiet = groups_are_quiet,
  .needs_calls = groups_need_calls,
  .detach = detach_groups,
  .close = close_groups,
};
