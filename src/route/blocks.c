#include "route/blocks.h"

#include "base/order.h"

#include <stdlib.h>

/* ---- what a rank has ---- */

void grove_blocks_free(grove_blocks *blocks)
{
  for (int b = 0; blocks->contents && b < blocks->count; b++)
    grove_contents_free(&blocks->contents[b]);
  free(blocks->about);
  free(blocks->contents);
  free(blocks->first);
  free(blocks->ranks);
  *blocks = (grove_blocks){0};
}

static grove_index group_of(const grove_side *side, int group)
{
  return grove_index_view(&side->slots, side->begin[group],
                          side->begin[group + 1] - side->begin[group]);
}

/* The groups of the root side, by node. */
static grove_status sort_groups(const grove_forest *f, int32_t **out)
{
  grove_status status = GROVE_OK;
  int64_t *nodes = NULL;
  GROVE_ROOM(nodes, f->roots.count);
  for (int g = 0; g < f->roots.count; g++) nodes[g] = f->ctx->topo.place[f->roots.ranks[g]].node;
  GROVE_TRY(grove_order_create(f->roots.count, nodes, out));
fail:
  free(nodes);
  return status;
}

/* Adds the block of these groups, whose ranks are on one node. */
static grove_status add_own_block(const grove_forest *f, int share, int n, const int32_t *groups,
                                  grove_blocks *blocks)
{
  grove_status status = GROVE_OK;
  int b = blocks->count, at = blocks->first[b];
  grove_index *lists = NULL;
  GROVE_ROOM(lists, n);
  for (int i = 0; i < n; i++) {
    lists[i] = group_of(&f->roots, groups[i]);
    blocks->ranks[at + i] = f->roots.ranks[groups[i]];
  }
  GROVE_TRY(grove_contents_create(n, lists, share, &blocks->contents[b]));
  blocks->about[b] = (grove_demand_block){.from = f->ctx->rank,
                                          .node = f->ctx->topo.place[blocks->ranks[at]].node,
                                          .units = blocks->contents[b].units};
  blocks->first[++blocks->count] = at + n;
fail:
  free(lists);
  return status;
}

grove_status grove_blocks_create(const grove_forest *f, int share, grove_blocks *out)
{
  grove_status status = GROVE_OK;
  const grove_place *place = f->ctx->topo.place;
  int n = f->roots.count, own = place[f->ctx->rank].node;
  grove_blocks blocks = {0};
  int32_t *groups = NULL;
  GROVE_TRY(sort_groups(f, &groups));
  GROVE_ROOM(blocks.about, n);
  GROVE_NEW(blocks.contents, n);
  GROVE_NEW(blocks.first, n + 1);
  GROVE_ROOM(blocks.ranks, n);
  for (int i = 0, next = 0; i < n; i = next) {
    int node = place[f->roots.ranks[groups[i]]].node;
    for (next = i; next < n && place[f->roots.ranks[groups[next]]].node == node;) next++;
    if (node != own) GROVE_TRY(add_own_block(f, share, next - i, groups + i, &blocks));
  }
  *out = blocks;
  blocks = (grove_blocks){0};
fail:
  grove_blocks_free(&blocks);
  free(groups);
  return status;
}

int grove_blocks_find(const grove_blocks *blocks, int node)
{
  int low = 0, high = blocks->count - 1;
  while (low < high) {
    int middle = low + (high - low) / 2;
    if (blocks->about[middle].node < node)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* ---- what a rank needs ---- */

void grove_needs_free(grove_needs *needs)
{
  free(needs->first);
  free(needs->starts);
  free(needs->slots);
  *needs = (grove_needs){0};
}

/* A unit for each edge. */
static void add_edges(const grove_side *leaves, int g, grove_needs *needs)
{
  for (int64_t k = leaves->begin[g]; k < leaves->begin[g + 1]; k++) {
    needs->starts[needs->units++] = needs->leaves;
    needs->slots[needs->leaves++] = grove_index_at(&leaves->slots, k);
  }
}

/* A unit for each root, ascending. Leaves of the same root keep their order. */
static grove_status add_roots(const grove_side *leaves, int g, const int64_t *roots,
                              grove_needs *needs)
{
  grove_status status = GROVE_OK;
  int64_t begin = leaves->begin[g], n = leaves->begin[g + 1] - begin;
  const int64_t *root = roots + begin;
  int32_t *order = NULL;
  GROVE_CHECK(n <= GROVE_LIST_MOST, GROVE_ERR_UNSUPPORTED,
              "%lld leaves are joined to roots of rank %d: more than a node-aware route can order",
              (long long)n, leaves->ranks[g]);
  GROVE_TRY(grove_order_create(n, root, &order));
  for (int64_t k = 0; k < n; k++) {
    if (k == 0 || root[order[k]] != root[order[k - 1]])
      needs->starts[needs->units++] = needs->leaves;
    needs->slots[needs->leaves++] = grove_index_at(&leaves->slots, begin + order[k]);
  }
fail:
  free(order);
  return status;
}

grove_status grove_needs_create(const grove_forest *f, int share, grove_needs *out)
{
  grove_status status = GROVE_OK;
  const grove_side *leaves = &f->leaves;
  int64_t n = leaves->slots.count, *roots = NULL;
  grove_needs needs = {0};
  if (share) GROVE_TRY(grove_leaves_roots(f, &roots));
  GROVE_NEW(needs.first, leaves->count + 1);
  GROVE_ROOM(needs.starts, n + 1);
  GROVE_ROOM(needs.slots, n);
  for (int g = 0; g < leaves->count; g++) {
    needs.first[g] = needs.units;
    if (grove_topo_same_node(&f->ctx->topo, f->ctx->rank, leaves->ranks[g])) continue;
    if (share)
      GROVE_TRY(add_roots(leaves, g, roots, &needs));
    else
      add_edges(leaves, g, &needs);
  }
  needs.first[leaves->count] = needs.units;
  needs.starts[needs.units] = needs.leaves;
  *out = needs;
  needs = (grove_needs){0};
fail:
  grove_needs_free(&needs);
  free(roots);
  return status;
}
