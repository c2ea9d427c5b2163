#include "context/arena.h"

#include <stdlib.h>
#include <string.h>

/* The first region of a rank, and the largest that is taken before it is needed: containers have 64
 * MiB. */
static const int64_t FIRST_REGION = 1 << 16, LARGEST_AHEAD = 1 << 22;

/* A rank also takes no more in advance than this fraction of its share of what is left: unused
 * memory of one rank is missing for others. */
enum { PART_AHEAD = 4 };

/* The system allows a process some 65000 mappings; others need some too. */
enum { MOST_REGIONS = 8192 };

/* Leaves out a page behind the beginning of the segment, which costs nothing. It keeps mappings
 * made before the name is removed apart from those made afterwards. Valgrind 3.19 would join the
 * two, and lose a name ("aspacem assertion failed: ! is_freeslot"). */
static int64_t first_region(const grove_segment *segment)
{
  int64_t page = grove_segment_page();
  return grove_round_up((int64_t)segment->bytes, page) + page;
}

/* ---- what lies at the beginning of the segment ---- */

typedef struct notice {
  uint64_t step; /* which step it is for */
  int64_t kind;
  grove_spot spot;
} notice;

typedef union seat_row {
  notice notices[2]; /* of odd and of even steps */
  char apart[GROVE_APART];
} seat_row;

typedef union head {
  struct {
    int64_t end;    /* of all regions: atomic */
    int64_t seated; /* ranks that have come: atomic */
  };
  char apart[GROVE_APART];
} head;

/* ---- what every rank has for itself ---- */

typedef struct region {
  int64_t offset, bytes;
  void *memory;
} region;

struct grove_arena {
  grove_segment segment;
  int seats, seat;
  uint64_t step; /* of the last notice */
  head *head;
  seat_row *rows;
  region *regions; /* all that are mapped here, by ascending offset */
  int nregions;
  grove_block blocks; /* own memory: head of a ring of blocks, those of a region in their order */
  grove_block *rover; /* where to look for a free one first */
  int64_t own_bytes;
};

int64_t grove_arena_head_bytes(int seats)
{
  return (int64_t)sizeof(head) + seats * (int64_t)sizeof(seat_row);
}

grove_status grove_arena_create(const grove_segment *segment, int seats, int seat,
                                grove_arena **out)
{
  grove_arena *arena = NULL;
  GROVE_PASS_NEW(arena, 1);
  arena->segment = *segment;
  arena->seats = seats;
  arena->seat = seat;
  arena->head = segment->base;
  arena->rows = (seat_row *)(arena->head + 1);
  arena->rover = arena->blocks.next = arena->blocks.previous = &arena->blocks;
  arena->blocks.used = 1;
  if (seat == 0) arena->head->end = first_region(segment);
  __atomic_add_fetch(&arena->head->seated, 1, __ATOMIC_RELEASE);
  *out = arena;
  return GROVE_OK;
}

int grove_arena_is_full(const grove_arena *arena)
{
  return __atomic_load_n(&arena->head->seated, __ATOMIC_ACQUIRE) == arena->seats;
}

void *grove_arena_rest(const grove_arena *arena)
{
  return arena->rows + arena->seats;
}

void grove_arena_free(grove_arena **pointer)
{
  grove_arena *arena = *pointer;
  if (!arena) return;
  for (grove_block *b = arena->blocks.next, *next; b != &arena->blocks; b = next) {
    next = b->next;
    free(b);
  }
  for (int i = 0; i < arena->nregions; i++)
    grove_segment_unmap(arena->regions[i].memory, arena->regions[i].bytes);
  free(arena->regions);
  grove_segment_free(&arena->segment);
  free(arena);
  *pointer = NULL;
}

/* ---- regions ---- */

