/* Every kind of operation, alone and bundled, on arrays that lie in memory of grove_alloc, all or
 * some of them. As soon as its own wait is over a rank writes over what it has sent. */
#include "check.h"
#include "ring.h"
#include "shared.h"

#include <string.h>

enum { ARRAYS = 3, ALL = 1 << ARRAYS, ROUNDS = 3 };

/* A ring whose arrays are taken from grove_alloc where `mask` has a bit. */
typedef struct loan {
  ring x;
  int64_t *own[ARRAYS];
  void *memory[ARRAYS];
} loan;

static int64_t **ring_array(ring *x, int i)
{
  return i == 0 ? &x->root : i == 1 ? &x->leaf : &x->update;
}

static loan loan_open(const place *p, int64_t n, op_kind k, int mask)
{
  loan l = {.x = ring_open(p, n, RING_NOBODY, k)};
  for (int i = 0; i < ARRAYS; i++) {
    int64_t **array = ring_array(&l.x, i);
    l.own[i] = *array;
    if (!(mask & 1 << i) || *array == NULL) continue;
    CHECK_OK(grove_alloc(p->ctx, (size_t)n * sizeof **array, &l.memory[i]));
    *array = l.memory[i];
  }
  return l;
}

static void loan_close(const place *p, loan *l)
{
  CHECK_OK(grove_op_free(&l->x.op));
  for (int i = 0; i < ARRAYS; i++) {
    *ring_array(&l->x, i) = l->own[i];
    if (l->memory[i] != NULL) CHECK_OK(grove_dealloc(p->ctx, l->memory[i]));
  }
  ring_close(&l->x);
}

static void scribble(ring *x)
{
  memset(x->root, 0x77, (size_t)x->n * sizeof *x->root);
  memset(x->leaf, 0x77, (size_t)x->n * sizeof *x->leaf);
}

static void alone(const place *p, int64_t n, op_kind k, int mask)
{
  loan l = loan_open(p, n, k, mask);
  ring_init(&l.x);
  for (int round = 0; round < ROUNDS; round++) {
    ring_fill(&l.x, round);
    CHECK_OK(grove_start(l.x.op));
    CHECK_OK(grove_wait(l.x.op));
    ring_check(&l.x, round);
    scribble(&l.x);
  }
  CHECK_OK(grove_op_free(&l.x.op));
  for (int round = 0; round < ROUNDS; round++) {
    ring_fill(&l.x, ROUNDS + round);
    ring_begin(&l.x);
    CHECK_OK(grove_end(&l.x.op));
    ring_check(&l.x, ROUNDS + round);
    scribble(&l.x);
  }
  loan_close(p, &l);
}

/* One of each kind, of different sizes, each with other arrays on loan. */
static void bundled(const place *p, int64_t n, int mask)
{
  loan l[OP_KINDS];
  grove_op *list[OP_KINDS], *op = NULL;
  for (op_kind k = 0; k < OP_KINDS; k++) {
    l[k] = loan_open(p, n / (k + 1), k, (mask + k) % ALL);
    ring_init(&l[k].x);
    list[k] = l[k].x.op;
  }
  CHECK_OK(grove_op_bundle(OP_KINDS, list, &op));
  for (int round = 0; round < ROUNDS; round++) {
    for (op_kind k = 0; k < OP_KINDS; k++) ring_fill(&l[k].x, round + k);
    CHECK_OK(grove_start(op));
    CHECK_OK(grove_wait(op));
    for (op_kind k = 0; k < OP_KINDS; k++) {
      ring_check(&l[k].x, round + k);
      scribble(&l[k].x);
    }
  }
  CHECK_OK(grove_op_free(&op));
  for (op_kind k = 0; k < OP_KINDS; k++) loan_close(p, &l[k]);
}

int main(int argc, char **argv)
{
  static const int64_t size[] = {RING_SMALL, 3000, RING_MIDDLE};
  test_begin(&argc, &argv, "exec/alloc_every_kind");
  int64_t before = shared_bytes(); /* of tests before this one that freed what was active */
  place p = place_create(split(0));
  for (int i = 0; i < 3; i++) {
    test_case(i);
    for (op_kind k = 0; k < OP_KINDS; k++)
      for (int mask = 1; mask < ALL; mask++)
        if (size[i] < RING_MIDDLE || (mask + k) % 3 == 0) alone(&p, size[i], k, mask);
    for (int mask = 0; mask < ALL; mask += 3) bundled(&p, size[i], mask);
  }
  place_free(&p);
  CHECK(shared_bytes() <= before, "a freed context has shared memory");
  return test_end();
}
