/* Letters over libfabric, as messages with tags: straight from where a letter lies and to where
 * it is wanted, in chunks if it is larger than libfabric takes at once.
 *
 * Why not by writes, as channels go? A write needs to know where the letter is wanted, which
 * changes from start to start, so the receiver would have to tell first. And what has been told
 * cannot be taken back, while an operation may be freed at any time. With tags the receive is
 * matched where it was posted, and can be cancelled there.
 *
 * Everything goes over the provider that reaches other hosts, also to ranks of this one. The shm
 * of libfabric 1.17 tells of the end of messages in the order in which they were sent: one that
 * nobody takes would hold up all later ones.
 *
 * Order. The tag belongs to one message of a carriage. Its pieces match in the order in which
 * they are handed to libfabric, which may refuse for a moment. So they are handed over start by
 * start: a piece of a later start waits until all of the earlier one are gone. `history` counts
 * these.
 *
 * Parts. A send of one chunk may leave in parts. What comes is shorter than its receive, which is
 * followed by another for the rest, as with MPI.
 */
#include "transport/ofi_letters.h"

#include "transport/ofi_library.h"

#ifdef GROVE_LIBFABRIC

#include "base/pause.h"
#include "transport/ofi_desk.h"
#include "transport/ofi_meet.h"
#include "transport/ofi_tagged.h"

#include <stdlib.h>

/* ---- carriages ---- */

/* Of a message, over all its starts. */
typedef struct history {
  int64_t started;
  int64_t posted; /* starts of which libfabric has every piece */
} history;

typedef struct shared {
  grove_fabric *f;     /* NULL: no messages */
  grove_ofi_end *ends; /* by message */
  history *histories;
} shared;

static grove_status find_fabric(grove_context *ctx, grove_fabric **out)
{
  GROVE_PASS(grove_fabric_of_all(ctx, out));
  const grove_fabric_about *about = grove_fabric_describe(*out);
  GROVE_PASS_CHECK(about->has_tags, GROVE_ERR_UNSUPPORTED,
                   "libfabric's %s has no messages with tags that come in order, which "
                   "transport_off_node=ofi needs",
                   about->provider);
  return GROVE_OK;
}

grove_status grove_letters_find(grove_context *ctx)
{
  grove_fabric *f = NULL;
  return find_fabric(ctx, &f);
}

static grove_status prepare_ofi(grove_carriage *a)
{
  shared *s = NULL;
  GROVE_PASS_NEW(s, 1);
  a->shared = s;
  GROVE_PASS_NEW_ALL(GROVE_WISH(s->ends, a->n), GROVE_WISH(s->histories, a->n));
  GROVE_PASS(grove_ofi_open());
  grove_depot *depot = NULL;
  GROVE_PASS(grove_depot_open(a->ctx, &depot));
  depot->has_letters = 1; /* its end waits for the other ranks */
  return a->n > 0 ? find_fabric(a->ctx, &s->f) : GROVE_OK;
}

static grove_status open_ofi(grove_carriage *a)
{
  grove_status mine = prepare_ofi(a);
  shared *s = a->shared;
  return grove_ofi_meet(a, mine, s ? s->f : NULL, s ? s->ends : NULL);
}

static void shut_ofi(grove_carriage *a)
{
  shared *s = a->shared;
  if (s) free(s->ends); /* and the histories */
  free(s);
}

/* ---- carriers ---- */

typedef enum piece_state { PIECE_WANTED, PIECE_POSTED, PIECE_DONE, PIECE_WITHDRAWN } piece_state;

typedef struct letters letters;

/* A chunk of a message, or a part. */
typedef struct piece {
  grove_fabric_tagged t; /* first */
  letters *of;
  int message;
  piece_state state;
  int64_t begin, bytes;
} piece;

typedef struct message {
  char *buffer;
  struct fid_mr *mr; /* if the provider must know the buffer */
  void *describes;
  piece **pieces; /* of this start; those that were made for earlier ones follow */
  int npieces, nmade;
  int next;  /* the first that libfabric does not have */
  int left;  /* wanted, or with libfabric */
  int open;  /* a send whose parts have left, except the last */
  int waits; /* some are still to be handed over */
  int nwithdrawn;
  int64_t sent; /* bytes of parts */
  int64_t start;
} message;

