/* The option `check` lets legal programs pass, however close they come to a mistake: several
 * operations under way on one array, types that lie in each other's gaps, slots that are nobody's
 * any more. */
#include "check.h"
#include "ring.h"

#include <stdlib.h>
#include <string.h>

/* Runs two operations at once. */
static void run_both(const op_call *a, const op_call *b)
{
  grove_op *one = NULL, *other = NULL;
  CHECK_OK(call_init(a, &one));
  CHECK_OK(call_begin(b, &other));
  CHECK_OK(grove_start(one));
  CHECK_OK(grove_end(&other));
  CHECK_OK(call_begin(b, &other));
  CHECK_OK(grove_wait(one));
  CHECK_OK(grove_start(one));
  CHECK_OK(grove_end(&other));
  CHECK_OK(grove_wait(one));
  CHECK_OK(grove_op_free(&one));
}

/* ---- one array ---- */

static void both_read(const ring *x)
{
  int64_t other[RING_SMALL] = {0}, third[RING_SMALL] = {0};
  op_call a = ring_call(x), b = a;
  b.leaf = other;
  run_both(&a, &b);
  a.kind = KIND_SCATTER;
  run_both(&a, &b);
  a.kind = b.kind = KIND_FETCH; /* MPI_NO_OP only reads roots, and adds nothing */
  a.op = b.op = MPI_NO_OP;
  b.leaf = a.leaf;
  a.update = other;
  b.update = third;
  run_both(&a, &b);
  b.kind = KIND_REDUCE;
  run_both(&a, &b);
}

/* A forest for even slots, and one for odd slots: roots and leaves of one array. */
static grove_forest *every_other(const place *p, int64_t first)
{
  grove_forest *f = NULL;
  int64_t slot[RING_SMALL];
  grove_root root[RING_SMALL];
  for (int64_t i = 0; i < RING_SMALL; i++) {
    slot[i] = 2 * i + first;
    root[i] = (grove_root){(p->rank + 1) % p->size, 2 * i + first};
  }
  CHECK_OK(grove_forest_create(p->ctx, &f));
  CHECK_OK(grove_forest_set_graph(f, 2 * RING_SMALL, RING_SMALL, slot, root));
  CHECK_OK(grove_forest_set_up(f));
  return f;
}

static void slots_of_their_own(const place *p)
{
  int64_t x[2 * RING_SMALL] = {0}, y[2 * RING_SMALL] = {0};
  grove_forest *even = every_other(p, 0), *odd = every_other(p, 1);
  op_call a = {.f = even, .unit = MPI_INT64_T, .op = MPI_SUM, .root = x, .leaf = y}, b = a;
  b.f = odd;
  for (a.kind = 0; a.kind < OP_KINDS; a.kind++)
    for (b.kind = 0; b.kind < OP_KINDS; b.kind++) {
      int64_t to[2][2 * RING_SMALL];
      if (kind_is_multi(a.kind) || kind_is_multi(b.kind)) continue; /* these have others */
      a.update = to[0];
      b.update = to[1];
      run_both(&a, &b);
    }
  CHECK_OK(grove_forest_free(&even));
  CHECK_OK(grove_forest_free(&odd));
}

/* ---- gaps ---- */

/* Entries 0 and 2 of three, and entry 1. */
static MPI_Datatype type_with_gaps(int middle)
{
  MPI_Datatype part, type;
  MPI_Type_vector(middle ? 1 : 2, 1, 2, MPI_INT64_T, &part);
  if (middle) {
    MPI_Datatype shifted;
    const int at = 1;
    MPI_Type_create_indexed_block(1, 1, &at, MPI_INT64_T, &shifted);
    MPI_Type_free(&part);
    part = shifted;
  }
  MPI_Type_create_resized(part, 0, 3 * (MPI_Aint)sizeof(int64_t), &type);
  MPI_Type_free(&part);
  MPI_Type_commit(&type);
  return type;
}

/* One operation moves what lies in the gaps of the other; the program may write to gaps. */
static void gaps_are_free(const ring *x)
{
  int64_t root[3 * RING_SMALL] = {0}, leaf[3 * RING_SMALL] = {0};
  grove_op *list[2] = {NULL, NULL}, *both = NULL;
  MPI_Datatype outer = type_with_gaps(0), middle = type_with_gaps(1);
  op_call a = ring_call(x), b;
  a.unit = outer;
  a.root = root;
  a.leaf = leaf;
  b = a;
  b.unit = middle;
  run_both(&a, &b);
  b.kind = KIND_REDUCE; /* back */
  run_both(&a, &b);
  CHECK_OK(call_init(&a, &list[0]));
  CHECK_OK(call_init(&b, &list[1]));
  CHECK_OK(grove_start(list[0]));
  for (int i = 0; i < RING_SMALL; i++) root[3 * i + 1] = leaf[3 * i + 1] = i;
  CHECK_OK(grove_wait(list[0]));
  CHECK_OK(grove_op_bundle(2, list, &both));
  CHECK_OK(grove_start(both));
  CHECK_OK(grove_wait(both));
  CHECK_OK(grove_op_free(&both));
  CHECK_OK(grove_op_free(&list[0]));
  CHECK_OK(grove_op_free(&list[1]));
  MPI_Type_free(&outer);
  MPI_Type_free(&middle);
}

/* ---- what is over ---- */

