/* The plans of a forest. Each is compiled at first need, for one kind of operation and one route,
 * and kept with the forest. Wirings hold the plans that they run. So an abandoned operation still
 * finds what it needs to pass on data that others wait for.
 */
#include "exec/plans.h"

#include <stdlib.h>

static void free_lists(grove_plans *p)
{
  grove_plan_free(&p->directed);
  grove_plan_free(&p->forward);
  grove_index_free(&p->slots);
  grove_index_free(&p->met);
  grove_index_free(&p->places);
  grove_index_free(&p->landing);
}

void grove_plans_release(grove_plans *p)
{
  if (!p || --p->references > 0) return;
  free_lists(p);
  free(p);
}

static void free_compiled(void *pointer)
{
  grove_compiled *c = pointer;
  if (c->pool) c->empty_pool(c);
  for (grove_plans *next; c->plans; c->plans = next) {
    next = c->plans->next;
    grove_plans_release(c->plans);
  }
  for (int share = 0; share < 2; share++) grove_survey_free(&c->surveys[share]);
  free(c);
}

grove_status grove_forest_compiled(grove_forest *f, grove_compiled **out)
{
  grove_compiled *c = f->compiled;
  if (!c) {
    GROVE_PASS_NEW(c, 1);
    f->compiled = c;
    f->free_compiled = free_compiled;
  }
  *out = c;
  return GROVE_OK;
}

/* ---- compiling ---- */

/* Does the operation move one value per edge, so that every edge has its own root? */
static int splits_roots(const grove_plans *p)
{
  return p->whole || (p->operation != GROVE_BCAST && p->operation != GROVE_REDUCE);
}

/* Edges with those of this rank's own leaves first: the number of each entry of roots.slots, and
 * the root of each number. */
static grove_status put_own_first(const grove_forest *f, grove_plans *p)
{
  grove_status status = GROVE_OK;
  const grove_side *roots = &f->roots;
  int64_t n = roots->slots.count, begin = 0, end = 0, *number = NULL, *met = NULL;
  for (int g = 0; g < roots->count; g++)
    if (roots->ranks[g] == f->ctx->rank) {
      begin = roots->begin[g];
      end = roots->begin[g + 1];
    }
  if (begin == 0) return GROVE_OK; /* they are first already, or there are none */
  GROVE_ROOM(number, n);
  GROVE_ROOM(met, n);
  for (int64_t i = 0; i < n; i++) {
    number[i] = i < begin ? i + end - begin : i < end ? i - begin : i;
    met[number[i]] = grove_index_at(&roots->slots, i);
  }
  GROVE_TRY(grove_index_create(n, number, &p->slots));
  GROVE_TRY(grove_index_create(n, met, &p->met));
fail:
  free(number);
  free(met);
  return status;
}

/* The same forest with other roots: those of the multi-forest, one for each edge. If edges are
 * combined with their roots in the end, they keep their own order. */
static grove_status split_roots(const grove_forest *f, grove_plans *p, grove_forest *view)
{
  *view = *f;
  p->slots = (grove_index){.count = f->roots.slots.count};
  if (p->operation != GROVE_FETCH && !p->whole) {
    GROVE_PASS(grove_multi_slots(f, &p->slots));
    grove_index_settle(&p->slots);
  } else if (p->whole && grove_forest_settings_of(f).order == GROVE_ORDER_OWN_FIRST) {
    GROVE_PASS(put_own_first(f, p));
  }
  view->roots.slots = p->slots;
  return GROVE_OK;
}

/* Is a slot of this rank written several times? Then what comes is put into places, one for each
 * edge in the order of the user's list, and lands from there when all of it has come. */
static int lands_later(const grove_forest *f, grove_operation operation)
{
  return f->has_duplicates && operation != GROVE_REDUCE && operation != GROVE_COLLECT;
}

/* The same forest with places for leaf slots. */
static grove_status list_places(const grove_forest *f, grove_plans *p, grove_forest *view)
{
  grove_status status = GROVE_OK;
  grove_tour tour = {0};
  GROVE_TRY(grove_leaves_positions(f, &p->places));
  GROVE_TRY(grove_index_reserve(f->nleaves, 0, f->leaf_end - 1, &p->landing));
  GROVE_TRY(grove_tour_begin(f, &tour));
  for (int64_t i = 0; grove_tour_step(&tour); i++) grove_index_put(&p->landing, i, tour.leaf);
  grove_index_settle(&p->landing);
  view->leaves.slots = p->places;
fail:
  grove_tour_end(&tour);
  return status;
}

