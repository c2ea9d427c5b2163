/* The option `check`: a checksum at the end of each letter, and a check for overlapping arrays. For
 * what happens to arrays while an operation is under way, see guard.c. */
#include "exec/footprint.h"

#include "base/digest.h"

#include <stdlib.h>
#include <string.h>

void grove_check_seal(void *letter, int64_t bytes, int64_t sequence)
{
  grove_trailer trailer = {grove_digest_bytes(letter, bytes), (uint64_t)sequence};
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
  GROVE_PASS_CHECK(trailer.checksum == grove_digest_bytes(letter, bytes), GROVE_ERR_CORRUPT,
                   "rank %d: %s: the message of %lld bytes from rank %d is not what was sent",
                   op->base.ctx->rank, grove_op_label(&op->base), (long long)bytes, peer);
  return GROVE_OK;
}

/* ---- overlapping arrays ---- */

/* A leaf may get its update in place. */
static int is_in_place(const grove_tread *a, const grove_tread *b, uintptr_t meeting)
{
  int64_t slot = grove_tread_slot(a, meeting);
  return a->field == b->field && a->array == GROVE_ARRAY_LEAF && b->array == GROVE_ARRAY_UPDATE &&
         slot == grove_tread_slot(b, meeting) && a->bytes == b->bytes &&
         grove_tread_begin(a, slot) == grove_tread_begin(b, slot);
}

static int is_fine(const grove_tread *a, const grove_tread *b)
{
  uintptr_t meeting = grove_tread_meeting(a, b);
  return meeting == UINTPTR_MAX || is_in_place(a, b, meeting);
}

/* "leaf 3", of a bundle "leaf 3 of member 1, a bcast on forest 'halo'". */
static void name_span(const grove_wiring *wiring, const grove_field *fields, const grove_tread *s,
                      int64_t slot, char *out, size_t room)
{
  const char *noun = grove_footprint_noun(&fields[s->field].request, s->array);
  int used = snprintf(out, room, "%s %lld", noun, (long long)slot);
  if (wiring->nlanes > 1)
    snprintf(out + used, room - (size_t)used, " of member %d, a %s on forest '%.100s'", s->field,
             grove_operation_name(fields[s->field].request.operation),
             grove_forest_label(fields[s->field].request.forest));
}

static grove_status refuse_overlap(const grove_wiring *wiring, const grove_field *fields,
                                   const grove_tread *a, const char *done, const grove_tread *b)
{
  char one[192], other[192];
  uintptr_t meeting = grove_tread_meeting(a, b);
  name_span(wiring, fields, a, grove_tread_slot(a, meeting), one, sizeof one);
  name_span(wiring, fields, b, grove_tread_slot(b, meeting), other, sizeof other);
  return grove_error(GROVE_ERR_ARG, __FILE__, __LINE__,
                     "rank %d: %s on forest '%.100s': the arrays overlap: %s, which is %s, and %s, "
                     "which is written, are the same memory; give one of them memory of its own",
                     wiring->rank, grove_wiring_name(wiring),
                     grove_forest_label(fields[0].request.forest), one, done, other);
}

grove_status grove_check_overlap(const grove_wiring *wiring, const grove_field *fields)
{
  grove_status status = GROVE_OK;
  grove_footprint all;
  GROVE_PASS(grove_footprint_create(wiring, fields, &all));
  const grove_treads *read = &all.read, *written = &all.written;
  for (int64_t r = 0, w = 0; r < read->n && w < written->n && status == GROVE_OK;) {
    const grove_tread *a = &read->list[r], *b = &written->list[w];
    if (!is_fine(a, b)) status = refuse_overlap(wiring, fields, a, "read", b);
    if (a->end <= b->end) /* all readers of a slot are compared with its writer */
      r++;
    else
      w++;
  }
  for (int64_t w = 1; w < written->n && status == GROVE_OK; w++) {
    const grove_tread *a = &written->list[w - 1], *b = &written->list[w];
    int same = a->field == b->field && a->array == b->array;
    if (!same && a->end > b->begin) status = refuse_overlap(wiring, fields, a, "written", b);
  }
  grove_footprint_free(&all);
  return status;
}
