/* Sums of numbers that do not add up exactly: two runs give the same bits, and with the option
 * `deterministic` they are the bits of the defined order. */
#include "check.h"
#include "exercise.h"
#include "oracle.h"
#include "places.h"

#include <string.h>

static void fill(exercise *e)
{
  for (int i = 0; i < e->g->nranks; i++) {
    array_fill_rough(&e->all.root[i], e->u, mix2(e->seed, (uint64_t)(2 * i)));
    array_fill_rough(&e->all.leaf[i], e->u, mix2(e->seed, (uint64_t)(2 * i + 1)));
  }
  array_assign(&e->root, &e->all.root[e->me]);
  array_assign(&e->leaf, &e->all.leaf[e->me]);
}

static void run(exercise *e)
{
  fill(e);
  CHECK_OK(grove_start(e->op));
  CHECK_OK(grove_wait(e->op));
}

static void try_unit(exercise e, int deterministic)
{
  exercise_open(&e);
  exercise_init(&e);
  run(&e);
  array first = array_copy(&e.root);
  for (int round = 0; round < 3; round++) {
    run(&e);
    array_check(e.u, &e.root, &first, "root", "a second run's");
  }
  if (deterministic) exercise_check(&e);
  array_free(&first);
  exercise_close(&e);
}

static void try_forest(const units *types, const place *p, int64_t number, int deterministic)
{
  static const char *const name[] = {"MPI_FLOAT", "MPI_DOUBLE", "MPI_LONG_DOUBLE",
                                     "MPI_C_DOUBLE_COMPLEX", "3 doubles"};
  rng r = rng_from(test_seed() + (uint64_t)p->side, (uint64_t)number);
  graph_kind kind = number % 2 ? GRAPH_STAR : GRAPH_DENSE;
  graph *g = graph_random(&r, kind, p->size);
  exercise e = {.g = g, .f = graph_forest(p->ctx, g, p->rank), .me = p->rank, .reduces = 1};
  for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
    e.u = units_find(types, name[i]);
    e.r = unit_reduction(e.u, "SUM");
    e.seed = rng_next(&r);
    try_unit(e, deterministic);
  }
  CHECK_OK(grove_forest_free(&e.f));
  graph_free(g);
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "exec/same_bits");
  units *types = units_create();
  place p = place_create(split(0));
  int64_t cases = test_samples(10);
  for (int64_t i = 0; i < 2 * cases; i++) {
    test_case(i);
    if (i == cases) CHECK_OK(grove_context_set(p.ctx, "deterministic", "1"));
    try_forest(types, &p, i, i >= cases);
  }
  place_free(&p);
  units_free(types);
  return test_end();
}
