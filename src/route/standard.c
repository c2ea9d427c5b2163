/* The standard route: every rank sends to every rank that needs something of it, directly, in one
 * stage. Each edge crosses once, in the message of its pair of ranks.
 *
 * Cost: a message for each neighbour; right where messages are large or neighbours few. In the
 * papers: "standard communication" (node-aware-strategies, 2.3), "basic" in PetscSF.
 *
 * Both ends of a message know its roots, in the order of the leaves' lists, and can therefore agree
 * without a word on another order, and on values that are sent once.
 */
#include "base/order.h"
#include "pack/shape.h"
#include "route/route.h"

#include <stdlib.h>

/* Fewer edges are in the first cache, whatever their order. */
enum { WORTH_ORDERING = 512 };

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

/* ---- another order, and values sent once ---- */

/* Is it worth while that the values of a message between these ranks are sent once? Inside a node
 * bytes cost little. */
static int worth_sharing(const grove_topo *topo, int a, int b, int repeats)
{
  int on_node = grove_topo_same_node(topo, a, b);
  return repeats >= (on_node ? GROVE_REPEATS_MOST : GROVE_REPEATS_SOME);
}

static int pays(const grove_forest *f, const grove_side *side, int group)
{
  return worth_sharing(&f->ctx->topo, f->ctx->rank, side->ranks[group], side->repeats[group]);
}

/* A list, and what its entries are called at the owner of the roots. */
typedef struct named_list {
  grove_index *slots;
  int64_t *names;
} named_list;

/* Too few entries to gain from another order, or too many to be numbered? */
static int keeps_order(int64_t n)
{
  return n < WORTH_ORDERING || n > GROVE_LIST_MOST;
}

/* Would it help to have these names in order? Not where they are so, or follow a pattern, which has
 * better kernels. Both ends must come to the same answer, and look at the same list. */
static grove_status is_disorderly(int64_t n, const int64_t *names, int *out)
{
  grove_status status = GROVE_OK;
  const grove_index none = {0};
  grove_index list = {0};
  grove_shape shape = {0};
  *out = 0;
  if (keeps_order(n) || grove_order_ascends(n, names)) return GROVE_OK;
  GROVE_TRY(grove_index_create(n, names, &list));
  GROVE_TRY(grove_shape_create(&list, &none, sizeof(double), &shape));
  *out = shape.form == GROVE_SHAPE_LISTED;
fail:
  grove_shape_free(&shape);
  grove_index_free(&list);
  return status;
}

/* Puts both in the order of the names. */
static grove_status order_by_name(named_list list, grove_plan *plan)
{
  grove_status status = GROVE_OK;
  int64_t n = list.slots->count, *sorted = NULL;
  int32_t *order = NULL;
  grove_index ordered = {0};
  int wanted = 0;
  GROVE_TRY(is_disorderly(n, list.names, &wanted));
  if (!wanted) return GROVE_OK;
  GROVE_ROOM(sorted, n);
  GROVE_TRY(grove_order_create(n, list.names, &order));
  for (int64_t i = 0; i < n; i++) sorted[i] = grove_index_at(list.slots, order[i]);
  GROVE_TRY(grove_index_create(n, sorted, &ordered));
  GROVE_TRY(grove_plan_adopt(plan, &ordered));
  *list.slots = ordered;
  for (int64_t i = 0; i < n; i++) sorted[i] = list.names[order[i]];
  for (int64_t i = 0; i < n; i++) list.names[i] = sorted[i];
fail:
  free(sorted);
  free(order);
  return status;
}

