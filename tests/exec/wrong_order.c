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
  grove_forest *no_forest = NULL;
  grove_op *no_op = NULL;
  int64_t x = 0;
  int done = 0;
  grove_report report = {.struct_size = sizeof report};
  CHECK_STATUS(grove_start(NULL), GROVE_ERR_ARG);
  CHECK_STATUS(grove_wait(NULL), GROVE_ERR_ARG);
  CHECK_STATUS(grove_test(NULL, &done), GROVE_ERR_ARG);
  CHECK_STATUS(grove_end(NULL), GROVE_ERR_ARG);
  CHECK_STATUS(grove_end(&no_op), GROVE_ERR_ARG);
  CHECK_STATUS(grove_op_report(NULL, &report), GROVE_ERR_ARG);
  CHECK_STATUS(grove_bcast_init(no_forest, MPI_INT64_T, &x, &x, MPI_SUM, &no_op), GROVE_ERR_ARG);
  CHECK_STATUS(grove_reduce_init(no_forest, MPI_INT64_T, &x, &x, MPI_SUM, &no_op), GROVE_ERR_ARG);
  CHECK_STATUS(grove_bcast_begin(no_forest, MPI_INT64_T, &x, &x, MPI_SUM, &no_op), GROVE_ERR_ARG);
  CHECK_STATUS(grove_reduce_begin(no_forest, MPI_INT64_T, &x, &x, MPI_SUM, &no_op), GROVE_ERR_ARG);
  CHECK_STATUS(grove_bcast(no_forest, MPI_INT64_T, &x, &x, MPI_SUM), GROVE_ERR_ARG);
  CHECK_STATUS(grove_reduce(no_forest, MPI_INT64_T, &x, &x, MPI_SUM), GROVE_ERR_ARG);
  CHECK(no_op == NULL, "an output was set by a call that failed");
}

static void forest_not_set_up(const place *p)
{
  grove_forest *f = NULL;
  grove_op *op = NULL;
  int64_t x = 0;
  CHECK_OK(grove_forest_create(p->ctx, &f));
  for (int with_graph = 0; with_graph < 2; with_graph++) {
    CHECK_STATUS(grove_bcast_init(f, MPI_INT64_T, &x, &x, MPI_SUM, &op), GROVE_ERR_STATE);
    CHECK_STATUS(grove_reduce_init(f, MPI_INT64_T, &x, &x, MPI_SUM, &op), GROVE_ERR_STATE);
    CHECK_STATUS(grove_bcast_begin(f, MPI_INT64_T, &x, &x, MPI_SUM, &op), GROVE_ERR_STATE);
    CHECK_STATUS(grove_reduce_begin(f, MPI_INT64_T, &x, &x, MPI_SUM, &op), GROVE_ERR_STATE);
    CHECK_STATUS(grove_bcast(f, MPI_INT64_T, &x, &x, MPI_SUM), GROVE_ERR_STATE);
    CHECK_STATUS(grove_reduce(f, MPI_INT64_T, &x, &x, MPI_SUM), GROVE_ERR_STATE);
    CHECK_OK(grove_forest_set_graph(f, 0, 0, NULL, NULL));
  }
  CHECK(op == NULL, "an output was set by a call that failed");
  CHECK_OK(grove_forest_free(&f));
}

/* ---- collective calls with bad arguments ---- */

/* Tries all six calls; each must fail, with one status and one sentence on all ranks. */
static void all_refuse(const place *p, ring *x, MPI_Datatype type, MPI_Op op, const int64_t *root,
                       const int64_t *leaf)
{
  for (int i = 0; i < 6; i++) {
    grove_op *made = NULL;
    grove_status status = GROVE_OK;
    grove_forest *f = x->forest;
    void *r = (void *)root, *l = (void *)leaf;
    if (i == 0) status = grove_bcast_init(f, type, r, l, op, &made);
    if (i == 1) status = grove_reduce_init(f, type, l, r, op, &made);
    if (i == 2) status = grove_bcast_begin(f, type, r, l, op, &made);
    if (i == 3) status = grove_reduce_begin(f, type, l, r, op, &made);
    if (i == 4) status = grove_bcast(f, type, r, l, op);
    if (i == 5) status = grove_reduce(f, type, l, r, op);
    CHECK(status != GROVE_OK, "call %d was accepted", i);
    CHECK(made == NULL, "an output was set by a call that failed");
    CHECK_SAME_ERROR(p->comm, status);
  }
}

