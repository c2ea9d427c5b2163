/* Inverse: the roots learn which leaf they have. */
#include "algebra/algebra.h"

#include <stdlib.h>

typedef struct work {
  grove_forest *twin;
  int64_t *own;  /* of each leaf, its own code */
  int64_t *code; /* of each root, that of its leaf */
  grove_edges edges;
} work;

static grove_status prepare(const grove_making *m, grove_forest *f, work *w)
{
  grove_status status = GROVE_OK;
  grove_tour tour = {0};
  GROVE_TRY(grove_check_degrees(m, f));
  GROVE_TRY(grove_forest_twin(f, &w->twin));
  GROVE_TRY(grove_codes_create(f->nroots, &w->code));
  GROVE_ROOM(w->own, f->nleaves);
  GROVE_TRY(grove_edges_reserve(&w->edges, f->roots.slots.count));
  GROVE_TRY(grove_tour_begin(f, &tour));
  for (int64_t i = 0; grove_tour_step(&tour); i++)
    w->own[i] = grove_code(m, m->ctx->rank, tour.leaf);
fail:
  grove_tour_end(&tour);
  return status;
}

static void collect(const grove_making *m, const grove_forest *f, work *w)
{
  w->edges.nroots = f->leaf_end;
  for (int64_t r = 0; r < f->nroots; r++)
    if (w->code[r] >= 0) grove_edges_add(&w->edges, r, grove_code_root(m, w->code[r]));
}

grove_status grove_forest_inverse(grove_forest *f, grove_forest **out)
{
  grove_status status = GROVE_OK;
  grove_making m = {0};
  work w = {0};
  grove_status mine = grove_making_open(&m, "grove_forest_inverse", 1, &f, out);
  if (mine == GROVE_OK) mine = prepare(&m, f, &w);
  GROVE_TRY(grove_making_agree(&m, mine, NULL, 0));
  GROVE_TRY(grove_reduce(w.twin, MPI_INT64_T, w.own, w.code, MPI_REPLACE));
  collect(&m, f, &w);
  GROVE_TRY(grove_making_close(&m, GROVE_OK, &w.edges, out));
fail:
  grove_making_drop(&m);
  grove_edges_free(&w.edges);
  free(w.own);
  free(w.code);
  return status;
}
