/* Concatenate: forests side by side. If roots get new numbers, their owners tell the leaves. */
#include "algebra/algebra.h"

#include <stdlib.h>

typedef struct work {
  int n;
  grove_forest *const *f;
  grove_roots mode;
  int64_t *root;       /* of the roots of one forest: their new numbers */
  grove_forest **twin; /* of each forest whose roots get new numbers, else NULL */
  int64_t **leaf;      /* of the leaves of each: likewise */
  int64_t *global;     /* with GROVE_ROOTS_GLOBAL, of the edges */
  grove_edges edges;
} work;

static void free_concatenate(work *w)
{
  for (int i = 0; i < w->n && w->leaf; i++) free(w->leaf[i]);
  free(w->leaf);
  free(w->twin);
  free(w->root);
  free(w->global);
  grove_edges_free(&w->edges);
}

static grove_status check_parts(const grove_making *m, const work *w)
{
  const grove_forest *first = w->f[0];
  GROVE_PASS_CHECK(
    w->mode == GROVE_ROOTS_LOCAL || w->mode == GROVE_ROOTS_SHARED || w->mode == GROVE_ROOTS_GLOBAL,
    GROVE_ERR_ARG, "rank %d: %s: there is no mode %d", m->ctx->rank, m->call, (int)w->mode);
  for (int i = 0; i < w->n && w->mode == GROVE_ROOTS_SHARED; i++)
    GROVE_PASS_CHECK(w->f[i]->nroots == first->nroots, GROVE_ERR_ARG,
                     "rank %d: %s: with GROVE_ROOTS_SHARED forest '%.100s' has %lld roots, forest "
                     "'%.100s' %lld",
                     m->ctx->rank, m->call, grove_forest_label(first), (long long)first->nroots,
                     grove_forest_label(w->f[i]), (long long)w->f[i]->nroots);
  return GROVE_OK;
}

static grove_status prepare_parts(const grove_making *m, work *w)
{
  int64_t most = 0, leaves = 0;
  GROVE_PASS(check_parts(m, w));
  GROVE_PASS_NEW(w->leaf, w->n);
  GROVE_PASS_NEW(w->twin, w->n);
  for (int i = 0; i < w->n; i++) {
    if (w->f[i]->nroots > most) most = w->f[i]->nroots;
    leaves += w->f[i]->nleaves;
    if (w->mode == GROVE_ROOTS_GLOBAL || (w->mode == GROVE_ROOTS_LOCAL && i > 0)) {
      GROVE_PASS(grove_forest_twin(w->f[i], &w->twin[i]));
      GROVE_PASS_ROOM(w->leaf[i], w->f[i]->nleaves);
    }
    w->edges.nroots = w->mode == GROVE_ROOTS_SHARED ? most : w->edges.nroots + w->f[i]->nroots;
  }
  GROVE_PASS_ROOM(w->root, most);
  GROVE_PASS_ROOM(w->global, w->mode == GROVE_ROOTS_GLOBAL ? leaves : 0);
  return grove_edges_reserve(&w->edges, leaves);
}

/* The first new number of this rank's roots of forest i. `before` ends as that of forest i+1, rank
 * 0. Agreed by all. */
static grove_status find_number(grove_making *m, const work *w, int i, int64_t *before,
                                int64_t *number)
{
  grove_status status = GROVE_OK;
  int64_t lower = 0, total = w->f[i]->nroots;
  if (w->mode == GROVE_ROOTS_GLOBAL) {
    GROVE_PASS(grove_context_enter_call(m->ctx, m->call));
    status = grove_context_offsets(m->ctx, w->f[i]->nroots, &lower, &total);
    grove_context_leave_call(m->ctx);
  }
  *number = *before + lower;
  *before += total;
  return status;
}

/* Agreed by all. */
static grove_status renumber_part(grove_making *m, work *w)
{
  int64_t before = 0, number = 0;
  for (int i = 0; i < w->n && w->mode != GROVE_ROOTS_SHARED; i++) {
    GROVE_PASS(find_number(m, w, i, &before, &number));
    if (!w->twin[i]) continue;
    for (int64_t r = 0; r < w->f[i]->nroots; r++) w->root[r] = number + r;
    GROVE_PASS(grove_bcast(w->twin[i], MPI_INT64_T, w->root, w->leaf[i], MPI_REPLACE));
  }
  return GROVE_OK;
}

static grove_status collect_parts(work *w)
{
  grove_tour tour;
  int64_t begin = 0; /* of the leaf array of forest i */
  for (int i = 0; i < w->n; begin += w->f[i++]->leaf_end) {
    GROVE_PASS(grove_tour_begin(w->f[i], &tour));
    for (int64_t k = 0; grove_tour_step(&tour); k++) {
      if (w->twin[i]) tour.root.index = w->leaf[i][k];
      if (w->mode == GROVE_ROOTS_GLOBAL) w->global[w->edges.count] = tour.root.index;
      grove_edges_add(&w->edges, begin + tour.leaf, tour.root);
    }
    grove_tour_end(&tour);
  }
  return GROVE_OK;
}

/* Agreed by all. */
static grove_status finish_parts(grove_making *m, work *w, grove_forest **out)
{
  grove_status mine = collect_parts(w);
  if (w->mode != GROVE_ROOTS_GLOBAL) return grove_making_close(m, mine, &w->edges, out);
  return grove_making_close_global(m, mine, &w->edges, w->global, out);
}

grove_status grove_forest_concatenate(int n, grove_forest *const *f, grove_roots mode,
                                      grove_forest **out)
{
  grove_status status = GROVE_OK;
  grove_making m = {0};
  work w = {.n = n, .f = f, .mode = mode};
  GROVE_CHECK(n > 0 && f, GROVE_ERR_ARG, "grove_forest_concatenate: there are no forests");
  grove_status mine = grove_making_open(&m, "grove_forest_concatenate", n, f, out);
  if (mine == GROVE_OK) mine = prepare_parts(&m, &w);
  int64_t same[4] = {n, ~(int64_t)n, mode, ~(int64_t)mode}; /* greatest, least */
  GROVE_TRY(grove_making_agree(&m, mine, same, 4));
  GROVE_TRY(grove_making_same(&m, "n", n, same));
  GROVE_TRY(grove_making_same(&m, "mode", mode, same + 2));
  GROVE_TRY(renumber_part(&m, &w));
  GROVE_TRY(finish_parts(&m, &w, out));
fail:
  grove_making_drop(&m);
  free_concatenate(&w);
  return grove_verdict(m.ctx, status);
}
