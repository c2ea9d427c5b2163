/* Programs that are right, and that deadlock if waiting for one operation does not advance the
 * others: with messages that MPI sends at once, and with ones that need both sides. */
#include "check.h"
#include "ring.h"

enum { ROUNDS = 3 };

static void start(ring *x, int round)
{
  ring_fill(x, round);
  CHECK_OK(grove_start(x->op));
}

static void finish(ring *x, int round)
{
  CHECK_OK(grove_wait(x->op));
  ring_check(x, round);
}

static int is_odd(const place *p)
{
  return p->rank % 2;
}

/* Even ranks wait for a, then b; odd ones for b, then a. */
static void opposite_orders(const place *p, ring *a, ring *b)
{
  for (int round = 0; round < ROUNDS; round++) {
    start(is_odd(p) ? b : a, round);
    start(is_odd(p) ? a : b, round);
    finish(is_odd(p) ? b : a, round);
    finish(is_odd(p) ? a : b, round);
  }
}

/* Everybody else finishes a before starting b; the late rank needs b first. The others' a completes
 * only because the late rank advances its a while it waits for b. */
static void one_waits_late(const place *p, ring *a, ring *b, int late)
{
  for (int round = 0; round < ROUNDS; round++) {
    start(a, round);
    if (p->rank == late) {
      start(b, round);
      finish(b, round);
      finish(a, round);
    } else {
      finish(a, round);
      start(b, round);
      finish(b, round);
    }
  }
}

/* A rank that starts, and then does something else for a while. */
static void one_is_busy(const place *p, ring *a, int late)
{
  start(a, 0);
  if (p->rank == late) linger(0.05);
  finish(a, 0);
}

static void try_size(const place *p, int64_t n, int left_out)
{
  int late = left_out == RING_NOBODY ? p->size - 1 : left_out;
  for (op_kind k = 0; k < OP_KINDS; k += 2) { /* each kind is one of the two */
    ring a = ring_open(p, n, left_out, k), b = ring_open(p, n, RING_NOBODY, (k + 1) % OP_KINDS);
    ring_init(&a);
    ring_init(&b);
    opposite_orders(p, &a, &b);
    one_waits_late(p, &a, &b, late);
    one_is_busy(p, &a, late);
    ring_close(&a);
    ring_close(&b);
  }
}

int main(int argc, char **argv)
{
  static const int64_t size[] = {RING_SMALL, 3000, RING_LARGE};
  test_begin(&argc, &argv, "exec/opposite_waits");
  place p = place_create(split(0));
  for (int i = 0; i < 3; i++) {
    test_case(i);
    try_size(&p, size[i], RING_NOBODY);
    if (p.size > 1) try_size(&p, size[i], p.size / 2);
  }
  place_free(&p);
  return test_end();
}
