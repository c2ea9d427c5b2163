/* A process that may have only small files (ulimit -f): the kernel ends who goes beyond, with
 * SIGXFSZ. Grove keeps within the limit and sends messages instead. */
#define _XOPEN_SOURCE 700 /* setrlimit */
#include "check.h"
#include "places.h"
#include "ring.h"
#include "shared.h"

#include <string.h>
#include <sys/resource.h>

static void limit_files(rlim_t bytes)
{
  struct rlimit limit;
  CHECK(getrlimit(RLIMIT_FSIZE, &limit) == 0, "no limits");
  limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
  CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0, "the limit cannot be set");
}

static int uses_shm(grove_op *op)
{
  grove_report r = {.struct_size = sizeof r};
  CHECK_OK(grove_op_report(op, &r));
  return strcmp(r.transport_on_node, "shm") == 0;
}

/* One rank, or all, may have files of so many bytes. */
static void try_limit(rlim_t bytes, int who)
{
  place p = place_create(split(0));
  ring x = ring_open(&p, 20000, RING_NOBODY, KIND_BCAST), y = ring_sibling(&x);
  void *memory = NULL;
  ring_init(&x);
  CHECK(uses_shm(x.op), "no shared memory");
  if (who < 0 || who == p.rank) limit_files(bytes);
  for (int i = 0; i < 20; i++) {
    ring_init(&y); /* in what the first one has left, or not at all */
    ring_fill(&y, i);
    CHECK_OK(grove_start(y.op));
    CHECK_OK(grove_wait(y.op));
    ring_check(&y, i);
    CHECK_OK(grove_op_free(&y.op));
  }
  CHECK_OK(grove_alloc(p.ctx, 1000000, &memory));
  memset(memory, 1, 1000000);
  CHECK_OK(grove_dealloc(p.ctx, memory));
  place q = place_create(split(0)); /* a new one, under the limit */
  ring z = ring_open(&q, 20000, RING_NOBODY, KIND_REDUCE);
  ring_run(&z, 3);
  ring_close(&z);
  place_free(&q);
  limit_files(RLIM_INFINITY);
  ring_close(&y);
  ring_close(&x);
  place_free(&p);
}

int main(int argc, char **argv)
{
  static const rlim_t limit[] = {0, 1, 4096, 100000, 400000, 1 << 22};
  test_begin(&argc, &argv, "transport/file_limit");
  for (int i = 0; i < 6; i++) {
    test_case(i);
    try_limit(limit[i], -1);
    try_limit(limit[i], i % world_size());
  }
  CHECK(shared_bytes() == 0, "a freed context has shared memory");
  return test_end();
}
