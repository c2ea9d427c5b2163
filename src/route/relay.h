/* What the node-aware routes have in common. Values pass from their owner through a rank of its
 * node, the *sender*, and a rank of the other node, the *receiver*, to the ranks that need them. A
 * route only says which ranks these are (legs.h).
 *
 *     stage   gather   owner -> sender      root slots -> hub slots
 *             cross    sender -> receiver   hub -> hub: one message for each such pair of ranks
 *             spread   receiver -> needer   hub -> leaf slots
 *
 * Messages inside a node go directly, in the stage `cross`, where they overlap with the rest. In a
 * route that does not gather, senders own all they send: it has two stages, and the cross stage
 * reads root slots.
 *
 * A rank's hub has what it sends to other nodes, in the order of the receivers, followed by what it
 * receives. Received values lie as they were sent, one slot each, and are read once for every rank
 * that needs them. If the plan will run backwards, each value instead has a slot for each such rank
 * (for each leaf of the receiver's own): contributions meet in the cross stage, in the order of
 * ranks.
 *
 * A message from a receiver to a rank has its units by sender, owner, and place in the block: an
 * order that both ends know. So building takes one exchange: owners tell senders how many units
 * come, and receivers who needs which.
 */
#ifndef GROVE_ROUTE_RELAY_H
#define GROVE_ROUTE_RELAY_H

#include "route/legs.h"
#include "route/route.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct grove_relay {
  const grove_route *route;
  int gathers; /* 0: every rank sends its own blocks */
  /* Divides blocks into legs, without communication. */
  grove_status (*divide)(const grove_topo *topo, const grove_build *how, int64_t n,
                         const grove_demand_block *blocks, grove_legs *out);
  /* NULL: a block is one leg, whatever other blocks there are. Else gives the legs of this rank's
   * own blocks, as `divide` would if it knew all ranks' blocks. Collective, agreed by all. `mine`
   * is this rank's status, to be agreed upon in the next collective step. */
  grove_status (*settle)(grove_context *ctx, const grove_build *how, int64_t n,
                         const grove_demand_block *blocks, grove_legs *out, grove_status *mine);
} grove_relay;

/* A route's `build` and `count`. */
grove_status grove_relay_build(const grove_relay *relay, const grove_forest *f,
                               const grove_build *how, grove_plan **out);
grove_status grove_relay_count(const grove_relay *relay, const grove_demand *demand,
                               const grove_topo *topo, const grove_build *how, grove_manifest *out);

#ifdef __cplusplus
}
#endif

#endif