static void bad_types_and_operations(const place *p, ring *x, const units *types)
{
  struct {
    MPI_Datatype type;
    MPI_Op op;
  } bad[] = {
    {MPI_DATATYPE_NULL, MPI_SUM},
    {MPI_INT64_T, MPI_OP_NULL},
    {MPI_DOUBLE, MPI_BAND},
    {MPI_FLOAT, MPI_LXOR},
    {MPI_C_DOUBLE_COMPLEX, MPI_MAX},
    {MPI_INT64_T, MPI_MAXLOC},
    {MPI_BYTE, MPI_PROD},
    {units_find(types, "struct of char and double")->type, MPI_SUM},
    {units_find(types, "3 doubles")->type, MPI_BXOR},
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    test_case((int64_t)i);
    all_refuse(p, x, bad[i].type, bad[i].op, x->root, x->leaf);
  }
  still_works(x);
}

/* NULL for an array that has entries, on one rank: the others hear of it. On a forest of its own:
 * where a kind of one shot has been used before, begin is local, and so is its failure. */
static void bad_on_one_rank(const place *p, int reduces)
{
  ring fresh = ring_open(p, RING_SMALL, RING_NOBODY, reduces), *x = &fresh;
  for (int bad = 0; bad < p->size; bad++) {
    const int64_t *root = p->rank == bad ? NULL : x->root, *leaf = x->leaf;
    all_refuse(p, x, MPI_INT64_T, MPI_REPLACE, root, leaf);
    CHECK_NUMBER_IN(grove_last_error(), bad);
    all_refuse(p, x, MPI_INT64_T, MPI_SUM, x->root, p->rank == bad ? NULL : leaf);
    MPI_Op op = p->rank == bad ? MPI_OP_NULL : MPI_SUM;
    all_refuse(p, x, MPI_INT64_T, op, x->root, leaf);
  }
  still_works(x);
  ring_close(x);
}

/* Ranks that do not make the same operation hear of it. */
static void different_calls(const place *p)
{
  ring a = ring_open(p, RING_SMALL, RING_NOBODY, 0), b = ring_open(p, RING_SMALL, RING_NOBODY, 0);
  if (p->size > 1) {
    grove_op *op = NULL;
    int other = p->rank == p->size - 1;
    grove_status status = other
                            ? grove_reduce_init(a.forest, MPI_INT64_T, a.leaf, a.root, MPI_SUM, &op)
                            : grove_bcast_init(a.forest, MPI_INT64_T, a.root, a.leaf, MPI_SUM, &op);
    CHECK(status != GROVE_OK && op == NULL, "a bcast here and a reduce there were accepted");
    CHECK_SAME_ERROR(p->comm, status);
    status =
      grove_bcast_init(other ? a.forest : b.forest, MPI_INT64_T, a.root, a.leaf, MPI_SUM, &op);
    CHECK(status != GROVE_OK && op == NULL, "one forest here and another there were accepted");
    CHECK_SAME_ERROR(p->comm, status);
  }
  still_works(&a);
  still_works(&b);
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
  for (int reduces = 0; reduces < 2; reduces++) {
    ring x = ring_open(&p, RING_SMALL, RING_NOBODY, reduces);
    wrong_times(&p, &x);
    persistent_and_one_shot_mixed(&x);
    bad_types_and_operations(&p, &x, types);
    bad_on_one_rank(&p, reduces);
    ring_close(&x);
  }
  place_free(&p);
  units_free(types);
  return test_end();
}
