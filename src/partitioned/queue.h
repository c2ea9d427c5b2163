/* A queue in shared memory: many writers, the threads of one rank, and one reader; no lock.
 *
 *     head | consumed | go, left | writers | slot 0 | slot 1 | ...
 *
 * Item k = 0, 1, 2, ... lies in slot k % slots. A writer claims the next number if the reader has
 * consumed what lay there, fills the slot, and stores the number plus one (release). The reader
 * takes items in order. An item that is claimed and not yet filled holds up those behind it for the
 * time of a copy. `tail` is in the writers' own memory: only they claim.
 *
 * go, writers: writers may also put bytes straight into the reader's array while it has started
 * their round. A reader that wants its array back takes `go` away and waits until no writer is
 * inside. A writer says that it is inside, then looks at `go` (both sequentially consistent).
 */
#ifndef GROVE_PARTITIONED_QUEUE_H
#define GROVE_PARTITIONED_QUEUE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { GROVE_QUEUE_LINE = 64, GROVE_QUEUE_HEAD_BYTES = 5 * GROVE_QUEUE_LINE };

/* How the bytes of an item travel: they follow it; they are already in place; or the reader takes
 * them from where the sender has them. */
typedef enum grove_queued { GROVE_QUEUED_DATA, GROVE_QUEUED_PUT, GROVE_QUEUED_SPOT } grove_queued;

typedef struct grove_queue_slot {
  uint64_t number; /* of the item, plus one */
  int64_t round;
  int64_t offset;
  int64_t about; /* see below */
} grove_queue_slot;

typedef struct grove_queue {
  int64_t slots, stride; /* slots: a power of two */
  char line_1_[GROVE_QUEUE_LINE - 16];
  uint64_t consumed;
  char line_2_[GROVE_QUEUE_LINE - 8];
  int64_t go; /* the round that the reader has started */
  int64_t left;
  char line_3_[GROVE_QUEUE_LINE - 16];
  int64_t writers; /* that put bytes */
  char line_4_[2 * GROVE_QUEUE_LINE - 8];
} grove_queue;

static inline grove_queue_slot *grove_queue_at(const grove_queue *q, uint64_t item)
{
  char *slots = (char *)(uintptr_t)q + GROVE_QUEUE_HEAD_BYTES;
  return (grove_queue_slot *)(void *)(slots +
                                      (int64_t)(item & (uint64_t)(q->slots - 1)) * q->stride);
}

static inline int64_t grove_queue_bytes(int64_t slots, int64_t stride)
{
  return GROVE_QUEUE_HEAD_BYTES + slots * stride;
}

static inline void grove_queue_make(grove_queue *q, int64_t slots, int64_t stride)
{
  q->slots = slots;
  q->stride = stride;
  q->consumed = 0;
  q->go = q->left = q->writers = 0;
  for (int64_t s = 0; s < slots; s++) grove_queue_at(q, (uint64_t)s)->number = 0;
}

/* The bytes of an item, how they travel, and whether more of its run follows. */
static inline int64_t grove_queue_about(int64_t bytes, grove_queued kind, int more)
{
  return bytes * 8 + (more ? 4 : 0) + (int64_t)kind;
}

static inline void *grove_queue_data(grove_queue_slot *slot)
{
  return slot + 1;
}

/* ---- writers ---- */

static inline int grove_queue_is_left(const grove_queue *q)
{
  return __atomic_load_n(&q->left, __ATOMIC_ACQUIRE) != 0;
}

static inline uint64_t grove_queue_consumed(const grove_queue *q)
{
  return __atomic_load_n(&q->consumed, __ATOMIC_ACQUIRE);
}

/* The next slot and the number of its item; NULL if none is free. `seen` is what is known of the
 * reader's progress. */
static inline grove_queue_slot *grove_queue_claim(const grove_queue *q, uint64_t *tail,
                                                  uint64_t *seen, uint64_t *item)
{
  uint64_t next = __atomic_load_n(tail, __ATOMIC_RELAXED);
  do {
    if (next - __atomic_load_n(seen, __ATOMIC_ACQUIRE) >= (uint64_t)q->slots) {
      __atomic_store_n(seen, grove_queue_consumed(q), __ATOMIC_RELEASE);
      next = __atomic_load_n(tail, __ATOMIC_RELAXED);
      if (next - __atomic_load_n(seen, __ATOMIC_ACQUIRE) >= (uint64_t)q->slots)
        return (grove_queue_slot *)0;
    }
  } while (
    !__atomic_compare_exchange_n(tail, &next, next + 1, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  *item = next;
  grove_queue_slot *slot = grove_queue_at(q, next);
#ifdef __SANITIZE_THREAD__
  /* The last writer of this slot is done: the reader saw that, and told by `consumed`. The
   * sanitizer cannot see through the reader, another process. */
  (void)__atomic_load_n(&slot->number, __ATOMIC_ACQUIRE);
#endif
  return slot;
}

static inline void grove_queue_post(grove_queue_slot *slot, uint64_t item)
{
  __atomic_store_n(&slot->number, item + 1, __ATOMIC_RELEASE);
}

/* May this thread write to the reader's array in this round? If so, it must end the put. */
static inline int grove_queue_begin_put(grove_queue *q, int64_t round)
{
  __atomic_fetch_add(&q->writers, 1, __ATOMIC_SEQ_CST);
  if (__atomic_load_n(&q->go, __ATOMIC_SEQ_CST) == round) return 1;
  __atomic_fetch_sub(&q->writers, 1, __ATOMIC_RELEASE);
  return 0;
}

static inline void grove_queue_end_put(grove_queue *q)
{
  __atomic_fetch_sub(&q->writers, 1, __ATOMIC_RELEASE);
}

/* ---- the reader ---- */

/* Item `next`, or NULL if it has not come. */
static inline grove_queue_slot *grove_queue_peek(const grove_queue *q, uint64_t next)
{
  grove_queue_slot *slot = grove_queue_at(q, next);
  return __atomic_load_n(&slot->number, __ATOMIC_ACQUIRE) == next + 1 ? slot
                                                                      : (grove_queue_slot *)0;
}

static inline void grove_queue_pass(grove_queue *q, uint64_t next)
{
  __atomic_store_n(&q->consumed, next + 1, __ATOMIC_RELEASE);
}

/* 0: no round. */
static inline void grove_queue_go(grove_queue *q, int64_t round)
{
  __atomic_store_n(&q->go, round, __ATOMIC_SEQ_CST);
}

static inline int grove_queue_is_written(const grove_queue *q)
{
  return __atomic_load_n(&q->writers, __ATOMIC_SEQ_CST) != 0;
}

static inline void grove_queue_leave(grove_queue *q)
{
  __atomic_store_n(&q->left, 1, __ATOMIC_RELEASE);
}

#ifdef __cplusplus
}
#endif

#endif
