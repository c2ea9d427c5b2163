#include "transport/shm.h"

#include <stdlib.h>
#include <string.h>

/* Copying in and copying out overlap best in fragments of this size (DESIGN: measured, 2 cores). */
enum { FRAGMENT = 1 << 14 };

/* The most bytes that one rank's rings of a wiring should have. */
static const int64_t RING_BYTES = 1 << 22;

/* The same of its docks: room for 8 messages in chunks of 2 MiB. */
static const int64_t DOCK_BYTES = 1 << 26;

/* The table at the start of a block: who reads which of its rings, and who uses its areas. */
typedef struct entry {
  int32_t stage;
  int32_t seat;   /* of the other rank */
  int64_t ring;   /* from the start of the block; 0: the other rank pushes, with its own ring */
  int64_t reader; /* its number in the ring */
  int64_t dock;   /* where that of the ring begins; 0: it has none */
  int64_t dock_slots, dock_stride;
  int64_t nviews;
  int64_t views; /* where they are in the block */
  uint64_t left; /* of a rank that pushes */
} entry;

typedef struct table {
  uint64_t released;
  char rest[GROVE_RING_LINE - sizeof(uint64_t)]; /* waiting for it must not disturb others */
  int64_t count;
  entry entries[];
} table;

/* Slots of an area as stored in a block; a grove_index. */
typedef struct view {
  int64_t area; /* from the start of the block */
  int64_t count, first;
  int64_t width, list; /* bytes of an entry, 0: consecutive; and where the list lies */
} view;

int grove_shm_fragment(int64_t unit_bytes)
{
  return unit_bytes > 0 && unit_bytes <= FRAGMENT ? (int)(FRAGMENT / unit_bytes * unit_bytes)
                                                  : FRAGMENT;
}

/* Small messages get many slots, so that a root may run ahead of its readers. Large ones get as
 * many as keep both sides busy while the data stays in the caches. There is room for two messages,
 * because slots that the reader has only just left are slow to write: 64 KiB take 7.4 us, and 9.6
 * with room for one; 16 ranks in pairs take 8.8 and 12.7. Room for four is no better than for two
 * (Xeon, 2026-11). */
static int64_t slots_of_ring(const grove_shm_message *m)
{
  int64_t fragments = (m->bytes + m->fragment - 1) / m->fragment, slots = 2;
  if (m->bytes <= 1024) return 16;
  if (m->bytes <= 4096) return 8;
  while (slots < m->slots && slots < 2 * fragments &&
         2 * slots * m->sends * m->fragment <= RING_BYTES)
    slots *= 2;
  return slots;
}

int grove_shm_fits(const grove_shm_message *m)
{
  return m->bytes <= slots_of_ring(m) * m->fragment;
}

static grove_ring_size size_for(const grove_shm_message *m, int64_t readers)
{
  return grove_ring_size_of(m->bytes < m->fragment ? m->bytes : m->fragment, slots_of_ring(m),
                            readers);
}

/* The number of sends, from `first` on, that share its ring. */
static int readers_of(int nsends, const grove_shm_message *sends, int first)
{
  int n = 1;
  while (first + n < nsends && sends[first + n].ring == sends[first].ring) n++;
  return n;
}

/* ---- what this rank lays out ---- */

enum { PAIR_OF_LINES = 2 * GROVE_RING_LINE };

/* A block in the making; with base == NULL only its size is computed. */
typedef struct layout {
  char *base;
  int64_t at;
  int64_t dock_bytes; /* the most that a dock may have */
} layout;

static int64_t reserve_bytes(layout *l, int64_t bytes, int64_t alignment)
{
  int64_t at = grove_round_up(l->at, alignment);
  l->at = at + bytes;
  return at;
}

static int count_pushed(const grove_shm_plan *plan)
{
  int n = 0;
  for (int i = 0; i < plan->nreceives; i++) n += plan->receives[i].way == GROVE_SHM_PUSHED;
  return n;
}

static int64_t width_of_view(const grove_index *x)
{
  return x->narrow ? 4 : x->wide ? 8 : 0;
}

