/* Wrong calls get a status and a sentence, not a crash; a collective call that is wrong on one rank
 * fails on all of them; and afterwards everything works. */
#include "check.h"
#include "ring.h"
#include "units.h"

#include <string.h>

static void still_works(ring *x)
{
  CHECK_OK(grove_op_free(&x->op));
  ring_run(x, 2);
}

/* ---- calls at the wrong time ---- */

static void wrong_times(const place *p, ring *x)
{
  int done = 0;
  ring_init(x);
  ring_fill(x, 0);
  CHECK_STATUS(grove_wait(x->op), GROVE_ERR_STATE);
  CHECK(strlen(grove_last_error()) > 10, "'%s' is no sentence", grove_last_error());
  CHECK_STATUS(grove_test(x->op, &done), GROVE_ERR_STATE);
  CHECK_OK(grove_start(x->op));
  CHECK_STATUS(grove_start(x->op), GROVE_ERR_STATE); /* active, complete or not */
  CHECK_STATUS(grove_test(x->op, NULL), GROVE_ERR_ARG);
  CHECK_OK(grove_wait(x->op));
  ring_check(x, 0);
  CHECK_STATUS(grove_wait(x->op), GROVE_ERR_STATE);

  ring_fill(x, 1);
  CHECK_OK(grove_start(x->op));
  polite_finish(x->op);
  CHECK_OK(grove_wait(x->op)); /* after a test that said done: legal, once */
  ring_check(x, 1);
  CHECK_STATUS(grove_wait(x->op), GROVE_ERR_STATE);

  ring_fill(x, 2);
  CHECK_OK(grove_start(x->op));
  polite_finish(x->op);
  ring_check(x, 2);
  ring_fill(x, 3); /* the test was the end of it: it may start again */
  CHECK_OK(grove_start(x->op));
  CHECK_OK(grove_wait(x->op));
  ring_check(x, 3);
  polite_barrier(p->comm);
  still_works(x);
}

static void persistent_and_one_shot_mixed(ring *x)
{
  ring_init(x);
  CHECK_STATUS(grove_end(&x->op), GROVE_ERR_STATE); /* made by _init */
  CHECK(x->op != NULL, "a refused end took the operation away");
  CHECK_OK(grove_start(x->op));
  CHECK_STATUS(grove_end(&x->op), GROVE_ERR_STATE);
  CHECK_OK(grove_wait(x->op));
  CHECK_OK(grove_op_free(&x->op));

  ring_fill(x, 0);
  ring_begin(x);
  CHECK_STATUS(grove_start(x->op), GROVE_ERR_STATE);
  CHECK_OK(grove_end(&x->op));
  ring_check(x, 0);
  CHECK_STATUS(grove_end(&x->op), GROVE_ERR_ARG); /* it is NULL now */
  still_works(x);
}

static void null_handles(void)
{
  grove_op *no_op = NULL;
  int64_t x = 0, y = 0, z = 0;
  int done = 0;
  grove_report report = {.struct_size = sizeof report};
  CHECK_STATUS(grove_start(NULL), GROVE_ERR_ARG);
  CHECK_STATUS(grove_wait(NULL), GROVE_ERR_ARG);
  CHECK_STATUS(grove_test(NULL, &done), GROVE_ERR_ARG);
  CHECK_STATUS(grove_end(NULL), GROVE_ERR_ARG);
  CHECK_STATUS(grove_end(&no_op), GROVE_ERR_ARG);
  CHECK_STATUS(grove_op_report(NULL, &report), GROVE_ERR_ARG);
  op_call c = {.unit = MPI_INT64_T, .op = MPI_SUM, .root = &x, .leaf = &y, .update = &z};
  for (c.kind = 0; c.kind < OP_KINDS; c.kind++)
    for (op_form how = 0; how < OP_FORMS; how++)
      CHECK_STATUS(call_in_form(&c, how, &no_op), GROVE_ERR_ARG);
  CHECK(no_op == NULL, "an output was set by a call that failed");
}

