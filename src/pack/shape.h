/* A list of slots in the form that costs least to walk. What a user lists is seldom random: a face
 * of a box, a few long runs. Found once, when an operation is made.
 */
#ifndef GROVE_PACK_SHAPE_H
#define GROVE_PACK_SHAPE_H

#include "base/index.h"
#include "base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum grove_shape_form {
  GROVE_SHAPE_CONSECUTIVE, /* first, first + 1, ... */
  GROVE_SHAPE_LISTED       /* one by one */
} grove_shape_form;

typedef struct grove_shape {
  grove_shape_form form;
  int64_t units;     /* in a message: as many as slots, or fewer where slots share one */
  grove_index slots; /* borrowed */
  grove_index
    starts; /* borrowed; count 0, or: unit u stands for slots starts[u] .. starts[u+1]-1 */
} grove_shape;

/* `starts` may have count 0. */
grove_status grove_shape_create(const grove_index *slots, const grove_index *starts,
                                int64_t unit_bytes, grove_shape *out);
void grove_shape_free(grove_shape *shape);

#ifdef __cplusplus
}
#endif

#endif
