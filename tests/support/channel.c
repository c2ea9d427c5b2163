#include "channel.h"

#include "apart.h"
#include "check.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

enum { CANARY = 0xa7, TAG_OF_WORDS = 3, MOST_LEFT = 4096 };

static int64_t unit_bytes(const unit *u)
{
  int64_t bytes = 0;
  for (int i = 0; i < u->npieces; i++) bytes += (int64_t)scalar_bytes(u->piece[i].kind);
  return bytes;
}

int64_t channel_bytes(const channel *c)
{
  return c->parts * c->count * unit_bytes(c->u);
}

size_t channel_room(const channel *c)
{
  return array_room(c->u, c->parts * c->count);
}

/* ---- what travels ---- */

static unsigned char byte_of(uint64_t seed, int64_t round, int64_t number)
{
  uint64_t word = mix(seed + (uint64_t)round * 0x2545f4914f6cdd1du + (uint64_t)(number / 8));
  return (unsigned char)(word >> 8 * (number % 8));
}

/* Lays bytes from `number` on into one piece; or asserts that they are there. */
static void lay(const channel *c, unsigned char *to, int64_t number, size_t bytes)
{
  for (size_t i = 0; i < bytes; i++) to[i] = byte_of(c->seed, c->round, number + (int64_t)i);
}

static void compare(const channel *c, const unsigned char *with, int64_t number, size_t bytes)
{
  for (size_t i = 0; i < bytes; i++) {
    int64_t at = number + (int64_t)i;
    unsigned char expected = byte_of(c->seed, c->round, at);
    CHECK(with[i] == expected,
          "tag %d, round %lld: byte %lld of %lld, in part %lld, is %#x not %#x", c->tag,
          (long long)c->round, (long long)at, (long long)channel_bytes(c),
          (long long)(at / (channel_bytes(c) / c->parts)), with[i], expected);
  }
}

/* All pieces of these parts, in an array as the channel has it. */
static void walk(channel *c, const array *a, int64_t first, int64_t count, int compares)
{
  int64_t number = first * c->count * unit_bytes(c->u);
  for (int64_t slot = first * c->count; slot < (first + count) * c->count; slot++)
    for (int i = 0; i < c->u->npieces; i++) {
      unsigned char *at = array_slot(a, c->u, slot) + c->u->piece[i].offset;
      size_t bytes = scalar_bytes(c->u->piece[i].kind);
      if (compares)
        compare(c, at, number, bytes);
      else
        lay(c, at, number, bytes);
      number += (int64_t)bytes;
    }
}

/* ---- on a device ---- */

/* The bytes from the first piece of these parts to the last: parts may lie in each other. */
static void span(const channel *c, int64_t first, int64_t count, size_t *begin, size_t *end)
{
  *begin = c->data.bytes;
  *end = 0;
  for (int64_t slot = first * c->count; slot < (first + count) * c->count; slot++)
    for (int i = 0; i < c->u->npieces; i++) {
      size_t at =
        (size_t)(array_slot(&c->data, c->u, slot) + c->u->piece[i].offset - c->data.memory);
      size_t behind = at + scalar_bytes(c->u->piece[i].kind);
      if (at < *begin) *begin = at;
      if (behind > *end) *end = behind;
    }
}

/* Parts of the buffer, to `host` or from there. */
static void move_parts(channel *c, const array *host, int64_t first, int64_t count, int there)
{
  size_t begin, end;
  if (c->apart == NULL) return;
  span(c, first, count, &begin, &end);
  if (begin < end) apart_copy((char *)c->apart + begin, host->memory + begin, end - begin, there);
}

void channel_set(channel *c, int byte)
{
  memset(c->data.memory, byte, c->data.bytes);
  apart_copy(c->apart, c->data.memory, c->data.bytes, 1);
}

void channel_fetch(channel *c)
{
  apart_copy(c->apart, c->data.memory, c->data.bytes, 0);
}

/* ---- making ---- */

void channel_dress(channel *c)
{
  int64_t nslots = c->parts * c->count;
  c->data = c->lent ? array_in(c->u, nslots, c->lent) : array_create(c->u, nslots);
  c->expected = array_create(c->u, nslots);
  c->apart = apart_take(c->data.bytes, mix2(c->seed, (uint64_t)c->sends));
  channel_set(c, CANARY);
  memset(c->expected.memory, CANARY, c->expected.bytes);
}

grove_status channel_init(channel *c)
{
  char *given = (char *)c->data.slot0;
  if (c->apart) given = (char *)c->apart + (c->data.slot0 - c->data.memory);
  if (c->sends)
    return grove_psend_init(c->ctx, given, c->parts, c->count, c->u->type, c->peer, c->tag, &c->op);
  return grove_precv_init(c->ctx, given, c->parts, c->count, c->u->type, c->peer, c->tag, &c->op);
}

