/* The forest in which every leaf has a root of its own: its graph is what the order of the leaves
 * gives, a bcast on it is a scatter on the forest it was made of, and a reduce a gather. */
#include "check.h"
#include "exercise.h"
#include "oracle.h"
#include "places.h"
#include "sources.h"

#include <stdlib.h>

/* ---- the graph ---- */

/* The same leaves, each on the root that the oracle has for it. */
static graph *expected(const graph *g)
{
  graph *m = graph_empty(g->nranks);
  int64_t **at = oracle_places(g);
  m->kind = g->kind;
  for (int i = 0; i < g->nranks; i++) {
    const part *from = &g->part[i];
    part *to = &m->part[i];
    part_resize(to, graph_edges_to(g, i), from->nleaves);
    to->nslots = from->nslots;
    if (from->leaf_index != NULL)
      to->leaf_index = need((size_t)from->nleaves * sizeof *to->leaf_index);
    for (int64_t j = 0; j < from->nleaves; j++) {
      if (from->leaf_index != NULL) to->leaf_index[j] = from->leaf_index[j];
      to->root[j].rank = from->root[j].rank;
      to->root[j].index = at[i][j];
    }
  }
  oracle_places_free(g, at);
  return m;
}

/* Every root has one leaf; who deals with whom is as before. */
static void check_queries(grove_forest *m, grove_forest *f, const part *p)
{
  int64_t *degree = need((size_t)p->nroots * sizeof *degree), range[2][2];
  int n[2];
  const int *ranks[2];
  CHECK_OK(grove_forest_degrees(m, degree));
  for (int64_t i = 0; i < p->nroots; i++)
    CHECK(degree[i] == 1, "root %lld has %lld leaves", (long long)i, (long long)degree[i]);
  free(degree);
  CHECK_OK(grove_forest_leaf_range(m, &range[0][0], &range[0][1]));
  CHECK_OK(grove_forest_leaf_range(f, &range[1][0], &range[1][1]));
  CHECK(range[0][0] == range[1][0] && range[0][1] == range[1][1], "the range of leaves differs");
  for (int leaves = 0; leaves < 2; leaves++) {
    CHECK_OK((leaves ? grove_forest_leaf_ranks : grove_forest_root_ranks)(m, &n[0], &ranks[0]));
    CHECK_OK((leaves ? grove_forest_leaf_ranks : grove_forest_root_ranks)(f, &n[1], &ranks[1]));
    CHECK(n[0] == n[1], "%d neighbours, not %d", n[0], n[1]);
    for (int i = 0; i < n[0]; i++) CHECK(ranks[0][i] == ranks[1][i], "neighbour %d differs", i);
  }
}

/* ---- data ---- */

/* What gather and scatter mean on the forest, done by reduce and bcast on its multi-forest. */
static void stands_for_gather(const units *types, exercise e, grove_forest *m, rng *r)
{
  for (op_kind k = KIND_GATHER; k <= KIND_SCATTER; k++) {
    exercise_draw_of(&e, k, types, r);
    exercise_open(&e);
    op_call c = exercise_call(&e);
    c.f = m;
    c.kind = k == KIND_GATHER ? KIND_REDUCE : KIND_BCAST;
    c.op = MPI_REPLACE;
    CHECK_OK(call_block(&c));
    exercise_check(&e);
    exercise_close(&e);
  }
}

/* It is a forest like any other. */
static void any_operation(const units *types, const graph *multi, grove_forest *m, int me, rng *r)
{
  exercise e = {.g = multi, .f = m, .me = me};
  for (op_kind k = 0; k < OP_KINDS; k++) {
    exercise_draw_of(&e, k, types, r);
    exercise_open(&e);
    exercise_block(&e);
    exercise_check(&e);
    exercise_close(&e);
  }
}

/* ---- forests, by every way to set a graph ---- */

