/* An operation that is freed while active goes on without the user's arrays, which may be gone a
 * moment later, and without the forest's lists. What it still has to send is packed now, and its
 * letters take it from there. What comes for the arrays is put where nobody reads it. A fetch also
 * meets a copy of its roots. Nothing else about it is special afterwards.
 */
#include "exec/transfer.h"

#include <stdlib.h>
#include <string.h>

/* ---- letters ---- */

/* The copy that a field goes on with: units side by side, then room for one section that comes. */
typedef struct room {
  int64_t units, most; /* what is needed; the largest section that comes */
  int64_t at;          /* units that are there so far */
} room;

/* Copies a wired stage, without self edges that end in the user's arrays. */
static grove_status copy_wired(grove_bound_stage *s)
{
  const grove_wired_stage *w = s->wired;
  grove_wired_stage *own = NULL;
  grove_letter *letters = NULL;
  grove_section *sections = NULL, *keeps = NULL;
  GROVE_PASS_NEW_ALL(GROVE_WISH(own, 1), GROVE_WISH(letters, w->nletters),
                     GROVE_WISH(sections, w->nsections), GROVE_WISH(keeps, 2 * w->nkeeps));
  *own = *w;
  own->letters = memcpy(letters, w->letters, (size_t)w->nletters * sizeof *letters);
  own->sections = memcpy(sections, w->sections, (size_t)w->nsections * sizeof *sections);
  for (int i = 0; i < w->nletters; i++) letters[i].sections += sections - w->sections;
  own->keeps = keeps;
  own->nkeeps = 0;
  for (int k = 0; k < w->nkeeps; k++)
    if (!grove_array_is_users(w->keeps[2 * k + 1].array))
      memcpy(&keeps[2 * own->nkeeps++], &w->keeps[2 * k], 2 * sizeof *keeps);
  s->wired = s->rebound = own;
  return GROVE_OK;
}

/* What becomes of the units of a section: they are copied, or only get a place, or get the one
 * place that all such sections share. */
typedef enum fate { COPIED, PLACED, DROPPED } fate;

/* Without a copy, only adds up what is needed. */
static grove_status rebind_section(grove_transfer *op, room *rooms, grove_section *p, fate what)
{
  grove_field *f = &op->fields[p->field];
  const grove_space *space = &f->spaces[p->array];
  room *r = &rooms[p->field];
  int64_t units = p->shape.units, first = what == DROPPED ? r->units : r->at;
  if (!grove_array_is_users(p->array)) return GROVE_OK;
  if (what != DROPPED)
    r->at += units;
  else if (units > r->most)
    r->most = units;
  if (!f->copy) return GROVE_OK;
  if (what == COPIED)
    GROVE_PASS(space->kind->pack(space->lift, &f->mover, &p->shape, f->request.arrays[p->array], 0,
                                 units, (char *)f->copy + first * p->unit_bytes));
  p->array = GROVE_ARRAY_COPY;
  p->shape = (grove_shape){.form = GROVE_SHAPE_CONSECUTIVE,
                           .units = units,
                           .slots = {.count = units, .first = first},
                           .first = first};
  return GROVE_OK;
}

/* Must number j of a haul be taken out of arrays, or put into them, still or again? Not if its
 * carrier has it or had it: then MPI sees to it. Nor if readers were told where it lies. */
static int is_to_be_bound(const grove_transfer *op, const grove_bound_stage *s,
                          const grove_bound_haul *haul, int j)
{
  const grove_bound_letter *bound = grove_bound_letter_of(s, haul->wired->letters[j]);
  int packed = bound->memory && !bound->direct;
  if (s - op->stages > op->current) return 1;
  if (j < haul->wired->nreceives) return bound->state != GROVE_LETTER_DONE;
  if (!haul->letters && s->flows[j].posted) return 0;
  return bound->state == GROVE_LETTER_WAITS ||
         (bound->state == GROVE_LETTER_LEAVES && !packed && !haul->letters);
}

static grove_status rebind_number(grove_transfer *op, room *rooms, grove_bound_stage *s,
                                  grove_bound_haul *haul, int j)
{
  const grove_letter *letter = &s->wired->letters[haul->wired->letters[j]];
  int receives = j < haul->wired->nreceives;
  int taken = receives && haul->letters && s - op->stages <= op->current; /* by its carrier */
  int direct = grove_bound_letter_of(s, haul->wired->letters[j])->direct;
  if (!is_to_be_bound(op, s, haul, j)) return GROVE_OK;
  fate what = !receives ? COPIED : direct ? PLACED : DROPPED;
  for (int k = 0; k < letter->nsections; k++)
    GROVE_PASS(rebind_section(op, rooms, &letter->sections[k], what));
  int moved = direct && letter->sections->array == GROVE_ARRAY_COPY;
  if (moved && !taken) GROVE_PASS(grove_letter_bind(op, s, haul, j));
  return GROVE_OK;
}

static grove_status rebind_stage(grove_transfer *op, room *rooms, grove_bound_stage *s)
{
  for (grove_bound_haul *haul = s->hauls; haul < s->hauls + s->nhauls; haul++)
    for (int j = 0; j < grove_haul_size(haul->wired); j++)
      GROVE_PASS(rebind_number(op, rooms, s, haul, j));
  if (s - op->stages <= op->current && s->own.state == GROVE_LETTER_DONE) return GROVE_OK;
  for (int k = 0; k < s->wired->nkeeps; k++)
    GROVE_PASS(rebind_section(op, rooms, &s->wired->keeps[2 * k], COPIED));
  return GROVE_OK;
}

