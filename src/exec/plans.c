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

/* The same forest with other roots: those of the multi-forest, one for each edge. If edges are
 * combined with their roots in the end, they keep their own order. */
static grove_status split_roots(const grove_forest *f, grove_plans *p, grove_forest *view)
{
  *view = *f;
  p->slots = (grove_index){.count = f->roots.slots.count};
  if (p->operation != GROVE_FETCH && !p->whole) {
    GROVE_PASS(grove_multi_slots(f, &p->slots));
    grove_index_settle(&p->slots);
  }
  view->roots.slots = p->slots;
  return GROVE_OK;
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
  return GROVE_OK;
}

/* One message may bring values of several ranks, which are not in rank order. Where that order
 * counts, all edges come together before they meet their roots. */
static int meets_as_whole(const grove_wiring_key *key, const grove_route *route)
{
  if (!route->relays) return 0;
  return key->operation == GROVE_FETCH || (key->operation == GROVE_REDUCE && !key->merges);
}

static grove_plans plans_like(const grove_wiring_key *key, const grove_routing *routing)
{
  int relays = routing->route->relays;
  return (grove_plans){.references = 1,
                       .operation = key->operation,
                       .generation = key->generation,
                       .shared = relays ? key->merges : key->shared,
                       .whole = meets_as_whole(key, routing->route),
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
  if (!splits_roots(p)) return GROVE_OK;
  status = split_roots(f, p, view);
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
  grove_plans wanted = plans_like(key, routing);
  *out = find_plans(f, &wanted);
  return *out ? GROVE_OK : compile_plans(f, &wanted, out);
}
