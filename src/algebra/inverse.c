/* Inverse: the roots learn which leaf they have. */
#include "algebra/algebra.h"

#include <stdlib.h>

typedef struct work {
  grove_leaf_array own; /* of each leaf of f, its own code */
  int64_t *code;        /* of each root of f, that of its leaf */
  grove_edges edges;
} work;

static grove_status prepare(const grove_making *m, const grove_forest *f, work *w)
{
  grove_status status = GROVE_OK;
  GROVE_TRY(grove_check_degrees(m, f));
  GROVE_TRY(grove_codes_create(f->nroots, &w->code));
  GROVE_TRY(grove_leaf_array_create(f, sizeof *w->code, -1, &w->own));
  GROVE_TRY(grove_edges_reserve(&w->edges, f->roots.slots.count));
  int64_t *own = w->own.values;
  for (int64_t e = 0; e < f->leaves.slots.count; e++) {
    int64_t slot = grove_index_at(&f->leaves.slots, e);
    own[slot - w->own.first] = grove_code(m, m->ctx->rank, slot);
  }
fail:
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
  GROVE_TRY(grove_reduce(f, MPI_INT64_T, grove_leaf_array_base(&w.own, sizeof *w.code), w.code,
                         MPI_REPLACE));
  collect(&m, f, &w);
  GROVE_TRY(grove_making_close(&m, GROVE_OK, &w.edges, out));
fail:
  grove_making_drop(&m);
  grove_edges_free(&w.edges);
  free(w.own.values);
  free(w.code);
  return status;
}
