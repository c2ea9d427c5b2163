/* How the ends of a channel find each other. Both count the channels that they make with a peer and
 * a tag. So (peer, tag, number) names a channel without communication, and making one sends
 * nothing. At its first start a sender sends an offer. The receiver answers once it has been
 * started too. All greetings from a peer have one MPI tag. Whichever request takes an offer or an
 * answer, it is handed to the end it is for, or filed until that end starts. So a receive is posted
 * only while some end still waits to hear from this peer, one at a time.
 */
#include "partitioned/way.h"

#include <stdlib.h>

/* Channels made with (peer, tag) so far, by direction. */
typedef struct count {
  int used, sends, peer, tag;
  int64_t next;
} count;

/* What is known of a peer. */
typedef struct peer {
  struct peer *next;
  int rank;
  int seeking; /* ends that wait to hear from it */
  int64_t tags;
  MPI_Request request;
  grove_greeting greeting;
  int held; /* a greeting has come, and there was no memory to file it */
} peer;

/* A greeting that nobody here waits for yet, or that is being sent. */
typedef struct kept_greeting {
  struct kept_greeting *next;
  int rank;
  MPI_Request request;
  grove_greeting greeting;
} kept_greeting;

struct grove_switchboard {
  grove_active active; /* first; listed while an end seeks the other */
  grove_context *ctx;
  int64_t ncounts, room;
  count *counts; /* a hash table */
  peer *peers;
  grove_channel *seeking;
  kept_greeting *filed, *sent;
  grove_shelf shelf;
};
typedef struct grove_switchboard switchboard;

/* ---- freeing ---- */

static void drop_greetings(kept_greeting **list, int gone)
{
  while (*list) {
    kept_greeting *l = *list;
    *list = l->next;
    int done = 1;
    if (!gone && l->request != MPI_REQUEST_NULL) MPI_Test(&l->request, &done, MPI_STATUS_IGNORE);
    if (!gone && !done) MPI_Request_free(&l->request);
    if (done) free(l); /* else MPI may still read it */
  }
}

static void drop_peer(peer *p, int gone)
{
  if (!gone && p->request != MPI_REQUEST_NULL) {
    int done = 0;
    MPI_Cancel(&p->request);
    MPI_Test(&p->request, &done, MPI_STATUS_IGNORE);
    if (!done) return; /* MPI may still write to it */
  }
  free(p);
}

static void close_board(grove_context *ctx)
{
  switchboard *b = ctx->switchboard;
  if (b->active.next) grove_context_deactivate(&b->active);
  int gone = grove_mpi_is_gone();
  while (b->peers) {
    peer *p = b->peers;
    b->peers = p->next;
    drop_peer(p, gone);
  }
  drop_greetings(&b->filed, 1);
  drop_greetings(&b->sent, gone);
  grove_shelf_clear(&b->shelf);
  free(b->counts);
  free(b);
  ctx->switchboard = NULL;
}

static void advance_matching(grove_active *active);

static grove_status open_match_board(grove_context *ctx)
{
  if (ctx->switchboard) return GROVE_OK;
  GROVE_PASS_NEW(ctx->switchboard, 1);
  ctx->switchboard->ctx = ctx;
  ctx->switchboard->active.advance = advance_matching;
  ctx->switchboard->shelf.arena = ctx->arena;
  ctx->close_switchboard = close_board;
  return GROVE_OK;
}

grove_shelf *grove_match_shelf(grove_context *ctx)
{
  return &ctx->switchboard->shelf;
}

/* ---- numbers ---- */

static count *look_up_end(const switchboard *b, int sends, int rank, int tag)
{
  uint64_t key = ((uint64_t)(unsigned)rank << 32 | (unsigned)tag) * 2 + (unsigned)sends;
  uint64_t at = key * UINT64_C(0x9e3779b97f4a7c15) >> 20;
  for (;; at++) {
    count *c = &b->counts[at & (uint64_t)(b->room - 1)];
    if (!c->used || (c->sends == sends && c->peer == rank && c->tag == tag)) return c;
  }
}

