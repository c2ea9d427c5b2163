/* Checks that a rank can make on its own part of a graph.
 */
#include "forest/forest.h"

#include <stdlib.h>

static int64_t leaf_slot(const grove_graph *graph, int64_t position)
{
  return graph->leaf_index ? graph->leaf_index[position] : position;
}

static grove_status check_counts(const grove_graph *graph, int rank, int size)
{
  GROVE_PASS_CHECK(graph->form != GROVE_FORM_NONE, GROVE_ERR_STATE,
                   "rank %d: the forest has no graph yet: grove_forest_set_graph gives it one",
                   rank);
  GROVE_PASS_CHECK(graph->nroots >= 0, GROVE_ERR_GRAPH, "rank %d: the number of roots is %lld",
                   rank, (long long)graph->nroots);
  GROVE_PASS_CHECK(graph->nleaves >= 0, GROVE_ERR_GRAPH, "rank %d: the number of leaves is %lld",
                   rank, (long long)graph->nleaves);
  GROVE_PASS_CHECK(graph->n >= 0, GROVE_ERR_GRAPH, "rank %d: the n of the pattern is %lld", rank,
                   (long long)graph->n);
  GROVE_PASS_CHECK(!graph->missing, GROVE_ERR_GRAPH,
                   "rank %d: there are %lld leaves, but the array of their roots is NULL", rank,
                   (long long)graph->nleaves);
  /* So that sums over the ranks fit. */
  GROVE_PASS_CHECK(graph->form == GROVE_FORM_PAIRS ||
                     (graph->nroots <= INT64_MAX / 2 / size && graph->n <= INT64_MAX / 2 / size),
                   GROVE_ERR_GRAPH, "rank %d: %lld roots on each of %d ranks are more than 2^62",
                   rank, (long long)(graph->n > 0 ? graph->n : graph->nroots), size);
  return GROVE_OK;
}

static grove_status check_roots(const grove_graph *graph, int rank, int size)
{
  for (int64_t i = 0; graph->root && i < graph->nleaves; i++) {
    grove_root root = graph->root[i];
    GROVE_PASS_CHECK(
      root.rank >= 0 && root.rank < size, GROVE_ERR_GRAPH,
      "rank %d: leaf %lld (entry %lld of its list) is joined to root %lld of rank %d, "
      "but ranks go from 0 to %d",
      rank, (long long)leaf_slot(graph, i), (long long)i, (long long)root.index, root.rank,
      size - 1);
    GROVE_PASS_CHECK(
      root.index >= 0, GROVE_ERR_GRAPH,
      "rank %d: leaf %lld (entry %lld of its list) is joined to root %lld of rank %d: "
      "a root index must not be negative",
      rank, (long long)leaf_slot(graph, i), (long long)i, (long long)root.index, root.rank);
    GROVE_PASS_CHECK(
      root.index >> grove_root_bits(size) == 0, GROVE_ERR_GRAPH,
      "rank %d: leaf %lld (entry %lld of its list) is joined to root %lld of rank %d: "
      "with %d ranks a root index must be less than 2^%d",
      rank, (long long)leaf_slot(graph, i), (long long)i, (long long)root.index, root.rank, size,
      grove_root_bits(size));
  }
  return GROVE_OK;
}

