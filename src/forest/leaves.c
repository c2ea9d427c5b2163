/* Makes the leaf side of a forest from the user's lists, which are read twice and never copied. The
 * first pass checks them and counts the leaves of each neighbour. The second puts every leaf in its
 * place. Cost: the leaves and the neighbours. Lists may have 32-bit or 64-bit numbers; there is a
 * loop for each, made by the compiler from the same lines.
 *
 * Three lists are written. `slots` is for operations, `edges` for the queries. `lists` is what the
 * owners of the roots will be told, in the form in which it is sent; it is freed afterwards.
 */
#include "base/group.h"
#include "forest/forest.h"

#include <stdlib.h>
#include <string.h>

/* What the first pass finds. */
typedef struct survey {
  grove_groups groups; /* by the rank of the root */
  int64_t most_index;  /* of a root */
  int64_t first, end;  /* of the leaf slots */
  int duplicates;      /* a slot is there several times, as it may be */
  int good;            /* so far */
} survey;

/* Entry i of the user's lists; `narrow` is known where the compiler sees the loop. */
static inline grove_root root_at(const grove_graph *graph, int narrow, int64_t i)
{
  if (narrow) return (grove_root){graph->root32[i].rank, graph->root32[i].index};
  return graph->root[i];
}

static inline int64_t slot_at(const grove_graph *graph, int narrow, int64_t i)
{
  if (narrow) return graph->leaf_index32 ? graph->leaf_index32[i] : i;
  return graph->leaf_index ? graph->leaf_index[i] : i;
}

static int is_narrow(const grove_graph *graph)
{
  return graph->root32 != NULL;
}

static int has_slots(const grove_graph *graph)
{
  return graph->nleaves > 0 && (graph->leaf_index || graph->leaf_index32);
}

/* Neighbours are few and leaves are many, so ranks are checked after counting. */
static inline grove_status count_roots(const grove_graph *graph, int narrow, grove_groups *groups,
                                       uint64_t *out)
{
  uint64_t most = 0; /* a negative index becomes a large one */
  for (int64_t i = 0; i < graph->nleaves; i++) {
    grove_root root = root_at(graph, narrow, i);
    most = (uint64_t)root.index > most ? (uint64_t)root.index : most;
    GROVE_PASS(grove_groups_count(groups, root.rank));
  }
  *out = most;
  return GROVE_OK;
}

static grove_status survey_roots(const grove_graph *graph, int size, survey *s)
{
  grove_groups *groups = &s->groups;
  int64_t n = graph->nleaves;
  uint64_t most = 0;
  GROVE_PASS(grove_groups_create(groups));
  if (is_narrow(graph))
    GROVE_PASS(count_roots(graph, 1, groups, &most));
  else
    GROVE_PASS(count_roots(graph, 0, groups, &most));
  GROVE_PASS(grove_groups_arrange(groups));
  s->most_index = (int64_t)most;
  s->good = most >> grove_root_bits(size) == 0 &&
            (n == 0 || (groups->keys[0] >= 0 && groups->keys[groups->count - 1] < size));
  return GROVE_OK;
}

static inline void find_range(const grove_graph *graph, int narrow, int64_t *out_least,
                              int64_t *out_most)
{
  int64_t least = slot_at(graph, narrow, 0), most = least;
  for (int64_t i = 1; i < graph->nleaves; i++) {
    int64_t slot = slot_at(graph, narrow, i);
    least = slot < least ? slot : least;
    most = slot > most ? slot : most;
  }
  *out_least = least;
  *out_most = most;
}

static grove_status survey_slots(const grove_graph *graph, survey *s)
{
  int64_t least, most, twice = -1;
  if (is_narrow(graph))
    find_range(graph, 1, &least, &most);
  else
    find_range(graph, 0, &least, &most);
  s->good = least >= 0 && most < INT64_MAX;
  if (!s->good) return GROVE_OK;
  GROVE_PASS(grove_find_duplicate(graph, least, most, &twice));
  s->duplicates = twice >= 0;
  s->good = !s->duplicates || graph->duplicates;
  s->first = least;
  s->end = most + 1;
  return GROVE_OK;
}

static grove_status survey_graph(const grove_graph *graph, int size, survey *s)
{
  s->good = graph->nroots >= 0 && graph->nleaves >= 0 &&
            (graph->root || graph->root32 || graph->nleaves == 0);
  s->end = s->good ? graph->nleaves : 0;
  if (s->good && has_slots(graph)) GROVE_PASS(survey_slots(graph, s));
  if (s->good) GROVE_PASS(survey_roots(graph, size, s));
  return GROVE_OK;
}

