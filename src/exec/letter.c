/* Moves data between the users' arrays and letters. */
#include "exec/transfer.h"

#include <string.h>

/* ---- fragments of letters ---- */

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
    grove_excerpt w = grove_section_excerpt(p, at, bytes);
    const grove_space *space = &f->spaces[p->array];
    if (w.units > 0)
      GROVE_PASS(space->kind->pack(space->lift, packer_of(f, p), &p->shape,
                                   grove_field_array(f, p->array), w.begin, w.units,
                                   (char *)data + w.offset));
  }
  return GROVE_OK;
}

/* Units of edges, wherever they are, meet the roots. */
static grove_status fetch_units(const grove_transfer *op, const grove_section *p,
                                const grove_excerpt *w, void *units)
{
  const grove_field *f = &op->fields[p->field];
  const grove_space *space = &f->spaces[GROVE_ARRAY_ROOT];
  return space->kind->fetch(space->lift, &f->fetcher, &op->wiring->lanes[p->field].fetched,
                            f->request.arrays[GROVE_ARRAY_ROOT], p->shape.slots.first + w->begin,
                            w->units, units);
}

/* The edges of a letter follow each other on the standard route. */
static char *edges_of(const grove_transfer *op, const grove_section *p, const grove_excerpt *w)
{
  return (char *)op->fields[p->field].edges + (p->shape.slots.first + w->begin) * p->unit_bytes;
}

static grove_status unpack_section(const grove_transfer *op, const grove_section *p,
                                   const grove_excerpt *w, const void *data)
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
    grove_excerpt w = grove_section_excerpt(p, at, bytes);
    if (w.units > 0) GROVE_PASS(unpack_section(op, p, &w, (const char *)data + w.offset));
  }
  return GROVE_OK;
}

grove_status grove_letter_fetch(const grove_transfer *op, const grove_letter *letter, int64_t at,
                                int64_t bytes, void *data)
{
  grove_excerpt w = grove_section_excerpt(letter->sections, at, bytes);
  return fetch_units(op, letter->sections, &w, data);
}

/* ---- whole letters ---- */

/* As other memory packs it. */
static grove_status pack_by_chunks(grove_transfer *op, const grove_letter *letter,
                                   const grove_bound_letter *bound)
{
  grove_chunks *c = bound->chunks;
  int64_t bytes = 0;
  if (c) c->count = c->gone = 0;
  for (int64_t at = bound->gone; at < letter->data; at += bytes) {
    bytes = grove_letter_chunk(letter, at);
    GROVE_PASS(grove_letter_pack(op, letter, at, bytes, bound->memory + at));
    if (c) grove_chunks_add(op, c, at + bytes, GROVE_OUT);
  }
  return GROVE_OK;
}

grove_status grove_letter_advance_pack(grove_transfer *op, grove_bound_stage *s, int i)
{
  const grove_letter *letter = &s->wired->letters[i];
  grove_bound_letter *bound = grove_bound_letter_of(s, i);
  int packs = bound->memory && !bound->direct;
  if (bound->state == GROVE_LETTER_WAITS && packs) {
    int64_t gone = bound->gone; /* in parts */
    if (op->nspaces > 0) {
      GROVE_PASS(pack_by_chunks(op, letter, bound));
      bound->state = GROVE_LETTER_PACKS;
      grove_apart_mark(op, s, i, GROVE_OUT);
      return GROVE_OK; /* others may be packed with it */
    }
    GROVE_PASS(grove_letter_pack(op, letter, gone, letter->data - gone, bound->memory + gone));
    bound->state = GROVE_LETTER_PACKS;
  }
  if (packs && op->nspaces > 0 && !grove_apart_has_passed(op, s, i, GROVE_OUT)) return GROVE_OK;
  if (packs && op->wiring->check) grove_check_seal(bound->memory, letter->data, op->sequence);
  bound->state = GROVE_LETTER_LEAVES;
  return GROVE_OK;
}

/* What came straight to its place is done, unless it is for edges. These meet their roots now. */
static grove_status take_edges(const grove_transfer *op, const grove_letter *letter)
{
  const grove_section *p = letter->sections;
  grove_excerpt w = grove_section_excerpt(p, 0, letter->data);
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

/* As other memory unpacks it. */
static grove_status unpack_by_chunks(const grove_transfer *op, const grove_letter *letter,
                                     const grove_bound_letter *bound)
{
  int64_t bytes = 0;
  if (bound->direct || !bound->memory) return unpack_whole(op, letter, bound);
  if (op->wiring->check)
    GROVE_PASS(grove_check_open(op, letter->peer, bound->memory, letter->data));
  for (int64_t at = 0; at < letter->data; at += bytes) {
    bytes = grove_letter_chunk(letter, at);
    GROVE_PASS(grove_letter_unpack(op, letter, at, bytes, bound->memory + at));
  }
  return GROVE_OK;
}

/* ... which may take a while. */
__attribute__((noinline)) static grove_status unpack_apart(grove_transfer *op, grove_bound_stage *s,
                                                           int i, grove_bound_letter *bound)
{
  grove_status status = GROVE_OK;
  if (bound->state != GROVE_LETTER_UNPACKS) {
    bound->state = GROVE_LETTER_UNPACKS;
    status = unpack_by_chunks(op, &s->wired->letters[i], bound);
    grove_apart_mark(op, s, i, GROVE_IN);
  }
  if (grove_apart_has_passed(op, s, i, GROVE_IN)) bound->state = GROVE_LETTER_DONE;
  return status;
}

grove_status grove_letter_advance_unpack(grove_transfer *op, grove_bound_stage *s, int i)
{
  grove_bound_letter *bound = grove_bound_letter_of(s, i);
  if (op->nspaces > 0) return unpack_apart(op, s, i, bound);
  bound->state = GROVE_LETTER_DONE;
  return unpack_whole(op, &s->wired->letters[i], bound);
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

/* The user's array may be gone. */
static grove_status land_places(const grove_transfer *op, const grove_lane *lane,
                                const grove_field *f)
{
  const grove_space *space = &f->spaces[lane->lands_in];
  if (grove_op_is_freed(&op->base)) return GROVE_OK;
  return space->kind->unpack(space->lift, &f->mover, &lane->landing, f->places,
                             f->request.arrays[lane->lands_in], 0, lane->landing.units);
}

grove_status grove_transfer_meet(grove_transfer *op, int s)
{
  for (int k = 0; k < op->nfields; k++) {
    const grove_lane *lane = &op->wiring->lanes[k];
    const grove_field *f = &op->fields[k];
    const grove_space *space = &f->spaces[GROVE_ARRAY_ROOT];
    void *roots = f->request.arrays[GROVE_ARRAY_ROOT];
    if (grove_lane_lands(lane, s)) GROVE_PASS(land_places(op, lane, f));
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
