#include "transport/shm.h"

#include <stdlib.h>
#include <string.h>

/* Copying in and copying out overlap best in pieces of this size (DESIGN: measured, 2 cores). */
enum { PIECE = 1 << 14 };

/* What the rings of a channel should have at most on one rank. */
static const int64_t RING_BYTES = 1 << 22;

/* The table at the beginning of a block: who reads which ring of it. */
typedef struct entry {
  int32_t stage;
  int32_t seat;   /* of the reader */
  int64_t ring;   /* from the beginning of the block */
  int64_t reader; /* its number in the ring */
} entry;

typedef struct table {
  int64_t count;
  entry entries[];
} table;

int grove_shm_piece(int64_t unit_bytes)
{
  return unit_bytes > 0 && unit_bytes <= PIECE ? (int)(PIECE / unit_bytes * unit_bytes) : PIECE;
}

/* Small messages get many slots, so that a root may run ahead of its readers; large ones as many as
 * keep both sides busy while the data stays in the caches. */
static int64_t slots_for(const grove_shm_message *m)
{
  int64_t pieces = (m->bytes + m->piece - 1) / m->piece, slots = 2;
  if (m->bytes <= 1024) return 16;
  if (m->bytes <= 4096) return 8;
  while (slots < m->slots && slots < pieces && 2 * slots * m->sends * m->piece <= RING_BYTES)
    slots *= 2;
  return slots;
}

int grove_shm_fits(const grove_shm_message *m)
{
  return m->bytes <= slots_for(m) * m->piece;
}

static grove_ring_size size_for(const grove_shm_message *m, int64_t readers)
{
  return grove_ring_size_of(m->bytes < m->piece ? m->bytes : m->piece, slots_for(m), readers);
}

/* How many sends from `first` on share its ring. */
static int readers_of(int nsends, const grove_shm_message *sends, int first)
{
  int n = 1;
  while (first + n < nsends && sends[first + n].ring == sends[first].ring) n++;
  return n;
}

/* ---- the rings that this rank writes ---- */

static int64_t table_bytes(int nsends)
{
  return grove_round_up((int64_t)(sizeof(table) + (size_t)nsends * sizeof(entry)),
                        2 * GROVE_RING_LINE);
}

static int64_t block_bytes(int nsends, const grove_shm_message *sends)
{
  int64_t bytes = table_bytes(nsends);
  for (int i = 0, n = 0; i < nsends; i += n) {
    n = readers_of(nsends, sends, i);
    grove_ring_size size = size_for(&sends[i], n);
    bytes += grove_round_up(grove_ring_bytes(&size), 2 * GROVE_RING_LINE);
  }
  return bytes;
}

static void make_rings(grove_shm *shm, int nsends, const grove_shm_message *sends)
{
  const grove_place *place = shm->ctx->place;
  char *base = shm->block->memory;
  table *t = (table *)(void *)base;
  int64_t at = table_bytes(nsends);
  t->count = nsends;
  for (int i = 0, n = 0; i < nsends; i += n) {
    n = readers_of(nsends, sends, i);
    grove_ring_size size = size_for(&sends[i], n);
    for (int k = 0; k < n; k++)
      t->entries[i + k] = (entry){sends[i + k].stage, place[sends[i + k].peer].seat, at, k};
    shm->writers[shm->nwriters++] = grove_ring_make((grove_ring *)(void *)(base + at), &size);
    at += grove_round_up(grove_ring_bytes(&size), 2 * GROVE_RING_LINE);
  }
}

grove_status grove_shm_create(grove_context *ctx, int nsends, const grove_shm_message *sends,
                              int nreceives, const grove_shm_message *receives, grove_shm **out)
{
  grove_status status = GROVE_OK;
  grove_shm *shm = NULL;
  GROVE_NEW(shm, 1);
  shm->ctx = ctx;
  GROVE_NEW(shm->writers, nsends);
  GROVE_NEW(shm->readers, nreceives);
  GROVE_NEW(shm->receives, nreceives);
  memcpy(shm->receives, receives, (size_t)nreceives * sizeof *receives);
  shm->nreaders = nreceives;
  shm->usable = 1;
  if (nsends > 0)
    shm->usable =
      grove_arena_alloc(ctx->arena, block_bytes(nsends, sends), &shm->block) == GROVE_OK;
  if (shm->block) make_rings(shm, nsends, sends);
  *out = shm;
  return GROVE_OK;
fail:
  grove_shm_free(&shm);
  return status;
}

