/* Memory that the ranks of one host share, for one context: one segment, which grows in regions.
 * Every rank allocates from its own regions, so nobody needs a lock. Each allocation lies at a
 * *spot* of the segment, through which the other ranks reach it.
 *
 *     one rank                                           another, once it knows the spot
 *     grove_arena_alloc(arena, bytes, &block)
 *     ... block->memory ...
 *     grove_arena_post(arena, &block->spot)
 *     (a collective step of the context)
 *                                                        grove_arena_read(arena, seat, &spot)
 *                                                        grove_arena_reach(arena, &spot, &memory)
 *     grove_arena_release(arena, block)                  (no longer uses it)
 *
 * Notices: every rank posts one before each collective step that uses this memory, and the others
 * read it after the step. There are two notices per rank, used in turn. A rank can be one step
 * ahead but not two, so no notice is overwritten before everybody has read it.
 */
#ifndef GROVE_CONTEXT_ARENA_H
#define GROVE_CONTEXT_ARENA_H

#include "base/segment.h"
#include "base/status.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A place in the segment. */
typedef struct grove_spot {
  int64_t region; /* where its region begins, and the region's size */
  int64_t region_bytes;
  int64_t offset; /* of the place, from the beginning of its region */
} grove_spot;

/* Memory of this rank in the arena. */
typedef struct grove_block {
  void *memory;
  int64_t bytes;
  grove_spot spot;
  int fresh; /* in a region that was added for it */
  /* for the arena alone: */
  struct grove_block *next, *previous;
  int used;
  int (*is_idle)(const void *memory);
} grove_block;

typedef struct grove_arena grove_arena;

/* Bytes that the arena needs at the beginning of its segment, for this many ranks. */
int64_t grove_arena_head_bytes(int seats);

/* The ranks of a host have seats 0, 1, ... On success the arena owns the segment. This rank's
 * failure. */
grove_status grove_arena_create(const grove_segment *segment, int seats, int seat,
                                grove_arena **out);
void grove_arena_free(grove_arena **arena);

/* Has every seat been taken? Valid once all have tried. */
int grove_arena_is_full(const grove_arena *arena);

/* What follows those bytes in the segment, for the caller's use. */
void *grove_arena_rest(const grove_arena *arena);

/* A block on its own cache lines, not zeroed. GROVE_ERR_MEMORY if the segment cannot grow: this
 * rank's failure. */
grove_status grove_arena_alloc(grove_arena *arena, int64_t bytes, grove_block **out);
void grove_arena_release(grove_arena *arena, grove_block *block);

/* How much of the segment this rank may take without need: others need some too. */
int64_t grove_arena_spare(const grove_arena *arena);

/* Releases a block later, once `is_idle` says that the others no longer use it. */
void grove_arena_retire(grove_arena *arena, grove_block *block, int (*is_idle)(const void *memory));

/* Gives a fresh block back together with its region, which others could not map. */
void grove_arena_withdraw(grove_arena *arena, grove_block *block);

/* A block in its own region, which goes back to the system. On return nobody may touch it any more,
 * but others may still have it mapped. */
grove_status grove_arena_alloc_region(grove_arena *arena, int64_t bytes, grove_block **out);
void grove_arena_release_region(grove_arena *arena, grove_block *block);

/* What lies at a spot, in the memory of this process; maps it if necessary. And the way back for a
 * whole region. */
int grove_arena_has(const grove_arena *arena, const grove_spot *spot);
grove_status grove_arena_reach(grove_arena *arena, const grove_spot *spot, void **out);
void grove_arena_forget(grove_arena *arena, int64_t region);

/* ---- notices ---- */

typedef enum grove_notice_kind {
  GROVE_NOTICE_NOTHING, /* nothing was allocated */
  GROVE_NOTICE_SPOT,    /* something, at a spot */
  GROVE_NOTICE_SHORT    /* there was no memory for it */
} grove_notice_kind;

/* This rank's notice for the coming step. The spot counts for GROVE_NOTICE_SPOT only. */
void grove_arena_post(grove_arena *arena, grove_notice_kind kind, const grove_spot *spot);

/* The notice of a seat for the step that is over. */
grove_notice_kind grove_arena_read(const grove_arena *arena, int seat, grove_spot *spot);

#ifdef __cplusplus
}
#endif

#endif