struct letters {
  grove_carriage *about;
  grove_fabric *f;
  message *messages;
  int pending; /* messages that are under way */
  int waiting; /* of these, for libfabric to take a piece */
  int ndone;
  int *done, *told;  /* messages that have completed; those of the last poll */
  int error, failed; /* the first that libfabric failed with; the message */
  unsigned turn;     /* many carriers share a poll */
};

static grove_status create_ofi(grove_carrier *c)
{
  letters *l = NULL;
  int n = c->carriage->n;
  GROVE_PASS_NEW(l, 1);
  c->self = l;
  l->about = c->carriage;
  l->f = ((shared *)c->carriage->shared)->f;
  return GROVE_MADE_ALL(GROVE_WISH(l->messages, n), GROVE_WISH(l->done, n), GROVE_WISH(l->told, n));
}

static const grove_ofi_end *letter_end(const letters *l, int i)
{
  return &((const shared *)l->about->shared)->ends[i];
}

static void forget_buffer(message *m)
{
  grove_fabric_unregister_at(&m->mr);
  m->describes = NULL;
}

/* Providers that must know what they send from, or receive into, are told here. */
static grove_status bind_ofi(grove_carrier *c, int i, void *buffer)
{
  letters *l = c->self;
  message *m = &l->messages[i];
  grove_fabric *f = l->f;
  int64_t bytes = l->about->messages[i].bytes;
  if (m->buffer == buffer) return GROVE_OK;
  forget_buffer(m);
  m->buffer = buffer;
  if (!f->about.registers_sources || bytes == 0) return GROVE_OK;
  GROVE_PASS(
    grove_fabric_register_at(f, &f->ends[0], buffer, (size_t)bytes, FI_SEND | FI_RECV, &m->mr));
  m->describes = fi_mr_desc(m->mr);
  return GROVE_OK;
}

/* ---- pieces ---- */

static void note_piece_end(grove_fabric_tagged *t, int error, int64_t bytes);

static grove_status add_piece(letters *l, int i, int64_t begin, int64_t bytes)
{
  message *m = &l->messages[i];
  if (m->npieces == m->nmade) {
    piece *made = NULL;
    GROVE_PASS_GROW(m->pieces, m->nmade, 1);
    GROVE_PASS_NEW(made, 1);
    m->pieces[m->nmade++] = made;
  }
  piece *p = m->pieces[m->npieces++];
  p->t.ended = note_piece_end;
  p->of = l;
  p->message = i;
  p->state = PIECE_WANTED;
  p->begin = begin;
  p->bytes = bytes;
  if (m->left++ == 0) l->pending++;
  return GROVE_OK;
}

/* Hands pieces of message i to libfabric, as many as it takes, if it is this start's turn. */
static grove_status post_pieces(letters *l, int i)
{
  message *m = &l->messages[i];
  history *h = &((shared *)l->about->shared)->histories[i];
  const grove_ofi_end *end = letter_end(l, i);
  int taken = h->posted >= m->start - 1;
  while (taken && m->next < m->npieces) {
    piece *p = m->pieces[m->next];
    char *at = m->buffer + p->begin;
    if (i < l->about->nreceives)
      GROVE_PASS(grove_fabric_receive(l->f, end->tag, at, p->bytes, m->describes, &p->t, &taken));
    else
      GROVE_PASS(
        grove_fabric_send(l->f, end->peer, end->tag, at, p->bytes, m->describes, &p->t, &taken));
    if (!taken) break;
    p->state = PIECE_POSTED;
    m->next++;
  }
  int waits = m->next < m->npieces;
  if (!waits && !m->open && h->posted < m->start) h->posted = m->start;
  l->waiting += waits - m->waits;
  m->waits = waits;
  return GROVE_OK;
}

/* None is wanted, or with libfabric. */
static void note_message_end(letters *l, int i)
{
  const message *m = &l->messages[i];
  l->pending--;
  if (!m->open && m->nwithdrawn == 0) l->done[l->ndone++] = i;
}

