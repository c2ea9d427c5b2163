/* One-sided messages. The sender copies a message to a slot in its own window and sends a *notice*
 * of where it lies. The receiver fetches it with MPI_Rget and sends an *answer*: the slot is free.
 *
 * Why not a put? A put does not tell of its arrival. That takes a flush, which waits inside MPI for
 * a rank that may be elsewhere. And Open MPI 4.1 (osc pt2pt) holds back a small put, even MPI_Rput,
 * until somebody flushes. With MPI_Rget, MPI promises that the data is there when the request is
 * complete, and requests can be polled.
 *
 * Turns. Notices of a message go in the order of starts, and so do the answers. So they match what
 * was posted for them in that order. A send waits for its turn and for a slot: with two slots,
 * start k of a message waits for the answer to start k - 2. Messages that nobody wants any more are
 * answered before they have come.
 *
 * Windows. They are slow to make, MPICH aborts near 2000 of them, and making and freeing them is
 * collective. So they belong to the context. They double whenever some rank finds no room, and
 * every rank divides its own part. Windows that are left in MPI_Finalize are freed there, as an
 * attribute of MPI_COMM_SELF: otherwise MPICH 4.0 would abort.
 */
#include "transport/mpi_rma.h"

#include "transport/spans.h"

#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64, FIRST_WINDOW = 1 << 16 };

/* ---- windows ---- */

typedef struct window {
  MPI_Win win;
  char *memory;
  int own; /* the memory is ours, not MPI's */
} window;

struct grove_windows {
  int n;
  window *list;
  int64_t bytes; /* of this rank, in all windows */
  int allocates; /* MPI makes no windows over our memory */
  int nparts;    /* in use */
  grove_spans spans;
  int keyval; /* of the attribute */
  int left;   /* to MPI_Finalize */
};

int grove_windows_count(const struct grove_windows *windows)
{
  return windows ? windows->n : 0;
}

static void free_windows(struct grove_windows *w)
{
  free(w->list);
  grove_spans_free(&w->spans);
  free(w);
}

/* Called when the attribute goes, at the latest in MPI_Finalize. */
static int free_attribute(MPI_Comm comm, int keyval, void *attribute, void *extra)
{
  struct grove_windows *w = attribute;
  (void)comm, (void)keyval, (void)extra;
  for (int i = w->n - 1; i >= 0; i--) {
    MPI_Win_unlock_all(w->list[i].win);
    MPI_Win_free(&w->list[i].win);
    if (w->list[i].own) free(w->list[i].memory);
  }
  w->n = 0;
  if (w->left) free_windows(w);
  return MPI_SUCCESS;
}

void grove_windows_free(struct grove_windows **pointer)
{
  struct grove_windows *w = *pointer;
  if (!w) return;
  MPI_Comm_delete_attr(MPI_COMM_SELF, w->keyval);
  MPI_Comm_free_keyval(&w->keyval);
  free_windows(w);
  *pointer = NULL;
}

void grove_windows_leave(struct grove_windows **pointer)
{
  struct grove_windows *w = *pointer;
  if (!w) return;
  w->left = 1;
  if (grove_mpi_is_gone()) free_windows(w);
  *pointer = NULL;
}

/* Room for one more window and one more part. This rank's failure. */
static grove_status make_window_room(grove_depot *depot)
{
  struct grove_windows *w = depot->windows;
  if (!w) {
    GROVE_PASS_NEW(w, 1);
    depot->windows = w;
    GROVE_PASS_MPI(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, free_attribute, &w->keyval, NULL));
    GROVE_PASS_MPI(MPI_Comm_set_attr(MPI_COMM_SELF, w->keyval, w));
  }
  GROVE_PASS(grove_spans_reserve(&w->spans, w->n + w->nparts + 2));
  GROVE_PASS_GROW(w->list, w->n, 1);
  return GROVE_OK;
}

