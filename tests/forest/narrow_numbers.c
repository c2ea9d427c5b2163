/* grove_forest_set_graph32: lists of 32-bit numbers make the forest that lists of 64-bit ones make,
 * also where ranks differ in which they have; what is wrong with them is told in the same words. */
#include "check.h"
#include "generate.h"
#include "places.h"

#include <stdlib.h>
#include <string.h>

/* ---- a part in 32 bits ---- */

typedef struct narrow {
  int32_t *leaf_index;
  grove_root32 *root;
} narrow;

static narrow narrow_of(const part *p)
{
  size_t n = p->nleaves > 0 ? (size_t)p->nleaves : 0;
  narrow out = {NULL, malloc((n + 1) * sizeof *out.root)};
  if (p->leaf_index) out.leaf_index = malloc((n + 1) * sizeof *out.leaf_index);
  for (size_t i = 0; i < n; i++) {
    if (p->leaf_index) out.leaf_index[i] = (int32_t)p->leaf_index[i];
    out.root[i] = (grove_root32){p->root[i].rank, (int32_t)p->root[i].index};
  }
  return out;
}

static grove_forest *forest_of(const place *p, const graph *g, int in_32_bits)
{
  const part *own = &g->part[p->rank];
  grove_forest *f = NULL;
  CHECK_OK(grove_forest_create(p->ctx, &f));
  if (g->kind == GRAPH_REPEATED) CHECK_OK(grove_forest_allow_duplicates(f));
  if (!in_32_bits) {
    CHECK_OK(grove_forest_set_graph(f, own->nroots, own->nleaves, own->leaf_index, own->root));
    return f;
  }
  narrow lists = narrow_of(own);
  CHECK_OK(grove_forest_set_graph32(f, own->nroots, own->nleaves, lists.leaf_index, lists.root));
  memset(lists.root, 0xff,
         (size_t)own->nleaves * sizeof *lists.root); /* the lists are the user's */
  if (lists.leaf_index) memset(lists.leaf_index, 0xff, (size_t)own->nleaves * sizeof(int32_t));
  free(lists.leaf_index);
  free(lists.root);
  return f;
}

/* ---- the same graph, and the same values ---- */

static void check_graph(grove_forest *f, const part *expected)
{
  int64_t nroots, nleaves;
  const int64_t *leaf_index;
  const grove_root *root;
  CHECK_OK(grove_forest_graph(f, &nroots, &nleaves, &leaf_index, &root));
  CHECK(nroots == expected->nroots && nleaves == expected->nleaves, "%lld roots, %lld leaves",
        (long long)nroots, (long long)nleaves);
  for (int64_t i = 0; i < nleaves; i++) {
    int64_t slot = leaf_index ? leaf_index[i] : i;
    CHECK(slot == part_slot(expected, i), "leaf %lld is in slot %lld", (long long)i,
          (long long)slot);
    CHECK(root[i].rank == expected->root[i].rank && root[i].index == expected->root[i].index,
          "leaf %lld is on root %lld of rank %d", (long long)i, (long long)root[i].index,
          root[i].rank);
  }
}

static void check_values(const place *p, grove_forest *f, grove_forest *wide)
{
  enum { MOST = 2 * GRAPH_MOST_ROOTS + 2 * GRAPH_MOST_SLOTS };
  double root[MOST], leaf[2][MOST];
  memset(leaf, 0, sizeof leaf);
  for (int i = 0; i < MOST; i++) root[i] = 1000 * p->rank + i;
  CHECK_OK(grove_bcast(f, MPI_DOUBLE, root, leaf[0], MPI_SUM));
  CHECK_OK(grove_bcast(wide, MPI_DOUBLE, root, leaf[1], MPI_SUM));
  CHECK(memcmp(leaf[0], leaf[1], sizeof leaf[0]) == 0, "other values");
}

static void try_graph(const place *p, const graph *g, int which)
{
  int in_32_bits = which == 0 || (p->rank + which) % 2;
  grove_forest *f = forest_of(p, g, in_32_bits), *wide = forest_of(p, g, 0);
  CHECK_OK(grove_forest_set_up(f));
  CHECK_OK(grove_forest_set_up(wide));
  check_graph(f, &g->part[p->rank]);
  check_values(p, f, wide);
  CHECK_OK(grove_forest_free(&f));
  CHECK_OK(grove_forest_free(&wide));
}

/* ---- wrong graphs: of one rank, told to all ---- */

static void refuse(const place *p, int64_t nroots, int64_t nleaves, const int32_t *leaf_index,
                   const grove_root32 *root, const char *sentence)
{
  grove_forest *f = NULL;
  int wrong = p->rank == p->size - 1;
  CHECK_OK(grove_forest_create(p->ctx, &f));
  if (wrong)
    CHECK_OK(grove_forest_set_graph32(f, nroots, nleaves, leaf_index, root));
  else
    CHECK_OK(grove_forest_set_graph32(f, 4, 0, NULL, NULL));
  CHECK_STATUS(grove_forest_set_up(f), GROVE_ERR_GRAPH);
  CHECK(strstr(grove_last_error(), sentence) != NULL, "it says: %s", grove_last_error());
  CHECK_OK(grove_forest_set_graph32(f, 4, 0, NULL, NULL)); /* a new one may be set */
  CHECK_OK(grove_forest_set_up(f));
  CHECK_STATUS(grove_forest_set_graph32(f, 4, 0, NULL, NULL), GROVE_ERR_STATE);
  CHECK_OK(grove_forest_free(&f));
}

static void wrong_graphs(const place *p)
{
  const grove_root32 good[3] = {{0, 0}, {0, 1}, {0, 2}}, no_rank[3] = {{0, 0}, {-1, 1}, {0, 2}};
  const grove_root32 no_root[3] = {{0, 0}, {0, 9}, {0, 2}}, negative[3] = {{0, 0}, {0, -5}, {0, 2}};
  const int32_t slots[3] = {5, 1, 3}, twice[3] = {5, 1, 5}, below[3] = {5, -1, 3};
  refuse(p, 4, 3, slots, no_rank, "leaf 1 (entry 1 of its list) is joined to root 1 of rank -1");
  refuse(p, 4, 3, slots, no_root, "leaf 1 (entry 1 of its list) is joined to root 9 of rank 0");
  refuse(p, 4, 3, NULL, negative, "a root index must not be negative");
  refuse(p, 4, 3, twice, good, "leaf 5 is there twice: entry 0");
  refuse(p, 4, 3, below, good, "is leaf -1");
  refuse(p, 4, 3, slots, NULL, "the array of their roots is NULL");
  refuse(p, 4, -3, slots, good, "the number of leaves is -3");
  refuse(p, -4, 3, slots, good, "the number of roots is -4");
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "forest/narrow_numbers");
  places all = places_create();
  int64_t n = test_samples(3 * GRAPH_KINDS_AND_REPEATED);
  for (int64_t i = 0; i < n; i++) {
    test_case(i);
    const place *p = places_turn(&all, i);
    rng r = rng_from(test_seed() + (uint64_t)p->side, (uint64_t)i);
    graph *g = graph_random(&r, (graph_kind)(i % GRAPH_KINDS_AND_REPEATED), p->size);
    try_graph(p, g, (int)(i / GRAPH_KINDS_AND_REPEATED));
    graph_free(g);
  }
  CHECK_STATUS(grove_forest_set_graph32(NULL, 0, 0, NULL, NULL), GROVE_ERR_ARG);
  wrong_graphs(&all.place[0]);
  places_free(&all);
  return test_end();
}
