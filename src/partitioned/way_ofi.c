/* Over libfabric (transport/ofi.h). The sender writes each run straight to where it belongs in the
 * receiver's message, and a number tells the receiver which run has come (layout.h). The receiver
 * counts bytes, so they may come in any order.
 *
 *     sender                                        receiver
 *     offer: address, number for notes   ------->
 *                                        <-------   answer: address, region, base of numbers
 *     writes of round 1                  ------->
 *                                        <-------   GO 2: it has started that round
 *     writes of round 2                  ------->
 *
 * What may not be written yet, or finds the queue full, is *late*, and waits in order.
 *
 * A receiver that is freed within a round says STOP. The sender writes no more, and answers with
 * the number of bytes that it has written. When these have come the array is the user's. The answer
 * itself may be faster than they are. An end that goes says so, LEFT or GONE, since the other one
 * might have to ask it.
 */
#include "partitioned/layout.h"
#include "partitioned/way.h"

#ifdef GROVE_LIBFABRIC

#include "base/pause.h"
#include "transport/ofi_desk.h"

#include <stdlib.h>
#include <string.h>

/* Notes. The sender's own: word[0] is its round, word[1] how many bytes of it were written. */
enum {
  NOTE_LEFT = GROVE_FABRIC_BYE,
  NOTE_GO = GROVE_FABRIC_OWN, /* word[0]: the round that the receiver has started */
  NOTE_STOP,
  NOTE_EMPTY, /* a message of no bytes */
  NOTE_STOPPED,
  NOTE_GONE
};

typedef struct late_bytes {
  int64_t begin, at, end;
} late_bytes;

typedef struct ofi_end {
  grove_fabric *f;
  grove_fabric_peer *peer; /* NULL: not met */
  grove_fabric_listener listener;
  uint32_t theirs; /* the number of the other end */
  grove_layout layout;
  grove_fabric_region *region, *copied; /* the message; that of a freed sender */
  unsigned turn;
  int held, alone; /* alone: the other end has gone */
  int hurries;     /* it has not been heard of over the fabric */
  /* sender */
  grove_fabric_target target;
  int64_t go;        /* the last round that the receiver has started */
  int64_t written;   /* bytes of this round */
  int64_t under_way; /* bytes that are still needed here */
  int64_t runs;      /* counted, to take turns on endpoints: */
  int64_t turns;     /* so many of them */
  int64_t nlate, done;
  late_bytes *late;
  int stopped; /* the receiver wants no more */
  /* receiver */
  int64_t answered; /* the round in which it met the sender */
  int64_t come;     /* bytes of this round */
  int64_t wanted;   /* so many were written; -1: not known */
} ofi_end;

/* ---- notes ---- */

static grove_status say_note(const grove_channel *c, uint32_t kind, int64_t bytes)
{
  const ofi_end *e = c->end;
  grove_fabric_note note = {.number = e->theirs, .kind = kind, .word = {c->round, bytes}};
  if (!e->peer || e->alone) return GROVE_OK;
  return grove_fabric_say(e->f, e->peer, 0, &note);
}

/* ---- what comes ---- */

static void await_first_word(ofi_end *e)
{
  e->hurries = 1;
  grove_fabric_hurry(e->f, 1);
}

static void hear_first_word(ofi_end *e)
{
  if (e->hurries) grove_fabric_hurry(e->f, -1);
  e->hurries = 0;
}

static void take_bytes(grove_channel *c, int64_t offset, int64_t bytes)
{
  ofi_end *e = c->end;
  e->come += bytes;
  c->messages++;
  grove_op_note(&c->base, grove_channel_take(c, offset, bytes));
}

static void come_by_number(void *self, int64_t index)
{
  grove_channel *c = self;
  int64_t offset, bytes;
  if (c->sends) return;
  hear_first_word(c->end);
  grove_layout_find(&((ofi_end *)c->end)->layout, index, &offset, &bytes);
  take_bytes(c, offset, bytes);
}

static void come_by_note(grove_channel *c, const grove_fabric_note *note, const char *data)
{
  int64_t offset = note->word[0], bytes = note->word[1];
  if (offset < 0 || bytes < 0 || offset > c->bytes || bytes > c->bytes - offset) return;
  if (note->kind == GROVE_FABRIC_BYTES) memcpy(c->data + offset, data, (size_t)bytes);
  take_bytes(c, offset, bytes);
}