static void forest_not_set_up(const place *p)
{
  grove_forest *f = NULL;
  grove_op *op = NULL;
  int64_t x = 0, y = 0, z = 0;
  CHECK_OK(grove_forest_create(p->ctx, &f));
  op_call c = {.f = f, .unit = MPI_INT64_T, .op = MPI_SUM, .root = &x, .leaf = &y, .update = &z};
  for (int with_graph = 0; with_graph < 2; with_graph++) {
    for (c.kind = 0; c.kind < OP_KINDS; c.kind++)
      for (op_form how = 0; how < OP_FORMS; how++)
        CHECK_STATUS(call_in_form(&c, how, &op), GROVE_ERR_STATE);
    CHECK_OK(grove_forest_set_graph(f, 0, 0, NULL, NULL));
  }
  CHECK(op == NULL, "an output was set by a call that failed");
  CHECK_OK(grove_forest_free(&f));
}

/* ---- collective calls with bad arguments ---- */

/* Kinds of operations that a mistake concerns. */
typedef enum concerns { ALL_KINDS, WITH_OPERATION, ONLY_FETCH } concerns;

static int concerned(concerns which, op_kind k)
{
  return which == ALL_KINDS || (which == ONLY_FETCH ? k == KIND_FETCH : !kind_is_multi(k));
}

/* Tries every call; each must fail, with one status and one sentence on all ranks. */
static void all_refuse(const place *p, op_call c, concerns which)
{
  for (c.kind = 0; c.kind < OP_KINDS; c.kind++)
    for (op_form how = 0; how < OP_FORMS; how++) {
      if (!concerned(which, c.kind)) continue;
      grove_op *made = NULL;
      grove_status status = call_in_form(&c, how, &made);
      CHECK(status != GROVE_OK, "%s in form %d was accepted", kind_name(c.kind), how);
      CHECK(made == NULL, "an output was set by a call that failed");
      CHECK_SAME_ERROR(p->comm, status);
    }
}

/* Has the arrays that any kind needs: a root has one leaf, so that roots serve as multiroots. */
static ring open_with_all_arrays(const place *p)
{
  return ring_open(p, RING_SMALL, RING_NOBODY, KIND_FETCH);
}

static void works_for_all(ring *x)
{
  for (x->kind = 0; x->kind < OP_KINDS; x->kind++) {
    int64_t *update = x->update;
    if (x->kind != KIND_FETCH) x->update = NULL;
    still_works(x);
    x->update = update;
  }
}

static void bad_types_and_operations(const place *p, const units *types)
{
  struct {
    MPI_Datatype type;
    MPI_Op op;
    concerns which;
  } bad[] = {
    {MPI_DATATYPE_NULL, MPI_SUM, ALL_KINDS},
    {MPI_INT64_T, MPI_OP_NULL, WITH_OPERATION},
    {MPI_DOUBLE, MPI_BAND, WITH_OPERATION},
    {MPI_FLOAT, MPI_LXOR, WITH_OPERATION},
    {MPI_C_DOUBLE_COMPLEX, MPI_MAX, WITH_OPERATION},
    {MPI_INT64_T, MPI_MAXLOC, WITH_OPERATION},
    {MPI_BYTE, MPI_PROD, WITH_OPERATION},
    {units_find(types, "struct of char and double")->type, MPI_SUM, WITH_OPERATION},
    {units_find(types, "3 doubles")->type, MPI_BXOR, WITH_OPERATION},
  };
  ring x = open_with_all_arrays(p);
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    test_case((int64_t)i);
    op_call c = ring_call(&x);
    c.unit = bad[i].type;
    c.op = bad[i].op;
    all_refuse(p, c, bad[i].which);
  }
  works_for_all(&x);
  ring_close(&x);
}

