/* Operations with nothing to do: units of no bytes, graphs without edges, without roots or leaves,
 * ranks that have nothing at all, NULL for arrays that have no entries; every kind and form, and in
 * bundles. They complete, and nothing is touched. */
#include "check.h"
#include "exercise.h"
#include "places.h"

/* Who has something. */
typedef enum shape {
  NOBODY,         /* no roots and no leaves anywhere */
  ROOTS_ONLY,     /* nothing is joined to them */
  ONE_OWNER,      /* rank 0 owns all roots; the last rank has all leaves */
  ONE_IS_EMPTY,   /* all but one have roots, and leaves on the others' */
  ONLY_ONESELF,   /* one rank, joined to itself; the others have nothing */
  NO_LEAVES_HERE, /* rank 0 has only roots, the others only leaves */
  SHAPES
} shape;

enum { ROOTS = 3, LEAVES = 5 };

static int has_roots(shape s, int rank, int nranks)
{
  switch (s) {
  case NOBODY: return 0;
  case ROOTS_ONLY: return 1;
  case ONE_IS_EMPTY: return nranks == 1 || rank != nranks / 2;
  case ONLY_ONESELF: return rank == nranks - 1;
  default: return rank == 0;
  }
}

static int has_leaves(shape s, int rank, int nranks)
{
  switch (s) {
  case NOBODY:
  case ROOTS_ONLY: return 0;
  case NO_LEAVES_HERE: return rank > 0;
  case ONE_IS_EMPTY: return nranks == 1 || rank != nranks / 2;
  default: return rank == nranks - 1;
  }
}

static graph *draw(shape s, int nranks)
{
  graph *g = graph_empty(nranks);
  for (int i = 0; i < nranks; i++) {
    part_resize(&g->part[i], has_roots(s, i, nranks) ? ROOTS : 0,
                has_leaves(s, i, nranks) ? LEAVES : 0);
    for (int64_t j = 0; j < g->part[i].nleaves; j++) {
      int owner = (i + (int)j) % nranks;
      while (!has_roots(s, owner, nranks)) owner = (owner + 1) % nranks;
      g->part[i].root[j].rank = owner;
      g->part[i].root[j].index = j % ROOTS;
    }
  }
  return g;
}

static void run(exercise e, op_form how)
{
  exercise_open(&e);
  for (int round = 0; round < 2; round++) {
    exercise_renew(&e, round);
    if (how == FORM_BLOCKING) {
      exercise_block(&e);
    } else if (how == FORM_BEGIN) {
      exercise_begin(&e);
      CHECK_OK(grove_end(&e.op));
    } else {
      if (round == 0) exercise_init(&e);
      CHECK_OK(grove_start(e.op));
      CHECK_OK(grove_wait(e.op));
    }
    exercise_check(&e);
  }
  exercise_close(&e);
}

/* All kinds of it, with and without NULL (by the seed), as one. */
static void run_bundle(exercise e)
{
  enum { MEMBERS = 2 * OP_KINDS };
  exercise member[MEMBERS];
  grove_op *list[MEMBERS], *op = NULL;
  for (int i = 0; i < MEMBERS; i++) {
    member[i] = e;
    member[i].kind = (op_kind)(i % OP_KINDS);
    member[i].seed = (uint64_t)i;
    exercise_open(&member[i]);
    exercise_init(&member[i]);
    list[i] = member[i].op;
  }
  CHECK_OK(grove_op_bundle(MEMBERS, list, &op));
  for (int round = 0; round < 2; round++) {
    for (int i = 0; i < MEMBERS; i++) exercise_renew(&member[i], round);
    CHECK_OK(grove_start(op));
    CHECK_OK(grove_wait(op));
    for (int i = 0; i < MEMBERS; i++) exercise_check(&member[i]);
  }
  CHECK_OK(grove_op_free(&op));
  for (int i = 0; i < MEMBERS; i++) exercise_close(&member[i]);
}

static void try_shape(const units *types, const place *p, shape s)
{
  static const char *const name[] = {"nothing", "nothing in 8 bytes", "MPI_INT", "3 doubles"};
  static const char *const operation[] = {"REPLACE", "NO_OP"};
  graph *g = draw(s, p->size);
  exercise e = {.g = g, .f = graph_forest(p->ctx, g, p->rank), .me = p->rank};
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 2; j++) {
      e.u = units_find(types, name[i]);
      e.r = unit_reduction(e.u, operation[j]);
      for (e.kind = 0; e.kind < OP_KINDS; e.kind++)
        for (op_form how = 0; how < OP_FORMS; how++) {
          e.seed = (uint64_t)(i + j + how); /* even: no NULL; odd: NULL where nothing is */
          run(e, how);
        }
      run_bundle(e);
    }
  CHECK_OK(grove_forest_free(&e.f));
  graph_free(g);
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "exec/zero_size");
  units *types = units_create();
  places all = places_create();
  for (int64_t i = 0; i < SHAPES * all.n; i++) {
    test_case(i);
    try_shape(types, &all.place[i / SHAPES], (shape)(i % SHAPES));
  }
  places_free(&all);
  units_free(types);
  return test_end();
}