/* The slots that another rank uses in the areas that begin at `areas`. */
static void lay_out_views(layout *l, const grove_shm_message *m, const int64_t *areas, entry *e)
{
  int64_t views = reserve_bytes(l, m->nviews * (int64_t)sizeof(view), 8);
  for (int k = 0; k < m->nviews; k++) {
    const grove_index *x = m->views[k].slots;
    int64_t list = reserve_bytes(l, x->count * width_of_view(x), 8);
    if (!l->base) continue;
    ((view *)(void *)(l->base + views))[k] =
      (view){areas[m->views[k].area], x->count, x->first, width_of_view(x), list};
    const void *from = x->narrow ? (const void *)x->narrow : (const void *)x->wide;
    if (from) memcpy(l->base + list, from, (size_t)(x->count * width_of_view(x)));
  }
  if (e) {
    e->nviews = m->nviews;
    e->views = views;
  }
}

/* What each dock may have, if all that are wanted get as much. */
static int64_t share_of_docks(const grove_context *ctx, const grove_shm_plan *plan)
{
  int wanted = 0;
  for (int i = 0; i < plan->nsends; i++) wanted += plan->sends[i].chunk > 0;
  if (wanted == 0) return 0;
  int64_t spare = grove_arena_spare(ctx->arena);
  return (spare < DOCK_BYTES ? spare : DOCK_BYTES) / wanted;
}

/* The dock of a message; without room for two chunks it would not be worth while. */
static void lay_out_dock(layout *l, const grove_shm_message *m, entry *e)
{
  int64_t stride = grove_round_up(m->chunk, PAIR_OF_LINES);
  if (m->chunk == 0 || l->dock_bytes < 2 * stride) return;
  int64_t chunks = (m->bytes + stride - 1) / stride, slots = l->dock_bytes / stride;
  if (slots > GROVE_DOCK_SLOTS) slots = GROVE_DOCK_SLOTS;
  if (slots > chunks) slots = chunks;
  e->dock = reserve_bytes(l, slots * stride, PAIR_OF_LINES);
  e->dock_slots = slots;
  e->dock_stride = stride;
}

/* The dock of an entry, in a block that is mapped at `base`. */
static grove_dock dock_of_entry(char *base, const grove_spot *block, const entry *e)
{
  grove_dock dock = {.slots = (int)e->dock_slots, .stride = e->dock_stride, .spot = *block};
  if (e->dock == 0) return dock;
  dock.memory = base + e->dock;
  dock.spot.offset += e->dock;
  return dock;
}

/* The ring of sends i .. i+n-1, and its dock, as all their entries have it. */
static entry lay_out_ring(layout *l, grove_shm *shm, const grove_shm_message *m, int n)
{
  grove_ring_size size = size_for(m, n);
  entry e = {.ring = reserve_bytes(l, grove_ring_bytes(&size), PAIR_OF_LINES)};
  lay_out_dock(l, m, &e);
  if (l->base) {
    shm->docks[shm->nwriters] = dock_of_entry(l->base, &shm->block->spot, &e);
    shm->writers[shm->nwriters++] =
      grove_ring_make((grove_ring *)(void *)(l->base + e.ring), &size);
  }
  return e;
}

static void lay_out_sends(layout *l, grove_shm *shm, const grove_shm_plan *plan,
                          const int64_t *areas, entry *entries)
{
  const grove_place *place = shm->ctx->place;
  for (int i = 0, n = 0; i < plan->nsends; i += n) {
    n = readers_of(plan->nsends, plan->sends, i);
    entry ring = lay_out_ring(l, shm, &plan->sends[i], n);
    for (int k = 0; k < n; k++) {
      const grove_shm_message *m = &plan->sends[i + k];
      entry *e = entries ? &entries[i + k] : NULL;
      ring.stage = m->stage;
      ring.seat = place[m->peer].seat;
      ring.reader = k;
      if (e) *e = ring;
      lay_out_views(l, m, areas, e);
    }
  }
}

static void lay_out_pushed(layout *l, grove_shm *shm, const grove_shm_plan *plan,
                           const int64_t *areas, entry *entries)
{
  for (int i = 0, n = 0; i < plan->nreceives; i++) {
    const grove_shm_message *m = &plan->receives[i];
    if (m->way != GROVE_SHM_PUSHED) continue;
    entry *e = entries ? &entries[n++] : NULL;
    if (e) *e = (entry){.stage = m->stage, .seat = shm->ctx->place[m->peer].seat};
    lay_out_views(l, m, areas, e);
  }
}

