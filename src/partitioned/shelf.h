/* Memory of queues (queue.h) that is used again: to reserve and to map a piece of the arena costs
 * more than a round of a short message. One shelf for each context.
 *
 *     sender                                  receiver
 *     grove_shelf_take(shelf, bytes, &b)
 *     ... a queue in b ... its spot -->       grove_shelf_reach(shelf, &spot, &memory)
 *                                             ... reads ... grove_queue_leave
 *     grove_shelf_give(shelf, b)              grove_shelf_leave(shelf, &spot)
 *
 * A piece that was given is used again when its reader has left it. What lies idle is limited: the
 * sender gives the oldest pieces back to the system, the receiver keeps few of them mapped. Neither
 * tells the other. A piece never lies where another one was, so a mapping of one that is gone does
 * no harm: nobody touches it.
 */
#ifndef GROVE_PARTITIONED_SHELF_H
#define GROVE_PARTITIONED_SHELF_H

#include "context/arena.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Of a rank: beside what the others have there, not much in the 64 MiB of a container. */
enum { GROVE_SHELF_IDLE = 64, GROVE_SHELF_BYTES = 1 << 21, GROVE_SHELF_MAPPED = 256 };

typedef struct grove_shelf {
  grove_arena *arena;
  grove_block *read; /* given, and their reader has not left */
  grove_block *idle; /* the last one that was given first */
  int nidle;
  int64_t idle_bytes;
  int nmapped;
  int64_t mapped[GROVE_SHELF_MAPPED]; /* pieces of others that nobody reads, the oldest first */
} grove_shelf;

/* At the end, before that of the arena. */
void grove_shelf_clear(grove_shelf *shelf);

/* A block of at least `bytes` bytes, not zeroed, in a piece of its own. */
grove_status grove_shelf_take(grove_shelf *shelf, int64_t bytes, grove_block **out);
/* A queue is in it, which may still be read. */
void grove_shelf_give(grove_shelf *shelf, grove_block *block);

/* Another rank's, or this one's. */
grove_status grove_shelf_reach(grove_shelf *shelf, const grove_spot *spot, void **out);
/* The queue there has been left. */
void grove_shelf_leave(grove_shelf *shelf, const grove_spot *spot);

#ifdef __cplusplus
}
#endif

#endif
