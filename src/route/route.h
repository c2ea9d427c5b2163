/* Routes: how a forest becomes a plan. One file per route, listed in base/options.h.
 */
#ifndef GROVE_ROUTE_ROUTE_H
#define GROVE_ROUTE_ROUTE_H

#include "base/options.h"
#include "forest/forest.h"
#include "plan/manifest.h"
#include "plan/plan.h"
#include "route/build.h"
#include "route/demand.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct grove_route {
  const char *name; /* as the option `route` spells it */
  const char *description;
  int relays; /* values pass through hubs, and building takes communication */
  /* Builds this rank's part of the plan, for bcast. If the route relays, this is collective: every
   * rank comes with the same forest and `how`. A failure may be this rank's alone: the caller
   * agrees upon it. */
  grove_status (*build)(const grove_forest *f, const grove_build *how, grove_plan **out);
  /* Every message that the plans would send, for all ranks that the demand is about: no MPI. */
  grove_status (*count)(const grove_demand *demand, const grove_topo *topo, const grove_build *how,
                        grove_manifest *out);
} grove_route;

#define GROVE_ROUTE_DECLARE(name, word) extern const grove_route grove_route_##name;
GROVE_ROUTE_ROWS(GROVE_ROUTE_DECLARE)

/* All of them, in the order of the rows. */
#define GROVE_ROUTE_COUNT(name, word) +1
enum { GROVE_ROUTES = 0 GROVE_ROUTE_ROWS(GROVE_ROUTE_COUNT) };
extern const grove_route *const grove_routes[GROVE_ROUTES];

/* The route of this name, or NULL. */
const grove_route *grove_route_find(const char *name);

/* The route that this value of the option `route` names; NULL: auto. */
const grove_route *grove_route_told(int option);

#ifdef __cplusplus
}
#endif

#endif
