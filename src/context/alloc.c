/* Memory that the node's ranks read in place. Each rank's part is a region of its own in the arena.
 * All ranks of the host map it during the call, so that later any spot a reader is told is already
 * mapped. Without shared memory the part is ordinary memory. Nothing else changes: operations then
 * copy as usual.
 */
#include "context/context.h"

#include <stdlib.h>

enum { ALIGNMENT = 64 };

/* More than any host has, and far from the end of what an offset can be. */
static const size_t MOST_BYTES = (size_t)1 << 46;

typedef struct grove_shared {
  grove_tomb tomb;
  struct grove_shared *next;
  char *memory;
  size_t bytes;
  grove_block *block; /* NULL: ordinary memory */
  void (*give_back)(void *memory);
} shared;

static grove_status make_private(shared *s)
{
  size_t bytes = (s->bytes / ALIGNMENT + 1) * ALIGNMENT;
  s->memory = s->bytes <= MOST_BYTES ? aligned_alloc(ALIGNMENT, bytes) : NULL;
  GROVE_PASS_CHECK(s->memory, GROVE_ERR_MEMORY, "no memory for %zu bytes", s->bytes);
  return GROVE_OK;
}

static int make_shared(grove_context *ctx, shared *s)
{
  grove_sentence before;
  if (!ctx->arena || s->bytes < GROVE_IN_PLACE_BYTES || s->bytes > MOST_BYTES ||
      ctx->options.transport_on_node != GROVE_ON_NODE_SHM)
    return 0;
  grove_error_keep(&before);
  if (grove_arena_alloc_region(ctx->arena, (int64_t)s->bytes, &s->block) != GROVE_OK) {
    grove_error_restore(&before);
    return 0;
  }
  s->memory = s->block->memory;
  return 1;
}

/* This rank's part: shared if there is room, else its own. */
static grove_status make_part(grove_context *ctx, size_t bytes, shared **out)
{
  grove_status status = GROVE_OK;
  shared *s = NULL;
  GROVE_NEW(s, 1);
  s->bytes = bytes;
  s->give_back = free;
  if (!make_shared(ctx, s)) GROVE_TRY(make_private(s));
  *out = s;
  return GROVE_OK;
fail:
  free(s);
  return status;
}

static void give_back_shared(grove_tomb *tomb)
{
  shared *s = (shared *)tomb;
  if (!s->block) s->give_back(s->memory);
  free(s);
}

static void destroy_shared(grove_context *ctx, shared *s)
{
  if (s->block) grove_arena_release_region(ctx->arena, s->block);
  s->tomb.end = give_back_shared;
  grove_context_bury(ctx, &s->tomb);
}

static void post_notice(grove_context *ctx, const shared *s)
{
  if (!ctx->arena) return;
  if (s && s->block)
    grove_arena_post(ctx->arena, GROVE_NOTICE_SPOT, &s->block->spot);
  else
    grove_arena_post(ctx->arena, GROVE_NOTICE_NOTHING, NULL);
}

/* Maps what a seat's notice names; `is_new` if it was not mapped before. */
static grove_status map_notice(grove_context *ctx, int seat, char *is_new)
{
  grove_spot spot;
  void *memory = NULL;
  if (grove_arena_read(ctx->arena, seat, &spot) != GROVE_NOTICE_SPOT) return GROVE_OK;
  int had = grove_arena_has(ctx->arena, &spot);
  grove_status status = grove_arena_reach(ctx->arena, &spot, &memory);
  *is_new = !had && status == GROVE_OK;
  return status;
}

static void unmap_notice(grove_context *ctx, int seat)
{
  grove_spot spot;
  if (grove_arena_read(ctx->arena, seat, &spot) == GROVE_NOTICE_SPOT)
    grove_arena_forget(ctx->arena, spot.region);
}

grove_status grove_context_map_notices(grove_context *ctx, int *usable)
{
  grove_status status = GROVE_OK;
  int seats = ctx->arena ? ctx->topo.domain_size : 0;
  char *is_new = grove_memory((size_t)seats, 1);
  int64_t failed = !is_new;
  grove_sentence before;
  grove_error_keep(&before);
  for (int seat = 0; seat < seats && !failed; seat++)
    failed = map_notice(ctx, seat, &is_new[seat]) != GROVE_OK;
  if (failed) grove_error_restore(&before); /* doing without is no failure */
  GROVE_TRY(grove_context_agree(ctx, GROVE_OK, &failed, 1));
  for (int seat = 0; seat < seats && failed && is_new; seat++)
    if (is_new[seat]) unmap_notice(ctx, seat);
  *usable = !failed;
fail:
  free(is_new);
  return status;
}

