/* Graphs from patterns are the graphs that the header describes, and work as such. */
#include "check.h"
#include "exercise.h"
#include "places.h"

#include <stdlib.h>

/* Every root of every rank, in rank order, for this rank. */
static void join_all(graph *g, int me)
{
  int64_t total = 0, j = 0;
  for (int i = 0; i < g->nranks; i++) total += g->part[i].nroots;
  part_resize(&g->part[me], g->part[me].nroots, total);
  for (int i = 0; i < g->nranks; i++)
    for (int64_t k = 0; k < g->part[i].nroots; k++) g->part[me].root[j++] = (grove_root){i, k};
}

static graph *expected(grove_pattern pattern, int nranks, const int64_t *n)
{
  graph *g = graph_empty(nranks);
  for (int i = 0; i < nranks; i++) {
    g->part[i].nroots = pattern == GROVE_ALLTOALL ? n[i] * nranks : n[i];
    if (pattern == GROVE_ALLTOALL) part_resize(&g->part[i], n[i] * nranks, n[i] * nranks);
  }
  for (int i = 0; i < nranks; i++) {
    if (pattern == GROVE_ALLGATHER || (pattern == GROVE_GATHER && i == 0)) join_all(g, i);
    for (int64_t k = 0; pattern == GROVE_ALLTOALL && k < n[i] * nranks; k++)
      g->part[i].root[k] = (grove_root){(int)(k / n[i]), i * n[i] + k % n[i]};
  }
  return g;
}

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
  graph *g = expected(pattern, p->size, n);
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