static grove_status make_count_room(switchboard *b)
{
  switchboard larger = {.room = b->room ? 2 * b->room : 16};
  if (2 * b->ncounts < b->room) return GROVE_OK;
  GROVE_PASS_NEW(larger.counts, larger.room);
  for (int64_t i = 0; i < b->room; i++)
    if (b->counts[i].used)
      *look_up_end(&larger, b->counts[i].sends, b->counts[i].peer, b->counts[i].tag) = b->counts[i];
  free(b->counts);
  b->counts = larger.counts;
  b->room = larger.room;
  return GROVE_OK;
}

grove_status grove_match_number(grove_channel *c)
{
  GROVE_PASS(open_match_board(c->base.ctx));
  switchboard *b = c->base.ctx->switchboard;
  GROVE_PASS(make_count_room(b));
  count *at = look_up_end(b, c->sends, c->peer, c->tag);
  if (!at->used) {
    *at = (count){1, c->sends, c->peer, c->tag, 0};
    b->ncounts++;
  }
  c->number = at->next++;
  return GROVE_OK;
}

/* ---- peers ---- */

static grove_status find_peer(switchboard *b, int rank, peer **out)
{
  peer *p = b->peers;
  while (p && p->rank != rank) p = p->next;
  if (!p) {
    GROVE_PASS_NEW(p, 1);
    *p = (peer){.next = b->peers, .rank = rank, .request = MPI_REQUEST_NULL};
    b->peers = p;
  }
  *out = p;
  return GROVE_OK;
}

grove_status grove_match_tags(grove_channel *c, int64_t n, int64_t *first)
{
  grove_context *ctx = c->base.ctx;
  peer *p = NULL;
  GROVE_PASS(find_peer(ctx->switchboard, c->peer, &p));
  GROVE_PASS_CHECK(p->tags + n <= ctx->tag_limit, GROVE_ERR_UNSUPPORTED,
                   "all %d message tags of this MPI for channels from rank %d have been used",
                   ctx->tag_limit, c->peer);
  *first = grove_context_stage_tag(ctx, (int)p->tags, GROVE_STAGE_CHANNEL);
  p->tags += n;
  return GROVE_OK;
}

/* ---- who waits for whom ---- */

static int is_for(const grove_channel *c, int rank, const grove_greeting *greeting)
{
  return c->peer == rank && c->tag == greeting->tag && c->number == greeting->number &&
         c->sends != greeting->is_offer;
}

static grove_status listen_to(grove_context *ctx, peer *p)
{
  if (p->seeking == 0 || p->held || p->request != MPI_REQUEST_NULL) return GROVE_OK;
  GROVE_PASS_MPI(MPI_Irecv(&p->greeting, sizeof p->greeting, MPI_BYTE, p->rank, GROVE_TAG_CHANNEL,
                           ctx->comm, &p->request));
  return GROVE_OK;
}

void grove_match_leave(grove_channel *c)
{
  switchboard *b = c->base.ctx->switchboard;
  grove_channel **at = &b->seeking;
  while (*at && *at != c) at = &(*at)->next_seeking;
  if (!*at) return;
  *at = c->next_seeking;
  for (peer *p = b->peers; p; p = p->next)
    if (p->rank == c->peer) p->seeking--;
}

static void introduce_end(grove_channel *c, const grove_greeting *greeting)
{
  grove_match_leave(c);
  c->meet(c, greeting);
}

/* Hands it to an end that waits, or files it. */
static grove_status hand_over_greeting(switchboard *b, int rank, const grove_greeting *greeting)
{
  kept_greeting *l = NULL;
  for (grove_channel *c = b->seeking; c; c = c->next_seeking)
    if (is_for(c, rank, greeting)) {
      introduce_end(c, greeting);
      return GROVE_OK;
    }
  GROVE_PASS_NEW(l, 1);
  *l = (kept_greeting){
    .next = b->filed, .rank = rank, .request = MPI_REQUEST_NULL, .greeting = *greeting};
  b->filed = l;
  return GROVE_OK;
}