/* Blocking: all ranks are here. */
static grove_status make_window(MPI_Comm comm, int64_t bytes, window *out)
{
  if (out->own)
    GROVE_PASS_MPI(MPI_Win_create(out->memory, bytes, 1, MPI_INFO_NULL, comm, &out->win));
  else
    GROVE_PASS_MPI(MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, comm, &out->memory, &out->win));
  GROVE_PASS_MPI(MPI_Win_set_errhandler(out->win, MPI_ERRORS_RETURN));
  GROVE_PASS_MPI(MPI_Win_lock_all(MPI_MODE_NOCHECK, out->win));
  return GROVE_OK;
}

/* A window in which this rank has `bytes` bytes. If it fails on some ranks only, the others'
 * windows are left alone. Agreed by all. */
static grove_status add_window(grove_context *ctx, struct grove_windows *w, int64_t bytes)
{
  grove_status status = GROVE_OK, mine = GROVE_OK;
  window made = {.win = MPI_WIN_NULL, .own = !w->allocates};
  if (made.own && !(made.memory = aligned_alloc(ALIGNMENT, (size_t)bytes)))
    mine = grove_error(GROVE_ERR_MEMORY, __FILE__, __LINE__, "no memory for a window of %lld bytes",
                       (long long)bytes);
  GROVE_TRY(grove_context_agree(ctx, mine, NULL, 0));
  mine = make_window(ctx->comm, bytes, &made);
  GROVE_TRY(grove_context_agree(ctx, mine, NULL, 0));
  grove_free_span all = {.region = w->n, .bytes = bytes};
  grove_spans_give(&w->spans, &all);
  w->list[w->n++] = made;
  w->bytes += bytes;
  return GROVE_OK;
fail:
  if (made.own && made.win == MPI_WIN_NULL) free(made.memory);
  return status;
}

/* Open MPI 4.1 makes windows over any memory only if a network supports that, or with osc pt2pt.
 * Over its own memory it makes them inside a host too. Agreed by all. */
static grove_status grow_window(grove_context *ctx, struct grove_windows *w, int64_t needed)
{
  int64_t bytes = w->bytes > FIRST_WINDOW ? w->bytes : FIRST_WINDOW;
  if (bytes < needed) bytes = needed;
  grove_sentence before;
  grove_error_keep(&before);
  grove_status status = add_window(ctx, w, bytes);
  if (status == GROVE_ERR_MPI && !w->allocates) {
    grove_error_restore(&before);
    w->allocates = 1;
    status = add_window(ctx, w, bytes);
  }
  if (status != GROVE_ERR_MPI) return status;
  char why[GROVE_SENTENCE_BYTES / 2];
  snprintf(why, sizeof why, "%s", grove_last_error());
  return grove_error(GROVE_ERR_UNSUPPORTED, __FILE__, __LINE__,
                     "transport_off_node=rma: MPI makes no window for these ranks (Open MPI 4 over "
                     "TCP needs its component osc pt2pt, which is for one thread): %s",
                     why);
}

/* ---- carriages ---- */

/* What is known of a message over all its starts. */
typedef struct history {
  int64_t started;
  int64_t told;   /* notices sent; of a receive: answers */
  int64_t taken;  /* of a send: answers received */
  int64_t offset; /* of its slots, in the carriage's part of the window */
  int slots;
} history;

typedef struct shared {
  struct grove_windows *windows;
  grove_free_span part; /* no bytes: no part */
  history *histories;   /* one per message */
} shared;

static int64_t stride_of(const grove_carried *m)
{
  return grove_round_up(m->bytes, ALIGNMENT);
}

/* How many starts a sender may be ahead. */
static int window_slots_for(int64_t bytes)
{
  if (bytes > 1 << 20) return 1;
  return bytes > 1 << 14 ? 2 : bytes > 1 << 12 ? 4 : 16;
}

