/* grove_forest_set: two forests of one context, whose operations are made by options of their own.
 * What is not theirs stays the context's, what exists stays as it was made, and what does not go
 * together is refused, on every rank alike. */
#include "check.h"
#include "generate.h"
#include "places.h"

#include <string.h>

enum { RANKS = 4, ROOTS = 3 };

typedef struct arrays {
  double root[ROOTS], leaf[RANKS * ROOTS];
} arrays;

/* Every rank has a leaf for each root of every rank. */
static grove_forest *everything(const place *p, const char *name)
{
  grove_forest *f = NULL;
  CHECK_OK(grove_forest_create(p->ctx, &f));
  CHECK_OK(grove_forest_set_pattern(f, GROVE_ALLGATHER, ROOTS));
  CHECK_OK(grove_forest_set_name(f, name));
  CHECK_OK(grove_forest_set_up(f));
  return f;
}

static void fill(const place *p, arrays *a)
{
  memset(a->leaf, 0, sizeof a->leaf);
  for (int i = 0; i < ROOTS; i++) a->root[i] = 10 * p->rank + i;
}

static void check_leaves(const arrays *a)
{
  for (int i = 0; i < RANKS * ROOTS; i++)
    CHECK(a->leaf[i] == 10 * (i / ROOTS) + i % ROOTS, "leaf %d is %g", i, a->leaf[i]);
}

#define TAKES(op, route) check_route(op, route, __LINE__)
static void check_route(grove_op *op, const char *route, int line)
{
  grove_report r = {.struct_size = sizeof r};
  CHECK_OK(grove_op_report(op, &r));
  CHECK(strcmp(r.route, route) == 0, "line %d: it takes %s, not %s", line, r.route, route);
}

static grove_op *make(grove_forest *f, arrays *a)
{
  grove_op *op = NULL;
  CHECK_OK(grove_bcast_init(f, MPI_DOUBLE, a->root, a->leaf, MPI_REPLACE, &op));
  return op;
}

static void run(const place *p, grove_op *op, arrays *a)
{
  fill(p, a);
  CHECK_OK(grove_start(op));
  CHECK_OK(grove_wait(op));
  check_leaves(a);
}

static void run_once(const place *p, grove_forest *f, arrays *a, const char *route, int line)
{
  grove_op *op = NULL;
  fill(p, a);
  CHECK_OK(grove_bcast_begin(f, MPI_DOUBLE, a->root, a->leaf, MPI_REPLACE, &op));
  check_route(op, route, line);
  CHECK_OK(grove_end(&op));
  check_leaves(a);
}

static void each_has_its_route(const place *p)
{
  static arrays a, b, c;
  grove_forest *f = everything(p, "first"), *g = everything(p, "second");
  place_set(p, "route", "split");
  CHECK_OK(grove_forest_set(f, "route", "2-step"));
  grove_op *old = make(f, &a);
  CHECK_OK(grove_forest_set(f, "Route", "3-step"));
  grove_op *made = make(f, &b), *other = make(g, &c);
  TAKES(old, "2-step");
  TAKES(made, "3-step");
  TAKES(other, "split");
  place_set(p, "route", "standard");
  run(p, old, &a);
  run(p, other, &c);
  run(p, made, &b);
  CHECK_OK(grove_op_free(&old));
  CHECK_OK(grove_op_free(&made));
  CHECK_OK(grove_op_free(&other));
  CHECK_OK(grove_forest_free(&f));
  CHECK_OK(grove_forest_free(&g));
}

/* A kind of _begin is made anew after a change. */
static void one_shots_follow(const place *p)
{
  static arrays a;
  grove_forest *f = everything(p, "shots"), *g = everything(p, "others");
  for (int i = 0; i < 2; i++) {
    run_once(p, f, &a, "standard", __LINE__);
    run_once(p, g, &a, "standard", __LINE__);
    CHECK_OK(grove_forest_set(f, "route", "2-step"));
    run_once(p, f, &a, "2-step", __LINE__);
    run_once(p, f, &a, "2-step", __LINE__);
    run_once(p, g, &a, "standard", __LINE__);
    CHECK_OK(grove_forest_set(f, "route", "standard"));
  }
  CHECK_OK(grove_forest_free(&f));
  CHECK_OK(grove_forest_free(&g));
}

