/* Inverse: the roots learn which leaf they have. */
#include "algebra/algebra.h"
#include "algebra/singles.h"

#include <stdlib.h>

typedef struct work {
  grove_forest *twin;
  int64_t *own; /* of each leaf, its own code */
  grove_singles roots;
  grove_edges edges;
} work;

static grove_status prepare_inversion(const grove_making *m, grove_forest *f, work *w)
{
  grove_status status = GROVE_OK;
  grove_tour tour = {0};
  int rank = m->ctx->rank, bits = m->bits;
  GROVE_TRY(grove_singles_create(m, f, &w->roots));
  GROVE_TRY(grove_forest_twin(f, &w->twin));
  GROVE_ROOM(w->own, f->nleaves);
  GROVE_TRY(grove_edges_reserve(&w->edges, f->roots.slots.count));
  GROVE_TRY(grove_tour_begin(f, &tour));
  int64_t *own = w->own;
  for (int64_t i = 0, n = f->nleaves; i < n && !f->listed; i++) own[i] = grove_code(bits, rank, i);
  for (int64_t i = 0; f->listed && grove_tour_step(&tour); i++)
    own[i] = grove_code(bits, rank, tour.leaf);
fail:
  grove_tour_end(&tour);
  return status;
}

grove_status grove_forest_inverse(grove_forest *f, grove_forest **out)
{
  grove_status status = GROVE_OK;
  grove_making m = {0};
  work w = {0};
  grove_status mine = grove_making_open_loosely(&m, "grove_forest_inverse", f, out);
  if (mine == GROVE_OK) mine = prepare_inversion(&m, f, &w);
  GROVE_TRY(grove_making_agree(&m, mine, NULL, 0));
  GROVE_TRY(grove_gather(w.twin, MPI_INT64_T, w.own, w.roots.code));
  w.edges.nroots = f->leaf_end;
  grove_singles_collect(&m, &w.roots, &w.edges);
  GROVE_TRY(grove_making_close(&m, GROVE_OK, &w.edges, out));
fail:
  grove_making_drop(&m);
  grove_edges_free(&w.edges);
  free(w.own);
  grove_singles_free(&w.roots);
  return grove_verdict(m.ctx, status);
}