/* Everything that can fail on one rank alone, and the number of bytes that the slots need. */
static grove_status prepare_rma(grove_carriage *a, int64_t *needed)
{
  grove_depot *depot = NULL;
  shared *s = NULL;
  GROVE_PASS_NEW(s, 1);
  a->shared = s;
  GROVE_PASS_NEW(s->histories, a->n);
  for (int i = a->nreceives; i < a->n; i++) {
    history *t = &s->histories[i];
    t->offset = *needed;
    t->slots = window_slots_for(a->messages[i].bytes);
    *needed += t->slots * stride_of(&a->messages[i]);
  }
  GROVE_PASS(grove_depot_open(a->ctx, &depot));
  GROVE_PASS(make_window_room(depot));
  s->windows = depot->windows;
  return GROVE_OK;
}

static int take_part(shared *s, int64_t bytes)
{
  int taken = grove_spans_take(&s->windows->spans, bytes, &s->part);
  s->windows->nparts += taken;
  return taken;
}

static grove_status open_rma(grove_carriage *a)
{
  GROVE_PASS_CHECK(
    a->answer_tag != GROVE_TAG_NOBODY, GROVE_ERR_UNSUPPORTED,
    "messages that are fetched need tags for their answers, and this plan has too many "
    "stages for that");
  int64_t needed = 0, grows = 0;
  grove_status mine = prepare_rma(a, &needed);
  int lacks = mine == GROVE_OK && needed > 0 && !take_part(a->shared, needed);
  grows = lacks;
  GROVE_PASS(grove_context_agree(a->ctx, mine, &grows, 1));
  shared *s = a->shared;
  if (grows) GROVE_PASS(grow_window(a->ctx, s->windows, lacks ? needed : 0));
  if (lacks) take_part(s, needed);
  return GROVE_OK;
}

static void shut_rma(grove_carriage *a)
{
  shared *s = a->shared;
  if (!s) return;
  if (s->part.bytes > 0) {
    grove_spans_give(&s->windows->spans, &s->part);
    s->windows->nparts--;
  }
  free(s->histories);
  free(s);
}

/* ---- carriers ---- */

/* Where a message lies at its sender. */
typedef struct notice {
  int64_t window, offset;
} notice;

typedef enum step {
  IDLE,
  EXPECTS, /* a receive waits for its notice, ... */
  FETCHES, /* ... for the data, ... */
  HERE,    /* ... and for its answer to be sent */
  WAITS,   /* a send waits for its turn and a slot, ... */
  TOLD     /* ... and for the answer */
} step;

/* A message under way. Two things must happen to it. A receive must come, and its answer must go. A
 * send's notice must go, and its answer must come. */
typedef struct message {
  step step;
  int left;     /* of the two */
  int owes;     /* the answer may go, in the order of starts */
  int unwanted; /* it need not be fetched */
  char *buffer;
  int64_t start; /* which start of the message it is */
  int64_t at;    /* bytes that are fetched, or being fetched */
  notice notice;
} message;

typedef struct fetcher {
  int busy;    /* messages that are not idle */
  int waiting; /* ... and wait for a turn or a slot */
  message *messages;
  MPI_Request *requests; /* two per message: first all incoming ones, then all outgoing ones */
  int *tested, *completed;
} fetcher;

static grove_status create_rma(grove_carrier *c)
{
  int n = c->carriage->n;
  fetcher *f = NULL;
  GROVE_PASS_NEW(f, 1);
  c->self = f;
  GROVE_PASS_NEW(f->messages, n);
  GROVE_PASS_NEW(f->requests, 2 * n);
  GROVE_PASS_NEW(f->tested, 2 * n);
  GROVE_PASS_NEW(f->completed, n);
  for (int k = 0; k < 2 * n; k++) f->requests[k] = MPI_REQUEST_NULL;
  return GROVE_OK;
}

static grove_status bind_rma(grove_carrier *c, int i, void *buffer)
{
  ((fetcher *)c->self)->messages[i].buffer = buffer;
  return GROVE_OK;
}

/* ---- sending ---- */

static grove_status send_notice(grove_carrier *c, int i)
{
  const grove_carriage *a = c->carriage;
  fetcher *f = c->self;
  message *m = &f->messages[i];
  int peer = a->messages[i].peer;
  GROVE_PASS_MPI(MPI_Irecv(NULL, 0, MPI_BYTE, peer, a->answer_tag, a->ctx->comm, &f->requests[i]));
  GROVE_PASS_MPI(MPI_Isend(&m->notice, sizeof m->notice, MPI_BYTE, peer, a->tag, a->ctx->comm,
                           &f->requests[a->n + i]));
  return GROVE_OK;
}

