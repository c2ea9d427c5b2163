/* Compose: the leaves of the second forest learn which root of the first one theirs is joined to;
 * with the second backwards, its roots learn that of their leaf. */
#include "algebra/algebra.h"

#include <stdlib.h>

typedef struct work {
  int64_t *root;         /* of the roots of b: a code */
  grove_leaf_array leaf; /* of its leaves: likewise */
  grove_edges edges;
} work;

static void free_work(work *w)
{
  grove_edges_free(&w->edges);
  free(w->leaf.values);
  free(w->root);
}

/* Every leaf of `a` in a slot from `first` to `end` puts the code of its root there. */
static grove_status put_codes(const grove_making *m, const grove_forest *a, int64_t first,
                              int64_t end, int64_t *code)
{
  grove_status status = GROVE_OK;
  grove_tour tour;
  GROVE_TRY(grove_tour_begin(a, &tour));
  while (grove_tour_step(&tour))
    if (tour.leaf >= first && tour.leaf < end)
      code[tour.leaf - first] = grove_code(m, tour.root.rank, tour.root.index);
  grove_tour_end(&tour);
fail:
  return status;
}

/* ---- a, then b ---- */

static grove_status prepare(const grove_making *m, const grove_forest *a, const grove_forest *b,
                            work *w)
{
  grove_status status = GROVE_OK;
  GROVE_TRY(grove_codes_create(b->nroots, &w->root));
  GROVE_TRY(grove_leaf_array_create(b, sizeof *w->root, -1, &w->leaf));
  GROVE_TRY(grove_edges_reserve(&w->edges, b->nleaves));
  GROVE_TRY(put_codes(m, a, 0, b->nroots, w->root));
fail:
  return status;
}

/* The leaves of b that a root of a reaches, in the order of b's list. */
static grove_status collect(const grove_making *m, const grove_forest *b, work *w)
{
  grove_status status = GROVE_OK;
  const int64_t *code = w->leaf.values;
  grove_tour tour;
  GROVE_TRY(grove_tour_begin(b, &tour));
  while (grove_tour_step(&tour)) {
    int64_t reached = code[tour.leaf - w->leaf.first];
    if (reached >= 0) grove_edges_add(&w->edges, tour.leaf, grove_code_root(m, reached));
  }
  grove_tour_end(&tour);
fail:
  return status;
}

grove_status grove_forest_compose(grove_forest *a, grove_forest *b, grove_forest **out)
{
  grove_status status = GROVE_OK;
  grove_making m = {0};
  work w = {0};
  grove_status mine =
    grove_making_open(&m, "grove_forest_compose", 2, (grove_forest *[]){a, b}, out);
  if (mine == GROVE_OK) mine = prepare(&m, a, b, &w);
  GROVE_TRY(grove_making_agree(&m, mine, NULL, 0));
  GROVE_TRY(grove_bcast(b, MPI_INT64_T, w.root, grove_leaf_array_base(&w.leaf, sizeof *w.root),
                        MPI_REPLACE));
  w.edges.nroots = a->nroots;
  mine = collect(&m, b, &w);
  GROVE_TRY(grove_making_close(&m, mine, &w.edges, out));
fail:
  grove_making_drop(&m);
  free_work(&w);
  return status;
}

/* ---- a, then b backwards ---- */

static grove_status prepare_inverse(const grove_making *m, const grove_forest *a,
                                    const grove_forest *b, work *w)
{
  grove_status status = GROVE_OK;
  GROVE_TRY(grove_check_degrees(m, b));
  GROVE_TRY(grove_codes_create(b->nroots, &w->root));
  GROVE_TRY(grove_leaf_array_create(b, sizeof *w->root, -1, &w->leaf));
  GROVE_TRY(grove_edges_reserve(&w->edges, b->roots.slots.count));
  GROVE_TRY(put_codes(m, a, w->leaf.first, w->leaf.end, w->leaf.values));
fail:
  return status;
}

grove_status grove_forest_compose_inverse(grove_forest *a, grove_forest *b, grove_forest **out)
{
  grove_status status = GROVE_OK;
  grove_making m = {0};
  work w = {0};
  grove_status mine =
    grove_making_open(&m, "grove_forest_compose_inverse", 2, (grove_forest *[]){a, b}, out);
  if (mine == GROVE_OK) mine = prepare_inverse(&m, a, b, &w);
  GROVE_TRY(grove_making_agree(&m, mine, NULL, 0));
  GROVE_TRY(grove_reduce(b, MPI_INT64_T, grove_leaf_array_base(&w.leaf, sizeof *w.root), w.root,
                         MPI_REPLACE));
  w.edges.nroots = a->nroots;
  for (int64_t r = 0; r < b->nroots; r++)
    if (w.root[r] >= 0) grove_edges_add(&w.edges, r, grove_code_root(&m, w.root[r]));
  GROVE_TRY(grove_making_close(&m, GROVE_OK, &w.edges, out));
fail:
  grove_making_drop(&m);
  free_work(&w);
  return status;
}