/* Two derived types as their constructors leave them, on all ranks or on one. */
static void never_committed(const place *p)
{
  ring x = open_with_all_arrays(p);
  MPI_Datatype type[2];
  MPI_Type_contiguous(1, MPI_INT64_T, &type[0]);
  MPI_Type_vector(2, 1, 3, MPI_INT32_T, &type[1]);
  for (int bad = -1; bad < p->size; bad++)
    for (int i = 0; i < 2; i++) {
      op_call c = ring_call(&x);
      if (bad < 0 || bad == p->rank) c.unit = type[i];
      all_refuse(p, c, ALL_KINDS);
      CHECK(strstr(grove_last_error(), "MPI_Type_commit"), "why? '%s'", grove_last_error());
    }
  works_for_all(&x);
  ring_close(&x);
  for (int i = 0; i < 2; i++) MPI_Type_free(&type[i]);
}

/* NULL for an array that has entries, on one rank: the others hear of it. On a forest of its own:
 * where a kind of one shot has been used before, begin is local, and so is its failure. */
static void bad_on_one_rank(const place *p)
{
  ring x = open_with_all_arrays(p);
  for (int bad = 0; bad < p->size; bad++) {
    op_call good = ring_call(&x), no_root = good, no_leaf = good, no_update = good, no_op = good,
            no_unit = good;
    if (p->rank == bad) {
      no_root.root = NULL;
      no_leaf.leaf = NULL;
      no_update.update = NULL;
      no_op.op = MPI_OP_NULL;
      no_unit.unit = MPI_DATATYPE_NULL;
    }
    all_refuse(p, no_root, ALL_KINDS);
    CHECK_NUMBER_IN(grove_last_error(), bad);
    all_refuse(p, no_leaf, ALL_KINDS);
    CHECK_NUMBER_IN(grove_last_error(), bad);
    all_refuse(p, no_update, ONLY_FETCH);
    CHECK_NUMBER_IN(grove_last_error(), bad);
    all_refuse(p, no_op, WITH_OPERATION);
    all_refuse(p, no_unit, ALL_KINDS);
  }
  works_for_all(&x);
  ring_close(&x);
}

/* An _init without a place for its result. */
static void no_output(const place *p)
{
  ring x = open_with_all_arrays(p);
  op_call c = ring_call(&x);
  for (c.kind = 0; c.kind < OP_KINDS; c.kind++) {
    CHECK_STATUS(call_init(&c, NULL), GROVE_ERR_ARG);
    CHECK_STATUS(call_begin(&c, NULL), GROVE_ERR_ARG);
  }
  works_for_all(&x);
  ring_close(&x);
}

/* The sentence says what rank 0 and the last rank make. */
static void names_both(const place *p, const char *what, const char *first, const char *last)
{
  const char *said = grove_last_error();
  char rank[32];
  snprintf(rank, sizeof rank, "rank %d makes ", p->size - 1);
  const char *theirs = strstr(said, "rank 0 makes "), *own = strstr(said, rank);
  CHECK(theirs && own && theirs < own, "who makes what? '%s'", said);
  CHECK(strstr(said, what) && strstr(said, what) < theirs, "%s differs: '%s'", what, said);
  CHECK(strstr(theirs, first) && strstr(theirs, first) < own, "no %s in '%s'", first, theirs);
  CHECK(strstr(own, last), "no %s in '%s'", last, own);
}

/* Ranks that do not make the same operation hear of it. */
static void different_kinds(const place *p, ring *x)
{
  for (int i = 0; i < OP_KINDS * OP_KINDS; i++) {
    grove_op *op = NULL;
    op_call c = ring_call(x);
    c.kind = (op_kind)(p->rank == p->size - 1 ? i / OP_KINDS : i % OP_KINDS);
    if (i / OP_KINDS == i % OP_KINDS) continue;
    grove_status status = call_init(&c, &op);
    CHECK(status != GROVE_OK && op == NULL, "a %s here and another kind there were accepted",
          kind_name(c.kind));
    CHECK_SAME_ERROR(p->comm, status);
    names_both(p, "the operation", kind_name((op_kind)(i % OP_KINDS)),
               kind_name((op_kind)(i / OP_KINDS)));
  }
}

