/* A ring in shared memory: one writer, one or several readers, no lock and no system call.
 *
 *     head | ack of reader 0 | ack of reader 1 | ... | slot 0 | slot 1 | ...
 *
 * Item k = 0, 1, 2, ... lies in slot k % slots. A slot begins with the number of its item, plus
 * one. The first 48 bytes of data lie in the same cache line, so a small item costs one transfer
 * between two caches. Numbers only grow:
 *
 *     - the writer stores the data, then the number (release);
 *     - a reader that sees the number (acquire) sees the data; when done with it, it stores how
 *       many items it has consumed (release), in a cache line of its own;
 *     - the writer reuses a slot only when all readers have consumed its item. It remembers how far
 *       they were, and looks again only when the ring seems full.
 *
 * A reader that leaves says that it has consumed everything that will ever come. The writer's rank
 * owns the memory, and gives it back when all readers have left.
 *
 * tests/transport/ring_model.c runs these functions in all interleavings.
 */
#ifndef GROVE_TRANSPORT_RING_H
#define GROVE_TRANSPORT_RING_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { GROVE_RING_LINE = 64, GROVE_SLOT_HEAD = 16, GROVE_SLOT_INLINE = 48 };

/* How much a reader that has left has consumed. */
#define GROVE_RING_LEFT UINT64_MAX

/* What an item holds. */
typedef enum grove_item { GROVE_ITEM_DATA, GROVE_ITEM_SPOT, GROVE_ITEM_CHUNK } grove_item;

typedef struct grove_slot {
  uint64_t number; /* of the item, plus one */
  uint64_t kind;   /* a grove_item */
} grove_slot;

/* The size of a ring. */
typedef struct grove_ring_size {
  int64_t slots; /* a power of two */
  int64_t stride;
  int64_t readers;
} grove_ring_size;

/* The head in shared memory. Acks and slots follow, on lines of their own. */
typedef union grove_ring {
  grove_ring_size size;
  char line[2 * GROVE_RING_LINE];
} grove_ring;

typedef struct grove_ring_writer {
  char *slots;
  int64_t stride;
  uint64_t mask;
  uint64_t next;  /* item to be written */
  uint64_t acked; /* by all readers, at the last look */
  const char *acks;
  int readers;
  int64_t turn; /* which start of the wiring may write now */
} grove_ring_writer;

typedef struct grove_ring_reader {
  const char *slots;
  int64_t stride;
  uint64_t mask;
  uint64_t next; /* item to be read */
  uint64_t *ack;
  int64_t turn; /* which start of the wiring may read now */
} grove_ring_reader;

/* For items of at most `bytes` bytes each. */
static inline grove_ring_size grove_ring_size_of(int64_t bytes, int64_t slots, int64_t readers)
{
  int64_t lines = (bytes + GROVE_SLOT_HEAD + GROVE_RING_LINE - 1) / GROVE_RING_LINE;
  grove_ring_size size = {slots, (lines > 0 ? lines : 1) * GROVE_RING_LINE, readers};
  return size;
}

static inline int64_t grove_ring_slots_offset(const grove_ring_size *size)
{
  int64_t lines = 2 + (size->readers + 1) / 2 * 2;
  return lines * GROVE_RING_LINE;
}

static inline int64_t grove_ring_bytes(const grove_ring_size *size)
{
  return grove_ring_slots_offset(size) + size->slots * size->stride;
}

static inline char *grove_ring_ack(const grove_ring *ring, int64_t reader)
{
  return (char *)(ring + 1) + reader * GROVE_RING_LINE;
}

/* Makes a ring in `ring`, whose memory may hold anything, and returns its writer's end. */
static inline grove_ring_writer grove_ring_make(grove_ring *ring, const grove_ring_size *size)
{
  char *slots = (char *)ring + grove_ring_slots_offset(size);
  ring->size = *size;
  for (int64_t r = 0; r < size->readers; r++) *(uint64_t *)(void *)grove_ring_ack(ring, r) = 0;
  for (int64_t s = 0; s < size->slots; s++)
    ((grove_slot *)(void *)(slots + s * size->stride))->number = 0;
  grove_ring_writer w = {slots,
                         size->stride,
                         (uint64_t)size->slots - 1,
                         0,
                         0,
                         grove_ring_ack(ring, 0),
                         (int)size->readers,
                         1};
  return w;
}

