#include "exec/wiring.h"

#include <stdlib.h>
#include <string.h>

const char *grove_operation_name(grove_operation operation)
{
  static const char *const names[] = {"bcast", "reduce", "fetch", "gather", "scatter"};
  return names[operation];
}

/* May several leaves share a value of a message? On the way back, their contributions are then
 * combined before they reach the root. So either the last one counts, or the order must not matter.
 * All users' operations count as one kind, commutative or not, so none may share. */
static int may_share(const grove_request *r, const grove_combine *combine)
{
  if (r->operation == GROVE_BCAST) return 1;
  if (r->operation != GROVE_REDUCE) return 0; /* one value per edge */
  if (combine->way == GROVE_COMBINE_REPLACE) return 1;
  return combine->number >= 0 && !grove_forest_settings_of(r->forest).deterministic;
}

/* May contributions of several ranks be combined on their way? There they lie as in a message,
 * which only kernels can read. */
static int may_merge(const grove_request *r, const grove_unit *unit, const grove_combine *combine)
{
  if (r->operation == GROVE_BCAST) return 1;
  if (!may_share(r, combine) || combine->way != GROVE_COMBINE_KERNEL) return 0;
  return unit->dense || unit->kind != GROVE_KIND_PAIR;
}

grove_wiring_key grove_wiring_key_of(const grove_request *r, const grove_unit *unit,
                                     const grove_combine *combine)
{
  return (grove_wiring_key){.operation = r->operation,
                            .unit_bytes = unit->bytes,
                            .unit_kind = unit->kind,
                            .op_number = combine->number,
                            .shared = may_share(r, combine),
                            .merges = may_merge(r, unit, combine),
                            .generation = grove_forest_generation(r->forest)};
}

/* Edges that meet their roots. In a fetch, the leaves of this rank's own roots need not travel. */
static grove_status make_meeting(const grove_forest *f, grove_lane *lane)
{
  const grove_index none = {0};
  const grove_side *leaves = &f->leaves, *roots = &f->roots;
  grove_index own = {0};
  int fetches = lane->key.operation == GROVE_FETCH;
  lane->meets_at = fetches ? lane->plan->nstages / 2 - 1 : lane->plan->nstages - 1;
  for (int g = 0; g < leaves->count && !lane->whole; g++)
    if (leaves->ranks[g] == f->ctx->rank)
      own =
        grove_index_view(&leaves->slots, leaves->begin[g], leaves->begin[g + 1] - leaves->begin[g]);
  for (int g = 0; g < roots->count; g++)
    if (roots->ranks[g] == f->ctx->rank) lane->own_begin = roots->begin[g];
  const grove_index *met = lane->plans->met.count > 0 ? &lane->plans->met : &roots->slots;
  GROVE_PASS(grove_shape_create(met, &none, lane->key.unit_bytes, &lane->fetched));
  return grove_shape_create(&own, &none, lane->key.unit_bytes, &lane->own);
}

/* What waits in places lands where it would have been unpacked. */
static grove_status make_landing(const grove_plans *plans, grove_lane *lane)
{
  const grove_index none = {0};
  int fetches = lane->key.operation == GROVE_FETCH;
  if (plans->landing.count == 0 || lane->key.unit_bytes == 0) return GROVE_OK;
  lane->lands_in = fetches ? GROVE_ARRAY_UPDATE : GROVE_ARRAY_LEAF;
  return grove_shape_create(&plans->landing, &none, lane->key.unit_bytes, &lane->landing);
}

static grove_status make_lane(const grove_request *r, const grove_wiring_key *key,
                              const grove_routing *routing, grove_lane *out)
{
  grove_plans *plans = NULL;
  out->key = *key;
  GROVE_PASS(grove_plans_get(r->forest, key, routing, &plans));
  plans->references++;
  out->plans = plans;
  out->plan = plans->directed ? plans->directed : plans->forward;
  out->whole = plans->whole;
  for (int a = 0; a < GROVE_ARRAYS; a++)
    if (grove_space_of(r->forest->ctx, r->arrays[a]).kind != &grove_space_host)
      out->apart |= 1u << a;
  if (key->operation == GROVE_FETCH || out->whole) GROVE_PASS(make_meeting(r->forest, out));
  return make_landing(plans, out);
}

grove_status grove_wiring_create(grove_context *ctx, int n, const grove_request *requests,
                                 const grove_wiring_key *keys, const grove_routing *routing,
                                 int persistent, grove_wiring **out)
{
  grove_status status = GROVE_OK;
  grove_wiring *wiring = NULL;
  GROVE_NEW(wiring, 1);
  wiring->references = 1;
  wiring->ctx = ctx;
  wiring->rank = ctx->rank;
  wiring->check = ctx->options.check;
  wiring->own_first =
    n > 0 && grove_forest_settings_of(requests[0].forest).order == GROVE_ORDER_OWN_FIRST;
  wiring->sole = persistent;
  wiring->persistent = persistent && ctx->options.p2p == GROVE_P2P_PERSISTENT;
  GROVE_NEW(wiring->lanes, n);
  for (int k = 0; k < n; k++) {
    wiring->nlanes++;
    GROVE_TRY(make_lane(&requests[k], &keys[k], routing, &wiring->lanes[k]));
    wiring->meets |= wiring->lanes[k].whole || wiring->lanes[k].landing.units > 0;
  }
  GROVE_TRY(grove_wiring_lay(wiring));
  grove_copy_text(wiring->machine, sizeof wiring->machine, ctx->machine ? ctx->machine->name : "");
  *out = wiring;
  return GROVE_OK;
fail:
  if (wiring) grove_wiring_release(wiring);
  return status;
}

const char *grove_wiring_name(const grove_wiring *wiring)
{
  return wiring->nlanes == 1 ? grove_operation_name(wiring->lanes[0].key.operation) : "bundle";
}

/* All fields take the same route. */
const char *grove_wiring_route(const grove_wiring *wiring)
{
  return wiring->nlanes > 0 ? wiring->lanes[0].plan->route : grove_route_standard.name;
}

/* Called when the last operation, or the pool, lets go. */
void grove_wiring_release(grove_wiring *wiring)
{
  if (--wiring->references > 0) return;
  if (wiring->run.members) wiring->run.free_members(wiring->run.members); /* all of them idle */
  grove_wiring_unwire(wiring);
  for (int k = 0; k < wiring->nlanes; k++) {
    grove_lane *lane = &wiring->lanes[k];
    grove_index lists[2] = {lane->fetched.slots, lane->own.slots};
    grove_shape_free(&lane->fetched);
    grove_shape_free(&lane->own);
    grove_shape_free(&lane->landing);
    for (int i = 0; i < 2 && lane->detached; i++) grove_index_free(&lists[i]);
    grove_plans_release(lane->plans);
  }
  free(wiring->lanes);
  if (wiring->tag > 0) grove_context_return_tag(wiring->ctx, wiring->tag, wiring->run.sequence);
  free(wiring);
}
