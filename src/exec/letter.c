/* Between the users' arrays and letters. */
#include "exec/transfer.h"

#include <string.h>

/* ---- fragments of letters ---- */

/* A fragment that begins inside a section ends with it at the latest: what follows would not be
 * aligned. */
int64_t grove_letter_cut(const grove_letter *letter, int64_t at, int64_t most)
{
  const grove_section *p = letter->sections, *end = p + letter->nsections;
  int64_t to = at;
  if (at == 0 && letter->data + GROVE_SECTION_ALIGNMENT <= most) return letter->data; /* as usual */
  if (letter->nsections > 1)
    most -= GROVE_SECTION_ALIGNMENT; /* for the gap behind the last section of a fragment */
  while (p->at + p->bytes <= at) p++;
  for (; p < end; p++) {
    int64_t left = p->at + p->bytes - to, room = at + most > to ? at + most - to : 0;
    if (room < left) return to + room / p->unit_bytes * p->unit_bytes - at;
    to = p + 1 < end ? p[1].at : letter->data;
    if (at % GROVE_SECTION_ALIGNMENT != 0) break;
  }
  return to - at;
}

/* What a section has of a window of its letter. */
typedef struct window {
  int64_t begin, units;
  int64_t offset; /* of its bytes from the beginning of the window */
} window;

static window window_of(const grove_section *p, int64_t at, int64_t bytes)
{
  if (at <= p->at && p->at + p->bytes <= at + bytes) /* as usual; divisions take their time */
    return (window){0, p->shape.units, p->at - at};
  int64_t from = at > p->at ? at : p->at;
  int64_t to = at + bytes < p->at + p->bytes ? at + bytes : p->at + p->bytes;
  if (from >= to) return (window){0};
  return (window){(from - p->at) / p->unit_bytes, (to - from) / p->unit_bytes, from - at};
}

/* What several ranks sent to a hub is combined on its way out of it. */
static const grove_mover *packer_of(const grove_field *f, const grove_section *p)
{
  int merges = p->array == GROVE_ARRAY_HUB && p->shape.starts.count > 0;
  return merges ? &f->merger : grove_field_mover(f, p->array);
}

grove_status grove_letter_pack(const grove_transfer *op, const grove_letter *letter, int64_t at,
                               int64_t bytes, void *data)
{
  for (int k = 0; k < letter->nsections; k++) {
    const grove_section *p = &letter->sections[k];
    const grove_field *f = &op->fields[p->field];
    window w = window_of(p, at, bytes);
    const grove_space *space = &f->spaces[p->array];
    if (w.units > 0)
      GROVE_PASS(space->kind->pack(space->lift, packer_of(f, p), &p->shape,
                                   grove_field_array(f, p->array), w.begin, w.units,
                                   (char *)data + w.offset));
  }
  return GROVE_OK;
}

/* Units of edges, wherever they are, meet the roots. */
static grove_status fetch_units(const grove_transfer *op, const grove_section *p, const window *w,
                                void *units)
{
  const grove_field *f = &op->fields[p->field];
  const grove_space *space = &f->spaces[GROVE_ARRAY_ROOT];
  return space->kind->fetch(space->lift, &f->fetcher, &op->wiring->lanes[p->field].fetched,
                            f->request.arrays[GROVE_ARRAY_ROOT], p->shape.slots.first + w->begin,
                            w->units, units);
}

/* The edges of a letter follow each other on the standard route. */
static char *edges_of(const grove_transfer *op, const grove_section *p, const window *w)
{
  return (char *)op->fields[p->field].edges + (p->shape.slots.first + w->begin) * p->unit_bytes;
}

static grove_status unpack_section(const grove_transfer *op, const grove_section *p,
                                   const window *w, const void *data)
{
  const grove_field *f = &op->fields[p->field];
  const grove_space *space = &f->spaces[p->array];
  if (!grove_section_meets(op, p))
    return space->kind->unpack(space->lift, grove_field_mover(f, p->array), &p->shape, data,
                               grove_field_array(f, p->array), w->begin, w->units);
  char *edges = edges_of(op, p, w);
  memcpy(edges, data, (size_t)(w->units * p->unit_bytes));
  return fetch_units(op, p, w, edges);
}

grove_status grove_letter_unpack(const grove_transfer *op, const grove_letter *letter, int64_t at,
                                 int64_t bytes, const void *data)
{
  for (int k = 0; k < letter->nsections; k++) {
    const grove_section *p = &letter->sections[k];
    window w = window_of(p, at, bytes);
    if (w.units > 0) GROVE_PASS(unpack_section(op, p, &w, (const char *)data + w.offset));
  }
  return GROVE_OK;
}

grove_status grove_letter_fetch(const grove_transfer *op, const grove_letter *letter, int64_t at,
                                int64_t bytes, void *data)
{
  window w = window_of(letter->sections, at, bytes);
  return fetch_units(op, letter->sections, &w, data);
}

/* ---- whole letters ---- */

grove_status grove_letter_advance_pack(grove_transfer *op, grove_bound_stage *s, int i)
{
  const grove_letter *letter = &s->wired->letters[i];
  grove_bound_letter *bound = grove_bound_letter_of(s, i);
  int packs = bound->memory && !bound->direct;
  if (bound->state == GROVE_LETTER_WAITS && packs) {
    int64_t gone = bound->gone; /* in parts */
    GROVE_PASS(grove_letter_pack(op, letter, gone, letter->data - gone, bound->memory + gone));
    bound->state = GROVE_LETTER_PACKS;
    if (op->nspaces > 0) {
      grove_apart_mark(op, s, i, GROVE_OUT);
      return GROVE_OK; /* others may be packed with it */
    }
  }
  if (packs && op->nspaces > 0 && !grove_apart_has_passed(op, s, i, GROVE_OUT)) return GROVE_OK;
  if (packs && op->wiring->check) grove_check_seal(bound->memory, letter->data, op->sequence);
  bound->state = GROVE_LETTER_LEAVES;
  return GROVE_OK;
}