/* The lists of the leaf side, whose names are the remote indices of the roots. */
static grove_status arrange_leaves(const grove_forest *f, const grove_build *how, grove_plan *plan)
{
  grove_status status = GROVE_OK;
  grove_stage *stage = &plan->stages[0];
  int64_t *roots = NULL;
  int wanted = how->by_root;
  for (int g = 0; g < f->leaves.count && how->share; g++) wanted |= pays(f, &f->leaves, g);
  if (!wanted) return GROVE_OK;
  GROVE_TRY(grove_leaves_roots(f, &roots));
  for (int g = 0, i = 0; g < f->leaves.count; g++) {
    int self = f->leaves.ranks[g] == f->ctx->rank;
    grove_message *m = self ? NULL : &stage->receives[i++];
    named_list list = {self ? &stage->keep_to.index : &m->slots.index, roots + f->leaves.begin[g]};
    if (how->by_root) GROVE_TRY(order_by_name(list, plan));
    grove_index names = {.count = list.slots->count, .wide = list.names};
    if (m && how->share && pays(f, &f->leaves, g))
      GROVE_TRY(grove_message_receive_once(m, &names, plan));
  }
fail:
  free(roots);
  return status;
}

/* The same list at the owner: its slots are the names. */
static grove_status order_roots(grove_index *slots, grove_plan *plan)
{
  grove_status status = GROVE_OK;
  int64_t *names = NULL;
  if (keeps_order(slots->count)) return GROVE_OK;
  GROVE_ROOM(names, slots->count);
  for (int64_t i = 0; i < slots->count; i++) names[i] = grove_index_at(slots, i);
  GROVE_TRY(order_by_name((named_list){slots, names}, plan));
fail:
  free(names);
  return status;
}

static grove_status arrange_roots(const grove_forest *f, const grove_build *how, grove_plan *plan)
{
  grove_status status = GROVE_OK;
  grove_stage *stage = &plan->stages[0];
  for (int g = 0, i = 0; g < f->roots.count; g++) {
    int self = f->roots.ranks[g] == f->ctx->rank;
    grove_message *m = self ? NULL : &stage->sends[i++];
    if (how->by_root)
      GROVE_TRY(order_roots(self ? &stage->keep_from.index : &m->slots.index, plan));
    if (m && how->share && pays(f, &f->roots, g)) GROVE_TRY(grove_message_send_once(m, plan));
  }
fail:
  return status;
}

/* ---- the plan ---- */

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

static grove_status build(const grove_forest *f, const grove_build *how, grove_plan **out)
{
  grove_status status = GROVE_OK;
  int rank = f->ctx->rank, self = has_group(&f->roots, rank);
  grove_plan *plan = NULL;
  GROVE_TRY(grove_plan_create(grove_route_standard.name, rank, 1, &plan));
  GROVE_TRY(grove_plan_stage(plan, 0, f->roots.count - self, f->leaves.count - self));
  grove_stage *stage = &plan->stages[0];
  fill(&f->roots, GROVE_SPACE_ROOT, rank, stage->sends, &stage->keep_from);
  fill(&f->leaves, GROVE_SPACE_LEAF, rank, stage->receives, &stage->keep_to);
  GROVE_TRY(arrange_roots(f, how, plan));
  GROVE_TRY(arrange_leaves(f, how, plan));
  *out = plan;
  return GROVE_OK;
fail:
  grove_plan_free(&plan);
  return status;
}

/* ---- its count ---- */

/* What crosses in the message of a pair: as many units as `build` would give it. */
static int64_t units_of(const grove_demand_pair *p, const grove_topo *topo, const grove_build *how)
{
  if (!how->share || p->edges > GROVE_LIST_MOST) return p->edges;
  int repeats = (int)grove_repeats_of(p->edges, p->distinct);
  return worth_sharing(topo, p->from, p->to, repeats) ? p->distinct : p->edges;
}

static grove_status count(const grove_demand *demand, const grove_topo *topo,
                          const grove_build *how, grove_manifest *out)
{
  grove_status status = GROVE_OK;
  grove_manifest m = {.nstages = 1};
  for (int64_t i = 0; i < demand->npairs; i++) {
    const grove_demand_pair *p = &demand->pairs[i];
    GROVE_TRY(grove_manifest_add(&m, 0, p->from, p->to, units_of(p, topo, how)));
  }
  *out = m;
  return GROVE_OK;
fail:
  grove_manifest_free(&m);
  return status;
}

const grove_route grove_route_standard = {
  .name = "standard",
  .description = "every rank sends directly to every rank that needs something of it",
  .build = build,
  .count = count,
};