static void try_forest(const units *types, const place *p, graph_source s, int64_t number)
{
  rng r = rng_from(test_seed() + (uint64_t)p->side, (uint64_t)(number * GRAPH_SOURCES + s));
  grove_forest *m = NULL, *again = NULL;
  drawn d = draw_from(p, &r, s, number);
  graph *multi = expected(d.g);
  const part *own = &multi->part[p->rank];
  CHECK_OK(grove_forest_multi(d.f, &m));
  graph_check(m, own, "multi");
  check_queries(m, d.f, own);
  CHECK_OK(grove_forest_multi(m, &again)); /* which changes nothing more */
  graph_check(again, own, "multi of multi");
  CHECK_OK(grove_forest_free(&again));
  stands_for_gather(types, (exercise){.g = d.g, .f = d.f, .me = p->rank}, m, &r);
  if (number % 2) CHECK_OK(grove_forest_free(&d.f)); /* it needs nothing of the other */
  any_operation(types, multi, m, p->rank, &r);
  CHECK_OK(grove_forest_free(&m));
  CHECK_OK(grove_forest_free(&d.f));
  graph_free(multi);
  graph_free(d.g);
}

/* ---- lifetimes and mistakes ---- */

/* An operation on it holds it, and it holds the context. */
static void owners_first(void)
{
  place p = place_create(split(0));
  grove_forest *f = NULL, *m = NULL;
  grove_op *op = NULL;
  int root = 0, leaf = p.rank + 1;
  grove_root next = {(p.rank + 1) % p.size, 0};
  CHECK_OK(grove_forest_create(p.ctx, &f));
  CHECK_OK(grove_forest_set_graph(f, 1, 1, NULL, &next));
  CHECK_OK(grove_forest_set_up(f));
  CHECK_OK(grove_forest_multi(f, &m));
  CHECK_OK(grove_reduce_init(m, MPI_INT, &leaf, &root, MPI_REPLACE, &op));
  CHECK_OK(grove_forest_free(&f));
  CHECK_OK(grove_forest_free(&m));
  int previous = (p.rank + p.size - 1) % p.size;
  place_free(&p);
  CHECK_OK(grove_start(op));
  CHECK_OK(grove_wait(op));
  CHECK(root == previous + 1, "the root is %d, not %d", root, previous + 1);
  CHECK_OK(grove_op_free(&op));
}

static void mistakes(const place *p)
{
  grove_forest *f = NULL, *m = NULL;
  CHECK_STATUS(grove_forest_multi(NULL, &m), GROVE_ERR_ARG);
  CHECK_OK(grove_forest_create(p->ctx, &f));
  for (int with_graph = 0; with_graph < 2; with_graph++) {
    grove_status status = grove_forest_multi(f, &m);
    CHECK(status == GROVE_ERR_STATE, "%s", grove_status_name(status));
    CHECK_OK(grove_forest_set_graph(f, 0, 0, NULL, NULL));
  }
  CHECK_OK(grove_forest_set_up(f));
  CHECK_STATUS(grove_forest_multi(f, NULL), GROVE_ERR_ARG);
  CHECK(m == NULL, "an output was set by a call that failed");
  CHECK_OK(grove_forest_multi(f, &m));
  CHECK_STATUS(grove_forest_set_graph(m, 0, 0, NULL, NULL), GROVE_ERR_STATE);
  CHECK_STATUS(grove_forest_set_pattern(m, GROVE_GATHER, 1), GROVE_ERR_STATE);
  CHECK_OK(grove_forest_free(&f));
  CHECK_OK(grove_forest_free(&m));
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "forest/multi");
  units *types = units_create();
  places all = places_create();
  mistakes(&all.place[0]);
  owners_first();
  int64_t cases = test_samples(3 * GRAPH_KINDS);
  for (int64_t i = 0; i < cases; i++) {
    test_case(i);
    for (graph_source s = 0; s < GRAPH_SOURCES; s++)
      try_forest(types, places_turn(&all, i / GRAPH_KINDS + i), s, i);
  }
  places_free(&all);
  units_free(types);
  return test_end();
}
