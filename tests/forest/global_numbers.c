/* Roots named by global number, over distributions with empty ranks and one rank that owns nearly
 * all: the forest equals the one made from pairs. */
#include "check.h"
#include "exercise.h"
#include "places.h"

#include <stdlib.h>

/* Many empty ranks; or one rank with nearly everything; or anything. */
static void draw_distribution(rng *r, graph *g, int64_t *first)
{
  int how = (int)rng_below(r, 3), rich = (int)rng_below(r, g->nranks);
  first[0] = 0;
  for (int i = 0; i < g->nranks; i++) {
    int64_t n =
      how == 0 ? (rng_one_in(r, 3) ? rng_below(r, 9) : 0) : rng_below(r, how == 1 ? 2 : 30);
    if (i == rich) n = how == 1 ? 100 : n + 1; /* somebody owns something */
    g->part[i].nroots = n;
    first[i + 1] = first[i] + n;
  }
}

static int owner_of(const int64_t *first, int64_t number)
{
  int rank = 0;
  while (first[rank + 1] <= number) rank++;
  return rank;
}

static graph *draw(rng *r, int nranks, int64_t *first, int64_t **number)
{
  graph *g = graph_empty(nranks);
  draw_distribution(r, g, first);
  for (int i = 0; i < nranks; i++) {
    part *p = &g->part[i];
    part_resize(p, p->nroots, rng_below(r, 40));
    number[i] = need((size_t)p->nleaves * sizeof *number[i]);
    for (int64_t j = 0; j < p->nleaves; j++) {
      number[i][j] = rng_below(r, first[nranks]);
      int owner = owner_of(first, number[i][j]);
      p->root[j] = (grove_root){owner, number[i][j] - first[owner]};
    }
    if (rng_one_in(r, 2)) continue;
    p->leaf_index = need((size_t)p->nleaves * sizeof *p->leaf_index);
    for (int64_t j = 0; j < p->nleaves; j++) p->leaf_index[j] = 2 * (p->nleaves - 1 - j);
    p->nslots = 2 * p->nleaves;
  }
  return g;
}

static void check_pairs(grove_forest *f, const part *p)
{
  int64_t nleaves = -1;
  const int64_t *index = NULL;
  const grove_root *root = NULL;
  CHECK_OK(grove_forest_graph(f, NULL, &nleaves, &index, &root));
  CHECK(nleaves == p->nleaves, "%lld leaves, not %lld", (long long)nleaves, (long long)p->nleaves);
  for (int64_t j = 0; j < nleaves; j++) {
    CHECK(root[j].rank == p->root[j].rank && root[j].index == p->root[j].index,
          "leaf %lld is joined to (%d, %lld), not to (%d, %lld)", (long long)j, root[j].rank,
          (long long)root[j].index, p->root[j].rank, (long long)p->root[j].index);
    CHECK((index != NULL ? index[j] : j) == part_slot(p, j), "leaf %lld moved", (long long)j);
  }
}

static void try_numbers(const units *types, const place *p, int64_t seed)
{
  rng r = rng_from(test_seed() + (uint64_t)p->side, (uint64_t)seed);
  int64_t *first = need((size_t)(p->size + 1) * sizeof *first);
  int64_t **number = need((size_t)p->size * sizeof *number);
  graph *g = draw(&r, p->size, first, number);
  const part *own = &g->part[p->rank];
  exercise e = {.g = g, .me = p->rank};
  CHECK_OK(grove_forest_create(p->ctx, &e.f));
  CHECK_OK(grove_forest_set_graph_global(e.f, own->nroots, own->nleaves, own->leaf_index,
                                         number[p->rank]));
  for (int i = 0; i < p->size; i++) free(number[i]); /* it was copied */
  CHECK_OK(grove_forest_set_up(e.f));
  check_pairs(e.f, own);
  exercise_draw_of(&e, (op_kind)(seed % OP_KINDS), types, &r);
  exercise_open(&e);
  exercise_block(&e);
  exercise_check(&e);
  exercise_close(&e);
  CHECK_OK(grove_forest_free(&e.f));
  graph_free(g);
  free(number);
  free(first);
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "forest/global_numbers");
  units *types = units_create();
  places all = places_create();
  int64_t cases = test_samples(60);
  for (int64_t i = 0; i < cases; i++) {
    test_case(i);
    try_numbers(types, places_turn(&all, i), i);
  }
  places_free(&all);
  units_free(types);
  return test_end();
}
