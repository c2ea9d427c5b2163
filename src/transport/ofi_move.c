/* Writes, notes and completions. What libfabric is given is one of a fixed number of ops of an
 * endpoint. If there is none, or libfabric says EAGAIN, the caller has to come again.
 */
#ifdef GROVE_LIBFABRIC

#include "transport/ofi_parts.h"

#include <stdlib.h>
#include <string.h>

static grove_fabric_op *pop_op(grove_fabric_op **list)
{
  grove_fabric_op *op = *list;
  if (op) *list = op->next;
  return op;
}

static void append_op(grove_fabric_op **list, grove_fabric_op *op)
{
  while (*list) list = &(*list)->next;
  grove_fabric_push(list, op);
}

static void give_op_back(grove_fabric_op *op)
{
  grove_fabric_end *e = op->end;
  int is_write = op - e->ops < GROVE_FABRIC_DEEP;
  op->errand = GROVE_ERRAND_NONE;
  op->done = NULL;
  grove_fabric_push(is_write ? &e->writes : &e->notes, op);
  e->busy--;
}

static void end_op(grove_fabric_op *op, grove_status status)
{
  void (*done)(void *, grove_status, int64_t) = op->done;
  void *self = op->self;
  int64_t bytes = op->bytes;
  give_op_back(op);
  if (done) done(self, status, bytes);
}

/* ---- notes ---- */

/* libfabric's code. */
static ssize_t send_op(grove_fabric_op *op)
{
  grove_fabric_end *e = op->end;
  ssize_t code = fi_send(e->ep, op->buffer, op->filled, e->describes, op->to, &op->room);
  if (code == 0) op->errand = GROVE_ERRAND_NOTE;
  return code;
}

static grove_fabric_end *end_for(const grove_fabric *f, const grove_fabric_peer *peer,
                                 int64_t endpoint, fi_addr_t *to)
{
  int64_t i = endpoint % peer->n;
  *to = peer->to[i];
  return &f->ends[i];
}

/* `bytes` of data go with it. */
static grove_status send_note(grove_fabric *f, const grove_fabric_put *put,
                              const grove_fabric_note *note, int64_t bytes, int *taken)
{
  fi_addr_t to;
  grove_fabric_end *e = end_for(f, put->peer, put->endpoint, &to);
  grove_fabric_op *op = pop_op(&e->notes);
  *taken = 0;
  if (!op) return GROVE_OK;
  op->to = to;
  op->done = put->done;
  op->self = put->self;
  op->bytes = bytes;
  op->filled = sizeof *note + (size_t)bytes;
  memcpy(op->buffer, note, sizeof *note);
  if (bytes > 0) memcpy(op->buffer + sizeof *note, put->from, (size_t)bytes);
  e->busy++;
  ssize_t code = send_op(op);
  if (code != 0) give_op_back(op);
  if (code == -FI_EAGAIN) return GROVE_OK;
  if (code < 0) return grove_fabric_error(f->about.provider, code, "fi_send", __FILE__, __LINE__);
  *taken = 1;
  return GROVE_OK;
}

grove_status grove_fabric_tell(grove_fabric *f, const grove_fabric_peer *peer, int64_t endpoint,
                               const grove_fabric_note *note, int *taken)
{
  const grove_fabric_put put = {.peer = peer, .endpoint = endpoint};
  return send_note(f, &put, note, 0, taken);
}

grove_status grove_fabric_say(grove_fabric *f, const grove_fabric_peer *peer, int64_t endpoint,
                              const grove_fabric_note *note)
{
  grove_fabric_kept **at = &f->kept, *k = NULL;
  int taken = 0;
  if (!f->kept) GROVE_PASS(grove_fabric_tell(f, peer, endpoint, note, &taken));
  if (taken) return GROVE_OK;
  GROVE_PASS_NEW(k, 1);
  *k = (grove_fabric_kept){NULL, peer, endpoint, *note};
  while (*at) at = &(*at)->next;
  *at = k;
  return GROVE_OK;
}

