/* Arrays outside the host's memory. Packing and unpacking them may still be under way when the call
 * returns. For every such memory, a letter notes how much was begun. It is packed, or unpacked,
 * when that much is done. Self edges travel like a letter: out of their arrays, past the roots if
 * they fetch, and into the arrays. Each step begins when the one before is done.
 */
#include "device/driver.h"
#include "exec/transfer.h"

/* ---- what a device must know ---- */

/* A reduce or a fetch may have several values for one root. */
static int combines_at_roots(const grove_transfer *op)
{
  for (int k = 0; k < op->nfields; k++) {
    grove_operation operation = op->wiring->lanes[k].key.operation;
    if (operation == GROVE_REDUCE || operation == GROVE_FETCH) return 1;
  }
  return 0;
}

static grove_status prepare_window(const grove_space *space, const grove_mover *mover,
                                   const grove_shape *shape, int64_t begin, int64_t count,
                                   grove_motion motion)
{
  if (!space->lift || count == 0) return GROVE_OK;
  return space->kind->prepare(space->lift, mover, shape, begin, count, motion);
}

static grove_status prepare_section(const grove_transfer *op, const grove_section *p,
                                    grove_motion motion)
{
  const grove_field *f = &op->fields[p->field];
  if (grove_section_meets(op, p) && motion == GROVE_MOTION_UNPACK)
    return prepare_window(&f->spaces[GROVE_ARRAY_ROOT], &f->fetcher,
                          &op->wiring->lanes[p->field].fetched, p->shape.slots.first,
                          p->shape.units, GROVE_MOTION_FETCH);
  return prepare_window(&f->spaces[p->array], grove_field_mover(f, p->array), &p->shape, 0,
                        p->shape.units, motion);
}

/* What is at the roots, and self edges that fetch. */
static grove_status prepare_lane(const grove_lane *lane, const grove_field *f)
{
  const grove_space *roots = &f->spaces[GROVE_ARRAY_ROOT];
  int fetches = lane->key.operation == GROVE_FETCH;
  if (lane->whole && fetches)
    GROVE_PASS(prepare_window(roots, &f->fetcher, &lane->fetched, 0, lane->fetched.units,
                              GROVE_MOTION_FETCH));
  else if (lane->whole)
    GROVE_PASS(prepare_window(roots, &f->mover, &lane->fetched, 0, lane->fetched.units,
                              GROVE_MOTION_UNPACK));
  if (!fetches) return GROVE_OK;
  int64_t n = lane->own.units;
  GROVE_PASS(
    prepare_window(&f->spaces[GROVE_ARRAY_LEAF], &f->mover, &lane->own, 0, n, GROVE_MOTION_PACK));
  GROVE_PASS(
    prepare_window(roots, &f->fetcher, &lane->fetched, lane->own_begin, n, GROVE_MOTION_FETCH));
  return prepare_window(&f->spaces[GROVE_ARRAY_UPDATE], &f->mover, &lane->own, 0, n,
                        GROVE_MOTION_UNPACK);
}

static grove_status prepare_stage(const grove_transfer *op, const grove_wired_stage *w)
{
  for (int i = 0; i < w->nletters; i++)
    for (int k = 0; k < w->letters[i].nsections; k++)
      GROVE_PASS(prepare_section(op, &w->letters[i].sections[k],
                                 i < w->nreceives ? GROVE_MOTION_UNPACK : GROVE_MOTION_PACK));
  for (int k = 0; k < w->nkeeps; k++) {
    GROVE_PASS(prepare_section(op, &w->keeps[2 * k], GROVE_MOTION_PACK));
    GROVE_PASS(prepare_section(op, &w->keeps[2 * k + 1], GROVE_MOTION_UNPACK));
  }
  return GROVE_OK;
}

static grove_status cover_space(const grove_transfer *op, const grove_space *space)
{
  GROVE_PASS(space->kind->cover(space->lift, op->memory, op->memory_bytes));
  for (int k = 0; k < op->nfields; k++) {
    const grove_field *f = &op->fields[k];
    const grove_lane *lane = &op->wiring->lanes[k];
    if (f->edges && grove_space_is_same(f->spaces[GROVE_ARRAY_ROOT], *space))
      GROVE_PASS(
        space->kind->cover(space->lift, f->edges, lane->fetched.units * lane->key.unit_bytes));
  }
  return GROVE_OK;
}

