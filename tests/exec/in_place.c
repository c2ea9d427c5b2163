/* Root and leaf in one array: own entries with ghosts behind them, and slots that take turns. Legal
 * as long as no slot that is read is also written; the option `check` must not object. */
#include "check.h"
#include "exercise.h"
#include "oracle.h"
#include "places.h"

#include <stdlib.h>

/* How roots and leaves share the array. */
typedef enum layout {
  GHOSTS_BEHIND, /* roots 0 .. n-1, leaves n .. */
  GHOSTS_BEFORE, /* leaves 0 .. m-1; roots are named from m on */
  TAKING_TURNS,  /* roots in even slots, leaves in odd ones */
  MULTIROOTS,    /* the multiroots, one for every edge, and leaves behind them */
  LAYOUTS
} layout;

static int64_t root_slot(layout how, const int64_t *nleaves, int rank, int64_t i)
{
  return how == GHOSTS_BEFORE ? nleaves[rank] + i : how == TAKING_TURNS ? 2 * i : i;
}

static int64_t leaf_slot(layout how, int64_t nown, int64_t j)
{
  return how == GHOSTS_BEFORE ? j : how == TAKING_TURNS ? 2 * j + 1 : nown + j;
}

static void make_part(rng *r, graph *g, layout how, int rank, const int64_t *nown,
                      const int64_t *nghosts)
{
  part *p = &g->part[rank];
  int64_t n = nown[rank], m = nghosts[rank];
  part_resize(p, how == TAKING_TURNS ? 2 * n : n + (how == GHOSTS_BEFORE ? m : 0), m);
  p->leaf_index = need((size_t)m * sizeof *p->leaf_index);
  for (int64_t j = 0; j < m; j++) p->leaf_index[j] = leaf_slot(how, n, j);
  if (rng_one_in(r, 2)) rng_shuffle(r, m, p->leaf_index);
  for (int64_t j = 0; j < m; j++) {
    int owner = (int)rng_below(r, g->nranks);
    while (nown[owner] == 0) owner = (owner + 1) % g->nranks;
    p->root[j] = (grove_root){owner, root_slot(how, nghosts, owner, rng_below(r, nown[owner]))};
  }
  p->nslots = 2 * (n + m) + 3; /* covers every layout; also the array's length as roots */
}

/* The leaves of a rank lie behind its multiroots, whose number is known only now. */
static void move_behind_multiroots(graph *g)
{
  for (int i = 0; i < g->nranks; i++) {
    part *p = &g->part[i];
    int64_t n = graph_edges_to(g, i);
    p->nslots += n;
    for (int64_t j = 0; j < p->nleaves; j++) p->leaf_index[j] += n;
  }
}

static graph *draw(rng *r, layout how, int nranks)
{
  graph *g = graph_empty(nranks);
  int64_t *nown = need((size_t)nranks * sizeof *nown);
  int64_t *nghosts = need((size_t)nranks * sizeof *nghosts);
  for (int i = 0; i < nranks; i++) {
    nown[i] = i == nranks / 2 ? 7 : rng_below(r, 20); /* somebody owns something */
    nghosts[i] = rng_below(r, 20);
  }
  for (int i = 0; i < nranks; i++) make_part(r, g, how, i, nown, nghosts);
  if (how == MULTIROOTS) move_behind_multiroots(g);
  free(nown);
  free(nghosts);
  return g;
}

/* The oracle on arrays that are one: it goes edge by edge, as the definition does. */
static void run(exercise *e, const place *p)
{
  arrays all = {.nranks = p->size};
  all.root = all.leaf = all.update = need((size_t)p->size * sizeof *all.root);
  for (int i = 0; i < p->size; i++) {
    all.root[i] = array_create(e->u, e->g->part[i].nslots);
    array_fill(&all.root[i], e->u, e->r, mix2(e->seed, (uint64_t)i));
  }
  array x = array_copy(&all.root[p->rank]);
  op_call c = {e->kind, e->f, e->u->type, e->r->op, x.slot0, x.slot0, x.slot0};
  CHECK_OK(call_init(&c, &e->op));
  for (int round = 0; round < 3; round++) { /* each on the result of the one before */
    CHECK_OK(grove_start(e->op));
    CHECK_OK(grove_wait(e->op));
    oracle_run(e->kind, e->g, e->u, e->r, &all);
    array_check(e->u, &x, &all.root[p->rank], "one", kind_name(e->kind));
  }
  CHECK_OK(grove_op_free(&e->op));
  array_free(&x);
  for (int i = 0; i < p->size; i++) array_free(&all.root[i]);
  free(all.root);
}

static void try_forest(const units *types, const place *p, int64_t number)
{
  static const char *const type[] = {"MPI_DOUBLE", "MPI_INT", "3 doubles", "int in 20 bytes"};
  static const char *const operation[] = {"REPLACE", "SUM", "MAX"};
  rng r = rng_from(test_seed(), (uint64_t)number);
  layout how = (layout)(number % LAYOUTS);
  graph *g = draw(&r, how, p->size);
  exercise e = {.g = g, .f = graph_forest(p->ctx, g, p->rank), .me = p->rank};
  for (e.kind = 0; e.kind < OP_KINDS; e.kind++) {
    if (kind_is_multi(e.kind) != (how == MULTIROOTS)) continue;
    e.u = units_find(types, type[rng_below(&r, 4)]);
    e.r = unit_reduction(e.u, operation[rng_below(&r, 3)]);
    e.seed = rng_next(&r);
    run(&e, p);
  }
  CHECK_OK(grove_forest_free(&e.f));
  graph_free(g);
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "exec/in_place");
  units *types = units_create();
  place p = place_create(split(0));
  int64_t cases = test_samples(40);
  for (int64_t i = 0; i < 2 * cases; i++) {
    test_case(i);
    if (i == cases) CHECK_OK(grove_context_set(p.ctx, "check", "1"));
    try_forest(types, &p, i);
  }
  place_free(&p);
  units_free(types);
  return test_end();
}