/* All ranks map what each notice names; if one cannot, everybody takes ordinary memory. */
static grove_status share_block(grove_context *ctx, shared *s)
{
  grove_status mine = GROVE_OK;
  int usable = 0;
  GROVE_PASS(grove_context_map_notices(ctx, &usable));
  if (usable) return GROVE_OK;
  if (s->block) {
    grove_arena_release_region(ctx->arena, s->block);
    s->block = NULL;
    s->memory = NULL;
    mine = make_private(s);
  }
  return grove_context_agree(ctx, mine, NULL, 0);
}

static grove_status allocate_shared(grove_context *ctx, size_t bytes, void **out)
{
  grove_status status = GROVE_OK, mine = GROVE_OK;
  shared *s = NULL;
  if (!out)
    mine = grove_error(GROVE_ERR_ARG, __FILE__, __LINE__, "rank %d: grove_alloc: out is NULL",
                       ctx->rank);
  else
    mine = make_part(ctx, bytes, &s);
  post_notice(ctx, s);
  GROVE_TRY(grove_context_agree(ctx, mine, NULL, 0));
  GROVE_TRY(share_block(ctx, s));
  s->next = ctx->shared;
  ctx->shared = s;
  *out = s->memory;
  return GROVE_OK;
fail:
  if (s) destroy_shared(ctx, s);
  return status;
}

/* The pointer in the list to the part that begins at `memory`. */
static grove_status find_shared(grove_context *ctx, const void *memory, shared ***out)
{
  shared **at = &ctx->shared;
  while (*at && (*at)->memory != memory) at = &(*at)->next;
  GROVE_PASS_CHECK(*at || !memory, GROVE_ERR_ARG,
                   "rank %d: grove_dealloc: this memory is not from grove_alloc or "
                   "grove_alloc_device on this context",
                   ctx->rank);
  *out = at;
  return GROVE_OK;
}

static grove_status deallocate_shared(grove_context *ctx, void *memory)
{
  shared **at = NULL, *s = NULL;
  grove_status mine = find_shared(ctx, memory, &at);
  if (mine == GROVE_OK && memory) s = *at;
  post_notice(ctx, s);
  GROVE_PASS(grove_context_agree(ctx, mine, NULL, 0));
  for (int seat = 0; ctx->arena && seat < ctx->topo.domain_size; seat++)
    if (seat != ctx->rank_in_domain) unmap_notice(ctx, seat);
  if (s) {
    *at = s->next;
    destroy_shared(ctx, s);
  }
  return GROVE_OK;
}

/* ---- the calls ---- */

grove_status grove_alloc(grove_context *ctx, size_t bytes, void **out)
{
  grove_status status = GROVE_OK;
  GROVE_CHECK(ctx, GROVE_ERR_ARG, "grove_alloc: the context is NULL");
  GROVE_TRY(grove_context_enter_call(ctx, "grove_alloc"));
  status = allocate_shared(ctx, bytes, out);
  grove_context_leave_call(ctx);
fail:
  return grove_verdict(ctx, status);
}

grove_status grove_dealloc(grove_context *ctx, void *memory)
{
  grove_status status = GROVE_OK;
  GROVE_CHECK(ctx, GROVE_ERR_ARG, "grove_dealloc: the context is NULL");
  GROVE_TRY(grove_context_enter_call(ctx, "grove_dealloc"));
  status = deallocate_shared(ctx, memory);
  grove_context_leave_call(ctx);
fail:
  return grove_verdict(ctx, status);
}

/* ---- for the rest of the library ---- */

void grove_context_drop_memory(grove_context *ctx, void *memory)
{
  shared **at = NULL;
  if (find_shared(ctx, memory, &at) != GROVE_OK || !*at) return;
  shared *s = *at;
  *at = s->next;
  destroy_shared(ctx, s);
}

grove_status grove_context_keep_memory(grove_context *ctx, void *memory, size_t bytes,
                                       void (*give_back)(void *memory))
{
  shared *s = NULL;
  GROVE_PASS_NEW(s, 1);
  *s = (shared){.next = ctx->shared, .memory = memory, .bytes = bytes, .give_back = give_back};
  ctx->shared = s;
  return GROVE_OK;
}

void grove_context_free_shared(grove_context *ctx)
{
  for (shared *s = ctx->shared, *next; s; s = next) {
    next = s->next;
    if (!s->block)
      s->give_back(s->memory); /* the arena goes as a whole; somebody may still be reading */
    free(s->block);
    free(s);
  }
  ctx->shared = NULL;
}

int grove_context_locate(const grove_context *ctx, const void *address, grove_spot *spot)
{
  uintptr_t at = (uintptr_t)address;
  for (const shared *s = ctx->shared; s; s = s->next) {
    uintptr_t begin = (uintptr_t)s->memory;
    if (!s->block || at < begin || at >= begin + s->bytes) continue;
    *spot = s->block->spot;
    spot->offset += (int64_t)(at - begin);
    return 1;
  }
  return 0;
}
