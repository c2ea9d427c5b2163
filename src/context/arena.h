/* Memory that the ranks of one host share, for one context: one segment, which grows in regions.
 * Every rank allocates from regions of its own, so nobody needs a lock. What a rank has allocated
 * lies at a *spot* of the segment, and by its spot the others reach it.
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
 * Notices: every rank posts one before each collective step that makes something of this memory,
 * and the others read it after the step. A rank that is one step ahead writes to the other of two
 * notices, and can not be two ahead: so no notice is overwritten before everybody has read it.
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
  int64_t region; /* the region that it is in begins here, and has so many bytes */
  int64_t region_bytes;
  int64_t offset; /* of the place, from the beginning of the region */
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

/* The ranks of a host have seats 0, 1, ... Takes the segment over on success. This rank's
 * failure. */
grove_status grove_arena_create(const grove_segment *segment, int seats, int seat,
                                grove_arena **out);
void grove_arena_free(grove_arena **arena);

/* Has every seat been taken? To be asked when all have tried. */
int grove_arena_is_full(const grove_arena *arena);

/* What lies behind those bytes in the segment, for the caller's use. */
void *grove_arena_rest(const grove_arena *arena);

/* A block on cache lines of its own, not zeroed. GROVE_ERR_MEMORY when the segment can not grow:
 * this rank's failure. */
grove_status grove_arena_alloc(grove_arena *arena, int64_t bytes, grove_block **out);
void grove_arena_release(grove_arena *arena, grove_block *block);

/* Releases a block later, once `is_idle` says that the others have left it. */
void grove_arena_retire(grove_arena *arena, grove_block *block, int (*is_idle)(const void *memory));

/* Gives a fresh block back with its region, which others could not map. */
void grove_arena_withdraw(grove_arena *arena, grove_block *block);

/* A block in a region of its own, which goes back to the system. Nobody may touch it any more, but
 * others may still have it mapped. */
grove_status grove_arena_alloc_region(grove_arena *arena, int64_t bytes, grove_block **out);
void grove_arena_release_region(grove_arena *arena, grove_block *block);

/* What lies at a spot, in the memory of this process: mapped if it was not; and the way back for a
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