int grove_fabric_keeps(const grove_fabric *f, const grove_fabric_peer *peer)
{
  const grove_fabric_kept *k = f->kept;
  while (k && k->peer != peer) k = k->next;
  return k != NULL;
}

grove_status grove_fabric_say_last(grove_fabric *f, const grove_fabric_peer *peer,
                                   const grove_fabric_note *note)
{
  GROVE_PASS(grove_fabric_say(f, peer, 0, note));
  f->unanswered++;
  return GROVE_OK;
}

void grove_fabric_hurry(grove_fabric *f, int more)
{
  f->hurry += more;
}

/* One that cannot leave does not hold up those to others. */
static grove_status send_kept_notes(grove_fabric *f)
{
  for (grove_fabric_kept **at = &f->kept; *at;) {
    grove_fabric_kept *k = *at;
    int taken = 0;
    grove_status status = grove_fabric_tell(f, k->peer, k->endpoint, &k->note, &taken);
    if (taken || status != GROVE_OK) {
      *at = k->next;
      free(k);
    } else {
      at = &k->next;
    }
    GROVE_PASS(status);
  }
  return GROVE_OK;
}

/* ---- writes ---- */

static grove_fabric_note note_of(const grove_fabric_put *put, int64_t done, int64_t bytes)
{
  return (grove_fabric_note){.number = put->number,
                             .kind = put->is_run ? GROVE_FABRIC_RUN : GROVE_FABRIC_CAME,
                             .word = {put->offset + done, bytes}};
}

static grove_status write_messages(grove_fabric *f, const grove_fabric_put *put, int64_t *taken)
{
  int more = 1;
  for (*taken = 0; more && *taken < put->bytes;) {
    grove_fabric_put piece = *put;
    int64_t rest = put->bytes - *taken,
            bytes = rest < GROVE_FABRIC_PIECE ? rest : GROVE_FABRIC_PIECE;
    grove_fabric_note note = note_of(put, *taken, bytes);
    note.kind = GROVE_FABRIC_BYTES;
    piece.from += *taken;
    GROVE_PASS(send_note(f, &piece, &note, bytes, &more));
    if (more) *taken += bytes;
  }
  return GROVE_OK;
}

/* libfabric's code. */
static ssize_t write_op(const grove_fabric *f, const grove_fabric_put *put, grove_fabric_op *op,
                        int64_t index)
{
  const grove_fabric_target *t = put->target;
  uint64_t key = t->keys[t->nkeys > 1 ? index : 0], at = t->base + (uint64_t)put->offset;
  void *describes = NULL;
  if (put->source) describes = fi_mr_desc(put->source->mr[put->source->n > 1 ? index : 0]);
  if (f->about.manner == GROVE_FABRIC_DATA && !put->is_run) {
    op->errand = GROVE_ERRAND_WRITE;
    return fi_writedata(op->end->ep, put->from, (size_t)put->bytes, describes, put->number, op->to,
                        at, key, &op->room);
  }
  grove_fabric_note note = note_of(put, 0, put->bytes);
  memcpy(op->buffer, &note, sizeof note);
  op->filled = sizeof note;
  op->errand = GROVE_ERRAND_WRITE_TO_TELL;
  struct iovec from = {(void *)put->from, (size_t)put->bytes};
  struct fi_rma_iov there = {at, (size_t)put->bytes, key};
  struct fi_msg_rma message = {.msg_iov = &from,
                               .desc = &describes,
                               .iov_count = 1,
                               .addr = op->to,
                               .rma_iov = &there,
                               .rma_iov_count = 1,
                               .context = &op->room};
  return fi_writemsg(op->end->ep, &message, FI_COMPLETION | FI_DELIVERY_COMPLETE);
}