grove_status grove_apart_open(grove_transfer *op)
{
  for (int j = 0; j < op->nspaces; j++) {
    grove_space *space = &op->spaces[j];
    GROVE_PASS(space->kind->open(space->kind, op->base.ctx, space->device, combines_at_roots(op),
                                 &space->lift));
    for (int k = 0; k < op->nfields; k++)
      for (int a = 0; a < GROVE_ARRAYS; a++)
        if (grove_space_is_same(op->fields[k].spaces[a], *space))
          op->fields[k].spaces[a].lift = space->lift;
  }
  return GROVE_OK;
}

grove_status grove_apart_prepare(grove_transfer *op)
{
  for (int j = 0; j < op->nspaces; j++) GROVE_PASS(cover_space(op, &op->spaces[j]));
  for (int s = 0; s < op->nstages && op->nspaces > 0; s++)
    GROVE_PASS(prepare_stage(op, op->stages[s].wired));
  for (int k = 0; k < op->nfields && op->nspaces > 0; k++)
    GROVE_PASS(prepare_lane(&op->wiring->lanes[k], &op->fields[k]));
  return GROVE_OK;
}

void grove_apart_close(grove_transfer *op)
{
  for (int j = 0; j < op->nspaces; j++)
    if (op->spaces[j].lift) {
      op->spaces[j].kind->close(op->spaces[j].lift);
      op->spaces[j].lift = NULL;
    }
}

/* ---- how far it is ---- */

grove_status grove_apart_check(const grove_transfer *op)
{
  for (int j = 0; j < op->nspaces; j++) {
    const grove_driver *driver = op->spaces[j].kind->driver;
    GROVE_PASS_CHECK(!driver || !driver->is_capturing(grove_op_stream(&op->base)),
                     GROVE_ERR_UNSUPPORTED,
                     "rank %d: grove_start: the stream of this %s is being captured into a graph, "
                     "and the host moves its messages",
                     op->base.ctx->rank, grove_op_label(&op->base));
  }
  return GROVE_OK;
}

grove_status grove_apart_begin(const grove_transfer *op)
{
  for (int j = 0; j < op->nspaces; j++)
    GROVE_PASS(op->spaces[j].kind->begin(op->spaces[j].lift, grove_op_stream(&op->base)));
  return GROVE_OK;
}

grove_status grove_apart_flush(const grove_transfer *op)
{
  for (int j = 0; j < op->nspaces; j++) GROVE_PASS(op->spaces[j].kind->flush(op->spaces[j].lift));
  return GROVE_OK;
}

void grove_apart_mark(const grove_transfer *op, grove_bound_stage *s, int i, grove_heading heading)
{
  for (int j = 0; j < op->nspaces; j++)
    s->marks[i * op->nspaces + j] = op->spaces[j].kind->begun(op->spaces[j].lift, heading);
}

int grove_apart_has_passed(const grove_transfer *op, const grove_bound_stage *s, int i,
                           grove_heading heading)
{
  for (int j = 0; j < op->nspaces; j++) {
    const grove_space *space = &op->spaces[j];
    if (space->kind->passed(space->lift, heading) < s->marks[i * op->nspaces + j]) return 0;
  }
  return 1;
}

void grove_apart_finish(const grove_transfer *op)
{
  grove_pause pause;
  grove_pause_begin(&pause, 0);
  grove_op_note((grove_op *)&op->base, grove_apart_flush(op));
  for (int j = 0; j < op->nspaces; j++)
    for (grove_heading h = GROVE_OUT; h < GROVE_HEADINGS; h++) {
      const grove_space *space = &op->spaces[j];
      int64_t begun = space->kind->begun(space->lift, h);
      while (space->kind->passed(space->lift, h) < begun) grove_pause_step(&pause);
    }
}

/* ---- self edges ---- */

