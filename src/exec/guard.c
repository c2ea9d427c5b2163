/* The option `check`, while an operation is under way: from its start until it is waited for,
 * nobody may write what it reads, or touch what it writes.
 *
 * A start compares its footprint with those of all operations of the context that are under way. It
 * also takes a digest of every slot that is read, and the wait takes it again. What is marked part
 * by part has its digest from then on.
 *
 * Legal programs are never told off, so in doubt nothing is said. By parts, slots change hands in
 * between: what is not marked is still the user's, and what has been told is the user's again. So
 * of such an operation only its own start looks at what it writes. Arrays on devices, and those
 * beside them, are final when their stream says so: these have no digests.
 */
#include "exec/footprint.h"
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

struct grove_guard {
  grove_guard *next; /* of those that are open, in the context */
  grove_transfer *op;
  int is_open;
  int by_parts; /* so is the start under way */
  grove_footprint footprint;
  int nseals;
  seal *seals; /* by field */
};

/* ---- digests ---- */

/* By words, which is faster than a checksum. A word that changes alone is always seen. */
static uint64_t digest_bytes(uint64_t sum, const char *data, int64_t bytes)
{
  for (int64_t at = 0; at < bytes; at += 8) {
    uint64_t word = 0;
    memcpy(&word, data + at, (size_t)(bytes - at < 8 ? bytes - at : 8));
    sum = (sum ^ word) * 0x9e3779b97f4a7c15u; /* odd */
    sum ^= sum >> 32;
  }
  return sum;
}

static uint64_t digest_slot(const grove_field *f, const seal *s, int64_t i)
{
  const grove_unit *unit = &f->mover.unit;
  const grove_piece *pieces = grove_unit_pieces(unit);
  const char *begin =
    (const char *)grove_unit_at(unit, f->request.arrays[s->array], s->slots[i]) + unit->true_lb;
  uint64_t sum = 0;
  for (int k = 0; k < unit->npieces; k++)
    sum = digest_bytes(sum, begin + pieces[k].at, pieces[k].bytes);
  return sum == 0 ? 1 : sum;
}

static void seal_slots(const grove_guard *g, int field, int64_t begin, int64_t end)
{
  const seal *s = &g->seals[field];
  for (int64_t i = begin; i < end; i++) s->digests[i] = digest_slot(&g->op->fields[field], s, i);
}

void grove_guard_seal(const grove_guard *g, int64_t first, int64_t end)
{
  const seal *s = g->seals;
  seal_slots(g, 0, grove_order_below(s->n, s->slots, first),
             grove_order_below(s->n, s->slots, end));
}

static grove_status refuse_change(const grove_guard *g, int field, int64_t i)
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

static grove_status compare_seals(const grove_guard *g)
{
  for (int k = 0; k < g->nseals; k++) {
    const seal *s = &g->seals[k];
    for (int64_t i = 0; i < s->n; i++)
      if (s->digests[i] != 0 && s->digests[i] != digest_slot(&g->op->fields[k], s, i))
        return refuse_change(g, k, i);
  }
  return GROVE_OK;
}

/* ---- other operations ---- */

/* A pair of treads that share memory. */
typedef struct clash {
  const grove_tread *mine, *other;
  uintptr_t at; /* the first byte of it */
} clash;

static int find_clash(const grove_treads *mine, const grove_treads *others, clash *out)
{
  for (int64_t i = 0, k = 0; i < mine->n && k < others->n;) {
    const grove_tread *a = &mine->list[i], *b = &others->list[k];
    uintptr_t meeting = grove_tread_meeting(a, b);
    if (meeting != UINTPTR_MAX) {
      *out = (clash){a, b, meeting};
      return 1;
    }
    if (a->end <= b->end)
      i++;
    else
      k++;
  }
  return 0;
}

/* "leaf 3 of the bcast on forest 'halo'" */
static void name_slot(const grove_guard *g, const grove_tread *s, uintptr_t at, char *out,
                      size_t room)
{
  const grove_request *r = &g->op->fields[s->field].request;
  int used = snprintf(out, room, "%s %lld of the %s on forest '%.100s'",
                      grove_footprint_noun(r, s->array), (long long)grove_tread_slot(s, at),
                      grove_operation_name(r->operation), grove_forest_label(r->forest));
  if (g->nseals > 1)
    snprintf(out + used, room - (size_t)used, " (member %d of a bundle)", s->field);
}

