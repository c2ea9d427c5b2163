/* A program that works until one of its ranks is killed by SIGKILL, at a random moment after the
 * first operation was made: for leaves_no_names.sh, which looks at what is left. */
#define _POSIX_C_SOURCE 200809L /* kill */
#include "check.h"
#include "random.h"
#include "ring.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

enum { OPERATIONS = 6 };

static void die_at(int64_t *left)
{
  if (--*left == 0) kill(getpid(), SIGKILL);
}

/* Makes, runs and frees operations and memory until the moment has come. */
int main(int argc, char **argv)
{
  static const int64_t size[] = {1, 100, 3000, 20000};
  test_begin(&argc, &argv, "transport/dies");
  rng r = rng_from(test_seed(), 3);
  int victim = (int)rng_below(&r, world_size());
  int64_t left = world_rank() == victim ? rng_between(&r, 1, 600) : INT64_MAX;
  place p = place_create(split(0));
  for (int64_t k = 0;; k++) {
    ring x[OPERATIONS];
    void *memory = NULL;
    for (int i = 0; i < OPERATIONS; i++) {
      x[i] = ring_open(&p, size[(k + i) % 4], RING_NOBODY, (op_kind)(i % OP_KINDS));
      ring_init(&x[i]);
      die_at(&left);
    }
    CHECK_OK(grove_alloc(p.ctx, 100000, &memory));
    die_at(&left);
    for (int i = 0; i < OPERATIONS; i++) {
      ring_fill(&x[i], 1);
      CHECK_OK(grove_start(x[i].op));
      die_at(&left);
    }
    for (int i = 0; i < OPERATIONS; i++) {
      CHECK_OK(grove_wait(x[i].op));
      die_at(&left);
      ring_close(&x[i]);
    }
    CHECK_OK(grove_dealloc(p.ctx, memory));
    if (k % 4 == 3) { /* and contexts too */
      place_free(&p);
      p = place_create(split(0));
      die_at(&left);
    }
  }
}