/* What came straight to where it belongs is done, unless it belongs to edges. */
static grove_status take_edges(const grove_transfer *op, const grove_letter *letter)
{
  const grove_section *p = letter->sections;
  window w = window_of(p, 0, letter->data);
  return grove_section_meets(op, p) ? fetch_units(op, p, &w, edges_of(op, p, &w)) : GROVE_OK;
}

static grove_status unpack_whole(const grove_transfer *op, const grove_letter *letter,
                                 const grove_bound_letter *bound)
{
  if (bound->direct) return take_edges(op, letter);
  if (!bound->memory) return GROVE_OK; /* it was unpacked fragment by fragment */
  if (op->wiring->check)
    GROVE_PASS(grove_check_open(op, letter->peer, bound->memory, letter->data));
  return grove_letter_unpack(op, letter, 0, letter->data, bound->memory);
}

grove_status grove_letter_advance_unpack(grove_transfer *op, grove_bound_stage *s, int i)
{
  grove_status status = GROVE_OK;
  grove_bound_letter *bound = grove_bound_letter_of(s, i);
  if (bound->state != GROVE_LETTER_UNPACKS) {
    bound->state = GROVE_LETTER_UNPACKS;
    status = unpack_whole(op, &s->wired->letters[i], bound);
    if (op->nspaces > 0) grove_apart_mark(op, s, i, GROVE_IN);
  }
  if (op->nspaces == 0 || grove_apart_has_passed(op, s, i, GROVE_IN))
    bound->state = GROVE_LETTER_DONE;
  return status;
}

/* ---- what does not travel ---- */

/* A fetch by this rank's own leaves. */
static grove_status fetch_own(const grove_transfer *op, const grove_lane *lane,
                              const grove_field *f)
{
  void *const *arrays = f->request.arrays;
  if (lane->own.units == 0 || lane->key.unit_bytes == 0) return GROVE_OK;
  return grove_pack_fetch_own(&f->fetcher, &lane->fetched, arrays[GROVE_ARRAY_ROOT],
                              lane->own_begin, &f->mover, &lane->own, arrays[GROVE_ARRAY_LEAF],
                              arrays[GROVE_ARRAY_UPDATE], op->keep,
                              op->keep_bytes / lane->key.unit_bytes);
}

grove_status grove_transfer_move(grove_transfer *op, const grove_section *from,
                                 const grove_section *to)
{
  const grove_field *f = &op->fields[from->field];
  const grove_mover *out = grove_field_mover(f, from->array), *in = grove_field_mover(f, to->array);
  const char *source = grove_field_array(f, from->array);
  char *target = grove_field_array(f, to->array);
  int64_t units = from->shape.units, room = op->keep_bytes / from->unit_bytes;
  if (out == in) return grove_move(in, &from->shape, source, &to->shape, target, op->keep, room);
  if (grove_pack_is_trivial(&out->unit, &from->shape))
    return grove_unpack(in, &to->shape, grove_unit_at(&out->unit, source, from->shape.slots.first),
                        target, 0, units);
  for (int64_t at = 0, n = 0; at < units; at += n) {
    n = units - at < room ? units - at : room;
    GROVE_PASS(grove_pack(out, &from->shape, source, at, n, op->keep));
    GROVE_PASS(grove_unpack(in, &to->shape, op->keep, target, at, n));
  }
  return GROVE_OK;
}

grove_status grove_transfer_keep(grove_transfer *op, int s)
{
  const grove_wired_stage *w = op->stages[s].wired;
  if (op->nspaces > 0) return grove_apart_keep(op, s);
  op->stages[s].own.state = GROVE_LETTER_DONE;
  for (int k = 0; k < w->nkeeps; k++)
    GROVE_PASS(grove_transfer_move(op, &w->keeps[2 * k], &w->keeps[2 * k + 1]));
  for (int k = 0; k < op->nfields; k++) {
    const grove_lane *lane = &op->wiring->lanes[k];
    if (lane->key.operation == GROVE_FETCH && lane->meets_at == s)
      GROVE_PASS(fetch_own(op, lane, &op->fields[k]));
  }
  return GROVE_OK;
}

grove_status grove_transfer_meet(grove_transfer *op, int s)
{
  for (int k = 0; k < op->nfields; k++) {
    const grove_lane *lane = &op->wiring->lanes[k];
    const grove_field *f = &op->fields[k];
    const grove_space *space = &f->spaces[GROVE_ARRAY_ROOT];
    void *roots = f->request.arrays[GROVE_ARRAY_ROOT];
    if (!lane->whole || lane->meets_at != s || lane->key.unit_bytes == 0) continue;
    if (lane->fetched.units == 0) continue; /* its array may be gone */
    if (lane->key.operation == GROVE_FETCH)
      GROVE_PASS(space->kind->fetch(space->lift, &f->fetcher, &lane->fetched, roots, 0,
                                    lane->fetched.units, f->edges));
    else if (!grove_op_is_freed(&op->base))
      GROVE_PASS(space->kind->unpack(space->lift, &f->mover, &lane->fetched, f->edges, roots, 0,
                                     lane->fetched.units));
  }
  return GROVE_OK;
}
