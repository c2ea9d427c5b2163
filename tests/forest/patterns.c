/* Graphs from patterns are the graphs that the header describes, and work as such. */
#include "check.h"
#include "exercise.h"
#include "places.h"

#include <stdlib.h>

static void check_expanded(grove_forest *f, const part *p)
{
  int64_t nroots = -1, nleaves = -1;
  const int64_t *index = NULL;
  const grove_root *root = NULL;
  CHECK_OK(grove_forest_graph(f, &nroots, &nleaves, &index, &root));
  CHECK(nroots == p->nroots && nleaves == p->nleaves, "%lld roots and %lld leaves",
        (long long)nroots, (long long)nleaves);
  CHECK(index == NULL, "leaf j of a pattern is slot j");
  for (int64_t j = 0; j < nleaves; j++)
    CHECK(root[j].rank == p->root[j].rank && root[j].index == p->root[j].index,
          "leaf %lld is joined to (%d, %lld)", (long long)j, root[j].rank,
          (long long)root[j].index);
}

static void try_pattern(const units *types, const place *p, grove_pattern pattern, int64_t number)
{
  rng r = rng_from(test_seed() + (uint64_t)p->side, (uint64_t)number);
  int64_t *n = need((size_t)p->size * sizeof *n), same = rng_below(&r, 4);
  for (int i = 0; i < p->size; i++) n[i] = pattern == GROVE_ALLTOALL ? same : rng_below(&r, 5);
  graph *g = graph_pattern(pattern, p->size, n);
  exercise e = {.g = g, .me = p->rank};
  CHECK_OK(grove_forest_create(p->ctx, &e.f));
  CHECK_OK(grove_forest_set_pattern(e.f, pattern, n[p->rank]));
  CHECK_OK(grove_forest_set_up(e.f));
  check_expanded(e.f, &g->part[p->rank]);
  for (op_kind k = 0; k < OP_KINDS; k++) {
    exercise_draw_of(&e, k, types, &r);
    exercise_open(&e);
    exercise_block(&e);
    exercise_check(&e);
    exercise_close(&e);
  }
  CHECK_OK(grove_forest_free(&e.f));
  graph_free(g);
  free(n);
}

int main(int argc, char **argv)
{
  static const grove_pattern pattern[] = {GROVE_ALLGATHER, GROVE_GATHER, GROVE_ALLTOALL};
  test_begin(&argc, &argv, "forest/patterns");
  units *types = units_create();
  places all = places_create();
  int64_t cases = test_samples(45);
  for (int64_t i = 0; i < cases; i++) {
    test_case(i);
    try_pattern(types, places_turn(&all, i / 3), pattern[i % 3], i);
  }
  places_free(&all);
  units_free(types);
  return test_end();
}
