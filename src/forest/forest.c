#include "forest/forest.h"

#include <stdlib.h>
#include <string.h>

grove_status grove_forest_create(grove_context *ctx, grove_forest **out)
{
  grove_status status = GROVE_OK;
  grove_forest *f = NULL;
  GROVE_CHECK(ctx, GROVE_ERR_ARG, "grove_forest_create: the context is NULL");
  GROVE_CHECK(out, GROVE_ERR_ARG, "grove_forest_create: out is NULL");
  GROVE_NEW(f, 1);
  f->references = 1;
  f->ctx = grove_context_hold(ctx);
  *out = f;
fail:
  return grove_verdict(ctx, status);
}

void grove_graph_free(grove_graph *graph)
{
  free(graph->leaf_index);
  free(graph->root);
  free(graph->global_root);
  *graph = (grove_graph){0};
}

void grove_side_free(grove_side *side)
{
  free(side->repeats);
  free(side->ranks);
  free(side->begin);
  grove_index_free(&side->slots);
  *side = (grove_side){0};
}

grove_forest *grove_forest_hold(grove_forest *f)
{
  f->references++;
  return f;
}

void grove_forest_release(grove_forest *f)
{
  if (--f->references > 0) return;
  if (f->compiled) f->free_compiled(f->compiled);
  grove_twin_inherit(f);
  grove_graph_free(&f->graph);
  grove_leaves_free(f);
  grove_side_free(&f->roots);
  free(f->shown_leaf);
  free(f->shown_root);
  free(f->shown_slots);
  free(f->shown_remote);
  free(f->shown_roots);
  free(f->name);
  grove_context_release(f->ctx);
  free(f);
}

grove_status grove_forest_free(grove_forest **f)
{
  if (!f || !*f) return GROVE_OK;
  grove_context *ctx = grove_context_hold((*f)->ctx);
  grove_context_enter(ctx);
  grove_forest_release(*f);
  *f = NULL;
  grove_context_leave(ctx);
  return grove_context_release(ctx);
}

const char *grove_forest_label(const grove_forest *f)
{
  return f->name ? f->name : "unnamed";
}

grove_status grove_forest_not_ready(const grove_forest *f, const char *call)
{
  int has_graph = f->graph.form != GROVE_FORM_NONE;
  return grove_error(GROVE_ERR_STATE, __FILE__, __LINE__,
                     "rank %d: %s: forest '%.100s' is not set up: %scall grove_forest_set_up on "
                     "every rank first",
                     f->ctx->rank, call, grove_forest_label(f),
                     has_graph ? "" : "give it a graph (grove_forest_set_graph) and ");
}

grove_status grove_forest_all_not_ready(const grove_forest *f, const char *call)
{
  return grove_context_agree(f->ctx, grove_forest_not_ready(f, call), NULL, 0);
}

grove_status grove_forest_set_name(grove_forest *f, const char *name)
{
  grove_status status = GROVE_OK;
  GROVE_CHECK(f && name, GROVE_ERR_ARG, "grove_forest_set_name: the %s is NULL",
              f ? "name" : "forest");
  char *copy = strdup(name);
  GROVE_CHECK(copy, GROVE_ERR_MEMORY, "no memory for a name");
  free(f->name);
  f->name = copy;
fail:
  return GROVE_VERDICT(f, status);
}

/* ---- the graph as it is given ---- */

grove_status grove_forest_allow_duplicates(grove_forest *f)
{
  grove_status status = GROVE_OK;
  GROVE_CHECK(f, GROVE_ERR_ARG, "grove_forest_allow_duplicates: the forest is NULL");
  GROVE_CHECK(
    !f->ready && f->graph.form == GROVE_FORM_NONE, GROVE_ERR_STATE,
    "grove_forest_allow_duplicates: forest '%.100s' has a graph already; call this before "
    "grove_forest_set_graph",
    grove_forest_label(f));
  f->allows_duplicates = 1;
fail:
  return GROVE_VERDICT(f, status);
}

static grove_status begin_graph(grove_forest *f, const char *call)
{
  GROVE_PASS_CHECK(f, GROVE_ERR_ARG, "%s: the forest is NULL", call);
  GROVE_PASS_CHECK(!f->ready, GROVE_ERR_STATE,
                   "%s: forest '%s' is set up already; its graph is final", call,
                   grove_forest_label(f));
  grove_graph_free(&f->graph);
  grove_leaves_free(f);
  return GROVE_OK;
}

/* A copy of n items, or NULL if there is nothing to copy. */
static grove_status copy_name_of(const void *from, int64_t n, size_t bytes, void **to)
{
  if (!from || n <= 0) return GROVE_OK;
  *to = grove_room((size_t)n, bytes);
  GROVE_PASS_CHECK(*to, GROVE_ERR_MEMORY, "no memory for %lld leaves", (long long)n);
  memcpy(*to, from, (size_t)n * bytes);
  return GROVE_OK;
}

