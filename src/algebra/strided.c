/* Strided: several values per point. The leaves must know the stride of their root's rank. If it is
 * the same everywhere, as it mostly is, nothing is sent. */
#include "algebra/algebra.h"

#include <stdlib.h>

typedef struct work {
  int64_t n, root_stride, leaf_stride;
  grove_forest *twin;
  int64_t *root; /* of each root: the stride of this rank */
  int64_t *leaf; /* of each leaf: the stride of its root's rank */
  grove_edges edges;
} work;

/* The place of value k of point i. */
static int64_t place_of_unit(const work *w, int64_t stride, int64_t i, int64_t k)
{
  return stride > 0 ? i + k * stride : i * w->n + k;
}

/* The places that the values of `points` points take, or -1 if there are too many. */
static int64_t extent_of(const work *w, int64_t stride, int64_t points)
{
  enum { BITS = 62 };
  const int64_t most = (int64_t)1 << BITS;
  if (points == 0 || w->n == 0) return 0;
  if (stride > 0 && w->n - 1 > (most - points) / stride) return -1;
  if (stride == 0 && w->n > most / points) return -1;
  return place_of_unit(w, stride, points - 1, w->n - 1) + 1;
}

static grove_status check_stride(const grove_making *m, const grove_forest *f, work *w)
{
  GROVE_PASS_CHECK(w->n >= 0 && w->root_stride >= 0 && w->leaf_stride >= 0, GROVE_ERR_ARG,
                   "rank %d: %s: n is %lld, the strides are %lld and %lld; none may be negative",
                   m->ctx->rank, m->call, (long long)w->n, (long long)w->root_stride,
                   (long long)w->leaf_stride);
  w->edges.nroots = extent_of(w, w->root_stride, f->nroots);
  GROVE_PASS_CHECK(w->edges.nroots >= 0 && extent_of(w, w->leaf_stride, f->leaf_end) >= 0 &&
                     extent_of(w, 0, f->nleaves) >= 0,
                   GROVE_ERR_ARG,
                   "rank %d: %s: %lld values per point at strides %lld and %lld are more "
                   "than 2^62 places",
                   m->ctx->rank, m->call, (long long)w->n, (long long)w->root_stride,
                   (long long)w->leaf_stride);
  return GROVE_OK;
}

static grove_status prepare_strided(const grove_making *m, grove_forest *f, work *w)
{
  GROVE_PASS(check_stride(m, f, w));
  GROVE_PASS_ROOM(w->root, f->nroots);
  for (int64_t r = 0; r < f->nroots; r++) w->root[r] = w->root_stride;
  GROVE_PASS(grove_forest_twin(f, &w->twin));
  GROVE_PASS_ROOM(w->leaf, f->nleaves);
  return grove_edges_reserve(&w->edges, f->nleaves * w->n);
}

/* With the strides of the roots' ranks; with this rank's own if `same`. */
static grove_status collect_strided(const grove_forest *f, int same, work *w)
{
  grove_tour tour;
  GROVE_PASS(grove_tour_begin(f, &tour));
  for (int64_t i = 0; grove_tour_step(&tour); i++) {
    int64_t stride = same ? w->root_stride : w->leaf[i];
    for (int64_t k = 0; k < w->n; k++) {
      grove_root root = {tour.root.rank, place_of_unit(w, stride, tour.root.index, k)};
      grove_edges_add(&w->edges, place_of_unit(w, w->leaf_stride, tour.leaf, k), root);
    }
  }
  grove_tour_end(&tour);
  return GROVE_OK;
}

grove_status grove_forest_strided(grove_forest *f, int64_t n, int64_t root_stride,
                                  int64_t leaf_stride, grove_forest **out)
{
  grove_status status = GROVE_OK;
  grove_making m = {0};
  work w = {.n = n, .root_stride = root_stride, .leaf_stride = leaf_stride};
  grove_status mine = grove_making_open(&m, "grove_forest_strided", 1, &f, out);
  if (mine == GROVE_OK) mine = prepare_strided(&m, f, &w);
  int64_t range[4] = {n, ~n, root_stride, ~root_stride}; /* greatest, least */
  GROVE_TRY(grove_making_agree(&m, mine, range, 4));
  GROVE_TRY(grove_making_same(&m, "n", n, range));
  int same = range[2] == ~range[3];
  if (!same) GROVE_TRY(grove_bcast(w.twin, MPI_INT64_T, w.root, w.leaf, MPI_REPLACE));
  mine = collect_strided(f, same, &w);
  GROVE_TRY(grove_making_close(&m, mine, &w.edges, out));
fail:
  grove_making_drop(&m);
  grove_edges_free(&w.edges);
  free(w.leaf);
  free(w.root);
  return grove_verdict(m.ctx, status);
}
