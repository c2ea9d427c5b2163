/* Messages that go straight from the owner of the roots to the owner of the leaves: all of them for
 * the standard route, those inside a node for the others.
 *
 * Both ends of a message know its roots, in the order of the leaves' lists. So they can agree
 * without communication on another order, and on sending repeated values once.
 */
#ifndef GROVE_ROUTE_DIRECT_H
#define GROVE_ROUTE_DIRECT_H

#include "forest/forest.h"
#include "plan/plan.h"
#include "route/build.h"
#include "route/demand.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum grove_direct_scope { GROVE_DIRECT_ALL, GROVE_DIRECT_ON_NODE } grove_direct_scope;

/* Makes a stage of these messages and of what this rank keeps. It leaves room for `sends` and
 * `receives` further messages. */
grove_status grove_direct_stage(const grove_forest *f, const grove_build *how,
                                grove_direct_scope scope, int sends, int receives, int stage,
                                grove_plan *plan);

/* The number of units in the message of a pair. */
int64_t grove_direct_units(const grove_demand_pair *pair, const grove_topo *topo,
                           const grove_build *how);

#ifdef __cplusplus
}
#endif

#endif
