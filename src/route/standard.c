/* The standard route: every rank sends to every rank that needs something of it, directly, in one
 * stage. Each edge crosses once, in the message of its pair of ranks.
 *
 * Cost: a message for each neighbour; right where messages are large or neighbours few. In the
 * papers: "standard communication" (node-aware-strategies, 2.3), "basic" in PetscSF.
 */
#include "route/route.h"

static grove_slots slots_of(const grove_side *side, int group, grove_space space)
{
  return (grove_slots){
    .space = space,
    .index = grove_index_view(&side->slots, side->begin[group],
                              side->begin[group + 1] - side->begin[group]),
  };
}

static int has_group(const grove_side *side, int rank)
{
  for (int g = 0; g < side->count; g++)
    if (side->ranks[g] == rank) return 1;
  return 0;
}

/* One message a group; the group of the own rank is kept. */
static void fill(const grove_side *side, grove_space space, int rank, grove_message *messages,
                 grove_slots *keep)
{
  for (int g = 0, i = 0; g < side->count; g++) {
    if (side->ranks[g] == rank)
      *keep = slots_of(side, g, space);
    else
      messages[i++] = (grove_message){.peer = side->ranks[g], .slots = slots_of(side, g, space)};
  }
}

static grove_status build(const grove_forest *f, grove_plan **out)
{
  grove_status status = GROVE_OK;
  int rank = f->ctx->rank, self = has_group(&f->roots, rank);
  grove_plan *plan = NULL;
  GROVE_TRY(grove_plan_create(grove_route_standard.name, rank, 1, &plan));
  GROVE_TRY(grove_plan_stage(plan, 0, f->roots.count - self, f->leaves.count - self));
  grove_stage *stage = &plan->stages[0];
  fill(&f->roots, GROVE_SPACE_ROOT, rank, stage->sends, &stage->keep_from);
  fill(&f->leaves, GROVE_SPACE_LEAF, rank, stage->receives, &stage->keep_to);
  *out = plan;
  return GROVE_OK;
fail:
  grove_plan_free(&plan);
  return status;
}

const grove_route grove_route_standard = {
  .name = "standard",
  .description = "every rank sends directly to every rank that needs something of it",
  .build = build,
};
