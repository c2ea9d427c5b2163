/* Queries on a forest that is set up: its sizes, graph, neighbours and degrees, and a print.
 */
#include "forest/forest.h"

#include <stdlib.h>
#include <string.h>

/* Edges beyond this many are counted, not printed. */
enum { PRINTED_EDGES = 100 };

static grove_status check_ready(const grove_forest *f, const char *call)
{
  GROVE_PASS_CHECK(f, GROVE_ERR_ARG, "%s: the forest is NULL", call);
  return f->ready ? GROVE_OK : grove_forest_not_ready(f, call);
}

grove_status grove_forest_sizes(grove_forest *f, int64_t *nroots, int64_t *nleaves)
{
  grove_status status = GROVE_OK;
  GROVE_TRY(check_ready(f, "grove_forest_sizes"));
  if (nroots) *nroots = f->nroots;
  if (nleaves) *nleaves = f->nleaves;
fail:
  return GROVE_VERDICT(f, status);
}

/* Makes the user's list from the compact ones. */
static grove_status make_list(grove_forest *f)
{
  grove_status status = GROVE_OK;
  grove_tour tour = {0};
  int64_t *leaf = NULL;
  grove_root *root = NULL;
  GROVE_NEW(leaf, f->nleaves);
  GROVE_NEW(root, f->nleaves);
  GROVE_TRY(grove_tour_begin(f, &tour));
  for (int64_t i = 0; grove_tour_step(&tour); i++) {
    leaf[i] = tour.leaf;
    root[i] = tour.root;
  }
  f->shown_leaf = leaf;
  f->shown_root = root;
  leaf = NULL;
  root = NULL;
fail:
  free(leaf);
  free(root);
  grove_tour_end(&tour);
  return status;
}

/* Made once and kept; several threads may ask at the same time. */
static grove_status expand_list(grove_forest *f)
{
  grove_context_enter(f->ctx);
  grove_status status = f->shown_root ? GROVE_OK : make_list(f);
  grove_context_leave(f->ctx);
  return status;
}

grove_status grove_forest_graph(grove_forest *f, int64_t *nroots, int64_t *nleaves,
                                const int64_t **leaf_index, const grove_root **root)
{
  grove_status status = GROVE_OK;
  GROVE_TRY(check_ready(f, "grove_forest_graph"));
  GROVE_TRY(expand_list(f));
  if (nroots) *nroots = f->nroots;
  if (nleaves) *nleaves = f->nleaves;
  if (leaf_index) *leaf_index = f->listed ? f->shown_leaf : NULL;
  if (root) *root = f->shown_root;
fail:
  return GROVE_VERDICT(f, status);
}

grove_status grove_forest_leaf_range(grove_forest *f, int64_t *first, int64_t *end)
{
  grove_status status = GROVE_OK;
  GROVE_TRY(check_ready(f, "grove_forest_leaf_range"));
  if (first) *first = f->leaf_first;
  if (end) *end = f->leaf_end;
fail:
  return GROVE_VERDICT(f, status);
}

grove_status grove_forest_root_ranks(grove_forest *f, int *n, const int **ranks)
{
  grove_status status = GROVE_OK;
  GROVE_TRY(check_ready(f, "grove_forest_root_ranks"));
  if (n) *n = f->leaves.count;
  if (ranks) *ranks = f->leaves.ranks;
fail:
  return GROVE_VERDICT(f, status);
}

grove_status grove_forest_leaf_ranks(grove_forest *f, int *n, const int **ranks)
{
  grove_status status = GROVE_OK;
  GROVE_TRY(check_ready(f, "grove_forest_leaf_ranks"));
  if (n) *n = f->roots.count;
  if (ranks) *ranks = f->roots.ranks;
fail:
  return GROVE_VERDICT(f, status);
}

/* A wide copy. This rank's failure. */
static grove_status widen_index(const grove_index *x, int64_t **out)
{
  int64_t *wide = NULL;
  GROVE_PASS_ROOM(wide, x->count);
  for (int64_t i = 0; i < x->count; i++) wide[i] = grove_index_at(x, i);
  *out = wide;
  return GROVE_OK;
}