/* The first mapped region at or behind `offset`. */
static int find_region(const grove_arena *arena, int64_t offset)
{
  int low = 0, high = arena->nregions;
  while (low < high) {
    int middle = (low + high) / 2;
    if (arena->regions[middle].offset < offset)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static grove_status map_region(grove_arena *arena, int64_t offset, int64_t bytes, void **out)
{
  int at = find_region(arena, offset);
  GROVE_PASS_CHECK(arena->nregions < MOST_REGIONS, GROVE_ERR_MEMORY,
                   "%d regions of shared memory are mapped already", arena->nregions);
  GROVE_PASS_GROW(arena->regions, arena->nregions, 1);
  GROVE_PASS(grove_segment_map(&arena->segment, offset, bytes, out));
  region *list = arena->regions;
  memmove(&list[at + 1], &list[at], (size_t)(arena->nregions - at) * sizeof *list);
  list[at] = (region){offset, bytes, *out};
  arena->nregions++;
  return GROVE_OK;
}

int grove_arena_has(const grove_arena *arena, const grove_spot *spot)
{
  int at = find_region(arena, spot->region);
  return at < arena->nregions && arena->regions[at].offset == spot->region;
}

grove_status grove_arena_reach(grove_arena *arena, const grove_spot *spot, void **out)
{
  int at = find_region(arena, spot->region);
  void *memory = NULL;
  if (at < arena->nregions && arena->regions[at].offset == spot->region)
    memory = arena->regions[at].memory;
  else
    GROVE_PASS(map_region(arena, spot->region, spot->region_bytes, &memory));
  *out = (char *)memory + spot->offset;
  return GROVE_OK;
}

void grove_arena_forget(grove_arena *arena, int64_t offset)
{
  int at = find_region(arena, offset);
  region *list = arena->regions;
  if (at == arena->nregions || list[at].offset != offset) return;
  grove_segment_unmap(list[at].memory, list[at].bytes);
  arena->nregions--;
  memmove(&list[at], &list[at + 1], (size_t)(arena->nregions - at) * sizeof *list);
}

/* A new region of this rank as one block. One atomic addition settles where in the segment it lies.
 * What cannot be reserved there is given back, or stays a hole, which costs nothing. */
static grove_status add_region(grove_arena *arena, int64_t bytes, grove_block **out)
{
  grove_status status = GROVE_OK;
  grove_block *block = NULL;
  GROVE_NEW(block, 1);
  int64_t offset = __atomic_fetch_add(&arena->head->end, bytes, __ATOMIC_RELAXED);
  status = grove_segment_reserve(&arena->segment, offset, bytes);
  if (status != GROVE_OK) {
    int64_t end = offset + bytes; /* unless somebody has taken what follows */
    __atomic_compare_exchange_n(&arena->head->end, &end, offset, 0, __ATOMIC_RELAXED,
                                __ATOMIC_RELAXED);
    goto fail;
  }
  status = map_region(arena, offset, bytes, &block->memory);
  if (status != GROVE_OK) {
    grove_segment_return(&arena->segment, offset, bytes);
    goto fail;
  }
  block->bytes = bytes;
  block->spot = (grove_spot){.region = offset, .region_bytes = bytes};
  *out = block;
  return GROVE_OK;
fail:
  free(block);
  return status;
}

grove_status grove_arena_alloc_region(grove_arena *arena, int64_t bytes, grove_block **out)
{
  return add_region(arena, grove_round_up(bytes, grove_segment_page()), out);
}

void grove_arena_release_region(grove_arena *arena, grove_block *block)
{
  grove_arena_forget(arena, block->spot.region);
  grove_segment_return(&arena->segment, block->spot.region, block->bytes);
  free(block);
}

/* ---- blocks: next fit, neighbours that are free join ---- */

static void insert_behind(grove_block *block, grove_block *where)
{
  block->next = where->next;
  block->previous = where;
  where->next->previous = block;
  where->next = block;
}

static grove_block *find_free(const grove_arena *arena, int64_t bytes)
{
  grove_block *b = arena->rover;
  do {
    if (!b->used && b->bytes >= bytes) return b;
    b = b->next;
  } while (b != arena->rover);
  return NULL;
}

int64_t grove_arena_spare(const grove_arena *arena)
{
  return grove_segment_left(&arena->segment) / (PART_AHEAD * arena->seats);
}

/* How much a rank takes when it needs little: as much as it already has. */
static int64_t ahead_of(const grove_arena *arena)
{
  int64_t most = grove_arena_spare(arena);
  if (most > LARGEST_AHEAD) most = LARGEST_AHEAD;
  return arena->own_bytes < most ? arena->own_bytes : most;
}

static grove_status grow_arena(grove_arena *arena, int64_t bytes, grove_block **out)
{
  int64_t ahead = grove_round_up(ahead_of(arena), FIRST_REGION);
  int64_t need = grove_round_up(bytes, FIRST_REGION);
  grove_sentence before;
  grove_error_keep(&before);
  if (need >= ahead || add_region(arena, ahead, out) != GROVE_OK) {
    grove_error_restore(&before);
    GROVE_PASS(add_region(arena, need, out));
  }
  arena->own_bytes += (*out)->bytes;
  insert_behind(*out, arena->blocks.previous);
  return GROVE_OK;
}

/* Cuts the surplus off a free block. Without memory for that, the block keeps its length. */
static void split_block(grove_block *block, int64_t bytes)
{
  if (block->bytes == bytes) return;
  grove_block *rest = grove_memory(1, sizeof *rest);
  if (!rest) return;
  rest->memory = (char *)block->memory + bytes;
  rest->bytes = block->bytes - bytes;
  rest->spot = block->spot;
  rest->spot.offset += bytes;
  block->bytes = bytes;
  insert_behind(rest, block);
}

/* Joins b->next to b if both are free and lie side by side. */
static int join_next(grove_arena *arena, grove_block *b)
{
  grove_block *next = b->next;
  if (b->used || next->used || b->spot.region != next->spot.region) return 0;
  b->bytes += next->bytes;
  b->next = next->next;
  b->next->previous = b;
  if (arena->rover == next) arena->rover = b;
  free(next);
  return 1;
}

void grove_arena_release(grove_arena *arena, grove_block *block)
{
  grove_block *previous = block->previous;
  block->used = 0;
  join_next(arena, block);
  join_next(arena, previous);
}

void grove_arena_withdraw(grove_arena *arena, grove_block *block)
{
  grove_arena_release(arena, block); /* with the rest of its region */
  arena->own_bytes -= block->bytes;
  block->previous->next = block->next;
  block->next->previous = block->previous;
  if (arena->rover == block) arena->rover = block->next;
  grove_arena_release_region(arena, block);
}

/* Releases retired blocks that are idle now. */
static void collect_garbage(grove_arena *arena)
{
  for (grove_block *b = arena->blocks.next; b != &arena->blocks; b = b->next)
    if (b->is_idle && b->is_idle(b->memory)) {
      b->is_idle = NULL;
      b->used = 0;
    }
  for (grove_block *b = arena->blocks.next; b != &arena->blocks;)
    if (!join_next(arena, b)) b = b->next;
}

grove_status grove_arena_alloc(grove_arena *arena, int64_t bytes, grove_block **out)
{
  bytes = grove_round_up(bytes > 0 ? bytes : 1, GROVE_APART);
  grove_block *block = find_free(arena, bytes);
  if (!block) {
    collect_garbage(arena);
    block = find_free(arena, bytes);
  }
  int fresh = !block;
  if (!block) GROVE_PASS(grow_arena(arena, bytes, &block));
  split_block(block, bytes);
  block->fresh = fresh;
  block->used = 1;
  arena->rover = block->next;
  *out = block;
  return GROVE_OK;
}

void grove_arena_retire(grove_arena *arena, grove_block *block, int (*is_idle)(const void *memory))
{
  if (is_idle(block->memory))
    grove_arena_release(arena, block);
  else
    block->is_idle = is_idle;
}

/* ---- notices ---- */

void grove_arena_post(grove_arena *arena, grove_notice_kind kind, const grove_spot *spot)
{
  uint64_t step = ++arena->step;
  notice *n = &arena->rows[arena->seat].notices[step % 2];
  n->kind = kind;
  if (kind == GROVE_NOTICE_SPOT) n->spot = *spot;
  __atomic_store_n(&n->step, step, __ATOMIC_RELEASE);
}

grove_notice_kind grove_arena_read(const grove_arena *arena, int seat, grove_spot *spot)
{
  const notice *n = &arena->rows[seat].notices[arena->step % 2];
  if (__atomic_load_n(&n->step, __ATOMIC_ACQUIRE) != arena->step) return GROVE_NOTICE_NOTHING;
  *spot = n->spot;
  return (grove_notice_kind)n->kind;
}