int64_t grove_apart_keep_bytes(const grove_section *from)
{
  return grove_round_up(from->bytes, GROVE_SECTION_ALIGNMENT);
}

int64_t grove_apart_own_bytes(const grove_lane *lane, int s)
{
  if (lane->key.operation != GROVE_FETCH || lane->meets_at != s) return 0;
  return grove_round_up(lane->own.units * lane->key.unit_bytes, GROVE_SECTION_ALIGNMENT);
}

/* One of the three steps of all self edges of a stage. */
typedef enum step { OUT, PAST_ROOTS, IN } step;

static grove_status step_keep(const grove_transfer *op, const grove_section *pair, step now,
                              char *units)
{
  const grove_section *p = now == OUT ? &pair[0] : &pair[1];
  const grove_field *f = &op->fields[p->field];
  const grove_space *space = &f->spaces[p->array];
  const grove_mover *mover = grove_field_mover(f, p->array);
  char *array = grove_field_array(f, p->array);
  if (now == PAST_ROOTS) return GROVE_OK;
  if (now == OUT)
    return space->kind->pack(space->lift, mover, &p->shape, array, 0, p->shape.units, units);
  return space->kind->unpack(space->lift, mover, &p->shape, units, array, 0, p->shape.units);
}

static grove_status step_own(const grove_lane *lane, const grove_field *f, step now, char *units)
{
  static const grove_array arrays[] = {GROVE_ARRAY_LEAF, GROVE_ARRAY_ROOT, GROVE_ARRAY_UPDATE};
  const grove_space *space = &f->spaces[arrays[now]];
  void *array = f->request.arrays[arrays[now]];
  int64_t n = lane->own.units;
  if (n == 0) return GROVE_OK;
  if (now == OUT) return space->kind->pack(space->lift, &f->mover, &lane->own, array, 0, n, units);
  if (now == IN) return space->kind->unpack(space->lift, &f->mover, &lane->own, units, array, 0, n);
  return space->kind->fetch(space->lift, &f->fetcher, &lane->fetched, array, lane->own_begin, n,
                            units);
}

static grove_status take_step(const grove_transfer *op, const grove_bound_stage *s, int k, step now)
{
  char *units = s->own.memory;
  for (int i = 0; i < s->wired->nkeeps; i++) {
    GROVE_PASS(step_keep(op, &s->wired->keeps[2 * i], now, units));
    units += grove_apart_keep_bytes(&s->wired->keeps[2 * i]);
  }
  for (int i = 0; i < op->nfields; i++) {
    const grove_lane *lane = &op->wiring->lanes[i];
    if (grove_apart_own_bytes(lane, k) == 0) continue;
    GROVE_PASS(step_own(lane, &op->fields[i], now, units));
    units += grove_apart_own_bytes(lane, k);
  }
  return GROVE_OK;
}

grove_status grove_apart_keep(grove_transfer *op, int k)
{
  static const grove_letter_state after[] = {GROVE_LETTER_PACKS, GROVE_LETTER_HERE,
                                             GROVE_LETTER_UNPACKS};
  grove_status status = GROVE_OK;
  grove_bound_stage *s = &op->stages[k];
  int place = s->wired->nletters;
  while (s->own.state != GROVE_LETTER_DONE) {
    grove_heading before = s->own.state == GROVE_LETTER_PACKS ? GROVE_OUT : GROVE_IN;
    if (s->own.state != GROVE_LETTER_WAITS && !grove_apart_has_passed(op, s, place, before))
      return GROVE_OK;
    step now = s->own.state == GROVE_LETTER_WAITS   ? OUT
               : s->own.state == GROVE_LETTER_PACKS ? PAST_ROOTS
                                                    : IN;
    if (s->own.state == GROVE_LETTER_UNPACKS) {
      s->own.state = GROVE_LETTER_DONE;
    } else {
      s->own.state = after[now];
      GROVE_TRY(take_step(op, s, k, now));
      grove_apart_mark(op, s, place, now == OUT ? GROVE_OUT : GROVE_IN);
      return GROVE_OK; /* others may move with it */
    }
  }
  return GROVE_OK;
fail:
  s->own.state = GROVE_LETTER_DONE;
  return status;
}