static void told_or_freed(const place *p, ring *x)
{
  int done = 0;
  op_call c = ring_call(x);
  grove_op *second = NULL;
  ring_init(x);
  CHECK_OK(call_init(&c, &second));
  CHECK_OK(grove_start(x->op));
  while (!done) CHECK_OK(grove_test(x->op, &done));
  x->root[0]++;
  CHECK_OK(grove_start(second)); /* the first has not been waited for, but it is known to be over */
  CHECK_OK(grove_wait(second));
  CHECK_OK(grove_wait(x->op));
  CHECK_OK(grove_start(second));
  CHECK_OK(grove_op_free(&second)); /* perhaps it is abandoned */
  x->root[0]++;
  CHECK_OK(grove_start(x->op));
  CHECK_OK(grove_wait(x->op));
  CHECK_OK(grove_op_free(&x->op));
  polite_barrier(p->comm);
}

/* A fetch puts what it brings where its leaves are. */
static void in_place(const ring *x)
{
  op_call c = ring_call(x);
  grove_op *op = NULL;
  c.kind = KIND_FETCH;
  c.op = MPI_SUM;
  c.update = c.leaf;
  CHECK_OK(call_init(&c, &op));
  for (int round = 0; round < 3; round++) {
    for (int64_t i = 0; i < x->n; i++) x->leaf[i] = round + i;
    CHECK_OK(grove_start(op));
    CHECK_OK(grove_wait(op));
  }
  CHECK_OK(grove_op_free(&op));
}

/* ---- by parts ---- */

/* Another operation writes what is not marked yet, and reads what is known to have come. */
static void between_marks(const ring *x)
{
  int64_t second_leaf[RING_SMALL], yes = 0;
  op_call c = ring_call(x), before = c, after = c;
  grove_op *op = NULL, *fills = NULL, *follows = NULL;
  before.kind = KIND_REDUCE; /* into the roots */
  before.op = MPI_SUM;
  before.leaf = second_leaf;
  after.root = c.leaf; /* what has come goes on */
  after.leaf = second_leaf;
  for (int64_t i = 0; i < x->n; i++) second_leaf[i] = i;
  CHECK_OK(call_init(&c, &op));
  CHECK_OK(call_init(&before, &fills));
  CHECK_OK(call_init(&after, &follows));
  for (int round = 0; round < 3; round++) {
    int come = 0;
    CHECK_OK(grove_start_parts(op));
    CHECK_OK(grove_start(fills));
    CHECK_OK(grove_wait(fills));
    CHECK_OK(grove_ready(op, 0, x->n));
    while (!come) CHECK_OK(grove_arrived(op, 0, x->n, &come));
    yes += come;
    CHECK_OK(grove_start(follows));
    CHECK_OK(grove_wait(op));
    CHECK_OK(grove_wait(follows));
    CHECK_OK(grove_start_parts(follows)); /* before its input has come */
    CHECK_OK(grove_start_parts(op));
    CHECK_OK(grove_ready(op, 0, x->n));
    CHECK_OK(grove_wait(op));
    CHECK_OK(grove_ready(follows, 0, x->n));
    CHECK_OK(grove_wait(follows));
  }
  CHECK(yes == 3, "it has not come");
  CHECK_OK(grove_op_free(&op));
  CHECK_OK(grove_op_free(&fills));
  CHECK_OK(grove_op_free(&follows));
}

/* ---- nothing at all ---- */

static void nothing_moves(const place *p)
{
  grove_forest *f = NULL;
  op_call a = {.unit = MPI_INT64_T, .op = MPI_SUM}, b;
  CHECK_OK(grove_forest_create(p->ctx, &f));
  CHECK_OK(grove_forest_set_graph(f, 0, 0, NULL, NULL));
  CHECK_OK(grove_forest_set_up(f));
  a.f = f;
  for (a.kind = 0; a.kind < OP_KINDS; a.kind++) {
    b = a;
    run_both(&a, &b);
  }
  CHECK_OK(grove_forest_free(&f));
}

/* One rank has no roots and no leaves; units of no bytes lie nowhere. */
static void some_have_nothing(const place *p)
{
  ring x = ring_open(p, RING_SMALL, p->size > 1 ? p->size - 1 : RING_NOBODY, KIND_BCAST);
  MPI_Datatype none;
  MPI_Type_contiguous(0, MPI_INT64_T, &none);
  MPI_Type_commit(&none);
  op_call a = ring_call(&x), b = a;
  int64_t other[RING_SMALL];
  b.leaf = other;
  run_both(&a, &b);
  a.unit = b.unit = none;
  b.leaf = a.leaf;
  run_both(&a, &b);
  MPI_Type_free(&none);
  ring_close(&x);
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "exec/check_legal");
  place p = place_create(split(0));
  CHECK_OK(grove_context_set(p.ctx, "check", "on"));
  ring x = ring_open(&p, RING_SMALL, RING_NOBODY, KIND_BCAST);
  ring_fill(&x, 0);
  both_read(&x);
  slots_of_their_own(&p);
  gaps_are_free(&x);
  in_place(&x);
  between_marks(&x);
  nothing_moves(&p);
  some_have_nothing(&p);
  told_or_freed(&p, &x);
  place_free(&p);
  ring_close(&x); /* an operation was perhaps abandoned */
  return test_end();
}
