/* A fetch that is freed while active still owes answers to those who fetch from its roots. The
 * user's arrays may be gone a moment later, and so may the forest with its lists: it goes on with
 * copies of them, and the arrays are not written any more.
 */
#include "exec/transfer.h"

#include <stdlib.h>
#include <string.h>

/* ---- lists ---- */

/* For all operations of the wiring, which may have been abandoned too. */
static grove_status detach_lane(grove_lane *lane)
{
  grove_status status = GROVE_OK;
  grove_index fetched = {0}, own = {0};
  if (lane->detached) return GROVE_OK;
  GROVE_TRY(grove_index_copy(&lane->fetched.slots, &fetched));
  GROVE_TRY(grove_index_copy(&lane->own.slots, &own));
  lane->fetched.slots = fetched;
  lane->own.slots = own;
  lane->detached = 1;
  return GROVE_OK;
fail:
  grove_index_free(&fetched);
  return status;
}

/* ---- arrays ---- */

typedef struct range {
  int64_t least, most;
} range;

static range range_of(const grove_index *slots)
{
  range r = {INT64_MAX, INT64_MIN};
  for (int64_t i = 0; i < slots->count; i++) {
    int64_t slot = grove_index_at(slots, i);
    if (slot < r.least) r.least = slot;
    if (slot > r.most) r.most = slot;
  }
  return r;
}

/* A copy of all that lies between the slots of a list; `array` becomes where slot 0 would be. */
static grove_status copy_array(const grove_unit *unit, const grove_index *slots, grove_space *space,
                               void **array, void **memory)
{
  grove_status status = GROVE_OK;
  range r = range_of(slots);
  if (slots->count == 0 || unit->bytes == 0) return GROVE_OK;
  int64_t first = (unit->extent < 0 ? r.most : r.least) * unit->extent + unit->true_lb;
  int64_t bytes = (r.most - r.least) * llabs(unit->extent) + unit->true_extent;
  *memory = grove_room((size_t)bytes, 1);
  GROVE_CHECK(*memory, GROVE_ERR_MEMORY, "no memory for %lld bytes", (long long)bytes);
  GROVE_TRY(space->kind->copy(*memory, (const char *)*array + first, bytes, space->device));
  *array = (char *)*memory - first;
  *space = (grove_space){&grove_space_host, 0};
fail:
  return status;
}

static grove_status detach_field(grove_lane *lane, grove_field *f)
{
  grove_status status = GROVE_OK;
  void **arrays = f->request.arrays;
  const grove_unit *unit = &f->mover.unit;
  GROVE_TRY(detach_lane(lane));
  GROVE_TRY(copy_array(unit, &lane->fetched.slots, &f->spaces[GROVE_ARRAY_ROOT],
                       &arrays[GROVE_ARRAY_ROOT], &f->roots));
  GROVE_TRY(copy_array(unit, &lane->own.slots, &f->spaces[GROVE_ARRAY_LEAF],
                       &arrays[GROVE_ARRAY_LEAF], &f->leaves));
  arrays[GROVE_ARRAY_UPDATE] = arrays[GROVE_ARRAY_LEAF]; /* nobody wants it */
  f->spaces[GROVE_ARRAY_UPDATE] = f->spaces[GROVE_ARRAY_LEAF];
fail:
  return status;
}

grove_status grove_transfer_detach(grove_transfer *op)
{
  grove_status status = GROVE_OK;
  for (int k = 0; k < op->nfields; k++) {
    grove_lane *lane = &op->wiring->lanes[k];
    if (lane->key.operation == GROVE_FETCH && op->met <= lane->turn)
      GROVE_TRY(detach_field(lane, &op->fields[k]));
  }
fail:
  return status;
}
