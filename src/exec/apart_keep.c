/* Self edges with arrays outside the host's memory. They travel like a letter: out of their arrays,
 * to the roots or past them, and into the arrays. Each step begins when the one before is done, or
 * behind it on the same device, where all of them are.
 */
#include "exec/apart.h"

/* ---- where they lie ---- */

/* Of edges that fetch: where they come from, meet, and go to. */
static const grove_array own_arrays[] = {GROVE_ARRAY_LEAF, GROVE_ARRAY_ROOT, GROVE_ARRAY_UPDATE};

static int64_t bytes_of_keep(const grove_section *from)
{
  return grove_round_up(from->bytes, GROVE_SECTION_ALIGNMENT);
}

int64_t grove_apart_keep_bytes(const grove_wired_stage *w)
{
  int64_t bytes = 0;
  for (int i = 0; i < w->nkeeps; i++) bytes += bytes_of_keep(&w->keeps[2 * i]);
  return bytes;
}

int grove_apart_keep_place(const grove_transfer *op, const grove_wired_stage *w)
{
  int i = 0;
  if (op->wiring->own_first) return 0;
  while (i < w->nreceives && w->letters[i].peer < op->wiring->rank) i++;
  return i;
}

char *grove_apart_place(const grove_bound_stage *s, int i)
{
  char *at = s->own.memory;
  for (int j = 0; j < i; j++) at += bytes_of_keep(&s->wired->keeps[2 * j]);
  return at;
}

int grove_apart_fetches(const grove_lane *lane, int k)
{
  return lane->key.operation == GROVE_FETCH && lane->meets_at == k && lane->own.units > 0 &&
         lane->key.unit_bytes > 0;
}

static int is_one_device(const grove_space *a, const grove_space *b)
{
  return a->lift != NULL && grove_space_is_same(*a, *b);
}

/* Are all self edges of stage k between arrays of one device? Then they never leave it. */
static int keeps_inside(const grove_transfer *op, int k)
{
  const grove_wired_stage *w = op->stages[k].wired;
  for (int i = 0; i < w->nkeeps; i++) {
    const grove_section *pair = &w->keeps[2 * i];
    const grove_space *spaces = op->fields[pair->field].spaces;
    if (!is_one_device(&spaces[pair[0].array], &spaces[pair[1].array])) return 0;
  }
  for (int i = 0; i < op->nfields; i++) {
    const grove_space *spaces = op->fields[i].spaces;
    for (int a = 1; a < 3 && grove_apart_fetches(&op->wiring->lanes[i], k); a++)
      if (!is_one_device(&spaces[own_arrays[0]], &spaces[own_arrays[a]])) return 0;
  }
  return 1;
}

/* Self edges from one device to another, as far as they can go there without the host. */
static grove_status declare_passages(const grove_transfer *op, const grove_bound_stage *s)
{
  for (int i = 0; i < s->wired->nkeeps; i++) {
    const grove_section *pair = &s->wired->keeps[2 * i];
    const grove_space *spaces = op->fields[pair->field].spaces;
    const grove_space *from = &spaces[pair[0].array], *to = &spaces[pair[1].array];
    if (from->lift && from->kind == to->kind && from->device != to->device)
      GROVE_PASS(from->kind->pass_on(from->lift, to->lift, grove_apart_place(s, i), pair->bytes));
  }
  return GROVE_OK;
}

grove_status grove_apart_declare(const grove_transfer *op, int k)
{
  const grove_bound_stage *s = &op->stages[k];
  if (!keeps_inside(op, k)) return declare_passages(op, s);
  for (int i = 0; i < s->wired->nkeeps; i++) {
    const grove_section *from = &s->wired->keeps[2 * i];
    const grove_space *space = &op->fields[from->field].spaces[from->array];
    GROVE_PASS(space->kind->keep_inside(space->lift, grove_apart_place(s, i), from->bytes));
  }
  for (int i = 0; i < op->nfields; i++) {
    const grove_field *f = &op->fields[i];
    const grove_lane *lane = &op->wiring->lanes[i];
    const grove_space *roots = &f->spaces[GROVE_ARRAY_ROOT];
    if (grove_apart_fetches(lane, k))
      GROVE_PASS(roots->kind->keep_inside(roots->lift, grove_apart_edges(f, lane->own_begin),
                                          lane->own.units * lane->key.unit_bytes));
  }
  return GROVE_OK;
}

