/* Memory of queues (queue.h) that is used again: reserving and mapping a region of the arena costs
 * more than a round of a short message. One shelf per context.
 *
 *     sender                                  receiver
 *     grove_shelf_take(shelf, bytes, &b)
 *     ... a queue in b ... its spot -->       grove_shelf_reach(shelf, &spot, &memory)
 *                                             ... reads ... grove_queue_leave
 *     grove_shelf_give(shelf, b)              grove_shelf_leave(shelf, &spot)
 *
 * A region that was given is used again when its reader has left it. Idle memory is limited: the
 * sender gives the oldest regions back to the system, and the receiver keeps few of them mapped.
 * Neither tells the other. No region ever lies where another one was. So a mapping of a region that
 * is gone does no harm: nobody touches it.
 */
#ifndef GROVE_PARTITIONED_SHELF_H
#define GROVE_PARTITIONED_SHELF_H

#include "context/arena.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Per rank. Besides what the others have there, this is not much in the 64 MiB of a container. */
enum { GROVE_SHELF_IDLE = 64, GROVE_SHELF_BYTES = 1 << 21, GROVE_SHELF_MAPPED = 256 };

typedef struct grove_shelf {
  grove_arena *arena;
  grove_block *read; /* given, and not yet left by their readers */
  grove_block *idle; /* the latest one given comes first */
  int nidle;
  int64_t idle_bytes;
  int nmapped;
  int64_t mapped[GROVE_SHELF_MAPPED]; /* others' regions that nobody reads, oldest first */
} grove_shelf;

/* At the end, before the arena is freed. */
void grove_shelf_clear(grove_shelf *shelf);

/* A block of at least `bytes` bytes, not zeroed, in a region of its own. */
grove_status grove_shelf_take(grove_shelf *shelf, int64_t bytes, grove_block **out);
/* The queue in it may still be read. */
void grove_shelf_give(grove_shelf *shelf, grove_block *block);

/* A queue of another rank, or of this one. */
grove_status grove_shelf_reach(grove_shelf *shelf, const grove_spot *spot, void **out);
/* The queue there has been left. */
void grove_shelf_leave(grove_shelf *shelf, const grove_spot *spot);

#ifdef __cplusplus
}
#endif

#endif