static inline grove_ring_reader grove_ring_join(const grove_ring *ring, int reader)
{
  const grove_ring_size *size = &ring->size;
  grove_ring_reader r = {(const char *)ring + grove_ring_slots_offset(size),
                         size->stride,
                         (uint64_t)size->slots - 1,
                         0,
                         (uint64_t *)(void *)grove_ring_ack(ring, reader),
                         1};
  return r;
}

/* ---- the writer ---- */

static inline uint64_t grove_ring_consumed_by(const grove_ring_writer *w, int reader)
{
  const uint64_t *ack = (const uint64_t *)(const void *)(w->acks + reader * GROVE_RING_LINE);
  return __atomic_load_n(ack, __ATOMIC_ACQUIRE);
}

/* Items that all readers have consumed. */
static inline uint64_t grove_ring_consumed(const grove_ring_writer *w)
{
  uint64_t least = GROVE_RING_LEFT;
  for (int r = 0; r < w->readers; r++) {
    uint64_t consumed = grove_ring_consumed_by(w, r);
    if (consumed < least) least = consumed;
  }
  return least == GROVE_RING_LEFT ? w->next : least;
}

/* Does the writer wait for this reader: to consume item number `posted`, or (0) to free a slot? */
static inline int grove_ring_lags(const grove_ring_writer *w, int reader, uint64_t posted)
{
  uint64_t consumed = grove_ring_consumed_by(w, reader);
  return consumed < (posted ? posted : w->next > w->mask ? w->next - w->mask : 0);
}

/* The slot for the next item, or NULL if none is free. */
static inline grove_slot *grove_ring_claim(grove_ring_writer *w)
{
  if (w->next - w->acked > w->mask) {
    w->acked = grove_ring_consumed(w);
    if (w->next - w->acked > w->mask) return (grove_slot *)0;
  }
  return (grove_slot *)(void *)(w->slots + (int64_t)(w->next & w->mask) * w->stride);
}

/* The claimed slot is filled. */
static inline void grove_ring_post(grove_ring_writer *w, grove_slot *slot)
{
  __atomic_store_n(&slot->number, ++w->next, __ATOMIC_RELEASE);
}

/* ---- a reader ---- */

/* The next item, or NULL if it has not come. */
static inline const grove_slot *grove_ring_peek(const grove_ring_reader *r)
{
  const char *at = r->slots + (int64_t)(r->next & r->mask) * r->stride;
  const grove_slot *slot = (const grove_slot *)(const void *)at;
  return __atomic_load_n(&slot->number, __ATOMIC_ACQUIRE) > r->next ? slot : (const grove_slot *)0;
}

/* Done with the item. */
static inline void grove_ring_pass(grove_ring_reader *r)
{
  __atomic_store_n(r->ack, ++r->next, __ATOMIC_RELEASE);
}

/* Has the item come that is k behind the next? At most as many as there are slots. */
static inline int grove_ring_has(const grove_ring_reader *r, uint64_t k)
{
  const char *at = r->slots + (int64_t)((r->next + k) & r->mask) * r->stride;
  const grove_slot *slot = (const grove_slot *)(const void *)at;
  return __atomic_load_n(&slot->number, __ATOMIC_ACQUIRE) > r->next + k;
}

/* Goes on to the next item, and is done with this one later. */
static inline void grove_ring_take(grove_ring_reader *r)
{
  r->next++;
}

/* Done with all items that were taken, except the last `pending`. */
static inline void grove_ring_settle(const grove_ring_reader *r, uint64_t pending)
{
  __atomic_store_n(r->ack, r->next - pending, __ATOMIC_RELEASE);
}

/* Is no slot free? Then the writer may be waiting. */
static inline int grove_ring_is_full(const grove_ring_reader *r)
{
  return grove_ring_has(r, r->mask);
}

static inline void grove_ring_leave(grove_ring_reader *r)
{
  __atomic_store_n(r->ack, GROVE_RING_LEFT, __ATOMIC_RELEASE);
}

/* Have all readers left? */
static inline int grove_ring_is_left(const grove_ring *ring)
{
  for (int64_t r = 0; r < ring->size.readers; r++) {
    const uint64_t *ack = (const uint64_t *)(const void *)grove_ring_ack(ring, r);
    if (__atomic_load_n(ack, __ATOMIC_ACQUIRE) != GROVE_RING_LEFT) return 0;
  }
  return 1;
}

/* The data of an item. */
static inline void *grove_slot_data(const grove_slot *slot)
{
  return (char *)slot + GROVE_SLOT_HEAD;
}

#ifdef __cplusplus
}
#endif

#endif
