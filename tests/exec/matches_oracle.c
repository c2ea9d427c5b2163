/* Random forests, types, operations and ways to call them, on 1 to all ranks of the job: the arrays
 * must equal the serial oracle's in every byte, gaps and canaries included. */
#include "check.h"
#include "exercise.h"
#include "places.h"

/* Every kind of operation on every type: what SAMPLES=all does with each forest. */
static void try_everything(const units *types, exercise e, rng *r, rng *mine)
{
  for (int i = 0; i < types->n; i++)
    for (int j = 0; j < types->unit[i].nreductions; j++)
      for (op_kind k = 0; k < OP_KINDS; k++) {
        if (!exercise_set(&e, k, &types->unit[i], j)) continue;
        e.in_place = k == KIND_FETCH && j % 2;
        e.seed = rng_next(r);
        exercise_run(e, (op_form)rng_below(r, OP_FORMS), mine);
      }
}

/* Each kind of operation once, in a form that changes from forest to forest. */
static void try_some(const units *types, exercise e, rng *r, rng *mine, int64_t number)
{
  for (op_kind k = 0; k < OP_KINDS; k++) {
    exercise_draw_of(&e, k, types, r);
    exercise_run(e, (op_form)((number + k) % OP_FORMS), mine);
  }
}

static void try_forest(const units *types, const place *p, int64_t number, graph_kind kind)
{
  rng r = rng_from(test_seed() + (uint64_t)p->side, (uint64_t)number);
  graph *g = graph_random(&r, kind, p->size);
  exercise e = {.g = g, .f = graph_forest(p->ctx, g, p->rank), .me = p->rank};
  rng mine = rng_from(r.state, (uint64_t)world_rank());
  if (test_exhaustive())
    try_everything(types, e, &r, &mine);
  else
    try_some(types, e, &r, &mine, number);
  CHECK_OK(grove_forest_free(&e.f));
  graph_free(g);
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "exec/matches_oracle");
  units *types = units_create();
  places all = places_create();
  int64_t cases = test_exhaustive() ? (int64_t)all.n * GRAPH_KINDS_AND_REPEATED : test_samples(78);
  for (int64_t i = 0; i < cases; i++) {
    test_case(i);
    try_forest(types, places_turn(&all, i), i, (graph_kind)(i / all.n % GRAPH_KINDS_AND_REPEATED));
  }
  places_free(&all);
  units_free(types);
  return test_end();
}
