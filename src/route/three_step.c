/* The route 3-step: a node gathers what another node needs at one of its ranks, which sends it in
 * one message. The rank there that receives it shares it out.
 *
 * Between two nodes at most one message each way crosses, and no value twice. Senders are taken
 * from the last rank of a node down, receivers from the first up, each for another node: if there
 * are enough nodes, all ranks are busy. Right where messages are many and small; a large one has to
 * pass through one rank. In the papers: "3-Step" (node-aware-strategies, 2.3).
 */
#include "route/relay.h"

/* How far `to` is behind `from` on the ring of nodes, less one. */
static int distance_of(int from, int to, int nnodes)
{
  return (to - from - 1 + nnodes) % nnodes;
}

static grove_status divide_three_step(const grove_topo *topo, const grove_build *how, int64_t n,
                                      const grove_demand_block *blocks, grove_legs *out)
{
  (void)how;
  for (int64_t i = 0; i < n; i++) {
    int to = blocks[i].node, from = topo->place[blocks[i].from].node;
    int senders = grove_topo_node_size(topo, from), receivers = grove_topo_node_size(topo, to);
    int out_number = distance_of(from, to, topo->nnodes) % senders;
    int in_number = distance_of(to, from, topo->nnodes) % receivers;
    grove_leg leg = {.from = blocks[i].from,
                     .node = to,
                     .sender = grove_topo_node_rank(topo, from, senders - 1 - out_number),
                     .receiver = grove_topo_node_rank(topo, to, in_number),
                     .end = blocks[i].units};
    GROVE_PASS(grove_legs_add(out, &leg));
  }
  return GROVE_OK;
}

static const grove_relay relay = {
  .route = &grove_route_three_step, .gathers = 1, .divide = divide_three_step};

static grove_status build_three_step(const grove_forest *f, const grove_build *how,
                                     grove_plan **out)
{
  return grove_relay_build(&relay, f, how, out);
}

static grove_status count_three_step(const grove_demand *demand, const grove_topo *topo,
                                     const grove_build *how, grove_manifest *out)
{
  return grove_relay_count(&relay, demand, topo, how, out);
}

const grove_route grove_route_three_step = {
  .name = "3-step",
  .description = "a node gathers what another node needs, sends it once, and that one shares it",
  .relays = 1,
  .build = build_three_step,
  .count = count_three_step,
};