/* Each list is made once and kept, like that of the graph. With the lock. */
static grove_status make_root_lists(grove_forest *f)
{
  if (!f->shown_slots) GROVE_PASS(widen_index(&f->leaves.slots, &f->shown_slots));
  return f->shown_remote ? GROVE_OK : grove_leaves_roots(f, &f->shown_remote);
}

static grove_status make_leaf_lists(grove_forest *f)
{
  return f->shown_roots ? GROVE_OK : widen_index(&f->roots.slots, &f->shown_roots);
}

static void tell_side(const grove_side *side, int *n, const int **ranks, const int64_t **offsets)
{
  if (n) *n = side->count;
  if (ranks) *ranks = side->ranks;
  if (offsets) *offsets = side->begin;
}

grove_status grove_forest_root_lists(grove_forest *f, int *n, const int **ranks,
                                     const int64_t **offsets, const int64_t **leaf_slot,
                                     const int64_t **root_index)
{
  grove_status status = GROVE_OK;
  GROVE_TRY(check_ready(f, "grove_forest_root_lists"));
  grove_context_enter(f->ctx);
  status = make_root_lists(f);
  grove_context_leave(f->ctx);
  GROVE_TRY(status);
  tell_side(&f->leaves, n, ranks, offsets);
  if (leaf_slot) *leaf_slot = f->shown_slots;
  if (root_index) *root_index = f->shown_remote;
fail:
  return GROVE_VERDICT(f, status);
}

grove_status grove_forest_leaf_lists(grove_forest *f, int *n, const int **ranks,
                                     const int64_t **offsets, const int64_t **root_index)
{
  grove_status status = GROVE_OK;
  GROVE_TRY(check_ready(f, "grove_forest_leaf_lists"));
  grove_context_enter(f->ctx);
  status = make_leaf_lists(f);
  grove_context_leave(f->ctx);
  GROVE_TRY(status);
  tell_side(&f->roots, n, ranks, offsets);
  if (root_index) *root_index = f->shown_roots;
fail:
  return GROVE_VERDICT(f, status);
}

grove_status grove_forest_degrees(grove_forest *f, int64_t *degree)
{
  grove_status status = GROVE_OK;
  GROVE_TRY(check_ready(f, "grove_forest_degrees"));
  if (!degree) return GROVE_OK;
  for (int64_t i = 0; i < f->nroots; i++) degree[i] = 0;
  for (int64_t i = 0; i < f->roots.slots.count; i++) degree[grove_index_at(&f->roots.slots, i)]++;
fail:
  return GROVE_VERDICT(f, status);
}

static void print_ranks(const char *what, const grove_side *side, FILE *file)
{
  fprintf(file, "  %s", what);
  for (int g = 0; g < side->count; g++)
    fprintf(file, "%s %d (%lld)", g > 0 ? "," : "", side->ranks[g],
            (long long)(side->begin[g + 1] - side->begin[g]));
  fprintf(file, side->count > 0 ? "\n" : " none\n");
}

grove_status grove_forest_print(grove_forest *f, FILE *file)
{
  grove_status status = GROVE_OK;
  GROVE_TRY(check_ready(f, "grove_forest_print"));
  GROVE_CHECK(file, GROVE_ERR_ARG, "grove_forest_print: the file is NULL");
  GROVE_TRY(expand_list(f));
  fprintf(file, "forest '%s', rank %d of %d: %lld roots, %lld leaves\n", grove_forest_label(f),
          f->ctx->rank, f->ctx->size, (long long)f->nroots, (long long)f->nleaves);
  print_ranks("roots of these leaves are on ranks (edges)", &f->leaves, file);
  print_ranks("leaves of these roots are on ranks (edges)", &f->roots, file);
  for (int64_t i = 0; i < f->nleaves && i < PRINTED_EDGES; i++)
    fprintf(file, "  leaf %lld <- root %lld of rank %d\n", (long long)f->shown_leaf[i],
            (long long)f->shown_root[i].index, f->shown_root[i].rank);
  if (f->nleaves > PRINTED_EDGES)
    fprintf(file, "  ... and %lld more\n", (long long)(f->nleaves - PRINTED_EDGES));
fail:
  return GROVE_VERDICT(f, status);
}
