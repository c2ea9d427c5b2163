/* Expand: from points to the values that they carry. Every leaf learns how many values its root
 * has, and where they begin. */
#include "algebra/algebra.h"

#include <stdlib.h>

/* What a root tells its leaves. */
typedef struct block {
  int64_t size, offset;
} block;

typedef struct work {
  block *root;
  grove_leaf_array leaf;   /* of blocks */
  grove_leaf_array offset; /* where leaves begin, if the user has not said it */
  grove_edges edges;
  MPI_Datatype unit;
} work;

static void free_work(work *w)
{
  if (w->unit != MPI_DATATYPE_NULL) MPI_Type_free(&w->unit);
  free(w->root);
  free(w->leaf.values);
  free(w->offset.values);
  grove_edges_free(&w->edges);
}

static grove_status fill_roots(const grove_making *m, const grove_forest *f,
                               const int64_t *root_size, const int64_t *root_offset, work *w)
{
  grove_status status = GROVE_OK;
  const int64_t most = INT64_MAX >> (m->bits + 1);
  int64_t next = 0;
  GROVE_CHECK(root_size || f->nroots == 0, GROVE_ERR_ARG,
              "rank %d: %s: the sizes of %lld roots are NULL", m->ctx->rank, m->call,
              (long long)f->nroots);
  for (int64_t r = 0; r < f->nroots; r++) {
    block b = {root_size[r], root_offset ? root_offset[r] : next};
    GROVE_CHECK(b.size >= 0 && b.offset >= 0 && b.size <= most && b.offset <= most, GROVE_ERR_ARG,
                "rank %d: %s: root %lld has %lld values from %lld on", m->ctx->rank, m->call,
                (long long)r, (long long)b.size, (long long)b.offset);
    w->root[r] = b;
    next = b.offset + b.size;
    if (next > w->edges.nroots) w->edges.nroots = next;
  }
fail:
  return status;
}

static grove_status prepare(const grove_making *m, const grove_forest *f, const int64_t *root_size,
                            const int64_t *root_offset, work *w)
{
  grove_status status = GROVE_OK;
  GROVE_ROOM(w->root, f->nroots);
  GROVE_TRY(fill_roots(m, f, root_size, root_offset, w));
  GROVE_TRY(grove_leaf_array_create(f, sizeof(block), 0, &w->leaf));
  GROVE_TRY_MPI(MPI_Type_contiguous(2, MPI_INT64_T, &w->unit));
  GROVE_TRY_MPI(MPI_Type_commit(&w->unit));
fail:
  return status;
}

/* Side by side: each slot begins where the one before ends. One that is no leaf has no values. */
static grove_status place_leaves(const grove_forest *f, work *w)
{
  grove_status status = GROVE_OK;
  const block *told = w->leaf.values;
  GROVE_TRY(grove_leaf_array_create(f, sizeof(int64_t), 0, &w->offset));
  int64_t *offset = w->offset.values, next = 0;
  for (int64_t i = 0; i < w->leaf.end - w->leaf.first; i++) {
    offset[i] = next;
    next += told[i].size;
  }
fail:
  return status;
}

/* Or more than there can be memory for. */
static int64_t count_values(const work *w)
{
  const block *told = w->leaf.values;
  int64_t n = 0;
  for (int64_t i = 0; i < w->leaf.end - w->leaf.first && n < INT64_MAX / 2; i++) n += told[i].size;
  return n;
}

/* A value of each leaf after the other, in the order of the list of f. */
static grove_status collect(const grove_making *m, const grove_forest *f,
                            const int64_t *leaf_offset, work *w)
{
  grove_status status = GROVE_OK;
  const block *told = w->leaf.values;
  grove_tour tour = {0};
  GROVE_TRY(grove_edges_reserve(&w->edges, count_values(w)));
  if (!leaf_offset) GROVE_TRY(place_leaves(f, w));
  if (!leaf_offset) leaf_offset = grove_leaf_array_base(&w->offset, sizeof *leaf_offset);
  GROVE_TRY(grove_tour_begin(f, &tour));
  while (grove_tour_step(&tour)) {
    block b = told[tour.leaf - w->leaf.first];
    GROVE_CHECK(leaf_offset[tour.leaf] >= 0 && leaf_offset[tour.leaf] < INT64_MAX / 2,
                GROVE_ERR_ARG, "rank %d: %s: the offset of leaf %lld is %lld", m->ctx->rank,
                m->call, (long long)tour.leaf, (long long)leaf_offset[tour.leaf]);
    for (int64_t k = 0; k < b.size; k++)
      grove_edges_add(&w->edges, leaf_offset[tour.leaf] + k,
                      (grove_root){tour.root.rank, b.offset + k});
  }
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
  if (mine == GROVE_OK) mine = prepare(&m, f, root_size, root_offset, &w);
  GROVE_TRY(grove_making_agree(&m, mine, NULL, 0));
  GROVE_TRY(
    grove_bcast(f, w.unit, w.root, grove_leaf_array_base(&w.leaf, sizeof(block)), MPI_REPLACE));
  mine = collect(&m, f, leaf_offset, &w);
  GROVE_TRY(grove_making_close(&m, mine, &w.edges, out));
fail:
  grove_making_drop(&m);
  free_work(&w);
  return status;
}
