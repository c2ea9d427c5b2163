/* The option `check`: a checksum at the end of each letter, and a check for overlapping arrays. */
#include "exec/transfer.h"

#include <stdlib.h>
#include <string.h>

/* FNV-1a, 64 bit. */
static uint64_t checksum_of(const void *letter, int64_t bytes)
{
  const unsigned char *at = letter;
  uint64_t sum = 14695981039346656037u;
  for (int64_t i = 0; i < bytes; i++) sum = (sum ^ at[i]) * 1099511628211u;
  return sum;
}

void grove_check_seal(void *letter, int64_t bytes, int64_t sequence)
{
  grove_trailer trailer = {checksum_of(letter, bytes), (uint64_t)sequence};
  memcpy((char *)letter + bytes, &trailer, sizeof trailer);
}

grove_status grove_check_open(const grove_transfer *op, int peer, const void *letter, int64_t bytes)
{
  grove_trailer trailer;
  memcpy(&trailer, (const char *)letter + bytes, sizeof trailer);
  GROVE_PASS_CHECK(trailer.sequence == (uint64_t)op->sequence, GROVE_ERR_CORRUPT,
                   "rank %d: %s: the message from rank %d belongs to start %llu, not %lld",
                   op->base.ctx->rank, grove_op_label(&op->base), peer,
                   (unsigned long long)trailer.sequence, (long long)op->sequence);
  GROVE_PASS_CHECK(trailer.checksum == checksum_of(letter, bytes), GROVE_ERR_CORRUPT,
                   "rank %d: %s: the message of %lld bytes from rank %d is not what was sent",
                   op->base.ctx->rank, grove_op_label(&op->base), (long long)bytes, peer);
  return GROVE_OK;
}

/* ---- overlapping arrays ---- */

typedef struct span {
  uintptr_t begin, end;
  int64_t slot;
  int field;
  grove_array array;
} span;

static int by_begin(const void *a, const void *b)
{
  const span *x = a, *y = b;
  return (x->begin > y->begin) - (x->begin < y->begin);
}

typedef struct spans {
  int64_t n;
  span *list;
} spans;

/* Units longer than their extent lie in each other's gaps without harm. Of those only the first
 * byte counts. */
static grove_status add_unit_span(const grove_field *fields, int field, grove_array which,
                                  const grove_index *slots, spans *out)
{
  const grove_unit *unit = &fields[field].mover.unit;
  const void *array = fields[field].request.arrays[which];
  uintptr_t bytes = unit->true_extent <= unit->extent ? (uintptr_t)unit->true_extent : 1;
  if (!grove_array_is_users(which) || unit->bytes == 0) return GROVE_OK;
  GROVE_PASS_GROW(out->list, out->n, slots->count);
  for (int64_t i = 0; i < slots->count; i++) {
    int64_t slot = grove_index_at(slots, i);
    uintptr_t begin = (uintptr_t)grove_unit_at(unit, array, slot) + (uintptr_t)unit->true_lb;
    out->list[out->n++] = (span){begin, begin + bytes, slot, field, which};
  }
  return GROVE_OK;
}

static grove_status add_section(const grove_field *fields, const grove_section *p, spans *out)
{
  return add_unit_span(fields, p->field, p->array, &p->shape.slots, out);
}

static grove_status collect_spans(const grove_wiring *wiring, const grove_field *fields,
                                  spans *read, spans *written)
{
  for (int s = 0; s < wiring->nstages; s++) {
    const grove_wired_stage *w = &wiring->stages[s];
    for (int i = 0; i < w->nletters; i++)
      for (int k = 0; k < w->letters[i].nsections; k++)
        GROVE_PASS(
          add_section(fields, &w->letters[i].sections[k], i < w->nreceives ? written : read));
    for (int k = 0; k < 2 * w->nkeeps; k++)
      GROVE_PASS(add_section(fields, &w->keeps[k], k % 2 == 0 ? read : written));
  }
  for (int k = 0; k < wiring->nlanes; k++) {
    const grove_lane *lane = &wiring->lanes[k];
    if (lane->key.operation != GROVE_FETCH && !lane->whole) continue;
    GROVE_PASS(add_unit_span(fields, k, GROVE_ARRAY_ROOT, &lane->fetched.slots, written));
    GROVE_PASS(add_unit_span(fields, k, GROVE_ARRAY_LEAF, &lane->own.slots, read));
    GROVE_PASS(add_unit_span(fields, k, GROVE_ARRAY_UPDATE, &lane->own.slots, written));
  }
  if (read->n > 0) qsort(read->list, (size_t)read->n, sizeof *read->list, by_begin);
  if (written->n > 0) qsort(written->list, (size_t)written->n, sizeof *written->list, by_begin);
  return GROVE_OK;
}

/* A leaf may get its update in place. */
static int is_fine(const span *a, const span *b)
{
  int apart = a->end <= b->begin || b->end <= a->begin;
  return apart || (a->field == b->field && a->slot == b->slot && a->begin == b->begin &&
                   a->array == GROVE_ARRAY_LEAF && b->array == GROVE_ARRAY_UPDATE);
}

/* "leaf 3", of a bundle "leaf 3 of member 1, a bcast on forest 'halo'". */
static void name_span(const grove_wiring *wiring, const grove_field *fields, const span *s,
                      char *out, size_t room)
{
  static const char *const names[GROVE_ARRAYS] = {"root", "leaf", "edge", "update", "hub"};
  int used = snprintf(out, room, "%s %lld", names[s->array], (long long)s->slot);
  if (wiring->nlanes > 1)
    snprintf(out + used, room - (size_t)used, " of member %d, a %s on forest '%.100s'", s->field,
             grove_operation_name(fields[s->field].request.operation),
             grove_forest_label(fields[s->field].request.forest));
}

static grove_status refuse_overlap(const grove_wiring *wiring, const grove_field *fields,
                                   const span *a, const char *done, const span *b)
{
  char one[192], other[192];
  name_span(wiring, fields, a, one, sizeof one);
  name_span(wiring, fields, b, other, sizeof other);
  return grove_error(GROVE_ERR_ARG, __FILE__, __LINE__,
                     "rank %d: %s on forest '%.100s': the arrays overlap: %s, which is %s, and %s, "
                     "which is written, are the same memory; give one of them memory of its own",
                     wiring->rank, grove_wiring_name(wiring),
                     grove_forest_label(fields[0].request.forest), one, done, other);
}

grove_status grove_check_overlap(const grove_wiring *wiring, const grove_field *fields)
{
  grove_status status = GROVE_OK;
  spans read = {0}, written = {0};
  GROVE_TRY(collect_spans(wiring, fields, &read, &written));
  for (int64_t r = 0, w = 0; r < read.n && w < written.n && status == GROVE_OK;) {
    const span *a = &read.list[r], *b = &written.list[w];
    if (!is_fine(a, b)) status = refuse_overlap(wiring, fields, a, "read", b);
    if (a->end <= b->end) /* all readers of a slot are compared with its writer */
      r++;
    else
      w++;
  }
  for (int64_t w = 1; w < written.n && status == GROVE_OK; w++) {
    const span *a = &written.list[w - 1], *b = &written.list[w];
    int same = a->field == b->field && a->array == b->array;
    if (!same && a->end > b->begin) status = refuse_overlap(wiring, fields, a, "written", b);
  }
fail:
  free(read.list);
  free(written.list);
  return status;
}
