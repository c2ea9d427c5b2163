/* Roots and leaves with indices beyond 2^31 and 2^32, in arrays that are files of holes: what was
 * named arrives, by value, whatever width the lists have and whatever pattern they follow. */
#include "check.h"
#include "places.h"
#include "random.h"
#include "sparse.h"

#include <stdlib.h>

enum { EDGES = 120 };

/* So many slots has every array. */
static const int64_t SLOTS = ((int64_t)1 << 32) + 5000;

/* How indices go. */
typedef enum texture { SCATTERED, ACROSS, STRIDED, RUNS, LOW, TEXTURES } texture;

typedef struct edge {
  int64_t leaf, root;
} edge;

/* The edges of one rank, all to the next rank or all to itself. */
typedef struct world {
  int nranks, step;
  edge (*edges)[EDGES]; /* of each rank */
} world;

/* Around the places where numbers become too large, or anywhere. */
static int64_t scatter(rng *r)
{
  const int64_t around[] = {0, (int64_t)1 << 31, (int64_t)1 << 32};
  if (rng_one_in(r, 2)) return rng_below(r, SLOTS);
  int64_t index = around[rng_below(r, 3)] + rng_between(r, -60, 60);
  return index < 0 ? -index : index;
}

/* Entry k; entries of a list differ. */
static int64_t index_at(texture t, rng *r, int64_t k)
{
  switch (t) {
  case ACROSS: return ((int64_t)1 << 31) - EDGES / 2 + k;
  case STRIDED: return ((int64_t)1 << 25) * k + 3;
  case RUNS: return k / 5 * 30000001 + k % 5 + ((int64_t)1 << 31);
  case LOW: return 7 * k % 997;
  default: return scatter(r);
  }
}

static int is_new(const edge *list, int64_t k, int64_t leaf)
{
  for (int64_t i = 0; i < k; i++)
    if (list[i].leaf == leaf) return 0;
  return 1;
}

static world draw(rng *r, int nranks, texture leaves, texture roots)
{
  world w = {nranks, (int)rng_below(r, 2), need((size_t)nranks * sizeof *w.edges)};
  for (int rank = 0; rank < nranks; rank++)
    for (int64_t k = 0; k < EDGES; k++) {
      edge *e = &w.edges[rank][k];
      do e->leaf = index_at(leaves, r, k);
      while (!is_new(w.edges[rank], k, e->leaf));
      e->root = index_at(roots, r, k);
      if (roots == SCATTERED && k > 0 && rng_one_in(r, 3))
        e->root = w.edges[rank][rng_below(r, k)].root; /* a root several times */
    }
  return w;
}

static int owner_of(const world *w, int rank)
{
  return (rank + w->step) % w->nranks;
}

static grove_forest *make_forest(const place *p, const world *w, int global)
{
  grove_forest *f = NULL;
  int64_t leaf[EDGES], number[EDGES], first = 0, end = 0;
  grove_root root[EDGES];
  for (int k = 0; k < EDGES; k++) {
    edge e = w->edges[p->rank][k];
    leaf[k] = e.leaf;
    root[k] = (grove_root){owner_of(w, p->rank), e.root};
    number[k] = root[k].rank * SLOTS + e.root;
    if (k == 0 || e.leaf < first) first = e.leaf;
    if (e.leaf >= end) end = e.leaf + 1;
  }
  CHECK_OK(grove_forest_create(p->ctx, &f));
  if (global)
    CHECK_OK(grove_forest_set_graph_global(f, SLOTS, EDGES, leaf, number));
  else
    CHECK_OK(grove_forest_set_graph(f, SLOTS, EDGES, leaf, root));
  CHECK_OK(grove_forest_set_up(f));
  int64_t got_first = 0, got_end = 0;
  CHECK_OK(grove_forest_leaf_range(f, &got_first, &got_end));
  CHECK(got_first == first && got_end == end, "leaves from %lld to %lld, not %lld to %lld",
        (long long)got_first, (long long)got_end, (long long)first, (long long)end);
  return f;
}

/* ---- values: one byte or eight ---- */

typedef struct kind {
  MPI_Datatype type;
  int bytes;
} kind;

static uint64_t cut(const kind *k, uint64_t value)
{
  return k->bytes == 1 ? value & 0xff : value;
}

static uint64_t get(const kind *k, const sparse *array, int64_t i)
{
  if (k->bytes == 1) return ((const uint8_t *)array->memory)[i];
  return ((const uint64_t *)(const void *)array->memory)[i];
}