/* x <- 10 x + leaf, one leaf after the other: digits in the order of combination. */
static void append(void *in, void *inout, int *n, MPI_Datatype *type)
{
  double *x = in, *y = inout;
  (void)type;
  for (int i = 0; i < *n; i++) y[i] = 10 * x[i] + y[i];
}

static void each_has_its_order(const place *p)
{
  MPI_Op op;
  double leaf[RANKS], root;
  grove_forest *f[2];
  MPI_Op_create(append, 0, &op);
  for (int i = 0; i < 2; i++) {
    CHECK_OK(grove_forest_create(p->ctx, &f[i]));
    CHECK_OK(grove_forest_set_pattern(f[i], GROVE_ALLGATHER, 1));
    CHECK_OK(grove_forest_set_up(f[i]));
  }
  CHECK_OK(grove_forest_set(f[1], "order", "own-first"));
  for (int i = 0; i < 2; i++) {
    int expected = 0;
    root = 0;
    for (int r = 0; r < RANKS; r++) leaf[r] = p->rank + 1;
    CHECK_OK(grove_reduce(f[i], MPI_DOUBLE, leaf, &root, op));
    if (i == 1) expected = p->rank + 1;
    for (int r = 0; r < RANKS; r++)
      if (i == 0 || r != p->rank) expected = 10 * expected + r + 1;
    CHECK(root == expected, "forest %d: %g, not %d", i, root, expected);
    CHECK_OK(grove_forest_free(&f[i]));
  }
  MPI_Op_free(&op);
}

static void refused(grove_status status, grove_status expected, const char *sentence)
{
  CHECK(status == expected, "%s, not %s", grove_status_name(status), grove_status_name(expected));
  CHECK(strstr(grove_last_error(), sentence) != NULL, "it says: %s", grove_last_error());
}

static void mistakes(const place *p)
{
  static arrays a, b;
  grove_op *ops[2], *both = NULL;
  grove_forest *f = everything(p, "first"), *g = everything(p, "second");
  refused(grove_forest_set(NULL, "route", "auto"), GROVE_ERR_ARG, "the forest is NULL");
  refused(grove_forest_set(f, "route", NULL), GROVE_ERR_ARG, "grove_forest_set: the value is NULL");
  refused(grove_forest_set(f, NULL, "auto"), GROVE_ERR_ARG, "grove_forest_set: the key is NULL");
  refused(grove_forest_set(f, "timeout", "1"), GROVE_ERR_OPTION, "no option 'timeout' of its own");
  refused(grove_forest_set(f, "rout", "auto"), GROVE_ERR_OPTION, "rout");
  refused(grove_forest_set(f, "route", "4-step"), GROVE_ERR_OPTION, "4-step");
  refused(grove_forest_set(f, "route", p->rank == 2 ? "split" : "auto"), GROVE_ERR_OPTION,
          "rank 2 sets the option route=split");
  ops[0] = make(f, &a);
  ops[1] = make(g, &b);
  TAKES(ops[0], "standard");
  CHECK_OK(grove_forest_set(g, "route", "2-step"));
  refused(grove_op_bundle(2, ops, &both), GROVE_ERR_OPTION,
          "forest 'first' and forest 'second' have options of their own that differ");
  CHECK_OK(grove_forest_set(f, "route", "2-step"));
  CHECK_OK(grove_op_bundle(2, ops, &both));
  TAKES(both, "2-step");
  CHECK_OK(grove_op_free(&both));
  for (int i = 0; i < 2; i++) CHECK_OK(grove_op_free(&ops[i]));
  CHECK_OK(grove_forest_free(&f));
  CHECK_OK(grove_forest_free(&g));
}

int main(int argc, char **argv)
{
  MPI_Comm comm;
  test_begin(&argc, &argv, "exec/forest_options");
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  place p = place_create(comm);
  place_set(&p, "node_map", "0,0,1,1");
  each_has_its_route(&p);
  one_shots_follow(&p);
  each_has_its_order(&p);
  place_set(&p, "route", "standard");
  mistakes(&p);
  place_free(&p);
  return test_end();
}
