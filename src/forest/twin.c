/* The twin of a forest: the same edges, for the library's own use. Leaf i of the user's list is its
 * slot i, so arrays of its leaves are as long as the list, however far apart the user's slots are.
 * Operations on it are never mistaken for the user's. It borrows nearly everything from its forest,
 * and inherits that when the forest is freed.
 */
#include "forest/forest.h"

#include <stdlib.h>
#include <string.h>

static grove_status create_twin(grove_forest *f, grove_forest **out)
{
  grove_status status = GROVE_OK;
  grove_forest *twin = NULL;
  GROVE_TRY(grove_forest_create(f->ctx, &twin));
  if (f->name) GROVE_TRY(grove_forest_set_name(twin, f->name));
  if (f->listed) GROVE_TRY(grove_leaves_positions(f, &twin->leaves.slots));
  grove_index slots = f->listed ? twin->leaves.slots : f->leaves.slots;
  twin->leaves = f->leaves;
  twin->leaves.slots = slots;
  twin->roots = f->roots;
  twin->edges = f->edges;
  twin->nroots = f->nroots;
  twin->nleaves = twin->leaf_end = f->nleaves;
  twin->serial = ~f->serial;
  twin->ready = 1;
  *out = twin;
  return GROVE_OK;
fail:
  if (twin) grove_forest_release(twin);
  return status;
}

grove_status grove_forest_twin(grove_forest *f, grove_forest **out)
{
  grove_status status = GROVE_OK;
  grove_context_enter(f->ctx);
  if (!f->twin) GROVE_TRY(create_twin(f, &f->twin));
  *out = f->twin;
fail:
  grove_context_leave(f->ctx);
  return status;
}

void grove_twin_inherit(grove_forest *f)
{
  grove_forest *twin = f->twin;
  if (!twin) return;
  grove_index slots = f->listed ? f->leaves.slots : (grove_index){0};
  f->leaves = (grove_side){.slots = slots};
  f->roots = (grove_side){0};
  f->edges = (grove_index){0};
  f->twin = NULL;
  grove_forest_release(twin);
}