/* Puts message i into its slot, if it has its turn and a slot. */
static grove_status try_to_tell(grove_carrier *c, int i)
{
  shared *s = c->carriage->shared;
  fetcher *f = c->self;
  history *t = &s->histories[i];
  message *m = &f->messages[i];
  const grove_carried *about = &c->carriage->messages[i];
  if (t->told != m->start - 1 || t->taken + t->slots < m->start) return GROVE_OK;
  t->told++;
  m->step = TOLD;
  f->waiting--;
  m->notice.window = s->part.region;
  m->notice.offset = s->part.offset + t->offset + m->start % t->slots * stride_of(about);
  if (about->bytes > 0) {
    const window *w = &s->windows->list[m->notice.window];
    memcpy(w->memory + m->notice.offset, m->buffer, (size_t)about->bytes);
    GROVE_PASS_MPI(MPI_Win_sync(w->win));
  }
  return send_notice(c, i);
}

/* ---- receiving ---- */

/* Fetches the next chunk. */
static grove_status fetch_rma(grove_carrier *c, int i)
{
  const grove_carriage *a = c->carriage;
  const shared *s = a->shared;
  fetcher *f = c->self;
  message *m = &f->messages[i];
  int64_t rest = a->messages[i].bytes - m->at;
  int bytes = (int)(rest < a->chunk ? rest : a->chunk);
  GROVE_PASS_MPI(MPI_Rget(m->buffer + m->at, bytes, MPI_BYTE, a->messages[i].peer,
                          m->notice.offset + m->at, bytes, MPI_BYTE,
                          s->windows->list[m->notice.window].win, &f->requests[i]));
  m->at += bytes;
  m->step = FETCHES;
  return GROVE_OK;
}

static grove_status try_to_answer(grove_carrier *c, int i)
{
  const grove_carriage *a = c->carriage;
  history *t = &((shared *)a->shared)->histories[i];
  fetcher *f = c->self;
  message *m = &f->messages[i];
  if (t->told != m->start - 1) return GROVE_OK;
  GROVE_PASS_MPI(MPI_Isend(NULL, 0, MPI_BYTE, a->messages[i].peer, a->answer_tag, a->ctx->comm,
                           &f->requests[a->n + i]));
  t->told++;
  m->owes = 0;
  f->waiting--;
  return GROVE_OK;
}

static grove_status owe_answer(grove_carrier *c, int i)
{
  fetcher *f = c->self;
  f->messages[i].owes = 1;
  f->waiting++;
  return try_to_answer(c, i);
}

/* ---- under way ---- */

static grove_status start_rma(grove_carrier *c, int i)
{
  const grove_carriage *a = c->carriage;
  fetcher *f = c->self;
  message *m = &f->messages[i];
  m->start = ++((shared *)a->shared)->histories[i].started;
  m->at = 0;
  m->left = 2;
  m->unwanted = 0;
  f->busy++;
  if (i < a->nreceives) {
    m->step = EXPECTS;
    GROVE_PASS_MPI(MPI_Irecv(&m->notice, sizeof m->notice, MPI_BYTE, a->messages[i].peer, a->tag,
                             a->ctx->comm, &f->requests[i]));
  } else {
    m->step = WAITS;
    f->waiting++;
    GROVE_PASS(try_to_tell(c, i));
  }
  return GROVE_OK;
}

/* One of the two things has happened; true if it was the second. */
static int has_ended(grove_carrier *c, int i)
{
  fetcher *f = c->self;
  message *m = &f->messages[i];
  if (--m->left > 0) return 0;
  m->step = IDLE;
  f->busy--;
  return 1;
}

