/* The guards of channels. A receiver's has a footprint, the whole array. A sender's has none, for
 * what is not marked is the user's. It has a digest of each part from its mark on.
 */
#include "partitioned/guarded.h"

#include <stdlib.h>
#include <string.h>

typedef struct guarded {
  grove_guard base; /* first: guards are known by it */
  grove_channel *channel;
  int asked;         /* which parts have arrived, in this round; atomic */
  uint64_t *digests; /* of a sender's parts; 0: none yet */
} guarded;

/* ---- what is sent ---- */

static uint64_t digest_part(const grove_channel *c, int64_t p)
{
  const grove_unit *unit = &c->mover.unit;
  uint64_t sum = 0;
  if (c->dense) {
    sum = grove_guard_digest(sum, c->data + p * c->part_bytes, c->part_bytes);
  } else {
    for (int64_t i = p * c->part_units; i < (p + 1) * c->part_units; i++) {
      const char *at = grove_unit_at(unit, c->array, i);
      uint64_t one = grove_guard_digest_unit(unit, at + unit->true_lb);
      sum = grove_guard_digest(sum, (const char *)&one, sizeof one);
    }
  }
  return sum == 0 ? 1 : sum;
}

void grove_guarded_seal(const grove_channel *c, int64_t first, int64_t count)
{
  const guarded *g = (const guarded *)c->base.guard;
  if (!g || !g->digests) return;
  for (int64_t p = first; p < first + count; p++) g->digests[p] = digest_part(c, p);
}

static grove_status compare_parts(const grove_guard *base)
{
  const guarded *g = (const guarded *)base;
  const grove_channel *c = g->channel;
  for (int64_t p = 0; g->digests && p < c->parts; p++)
    if (g->digests[p] != 0 && g->digests[p] != digest_part(c, p))
      return grove_error(GROVE_ERR_CORRUPT, __FILE__, __LINE__,
                         "rank %d: %s (round %lld): part %lld was changed before the wait; a part "
                         "must stay as it is from its mark to the wait: write there after the "
                         "wait, or mark it when it is final",
                         c->base.ctx->rank, grove_op_label(&c->base), (long long)c->round,
                         (long long)p);
  return GROVE_OK;
}

/* ---- what is received ---- */

static grove_status lay_out_array(const grove_channel *c, grove_treads *out)
{
  int64_t units = c->parts * c->part_units;
  if (c->bytes == 0) return GROVE_OK;
  if (c->dense) {
    GROVE_PASS_NEW(out->list, 1);
    out->list[out->n++] = (grove_tread){.begin = (uintptr_t)c->data,
                                        .end = (uintptr_t)c->data + (uintptr_t)c->bytes,
                                        .bytes = c->part_bytes / c->part_units};
    return GROVE_OK;
  }
  for (int64_t i = 0; i < units; i++)
    GROVE_PASS(grove_treads_add(out, &c->mover.unit, c->array, &(grove_tread){.slot = i}));
  grove_treads_sort(out);
  return GROVE_OK;
}

void grove_guarded_note_asked(const grove_channel *c)
{
  guarded *g = (guarded *)c->base.guard;
  if (g) __atomic_store_n(&g->asked, 1, __ATOMIC_RELAXED);
}

/* ---- the kind ---- */

static void name_part(const grove_guard *g, const grove_tread *t, uintptr_t at, char *out,
                      size_t room)
{
  const grove_channel *c = ((const guarded *)g)->channel;
  snprintf(out, room, "part %lld of the %s", (long long)(grove_tread_slot(t, at) / c->part_units),
           grove_op_label(&c->base));
}

static int has_asked(const grove_guard *g)
{
  return __atomic_load_n(&((const guarded *)g)->asked, __ATOMIC_RELAXED);
}

static void free_guarded(grove_guard *base)
{
  guarded *g = (guarded *)base;
  free(g->digests);
  free(g);
}

static const grove_guard_kind kind = {
  .name = name_part, .tells_arrivals = has_asked, .compare = compare_parts, .free = free_guarded};

grove_status grove_guarded_open(grove_channel *c)
{
  guarded *g = (guarded *)c->base.guard;
  if (!g) return GROVE_OK;
  __atomic_store_n(&g->asked, 0, __ATOMIC_RELAXED);
  if (g->digests) memset(g->digests, 0, (size_t)c->parts * sizeof *g->digests);
  return grove_guard_join(&g->base);
}

/* Of a unit that only MPI can walk, nobody knows the bytes. */
static int has_digests(const grove_channel *c)
{
  return c->sends && (c->dense || c->mover.unit.npieces > 0);
}

grove_status grove_guarded_create(grove_channel *c)
{
  guarded *g = NULL;
  grove_context *ctx = c->base.ctx;
  if (!ctx->options.check || c->staged) return GROVE_OK;
  GROVE_PASS_NEW(g, 1);
  g->base.kind = &kind;
  g->base.op = &c->base;
  g->base.by_parts = c->sends;
  g->channel = c;
  c->base.guard = &g->base;
  ctx->careful = 1; /* waits look back */
  if (has_digests(c)) GROVE_PASS_NEW(g->digests, c->parts);
  if (!c->sends) GROVE_PASS(lay_out_array(c, &g->base.footprint.written));
  return GROVE_OK;
}