/* Table, areas, rings, views. Returns the bytes of all of it. */
static int64_t lay_out_rings(char *base, grove_shm *shm, const grove_shm_plan *plan,
                             int64_t dock_bytes, int64_t *areas)
{
  layout l = {.base = base, .dock_bytes = dock_bytes};
  int count = plan->nsends + count_pushed(plan);
  reserve_bytes(&l, (int64_t)(sizeof(table) + (size_t)count * sizeof(entry)), PAIR_OF_LINES);
  for (int k = 0; k < plan->nareas; k++)
    areas[k] = reserve_bytes(&l, plan->area_bytes[k], PAIR_OF_LINES);
  table *t = (table *)(void *)base;
  if (t) {
    t->released = 0;
    t->count = count;
  }
  lay_out_sends(&l, shm, plan, areas, t ? t->entries : NULL);
  lay_out_pushed(&l, shm, plan, areas, t ? t->entries + plan->nsends : NULL);
  return l.at;
}

/* If there is no room, the messages go another way. */
static int take_block(grove_shm *shm, int64_t bytes)
{
  grove_sentence before;
  grove_error_keep(&before);
  if (grove_arena_alloc(shm->ctx->arena, bytes, &shm->block) == GROVE_OK) return 1;
  grove_error_restore(&before);
  return 0;
}

static grove_status lay_out_block(grove_shm *shm, const grove_shm_plan *plan)
{
  grove_status status = GROVE_OK;
  int64_t *areas = NULL;
  int needed = plan->nsends > 0 || plan->nareas > 0;
  int64_t dock_bytes = needed ? share_of_docks(shm->ctx, plan) : 0;
  if (plan->nareas > 0) GROVE_NEW(areas, plan->nareas);
  if (needed) shm->usable = take_block(shm, lay_out_rings(NULL, shm, plan, dock_bytes, areas));
  if (!shm->usable && dock_bytes > 0) { /* rings are more important */
    dock_bytes = 0;
    shm->usable = take_block(shm, lay_out_rings(NULL, shm, plan, dock_bytes, areas));
  }
  if (shm->block) {
    char *base = shm->block->memory;
    lay_out_rings(base, shm, plan, dock_bytes, areas);
    for (int k = 0; k < plan->nareas; k++) shm->areas[k] = base + areas[k];
    shm->released = &((table *)(void *)base)->released;
  }
fail:
  free(areas);
  return status;
}

/* Copies what is needed of the messages later. */
static void copy_messages(int n, const grove_shm_message *from, grove_shm_message *out)
{
  for (int i = 0; i < n; i++) {
    out[i] = from[i];
    out[i].views = NULL;
  }
}