static int by_leaf(const void *a, const void *b)
{
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

static grove_status find_by_sorting(const grove_graph *graph, int64_t *slot)
{
  grove_status status = GROVE_OK;
  int64_t *sorted = NULL, n = graph->nleaves;
  GROVE_ROOM(sorted, n);
  for (int64_t i = 0; i < n; i++) sorted[i] = grove_graph_slot(graph, i);
  qsort(sorted, (size_t)n, sizeof *sorted, by_leaf);
  for (int64_t i = 1; i < n && *slot < 0; i++)
    if (sorted[i] == sorted[i - 1]) *slot = sorted[i];
fail:
  free(sorted);
  return status;
}

/* A bit for every slot. */
static grove_status find_by_marking(const grove_graph *graph, int64_t least, int64_t most,
                                    int64_t *slot)
{
  grove_status status = GROVE_OK;
  uint64_t *marks = NULL;
  GROVE_NEW(marks, (most - least) / 64 + 1);
  for (int64_t i = 0; i < graph->nleaves && *slot < 0; i++) {
    int64_t at = grove_graph_slot(graph, i) - least;
    uint64_t *word = &marks[at / 64], bit = (uint64_t)1 << at % 64;
    if (*word & bit) *slot = at + least;
    *word |= bit;
  }
fail:
  free(marks);
  return status;
}

static int slots_ascend(const grove_graph *graph)
{
  for (int64_t i = 1; i < graph->nleaves; i++)
    if (grove_graph_slot(graph, i) <= grove_graph_slot(graph, i - 1)) return 0;
  return 1;
}

grove_status grove_find_duplicate(const grove_graph *graph, int64_t least, int64_t most,
                                  int64_t *slot)
{
  *slot = -1;
  if (slots_ascend(graph)) return GROVE_OK; /* the usual case needs no memory */
  /* Marks never take more memory than a sorted copy. */
  if ((most - least) / 64 < graph->nleaves) return find_by_marking(graph, least, most, slot);
  return find_by_sorting(graph, slot);
}

static void print_root(const grove_graph *graph, int64_t i, char text[64])
{
  if (graph->root)
    snprintf(text, 64, "root %lld of rank %d", (long long)graph->root[i].index,
             graph->root[i].rank);
  else
    snprintf(text, 64, "global root %lld", (long long)graph->global_root[i]);
}

static grove_status refuse_leaf(const grove_graph *graph, int rank, int64_t i)
{
  char root[64];
  print_root(graph, i, root);
  return grove_error(GROVE_ERR_GRAPH, __FILE__, __LINE__,
                     "rank %d: entry %lld of the leaf list, joined to %s, is leaf %lld: a leaf "
                     "index lies between 0 and 2^63 - 2",
                     rank, (long long)i, root, (long long)graph->leaf_index[i]);
}

static grove_status refuse_duplicate(const grove_graph *graph, int rank, int64_t slot)
{
  int64_t at[2] = {-1, -1};
  for (int64_t i = 0; i < graph->nleaves && at[1] < 0; i++)
    if (graph->leaf_index[i] == slot) at[at[0] >= 0] = i;
  char first[64], second[64];
  print_root(graph, at[0], first);
  print_root(graph, at[1], second);
  return grove_error(GROVE_ERR_GRAPH, __FILE__, __LINE__,
                     "rank %d: leaf %lld is there twice: entry %lld of its list joins it to %s, "
                     "entry %lld to %s; grove_forest_allow_duplicates allows that",
                     rank, (long long)slot, (long long)at[0], first, (long long)at[1], second);
}

static grove_status check_leaves(const grove_graph *graph, int rank)
{
  if (!graph->leaf_index) return GROVE_OK;
  int64_t most = 0, twice = -1;
  for (int64_t i = 0; i < graph->nleaves; i++) {
    int64_t slot = graph->leaf_index[i];
    if (slot < 0 || slot == INT64_MAX) return refuse_leaf(graph, rank, i);
    if (slot > most) most = slot;
  }
  if (graph->duplicates) return GROVE_OK;
  GROVE_PASS(grove_find_duplicate(graph, 0, most, &twice));
  if (twice >= 0) return refuse_duplicate(graph, rank, twice);
  return GROVE_OK;
}

grove_status grove_graph_validate(const grove_graph *graph, const grove_context *ctx)
{
  GROVE_PASS(check_counts(graph, ctx->rank, ctx->size));
  GROVE_PASS(check_roots(graph, ctx->rank, ctx->size));
  return check_leaves(graph, ctx->rank);
}
