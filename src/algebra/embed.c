/* Embed: some of the edges. If roots are named, their leaves are told; if leaves are named, nothing
 * has to be sent. */
#include "algebra/algebra.h"
#include "algebra/slot_set.h"

#include <stdlib.h>

static grove_status check_list(const grove_making *m, int64_t n, const int64_t *list)
{
  GROVE_PASS_CHECK(n >= 0, GROVE_ERR_ARG, "rank %d: %s: n is %lld", m->ctx->rank, m->call,
                   (long long)n);
  GROVE_PASS_CHECK(list || n == 0, GROVE_ERR_ARG, "rank %d: %s: the list of %lld indices is NULL",
                   m->ctx->rank, m->call, (long long)n);
  return GROVE_OK;
}

/* ---- by roots ---- */

typedef struct work {
  grove_forest *twin;
  char *root; /* of each root: named */
  char *leaf; /* of each leaf: its root is named */
  grove_edges edges;
} work;

static grove_status prepare_embed(const grove_making *m, grove_forest *f, int64_t n,
                                  const int64_t *root_index, work *w)
{
  GROVE_PASS(check_list(m, n, root_index));
  GROVE_PASS_NEW(w->root, f->nroots);
  for (int64_t i = 0; i < n; i++) {
    GROVE_PASS_CHECK(
      root_index[i] >= 0 && root_index[i] < f->nroots, GROVE_ERR_ARG,
      "rank %d: %s: entry %lld of the list is root %lld, but forest '%.100s' has %lld "
      "roots there",
      m->ctx->rank, m->call, (long long)i, (long long)root_index[i], grove_forest_label(f),
      (long long)f->nroots);
    w->root[root_index[i]] = 1;
  }
  GROVE_PASS(grove_forest_twin(f, &w->twin));
  GROVE_PASS_ROOM(w->leaf, f->nleaves);
  return grove_edges_reserve(&w->edges, f->nleaves);
}

static grove_status collect_embedded(const grove_forest *f, work *w)
{
  const char *named = w->leaf;
  grove_edges list = w->edges;
  grove_tour tour;
  GROVE_PASS(grove_tour_begin(f, &tour));
  while (grove_tour_step(&tour)) grove_edges_add_if(&list, *named++, tour.leaf, tour.root);
  grove_tour_end(&tour);
  w->edges.count = list.count;
  w->edges.nroots = f->nroots;
  return GROVE_OK;
}

grove_status grove_forest_embed_roots(grove_forest *f, int64_t n, const int64_t *root_index,
                                      grove_forest **out)
{
  grove_status status = GROVE_OK;
  grove_making m = {0};
  work w = {0};
  grove_status mine = grove_making_open_loosely(&m, "grove_forest_embed_roots", f, out);
  if (mine == GROVE_OK) mine = prepare_embed(&m, f, n, root_index, &w);
  GROVE_TRY(grove_making_agree(&m, mine, NULL, 0));
  GROVE_TRY(grove_bcast(w.twin, MPI_CHAR, w.root, w.leaf, MPI_REPLACE));
  mine = collect_embedded(f, &w);
  GROVE_TRY(grove_making_close(&m, mine, &w.edges, out));
fail:
  grove_making_drop(&m);
  grove_edges_free(&w.edges);
  free(w.root);
  free(w.leaf);
  return grove_verdict(m.ctx, status);
}

/* ---- by leaves ---- */

/* Some named slot is no leaf: which? */
static grove_status refuse_slot(const grove_making *m, const grove_edges *leaves, int64_t n,
                                const int64_t *leaf_index, const grove_forest *f)
{
  grove_status status = GROVE_OK;
  grove_slot_set found = {0};
  GROVE_TRY(grove_slot_set_create(leaves->count, leaves->leaf, &found));
  for (int64_t i = 0; i < n; i++)
    GROVE_CHECK(grove_slot_set_has(&found, leaf_index[i]), GROVE_ERR_ARG,
                "rank %d: %s: entry %lld of the list is slot %lld, which is no leaf of forest "
                "'%.100s'",
                m->ctx->rank, m->call, (long long)i, (long long)leaf_index[i],
                grove_forest_label(f));
fail:
  grove_slot_set_free(&found);
  return status;
}

static grove_status select_leaves(const grove_making *m, const grove_forest *f, int64_t n,
                                  const int64_t *leaf_index, grove_edges *edges)
{
  grove_status status = GROVE_OK;
  grove_slot_set named = {0};
  grove_tour tour = {0};
  GROVE_TRY(check_list(m, n, leaf_index));
  for (int64_t i = 0; i < n; i++)
    GROVE_CHECK(leaf_index[i] >= 0 && leaf_index[i] < INT64_MAX, GROVE_ERR_ARG,
                "rank %d: %s: entry %lld of the list is slot %lld", m->ctx->rank, m->call,
                (long long)i, (long long)leaf_index[i]);
  GROVE_TRY(grove_slot_set_create(n, leaf_index, &named));
  GROVE_TRY(grove_edges_reserve(edges, f->nleaves));
  GROVE_TRY(grove_tour_begin(f, &tour));
  const grove_slot_set set = named; /* local copies, which no list aliases */
  grove_edges list = *edges;
  while (grove_tour_step(&tour))
    grove_edges_add_if(&list, grove_slot_set_has(&set, tour.leaf), tour.leaf, tour.root);
  edges->count = list.count;
  if (edges->count < named.count) GROVE_TRY(refuse_slot(m, edges, n, leaf_index, f));
  edges->nroots = f->nroots;
fail:
  grove_tour_end(&tour);
  grove_slot_set_free(&named);
  return status;
}

grove_status grove_forest_embed_leaves(grove_forest *f, int64_t n, const int64_t *leaf_index,
                                       grove_forest **out)
{
  grove_status status = GROVE_OK;
  grove_making m = {0};
  grove_edges edges = {0};
  grove_status mine = grove_making_open_loosely(&m, "grove_forest_embed_leaves", f, out);
  if (mine == GROVE_OK) mine = select_leaves(&m, f, n, leaf_index, &edges);
  GROVE_TRY(grove_making_agree(&m, mine, NULL, 0));
  GROVE_TRY(grove_making_close(&m, GROVE_OK, &edges, out));
fail:
  grove_making_drop(&m);
  grove_edges_free(&edges);
  return grove_verdict(m.ctx, status);
}
