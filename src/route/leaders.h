/* Packets (packets.h) to leaders: the first ranks of nodes, who decide for them.
 *
 *     mine = grove_packets_write(&packets, grove_leader(topo, node), 2, &words);
 *     GROVE_TRY(grove_leaders_exchange(ctx, &mine, &packets));      collective
 *     ... grove_packets_read(&packets, i) ...
 *
 * A leader would get a packet from every rank that has something for its node, perhaps from all
 * neighbours of all its ranks, and would answer them one after the other. So if there are many
 * ranks, a packet for another node goes to its proxy there: the rank with the same place in that
 * node as the writer has in its own. The proxy passes it on to the leader, together with others. If
 * nodes are alike, a rank gets no more packets than there are neighbouring nodes, and a leader one
 * more from each rank of its node.
 */
#ifndef GROVE_ROUTE_LEADERS_H
#define GROVE_ROUTE_LEADERS_H

#include "route/packets.h"

#ifdef __cplusplus
extern "C" {
#endif

static inline int grove_leader(const grove_topo *topo, int node)
{
  return grove_topo_node_rank(topo, node, 0);
}

/* Delivers all packets, which must be to leaders, as grove_packets_exchange does. Agreed by all,
 * except `mine` on a leader that could not read what came: to be agreed upon in the next collective
 * step. */
grove_status grove_leaders_exchange(grove_context *ctx, grove_status *mine, grove_packets *packets);

/* The same through proxies, however few ranks there are. */
grove_status grove_proxies_exchange(grove_context *ctx, grove_status *mine, grove_packets *packets);

#ifdef __cplusplus
}
#endif

#endif
