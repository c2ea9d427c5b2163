/* Random forests, types, operations and ways to call them, on 1 to all ranks of the job: the arrays
 * must equal the serial oracle's in every byte, gaps and canaries included. */
#include "check.h"
#include "exercise.h"
#include "places.h"

enum { ROUNDS = 3 };

/* By wait, by test, or by test and then wait: each rank as it likes. */
static void complete(grove_op *op, rng *mine)
{
  int how = (int)rng_below(mine, 3);
  if (how > 0) polite_finish(op);
  if (how != 1) CHECK_OK(grove_wait(op));
}

/* One operation, started again and again on the same arrays with new values. */
static void run_persistent(exercise e, rng *mine)
{
  exercise_open(&e);
  exercise_init(&e);
  for (int round = 0; round < ROUNDS; round++) {
    exercise_renew(&e, round);
    CHECK_OK(grove_start(e.op));
    complete(e.op, mine);
    exercise_check(&e);
  }
  exercise_close(&e);
}

/* One shot at a time, every time with other arrays: the old ones are kept until the end. */
static void run_one_shots(exercise e, rng *mine, op_form how)
{
  exercise shot[ROUNDS];
  for (int round = 0; round < ROUNDS; round++) {
    shot[round] = e;
    shot[round].seed = mix2(e.seed, (uint64_t)round);
    exercise_open(&shot[round]);
    if (how == FORM_BLOCKING) {
      exercise_block(&shot[round]);
    } else {
      exercise_begin(&shot[round]);
      if (rng_one_in(mine, 2)) polite_finish(shot[round].op);
      CHECK_OK(grove_end(&shot[round].op));
      CHECK(shot[round].op == NULL, "an ended operation is not NULL");
    }
    exercise_check(&shot[round]);
  }
  for (int round = 0; round < ROUNDS; round++) exercise_close(&shot[round]);
}

static void run(exercise e, rng *mine, op_form how)
{
  if (how == FORM_INIT)
    run_persistent(e, mine);
  else
    run_one_shots(e, mine, how);
}

/* Every kind of operation on every type: what SAMPLES=all does with each forest. */
static void try_everything(const units *types, exercise e, rng *r, rng *mine)
{
  for (int i = 0; i < types->n; i++)
    for (int j = 0; j < types->unit[i].nreductions; j++)
      for (op_kind k = 0; k < OP_KINDS; k++) {
        if (!exercise_set(&e, k, &types->unit[i], j)) continue;
        e.in_place = k == KIND_FETCH && j % 2;
        e.seed = rng_next(r);
        run(e, mine, (op_form)rng_below(r, OP_FORMS));
      }
}

/* Each kind of operation once, in a form that changes from forest to forest. */
static void try_some(const units *types, exercise e, rng *r, rng *mine, int64_t number)
{
  for (op_kind k = 0; k < OP_KINDS; k++) {
    exercise_draw_of(&e, k, types, r);
    run(e, mine, (op_form)((number + k) % OP_FORMS));
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
  int64_t cases = test_exhaustive() ? (int64_t)all.n * GRAPH_KINDS : test_samples(120);
  for (int64_t i = 0; i < cases; i++) {
    test_case(i);
    try_forest(types, places_turn(&all, i), i, (graph_kind)(i / all.n % GRAPH_KINDS));
  }
  places_free(&all);
  units_free(types);
  return test_end();
}