static void hear_as_receiver(void *self, int64_t index, const grove_fabric_note *note,
                             const char *data)
{
  grove_channel *c = self;
  ofi_end *e = c->end;
  (void)index;
  hear_first_word(e);
  switch (note->kind) {
  case GROVE_FABRIC_RUN:
  case GROVE_FABRIC_BYTES: come_by_note(c, note, data); break;
  case NOTE_EMPTY: take_bytes(c, 0, 0); break;
  case NOTE_GONE:
    grove_op_note(&c->base, say_note(c, NOTE_LEFT, 0));
    e->alone = 1; /* fall through */
  case NOTE_STOPPED: e->wanted = note->word[0] == c->round ? note->word[1] : 0; break;
  default: break;
  }
}

/* The answer to a STOP. The receiver asks nothing more. */
static grove_status tell_stopped(const grove_channel *c)
{
  ofi_end *e = c->end;
  GROVE_PASS(say_note(c, NOTE_STOPPED, e->written));
  e->alone = 1;
  return GROVE_OK;
}

/* A STOP may be faster than the answer to the offer. */
static void hear_as_sender(void *self, int64_t index, const grove_fabric_note *note,
                           const char *data)
{
  grove_channel *c = self;
  ofi_end *e = c->end;
  (void)index, (void)data;
  hear_first_word(e);
  if (note->kind == NOTE_GO) {
    e->go = note->word[0];
    return;
  }
  if (note->kind != NOTE_STOP && note->kind != NOTE_LEFT) return;
  e->stopped = 1;
  if (note->kind == NOTE_LEFT) e->alone = 1;
  if (note->kind == NOTE_STOP && e->peer) grove_op_note(&c->base, tell_stopped(c));
}

/* ---- the two ends meet ---- */

static grove_status open_fabric_end(grove_channel *c, const char *provider)
{
  ofi_end *e = NULL;
  GROVE_PASS_NEW(e, 1);
  c->end = e;
  e->wanted = -1;
  GROVE_PASS(grove_fabric_of(c->base.ctx, c->peer, provider, &e->f));
  e->turn = grove_fabric_turn(e->f);
  e->listener = (grove_fabric_listener){
    .come = come_by_number, .hear = c->sends ? hear_as_sender : hear_as_receiver, .self = c};
  grove_fabric_hold(c->base.ctx);
  e->held = 1;
  return GROVE_OK;
}

static grove_status lay_out_round(ofi_end *e, const grove_greeting *offer)
{
  if (offer->fabric.runs)
    return grove_layout_of_runs(offer->parts, offer->bytes, offer->chunk, &e->layout);
  return grove_layout_of_groups(offer->parts, offer->bytes, offer->groups, offer->chunk,
                                &e->layout);
}

static grove_status offer_fabric(grove_channel *c, grove_greeting *greeting)
{
  GROVE_PASS(open_fabric_end(c, NULL));
  ofi_end *e = c->end;
  int64_t largest = grove_fabric_describe(e->f)->largest;
  if (greeting->chunk > largest) greeting->chunk = largest;
  greeting->fabric.runs = !grove_way_has_even_groups(c);
  GROVE_PASS(lay_out_round(e, greeting));
  GROVE_PASS(grove_fabric_listen(e->f, &e->listener, 1));
  greeting->fabric.number = e->listener.base;
  grove_fabric_tell_address(e->f, &greeting->fabric.address);
  return GROVE_OK;
}

static grove_status meet_fabric_end(grove_channel *c, const grove_fabric_greeting *greeting)
{
  ofi_end *e = c->end;
  GROVE_PASS(grove_fabric_reach(e->f, &greeting->address, &e->peer));
  e->theirs = (uint32_t)greeting->number;
  e->turns = grove_fabric_peer_endpoints(e->peer);
  if (c->plan.endpoints > 0 && c->plan.endpoints < e->turns) e->turns = c->plan.endpoints;
  return GROVE_OK;
}

static grove_status accept_fabric(grove_channel *c, const grove_greeting *offer,
                                  grove_greeting *answer)
{
  GROVE_PASS(open_fabric_end(c, offer->fabric.address.provider));
  ofi_end *e = c->end;
  GROVE_PASS(lay_out_round(e, offer));
  GROVE_PASS(grove_fabric_listen(e->f, &e->listener, grove_layout_numbers(&e->layout)));
  GROVE_PASS(grove_fabric_register(e->f, c->data, c->bytes, 1, &e->region));
  GROVE_PASS(meet_fabric_end(c, &offer->fabric));
  await_first_word(e);
  e->answered = answer->fabric.round = c->round;
  answer->fabric.number = e->listener.base;
  grove_fabric_tell_region(e->region, &answer->fabric.target);
  grove_fabric_tell_address(e->f, &answer->fabric.address);
  return GROVE_OK;
}

