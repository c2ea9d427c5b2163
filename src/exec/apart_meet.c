/* What meets at the roots, where these are outside the host's memory: the windows of all messages
 * and of self edges, in the order in which they are combined. One recipe is made for them.
 */
#include "exec/apart.h"

#include <stdlib.h>

int grove_apart_meets(const grove_transfer *op, const grove_section *p)
{
  if (op->wiring->lanes[p->field].key.operation != GROVE_REDUCE) return grove_section_meets(op, p);
  return p->array == GROVE_ARRAY_ROOT;
}

/* The windows of a field, in the order in which they are combined. */
typedef struct meeting_list {
  int n;
  grove_window *windows;
} meeting_list;

static grove_status enter_window(meeting_list *list, const grove_shape *shape, int64_t begin,
                                 int64_t count, char *message)
{
  if (count == 0) return GROVE_OK;
  GROVE_PASS_GROW(list->windows, list->n, 1);
  list->windows[list->n++] = (grove_window){shape, begin, count, message};
  return GROVE_OK;
}

/* Edges of a fetch lie where the lane has them, all else in its letter. */
static grove_status enter_section(const grove_transfer *op, int field, const grove_section *p,
                                  int64_t begin, int64_t units, char *letter, meeting_list *list)
{
  const grove_field *f = &op->fields[field];
  int64_t edge = p->shape.slots.first + begin;
  if (p->field != field || !grove_apart_meets(op, p)) return GROVE_OK;
  if (grove_section_meets(op, p))
    return enter_window(list, &op->wiring->lanes[field].fetched, edge, units,
                        grove_apart_edges(f, edge));
  return enter_window(list, &p->shape, begin, units, letter + p->at + begin * p->unit_bytes);
}

/* Chunk by chunk, as it will be unpacked, unless it came straight to its edges. */
static grove_status enter_letter(const grove_transfer *op, int field, const grove_letter *letter,
                                 const grove_bound_letter *bound, meeting_list *list)
{
  int64_t bytes = 0;
  for (int64_t at = 0; at < letter->data; at += bytes) {
    bytes = bound->direct ? letter->data : grove_letter_chunk(letter, at);
    for (int k = 0; k < letter->nsections; k++) {
      const grove_section *p = &letter->sections[k];
      grove_excerpt w = grove_section_excerpt(p, at, bytes);
      GROVE_PASS(enter_section(op, field, p, w.begin, w.units, bound->memory, list));
    }
  }
  return GROVE_OK;
}

static grove_status enter_own(const grove_transfer *op, int field, int k, meeting_list *list)
{
  const grove_bound_stage *s = &op->stages[k];
  const grove_field *f = &op->fields[field];
  const grove_lane *lane = &op->wiring->lanes[field];
  for (int i = 0; i < s->wired->nkeeps; i++) {
    const grove_section *p = &s->wired->keeps[2 * i + 1];
    GROVE_PASS(enter_section(op, field, p, 0, p->shape.units, grove_apart_place(s, i), list));
  }
  if (!grove_apart_fetches(lane, k)) return GROVE_OK;
  return enter_window(list, &lane->fetched, lane->own_begin, lane->own.units,
                      grove_apart_edges(f, lane->own_begin));
}

static grove_status enter_meetings(const grove_transfer *op, int field, meeting_list *list)
{
  for (int k = 0; k < op->nstages; k++) {
    const grove_bound_stage *s = &op->stages[k];
    int own = grove_apart_keep_place(op, s->wired);
    for (int i = 0; i <= s->nreceives; i++) {
      if (i == own) GROVE_PASS(enter_own(op, field, k, list));
      if (i < s->nreceives)
        GROVE_PASS(
          enter_letter(op, field, &s->wired->letters[i], grove_bound_letter_of(s, i), list));
    }
  }
  return GROVE_OK;
}

grove_status grove_apart_merge(const grove_transfer *op, int field)
{
  grove_status status = GROVE_OK;
  const grove_field *f = &op->fields[field];
  const grove_space *roots = &f->spaces[GROVE_ARRAY_ROOT];
  int fetches = f->request.operation == GROVE_FETCH;
  meeting_list list = {0};
  if (!roots->lift) return GROVE_OK;
  GROVE_TRY(enter_meetings(op, field, &list));
  GROVE_TRY(roots->kind->merge(roots->lift, fetches ? &f->fetcher : &f->mover,
                               fetches ? GROVE_MOTION_FETCH : GROVE_MOTION_UNPACK, list.n,
                               list.windows));
fail:
  free(list.windows);
  return status;
}