/* Was it heard from before it was started? */
static int find_filed(switchboard *b, grove_channel *c)
{
  kept_greeting **at = &b->filed;
  while (*at && !is_for(c, (*at)->rank, &(*at)->greeting)) at = &(*at)->next;
  kept_greeting *l = *at;
  if (!l) return 0;
  *at = l->next;
  introduce_end(c, &l->greeting);
  free(l);
  return 1;
}

/* So much of it is worth sending. */
static int length_of_greeting(const grove_greeting *greeting)
{
  size_t bytes = offsetof(grove_greeting, fabric);
  if (greeting->fabric.address.endpoints > 0)
    bytes += offsetof(grove_fabric_greeting, address) +
             (size_t)grove_fabric_address_bytes(&greeting->fabric.address);
  return (int)bytes;
}

grove_status grove_match_tell(grove_channel *c, const grove_greeting *greeting)
{
  grove_context *ctx = c->base.ctx;
  kept_greeting *l = c->reply;
  c->reply = NULL;
  if (!l) GROVE_PASS_NEW(l, 1);
  *l = (kept_greeting){.rank = c->peer, .greeting = *greeting};
  int code = MPI_Isend(&l->greeting, length_of_greeting(greeting), MPI_BYTE, c->peer,
                       GROVE_TAG_CHANNEL, ctx->comm, &l->request);
  if (code != MPI_SUCCESS) free(l);
  GROVE_PASS_MPI(code);
  l->next = ctx->switchboard->sent;
  ctx->switchboard->sent = l;
  return GROVE_OK;
}

static grove_status reserve_reply(grove_channel *c)
{
  kept_greeting *l = c->reply;
  if (!l) GROVE_PASS_NEW(l, 1);
  c->reply = l;
  return GROVE_OK;
}

grove_status grove_match_seek(grove_channel *c, const grove_greeting *offer)
{
  switchboard *b = c->base.ctx->switchboard;
  peer *p = NULL;
  GROVE_PASS(find_peer(b, c->peer, &p));
  if (offer)
    GROVE_PASS(grove_match_tell(c, offer));
  else
    GROVE_PASS(reserve_reply(c));
  c->bond = GROVE_BOND_SOUGHT;
  if (!b->active.next) grove_context_activate(b->ctx, &b->active);
  c->next_seeking = b->seeking;
  b->seeking = c;
  p->seeking++;
  if (!find_filed(b, c)) GROVE_PASS(listen_to(c->base.ctx, p));
  return GROVE_OK;
}

/* ---- what comes ---- */

static void collect_sent(switchboard *b)
{
  for (kept_greeting **at = &b->sent; *at;) {
    kept_greeting *l = *at;
    int done = 0;
    if (MPI_Test(&l->request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS || !done) {
      at = &l->next;
      continue;
    }
    *at = l->next;
    free(l);
  }
}

grove_status grove_match_poll(grove_context *ctx)
{
  switchboard *b = ctx->switchboard;
  collect_sent(b);
  for (peer *p = b->peers; p; p = p->next) {
    while (p->held || p->request != MPI_REQUEST_NULL) {
      if (!p->held) GROVE_PASS_MPI(MPI_Test(&p->request, &p->held, MPI_STATUS_IGNORE));
      if (!p->held) break;
      grove_greeting greeting = p->greeting;
      GROVE_PASS(hand_over_greeting(b, p->rank, &greeting));
      p->held = 0;
      GROVE_PASS(listen_to(ctx, p));
    }
  }
  return GROVE_OK;
}

/* If MPI fails, all ends that wait hear of it. The list is being walked, so it is left only
 * here. */
static void advance_matching(grove_active *active)
{
  switchboard *b = (switchboard *)active;
  if (!b->seeking) {
    grove_context_deactivate(active);
    return;
  }
  grove_status status = grove_match_poll(b->ctx);
  for (grove_channel *c = b->seeking; c && status != GROVE_OK; c = c->next_seeking)
    grove_op_note(&c->base, status);
}