static grove_status tie_fabric(grove_channel *c, const grove_greeting *answer)
{
  ofi_end *e = c->end;
  GROVE_PASS(meet_fabric_end(c, &answer->fabric));
  e->target = answer->fabric.target;
  e->go = answer->fabric.round;
  await_first_word(e);
  if (e->stopped) return tell_stopped(c);
  return grove_fabric_register(e->f, c->data, c->bytes, 0, &e->region); /* where it is by now */
}

static grove_status open_fabric_round(grove_channel *c)
{
  ofi_end *e = c->end;
  e->turn = grove_fabric_turn(e->f);
  e->written = e->come = 0;
  e->wanted = e->alone ? 0 : -1;
  if (c->sends || c->round == e->answered) return GROVE_OK;
  return say_note(c, NOTE_GO, 0);
}

/* ---- sending ---- */

/* A failure that concerns all rounds: what was written may lack bytes. */
static void note_written(void *self, grove_status status, int64_t bytes)
{
  grove_channel *c = self;
  ((ofi_end *)c->end)->under_way -= bytes;
  hear_first_word(c->end);
  if (status == GROVE_OK || c->base.failure != GROVE_OK) return;
  char text[GROVE_SENTENCE_BYTES];
  snprintf(text, sizeof text, "rank %d: this %s: %.800s", c->base.ctx->rank,
           grove_op_label(&c->base), grove_last_error());
  grove_op_note(&c->base, grove_error_set(status, text));
  grove_channel_refuse(c, status, text);
}

static grove_status write_piece(grove_channel *c, ofi_end *e, const late_bytes *l, int64_t *taken)
{
  int64_t number, group;
  int64_t bytes = grove_layout_piece(&e->layout, l->at, l->end, &number, &group);
  grove_fabric_put put = {.peer = e->peer,
                          .endpoint = (e->layout.ngroups > 0 ? group : e->runs) % e->turns,
                          .from = c->data + l->at,
                          .source = e->copied ? e->copied : e->region,
                          .bytes = bytes,
                          .target = &e->target,
                          .offset = l->at,
                          .number = e->theirs + (number < 0 ? 0 : (uint32_t)number),
                          .is_run = number < 0,
                          .done = note_written,
                          .self = c};
  return grove_fabric_write(e->f, &put, taken);
}

/* The next late bytes; `taken` is 0 if nothing could be done. */
static grove_status send_late_bytes(grove_channel *c, ofi_end *e, int64_t *taken)
{
  late_bytes *l = &e->late[e->done];
  if (e->stopped) {
    l->at = l->end; /* nobody wants them */
    *taken = 1;
  } else if (l->end == l->begin) {
    GROVE_PASS(say_note(c, NOTE_EMPTY, 0));
    *taken = 1;
  } else {
    GROVE_PASS(write_piece(c, e, l, taken));
    l->at += *taken;
    e->written += *taken;
    e->under_way += *taken;
  }
  if (*taken == 0 || l->at < l->end) return GROVE_OK;
  e->runs++;
  e->done++;
  grove_channel_note_sent(c, l->begin, l->end - l->begin);
  return GROVE_OK;
}

static int may_write(const grove_channel *c, const ofi_end *e)
{
  return e->done < e->nlate && (e->stopped || e->go >= c->round);
}

/* A full queue is polled once. */
static grove_status send_late(grove_channel *c, ofi_end *e)
{
  int polls = 0;
  while (may_write(c, e)) {
    int64_t taken = 0;
    GROVE_PASS(send_late_bytes(c, e, &taken));
    if (taken > 0) continue;
    if (polls++ > 0) break;
    GROVE_PASS(grove_fabric_poll(e->f));
  }
  if (e->done == e->nlate) e->done = e->nlate = 0;
  return GROVE_OK;
}

static grove_status post_fabric(grove_channel *c, int64_t offset, int64_t bytes)
{
  ofi_end *e = c->end;
  GROVE_PASS_GROW(e->late, e->nlate, 1);
  e->late[e->nlate++] = (late_bytes){offset, offset, offset + bytes};
  return send_late(c, e);
}

static grove_status advance_fabric(grove_channel *c)
{
  ofi_end *e = c->end;
  GROVE_PASS(grove_fabric_poll_in_turn(e->f, &e->turn));
  return c->sends && c->bond == GROVE_BOND_TIED ? send_late(c, e) : GROVE_OK;
}

