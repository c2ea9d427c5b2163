/* What a device must know of an operation before it starts: which windows of which sections it will
 * pack and unpack, and the host memory in which letters lie.
 */
#include "exec/apart.h"

/* ---- windows ---- */

static grove_status prepare_window(const grove_space *space, const grove_mover *mover,
                                   const grove_shape *shape, int64_t begin, int64_t count,
                                   grove_motion motion)
{
  if (!space->lift || count == 0) return GROVE_OK;
  return space->kind->prepare(space->lift, mover, shape, begin, count, motion);
}

static grove_status prepare_section(const grove_transfer *op, const grove_section *p, int64_t begin,
                                    int64_t units, grove_motion motion)
{
  const grove_field *f = &op->fields[p->field];
  if (motion != GROVE_MOTION_PACK && grove_apart_meets(op, p))
    return GROVE_OK; /* see apart_meet.c */
  return prepare_window(&f->spaces[p->array], grove_field_mover(f, p->array), &p->shape, begin,
                        units, motion);
}

/* Chunk by chunk, as it will be packed or unpacked. */
static grove_status prepare_letter(const grove_transfer *op, const grove_letter *letter,
                                   grove_motion motion)
{
  int64_t bytes = 0;
  for (int64_t at = 0; at < letter->data; at += bytes) {
    bytes = grove_letter_chunk(letter, at);
    for (int k = 0; k < letter->nsections; k++) {
      grove_excerpt w = grove_section_excerpt(&letter->sections[k], at, bytes);
      GROVE_PASS(prepare_section(op, &letter->sections[k], w.begin, w.units, motion));
    }
  }
  return GROVE_OK;
}

static grove_status prepare_keep(const grove_transfer *op, const grove_section *p,
                                 grove_motion motion)
{
  return prepare_section(op, p, 0, p->shape.units, motion);
}

/* What meets its roots or slots all at once, and self edges that fetch. */
static grove_status prepare_lane(const grove_lane *lane, const grove_field *f)
{
  const grove_space *roots = &f->spaces[GROVE_ARRAY_ROOT];
  int fetches = lane->key.operation == GROVE_FETCH;
  if (lane->landing.units > 0)
    GROVE_PASS(prepare_window(&f->spaces[lane->lands_in], &f->mover, &lane->landing, 0,
                              lane->landing.units, GROVE_MOTION_UNPACK));
  if (lane->whole)
    GROVE_PASS(prepare_window(roots, fetches ? &f->fetcher : &f->mover, &lane->fetched, 0,
                              lane->fetched.units,
                              fetches ? GROVE_MOTION_FETCH : GROVE_MOTION_UNPACK));
  if (!fetches) return GROVE_OK;
  int64_t n = lane->own.units;
  GROVE_PASS(
    prepare_window(&f->spaces[GROVE_ARRAY_LEAF], &f->mover, &lane->own, 0, n, GROVE_MOTION_PACK));
  return prepare_window(&f->spaces[GROVE_ARRAY_UPDATE], &f->mover, &lane->own, 0, n,
                        GROVE_MOTION_UNPACK);
}

static grove_status prepare_stage(const grove_transfer *op, const grove_wired_stage *w)
{
  for (int i = 0; i < w->nletters; i++)
    GROVE_PASS(prepare_letter(op, &w->letters[i],
                              i < w->nreceives ? GROVE_MOTION_UNPACK : GROVE_MOTION_PACK));
  for (int k = 0; k < w->nkeeps; k++) {
    GROVE_PASS(prepare_keep(op, &w->keeps[2 * k], GROVE_MOTION_PACK));
    GROVE_PASS(prepare_keep(op, &w->keeps[2 * k + 1], GROVE_MOTION_UNPACK));
  }
  return GROVE_OK;
}

/* ---- memory ---- */

/* All edges, in whole pages, if the roots are there; or those of this rank's own leaves. */
static grove_status cover_edges(const grove_lane *lane, const grove_field *f,
                                const grove_space *space)
{
  int64_t all = lane->fetched.units * lane->key.unit_bytes;
  if (grove_space_is_same(f->spaces[GROVE_ARRAY_ROOT], *space))
    return space->kind->cover(space->lift, f->edges, grove_round_up(all, GROVE_PAGE));
  if (!grove_space_is_same(f->spaces[GROVE_ARRAY_LEAF], *space) &&
      !grove_space_is_same(f->spaces[GROVE_ARRAY_UPDATE], *space))
    return GROVE_OK;
  return space->kind->cover(space->lift, grove_apart_edges(f, lane->own_begin),
                            lane->own.units * lane->key.unit_bytes);
}

/* All places, in whole pages, if the leaves are there. */
static grove_status cover_places(const grove_lane *lane, const grove_field *f,
                                 const grove_space *space)
{
  int64_t all = lane->landing.units * lane->key.unit_bytes;
  if (!f->places || !grove_space_is_same(f->spaces[lane->lands_in], *space)) return GROVE_OK;
  return space->kind->cover(space->lift, f->places, grove_round_up(all, GROVE_PAGE));
}

static grove_status mirror_docks(const grove_transfer *op, const grove_space *space, int s)
{
  const grove_bound_stage *stage = &op->stages[s];
  for (int c = 0; c < stage->nhauls; c++)
    for (int j = 0; j < grove_haul_size(stage->hauls[c].wired); j++) {
      int i = stage->hauls[c].wired->letters[j];
      if (!grove_bound_letter_of(stage, i)->docked) continue;
      const grove_dock *dock = grove_wiring_dock(op->wiring, s, i);
      GROVE_PASS(space->kind->mirror(space->lift, dock->memory, dock->slots * dock->stride));
    }
  return GROVE_OK;
}

static grove_status cover_space(const grove_transfer *op, const grove_space *space)
{
  GROVE_PASS(space->kind->cover(space->lift, op->memory, op->memory_bytes));
  for (int s = 0; s < op->nstages; s++) GROVE_PASS(mirror_docks(op, space, s));
  for (int k = 0; k < op->nfields; k++)
    GROVE_PASS(cover_places(&op->wiring->lanes[k], &op->fields[k], space));
  for (int k = 0; k < op->nfields; k++)
    if (op->fields[k].edges) GROVE_PASS(cover_edges(&op->wiring->lanes[k], &op->fields[k], space));
  return GROVE_OK;
}

/* ---- all of it ---- */

grove_status grove_apart_prepare(grove_transfer *op)
{
  for (int j = 0; j < op->nspaces; j++) GROVE_PASS(cover_space(op, &op->spaces[j]));
  for (int s = 0; s < op->nstages && op->nspaces > 0; s++) {
    GROVE_PASS(prepare_stage(op, op->stages[s].wired));
    GROVE_PASS(grove_apart_declare(op, s));
  }
  for (int k = 0; k < op->nfields && op->nspaces > 0; k++) {
    GROVE_PASS(prepare_lane(&op->wiring->lanes[k], &op->fields[k]));
    GROVE_PASS(grove_apart_merge(op, k));
  }
  return grove_apart_describe(op);
}