void channel_open(channel *c)
{
  channel_dress(c);
  CHECK_OK(channel_init(c));
}

/* ---- a round ---- */

void channel_start(channel *c)
{
  c->round++;
  CHECK_OK(grove_start(c->op));
}

void channel_fill(channel *c, int64_t first, int64_t count)
{
  walk(c, &c->data, first, count, 0);
  move_parts(c, &c->data, first, count, 1);
}

void channel_ready(channel *c, int64_t first, int64_t count)
{
  channel_fill(c, first, count);
  CHECK_OK(grove_ready(c->op, first, count));
}

void channel_ready_shuffled(channel *c, rng *r)
{
  int64_t *order = need((size_t)c->parts * sizeof *order);
  for (int i = 0; i < c->parts; i++) order[i] = i;
  rng_shuffle(r, c->parts, order);
  for (int i = 0; i < c->parts; i++) channel_ready(c, order[i], 1);
  free(order);
}

void channel_check(channel *c)
{
  char what[64];
  snprintf(what, sizeof what, "from rank %d, tag %d, round %lld:", c->peer, c->tag,
           (long long)c->round);
  if (c->round > 0) walk(c, &c->expected, 0, c->parts, 0);
  channel_fetch(c);
  array_check(c->u, &c->data, &c->expected, "received", what);
}

void channel_check_parts(channel *c, int64_t first, int64_t count)
{
  if (c->apart == NULL) {
    walk(c, &c->data, first, count, 1);
    return;
  }
  array here = array_create(c->u, c->parts * c->count); /* several threads may look at once */
  move_parts(c, &here, first, count, 0);
  walk(c, &here, first, count, 1);
  array_free(&here);
}

void channel_await(channel *c, int64_t first, int64_t count)
{
  for (int yes = 0; !yes;) {
    CHECK_OK(grove_arrived(c->op, first, count, &yes));
    if (!yes) sched_yield();
  }
  channel_check_parts(c, first, count);
}

void channel_over(channel *c)
{
  if (c->sends)
    channel_set(c, 0xee);
  else
    channel_check(c);
}

void channel_wait(channel *c)
{
  CHECK_OK(grove_wait(c->op));
  channel_over(c);
}

void channel_poll(channel *c)
{
  polite_finish(c->op);
  channel_over(c);
}

void channel_run(channel *c)
{
  channel_start(c);
  if (c->sends) channel_ready(c, 0, c->parts);
  channel_wait(c);
}

/* ---- the end ---- */

/* What somebody may still be sending from. */
static struct {
  int n;
  void *memory[MOST_LEFT];
} left;

static void drop(channel *c, int keep)
{
  apart_return(c->apart);
  if (c->lent == NULL && keep) {
    CHECK(left.n < MOST_LEFT, "too many buffers of abandoned channels");
    left.memory[left.n++] = c->data.memory;
  } else if (c->lent == NULL) {
    array_free(&c->data);
  }
  array_free(&c->expected);
}

void channel_close(channel *c)
{
  CHECK_OK(grove_op_free(&c->op));
  CHECK(c->op == NULL, "a freed operation is not NULL");
  drop(c, 0);
}

void channel_abandon(channel *c)
{
  CHECK_OK(grove_op_free(&c->op));
  CHECK(c->op == NULL, "a freed operation is not NULL");
  drop(c, c->sends);
}

void channels_sweep(void)
{
  while (left.n > 0) free(left.memory[--left.n]);
}

/* ---- words ---- */

static void polite_exchange(MPI_Request request, grove_op *idle)
{
  for (int done = 0, ignored; !done;) {
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (done) return;
    if (idle != NULL) CHECK_OK(grove_test(idle, &ignored));
    sched_yield();
  }
}

void tell(const place *p, int to)
{
  MPI_Request request;
  MPI_Isend(NULL, 0, MPI_INT, to, TAG_OF_WORDS, p->comm, &request);
  polite_exchange(request, NULL);
}

void hear(const place *p, int from, grove_op *idle)
{
  MPI_Request request;
  MPI_Irecv(NULL, 0, MPI_INT, from, TAG_OF_WORDS, p->comm, &request);
  polite_exchange(request, idle);
}

/* ---- units ---- */

const unit *channel_unit(const units *all, int i)
{
  static const char *const names[CHANNEL_UNITS] = {
    "MPI_BYTE",           "MPI_INT",
    "MPI_DOUBLE",         "MPI_INT64_T",
    "3 doubles",          "600 shorts",
    "2x2 matrix",         "vector of ints with gaps",
    "int in 20 bytes",    "floats out of order",
    "vector backwards",   "double before its slot",
    "column of a matrix", "struct of char and double",
    "2 structs",
  };
  return units_find(all, names[i]);
}