/* The notice, or a chunk, has come. */
static grove_status go_on_receiving(grove_carrier *c, int i, int *n)
{
  fetcher *f = c->self;
  message *m = &f->messages[i];
  if (m->at < c->carriage->messages[i].bytes && !m->unwanted) return fetch_rma(c, i);
  f->completed[(*n)++] = i;
  m->step = HERE;
  return has_ended(c, i) || m->unwanted ? GROVE_OK : owe_answer(c, i);
}

/* Something of message i has come or gone. */
static grove_status react_to_notice(grove_carrier *c, int i, int comes, int *n)
{
  fetcher *f = c->self;
  int receives = i < c->carriage->nreceives;
  if (receives && comes) return go_on_receiving(c, i, n);
  if (comes) ((shared *)c->carriage->shared)->histories[i].taken++;
  if (has_ended(c, i) && !receives) f->completed[(*n)++] = i;
  return GROVE_OK;
}

/* Starts messages that wait for a turn or a slot. */
static grove_status take_turns(grove_carrier *c)
{
  const fetcher *f = c->self;
  for (int i = 0; i < c->carriage->n && f->waiting > 0; i++) {
    if (f->messages[i].step == WAITS) GROVE_PASS(try_to_tell(c, i));
    if (f->messages[i].owes) GROVE_PASS(try_to_answer(c, i));
  }
  return GROVE_OK;
}

static grove_status poll_rma(grove_carrier *c, int *n, const int **which)
{
  const grove_carriage *a = c->carriage;
  fetcher *f = c->self;
  int tested = 0;
  *n = 0;
  *which = f->completed;
  if (f->busy == 0) return GROVE_OK;
  if (f->waiting > 0) GROVE_PASS(take_turns(c));
  GROVE_PASS_MPI(MPI_Testsome(2 * a->n, f->requests, &tested, f->tested, MPI_STATUSES_IGNORE));
  if (tested == MPI_UNDEFINED) tested = 0;
  for (int k = 0; k < tested; k++)
    GROVE_PASS(react_to_notice(c, f->tested[k] % a->n, f->tested[k] < a->n, n));
  return GROVE_OK;
}

static int pending_rma(const grove_carrier *c, int i)
{
  step now = ((const fetcher *)c->self)->messages[i].step;
  return now != IDLE && now != HERE;
}

static int busy_rma(const grove_carrier *c)
{
  return ((const fetcher *)c->self)->busy > 0;
}

/* A message that is being fetched lies in a slot that its sender must not reuse yet. That ends as
 * soon as the sender calls MPI again. */
static grove_status forgo_rma(grove_carrier *c, int i, double timeout)
{
  fetcher *f = c->self;
  message *m = &f->messages[i];
  grove_pause pause;
  int done = 0;
  grove_pause_begin(&pause, 0);
  while (m->step == FETCHES && !done && !grove_pause_expired(&pause, timeout)) {
    GROVE_PASS_MPI(MPI_Request_get_status(f->requests[i], &done, MPI_STATUS_IGNORE));
    grove_pause_step(&pause);
  }
  if (m->unwanted || !(m->step == EXPECTS || done)) return GROVE_OK;
  m->unwanted = 1;
  return owe_answer(c, i);
}

static void free_fetcher(grove_carrier *c)
{
  fetcher *f = c->self;
  if (!f) return;
  free(f->messages);
  free(f->requests);
  free(f->tested);
  free(f->completed);
  free(f);
}

const grove_carrier_kind grove_carrier_rma = {
  .name = "rma",
  .reach = GROVE_REACHES_ALL,
  .collective = 1,
  .memories = GROVE_SPACE_HOST,
  .open = open_rma,
  .close = shut_rma,
  .create = create_rma,
  .bind = bind_rma,
  .start = start_rma,
  .start_part = grove_carrier_no_part,
  .go = grove_carrier_go_nowhere,
  .poll = poll_rma,
  .pending = pending_rma,
  .busy = busy_rma,
  .forgo = forgo_rma,
  .withdraw = grove_carrier_no_withdraw,
  .repost = grove_carrier_no_repost,
  .free = free_fetcher,
};
