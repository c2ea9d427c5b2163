/* The standard route: every rank sends directly to every rank that needs something from it, in one
 * stage. Each edge crosses once, in the message of its pair of ranks.
 *
 * Cost: a message for each neighbour. Right where messages are large or neighbours few. In the
 * papers: "standard communication" (node-aware-strategies, 2.3), "basic" in PetscSF.
 */
#include "route/direct.h"
#include "route/route.h"

static grove_status build_standard(const grove_forest *f, const grove_build *how, grove_plan **out)
{
  grove_status status = GROVE_OK;
  grove_plan *plan = NULL;
  GROVE_TRY(grove_plan_create(grove_route_standard.name, f->ctx->rank, 1, &plan));
  GROVE_TRY(grove_direct_stage(f, how, GROVE_DIRECT_ALL, 0, 0, 0, plan));
  *out = plan;
  return GROVE_OK;
fail:
  grove_plan_free(&plan);
  return status;
}

static grove_status count_standard(const grove_demand *demand, const grove_topo *topo,
                                   const grove_build *how, grove_manifest *out)
{
  grove_status status = GROVE_OK;
  grove_manifest m = {.nstages = 1};
  for (int64_t i = 0; i < demand->npairs; i++) {
    const grove_demand_pair *p = &demand->pairs[i];
    GROVE_TRY(grove_manifest_add(&m, 0, p->from, p->to, grove_direct_units(p, topo, how)));
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
  .build = build_standard,
  .count = count_standard,
};