/* Lists of 64-bit numbers with the same contents. */
static grove_status widen_lists(grove_graph *graph)
{
  grove_status status = GROVE_OK;
  const grove_graph given = *graph;
  int64_t n = given.nleaves > 0 ? given.nleaves : 0, *leaf_index = NULL;
  grove_root *root = NULL;
  if (given.leaf_index32) GROVE_ROOM(leaf_index, n);
  if (given.root32) GROVE_ROOM(root, n);
  for (int64_t i = 0; i < n && leaf_index; i++) leaf_index[i] = given.leaf_index32[i];
  for (int64_t i = 0; i < n && root; i++)
    root[i] = (grove_root){given.root32[i].rank, given.root32[i].index};
  graph->leaf_index = leaf_index;
  graph->root = root;
  return GROVE_OK;
fail:
  free(leaf_index);
  free(root);
  return status;
}

/* Keeps the lists as they are; set-up will check them. */
static grove_status keep_lists(grove_graph *graph)
{
  grove_status status = GROVE_OK;
  const grove_graph given = *graph;
  void *leaf_index = NULL, *root = NULL, *global_root = NULL;
  GROVE_TRY(copy_name_of(given.leaf_index, given.nleaves, sizeof *given.leaf_index, &leaf_index));
  GROVE_TRY(copy_name_of(given.root, given.nleaves, sizeof *given.root, &root));
  GROVE_TRY(
    copy_name_of(given.global_root, given.nleaves, sizeof *given.global_root, &global_root));
  graph->leaf_index = leaf_index;
  graph->root = root;
  graph->global_root = global_root;
  return GROVE_OK;
fail:
  free(leaf_index);
  free(root);
  free(global_root);
  return status;
}

static grove_status set_graph(grove_forest *f, grove_graph graph, const char *call)
{
  grove_status status = GROVE_OK;
  GROVE_TRY(begin_graph(f, call));
  graph.duplicates = f->allows_duplicates;
  graph.missing = graph.nleaves > 0 && !graph.root && !graph.root32 && !graph.global_root;
  if (graph.form == GROVE_FORM_PAIRS) GROVE_TRY(grove_leaves_create(f, &graph));
  if (f->grouped) { /* the lists have been used */
    graph.leaf_index = NULL;
    graph.root = NULL;
  } else if (graph.leaf_index32 || graph.root32) {
    GROVE_TRY(widen_lists(&graph));
  } else {
    GROVE_TRY(keep_lists(&graph));
  }
  graph.leaf_index32 = NULL;
  graph.root32 = NULL;
  f->graph = graph;
fail:
  return GROVE_VERDICT(f, status);
}

grove_status grove_forest_set_graph(grove_forest *f, int64_t nroots, int64_t nleaves,
                                    const int64_t *leaf_index, const grove_root *root)
{
  grove_graph given = {.form = GROVE_FORM_PAIRS,
                       .nroots = nroots,
                       .nleaves = nleaves,
                       .leaf_index = (int64_t *)leaf_index,
                       .root = (grove_root *)root};
  return set_graph(f, given, "grove_forest_set_graph");
}

grove_status grove_forest_set_graph32(grove_forest *f, int64_t nroots, int64_t nleaves,
                                      const int32_t *leaf_index, const grove_root32 *root)
{
  grove_graph given = {.form = GROVE_FORM_PAIRS,
                       .nroots = nroots,
                       .nleaves = nleaves,
                       .leaf_index32 = leaf_index,
                       .root32 = root};
  return set_graph(f, given, "grove_forest_set_graph32");
}

grove_status grove_forest_set_graph_global(grove_forest *f, int64_t nroots, int64_t nleaves,
                                           const int64_t *leaf_index, const int64_t *global_root)
{
  grove_graph given = {.form = GROVE_FORM_GLOBAL,
                       .nroots = nroots,
                       .nleaves = nleaves,
                       .leaf_index = (int64_t *)leaf_index,
                       .global_root = (int64_t *)global_root};
  return set_graph(f, given, "grove_forest_set_graph_global");
}

grove_status grove_forest_set_pattern(grove_forest *f, grove_pattern pattern, int64_t n)
{
  grove_status status = GROVE_OK;
  GROVE_CHECK(pattern == GROVE_ALLGATHER || pattern == GROVE_GATHER || pattern == GROVE_ALLTOALL,
              GROVE_ERR_ARG, "grove_forest_set_pattern: there is no pattern %d", (int)pattern);
  GROVE_TRY(begin_graph(f, "grove_forest_set_pattern"));
  f->graph = (grove_graph){.form = GROVE_FORM_PATTERN + (int)pattern, .n = n};
fail:
  return GROVE_VERDICT(f, status);
}