static void put(const kind *k, const sparse *array, int64_t i, uint64_t value)
{
  if (k->bytes == 1)
    ((uint8_t *)array->memory)[i] = (uint8_t)value;
  else
    ((uint64_t *)(void *)array->memory)[i] = value;
}

static uint64_t root_value(const kind *k, int rank, int64_t i)
{
  return cut(k, mix2((uint64_t)rank, (uint64_t)i) >> 8);
}

static uint64_t leaf_value(const kind *k, int rank, int64_t i)
{
  return cut(k, mix2((uint64_t)rank + 1000, (uint64_t)i) >> 8);
}

static void fill(const kind *k, const place *p, const world *w, const sparse *root,
                 const sparse *leaf)
{
  for (int rank = 0; rank < w->nranks; rank++)
    for (int i = 0; i < EDGES && owner_of(w, rank) == p->rank; i++)
      put(k, root, w->edges[rank][i].root, root_value(k, p->rank, w->edges[rank][i].root));
  for (int i = 0; i < EDGES; i++)
    put(k, leaf, w->edges[p->rank][i].leaf, leaf_value(k, p->rank, w->edges[p->rank][i].leaf));
}

/* ---- operations ---- */

static void try_bcast(const kind *k, const place *p, const world *w, grove_forest *f, MPI_Op op,
                      const sparse *root, const sparse *leaf)
{
  fill(k, p, w, root, leaf);
  CHECK_OK(grove_bcast(f, k->type, root->memory, leaf->memory, op));
  for (int i = 0; i < EDGES; i++) {
    edge e = w->edges[p->rank][i];
    uint64_t value = root_value(k, owner_of(w, p->rank), e.root), got = get(k, leaf, e.leaf);
    if (op == MPI_SUM) value = cut(k, value + leaf_value(k, p->rank, e.leaf));
    CHECK(got == value, "leaf %lld is %llu, not %llu", (long long)e.leaf, (unsigned long long)got,
          (unsigned long long)value);
  }
}

/* What all leaves of a root of this rank add to it. */
static uint64_t sum_at(const kind *k, const place *p, const world *w, int64_t root)
{
  uint64_t sum = root_value(k, p->rank, root);
  for (int rank = 0; rank < w->nranks; rank++)
    for (int i = 0; i < EDGES && owner_of(w, rank) == p->rank; i++)
      if (w->edges[rank][i].root == root) sum += leaf_value(k, rank, w->edges[rank][i].leaf);
  return cut(k, sum);
}

static void try_reduce(const kind *k, const place *p, const world *w, grove_forest *f,
                       const sparse *root, const sparse *leaf)
{
  fill(k, p, w, root, leaf);
  CHECK_OK(grove_reduce(f, k->type, leaf->memory, root->memory, MPI_SUM));
  for (int rank = 0; rank < w->nranks; rank++)
    for (int i = 0; i < EDGES && owner_of(w, rank) == p->rank; i++) {
      int64_t at = w->edges[rank][i].root;
      uint64_t value = sum_at(k, p, w, at), got = get(k, root, at);
      CHECK(got == value, "root %lld is %llu, not %llu", (long long)at, (unsigned long long)got,
            (unsigned long long)value);
    }
}

static void run(const place *p, int64_t number, const sparse *root, const sparse *leaf)
{
  const kind kinds[] = {{MPI_UINT8_T, 1}, {MPI_UINT64_T, 8}};
  rng r = rng_from(test_seed(), (uint64_t)number);
  world w =
    draw(&r, p->size, (texture)(number % TEXTURES), (texture)(number / TEXTURES % TEXTURES));
  test_case(number);
  grove_forest *f = make_forest(p, &w, (int)rng_below(&r, 2));
  for (int i = 0; i < 2; i++) {
    try_bcast(&kinds[i], p, &w, f, MPI_REPLACE, root, leaf);
    try_bcast(&kinds[i], p, &w, f, MPI_SUM, root, leaf);
    try_reduce(&kinds[i], p, &w, f, root, leaf);
  }
  CHECK_OK(grove_forest_free(&f));
  free(w.edges);
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "exec/large_indices");
  sparse root = sparse_file(8 * SLOTS), leaf = sparse_file(8 * SLOTS);
  if (!sparse_everywhere(&root) || !sparse_everywhere(&leaf))
    return test_skip("there are no files with 32 GiB of holes here, or no addresses for them");
  place p = place_create(split(0));
  for (int64_t i = 0; i < test_samples(TEXTURES * TEXTURES); i++) run(&p, i, &root, &leaf);
  place_free(&p);
  sparse_free(&root);
  sparse_free(&leaf);
  return test_end();
}