/* What came is shorter than its receive: it is a part. */
static void ask_for_rest(letters *l, int i, const piece *p, int64_t bytes)
{
  if (add_piece(l, i, p->begin + bytes, p->bytes - bytes) != GROVE_OK ||
      post_pieces(l, i) != GROVE_OK)
    l->error = FI_ENOMEM;
}

static void note_piece_end(grove_fabric_tagged *t, int error, int64_t bytes)
{
  piece *p = (piece *)t;
  letters *l = p->of;
  int i = p->message;
  p->state = error == FI_ECANCELED ? PIECE_WITHDRAWN : PIECE_DONE;
  if (error && error != FI_ECANCELED && !l->error) {
    l->error = error;
    l->failed = i;
  }
  if (!error && i < l->about->nreceives && bytes < p->bytes) ask_for_rest(l, i, p, bytes);
  l->messages[i].nwithdrawn += p->state == PIECE_WITHDRAWN;
  if (--l->messages[i].left == 0) note_message_end(l, i);
}

/* ---- starting ---- */

/* The first of a start. */
static void begin_message(letters *l, int i)
{
  message *m = &l->messages[i];
  m->start = ++((shared *)l->about->shared)->histories[i].started;
  m->npieces = m->next = m->nwithdrawn = 0;
  m->sent = 0;
}

static grove_status start_ofi_part(grove_carrier *c, int i, int64_t begin, int64_t end)
{
  letters *l = c->self;
  message *m = &l->messages[i];
  if (!m->open) begin_message(l, i);
  m->sent = end;
  m->open = end < l->about->messages[i].bytes;
  GROVE_PASS(add_piece(l, i, begin, end - begin));
  return post_pieces(l, i);
}

static grove_status start_ofi(grove_carrier *c, int i)
{
  letters *l = c->self;
  message *m = &l->messages[i];
  int64_t bytes = l->about->messages[i].bytes, chunk = letter_end(l, i)->chunk, at = 0;
  if (m->open) return start_ofi_part(c, i, m->sent, bytes);
  begin_message(l, i);
  do {
    int64_t rest = bytes - at;
    GROVE_PASS(add_piece(l, i, at, rest < chunk ? rest : chunk));
    at += chunk;
  } while (at < bytes);
  return post_pieces(l, i);
}

/* ---- under way ---- */

static grove_status find_failure(const letters *l)
{
  const grove_carriage *a = l->about;
  int i = l->failed;
  GROVE_PASS_CHECK(!l->error, l->error == FI_ENOMEM ? GROVE_ERR_MEMORY : GROVE_ERR_SYSTEM,
                   "rank %d: libfabric's %s failed with a message of %lld bytes %s rank %d: %s",
                   a->ctx->rank, l->f->about.provider, (long long)a->messages[i].bytes,
                   i < a->nreceives ? "from" : "to", a->messages[i].peer,
                   grove_ofi.fi_strerror(l->error));
  return GROVE_OK;
}

static grove_status poll_ofi(grove_carrier *c, int *n, const int **which)
{
  letters *l = c->self;
  *n = 0;
  *which = l->told;
  if (l->pending > 0) GROVE_PASS(grove_fabric_poll_in_turn(l->f, &l->turn));
  for (int i = 0; i < l->about->n && l->waiting > 0; i++)
    if (l->messages[i].waits) GROVE_PASS(post_pieces(l, i));
  int *told = l->done;
  l->done = l->told;
  l->told = told;
  *n = l->ndone;
  *which = told;
  l->ndone = 0;
  return find_failure(l);
}

static int pending_ofi(const grove_carrier *c, int i)
{
  return ((const letters *)c->self)->messages[i].left > 0;
}

/* What has completed and was not told yet counts too. */
static int busy_ofi(const grove_carrier *c)
{
  const letters *l = c->self;
  return l->pending > 0 || l->ndone > 0;
}

/* ---- taking back ---- */

