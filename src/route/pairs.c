#include "route/pairs.h"

#include "base/group.h"

#include <stdlib.h>

void grove_pairs_free(grove_pairs *pairs)
{
  free(pairs->leaf_rank);
  free(pairs->root_rank);
  free(pairs->begin);
  free(pairs->roots);
  *pairs = (grove_pairs){0};
}

/* first[r]: the number of edges with a leaf rank lower than r. */
static grove_status count_leaves(const grove_edge *edges, int64_t n, int nranks, int64_t *first,
                                 int *ascends)
{
  *ascends = 1;
  for (int64_t i = 0; i < n; i++) {
    const grove_edge *e = &edges[i];
    GROVE_PASS_CHECK(e->leaf_rank >= 0 && e->leaf_rank < nranks && e->root_rank >= 0 &&
                       e->root_rank < nranks,
                     GROVE_ERR_ARG, "edge %lld joins ranks %d and %d; there are %d", (long long)i,
                     (int)e->leaf_rank, (int)e->root_rank, nranks);
    GROVE_PASS_CHECK(e->root >= 0, GROVE_ERR_ARG, "edge %lld is joined to root %lld", (long long)i,
                     (long long)e->root);
    first[e->leaf_rank + 1]++;
    *ascends &= i == 0 || edges[i - 1].leaf_rank <= e->leaf_rank;
  }
  for (int r = 0; r < nranks; r++) first[r + 1] += first[r];
  return GROVE_OK;
}

static grove_status sort_by_leaf_rank(const grove_edge *edges, int64_t n, int nranks,
                                      const int64_t *first, grove_edge **out)
{
  grove_status status = GROVE_OK;
  int64_t *next = NULL;
  grove_edge *sorted = NULL;
  GROVE_ROOM(next, nranks);
  GROVE_ROOM(sorted, n);
  for (int r = 0; r < nranks; r++) next[r] = first[r];
  for (int64_t i = 0; i < n; i++) sorted[next[edges[i].leaf_rank]++] = edges[i];
  *out = sorted;
fail:
  free(next);
  return status;
}

static grove_status make_pairs(grove_pairs *pairs, int64_t more)
{
  GROVE_PASS_GROW(pairs->leaf_rank, pairs->count, more);
  GROVE_PASS_GROW(pairs->root_rank, pairs->count, more);
  GROVE_PASS_GROW(pairs->begin, pairs->count + 1, more);
  return GROVE_OK;
}

/* The pairs of one leaf rank, whose edges are `edges`; their roots lie from `base` on. */
static grove_status add_pairs_of(grove_pairs *pairs, int rank, const grove_edge *edges, int64_t n,
                                 int64_t base)
{
  grove_status status = GROVE_OK;
  grove_groups groups = {0};
  if (n == 0) return GROVE_OK;
  GROVE_TRY(grove_groups_create(&groups));
  for (int64_t i = 0; i < n; i++) GROVE_TRY(grove_groups_count(&groups, edges[i].root_rank));
  GROVE_TRY(grove_groups_arrange(&groups));
  GROVE_TRY(make_pairs(pairs, groups.count));
  for (int g = 0; g < groups.count; g++) {
    pairs->leaf_rank[pairs->count] = rank;
    pairs->root_rank[pairs->count] = groups.keys[g];
    pairs->begin[++pairs->count] = base + groups.begin[g + 1];
  }
  for (int64_t i = 0; i < n; i++) {
    int g = grove_groups_find(&groups, edges[i].root_rank);
    pairs->roots[base + groups.next[g]++] = edges[i].root;
  }
fail:
  grove_groups_free(&groups);
  return status;
}

grove_status grove_pairs_create(const grove_edge *edges, int64_t n, int nranks, grove_pairs *out)
{
  grove_status status = GROVE_OK;
  grove_pairs pairs = {0};
  grove_edge *sorted = NULL;
  int64_t *first = NULL;
  int ascends = 0;
  GROVE_NEW(first, nranks + 1);
  GROVE_TRY(count_leaves(edges, n, nranks, first, &ascends));
  if (!ascends) GROVE_TRY(sort_by_leaf_rank(edges, n, nranks, first, &sorted));
  GROVE_ROOM(pairs.roots, n);
  GROVE_TRY(make_pairs(&pairs, 0));
  pairs.begin[0] = 0;
  for (int r = 0; r < nranks; r++)
    GROVE_TRY(add_pairs_of(&pairs, r, (ascends ? edges : sorted) + first[r],
                           first[r + 1] - first[r], first[r]));
  *out = pairs;
  pairs = (grove_pairs){0};
fail:
  grove_pairs_free(&pairs);
  free(sorted);
  free(first);
  return status;
}