/* ---- between the ranks of a node ---- */

void grove_shm_propose(grove_context *ctx, const grove_shm *shm, int64_t *grew)
{
  if (!ctx->arena) return;
  grove_notice_kind kind = GROVE_NOTICE_NOTHING;
  if (shm && shm->block) kind = GROVE_NOTICE_SPOT;
  if (shm && !shm->usable) kind = GROVE_NOTICE_SHORT;
  grove_arena_post(ctx->arena, kind, shm && shm->block ? &shm->block->spot : NULL);
  *grew = kind == GROVE_NOTICE_SPOT && shm->block->fresh;
}

/* Did a rank of the node find no memory? */
static int node_is_short(const grove_context *ctx)
{
  grove_spot spot;
  for (int i = 0; i < ctx->nnode_seats; i++)
    if (grove_arena_read(ctx->arena, ctx->node_seats[i], &spot) == GROVE_NOTICE_SHORT) return 1;
  return 0;
}

/* The ring in which `m` will come. */
static grove_status find_ring(grove_shm *shm, const grove_shm_message *m, grove_ring_reader *out)
{
  grove_status status = GROVE_OK;
  grove_context *ctx = shm->ctx;
  grove_spot spot;
  void *base = NULL;
  int64_t i = 0;
  grove_notice_kind kind = grove_arena_read(ctx->arena, ctx->place[m->peer].seat, &spot);
  GROVE_CHECK(kind == GROVE_NOTICE_SPOT, GROVE_ERR_STATE,
              "rank %d expects a message from rank %d, which sends none", ctx->rank, m->peer);
  GROVE_TRY(grove_arena_reach(ctx->arena, &spot, &base));
  const table *t = base;
  while (i < t->count &&
         (t->entries[i].stage != m->stage || t->entries[i].seat != ctx->rank_in_domain))
    i++;
  GROVE_CHECK(i < t->count, GROVE_ERR_STATE,
              "rank %d expects a message from rank %d, which sends it none", ctx->rank, m->peer);
  *out = grove_ring_join((const grove_ring *)(const void *)((char *)base + t->entries[i].ring),
                         (int)t->entries[i].reader);
fail:
  return status;
}

/* Back to nothing: nobody has read the rings yet. A piece that was added for them stays if the
 * others have mapped it. */
static void give_up(grove_shm *shm, int mapped)
{
  grove_arena *arena = shm->ctx->arena;
  if (shm->block && shm->block->fresh && !mapped)
    grove_arena_withdraw(arena, shm->block);
  else if (shm->block)
    grove_arena_release(arena, shm->block);
  shm->block = NULL;
  shm->usable = 0;
}

grove_status grove_shm_connect(grove_shm *shm)
{
  grove_status status = GROVE_OK;
  if (!shm->usable || node_is_short(shm->ctx)) {
    give_up(shm, shm->usable);
    return GROVE_OK;
  }
  /* From here on the others use the rings of this rank, whatever happens to its own readers. */
  int wanted = shm->nreaders;
  shm->connected = 1;
  for (shm->nreaders = 0; shm->nreaders < wanted; shm->nreaders++)
    GROVE_TRY(find_ring(shm, &shm->receives[shm->nreaders], &shm->readers[shm->nreaders]));
fail:
  return status;
}

/* ---- the end ---- */

static int is_left(const void *memory)
{
  const table *t = memory;
  for (int64_t i = 0; i < t->count; i++)
    if (!grove_ring_is_left(
          (const grove_ring *)(const void *)((const char *)memory + t->entries[i].ring)))
      return 0;
  return 1;
}

void grove_shm_free(grove_shm **pointer)
{
  grove_shm *shm = *pointer;
  if (!shm) return;
  if (!shm->connected) {
    give_up(shm, 0);
  } else {
    for (int i = 0; i < shm->nreaders; i++) grove_ring_leave(&shm->readers[i]);
    if (shm->block) grove_arena_retire(shm->ctx->arena, shm->block, is_left);
  }
  free(shm->writers);
  free(shm->readers);
  free(shm->receives);
  free(shm);
  *pointer = NULL;
}
