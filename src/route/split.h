/* How the route split cuts what nodes send each other into slices: Algorithm 1 of
 * node-aware-strategies, in units instead of bytes.
 *
 * What node A has for node B are the blocks of its ranks, by ascending rank. B decides into how
 * many slices they are cut, and which of its ranks receives which slice. A decides which of its
 * ranks sends which.
 */
#ifndef GROVE_ROUTE_SPLIT_H
#define GROVE_ROUTE_SPLIT_H

#include "route/relay.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A block as nodes see it. */
typedef struct grove_node_block {
  int32_t to, node; /* nodes: destination and origin */
  int32_t from;
  int64_t units;
} grove_node_block;

typedef struct grove_slice {
  int32_t to, node;
  int32_t sender, receiver;
  int64_t units;
} grove_slice;

typedef struct grove_slices {
  int64_t count;
  grove_slice *slice; /* by to, node, then in the order of the units */
} grove_slices;

void grove_slices_free(grove_slices *slices);
grove_status grove_slices_add(grove_slices *slices, const grove_slice *slice);

/* Sorts blocks into the order that the other functions need: by to, node, from. */
void grove_node_blocks_sort(int64_t n, grove_node_block *blocks);

/* The slices of all blocks, with receivers. */
grove_status grove_slices_receive(const grove_topo *topo, int64_t cap, int64_t n,
                                  const grove_node_block *blocks, grove_slices *out);

/* Assigns senders. All slices of a sending node must be there. */
grove_status grove_slices_send(const grove_topo *topo, grove_slices *slices);

/* The legs of the blocks, which the slices must cover. */
grove_status grove_slices_cut(const grove_slices *slices, int64_t n, const grove_node_block *blocks,
                              grove_legs *out);

/* The relay's `settle` (split_settle.c). */
grove_status grove_split_settle(grove_context *ctx, const grove_build *how, int64_t n,
                                const grove_demand_block *blocks, grove_legs *out,
                                grove_status *mine);

#ifdef __cplusplus
}
#endif

#endif
