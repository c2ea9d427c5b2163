/* Which bytes of the user's arrays an operation reads and writes, as its letters, its self edges
 * and its meetings name the slots. Gaps in a datatype belong to nobody.
 */
#include "exec/footprint.h"

#include "base/distinct.h"

#include <stdlib.h>

const char *grove_footprint_noun(const grove_request *r, grove_array array)
{
  static const char *const nouns[GROVE_ARRAYS] = {"root", "leaf",  "edge", "update",
                                                  "hub",  "place", "copy"};
  int many = r->operation == GROVE_COLLECT || r->operation == GROVE_DISTRIBUTE;
  return many && array == GROVE_ARRAY_ROOT ? "multi-root" : nouns[array];
}

/* ---- all slots ---- */

/* Slots of one array of one field, which are read or written. */
typedef struct grove_steps {
  int field;
  grove_array array;
  const grove_index *slots;
  int written;
} grove_steps;

typedef grove_status (*step_visit)(void *self, const grove_steps *steps);

static grove_status visit_section(const grove_section *p, int written, step_visit visit, void *self)
{
  return visit(self, &(grove_steps){p->field, p->array, &p->shape.slots, written});
}

static grove_status visit_stage(const grove_wired_stage *w, step_visit visit, void *self)
{
  for (int i = 0; i < w->nletters; i++)
    for (int k = 0; k < w->letters[i].nsections; k++)
      GROVE_PASS(visit_section(&w->letters[i].sections[k], i < w->nreceives, visit, self));
  for (int k = 0; k < 2 * w->nkeeps; k++)
    GROVE_PASS(visit_section(&w->keeps[k], k % 2 == 1, visit, self));
  return GROVE_OK;
}

/* Edges that meet their roots in the operation's own memory, and places that meet their slots. */
static grove_status visit_meeting(const grove_lane *lane, int field, step_visit visit, void *self)
{
  const grove_index *roots = &lane->fetched.slots, *own = &lane->own.slots;
  if (lane->landing.units > 0)
    GROVE_PASS(visit(self, &(grove_steps){field, lane->lands_in, &lane->landing.slots, 1}));
  if (lane->key.operation != GROVE_FETCH && !lane->whole) return GROVE_OK;
  GROVE_PASS(visit(self, &(grove_steps){field, GROVE_ARRAY_ROOT, roots, 1}));
  GROVE_PASS(visit(self, &(grove_steps){field, GROVE_ARRAY_LEAF, own, 0}));
  return visit(self, &(grove_steps){field, GROVE_ARRAY_UPDATE, own, 1});
}

static grove_status visit_all(const grove_wiring *wiring, step_visit visit, void *self)
{
  for (int s = 0; s < wiring->nstages; s++)
    GROVE_PASS(visit_stage(&wiring->stages[s], visit, self));
  for (int k = 0; k < wiring->nlanes; k++)
    GROVE_PASS(visit_meeting(&wiring->lanes[k], k, visit, self));
  return GROVE_OK;
}

/* ---- bytes ---- */

/* Of a unit in more pieces, only the first ones count; of one whose pieces nobody knows, the first
 * byte. */
enum { PIECES_COUNTED = 64 };

typedef struct laying {
  const grove_field *fields;
  grove_footprint *out;
} laying;

/* With MPI_NO_OP what comes is dropped; a fetch then only reads its roots. */
static grove_treads *treads_of(const laying *l, const grove_steps *steps)
{
  const grove_request *r = &l->fields[steps->field].request;
  int stays = r->op == MPI_NO_OP && steps->array != GROVE_ARRAY_UPDATE;
  if (!steps->written) return &l->out->read;
  if (!stays) return &l->out->written;
  return r->operation == GROVE_FETCH ? &l->out->read : NULL;
}

