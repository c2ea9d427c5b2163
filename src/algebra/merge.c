/* Merge: the edges of two forests, by slot. No communication. */
#include "algebra/algebra.h"
#include "base/order.h"

#include <stdlib.h>

static grove_status append_edges(const grove_forest *f, grove_edges *edges)
{
  grove_tour tour;
  GROVE_PASS(grove_tour_begin(f, &tour));
  while (grove_tour_step(&tour)) grove_edges_add(edges, tour.leaf, tour.root);
  grove_tour_end(&tour);
  return GROVE_OK;
}

/* By ascending slot; the first of equal ones counts. */
static grove_status sort_merged(const grove_edges *all, grove_edges *sorted)
{
  grove_status status = GROVE_OK;
  int32_t *order = NULL;
  GROVE_TRY(grove_edges_reserve(sorted, all->count));
  GROVE_TRY(grove_order_create(all->count, all->leaf, &order));
  for (int64_t i = 0; i < all->count; i++) {
    int64_t leaf = all->leaf[order[i]];
    if (sorted->count == 0 || sorted->leaf[sorted->count - 1] != leaf)
      grove_edges_add(sorted, leaf, all->root[order[i]]);
  }
fail:
  free(order);
  return status;
}

static grove_status join_forests(const grove_making *m, const grove_forest *a,
                                 const grove_forest *b, grove_edges *edges)
{
  grove_status status = GROVE_OK;
  grove_edges all = {0};
  GROVE_CHECK(a->nroots == b->nroots, GROVE_ERR_ARG,
              "rank %d: %s: forest '%.100s' has %lld roots, forest '%.100s' has %lld", m->ctx->rank,
              m->call, grove_forest_label(a), (long long)a->nroots, grove_forest_label(b),
              (long long)b->nroots);
  GROVE_CHECK(a->nleaves <= GROVE_LIST_MOST - b->nleaves, GROVE_ERR_UNSUPPORTED,
              "rank %d: %s: more than 2^31 leaves", m->ctx->rank, m->call);
  GROVE_TRY(grove_edges_reserve(&all, a->nleaves + b->nleaves));
  GROVE_TRY(append_edges(b, &all)); /* if both have a slot, this edge counts */
  GROVE_TRY(append_edges(a, &all));
  GROVE_TRY(sort_merged(&all, edges));
  edges->nroots = a->nroots;
fail:
  grove_edges_free(&all);
  return status;
}

grove_status grove_forest_merge(grove_forest *a, grove_forest *b, grove_forest **out)
{
  grove_status status = GROVE_OK;
  grove_making m = {0};
  grove_edges edges = {0};
  grove_status mine = grove_making_open(&m, "grove_forest_merge", 2, (grove_forest *[]){a, b}, out);
  if (mine == GROVE_OK) mine = join_forests(&m, a, b, &edges);
  GROVE_TRY(grove_making_agree(&m, mine, NULL, 0));
  GROVE_TRY(grove_making_close(&m, GROVE_OK, &edges, out));
fail:
  grove_making_drop(&m);
  grove_edges_free(&edges);
  return grove_verdict(m.ctx, status);
}