/* What a fetch reads are slots all the same. */
static grove_status enter_places(grove_plans *p)
{
  if (p->places.count == 0) return GROVE_OK;
  if (p->operation != GROVE_FETCH) {
    grove_plan_rename(p->forward, GROVE_ARRAY_LEAF, GROVE_ARRAY_PLACE);
    return GROVE_OK;
  }
  grove_plan_rename(p->directed, GROVE_ARRAY_UPDATE, GROVE_ARRAY_PLACE);
  return grove_plan_look_up(p->directed, GROVE_ARRAY_LEAF, &p->landing);
}

/* Makes the plan in the direction of the data. */
static grove_status make_directed(grove_plans *p)
{
  switch (p->operation) {
  case GROVE_REDUCE:
  case GROVE_COLLECT: GROVE_PASS(grove_plan_reverse(p->forward, &p->directed)); break;
  case GROVE_FETCH: GROVE_PASS(grove_plan_round_trip(p->forward, &p->directed)); break;
  default: break;
  }
  if (p->whole && p->operation == GROVE_REDUCE)
    grove_plan_rename(p->directed, GROVE_ARRAY_ROOT, GROVE_ARRAY_EDGE);
  return enter_places(p);
}

/* One message may bring values of several ranks, which are not in rank order. Where that order
 * counts, all edges come together before they meet their roots. So do those of a fetch whose
 * answers land later: then self edges take the way of all others. */
static int meets_as_whole(const grove_forest *f, const grove_wiring_key *key,
                          const grove_route *route)
{
  if (key->operation == GROVE_FETCH && f->some_duplicates) return 1;
  if (!route->relays) return 0;
  return key->operation == GROVE_FETCH || (key->operation == GROVE_REDUCE && !key->merges);
}

static grove_plans plans_like(const grove_forest *f, const grove_wiring_key *key,
                              const grove_routing *routing)
{
  int relays = routing->route->relays;
  return (grove_plans){.references = 1,
                       .operation = key->operation,
                       .generation = key->generation,
                       .shared = relays ? key->merges : key->shared,
                       .whole = meets_as_whole(f, key, routing->route),
                       .route = routing->route,
                       .cap = relays ? routing->cap : 0};
}

static int same_plans(const grove_plans *a, const grove_plans *b)
{
  return a->operation == b->operation && a->generation == b->generation && a->shared == b->shared &&
         a->whole == b->whole && a->route == b->route && a->cap == b->cap;
}

static grove_build build_for(const grove_plans *p)
{
  int forward = p->operation == GROVE_BCAST || p->operation == GROVE_DISTRIBUTE;
  return (grove_build){.share = p->shared,
                       .by_root = p->operation == GROVE_REDUCE && !p->whole,
                       .back = !forward,
                       .cap = p->cap};
}

/* The forest as the route sees it. Agreed by all if ranks will talk. */
static grove_status look_at_plans(const grove_forest *f, grove_plans *p, grove_forest *view)
{
  grove_status status = GROVE_OK;
  *view = *f;
  if (!splits_roots(p) && !f->some_duplicates) return GROVE_OK;
  if (splits_roots(p)) status = split_roots(f, p, view);
  if (status == GROVE_OK && lands_later(f, p->operation)) status = list_places(f, p, view);
  return p->route->relays ? grove_context_agree(f->ctx, status, NULL, 0) : status;
}

/* Collective if the route relays. Then no failure stays on one rank without the others knowing. */
static grove_status compile_plans(grove_forest *f, const grove_plans *wanted, grove_plans **out)
{
  grove_status status = GROVE_OK;
  grove_plans made = *wanted, *p = NULL;
  grove_compiled *c = f->compiled; /* made when the request was looked at */
  grove_build how = build_for(wanted);
  grove_forest view;
  GROVE_TRY(look_at_plans(f, &made, &view));
  GROVE_TRY(made.route->build(&view, &how, &made.forward));
  GROVE_TRY(make_directed(&made));
  GROVE_NEW(p, 1);
  made.next = c->plans;
  *p = made;
  c->plans = *out = p;
  return GROVE_OK;
fail:
  free_lists(&made);
  return status;
}

static grove_plans *find_plans(const grove_forest *f, const grove_plans *wanted)
{
  const grove_compiled *c = f->compiled;
  grove_plans *p = c ? c->plans : NULL;
  while (p && !same_plans(p, wanted)) p = p->next;
  return p;
}

grove_status grove_plans_get(grove_forest *f, const grove_wiring_key *key,
                             const grove_routing *routing, grove_plans **out)
{
  grove_plans wanted = plans_like(f, key, routing);
  *out = find_plans(f, &wanted);
  return *out ? GROVE_OK : compile_plans(f, &wanted, out);
}
