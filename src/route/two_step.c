/* The route 2-step: every rank sends what another node needs to one rank there, which shares it
 * out.
 *
 * A rank sends each node at most one message, and no value twice. All ranks send at once, and
 * nothing has to be gathered first. Right where ranks exchange much, and standard would send the
 * same to many ranks of a node. In the papers: "2-Step" (node-aware-strategies, 2.3).
 */
#include "route/relay.h"

static grove_status divide_two_step(const grove_topo *topo, const grove_build *how, int64_t n,
                                    const grove_demand_block *blocks, grove_legs *out)
{
  (void)how;
  for (int64_t i = 0; i < n; i++) {
    int node = blocks[i].node;
    int number = topo->place[blocks[i].from].local % grove_topo_node_size(topo, node);
    grove_leg leg = {.from = blocks[i].from,
                     .node = node,
                     .sender = blocks[i].from,
                     .receiver = grove_topo_node_rank(topo, node, number),
                     .end = blocks[i].units};
    GROVE_PASS(grove_legs_add(out, &leg));
  }
  return GROVE_OK;
}

static const grove_relay relay = {.route = &grove_route_two_step, .divide = divide_two_step};

static grove_status build_two_step(const grove_forest *f, const grove_build *how, grove_plan **out)
{
  return grove_relay_build(&relay, f, how, out);
}

static grove_status count_two_step(const grove_demand *demand, const grove_topo *topo,
                                   const grove_build *how, grove_manifest *out)
{
  return grove_relay_count(&relay, demand, topo, how, out);
}

const grove_route grove_route_two_step = {
  .name = "2-step",
  .description = "every rank sends what a node needs to one rank there, which passes it on",
  .relays = 1,
  .build = build_two_step,
  .count = count_two_step,
};
