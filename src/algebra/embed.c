/* Embed: some of the edges. The leaves learn whether their root was named; who names leaves knows
 * that already. */
#include "algebra/algebra.h"

#include <stdlib.h>

typedef struct work {
  char *root;            /* of each root: named */
  grove_leaf_array leaf; /* of each leaf slot: a mark */
  grove_edges edges;
} work;

/* Marks of slots. */
enum { NAMED = 1, LEAF = 2 };

static void free_work(work *w)
{
  grove_edges_free(&w->edges);
  free(w->leaf.values);
  free(w->root);
}

static grove_status check_list(const grove_making *m, int64_t n, const int64_t *list)
{
  grove_status status = GROVE_OK;
  GROVE_CHECK(n >= 0, GROVE_ERR_ARG, "rank %d: %s: n is %lld", m->ctx->rank, m->call, (long long)n);
  GROVE_CHECK(list || n == 0, GROVE_ERR_ARG, "rank %d: %s: the list of %lld indices is NULL",
              m->ctx->rank, m->call, (long long)n);
fail:
  return status;
}

/* The leaves that are named, in the order of the list of f. */
static grove_status collect(const grove_forest *f, work *w)
{
  grove_status status = GROVE_OK;
  const char *mark = w->leaf.values;
  grove_tour tour;
  GROVE_TRY(grove_tour_begin(f, &tour));
  while (grove_tour_step(&tour))
    if (mark[tour.leaf - w->leaf.first] & NAMED) grove_edges_add(&w->edges, tour.leaf, tour.root);
  grove_tour_end(&tour);
  w->edges.nroots = f->nroots;
fail:
  return status;
}

/* ---- by roots ---- */

static grove_status prepare_roots(const grove_making *m, const grove_forest *f, int64_t n,
                                  const int64_t *root_index, work *w)
{
  grove_status status = GROVE_OK;
  GROVE_TRY(check_list(m, n, root_index));
  GROVE_NEW(w->root, f->nroots);
  for (int64_t i = 0; i < n; i++) {
    GROVE_CHECK(root_index[i] >= 0 && root_index[i] < f->nroots, GROVE_ERR_ARG,
                "rank %d: %s: entry %lld of the list is root %lld, but forest '%.100s' has %lld "
                "roots there",
                m->ctx->rank, m->call, (long long)i, (long long)root_index[i],
                grove_forest_label(f), (long long)f->nroots);
    w->root[root_index[i]] = NAMED;
  }
  GROVE_TRY(grove_leaf_array_create(f, 1, 0, &w->leaf));
  GROVE_TRY(grove_edges_reserve(&w->edges, f->nleaves));
fail:
  return status;
}

grove_status grove_forest_embed_roots(grove_forest *f, int64_t n, const int64_t *root_index,
                                      grove_forest **out)
{
  grove_status status = GROVE_OK;
  grove_making m = {0};
  work w = {0};
  grove_status mine = grove_making_open(&m, "grove_forest_embed_roots", 1, &f, out);
  if (mine == GROVE_OK) mine = prepare_roots(&m, f, n, root_index, &w);
  GROVE_TRY(grove_making_agree(&m, mine, NULL, 0));
  GROVE_TRY(grove_bcast(f, MPI_CHAR, w.root, grove_leaf_array_base(&w.leaf, 1), MPI_REPLACE));
  mine = collect(f, &w);
  GROVE_TRY(grove_making_close(&m, mine, &w.edges, out));
fail:
  grove_making_drop(&m);
  free_work(&w);
  return status;
}

/* ---- by leaves ---- */

static grove_status prepare_leaves(const grove_making *m, const grove_forest *f, int64_t n,
                                   const int64_t *leaf_index, work *w)
{
  grove_status status = GROVE_OK;
  GROVE_TRY(check_list(m, n, leaf_index));
  GROVE_TRY(grove_leaf_array_create(f, 1, 0, &w->leaf));
  GROVE_TRY(grove_edges_reserve(&w->edges, f->nleaves));
  char *mark = w->leaf.values;
  for (int64_t e = 0; e < f->leaves.slots.count; e++)
    mark[grove_index_at(&f->leaves.slots, e) - w->leaf.first] = LEAF;
  for (int64_t i = 0; i < n; i++) {
    int64_t slot = leaf_index[i];
    GROVE_CHECK(slot >= w->leaf.first && slot < w->leaf.end && mark[slot - w->leaf.first],
                GROVE_ERR_ARG,
                "rank %d: %s: entry %lld of the list is slot %lld, which is no leaf of forest "
                "'%.100s'",
                m->ctx->rank, m->call, (long long)i, (long long)slot, grove_forest_label(f));
    mark[slot - w->leaf.first] |= NAMED;
  }
  GROVE_TRY(collect(f, w));
fail:
  return status;
}

grove_status grove_forest_embed_leaves(grove_forest *f, int64_t n, const int64_t *leaf_index,
                                       grove_forest **out)
{
  grove_status status = GROVE_OK;
  grove_making m = {0};
  work w = {0};
  grove_status mine = grove_making_open(&m, "grove_forest_embed_leaves", 1, &f, out);
  if (mine == GROVE_OK) mine = prepare_leaves(&m, f, n, leaf_index, &w);
  GROVE_TRY(grove_making_agree(&m, mine, NULL, 0));
  GROVE_TRY(grove_making_close(&m, GROVE_OK, &w.edges, out));
fail:
  grove_making_drop(&m);
  free_work(&w);
  return status;
}
