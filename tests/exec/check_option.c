/* The option `check`: buffers that overlap are refused, on every rank and with a sentence, wherever
 * they do; everything else is as right as without it. */
#include "check.h"
#include "exercise.h"
#include "places.h"

#include <string.h>

/* n entries, and the same number of leaves on the next rank's. */
static grove_forest *make(const place *p, int64_t n)
{
  graph *g = graph_empty(p->size);
  part *own = &g->part[p->rank];
  part_resize(own, n, n);
  for (int64_t j = 0; j < n; j++) own->root[j] = (grove_root){(p->rank + 1) % p->size, j};
  grove_forest *f = graph_forest(p->ctx, g, p->rank);
  graph_free(g);
  return f;
}

/* A root has one leaf: roots and multiroots are the same. */
static op_call make_call(grove_forest *f, op_kind k, void *root, void *leaf, void *update)
{
  return (op_call){k, f, MPI_DOUBLE, k == KIND_BCAST ? MPI_REPLACE : MPI_MAX, root, leaf, update};
}

static void refused_of(const place *p, op_call c)
{
  grove_op *op = NULL;
  grove_status status = call_init(&c, &op);
  CHECK(status == GROVE_ERR_ARG, "%s: %s", kind_name(c.kind), grove_status_name(status));
  CHECK_SAME_ERROR(p->comm, status);
  CHECK(op == NULL, "an output was set by a call that failed");
}

static void refused(const place *p, grove_forest *f, void *root, void *leaf, void *update)
{
  for (op_kind k = 0; k < OP_KINDS; k++) refused_of(p, make_call(f, k, root, leaf, update));
}

static void accepted(grove_forest *f, void *root, void *leaf, void *update)
{
  for (op_kind k = 0; k < OP_KINDS; k++) {
    op_call c = make_call(f, k, root, leaf, update);
    CHECK_OK(call_block(&c));
  }
}

/* The leaf array begins so many bytes behind the root array, on one rank only. */
static void overlaps(const place *p)
{
  enum { N = 10 };
  double x[4 * N], elsewhere[N], update[N];
  memset(x, 0, sizeof x);
  memset(elsewhere, 0, sizeof elsewhere);
  memset(update, 0, sizeof update);
  char *root = (char *)&x[N];
  grove_forest *f = make(p, N);
  for (int bad = 0; bad < p->size; bad++) {
    const ptrdiff_t shift[] = {0, 8, 8 * (N - 1), -8, -8 * (N - 1), 4, 8 * N - 1};
    for (size_t i = 0; i < sizeof shift / sizeof *shift; i++)
      refused(p, f, root, p->rank == bad ? root + shift[i] : (char *)elsewhere, update);
    for (size_t i = 0; i < sizeof shift / sizeof *shift; i++) { /* with the updates of a fetch */
      char *shifted = p->rank == bad ? root + shift[i] : (char *)update;
      refused_of(p, make_call(f, KIND_FETCH, root, elsewhere, shifted));
      if (shift[i] != 0) refused_of(p, make_call(f, KIND_FETCH, elsewhere, root, shifted));
    }
    accepted(f, root, p->rank == bad ? root + 8 * N : (char *)elsewhere, update);
    accepted(f, root, p->rank == bad ? root - 8 * N : (char *)elsewhere, update);
    accepted(f, elsewhere, root, root); /* the updates may replace the leaves */
  }
  CHECK_OK(grove_forest_free(&f));
}

static void ordinary_operations(const units *types, const place *p, int64_t number)
{
  rng r = rng_from(test_seed(), (uint64_t)number);
  graph *g = graph_random(&r, (graph_kind)(number % GRAPH_KINDS_AND_REPEATED), p->size);
  exercise e = {.g = g, .f = graph_forest(p->ctx, g, p->rank), .me = p->rank};
  exercise_draw_of(&e, (op_kind)(number % OP_KINDS), types, &r);
  exercise_open(&e);
  exercise_init(&e);
  for (int round = 0; round < 3; round++) {
    exercise_renew(&e, round);
    CHECK_OK(grove_start(e.op));
    CHECK_OK(grove_wait(e.op));
    exercise_check(&e);
  }
  exercise_close(&e);
  CHECK_OK(grove_forest_free(&e.f));
  graph_free(g);
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "exec/check_option");
  units *types = units_create();
  place p = place_create(split(0));
  CHECK_OK(grove_context_set(p.ctx, "check", "1"));
  overlaps(&p);
  for (int64_t i = 0; i < test_samples(24); i++) {
    test_case(i);
    ordinary_operations(types, &p, i);
  }
  place_free(&p);
  units_free(types);
  return test_end();
}
