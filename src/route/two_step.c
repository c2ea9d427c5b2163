/* The route 2-step. */
#include "route/route.h"

static grove_status build(const grove_forest *f, const grove_build *how, grove_plan **out)
{
  grove_status status = GROVE_OK;
  (void)f, (void)how, (void)out;
  GROVE_CHECK(0, GROVE_ERR_UNSUPPORTED, "route 2-step is not built yet");
fail:
  return status;
}

static grove_status count(const grove_demand *demand, const grove_topo *topo,
                          const grove_build *how, grove_manifest *out)
{
  grove_status status = GROVE_OK;
  (void)demand, (void)topo, (void)how, (void)out;
  GROVE_CHECK(0, GROVE_ERR_UNSUPPORTED, "route 2-step is not counted yet");
fail:
  return status;
}

const grove_route grove_route_two_step = {
  .name = "2-step",
  .description = "every rank sends what a node needs to one rank there, which passes it on",
  .relays = 1,
  .build = build,
  .count = count,
};
