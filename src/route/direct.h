/* Messages that go straight from the owner of the roots to the owner of the leaves: all of them for
 * the standard route, those inside a node for the others.
 *
 * Both ends of a message know its roots, in the order of the leaves' lists, and can therefore agree
 * without a word on another order, and on values that are sent once.
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

/* Makes a stage of them, and of what this rank keeps. Behind them there is room for `sends` and
 * `receives` further messages. */
grove_status grove_direct_stage(const grove_forest *f, const grove_build *how,
                                grove_direct_scope scope, int sends, int receives, int stage,
                                grove_plan *plan);

/* What crosses in the message of a pair: as many units as the stage has for it. */
int64_t grove_direct_units(const grove_demand_pair *pair, const grove_topo *topo,
                           const grove_build *how);

#ifdef __cplusplus
}
#endif

#endif
