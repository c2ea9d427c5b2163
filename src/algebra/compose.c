/* Compose: each leaf of the second forest learns which root of the first its own root is joined to.
 * With the second forest backwards, its roots learn that of their leaf. */
#include "algebra/algebra.h"
#include "algebra/singles.h"
#include "base/order.h"

#include <stdlib.h>

typedef struct work {
  grove_forest *twin; /* of b */
  int64_t *root;      /* of the roots of b: a code */
  int64_t *leaf;      /* of its leaves: likewise */
  grove_singles back; /* what the leaves tell the roots */
  grove_edges edges;
} work;

static void free_compose(work *w)
{
  grove_edges_free(&w->edges);
  grove_singles_free(&w->back);
  free(w->leaf);
  free(w->root);
}

/* ---- a, then b ---- */

/* Every leaf of a that is a root of b gets the code of its root in a. */
static grove_status prepare_compose(const grove_making *m, const grove_forest *a, grove_forest *b,
                                    work *w)
{
  grove_status status = GROVE_OK;
  grove_tour tour = {0};
  GROVE_TRY(grove_forest_twin(b, &w->twin));
  GROVE_TRY(grove_codes_create(b->nroots, &w->root));
  GROVE_ROOM(w->leaf, b->nleaves);
  GROVE_TRY(grove_edges_reserve(&w->edges, b->nleaves));
  GROVE_TRY(grove_tour_begin(a, &tour));
  int64_t *root = w->root, nroots = b->nroots;
  int bits = m->bits;
  while (grove_tour_step(&tour))
    if (tour.leaf < nroots) root[tour.leaf] = grove_code(bits, tour.root.rank, tour.root.index);
fail:
  grove_tour_end(&tour);
  return status;
}

/* The leaves of b that a root of a reaches, in the order of b's list. */
static grove_status collect_composed(const grove_making *m, const grove_forest *b, work *w)
{
  const int64_t *code = w->leaf;
  grove_edges list = w->edges;
  int bits = m->bits;
  grove_tour tour;
  GROVE_PASS(grove_tour_begin(b, &tour));
  for (; grove_tour_step(&tour); code++)
    grove_edges_add_if(&list, *code >= 0, tour.leaf, grove_code_root(bits, *code));
  grove_tour_end(&tour);
  w->edges.count = list.count;
  return GROVE_OK;
}

grove_status grove_forest_compose(grove_forest *a, grove_forest *b, grove_forest **out)
{
  grove_status status = GROVE_OK;
  grove_making m = {0};
  work w = {0};
  grove_status mine =
    grove_making_open(&m, "grove_forest_compose", 2, (grove_forest *[]){a, b}, out);
  if (mine == GROVE_OK) mine = prepare_compose(&m, a, b, &w);
  GROVE_TRY(grove_making_agree(&m, mine, NULL, 0));
  GROVE_TRY(grove_bcast(w.twin, MPI_INT64_T, w.root, w.leaf, MPI_REPLACE));
  w.edges.nroots = a->nroots;
  mine = collect_composed(&m, b, &w);
  GROVE_TRY(grove_making_close(&m, mine, &w.edges, out));
fail:
  grove_making_drop(&m);
  free_compose(&w);
  return grove_verdict(m.ctx, status);
}

/* ---- a, then b backwards ---- */

/* The leaves of a forest by ascending slot. */
typedef struct sorted {
  int64_t n;
  int64_t *slot, *code; /* in the order of the list; codes of their roots */
  int32_t *order;
} sorted;

static void free_sorted(sorted *s)
{
  free(s->slot);
  free(s->code);
  free(s->order);
}

static grove_status sort_edges(const grove_making *m, const grove_forest *f, sorted *s)
{
  grove_status status = GROVE_OK;
  grove_tour tour = {0};
  s->n = f->nleaves;
  GROVE_CHECK(s->n <= GROVE_LIST_MOST, GROVE_ERR_UNSUPPORTED, "rank %d: %s: more than 2^31 leaves",
              m->ctx->rank, m->call);
  GROVE_ROOM(s->slot, s->n);
  GROVE_ROOM(s->code, s->n);
  GROVE_TRY(grove_tour_begin(f, &tour));
  for (int64_t i = 0; grove_tour_step(&tour); i++) {
    s->slot[i] = tour.leaf;
    s->code[i] = grove_code(m->bits, tour.root.rank, tour.root.index);
  }
  GROVE_TRY(grove_order_create(s->n, s->slot, &s->order));
fail:
  grove_tour_end(&tour);
  return status;
}

/* Every leaf of b that is also a leaf of a gets the code of its root in a. */
static void join_edges(const sorted *a, const sorted *b, int64_t *leaf)
{
  for (int64_t i = 0, k = 0; i < a->n && k < b->n;) {
    int64_t slot = a->slot[a->order[i]], other = b->slot[b->order[k]];
    if (slot == other) leaf[b->order[k]] = a->code[a->order[i]];
    i += slot <= other;
    k += other <= slot;
  }
}

static grove_status prepare_inverse(const grove_making *m, const grove_forest *a, grove_forest *b,
                                    work *w)
{
  grove_status status = GROVE_OK;
  sorted first = {0}, second = {0};
  GROVE_TRY(grove_singles_create(m, b, &w->back));
  GROVE_TRY(grove_forest_twin(b, &w->twin));
  GROVE_TRY(grove_codes_create(b->nleaves, &w->leaf));
  GROVE_TRY(grove_edges_reserve(&w->edges, b->roots.slots.count));
  GROVE_TRY(sort_edges(m, a, &first));
  GROVE_TRY(sort_edges(m, b, &second));
  join_edges(&first, &second, w->leaf);
fail:
  free_sorted(&first);
  free_sorted(&second);
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
  GROVE_TRY(grove_gather(w.twin, MPI_INT64_T, w.leaf, w.back.code));
  w.edges.nroots = a->nroots;
  grove_singles_collect(&m, &w.back, &w.edges);
  GROVE_TRY(grove_making_close(&m, GROVE_OK, &w.edges, out));
fail:
  grove_making_drop(&m);
  free_compose(&w);
  return grove_verdict(m.ctx, status);
}
