#include "route/direct.h"

#include "base/order.h"
#include "pack/shape.h"

#include <stdlib.h>

/* Fewer edges fit in the first-level cache, whatever their order. */
enum { WORTH_ORDERING = 512 };

/* ---- another order, and values sent once ---- */

/* Is it worth sending repeated values of a message between these ranks once? Inside a node bytes
 * are cheap. */
static int worth_sharing(const grove_topo *topo, int a, int b, int repeats)
{
  int on_node = grove_topo_same_node(topo, a, b);
  return repeats >= (on_node ? GROVE_REPEATS_MOST : GROVE_REPEATS_SOME);
}

static int pays_off(const grove_forest *f, const grove_side *side, int group)
{
  return worth_sharing(&f->ctx->topo, f->ctx->rank, side->ranks[group], side->repeats[group]);
}

/* A list, and the names of its entries at the owner of the roots. */
typedef struct named_list {
  grove_index *slots;
  int64_t *names;
} named_list;

/* Too few entries to gain from another order, or too many to be numbered? */
static int keeps_order(int64_t n)
{
  return n < WORTH_ORDERING || n > GROVE_LIST_MOST;
}

/* Would ordering these names help? Not if they are ordered already, or follow a pattern, which has
 * better kernels. Both ends look at the same list, so that they come to the same answer. */
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

/* A stage in the making. */
typedef struct maker {
  const grove_forest *f;
  const grove_build *how;
  grove_direct_scope scope;
  grove_plan *plan;
  grove_stage *stage;
} maker;

static int belongs_to(const maker *m, const grove_side *side, int group)
{
  const grove_topo *topo = &m->f->ctx->topo;
  return m->scope == GROVE_DIRECT_ALL ||
         grove_topo_same_node(topo, m->f->ctx->rank, side->ranks[group]);
}

static int shares_values(const maker *m, const grove_side *side, int group)
{
  return m->how->share && pays_off(m->f, side, group);
}

/* The lists of the leaf side. Their names are the remote indices of the roots. */
static grove_status arrange_leaves(const maker *m)
{
  grove_status status = GROVE_OK;
  const grove_side *leaves = &m->f->leaves;
  int64_t *roots = NULL;
  int wanted = 0;
  for (int g = 0; g < leaves->count; g++)
    wanted |= belongs_to(m, leaves, g) && (m->how->by_root || shares_values(m, leaves, g));
  if (!wanted) return GROVE_OK;
  GROVE_TRY(grove_leaves_roots(m->f, &roots));
  for (int g = 0, i = 0; g < leaves->count; g++) {
    if (!belongs_to(m, leaves, g)) continue;
    int self = leaves->ranks[g] == m->f->ctx->rank;
    grove_message *to = self ? NULL : &m->stage->receives[i++];
    named_list list = {self ? &m->stage->keep_to.index : &to->slots.index,
                       roots + leaves->begin[g]};
    if (m->how->by_root) GROVE_TRY(order_by_name(list, m->plan));
    grove_index names = {.count = list.slots->count, .wide = list.names};
    if (to && shares_values(m, leaves, g))
      GROVE_TRY(grove_message_receive_once(to, &names, m->plan));
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

static grove_status arrange_roots(const maker *m)
{
  const grove_side *roots = &m->f->roots;
  for (int g = 0, i = 0; g < roots->count; g++) {
    if (!belongs_to(m, roots, g)) continue;
    int self = roots->ranks[g] == m->f->ctx->rank;
    grove_message *from = self ? NULL : &m->stage->sends[i++];
    if (m->how->by_root)
      GROVE_PASS(order_roots(self ? &m->stage->keep_from.index : &from->slots.index, m->plan));
    if (from && shares_values(m, roots, g)) GROVE_PASS(grove_message_send_once(from, m->plan));
  }
  return GROVE_OK;
}

/* Nobody else needs to know the order of what a rank keeps. Writing in order and reading at random
 * costs less than doing both at random: with 5000 kept edges of 10000, 2 ranks, an exchange takes
 * 12 to 18 % less (`random-mixed-bcast` of bench/grid.txt, Xeon, 2026-11). On the way back the
 * order of leaves counts. */
static grove_status order_kept(const maker *m)
{
  grove_status status = GROVE_OK;
  grove_index *to = &m->stage->keep_to.index;
  int64_t *slots = NULL;
  if (m->how->back || keeps_order(to->count)) return GROVE_OK;
  GROVE_ROOM(slots, to->count);
  for (int64_t i = 0; i < to->count; i++) slots[i] = grove_index_at(to, i);
  GROVE_TRY(order_by_name((named_list){&m->stage->keep_from.index, slots}, m->plan));
  for (int64_t i = 0; i < to->count; i++) slots[i] = grove_index_at(to, i);
  GROVE_TRY(order_by_name((named_list){to, slots}, m->plan));
fail:
  free(slots);
  return status;
}

/* ---- the stage ---- */

static int count_direct(const maker *m, const grove_side *side)
{
  int count = 0;
  for (int g = 0; g < side->count; g++)
    count += belongs_to(m, side, g) && side->ranks[g] != m->f->ctx->rank;
  return count;
}

/* One message per group; the group of this rank itself is kept. */
static void fill_message(const maker *m, const grove_side *side, grove_array which,
                         grove_message *messages, grove_slots *keep)
{
  for (int g = 0, i = 0; g < side->count; g++) {
    if (!belongs_to(m, side, g)) continue;
    grove_slots slots = {
      .array = which,
      .index = grove_index_view(&side->slots, side->begin[g], side->begin[g + 1] - side->begin[g])};
    if (side->ranks[g] == m->f->ctx->rank)
      *keep = slots;
    else
      messages[i++] = (grove_message){.peer = side->ranks[g], .slots = slots};
  }
}

grove_status grove_direct_stage(const grove_forest *f, const grove_build *how,
                                grove_direct_scope scope, int sends, int receives, int stage,
                                grove_plan *plan)
{
  maker m = {.f = f, .how = how, .scope = scope, .plan = plan, .stage = &plan->stages[stage]};
  GROVE_PASS(grove_plan_stage(plan, stage, count_direct(&m, &f->roots) + sends,
                              count_direct(&m, &f->leaves) + receives));
  fill_message(&m, &f->roots, GROVE_ARRAY_ROOT, m.stage->sends, &m.stage->keep_from);
  fill_message(&m, &f->leaves, GROVE_ARRAY_LEAF, m.stage->receives, &m.stage->keep_to);
  GROVE_PASS(arrange_roots(&m));
  GROVE_PASS(arrange_leaves(&m));
  return order_kept(&m);
}

int64_t grove_direct_units(const grove_demand_pair *pair, const grove_topo *topo,
                           const grove_build *how)
{
  if (!how->share || pair->edges > GROVE_LIST_MOST) return pair->edges;
  int repeats = (int)grove_repeats_of(pair->edges, pair->distinct);
  return worth_sharing(topo, pair->from, pair->to, repeats) ? pair->distinct : pair->edges;
}
