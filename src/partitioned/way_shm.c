/* Through a queue (queue.h) in memory that both ends share. It belongs to the sender. The thread
 * that finds a run due copies it, slot by slot, and the receiver copies it on. If one of the arrays
 * lies in memory of grove_alloc, there is only one copy. If the receiver has started the round, the
 * thread puts the bytes straight into the receiver's array. Or the receiver takes them from the
 * sender's, if there are many.
 *
 * What the queue has no room for is *late*: noted by run, and posted by whoever drives. A sender
 * posts before the receiver has answered. What lies in the queue waits there for its round.
 */
#include "partitioned/queue.h"
#include "partitioned/way.h"

#include "base/pause.h"

#include <stdlib.h>
#include <string.h>

enum { LEAST_SLOT = 1 << 11, MOST_SLOT = 1 << 14, MOST_QUEUE = 1 << 18, LEAST_SLOTS = 4 };

/* The rest of a run that found no room, by the run's first part. */
typedef struct late_run {
  int64_t begin, offset, end; /* begin of the run; the rest */
  int is;                     /* atomic */
} late_run;

typedef struct shm_end {
  grove_queue *queue; /* NULL: the receiver has left it */
  grove_block *block; /* the sender's */
  grove_spot spot;    /* the receiver's: where the queue lies */
  char *theirs;       /* the other end's message, if it is shared */
  int mine_is_shared;
  /* sender */
  uint64_t tail, seen; /* atomic, like all of these */
  uint64_t last_spot;  /* the item after the last one that the receiver takes from here */
  int64_t left;        /* bytes that have not left in this round */
  int nlate;
  late_run *late; /* by part */
  /* receiver */
  uint64_t next;
} shm_end;

/* ---- the two ends meet ---- */

/* Tells where the message lies, if the other end can reach it. */
static int tell_array(const grove_channel *c, grove_greeting *greeting)
{
  greeting->shares = c->dense && c->bytes >= GROVE_IN_PLACE_BYTES &&
                     grove_context_locate(c->base.ctx, c->data, &greeting->array);
  return (int)greeting->shares;
}

/* Threads may be about to put bytes there. */
static grove_status reach_array(grove_channel *c, const grove_greeting *greeting)
{
  shm_end *e = c->end;
  void *memory = NULL;
  if (!greeting->shares) return GROVE_OK;
  GROVE_PASS(grove_arena_reach(c->base.ctx->arena, &greeting->array, &memory));
  __atomic_store_n(&e->theirs, memory, __ATOMIC_RELEASE);
  return GROVE_OK;
}

/* A slot has room for a part, and there are slots for two rounds, unless that is too much. */
static grove_status make_queue(grove_channel *c, shm_end *e)
{
  int64_t slot = c->part_bytes > LEAST_SLOT ? c->part_bytes : LEAST_SLOT, slots = LEAST_SLOTS;
  if (slot > c->bytes) slot = c->bytes;
  if (slot > MOST_SLOT) slot = MOST_SLOT;
  int64_t stride = grove_round_up((int64_t)sizeof(grove_queue_slot) + slot, GROVE_QUEUE_LINE);
  int64_t wanted = c->bytes / (slot > 0 ? slot : 1) + 1;
  if (wanted < c->plan.ngroups) wanted = c->plan.ngroups;
  while (slots < 2 * wanted && 2 * slots * stride <= MOST_QUEUE) slots *= 2;
  GROVE_PASS(
    grove_shelf_take(grove_match_shelf(c->base.ctx), grove_queue_bytes(slots, stride), &e->block));
  e->queue = e->block->memory;
  grove_queue_make(e->queue, slots, stride);
  return GROVE_OK;
}

static grove_status offer_queue(grove_channel *c, grove_greeting *greeting)
{
  shm_end *e = NULL;
  GROVE_PASS_NEW(e, 1);
  c->end = e;
  GROVE_PASS_NEW(e->late, c->parts + 1); /* one for a message without parts */
  GROVE_PASS(make_queue(c, e));
  greeting->queue = e->block->spot;
  e->mine_is_shared = tell_array(c, greeting);
  return GROVE_OK;
}