static grove_status rebind_stages(grove_transfer *op, room *rooms)
{
  for (grove_bound_stage *s = op->stages + op->oldest; s < op->stages + op->nstages; s++)
    GROVE_PASS(rebind_stage(op, rooms, s));
  return GROVE_OK;
}

/* ---- lists of a fetch ---- */

/* Copies the lists, for all operations of the wiring. Others of them may be abandoned too. */
static grove_status detach_lane(grove_lane *lane)
{
  grove_status status = GROVE_OK;
  grove_index fetched = {0}, own = {0};
  if (lane->detached) return GROVE_OK;
  GROVE_TRY(grove_index_copy(&lane->fetched.slots, &fetched));
  GROVE_TRY(grove_index_copy(&lane->own.slots, &own));
  lane->fetched.slots = fetched;
  lane->own.slots = own;
  lane->detached = 1;
  return GROVE_OK;
fail:
  grove_index_free(&fetched);
  return status;
}

/* ---- arrays of a fetch ---- */

typedef struct range {
  int64_t least, most;
} range;

static range range_of_slots(const grove_index *slots)
{
  range r = {INT64_MAX, INT64_MIN};
  for (int64_t i = 0; i < slots->count; i++) {
    int64_t slot = grove_index_at(slots, i);
    if (slot < r.least) r.least = slot;
    if (slot > r.most) r.most = slot;
  }
  return r;
}

/* Copies everything from the least to the greatest slot of a list. `array` becomes where slot 0
 * would be. */
static grove_status copy_array(const grove_unit *unit, const grove_index *slots, grove_space *space,
                               void **array, void **memory)
{
  range r = range_of_slots(slots);
  if (slots->count == 0 || unit->bytes == 0) return GROVE_OK;
  int64_t first = (unit->extent < 0 ? r.most : r.least) * unit->extent + unit->true_lb;
  int64_t bytes = (r.most - r.least) * llabs(unit->extent) + unit->true_extent;
  *memory = grove_room((size_t)bytes, 1);
  GROVE_PASS_CHECK(*memory, GROVE_ERR_MEMORY, "no memory for %lld bytes", (long long)bytes);
  GROVE_PASS(
    space->kind->copy(space->kind, space->device, *memory, (const char *)*array + first, bytes));
  *array = (char *)*memory - first;
  *space = (grove_space){&grove_space_host, 0, NULL};
  return GROVE_OK;
}

static grove_status detach_field(grove_lane *lane, grove_field *f)
{
  void **arrays = f->request.arrays;
  const grove_unit *unit = &f->mover.unit;
  GROVE_PASS(detach_lane(lane));
  GROVE_PASS(copy_array(unit, &lane->fetched.slots, &f->spaces[GROVE_ARRAY_ROOT],
                        &arrays[GROVE_ARRAY_ROOT], &f->roots));
  GROVE_PASS(copy_array(unit, &lane->own.slots, &f->spaces[GROVE_ARRAY_LEAF],
                        &arrays[GROVE_ARRAY_LEAF], &f->leaves));
  arrays[GROVE_ARRAY_UPDATE] = arrays[GROVE_ARRAY_LEAF]; /* nobody reads it */
  f->spaces[GROVE_ARRAY_UPDATE] = f->spaces[GROVE_ARRAY_LEAF];
  return GROVE_OK;
}

/* ---- the whole ---- */

static grove_status make_copy(const room *r, int64_t unit_bytes, void **out)
{
  char *copy = NULL;
  GROVE_PASS_ROOM(copy, (r->units + r->most) * unit_bytes + 1);
  *out = copy;
  return GROVE_OK;
}

grove_status grove_transfer_rebind(grove_transfer *op)
{
  grove_status status = GROVE_OK;
  room *rooms = NULL;
  GROVE_NEW(rooms, op->nfields);
  for (int k = op->oldest; k < op->nstages; k++) GROVE_TRY(copy_wired(&op->stages[k]));
  GROVE_TRY(rebind_stages(op, rooms));
  for (int k = 0; k < op->nfields; k++) {
    const grove_lane *lane = &op->wiring->lanes[k];
    grove_field *f = &op->fields[k];
    rooms[k].units = rooms[k].at;
    rooms[k].at = 0;
    GROVE_TRY(grove_field_make_packed(f));
    GROVE_TRY(make_copy(&rooms[k], lane->key.unit_bytes, &f->copy));
    for (int j = 0; j < op->nspaces; j++)
      GROVE_TRY(op->spaces[j].kind->cover(op->spaces[j].lift, f->copy,
                                          rooms[k].units * lane->key.unit_bytes));
  }
  GROVE_TRY(rebind_stages(op, rooms));
  for (int k = 0; k < op->nfields; k++) { /* only now: letters are taken out of whole arrays */
    grove_lane *lane = &op->wiring->lanes[k];
    if (lane->key.operation == GROVE_FETCH && op->met <= lane->meets_at)
      GROVE_TRY(detach_field(lane, &op->fields[k]));
  }
fail:
  free(rooms);
  return status;
}
