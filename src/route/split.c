/* The route split: what a node has for another is cut into messages of at most `cap` units, which
 * as many ranks as possible send and receive.
 *
 * No value crosses twice, and no rank is idle if there is enough to send: the largest messages out
 * go to the last ranks of a node first, the largest in to the first ranks. Small amounts go in one
 * message, as with 3-step. Right where nodes exchange much with few others. In the papers: "Split"
 * (node-aware-strategies, 2.3, Algorithm 1).
 */
#include "route/split.h"

#include "base/order.h"

#include <stdlib.h>

void grove_slices_free(grove_slices *slices)
{
  free(slices->slice);
  *slices = (grove_slices){0};
}

grove_status grove_slices_add(grove_slices *slices, const grove_slice *slice)
{
  GROVE_PASS_GROW(slices->slice, slices->count, 1);
  slices->slice[slices->count++] = *slice;
  return GROVE_OK;
}

static int by_nodes(const void *a, const void *b)
{
  const grove_node_block *x = a, *y = b;
  if (x->to != y->to) return x->to < y->to ? -1 : 1;
  if (x->node != y->node) return x->node < y->node ? -1 : 1;
  return (x->from > y->from) - (x->from < y->from);
}

void grove_node_blocks_sort(int64_t n, grove_node_block *blocks)
{
  if (n > 1) qsort(blocks, (size_t)n, sizeof *blocks, by_nodes);
}

/* ---- into how many slices ---- */

/* One past the blocks from `i` on that go from one node to another, and their units. */
static int64_t next_flow(int64_t n, const grove_node_block *blocks, int64_t i, int64_t *units)
{
  int64_t next = i;
  *units = 0;
  for (; next < n && blocks[next].to == blocks[i].to && blocks[next].node == blocks[i].node; next++)
    *units += blocks[next].units;
  return next;
}

/* The largest slice for a node that receives these blocks. It is larger than asked for if there
 * would be more slices than ranks although few nodes send. */
static int64_t fit_cap(int64_t cap, int ranks, int64_t n, const grove_node_block *blocks)
{
  int64_t total = 0, most = 0, units = 0;
  int nodes = 0;
  for (int64_t i = 0, next = 0; i < n; i = next, nodes++) {
    next = next_flow(n, blocks, i, &units);
    total += units;
    most = units > most ? units : most;
  }
  if (cap < 1) cap = 1;
  int crowded = most >= cap && total > cap * ranks && nodes < ranks;
  return crowded ? (total + ranks - 1) / ranks : cap;
}

/* The slices of one receiving node. */
static grove_status receive_node(const grove_topo *topo, int64_t cap, int64_t n,
                                 const grove_node_block *blocks, grove_slices *out)
{
  int64_t units = 0;
  cap = fit_cap(cap, grove_topo_node_size(topo, blocks[0].to), n, blocks);
  for (int64_t i = 0, next = 0; i < n; i = next) {
    next = next_flow(n, blocks, i, &units);
    for (; units > 0; units -= cap) {
      grove_slice slice = {
        .to = blocks[i].to, .node = blocks[i].node, .units = units < cap ? units : cap};
      GROVE_PASS(grove_slices_add(out, &slice));
    }
  }
  return GROVE_OK;
}

/* ---- who sends and who receives them ---- */

/* Sorts a list of slices by their keys; equal ones keep their order. */
static grove_status sort_by(const int64_t *keys, int64_t n, int32_t *list)
{
  grove_status status = GROVE_OK;
  int64_t *key = NULL;
  int32_t *order = NULL, *sorted = NULL;
  GROVE_ROOM(key, n);
  GROVE_ROOM(sorted, n);
  for (int64_t i = 0; i < n; i++) key[i] = keys[list[i]];
  GROVE_TRY(grove_order_create(n, key, &order));
  for (int64_t i = 0; i < n; i++) sorted[i] = list[order[i]];
  for (int64_t i = 0; i < n; i++) list[i] = sorted[i];
fail:
  free(key);
  free(order);
  free(sorted);
  return status;
}

/* Lists slices by the node that sends or receives them, then by descending size, then in their own
 * order. */
static grove_status list_slices(const grove_slices *slices, int sent, int32_t **out)
{
  grove_status status = GROVE_OK;
  int64_t n = slices->count, most = 0, *keys = NULL;
  int32_t *list = NULL;
  GROVE_ROOM(keys, n);
  GROVE_ROOM(list, n);
  for (int64_t i = 0; i < n; i++) {
    list[i] = (int32_t)i;
    most = slices->slice[i].units > most ? slices->slice[i].units : most;
  }
  for (int64_t i = 0; i < n; i++) keys[i] = most - slices->slice[i].units;
  GROVE_TRY(sort_by(keys, n, list));
  for (int64_t i = 0; i < n; i++) keys[i] = sent ? slices->slice[i].node : slices->slice[i].to;
  GROVE_TRY(sort_by(keys, n, list));
  *out = list;
  list = NULL;
fail:
  free(keys);
  free(list);
  return status;
}

