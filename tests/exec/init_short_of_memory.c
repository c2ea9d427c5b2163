/* Memory runs out while an operation is made, at each of its allocations in turn: the call says so
 * and makes nothing; and with enough memory the same call on the same forest succeeds, and moves
 * what it should. On one rank, where whatever fails is everybody's failure. */
#include "check.h"
#include "exercise.h"
#include "generate.h"
#include "places.h"
#include "scarce.h"

#include <stdlib.h>

enum { MEMBERS = 3 };

/* Besides those of scarce.h. */
void *__real_aligned_alloc(size_t alignment, size_t bytes);
void *__wrap_aligned_alloc(size_t alignment, size_t bytes);

void *__wrap_aligned_alloc(size_t alignment, size_t bytes)
{
  return runs_out(bytes) ? NULL : __real_aligned_alloc(alignment, bytes);
}

static void arm(int64_t number)
{
  scarce.met = 0;
  scarce.fail = number;
  scarce.armed = 1;
}

/* Was there an allocation of this number? Then the call must have failed. */
static int disarm(const char *what, int64_t number, grove_status status)
{
  scarce.armed = 0;
  if (scarce.met <= number) {
    CHECK(status == GROVE_OK, "%s: %s, and there was memory", what, grove_last_error());
    return 0;
  }
  CHECK(status == GROVE_ERR_MEMORY, "%s: allocation %lld failed, and the call says %s", what,
        (long long)number, grove_status_name(status));
  return 1;
}

static void works(exercise *e, int round)
{
  exercise_renew(e, round);
  CHECK_OK(grove_start(e->op));
  CHECK_OK(grove_wait(e->op));
  exercise_check(e);
}

/* Returns whether there was an allocation of this number. */
static int fail_one(const place *p, exercise e, op_form how, int64_t number)
{
  char name[160];
  e.f = graph_forest(p->ctx, e.g, p->rank);
  exercise_open(&e);
  op_call c = exercise_call(&e);
  arm(number);
  grove_status status = call_in_form(&c, how, &e.op);
  int failed = disarm(exercise_name(&e, name), number, status);
  CHECK(!failed || e.op == NULL, "%s: it failed, and made something", name);
  if (!failed && how == FORM_BEGIN) CHECK_OK(grove_end(&e.op));
  CHECK_OK(grove_op_free(&e.op));
  exercise_init(&e);
  works(&e, 1);
  exercise_close(&e);
  CHECK_OK(grove_forest_free(&e.f));
  return failed;
}

static int fail_bundle(exercise *member, int64_t number)
{
  grove_op *list[MEMBERS], *op = NULL;
  for (int i = 0; i < MEMBERS; i++) list[i] = member[i].op;
  arm(number);
  int failed = disarm("grove_op_bundle", number, grove_op_bundle(MEMBERS, list, &op));
  CHECK(!failed == (op != NULL), "a bundle, or none");
  CHECK_OK(grove_op_free(&op));
  CHECK_OK(grove_op_bundle(MEMBERS, list, &op));
  for (int i = 0; i < MEMBERS; i++) exercise_renew(&member[i], 1);
  CHECK_OK(grove_start(op));
  CHECK_OK(grove_wait(op));
  for (int i = 0; i < MEMBERS; i++) exercise_check(&member[i]);
  CHECK_OK(grove_op_free(&op));
  return failed;
}

static void bundles(const place *p, const graph *g, const units *types)
{
  exercise member[MEMBERS];
  int64_t number = 0;
  for (int i = 0; i < MEMBERS; i++) {
    member[i] = (exercise){.g = g, .me = p->rank, .seed = (uint64_t)i};
    member[i].f = graph_forest(p->ctx, g, p->rank);
    CHECK(exercise_set(&member[i], (op_kind)i, units_find(types, "MPI_INT"), 0), "no such kind");
    exercise_open(&member[i]);
    exercise_init(&member[i]);
  }
  while (fail_bundle(member, number)) number++;
  CHECK(number > 10, "only %lld allocations failed", (long long)number);
  for (int i = 0; i < MEMBERS; i++) {
    exercise_close(&member[i]);
    CHECK_OK(grove_forest_free(&member[i].f));
  }
}

int main(int argc, char **argv)
{
  static const char *const names[] = {"MPI_INT", "vector of ints with gaps", "affine map"};
  test_begin(&argc, &argv, "exec/init_short_of_memory");
  place p = place_create(split(0));
  units *types = units_create();
  rng r = rng_from(test_seed(), 0);
  for (graph_kind kind = GRAPH_DENSE; kind <= GRAPH_DUPLICATES; kind++) {
    graph *g = graph_random(&r, kind, 1);
    test_case(kind);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
      for (op_kind k = 0; k < OP_KINDS; k++)
        for (op_form how = FORM_INIT; how <= FORM_BEGIN; how++) {
          exercise e = {.g = g, .me = p.rank, .seed = i};
          int64_t number = 0;
          if (!exercise_set(&e, k, units_find(types, names[i]), 0)) continue;
          while (fail_one(&p, e, how, number)) number++;
          CHECK(number > 5, "only %lld allocations failed", (long long)number);
        }
    bundles(&p, g, types);
    graph_free(g);
  }
  units_free(types);
  place_free(&p);
  return test_end();
}
