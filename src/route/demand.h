/* What ranks need from each other, in numbers: the basis on which routes count. Made from plain
 * edges, all of them, or from what ranks told a node's leader (survey.h), who then knows what
 * concerns this node. No MPI.
 *
 * A *pair* is what one rank needs from another. A *block* is what one rank has for another node. If
 * values may be shared, it has each value that the node's ranks need once, in ascending order of
 * the roots. Else it has one value per edge, by leaf rank, and in the order of that rank's list.
 */
#ifndef GROVE_ROUTE_DEMAND_H
#define GROVE_ROUTE_DEMAND_H

#include "base/status.h"
#include "plan/manifest.h"
#include "route/build.h"
#include "topo/topo.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct grove_demand_pair {
  int32_t from, to; /* owner of the roots, owner of the leaves */
  int64_t edges;
  int64_t distinct;      /* roots among them; as many as edges if nothing is shared */
  const int64_t *places; /* of the distinct ones in their block, ascending; NULL: not known */
} grove_demand_pair;

typedef struct grove_demand_block {
  int32_t from, node;
  int64_t units;
} grove_demand_block;

typedef struct grove_demand {
  int64_t npairs;
  grove_demand_pair *pairs; /* by `from`, then by `to`; no rank is paired with itself */
  int64_t nblocks;
  grove_demand_block *blocks; /* by `from`, then by `node`; of other nodes only */
  int64_t *places;            /* memory for the places of all pairs */
} grove_demand;

/* From all edges, of all ranks, in any order. */
grove_status grove_demand_create(const grove_edge *edges, int64_t n, const grove_topo *topo,
                                 const grove_build *how, grove_demand *out);
void grove_demand_free(grove_demand *demand);

#ifdef __cplusplus
}
#endif

#endif