grove_status grove_fabric_write(grove_fabric *f, const grove_fabric_put *put, int64_t *taken)
{
  fi_addr_t to;
  grove_fabric_end *e = end_for(f, put->peer, put->endpoint, &to);
  if (f->about.manner == GROVE_FABRIC_MESSAGE) {
    grove_status status = write_messages(f, put, taken);
    e->writes_begun += *taken > 0;
    return status;
  }
  grove_fabric_op *op = pop_op(&e->writes);
  *taken = 0;
  if (!op) return GROVE_OK;
  op->to = to;
  op->bytes = put->bytes;
  op->done = put->done;
  op->self = put->self;
  e->busy++;
  ssize_t code = write_op(f, put, op, e - f->ends);
  if (code != 0) give_op_back(op);
  if (code == -FI_EAGAIN) return GROVE_OK;
  if (code < 0)
    return grove_fabric_error(f->about.provider, code, "fi_writedata", __FILE__, __LINE__);
  e->writes_begun++;
  *taken = put->bytes;
  return GROVE_OK;
}

/* ---- receives ---- */

static grove_status post_fabric_receive(grove_fabric_op *op)
{
  grove_fabric_end *e = op->end;
  op->errand = GROVE_ERRAND_RECEIVE;
  ssize_t code =
    fi_recv(e->ep, op->buffer, e->buffer_bytes, e->describes, FI_ADDR_UNSPEC, &op->room);
  if (code != 0) grove_fabric_push(&e->unposted, op);
  if (code == -FI_EAGAIN) return GROVE_OK;
  if (code < 0)
    return grove_fabric_error(e->fabric->about.provider, code, "fi_recv", __FILE__, __LINE__);
  return GROVE_OK;
}

grove_status grove_fabric_post_receives(grove_fabric_end *e)
{
  grove_fabric_op *all = e->unposted, *op;
  e->unposted = NULL;
  while ((op = pop_op(&all))) {
    grove_status status = post_fabric_receive(op);
    if (status != GROVE_OK) {
      while (all) grove_fabric_push(&e->unposted, pop_op(&all));
      return status;
    }
  }
  return GROVE_OK;
}

/* ---- completions ---- */

static void hear_receive(grove_fabric *f, const grove_fabric_op *op, size_t bytes)
{
  grove_fabric_note note;
  if (bytes < sizeof note) return; /* not one of ours */
  memcpy(&note, op->buffer, sizeof note);
  grove_fabric_heard(f, &note, op->buffer + sizeof note);
}

/* The write was delivered. */
static grove_status tell_of_write(grove_fabric_op *op)
{
  ssize_t code = send_op(op);
  if (code == -FI_EAGAIN) append_op(&op->end->later, op);
  if (code == 0 || code == -FI_EAGAIN) return GROVE_OK;
  end_op(op,
         grove_fabric_error(op->end->fabric->about.provider, code, "fi_send", __FILE__, __LINE__));
  return GROVE_OK;
}

static grove_status take_completion(grove_fabric_end *e, const struct fi_cq_data_entry *entry)
{
  grove_fabric_op *op = entry->op_context;
  if ((entry->flags & FI_REMOTE_CQ_DATA) && !(entry->flags & FI_SEND)) {
    grove_fabric_came(e->fabric, (uint32_t)entry->data);
    return e->fabric->about.takes_receives && op ? post_fabric_receive(op) : GROVE_OK;
  }
  if (!op) return GROVE_OK;
  switch (op->errand) {
  case GROVE_ERRAND_RECEIVE:
    hear_receive(e->fabric, op, entry->len);
    return post_fabric_receive(op);
  case GROVE_ERRAND_WRITE_TO_TELL: return tell_of_write(op);
  case GROVE_ERRAND_TAGGED: grove_fabric_tagged_ended(op, 0, entry->len); return GROVE_OK;
  default: end_op(op, GROVE_OK); return GROVE_OK;
  }
}