/* The same kind on the same forest, with another datatype or operation on one rank. */
static void different_units(const place *p, ring *x)
{
  for (int last = 1; last < p->size; last++)
    for (int i = 0; i < 4; i++) {
      grove_op *op = NULL;
      op_call c = ring_call(x);
      int other = p->rank == last;
      c.kind = KIND_REDUCE;
      c.op = i == 2 && other ? MPI_MAX : MPI_SUM;
      c.unit = i == 0 && other ? MPI_DOUBLE : i == 1 && other ? MPI_INT32_T : MPI_INT64_T;
      if (i == 3 && other) c.unit = MPI_DOUBLE, c.op = MPI_PROD;
      CHECK_STATUS(call_init(&c, &op), GROVE_ERR_STATE);
      CHECK_SAME_ERROR(p->comm, GROVE_ERR_STATE);
      CHECK_NUMBER_IN(grove_last_error(), last);
      if (last < p->size - 1) continue;
      names_both(p,
                 i == 2   ? "the MPI operation differs"
                 : i == 3 ? "the datatype and"
                          : "datatype",
                 "MPI_INT64_T with MPI_SUM",
                 i == 0   ? "MPI_DOUBLE with MPI_SUM"
                 : i == 1 ? "MPI_INT32_T"
                 : i == 2 ? "MPI_MAX"
                          : "MPI_DOUBLE with MPI_PROD");
    }
}

/* Rank 0 alone is different: all others are named. */
static void first_is_different(const place *p, ring *x)
{
  grove_op *op = NULL;
  op_call c = ring_call(x);
  c.kind = p->rank == 0 ? KIND_BCAST : KIND_REDUCE;
  CHECK_STATUS(call_init(&c, &op), GROVE_ERR_STATE);
  CHECK_SAME_ERROR(p->comm, GROVE_ERR_STATE);
  for (int r = 0; r < p->size; r++) CHECK_NUMBER_IN(grove_last_error(), r);
}

static void different_forests(const place *p, ring *a, ring *b)
{
  for (op_kind k = 0; k < OP_KINDS; k++) {
    grove_op *op = NULL;
    op_call c = ring_call(p->rank == p->size - 1 ? a : b);
    c.kind = k;
    grove_status status = call_init(&c, &op);
    CHECK(status != GROVE_OK && op == NULL, "one forest here and another there were accepted");
    CHECK_SAME_ERROR(p->comm, status);
    names_both(p, "the forest differs", "'b'", "'a'");
  }
}

static void different_calls(const place *p)
{
  ring a = open_with_all_arrays(p), b = open_with_all_arrays(p);
  CHECK_OK(grove_forest_set_name(a.forest, "a"));
  CHECK_OK(grove_forest_set_name(b.forest, "b"));
  if (p->size > 1) different_kinds(p, &a);
  if (p->size > 1) different_units(p, &a);
  if (p->size > 1) first_is_different(p, &a);
  if (p->size > 1) different_forests(p, &a, &b);
  works_for_all(&a);
  works_for_all(&b);
  ring_close(&a);
  ring_close(&b);
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "exec/wrong_order");
  units *types = units_create();
  place p = place_create(split(0));
  null_handles();
  forest_not_set_up(&p);
  different_calls(&p);
  bad_types_and_operations(&p, types);
  never_committed(&p);
  bad_on_one_rank(&p);
  no_output(&p);
  for (op_kind k = 0; k < OP_KINDS; k++) {
    ring x = ring_open(&p, RING_SMALL, RING_NOBODY, k);
    wrong_times(&p, &x);
    persistent_and_one_shot_mixed(&x);
    ring_close(&x);
  }
  place_free(&p);
  units_free(types);
  return test_end();
}
