/* The standard route: every rank sends to every rank that needs something of it, directly, in one
 * stage. Each edge crosses once, in the message of its pair of ranks.
 *
 * Cost: a message for each neighbour; right where messages are large or neighbours few. In the
 * papers: "standard communication" (node-aware-strategies, 2.3), "basic" in PetscSF.
 */
#include "route/route.h"

#include <stdlib.h>

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

/* Is it worth while that the values of this group are sent once? Inside a node bytes cost
 * little. */
static int pays(const grove_forest *f, const grove_side *side, int group)
{
  int on_node = grove_topo_same_node(&f->ctx->topo, f->ctx->rank, side->ranks[group]);
  return side->repeats[group] >= (on_node ? GROVE_REPEATS_MOST : GROVE_REPEATS_SOME);
}

static grove_status share_sends(const grove_forest *f, grove_plan *plan)
{
  grove_status status = GROVE_OK;
  for (int g = 0, i = 0; g < f->roots.count; g++) {
    if (f->roots.ranks[g] == f->ctx->rank) continue;
    grove_message *m = &plan->stages[0].sends[i++];
    if (pays(f, &f->roots, g)) GROVE_TRY(grove_message_send_once(m, plan));
  }
fail:
  return status;
}

static grove_status share_receives(const grove_forest *f, grove_plan *plan)
{
  grove_status status = GROVE_OK;
  int64_t *roots = NULL; /* of all leaves, once they are needed */
  for (int g = 0, i = 0; g < f->leaves.count; g++) {
    if (f->leaves.ranks[g] == f->ctx->rank) continue;
    grove_message *m = &plan->stages[0].receives[i++];
    if (!pays(f, &f->leaves, g)) continue;
    if (!roots) GROVE_TRY(grove_leaves_roots(f, &roots));
    grove_index names = {.count = m->slots.index.count, .wide = roots + f->leaves.begin[g]};
    GROVE_TRY(grove_message_receive_once(m, &names, plan));
  }
fail:
  free(roots);
  return status;
}

static grove_status build(const grove_forest *f, int share, grove_plan **out)
{
  grove_status status = GROVE_OK;
  int rank = f->ctx->rank, self = has_group(&f->roots, rank);
  grove_plan *plan = NULL;
  GROVE_TRY(grove_plan_create(grove_route_standard.name, rank, 1, &plan));
  GROVE_TRY(grove_plan_stage(plan, 0, f->roots.count - self, f->leaves.count - self));
  grove_stage *stage = &plan->stages[0];
  fill(&f->roots, GROVE_SPACE_ROOT, rank, stage->sends, &stage->keep_from);
  fill(&f->leaves, GROVE_SPACE_LEAF, rank, stage->receives, &stage->keep_to);
  if (share) {
    GROVE_TRY(share_sends(f, plan));
    GROVE_TRY(share_receives(f, plan));
  }
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
