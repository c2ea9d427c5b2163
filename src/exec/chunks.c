/* Chunks of one letter that a device is packing or unpacking, the oldest first. */
#include "exec/transfer.h"

grove_status grove_chunks_create(const grove_transfer *op, int room, grove_chunks **out)
{
  grove_chunks *c = NULL;
  int64_t *ends = NULL, *marks = NULL;
  GROVE_PASS_NEW_ALL(GROVE_WISH(c, 1), GROVE_WISH(ends, room),
                     GROVE_WISH(marks, room * op->nspaces));
  *c = (grove_chunks){.room = room, .ends = ends, .marks = marks};
  *out = c;
  return GROVE_OK;
}

static int64_t *marks_of_chunk(const grove_transfer *op, const grove_chunks *c, int k)
{
  return c->marks + (ptrdiff_t)((c->first + k) % c->room) * op->nspaces;
}

void grove_chunks_add(grove_transfer *op, grove_chunks *c, int64_t end, grove_heading heading)
{
  grove_apart_note(op, marks_of_chunk(op, c, c->count), heading);
  c->ends[(c->first + c->count++) % c->room] = end;
  c->begun = end;
}

int grove_chunks_take(const grove_transfer *op, grove_chunks *c, grove_heading heading,
                      int64_t *end)
{
  if (c->count == 0 || !grove_apart_is_past(op, marks_of_chunk(op, c, 0), heading)) return 0;
  *end = c->ends[c->first];
  c->first = (c->first + 1) % c->room;
  c->count--;
  return 1;
}