static grove_status refuse_clash(const grove_guard *g, const char *does, const grove_guard *other,
                                 const char *does_other, const clash *c)
{
  char mine[224], others[224];
  name_slot(g, c->mine, c->at, mine, sizeof mine);
  name_slot(other, c->other, c->at, others, sizeof others);
  return grove_error(
    GROVE_ERR_STATE, __FILE__, __LINE__,
    "rank %d: this start %s %s, which is the same memory as %s, which is under way "
    "and %s it; wait for that one first, or give one of them memory of its own",
    g->op->base.ctx->rank, does, mine, others, does_other);
}

static int tells_arrivals(const grove_guard *g)
{
  return __atomic_load_n(&g->op->arriving, __ATOMIC_ACQUIRE) != NULL;
}

static grove_status compare_footprints(const grove_guard *g, const grove_guard *other)
{
  const grove_footprint *mine = &g->footprint, *others = &other->footprint;
  clash c;
  if (!tells_arrivals(other)) {
    if (find_clash(&mine->written, &others->written, &c))
      return refuse_clash(g, "writes", other, "writes", &c);
    if (!g->by_parts && find_clash(&mine->read, &others->written, &c))
      return refuse_clash(g, "reads", other, "writes", &c);
  }
  if (!other->by_parts && find_clash(&mine->written, &others->read, &c))
    return refuse_clash(g, "writes", other, "reads", &c);
  return GROVE_OK;
}

/* ---- a start and its end ---- */

grove_status grove_guard_open(grove_guard *g)
{
  grove_guard **open = &g->op->base.ctx->guards;
  g->by_parts = g->op->readying && g->op->readying->asked;
  for (const grove_guard *k = *open; k; k = k->next) GROVE_PASS(compare_footprints(g, k));
  for (int k = 0; k < g->nseals; k++)
    if (g->by_parts)
      memset(g->seals[k].digests, 0, (size_t)g->seals[k].n * sizeof *g->seals[k].digests);
    else
      seal_slots(g, k, 0, g->seals[k].n);
  g->next = *open;
  *open = g;
  g->is_open = 1;
  return GROVE_OK;
}

void grove_guard_close(grove_guard *g)
{
  grove_guard **at = &g->op->base.ctx->guards;
  if (!g->is_open) return;
  while (*at != g) at = &(*at)->next;
  *at = g->next;
  g->is_open = 0;
}

void grove_op_look_back(grove_op *op)
{
  grove_guard *g = op->guard;
  grove_context_enter(op->ctx);
  int was_open = g->is_open;
  grove_guard_close(g);
  grove_context_leave(op->ctx);
  if (was_open && op->failure == GROVE_OK) grove_op_note(op, compare_seals(g));
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

void grove_guard_free(grove_guard **pointer)
{
  grove_guard *g = *pointer;
  if (!g) return;
  for (int k = 0; g->seals && k < g->nseals; k++) {
    free(g->seals[k].slots);
    free(g->seals[k].digests);
  }
  free(g->seals);
  grove_footprint_free(&g->footprint);
  free(g);
  *pointer = NULL;
}

grove_status grove_guard_create(grove_transfer *op)
{
  grove_status status = GROVE_OK;
  grove_guard *g = NULL;
  grove_guard_free(&op->base.guard); /* of the arrays that it had before */
  GROVE_NEW(g, 1);
  g->op = op;
  g->nseals = op->nfields;
  GROVE_NEW(g->seals, g->nseals);
  GROVE_TRY(grove_footprint_create(op->wiring, op->fields, &g->footprint));
  for (int k = 0; k < g->nseals; k++) GROVE_TRY(make_seal(op, k, &g->seals[k]));
  op->base.guard = g;
  op->base.ctx->careful = 1; /* waits look back */
  return GROVE_OK;
fail:
  grove_guard_free(&g);
  return status;
}
