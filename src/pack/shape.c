#include "pack/shape.h"

grove_status grove_shape_create(const grove_index *slots, const grove_index *starts,
                                int64_t unit_bytes, grove_shape *out)
{
  (void)unit_bytes;
  *out = (grove_shape){.form = grove_index_consecutive(slots) ? GROVE_SHAPE_CONSECUTIVE
                                                              : GROVE_SHAPE_LISTED,
                       .units = starts->count > 0 ? starts->count - 1 : slots->count,
                       .slots = *slots,
                       .starts = *starts};
  return GROVE_OK;
}

void grove_shape_free(grove_shape *shape)
{
  *shape = (grove_shape){0};
}