grove_status grove_slices_receive(const grove_topo *topo, int64_t cap, int64_t n,
                                  const grove_node_block *blocks, grove_slices *out)
{
  grove_status status = GROVE_OK;
  int32_t *list = NULL;
  for (int64_t i = 0, next = 0; i < n; i = next) {
    for (next = i; next < n && blocks[next].to == blocks[i].to;) next++;
    GROVE_TRY(receive_node(topo, cap, next - i, blocks + i, out));
  }
  GROVE_TRY(list_slices(out, 0, &list));
  for (int64_t i = 0, first = 0; i < out->count; i++) {
    grove_slice *p = &out->slice[list[i]];
    if (p->to != out->slice[list[first]].to) first = i;
    int number = (int)((i - first) % grove_topo_node_size(topo, p->to));
    p->receiver = grove_topo_node_rank(topo, p->to, number);
  }
fail:
  free(list);
  return status;
}

grove_status grove_slices_send(const grove_topo *topo, grove_slices *slices)
{
  grove_status status = GROVE_OK;
  int32_t *list = NULL;
  GROVE_TRY(list_slices(slices, 1, &list));
  for (int64_t i = 0, first = 0; i < slices->count; i++) {
    grove_slice *p = &slices->slice[list[i]];
    if (p->node != slices->slice[list[first]].node) first = i;
    int ranks = grove_topo_node_size(topo, p->node), number = (int)((i - first) % ranks);
    p->sender = grove_topo_node_rank(topo, p->node, ranks - 1 - number);
  }
fail:
  free(list);
  return status;
}

/* ---- legs ---- */

grove_status grove_slices_cut(const grove_slices *slices, int64_t n, const grove_node_block *blocks,
                              grove_legs *out)
{
  int64_t i = 0, used = 0; /* the next block, and how much of it is done */
  for (int64_t k = 0; k < slices->count; k++) {
    const grove_slice *p = &slices->slice[k];
    for (int64_t left = p->units; left > 0;) {
      const grove_node_block *s = &blocks[i];
      GROVE_PASS_CHECK(i < n && s->to == p->to && s->node == p->node, GROVE_ERR_STATE,
                       "node %d is to send more to node %d than it has", p->node, p->to);
      int64_t take = left < s->units - used ? left : s->units - used;
      grove_leg leg = {.from = s->from,
                       .node = s->to,
                       .sender = p->sender,
                       .receiver = p->receiver,
                       .begin = used,
                       .end = used + take};
      GROVE_PASS(grove_legs_add(out, &leg));
      left -= take;
      used = used + take == s->units ? 0 : used + take;
      i += used == 0;
    }
  }
  GROVE_PASS_CHECK(i == n, GROVE_ERR_STATE, "node %d is to send less to node %d than it has",
                   blocks[i].node, blocks[i].to);
  return GROVE_OK;
}

/* ---- the route ---- */

static grove_status divide_split(const grove_topo *topo, const grove_build *how, int64_t n,
                                 const grove_demand_block *blocks, grove_legs *out)
{
  grove_status status = GROVE_OK;
  grove_node_block *by_node = NULL;
  grove_slices slices = {0};
  GROVE_ROOM(by_node, n);
  for (int64_t i = 0; i < n; i++)
    by_node[i] = (grove_node_block){.to = blocks[i].node,
                                    .node = topo->place[blocks[i].from].node,
                                    .from = blocks[i].from,
                                    .units = blocks[i].units};
  grove_node_blocks_sort(n, by_node);
  GROVE_TRY(grove_slices_receive(topo, how->cap, n, by_node, &slices));
  GROVE_TRY(grove_slices_send(topo, &slices));
  GROVE_TRY(grove_slices_cut(&slices, n, by_node, out));
fail:
  free(by_node);
  grove_slices_free(&slices);
  return status;
}

static const grove_relay relay = {
  .route = &grove_route_split, .gathers = 1, .divide = divide_split, .settle = grove_split_settle};

static grove_status build_split(const grove_forest *f, const grove_build *how, grove_plan **out)
{
  return grove_relay_build(&relay, f, how, out);
}

static grove_status count_split(const grove_demand *demand, const grove_topo *topo,
                                const grove_build *how, grove_manifest *out)
{
  return grove_relay_count(&relay, demand, topo, how, out);
}

const grove_route grove_route_split = {
  .name = "split",
  .description = "like 3-step, cut into messages of one size that all ranks of the node send",
  .relays = 1,
  .build = build_split,
  .count = count_split,
};