grove_status grove_shm_create(grove_context *ctx, const grove_shm_plan *plan, grove_shm **out)
{
  grove_status status = GROVE_OK;
  grove_shm *shm = NULL;
  GROVE_NEW(shm, 1);
  shm->ctx = ctx;
  GROVE_NEW_ALL(GROVE_WISH(shm->writers, plan->nsends), GROVE_WISH(shm->readers, plan->nreceives),
                GROVE_WISH(shm->pushes, plan->nsends), GROVE_WISH(shm->pulls, plan->nreceives),
                GROVE_WISH(shm->docks, plan->nsends), GROVE_WISH(shm->far_docks, plan->nreceives),
                GROVE_WISH(shm->sends, plan->nsends), GROVE_WISH(shm->receives, plan->nreceives),
                GROVE_WISH(shm->areas, plan->nareas));
  if (plan->nareas == 0) shm->areas = NULL;
  copy_messages(plan->nsends, plan->sends, shm->sends);
  copy_messages(plan->nreceives, plan->receives, shm->receives);
  shm->nsends = plan->nsends;
  shm->nreceives = plan->nreceives;
  shm->usable = 1;
  GROVE_TRY(lay_out_block(shm, plan));
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

/* What a rank of the node has about a message: its block, where that is mapped here, its entry. */
static grove_status find_ring_entry(grove_shm *shm, const grove_shm_message *m, int pushed,
                                    grove_spot *spot, char **base, entry **out)
{
  grove_context *ctx = shm->ctx;
  void *block = NULL;
  int64_t i = 0;
  grove_notice_kind kind = grove_arena_read(ctx->arena, ctx->place[m->peer].seat, spot);
  GROVE_PASS_CHECK(kind == GROVE_NOTICE_SPOT, GROVE_ERR_STATE,
                   "rank %d expects a message of rank %d, which has none", ctx->rank, m->peer);
  GROVE_PASS(grove_arena_reach(ctx->arena, spot, &block));
  table *t = block;
  while (i < t->count &&
         (t->entries[i].stage != m->stage || t->entries[i].seat != ctx->rank_in_domain ||
          (t->entries[i].ring == 0) != pushed))
    i++;
  GROVE_PASS_CHECK(i < t->count, GROVE_ERR_STATE,
                   "rank %d expects a message of rank %d, which has none for it", ctx->rank,
                   m->peer);
  *base = block;
  *out = &t->entries[i];
  return GROVE_OK;
}

/* The other rank's end of a message through its hub. */
static grove_status reach_area(char *base, entry *e, grove_shm_distant *out)
{
  const view *views = (const view *)(const void *)(base + e->views);
  GROVE_PASS_NEW(out->sections, e->nviews);
  out->nsections = (int)e->nviews;
  for (int k = 0; k < out->nsections; k++) {
    grove_index slots = {.count = views[k].count, .first = views[k].first};
    void *list = base + views[k].list;
    if (views[k].width == 4) slots.narrow = list;
    if (views[k].width == 8) slots.wide = list;
    out->sections[k] = (grove_shm_remote){base + views[k].area, slots};
  }
  out->released = &((const table *)(const void *)base)->released;
  out->left = &e->left;
  return GROVE_OK;
}

/* Finds the ring of receive i, and the area it tells of. */
static grove_status join_writer(grove_shm *shm, int i)
{
  const grove_shm_message *m = &shm->receives[i];
  grove_spot block;
  char *base = NULL;
  entry *e = NULL;
  GROVE_PASS(find_ring_entry(shm, m, 0, &block, &base, &e));
  shm->far_docks[i] = dock_of_entry(base, &block, e);
  shm->readers[i] =
    grove_ring_join((const grove_ring *)(const void *)(base + e->ring), (int)e->reader);
  shm->nreaders++;
  if (m->way == GROVE_SHM_PULLED) GROVE_PASS(reach_area(base, e, &shm->pulls[i]));
  return GROVE_OK;
}

/* Finds the areas that this rank pushes into. */
static grove_status join_areas(grove_shm *shm)
{
  for (int i = 0; i < shm->nsends; i++) {
    const grove_shm_message *m = &shm->sends[i];
    grove_spot block;
    char *base = NULL;
    entry *e = NULL;
    if (m->way != GROVE_SHM_PUSHED) continue;
    GROVE_PASS(find_ring_entry(shm, m, 1, &block, &base, &e));
    GROVE_PASS(reach_area(base, e, &shm->pushes[m->ring]));
  }
  return GROVE_OK;
}

/* Back to nothing: nobody has read the rings yet. Memory that was added for them stays if the
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
  if (!shm->usable || node_is_short(shm->ctx)) {
    give_up(shm, shm->usable);
    return GROVE_OK;
  }
  /* From here on the others use the rings of this rank, whatever happens to its own readers. */
  shm->connected = 1;
  for (int i = 0; i < shm->nreceives; i++) GROVE_PASS(join_writer(shm, i));
  return join_areas(shm);
}

/* ---- the end ---- */

static int entry_is_left(const void *memory, const entry *e)
{
  if (e->ring == 0) return __atomic_load_n(&e->left, __ATOMIC_ACQUIRE) != 0;
  return grove_ring_is_left((const grove_ring *)(const void *)((const char *)memory + e->ring));
}

static int is_left(const void *memory)
{
  const table *t = memory;
  for (int64_t i = 0; i < t->count; i++)
    if (!entry_is_left(memory, &t->entries[i])) return 0;
  return 1;
}

static void leave_rings(grove_shm *shm)
{
  for (int i = 0; i < shm->nreaders; i++) grove_ring_leave(&shm->readers[i]);
  for (int i = 0; i < shm->nsends; i++)
    if (shm->pushes[i].left) __atomic_store_n(shm->pushes[i].left, 1, __ATOMIC_RELEASE);
  if (shm->block) grove_arena_retire(shm->ctx->arena, shm->block, is_left);
}

void grove_shm_free(grove_shm **pointer)
{
  grove_shm *shm = *pointer;
  if (!shm) return;
  if (!shm->connected)
    give_up(shm, 0);
  else
    leave_rings(shm);
  for (int i = 0; shm->pushes && i < shm->nsends; i++) free(shm->pushes[i].sections);
  for (int i = 0; shm->pulls && i < shm->nreceives; i++) free(shm->pulls[i].sections);
  free(shm->writers); /* and the other arrays */
  free(shm);
  *pointer = NULL;
}

const grove_carrier_kind grove_carrier_shm = {
  .name = "shm",
  .reach = GROVE_REACHES_NODE,
  .fast = 1,
  .writes_arrays = 1,
  .takes_parts = 1,
  .memories = GROVE_SPACE_HOST,
};