static grove_status withdraw_piece(letters *l, piece *p, grove_pause *pause, double timeout)
{
  if (p->state == PIECE_WANTED) {
    message *m = &l->messages[p->message];
    p->state = PIECE_WITHDRAWN;
    m->nwithdrawn++;
    if (--m->left == 0) note_message_end(l, p->message);
  }
  if (p->state != PIECE_POSTED) return GROVE_OK;
  grove_fabric_cancel(l->f, &p->t);
  for (;;) {
    GROVE_PASS(grove_fabric_poll(l->f));
    if (p->state != PIECE_POSTED) return GROVE_OK;
    GROVE_PASS_CHECK(
      !grove_pause_expired(pause, timeout), GROVE_ERR_TIMEOUT,
      "a message from rank %d is arriving since %g s: the array that it goes to must stay "
      "until the context is freed",
      l->about->messages[p->message].peer, timeout);
    grove_pause_step(pause);
  }
}

static grove_status withdraw_ofi(grove_carrier *c, int i, double timeout, int *withdrawn)
{
  letters *l = c->self;
  message *m = &l->messages[i];
  history *h = &((shared *)l->about->shared)->histories[i];
  grove_status status = GROVE_OK;
  grove_pause pause;
  *withdrawn = 0;
  grove_pause_begin(&pause, 0);
  for (int k = m->npieces; k-- > 0 && status == GROVE_OK;)
    status = withdraw_piece(l, m->pieces[k], &pause, timeout);
  for (int k = m->npieces; k-- > 0;)
    if (m->pieces[k]->state == PIECE_WITHDRAWN) {
      *withdrawn = 1;
      m->next = k;
    }
  l->waiting -= m->waits;
  m->waits = 0;
  if (*withdrawn && h->posted >= m->start) h->posted = m->start - 1;
  return status;
}

static grove_status repost_ofi(grove_carrier *c, int i)
{
  letters *l = c->self;
  message *m = &l->messages[i];
  for (int k = m->next; k < m->npieces; k++)
    if (m->pieces[k]->state == PIECE_WITHDRAWN) {
      m->pieces[k]->state = PIECE_WANTED;
      if (m->left++ == 0) l->pending++;
    }
  m->nwithdrawn = 0;
  return post_pieces(l, i);
}

static void free_ofi(grove_carrier *c)
{
  letters *l = c->self;
  if (!l) return;
  for (int i = 0; l->messages && i < l->about->n; i++) {
    message *m = &l->messages[i];
    forget_buffer(m);
    for (int k = 0; k < m->nmade; k++) free(m->pieces[k]);
    free(m->pieces);
  }
  free(l->messages); /* and the lists */
  free(l);
}

void grove_letters_poll(grove_context *ctx)
{
  if (ctx->fabrics) grove_fabrics_poll(ctx);
}

const grove_carrier_kind grove_carrier_ofi = {
  .name = "ofi",
  .reach = GROVE_REACHES_ALL,
  .collective = 1,
  .writes_arrays = 1,
  .takes_parts = 1,
  .registers = 1,
  .memories = GROVE_SPACE_HOST,
  .open = open_ofi,
  .close = shut_ofi,
  .create = create_ofi,
  .bind = bind_ofi,
  .start = start_ofi,
  .start_part = start_ofi_part,
  .go = grove_carrier_go_nowhere,
  .poll = poll_ofi,
  .pending = pending_ofi,
  .busy = busy_ofi,
  .forgo = grove_carrier_let_come,
  .withdraw = withdraw_ofi,
  .repost = repost_ofi,
  .free = free_ofi,
};

#else

grove_status grove_letters_find(grove_context *ctx)
{
  (void)ctx;
  return grove_ofi_open();
}

/* Without libfabric no carriage of this kind is ever made. */
static grove_status refuse_ofi(grove_carriage *a)
{
  return grove_context_agree(a->ctx, grove_ofi_open(), NULL, 0);
}

static void shut_nothing(grove_carriage *a)
{
  (void)a;
}

void grove_letters_poll(grove_context *ctx)
{
  (void)ctx;
}

const grove_carrier_kind grove_carrier_ofi = {
  .name = "ofi",
  .reach = GROVE_REACHES_ALL,
  .collective = 1,
  .writes_arrays = 1,
  .memories = GROVE_SPACE_HOST,
  .open = refuse_ofi,
  .close = shut_nothing,
};

#endif
