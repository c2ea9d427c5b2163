/* The guards of transfers, with *seals*: digests of the slots that a field reads. */
#include "exec/guard.h"
#include "exec/partial.h"

#include "base/order.h"

#include <stdlib.h>
#include <string.h>

/* What a field reads. */
typedef struct seal {
  grove_array array;
  int64_t n, *slots; /* ascending */
  uint64_t *digests; /* 0: none yet */
} seal;

typedef struct sealed {
  grove_guard base; /* first: guards are known by it */
  grove_transfer *op;
  int nseals;
  seal *seals; /* by field */
} sealed;

/* ---- digests ---- */

static uint64_t digest_slot(const grove_field *f, const seal *s, int64_t i)
{
  const grove_unit *unit = &f->mover.unit;
  const char *at = grove_unit_at(unit, f->request.arrays[s->array], s->slots[i]);
  return grove_guard_digest_unit(unit, at + unit->true_lb);
}

static void seal_slots(const sealed *g, int field, int64_t begin, int64_t end)
{
  const seal *s = &g->seals[field];
  for (int64_t i = begin; i < end; i++) s->digests[i] = digest_slot(&g->op->fields[field], s, i);
}

void grove_guard_seal(const grove_guard *base, int64_t first, int64_t end)
{
  const sealed *g = (const sealed *)base;
  const seal *s = g->seals;
  seal_slots(g, 0, grove_order_below(s->n, s->slots, first),
             grove_order_below(s->n, s->slots, end));
}

static grove_status refuse_change(const sealed *g, int field, int64_t i)
{
  const grove_context *ctx = g->op->base.ctx;
  const grove_request *r = &g->op->fields[field].request;
  const char *noun = grove_footprint_noun(r, g->seals[field].array);
  return grove_error(GROVE_ERR_CORRUPT, __FILE__, __LINE__,
                     "rank %d: %s on forest '%.100s' (start %lld): %s %lld was changed before the "
                     "wait; what an operation reads must stay as it is from its start to its wait: "
                     "write there after the wait, or give the operation an array of its own",
                     ctx->rank, grove_operation_name(r->operation), grove_forest_label(r->forest),
                     (long long)g->op->sequence, noun, (long long)g->seals[field].slots[i]);
}

static grove_status compare_seals(const grove_guard *base)
{
  const sealed *g = (const sealed *)base;
  for (int k = 0; k < g->nseals; k++) {
    const seal *s = &g->seals[k];
    for (int64_t i = 0; i < s->n; i++)
      if (s->digests[i] != 0 && s->digests[i] != digest_slot(&g->op->fields[k], s, i))
        return refuse_change(g, k, i);
  }
  return GROVE_OK;
}

/* ---- the kind ---- */

static void name_slot(const grove_guard *base, const grove_tread *t, uintptr_t at, char *out,
                      size_t room)
{
  const sealed *g = (const sealed *)base;
  const grove_request *r = &g->op->fields[t->field].request;
  int used = snprintf(out, room, "%s %lld of the %s on forest '%.100s'",
                      grove_footprint_noun(r, t->array), (long long)grove_tread_slot(t, at),
                      grove_operation_name(r->operation), grove_forest_label(r->forest));
  if (g->nseals > 1)
    snprintf(out + used, room - (size_t)used, " (member %d of a bundle)", t->field);
}

static int tells_arrivals(const grove_guard *g)
{
  return __atomic_load_n(&((const sealed *)g)->op->arriving, __ATOMIC_ACQUIRE) != NULL;
}

static void free_seals(grove_guard *base)
{
  sealed *g = (sealed *)base;
  for (int k = 0; g->seals && k < g->nseals; k++) {
    free(g->seals[k].slots);
    free(g->seals[k].digests);
  }
  free(g->seals);
  free(g);
}

static const grove_guard_kind kind = {.name = name_slot,
                                      .tells_arrivals = tells_arrivals,
                                      .compare = compare_seals,
                                      .free = free_seals};

grove_status grove_guard_open(grove_guard *base)
{
  const sealed *g = (const sealed *)base;
  base->by_parts = g->op->readying && g->op->readying->asked;
  GROVE_PASS(grove_guard_join(base));
  for (int k = 0; k < g->nseals; k++)
    if (base->by_parts)
      memset(g->seals[k].digests, 0, (size_t)g->seals[k].n * sizeof *g->seals[k].digests);
    else
      seal_slots(g, k, 0, g->seals[k].n);
  return GROVE_OK;
}

/* ---- making one ---- */

/* The array of the user's that a field reads and nobody writes; GROVE_ARRAYS: there is none whose
 * bytes are known. */
static grove_array sealed_array(const grove_field *f)
{
  const grove_request *r = &f->request;
  int from_roots = r->operation == GROVE_BCAST || r->operation == GROVE_DISTRIBUTE;
  int in_place =
    r->operation == GROVE_FETCH && r->arrays[GROVE_ARRAY_LEAF] == r->arrays[GROVE_ARRAY_UPDATE];
  if (f->mover.unit.npieces == 0 || in_place) return GROVE_ARRAYS;
  return from_roots ? GROVE_ARRAY_ROOT : GROVE_ARRAY_LEAF;
}

static grove_status make_seal(const grove_transfer *op, int field, seal *s)
{
  s->array = sealed_array(&op->fields[field]);
  if (op->nspaces > 0 || s->array == GROVE_ARRAYS) return GROVE_OK;
  GROVE_PASS(grove_footprint_slots(op->wiring, field, s->array, &s->n, &s->slots));
  GROVE_PASS_NEW(s->digests, s->n);
  return GROVE_OK;
}

grove_status grove_guard_create(grove_transfer *op)
{
  grove_status status = GROVE_OK;
  sealed *g = NULL;
  grove_guard_free(&op->base.guard); /* of the arrays that it had before */
  GROVE_NEW(g, 1);
  g->base.kind = &kind;
  g->base.op = &op->base;
  op->base.guard = &g->base;
  g->op = op;
  g->nseals = op->nfields;
  GROVE_NEW(g->seals, g->nseals);
  GROVE_TRY(grove_footprint_create(op->wiring, op->fields, &g->base.footprint));
  for (int k = 0; k < g->nseals; k++) GROVE_TRY(make_seal(op, k, &g->seals[k]));
  op->base.ctx->careful = 1; /* waits look back */
  return GROVE_OK;
fail:
  grove_guard_free(&op->base.guard);
  return status;
}