static grove_status take_failure(grove_fabric_end *e)
{
  grove_fabric *f = e->fabric;
  struct fi_cq_err_entry about = {0};
  char words[160] = "";
  if (fi_cq_readerr(e->cq, &about, 0) <= 0) return GROVE_OK;
  grove_fabric_op *op = about.op_context;
  if (op && op->errand == GROVE_ERRAND_TAGGED) {
    grove_fabric_tagged_ended(op, about.err, about.len);
    return GROVE_OK;
  }
  const char *said = fi_cq_strerror(e->cq, about.prov_errno, about.err_data, words, sizeof words);
  int is_receive = op && op->errand == GROVE_ERRAND_RECEIVE;
  grove_status status =
    grove_error(GROVE_ERR_SYSTEM, __FILE__, __LINE__, "libfabric's %s: %s failed: %s (%s)",
                f->about.provider, is_receive ? "a receive" : "a write or a message",
                grove_ofi.fi_strerror(about.err), said ? said : words);
  if (is_receive) return about.err == FI_ECANCELED ? GROVE_OK : post_fabric_receive(op);
  if (!op) return status;
  end_op(op, status);
  return GROVE_OK;
}

static grove_status send_later_notes(grove_fabric_end *e)
{
  grove_fabric_op *op, *all = e->later;
  e->later = NULL;
  while ((op = pop_op(&all))) GROVE_PASS(tell_of_write(op));
  return e->unposted ? grove_fabric_post_receives(e) : GROVE_OK;
}

/* ofi_rxm looks after connections in every 128th poll of a queue. */
enum { COMPLETIONS = 16, MOST_TURNS = 16, HURRIED_LOOKS = 64 };

static grove_status poll_end(grove_fabric_end *e)
{
  struct fi_cq_data_entry entries[COMPLETIONS];
  if (e->later || e->unposted) GROVE_PASS(send_later_notes(e));
  int looks = e->fabric->hurry > 0 ? HURRIED_LOOKS : 1;
  for (int turn = 0; turn < MOST_TURNS && looks > 0;) {
    ssize_t n = fi_cq_read(e->cq, entries, COMPLETIONS);
    if (n == -FI_EAGAIN) {
      looks--;
      continue;
    }
    turn++;
    if (n == -FI_EAVAIL) {
      GROVE_PASS(take_failure(e));
      continue;
    }
    if (n < 0)
      return grove_fabric_error(e->fabric->about.provider, n, "fi_cq_read", __FILE__, __LINE__);
    for (ssize_t i = 0; i < n; i++) GROVE_PASS(take_completion(e, &entries[i]));
    if (n < COMPLETIONS) break;
  }
  return GROVE_OK;
}

grove_status grove_fabric_poll(grove_fabric *f)
{
  for (int i = 0; i < f->n; i++) GROVE_PASS(poll_end(&f->ends[i]));
  return f->kept ? send_kept_notes(f) : GROVE_OK;
}

/* Who comes again before the others have polled does it. */
grove_status grove_fabric_poll_in_turn(grove_fabric *f, unsigned *mine)
{
  int is_mine = *mine == f->turn;
  if (is_mine) f->turn++;
  *mine = f->turn;
  return is_mine ? grove_fabric_poll(f) : GROVE_OK;
}

unsigned grove_fabric_turn(const grove_fabric *f)
{
  return f->turn;
}

void grove_fabric_forget(grove_fabric *f, const void *self)
{
  for (int i = 0; i < f->n; i++)
    for (int k = 0; k < f->ends[i].nops; k++)
      if (f->ends[i].ops[k].self == self) f->ends[i].ops[k].done = NULL;
}

int grove_fabric_is_quiet(const grove_fabric *f)
{
  for (int i = 0; i < f->n; i++)
    if (f->ends[i].busy > 0) return 0;
  return f->kept == NULL && f->unanswered == 0;
}

#endif