/* Does it continue the last one? Then its bytes are added to that. */
static int joins_last(const grove_treads *to, const grove_tread *t)
{
  grove_tread *last = to->n > 0 ? &to->list[to->n - 1] : NULL;
  if (!last || last->end != t->begin || last->bytes != t->bytes) return 0;
  if (last->field != t->field || last->array != t->array) return 0;
  if (grove_tread_slot(last, t->begin) != t->slot) return 0;
  last->end = t->end;
  return 1;
}

grove_status grove_treads_add(grove_treads *to, const grove_unit *unit, const void *array,
                              const grove_tread *of)
{
  static const grove_piece first_byte = {.bytes = 1};
  const grove_piece *pieces = unit->npieces > 0 ? grove_unit_pieces(unit) : &first_byte;
  int n = unit->npieces > PIECES_COUNTED ? PIECES_COUNTED : unit->npieces > 0 ? unit->npieces : 1;
  uintptr_t unit_begin = (uintptr_t)grove_unit_at(unit, array, of->slot) + (uintptr_t)unit->true_lb;
  GROVE_PASS_GROW(to->list, to->n, n);
  for (int k = 0; k < n; k++) {
    grove_tread t = *of;
    t.begin = unit_begin + (uintptr_t)pieces[k].at;
    t.end = t.begin + (uintptr_t)pieces[k].bytes;
    t.bytes = pieces[k].bytes;
    if (!joins_last(to, &t)) to->list[to->n++] = t;
  }
  return GROVE_OK;
}

static grove_status lay_out(void *self, const grove_steps *steps)
{
  const laying *l = self;
  const grove_field *f = &l->fields[steps->field];
  const grove_unit *unit = &f->mover.unit;
  grove_treads *to = treads_of(l, steps);
  if (!to || !grove_array_is_users(steps->array) || unit->bytes == 0) return GROVE_OK;
  for (int64_t i = 0; i < steps->slots->count; i++) {
    grove_tread t = {
      .slot = grove_index_at(steps->slots, i), .field = steps->field, .array = steps->array};
    GROVE_PASS(grove_treads_add(to, unit, f->request.arrays[steps->array], &t));
  }
  return GROVE_OK;
}

static int by_begin(const void *a, const void *b)
{
  const grove_tread *x = a, *y = b;
  return (x->begin > y->begin) - (x->begin < y->begin);
}

void grove_treads_sort(grove_treads *s)
{
  if (s->n > 0) qsort(s->list, (size_t)s->n, sizeof *s->list, by_begin);
}

grove_status grove_footprint_create(const grove_wiring *wiring, const grove_field *fields,
                                    grove_footprint *out)
{
  grove_status status = GROVE_OK;
  laying l = {fields, out};
  *out = (grove_footprint){0};
  GROVE_TRY(visit_all(wiring, lay_out, &l));
  grove_treads_sort(&out->read);
  grove_treads_sort(&out->written);
  return GROVE_OK;
fail:
  grove_footprint_free(out);
  return status;
}

void grove_footprint_free(grove_footprint *f)
{
  free(f->read.list);
  free(f->written.list);
  *f = (grove_footprint){0};
}

/* ---- slots ---- */

typedef struct listing {
  int field;
  grove_array array;
  int64_t n, *slots;
} listing;

static grove_status list_read_slots(void *self, const grove_steps *steps)
{
  listing *l = self;
  if (steps->written || steps->field != l->field || steps->array != l->array) return GROVE_OK;
  GROVE_PASS_GROW(l->slots, l->n, steps->slots->count);
  for (int64_t i = 0; i < steps->slots->count; i++)
    l->slots[l->n++] = grove_index_at(steps->slots, i);
  return GROVE_OK;
}

grove_status grove_footprint_slots(const grove_wiring *wiring, int field, grove_array array,
                                   int64_t *n, int64_t **out)
{
  grove_status status = GROVE_OK;
  listing l = {.field = field, .array = array};
  GROVE_TRY(visit_all(wiring, list_read_slots, &l));
  if (l.n > 0) GROVE_TRY(grove_distinct_sort(&l.n, l.slots));
  *n = l.n;
  *out = l.slots;
  return GROVE_OK;
fail:
  free(l.slots);
  return status;
}