static grove_status accept_queue(grove_channel *c, const grove_greeting *greeting,
                                 grove_greeting *answer)
{
  shm_end *e = NULL;
  void *memory = NULL;
  GROVE_PASS_NEW(e, 1);
  c->end = e;
  GROVE_PASS(grove_shelf_reach(grove_match_shelf(c->base.ctx), &greeting->queue, &memory));
  e->queue = memory;
  e->spot = greeting->queue;
  GROVE_PASS(reach_array(c, greeting));
  e->mine_is_shared = tell_array(c, answer);
  return GROVE_OK;
}

static grove_status tie_queue(grove_channel *c, const grove_greeting *answer)
{
  return reach_array(c, answer);
}

static grove_status open_queue_round(grove_channel *c)
{
  shm_end *e = c->end;
  if (c->sends)
    __atomic_store_n(&e->left, c->bytes, __ATOMIC_RELEASE);
  else if (e->mine_is_shared)
    grove_queue_go(e->queue, c->round);
  return GROVE_OK;
}

/* ---- sending ---- */

/* How many of these bytes could be posted; 0 if the queue is full. */
static int64_t post_item(grove_channel *c, shm_end *e, int64_t offset, int64_t bytes,
                         grove_queued kind)
{
  uint64_t item = 0;
  grove_queue_slot *slot = grove_queue_claim(e->queue, &e->tail, &e->seen, &item);
  int64_t room = e->queue->stride - (int64_t)sizeof *slot;
  int64_t wanted = bytes;
  if (!slot) return -1;
  if (kind == GROVE_QUEUED_DATA && bytes > room) bytes = room;
  if (kind == GROVE_QUEUED_DATA && bytes > 0)
    memcpy(grove_queue_data(slot), c->data + offset, (size_t)bytes);
  if (kind == GROVE_QUEUED_SPOT) {
    uint64_t last = __atomic_load_n(&e->last_spot, __ATOMIC_RELAXED);
    while (last < item + 1 && !__atomic_compare_exchange_n(&e->last_spot, &last, item + 1, 0,
                                                           __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
  }
  slot->round = c->round;
  slot->offset = offset;
  slot->about = grove_queue_about(bytes, kind, bytes < wanted);
  grove_queue_post(slot, item);
  return bytes;
}

/* Puts bytes straight into the receiver's array, if it is open to us now. */
static int put_queue(grove_channel *c, shm_end *e, int64_t offset, int64_t bytes)
{
  char *theirs = __atomic_load_n(&e->theirs, __ATOMIC_ACQUIRE);
  if (!theirs || !grove_queue_begin_put(e->queue, c->round)) return 0;
  memcpy(theirs + offset, c->data + offset, (size_t)bytes);
  grove_queue_end_put(e->queue);
  return 1;
}

/* Notes the rest of a run when the queue is full. */
static void note_late(shm_end *e, int64_t part, late_run rest)
{
  late_run *l = &e->late[part];
  l->begin = rest.begin;
  l->offset = rest.offset;
  l->end = rest.end;
  __atomic_store_n(&l->is, 1, __ATOMIC_RELEASE);
  __atomic_fetch_add(&e->nlate, 1, __ATOMIC_RELEASE);
}

/* `put` bytes need only be announced. If there is no room for that, they are late, and put
 * again. */
static int64_t post_some(grove_channel *c, shm_end *e, int64_t offset, int64_t bytes)
{
  if (grove_queue_is_left(e->queue)) return bytes;
  if (put_queue(c, e, offset, bytes)) return post_item(c, e, offset, bytes, GROVE_QUEUED_PUT);
  int from_here = e->mine_is_shared && !c->packed && bytes >= GROVE_IN_PLACE_BYTES;
  return post_item(c, e, offset, bytes, from_here ? GROVE_QUEUED_SPOT : GROVE_QUEUED_DATA);
}

static void post_range(grove_channel *c, shm_end *e, int64_t part, late_run run)
{
  do {
    int64_t posted = post_some(c, e, run.offset, run.end - run.offset);
    if (posted < 0) {
      note_late(e, part, run);
      return;
    }
    run.offset += posted;
    if (run.offset == run.end) grove_channel_note_sent(c, run.begin, run.end - run.begin);
    __atomic_fetch_sub(&e->left, posted, __ATOMIC_RELEASE);
  } while (run.offset < run.end);
}

static grove_status post_queue(grove_channel *c, int64_t offset, int64_t bytes)
{
  int64_t part = c->part_bytes > 0 ? offset / c->part_bytes : 0;
  post_range(c, c->end, part, (late_run){offset, offset, offset + bytes, 0});
  return GROVE_OK;
}

static void post_late(grove_channel *c, shm_end *e)
{
  for (int64_t p = 0; p <= c->parts && __atomic_load_n(&e->nlate, __ATOMIC_ACQUIRE) > 0; p++) {
    late_run *l = &e->late[p];
    if (!__atomic_load_n(&l->is, __ATOMIC_ACQUIRE)) continue;
    __atomic_store_n(&l->is, 0, __ATOMIC_RELAXED);
    __atomic_fetch_sub(&e->nlate, 1, __ATOMIC_RELAXED);
    post_range(c, e, p, (late_run){l->begin, l->offset, l->end, 0});
    if (__atomic_load_n(&l->is, __ATOMIC_ACQUIRE)) return; /* the queue is still full */
  }
}

static int queue_is_quiet(const grove_channel *c)
{
  const shm_end *e = c->end;
  if (!e || grove_queue_is_left(e->queue)) return 1;
  if (__atomic_load_n(&e->nlate, __ATOMIC_ACQUIRE) != 0) return 0;
  if (!grove_channel_is_abandoned(c) && __atomic_load_n(&e->left, __ATOMIC_ACQUIRE) != 0) return 0;
  uint64_t spot = __atomic_load_n(&e->last_spot, __ATOMIC_RELAXED);
  return spot == 0 || grove_queue_consumed(e->queue) >= spot;
}

static int queue_needs_calls(const grove_channel *c)
{
  const shm_end *e = c->end;
  return e && __atomic_load_n(&e->nlate, __ATOMIC_RELAXED) != 0;
}

/* ---- receiving ---- */

static grove_status take_items(grove_channel *c, shm_end *e)
{
  grove_queue_slot *slot;
  while ((slot = grove_queue_peek(e->queue, e->next)) && slot->round == c->round) {
    int64_t offset = slot->offset, bytes = slot->about >> 3;
    grove_queued kind = (grove_queued)(slot->about & 3);
    int more = (slot->about & 4) != 0;
    const char *from = kind == GROVE_QUEUED_SPOT ? e->theirs + offset : grove_queue_data(slot);
    if (kind != GROVE_QUEUED_PUT && bytes > 0) memcpy(c->data + offset, from, (size_t)bytes);
    grove_queue_pass(e->queue, e->next++);
    GROVE_PASS(grove_channel_take(c, offset, bytes));
    c->messages += !more;
  }
  return GROVE_OK;
}

static grove_status advance_queue(grove_channel *c)
{
  shm_end *e = c->end;
  if (!c->sends) return e->queue ? take_items(c, e) : GROVE_OK;
  if (__atomic_load_n(&e->nlate, __ATOMIC_ACQUIRE) != 0) post_late(c, e);
  return GROVE_OK;
}

/* ---- freeing ---- */

/* From now on nobody writes to the receiver's array, and the sender may use the queue for another
 * channel. */
static void leave_queue(const grove_channel *c, shm_end *e)
{
  grove_pause pause;
  if (!e->queue) return;
  grove_queue_go(e->queue, 0);
  grove_pause_begin(&pause, 0);
  while (grove_queue_is_written(e->queue)) grove_pause_step(&pause); /* for the time of a copy */
  grove_queue_leave(e->queue);
  e->queue = NULL;
  if (c->peer != c->base.ctx->rank) /* otherwise the memory is its own */
    grove_shelf_leave(grove_match_shelf(c->base.ctx), &e->spot);
}

static grove_status detach_queue(grove_channel *c)
{
  if (!c->sends) leave_queue(c, c->end);
  return GROVE_OK;
}

static void close_queue(grove_channel *c)
{
  shm_end *e = c->end;
  if (c->sends && e->block) grove_shelf_give(grove_match_shelf(c->base.ctx), e->block);
  if (!c->sends) leave_queue(c, e);
  free(e->late);
  free(e);
  c->end = NULL;
}

const grove_way_kind grove_way_shm = {
  .name = "shm",
  .by_threads = 1,
  .before_answer = 1,
  .offer = offer_queue,
  .accept = accept_queue,
  .tie = tie_queue,
  .open = open_queue_round,
  .post = post_queue,
  .advance = advance_queue,
  .is_quiet = queue_is_quiet,
  .needs_calls = queue_needs_calls,
  .detach = detach_queue,
  .close = close_queue,
};