/* ---- under way ---- */

/* The steps of all self edges of a stage: into memory as in a letter; to their arrays, or past the
 * roots if they fetch; and those into the arrays that get the old values. */
typedef enum step { OUT, AT_ROOTS, IN } step;

static grove_status step_keep(const grove_transfer *op, const grove_section *pair, step now,
                              char *units)
{
  const grove_section *p = now == OUT ? &pair[0] : &pair[1];
  const grove_field *f = &op->fields[p->field];
  const grove_space *space = &f->spaces[p->array];
  const grove_mover *mover = grove_field_mover(f, p->array);
  char *array = grove_field_array(f, p->array);
  if (now == IN) return GROVE_OK;
  if (now == OUT)
    return space->kind->pack(space->lift, mover, &p->shape, array, 0, p->shape.units, units);
  return space->kind->unpack(space->lift, mover, &p->shape, units, array, 0, p->shape.units);
}

static grove_status step_own(const grove_lane *lane, const grove_field *f, step now)
{
  const grove_space *space = &f->spaces[own_arrays[now]];
  void *array = f->request.arrays[own_arrays[now]];
  char *units = grove_apart_edges(f, lane->own_begin);
  int64_t n = lane->own.units;
  if (now == OUT) return space->kind->pack(space->lift, &f->mover, &lane->own, array, 0, n, units);
  if (now == IN) return space->kind->unpack(space->lift, &f->mover, &lane->own, units, array, 0, n);
  return space->kind->fetch(space->lift, &f->fetcher, &lane->fetched, array, lane->own_begin, n,
                            units);
}

static grove_status take_step(const grove_transfer *op, const grove_bound_stage *s, int k, step now)
{
  for (int i = 0; i < s->wired->nkeeps; i++)
    GROVE_PASS(step_keep(op, &s->wired->keeps[2 * i], now, grove_apart_place(s, i)));
  for (int i = 0; i < op->nfields; i++)
    if (grove_apart_fetches(&op->wiring->lanes[i], k))
      GROVE_PASS(step_own(&op->wiring->lanes[i], &op->fields[i], now));
  return GROVE_OK;
}

/* Is what the last step began done, as far as the next one has to wait for it? */
static int may_step(const grove_transfer *op, const grove_bound_stage *s, int inside)
{
  grove_heading before = s->own.state == GROVE_LETTER_PACKS ? GROVE_OUT : GROVE_IN;
  if (s->own.state == GROVE_LETTER_WAITS) return 1;
  if (inside && s->own.state != GROVE_LETTER_UNPACKS) return 1;
  return grove_apart_has_passed(op, s, s->wired->nletters, before);
}

grove_status grove_apart_keep(grove_transfer *op, int k)
{
  static const grove_letter_state after[] = {GROVE_LETTER_PACKS, GROVE_LETTER_HERE,
                                             GROVE_LETTER_UNPACKS};
  grove_status status = GROVE_OK;
  grove_bound_stage *s = &op->stages[k];
  int inside = keeps_inside(op, k);
  while (s->own.state != GROVE_LETTER_DONE && may_step(op, s, inside)) {
    step now = s->own.state == GROVE_LETTER_WAITS   ? OUT
               : s->own.state == GROVE_LETTER_PACKS ? AT_ROOTS
                                                    : IN;
    if (s->own.state == GROVE_LETTER_UNPACKS) {
      s->own.state = GROVE_LETTER_DONE;
    } else {
      s->own.state = after[now];
      GROVE_TRY(take_step(op, s, k, now));
      grove_apart_mark(op, s, s->wired->nletters, now == OUT ? GROVE_OUT : GROVE_IN);
      if (now != OUT || !inside) return GROVE_OK; /* others may move with it */
    }
  }
  return GROVE_OK;
fail:
  s->own.state = GROVE_LETTER_DONE;
  return status;
}