static int fabric_needs_calls(const grove_channel *c)
{
  const ofi_end *e = c->end;
  return e && (e->nlate > 0 || e->under_way > 0);
}

/* One that was freed before it met the receiver stays: it must be there for a STOP. */
static int fabric_is_quiet(const grove_channel *c)
{
  return c->bond != GROVE_BOND_SOUGHT && !fabric_needs_calls(c);
}

/* ---- freeing ---- */

static int has_stopped(const grove_channel *c, const ofi_end *e)
{
  return c->bytes == 0 || grove_channel_has_come(c) || (e->wanted >= 0 && e->come >= e->wanted);
}

/* Then a provider that stops writes when a region is gone need not wait any more; and then a sender
 * that cannot even be told is taken for dead. */
enum { SECONDS_OF_GRACE = 1, SECONDS_TO_REACH = 5 };

/* Until nothing more is written to the user's array. With a provider that lets nothing land once a
 * region is gone, there is no need to wait for long: the sender's round fails. With others, bytes
 * that are on the way would still be written. */
static grove_status stop_sender(grove_channel *c, ofi_end *e)
{
  double timeout = c->base.ctx->options.timeout_seconds;
  int lands_in_calls = grove_fabric_describe(e->f)->polled;
  grove_pause pause;
  if (!lands_in_calls && (timeout == 0 || timeout > SECONDS_OF_GRACE)) timeout = SECONDS_OF_GRACE;
  grove_pause_begin(&pause, 0);
  if (!has_stopped(c, e)) GROVE_PASS(say_note(c, NOTE_STOP, 0));
  for (; !has_stopped(c, e); grove_pause_step(&pause)) {
    GROVE_PASS(grove_fabric_poll(e->f));
    GROVE_PASS(grove_match_poll(c->base.ctx)); /* the sender may be this rank's */
    if (grove_fabric_keeps(e->f, e->peer) && grove_pause_expired(&pause, SECONDS_TO_REACH)) break;
    if (!grove_pause_expired(&pause, timeout)) continue;
    GROVE_PASS_CHECK(!lands_in_calls, GROVE_ERR_TIMEOUT,
                     "a message from rank %d is arriving since %g s: the buffer that it goes to "
                     "must stay until the context is freed",
                     c->peer, timeout);
    break;
  }
  e->alone = 1;
  grove_fabric_leave(e->f, &e->listener);
  grove_fabric_unregister(e->f, &e->region);
  grove_channel_want_no_more(c);
  return GROVE_OK;
}

static grove_status detach_fabric(grove_channel *c)
{
  ofi_end *e = c->end;
  if (!c->sends) return c->dense ? stop_sender(c, e) : GROVE_OK;
  return c->dense ? grove_fabric_register(e->f, c->data, c->bytes, 0, &e->copied) : GROVE_OK;
}

static grove_status say_last_word(const grove_channel *c, const ofi_end *e)
{
  grove_fabric_note note = {.number = e->theirs, .kind = NOTE_GONE, .word = {c->round, e->written}};
  if (!c->sends) return say_note(c, NOTE_LEFT, 0);
  return e->peer && !e->alone ? grove_fabric_say_last(e->f, e->peer, &note) : GROVE_OK;
}

static void close_fabric_end(grove_channel *c)
{
  ofi_end *e = c->end;
  grove_sentence before;
  grove_error_keep(&before);
  if (e->f) {
    if (say_last_word(c, e) != GROVE_OK) grove_error_restore(&before);
    hear_first_word(e);
    grove_fabric_leave(e->f, &e->listener);
    grove_fabric_forget(e->f, c);
    grove_fabric_unregister(e->f, &e->copied);
    grove_fabric_unregister(e->f, &e->region);
  }
  if (e->held) grove_fabric_release(c->base.ctx);
  grove_layout_free(&e->layout);
  free(e->late);
  free(e);
  c->end = NULL;
}

const grove_way_kind grove_way_ofi = {
  .name = "ofi",
  .sees_through = 1,
  .offer = offer_fabric,
  .accept = accept_fabric,
  .tie = tie_fabric,
  .open = open_fabric_round,
  .post = post_fabric,
  .advance = advance_fabric,
  .is_quiet = fabric_is_quiet,
  .needs_calls = fabric_needs_calls,
  .detach = detach_fabric,
  .close = close_fabric_end,
};

#else

/* It is never chosen: grove_way_choose refuses. */
const grove_way_kind grove_way_ofi = {.name = "ofi"};

#endif