/* Memory for what the second pass writes. */
static grove_status reserve_leaves(grove_forest *f, int64_t n, const survey *s)
{
  int count = s->groups.count;
  GROVE_PASS(grove_index_reserve(n, 0, s->end - 1, &f->leaves.slots));
  GROVE_PASS(grove_index_reserve(n, 0, grove_edge_code(s->most_index, grove_bits(count), count - 1),
                                 &f->edges));
  return grove_index_reserve(n + count, 0, s->most_index, &f->lists);
}

/* Locals hold what every iteration reads, so that the compiler sees that no list aliases it. */
static inline void fill_from(grove_forest *f, const grove_graph *graph, int narrow,
                             const grove_groups *arranged)
{
  const grove_groups groups = *arranged;
  grove_index slots = f->leaves.slots, lists = f->lists, edges = f->edges;
  int64_t n = graph->nleaves;
  int bits = grove_bits(groups.count);
  for (int64_t i = 0; i < n; i++) {
    grove_root root = root_at(graph, narrow, i);
    int g = grove_groups_find(&groups, root.rank);
    int64_t at = groups.next[g]++;
    grove_index_put(&slots, at, slot_at(graph, narrow, i));
    grove_index_put(&lists, at + g + 1, root.index);
    grove_index_put(&edges, i, grove_edge_code(root.index, bits, g));
  }
}

static void fill_leaves(grove_forest *f, const grove_graph *graph, const grove_groups *groups)
{
  if (is_narrow(graph))
    fill_from(f, graph, 1, groups);
  else
    fill_from(f, graph, 0, groups);
  grove_index_settle(&f->leaves.slots);
  grove_index_settle(&f->edges);
}

grove_status grove_leaves_create(grove_forest *f, const grove_graph *graph)
{
  grove_status status = GROVE_OK;
  survey s = {0};
  grove_leaves_free(f);
  GROVE_TRY(survey_graph(graph, f->ctx->size, &s));
  if (s.good) {
    GROVE_TRY(reserve_leaves(f, graph->nleaves, &s));
    fill_leaves(f, graph, &s.groups);
    f->leaves.count = s.groups.count;
    f->leaves.ranks = s.groups.keys;
    f->leaves.begin = s.groups.begin;
    s.groups.keys = NULL;
    s.groups.begin = NULL;
    f->leaf_first = s.first;
    f->leaf_end = s.end;
    f->listed = has_slots(graph);
    f->has_duplicates = s.duplicates;
    f->grouped = 1;
  }
fail:
  grove_groups_free(&s.groups);
  if (status != GROVE_OK) grove_leaves_free(f);
  return status;
}

grove_status grove_leaves_begin(const grove_forest *f, int64_t **out)
{
  GROVE_PASS_ROOM(*out, f->leaves.count);
  for (int g = 0; g < f->leaves.count; g++) (*out)[g] = f->leaves.begin[g];
  return GROVE_OK;
}

grove_status grove_leaves_roots(const grove_forest *f, int64_t **out)
{
  grove_status status = GROVE_OK;
  int64_t *list = NULL, *next = NULL;
  int bits = grove_bits(f->leaves.count);
  GROVE_ROOM(list, f->nleaves);
  GROVE_TRY(grove_leaves_begin(f, &next));
  for (int64_t i = 0; i < f->nleaves; i++) {
    int64_t edge = grove_index_at(&f->edges, i);
    list[next[grove_edge_group(edge, bits)]++] = edge >> bits;
  }
  *out = list;
  list = NULL;
fail:
  free(list);
  free(next);
  return status;
}

grove_status grove_leaves_positions(const grove_forest *f, grove_index *out)
{
  grove_status status = GROVE_OK;
  int64_t *next = NULL;
  int bits = grove_bits(f->leaves.count);
  GROVE_TRY(grove_leaves_begin(f, &next));
  GROVE_TRY(grove_index_reserve(f->nleaves, 0, f->nleaves - 1, out));
  for (int64_t i = 0; i < f->nleaves; i++)
    grove_index_put(out, next[grove_edge_group(grove_index_at(&f->edges, i), bits)]++, i);
  grove_index_settle(out);
fail:
  free(next);
  return status;
}

void grove_leaves_free(grove_forest *f)
{
  grove_side_free(&f->leaves);
  grove_index_free(&f->edges);
  grove_index_free(&f->lists);
  f->has_duplicates = 0;
  f->grouped = 0;
}
