/* Expand: from points to the values that they carry. Every leaf learns how many values its root
 * has, and where they begin. */
#include "algebra/algebra.h"
#include "base/order.h"

#include <stdlib.h>

/* What a root tells its leaves. */
typedef struct block {
  int64_t size, offset;
} block;

typedef struct work {
  grove_forest *twin;
  block *root;
  block *leaf;
  int64_t *offset; /* where the values of each leaf begin here */
  grove_edges edges;
  MPI_Datatype unit;
} work;

static void free_expand(work *w)
{
  if (w->unit != MPI_DATATYPE_NULL) MPI_Type_free(&w->unit);
  free(w->root);
  free(w->leaf);
  free(w->offset);
  grove_edges_free(&w->edges);
}

static grove_status fill_roots(const grove_making *m, const grove_forest *f,
                               const int64_t *root_size, const int64_t *root_offset, work *w)
{
  const int64_t most = INT64_MAX >> (m->bits + 1);
  int64_t next = 0;
  GROVE_PASS_CHECK(root_size || f->nroots == 0, GROVE_ERR_ARG,
                   "rank %d: %s: the sizes of %lld roots are NULL", m->ctx->rank, m->call,
                   (long long)f->nroots);
  for (int64_t r = 0; r < f->nroots; r++) {
    block b = {root_size[r], root_offset ? root_offset[r] : next};
    GROVE_PASS_CHECK(b.size >= 0 && b.offset >= 0 && b.size <= most && b.offset <= most,
                     GROVE_ERR_ARG, "rank %d: %s: root %lld has %lld values from %lld on",
                     m->ctx->rank, m->call, (long long)r, (long long)b.size, (long long)b.offset);
    w->root[r] = b;
    next = b.offset + b.size;
    if (next > w->edges.nroots) w->edges.nroots = next;
  }
  return GROVE_OK;
}

static grove_status prepare_expand(const grove_making *m, grove_forest *f, const int64_t *root_size,
                                   const int64_t *root_offset, work *w)
{
  GROVE_PASS_ROOM(w->root, f->nroots);
  GROVE_PASS(fill_roots(m, f, root_size, root_offset, w));
  GROVE_PASS(grove_forest_twin(f, &w->twin));
  GROVE_PASS_ROOM(w->leaf, f->nleaves);
  GROVE_PASS_ROOM(w->offset, f->nleaves);
  GROVE_PASS_MPI(MPI_Type_contiguous(2, MPI_INT64_T, &w->unit));
  GROVE_PASS_MPI(MPI_Type_commit(&w->unit));
  return GROVE_OK;
}

/* The number of values, or more than any memory could hold. */
static int64_t count_values(const grove_forest *f, const work *w)
{
  int64_t n = 0;
  for (int64_t i = 0; i < f->nleaves && n < INT64_MAX / 2; i++) n += w->leaf[i].size;
  return n;
}

/* Side by side: each leaf begins where that of the next lower slot ends. `slot`: room for all. */
static grove_status place_leaves(const grove_forest *f, int64_t *slot, work *w)
{
  grove_status status = GROVE_OK;
  int32_t *order = NULL;
  int64_t next = 0;
  grove_tour tour = {0};
  GROVE_CHECK(f->nleaves <= GROVE_LIST_MOST, GROVE_ERR_UNSUPPORTED,
              "rank %d: more than 2^31 leaves need offsets", f->ctx->rank);
  GROVE_TRY(grove_tour_begin(f, &tour));
  for (int64_t i = 0; grove_tour_step(&tour); i++) slot[i] = tour.leaf;
  GROVE_TRY(grove_order_create(f->nleaves, slot, &order));
  for (int64_t k = 0; k < f->nleaves; k++) {
    w->offset[order[k]] = next;
    next += w->leaf[order[k]].size;
  }
fail:
  grove_tour_end(&tour);
  free(order);
  return status;
}

static grove_status take_offsets(const grove_making *m, const grove_forest *f,
                                 const int64_t *leaf_offset, work *w)
{
  grove_status status = GROVE_OK;
  grove_tour tour = {0};
  GROVE_TRY(grove_tour_begin(f, &tour));
  for (int64_t i = 0; grove_tour_step(&tour); i++) {
    w->offset[i] = leaf_offset[tour.leaf];
    GROVE_CHECK(w->offset[i] >= 0 && w->offset[i] < INT64_MAX / 2, GROVE_ERR_ARG,
                "rank %d: %s: the offset of leaf %lld is %lld", m->ctx->rank, m->call,
                (long long)tour.leaf, (long long)w->offset[i]);
  }
fail:
  grove_tour_end(&tour);
  return status;
}

/* The values of each leaf after the other, in the order of f's list. */
static grove_status collect_expanded(const grove_making *m, const grove_forest *f,
                                     const int64_t *leaf_offset, work *w)
{
  grove_status status = GROVE_OK;
  grove_tour tour = {0};
  int64_t values = count_values(f, w), least = f->nleaves;
  GROVE_TRY(grove_edges_reserve(&w->edges, values > least ? values : least));
  if (leaf_offset)
    GROVE_TRY(take_offsets(m, f, leaf_offset, w));
  else
    GROVE_TRY(place_leaves(f, w->edges.leaf, w));
  GROVE_TRY(grove_tour_begin(f, &tour));
  for (int64_t i = 0; grove_tour_step(&tour); i++)
    for (int64_t k = 0; k < w->leaf[i].size; k++)
      grove_edges_add(&w->edges, w->offset[i] + k,
                      (grove_root){tour.root.rank, w->leaf[i].offset + k});
fail:
  grove_tour_end(&tour);
  return status;
}

grove_status grove_forest_expand(grove_forest *f, const int64_t *root_size,
                                 const int64_t *root_offset, const int64_t *leaf_offset,
                                 grove_forest **out)
{
  grove_status status = GROVE_OK;
  grove_making m = {0};
  work w = {.unit = MPI_DATATYPE_NULL};
  grove_status mine = grove_making_open(&m, "grove_forest_expand", 1, &f, out);
  if (mine == GROVE_OK) mine = prepare_expand(&m, f, root_size, root_offset, &w);
  GROVE_TRY(grove_making_agree(&m, mine, NULL, 0));
  GROVE_TRY(grove_bcast(w.twin, w.unit, w.root, w.leaf, MPI_REPLACE));
  mine = collect_expanded(&m, f, leaf_offset, &w);
  GROVE_TRY(grove_making_close(&m, mine, &w.edges, out));
fail:
  grove_making_drop(&m);
  free_expand(&w);
  return grove_verdict(m.ctx, status);
}
