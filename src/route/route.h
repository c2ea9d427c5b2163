/* Routes: how a forest becomes a plan. One file a route, listed in registry.c.
 */
#ifndef GROVE_ROUTE_ROUTE_H
#define GROVE_ROUTE_ROUTE_H

#include "forest/forest.h"
#include "plan/manifest.h"
#include "plan/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a plan may do, and what it is for. */
typedef struct grove_build {
  int share;   /* a value that several leaves of a message need may be sent once; on the way back
                * their contributions are then combined before they are sent */
  int by_root; /* it will run the other way: messages in the order of the roots, where what comes is
                * combined with what is there; reading the leaves in any order costs less */
} grove_build;

typedef struct grove_route {
  const char *name; /* as the option `route` spells it */
  const char *description;
  /* This rank's part of the plan, for bcast. This rank's failure. */
  grove_status (*build)(const grove_forest *f, const grove_build *how, grove_plan **out);
  /* Every message that the plans of all ranks would send, from plain edges: no MPI. */
  grove_status (*count)(const grove_edge *edges, int64_t n, const grove_topo *topo,
                        const grove_build *how, grove_manifest *out);
} grove_route;

extern const grove_route grove_route_standard;

/* The route that the options of the forest's context ask for. */
const grove_route *grove_route_choose(const grove_forest *f);

#ifdef __cplusplus
}
#endif

#endif
