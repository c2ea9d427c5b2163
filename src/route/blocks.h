/* What a rank has for other nodes, and what it needs from them: the two ends of what node-aware
 * routes carry. A *unit* is a value that travels. A *block* is all that one rank has for one node
 * (demand.h).
 */
#ifndef GROVE_ROUTE_BLOCKS_H
#define GROVE_ROUTE_BLOCKS_H

#include "forest/forest.h"
#include "route/contents.h"
#include "route/demand.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What this rank has for other nodes. */
typedef struct grove_blocks {
  int count;
  grove_demand_block *about; /* by node */
  grove_contents *contents;
  int *first; /* count + 1: the lists of block b are those of ranks[first[b]] .. */
  int *ranks; /* ascending in each block */
} grove_blocks;

grove_status grove_blocks_create(const grove_forest *f, int share, grove_blocks *out);
void grove_blocks_free(grove_blocks *blocks);

/* The number of the block for a node; there must be one. */
int grove_blocks_find(const grove_blocks *blocks, int node);

/* What this rank needs from other nodes. The units of group g of its leaf side are first[g] ..
 * first[g+1]-1, in the order of their places in the owner's block. Groups of its own node have
 * none. Unit u is for the leaf slots slots[starts[u]] .. slots[starts[u+1]-1]. */
typedef struct grove_needs {
  int64_t units, leaves;
  int64_t *first;
  int64_t *starts;
  int64_t *slots;
} grove_needs;

grove_status grove_needs_create(const grove_forest *f, int share, grove_needs *out);
void grove_needs_free(grove_needs *needs);

#ifdef __cplusplus
}
#endif

#endif
