/* Arrays outside the host's memory. Packing and unpacking them may still be under way when the call
 * returns. For every such memory, a letter notes how much was begun. It is packed, or unpacked,
 * when that much is done. Self edges travel like a letter: out of their arrays, past the roots if
 * they fetch, and into the arrays. Each step begins when the one before is done.
 */
#include "exec/transfer.h"

/* ---- how far it is ---- */

void grove_apart_mark(const grove_transfer *op, grove_bound_stage *s, int i)
{
  for (int j = 0; j < op->nspaces; j++)
    s->marks[i * op->nspaces + j] = op->spaces[j].kind->begun(op->spaces[j].device);
}

int grove_apart_has_passed(const grove_transfer *op, const grove_bound_stage *s, int i)
{
  for (int j = 0; j < op->nspaces; j++)
    if (op->spaces[j].kind->passed(op->spaces[j].device) < s->marks[i * op->nspaces + j]) return 0;
  return 1;
}

void grove_apart_finish(const grove_transfer *op)
{
  grove_pause pause;
  grove_pause_begin(&pause, 0);
  for (int j = 0; j < op->nspaces; j++) {
    const grove_space *space = &op->spaces[j];
    int64_t begun = space->kind->begun(space->device);
    while (space->kind->passed(space->device) < begun) grove_pause_step(&pause);
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
    return space->kind->pack(mover, &p->shape, array, 0, p->shape.units, units, space->device);
  return space->kind->unpack(mover, &p->shape, units, array, 0, p->shape.units, space->device);
}

static grove_status step_own(const grove_lane *lane, const grove_field *f, step now, char *units)
{
  static const grove_array arrays[] = {GROVE_ARRAY_LEAF, GROVE_ARRAY_ROOT, GROVE_ARRAY_UPDATE};
  const grove_space *space = &f->spaces[arrays[now]];
  void *array = f->request.arrays[arrays[now]];
  int64_t n = lane->own.units;
  if (n == 0) return GROVE_OK;
  if (now == OUT)
    return space->kind->pack(&f->mover, &lane->own, array, 0, n, units, space->device);
  if (now == IN)
    return space->kind->unpack(&f->mover, &lane->own, units, array, 0, n, space->device);
  return space->kind->fetch(&f->fetcher, &lane->fetched, array, lane->own_begin, n, units,
                            space->device);
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
    if (s->own.state != GROVE_LETTER_WAITS && !grove_apart_has_passed(op, s, place))
      return GROVE_OK;
    step now = s->own.state == GROVE_LETTER_WAITS   ? OUT
               : s->own.state == GROVE_LETTER_PACKS ? PAST_ROOTS
                                                    : IN;
    if (s->own.state == GROVE_LETTER_UNPACKS) {
      s->own.state = GROVE_LETTER_DONE;
    } else {
      s->own.state = after[now];
      GROVE_TRY(take_step(op, s, k, now));
      grove_apart_mark(op, s, place);
    }
  }
  return GROVE_OK;
fail:
  s->own.state = GROVE_LETTER_DONE;
  return status;
}
