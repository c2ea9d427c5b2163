#include "algebra/algebra.h"

#include <stdlib.h>
#include <string.h>

/* ---- the steps ---- */

grove_status grove_making_open_on(grove_making *m, const char *call, grove_context *ctx,
                                  grove_forest **out)
{
  m->call = call;
  m->ctx = ctx;
  GROVE_PASS_CHECK(ctx, GROVE_ERR_ARG, "%s: the context is NULL", call);
  m->bits = grove_bits(ctx->size);
  GROVE_PASS(grove_context_claim(ctx, call));
  m->claimed = 1;
  GROVE_PASS_CHECK(out, GROVE_ERR_ARG, "%s: out is NULL", call);
  return grove_forest_create(ctx, &m->forest);
}

/* Checks one of the given forests; `first` is the first of them. */
static grove_status check_forest(const grove_making *m, const grove_forest *first,
                                 const grove_forest *f)
{
  GROVE_PASS_CHECK(f, GROVE_ERR_ARG, "%s: a forest is NULL", m->call);
  if (!f->ready) return grove_forest_not_ready(f, m->call);
  GROVE_PASS_CHECK(f->ctx == m->ctx, GROVE_ERR_ARG, "%s: forests '%s' and '%s' are of two contexts",
                   m->call, grove_forest_label(first), grove_forest_label(f));
  GROVE_PASS_CHECK(f->nroots <= INT64_MAX >> m->bits && f->leaf_end <= INT64_MAX >> m->bits,
                   GROVE_ERR_UNSUPPORTED, "%s: forest '%s' has a root or leaf beyond 2^%d", m->call,
                   grove_forest_label(f), 63 - m->bits);
  return GROVE_OK;
}

/* Most constructions ask which root a slot has. */
static grove_status refuse_duplicates(const grove_making *m, const grove_forest *f)
{
  GROVE_PASS_CHECK(!f->has_duplicates, GROVE_ERR_UNSUPPORTED,
                   "rank %d: %s: a slot of forest '%.100s' is a leaf several times; only "
                   "grove_forest_multi, _inverse, _embed_roots and _embed_leaves take such forests",
                   m->ctx->rank, m->call, grove_forest_label(f));
  return GROVE_OK;
}

/* "compose of first, second" */
static grove_status name_result(grove_making *m, int n, grove_forest *const *f)
{
  char name[256];
  size_t used = (size_t)snprintf(name, sizeof name, "%s of", m->call + strlen("grove_forest_"));
  for (int i = 0; i < n && used + 32 < sizeof name; i++)
    used += (size_t)snprintf(name + used, sizeof name - used, "%s %.50s", i > 0 ? "," : "",
                             grove_forest_label(f[i]));
  return grove_forest_set_name(m->forest, name);
}

static grove_status open_from_forests(grove_making *m, const char *call, int n,
                                      grove_forest *const *f, grove_forest **out)
{
  const grove_forest *first = NULL;
  for (int i = n - 1; i >= 0; i--) first = f[i] ? f[i] : first;
  GROVE_PASS_CHECK(first, GROVE_ERR_ARG, "%s: the forest is NULL", call);
  GROVE_PASS(grove_making_open_on(m, call, first->ctx, out));
  for (int i = 0; i < n; i++) GROVE_PASS(check_forest(m, first, f[i]));
  return name_result(m, n, f);
}

grove_status grove_making_open(grove_making *m, const char *call, int n, grove_forest *const *f,
                               grove_forest **out)
{
  GROVE_PASS(open_from_forests(m, call, n, f, out));
  for (int i = 0; i < n; i++) GROVE_PASS(refuse_duplicates(m, f[i]));
  return GROVE_OK;
}

grove_status grove_making_open_loosely(grove_making *m, const char *call, grove_forest *f,
                                       grove_forest **out)
{
  GROVE_PASS(open_from_forests(m, call, 1, &f, out));
  m->forest->allows_duplicates = f->has_duplicates;
  return GROVE_OK;
}

/* Without a context nobody can be asked; during another thread's call nobody may be. */
grove_status grove_making_agree(grove_making *m, grove_status mine, int64_t *values, int n)
{
  if (!m->claimed) return mine;
  GROVE_PASS(grove_context_enter_call(m->ctx, m->call));
  grove_status status = grove_context_agree(m->ctx, mine, values, n);
  grove_context_leave_call(m->ctx);
  return status;
}

grove_status grove_making_same(grove_making *m, const char *what, int64_t mine,
                               const int64_t found[2])
{
  GROVE_PASS(grove_context_enter_call(m->ctx, m->call));
  grove_status status = grove_context_same(m->ctx, GROVE_ERR_ARG, what, mine, found);
  grove_context_leave_call(m->ctx);
  return status;
}

/* The list of leaves, or NULL if it is just 0, 1, 2, ... */
static const int64_t *list_of(const grove_edges *edges)
{
  int64_t i = 0;
  while (i < edges->count && edges->leaf[i] == i) i++;
  return i < edges->count ? edges->leaf : NULL;
}

/* With a graph, or with this rank's failure to set one. */
static grove_status complete_result(grove_making *m, grove_status mine, grove_forest **out)
{
  GROVE_PASS(grove_forest_complete(m->forest, mine));
  *out = m->forest;
  m->forest = NULL;
  return GROVE_OK;
}

grove_status grove_making_close(grove_making *m, grove_status mine, const grove_edges *edges,
                                grove_forest **out)
{
  if (mine == GROVE_OK)
    mine =
      grove_forest_set_graph(m->forest, edges->nroots, edges->count, list_of(edges), edges->root);
  return complete_result(m, mine, out);
}

grove_status grove_making_close_global(grove_making *m, grove_status mine, const grove_edges *edges,
                                       const int64_t *global, grove_forest **out)
{
  if (mine == GROVE_OK)
    mine =
      grove_forest_set_graph_global(m->forest, edges->nroots, edges->count, list_of(edges), global);
  return complete_result(m, mine, out);
}

void grove_making_drop(grove_making *m)
{
  grove_forest_free(&m->forest);
  if (m->claimed) grove_context_disclaim(m->ctx);
}

/* ---- lists and arrays ---- */

grove_status grove_edges_reserve(grove_edges *edges, int64_t most)
{
  GROVE_PASS_ROOM(edges->leaf, most + 1);
  GROVE_PASS_ROOM(edges->root, most + 1);
  return GROVE_OK;
}

void grove_edges_free(grove_edges *edges)
{
  free(edges->leaf);
  free(edges->root);
}

grove_status grove_codes_create(int64_t n, int64_t **out)
{
  GROVE_PASS_ROOM(*out, n);
  memset(*out, -1, (size_t)n * sizeof **out);
  return GROVE_OK;
}
