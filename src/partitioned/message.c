/* The message of an end: which bytes have left, and which parts have come. */
#include "partitioned/staged.h"
#include "partitioned/way.h"

#include <stdlib.h>

grove_part_run grove_channel_parts_of(const grove_channel *c, int64_t offset, int64_t bytes)
{
  if (c->part_bytes == 0) return (grove_part_run){0, c->parts};
  int64_t first = offset / c->part_bytes,
          end = (offset + bytes + c->part_bytes - 1) / c->part_bytes;
  return (grove_part_run){first, end - first};
}

/* ---- leaving ---- */

void grove_channel_note_sent(grove_channel *c, int64_t offset, int64_t bytes)
{
  int64_t message = __atomic_fetch_add(&c->messages, 1, __ATOMIC_RELAXED);
  if (!c->when) return;
  double now = grove_clock();
  grove_part_run run = grove_channel_parts_of(c, offset, bytes);
  for (int64_t p = run.first; p < run.first + run.count; p++) {
    c->when[p].sent = now;
    c->when[p].message = message;
  }
}

/* ---- coming ---- */

static void note_arrival(grove_channel *c, int64_t p)
{
  if (c->when) c->when[p].arrived = grove_clock();
  __atomic_store_n(&c->come[p], c->part_bytes, __ATOMIC_RELEASE);
  c->arrivals[c->narrivals] = p;
  __atomic_store_n(&c->narrivals, c->narrivals + 1, __ATOMIC_RELEASE);
}

/* If its device has failed, the end still takes what comes: the sender must not wait for it. */
static grove_status complete_part(grove_channel *c, int64_t p)
{
  if (c->when) c->when[p].message = c->messages;
  if (c->staged) {
    if (!grove_staged_has_failed(c))
      grove_op_note(&c->base, grove_staged_begin(c, (grove_part_run){p, 1}));
    return GROVE_OK;
  }
  if (!c->dense && !grove_channel_is_abandoned(c))
    GROVE_PASS(grove_unpack(&c->mover, &c->shape, c->data + p * c->part_bytes, c->array,
                            p * c->part_units, c->part_units));
  note_arrival(c, p);
  return GROVE_OK;
}

void grove_channel_land(grove_channel *c)
{
  grove_part_run run;
  grove_op_note(&c->base, grove_staged_flush(c));
  while (grove_staged_next(c, &run)) note_arrival(c, run.first);
}

/* A part of no bytes has come when the empty message has. */
enum { NOTHING_CAME = -1 };

grove_status grove_channel_take(grove_channel *c, int64_t offset, int64_t bytes)
{
  int64_t end = offset + bytes;
  if (c->bytes == 0)
    for (int64_t p = 0; p < c->parts; p++) GROVE_PASS(complete_part(c, p));
  for (int64_t at = offset; at < end;) {
    int64_t p = at / c->part_bytes, stop = (p + 1) * c->part_bytes;
    int64_t come = c->come[p] + (stop < end ? stop : end) - at;
    if (come < c->part_bytes)
      __atomic_store_n(&c->come[p], come, __ATOMIC_RELAXED);
    else
      GROVE_PASS(complete_part(c, p));
    at = stop;
  }
  c->missing -= bytes;
  if (c->bytes == 0) c->missing = NOTHING_CAME;
  return GROVE_OK;
}

void grove_channel_want_no_more(grove_channel *c)
{
  c->missing = c->bytes == 0 ? NOTHING_CAME : 0;
}

int grove_channel_has_come(const grove_channel *c)
{
  if (c->bytes == 0) return c->missing == NOTHING_CAME;
  return c->missing == 0 && (!c->staged || grove_staged_is_done(c));
}

int grove_channel_have_come(const grove_channel *c, int64_t first, int64_t count)
{
  if (c->part_bytes == 0) return __atomic_load_n(&c->narrivals, __ATOMIC_ACQUIRE) == c->parts;
  for (int64_t p = first; p < first + count; p++)
    if (__atomic_load_n(&c->come[p], __ATOMIC_ACQUIRE) < c->part_bytes) return 0;
  return 1;
}

/* The next run that nobody was told of; 0 if there is none. */
int grove_channel_claim(grove_channel *c, grove_part_run *out)
{
  int64_t from = __atomic_load_n(&c->told, __ATOMIC_RELAXED);
  for (;;) {
    int64_t n = __atomic_load_n(&c->narrivals, __ATOMIC_ACQUIRE), to = from + 1;
    if (from >= n) return 0;
    while (to < n && c->arrivals[to] == c->arrivals[to - 1] + 1) to++;
    grove_part_run run = {c->arrivals[from], to - from};
    if (__atomic_compare_exchange_n(&c->told, &from, to, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
      *out = run;
      return 1;
    }
  }
}
