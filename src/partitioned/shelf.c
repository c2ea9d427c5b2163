#include "partitioned/shelf.h"

#include "partitioned/queue.h"

#include <stdlib.h>
#include <string.h>

/* ---- own regions ---- */

/* A region may be at most this many times as large as needed. */
enum { MOST_WASTE = 4 };

static void release_block(grove_shelf *shelf, grove_block **at)
{
  grove_block *block = *at;
  *at = block->next;
  shelf->nidle--;
  shelf->idle_bytes -= block->bytes;
  grove_arena_release_region(shelf->arena, block);
}

static void put_block(grove_shelf *shelf, grove_block *block)
{
  block->next = shelf->idle;
  shelf->idle = block;
  shelf->nidle++;
  shelf->idle_bytes += block->bytes;
}

/* Frees the oldest idle regions. */
static void limit_idle(grove_shelf *shelf, int most, int64_t most_bytes)
{
  while (shelf->nidle > most || shelf->idle_bytes > most_bytes) {
    grove_block **at = &shelf->idle;
    while ((*at)->next) at = &(*at)->next;
    release_block(shelf, at);
  }
}

/* Regions whose readers have left become idle. */
static void collect_idle(grove_shelf *shelf)
{
  for (grove_block **at = &shelf->read; *at;) {
    grove_block *block = *at;
    if (!grove_queue_is_left(block->memory)) {
      at = &block->next;
      continue;
    }
    *at = block->next;
    put_block(shelf, block);
  }
}

void grove_shelf_give(grove_shelf *shelf, grove_block *block)
{
  block->next = shelf->read;
  shelf->read = block;
  collect_idle(shelf);
  limit_idle(shelf, GROVE_SHELF_IDLE, GROVE_SHELF_BYTES);
}

grove_status grove_shelf_take(grove_shelf *shelf, int64_t bytes, grove_block **out)
{
  grove_status status = GROVE_OK;
  grove_sentence before;
  int64_t most = MOST_WASTE * grove_round_up(bytes, grove_segment_page());
  collect_idle(shelf);
  grove_block **at = &shelf->idle;
  while (*at && ((*at)->bytes < bytes || (*at)->bytes > most)) at = &(*at)->next;
  if (*at) {
    *out = *at;
    *at = (*out)->next;
    shelf->nidle--;
    shelf->idle_bytes -= (*out)->bytes;
    return GROVE_OK;
  }
  grove_error_keep(&before);
  status = grove_arena_alloc_region(shelf->arena, bytes, out);
  if (status == GROVE_ERR_MEMORY && shelf->idle) {
    limit_idle(shelf, 0, 0);
    grove_error_restore(&before);
    status = grove_arena_alloc_region(shelf->arena, bytes, out);
  }
  return status;
}

/* ---- regions of others ---- */

static void strike_out(grove_shelf *shelf, int i)
{
  shelf->nmapped--;
  memmove(&shelf->mapped[i], &shelf->mapped[i + 1],
          (size_t)(shelf->nmapped - i) * sizeof *shelf->mapped);
}

grove_status grove_shelf_reach(grove_shelf *shelf, const grove_spot *spot, void **out)
{
  for (int i = shelf->nmapped - 1; i >= 0; i--)
    if (shelf->mapped[i] == spot->region) {
      strike_out(shelf, i);
      break;
    }
  return grove_arena_reach(shelf->arena, spot, out);
}

void grove_shelf_leave(grove_shelf *shelf, const grove_spot *spot)
{
  if (shelf->nmapped == GROVE_SHELF_MAPPED) {
    grove_arena_forget(shelf->arena, shelf->mapped[0]);
    strike_out(shelf, 0);
  }
  shelf->mapped[shelf->nmapped++] = spot->region;
}

/* ---- the end ---- */

void grove_shelf_clear(grove_shelf *shelf)
{
  limit_idle(shelf, 0, 0);
  while (shelf->nmapped > 0) grove_arena_forget(shelf->arena, shelf->mapped[--shelf->nmapped]);
  while (shelf->read) { /* its memory goes with the arena */
    grove_block *block = shelf->read;
    shelf->read = block->next;
    free(block);
  }
}
