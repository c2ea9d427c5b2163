/* grove_alloc and grove_dealloc as calls: sizes of every kind, refusals that all ranks hear of, and
 * memory that comes and goes without any being left. */
#include "check.h"
#include "places.h"
#include "random.h"
#include "ring.h"
#include "shared.h"

#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

static unsigned char pattern(int rank, int which, size_t i)
{
  return (unsigned char)(rank * 37 + which * 11 + (int)(i % 251));
}

static void fill(void *memory, size_t bytes, int which)
{
  for (size_t i = 0; i < bytes; i++) ((unsigned char *)memory)[i] = pattern(world_rank(), which, i);
}

static void check_filled(const void *memory, size_t bytes, int which)
{
  for (size_t i = 0; i < bytes; i++)
    CHECK(((const unsigned char *)memory)[i] == pattern(world_rank(), which, i),
          "byte %zu of allocation %d is wrong", i, which);
}

/* Of the context and those of its ranks, while nobody changes it. Collective. */
static int64_t settled_bytes(const place *p)
{
  polite_barrier(p->comm);
  int64_t bytes = shared_bytes();
  polite_barrier(p->comm);
  return bytes;
}

/* ---- sizes ---- */

/* Every rank another size, some of them none at all. */
static void different_sizes(const place *p)
{
  static const size_t size[] = {0, 1, 63, 64, 65, 4096, 32767, 32768, 100000, 3000000};
  enum { SIZES = sizeof size / sizeof *size };
  void *memory[SIZES];
  for (int i = 0; i < SIZES; i++) {
    size_t bytes = size[(i + p->rank) % SIZES];
    memory[i] = NULL;
    CHECK_OK(grove_alloc(p->ctx, bytes, &memory[i]));
    CHECK(bytes == 0 || memory[i], "no memory of %zu bytes", bytes);
    CHECK((uintptr_t)memory[i] % 64 == 0, "%p is not on a cache line", memory[i]);
    fill(memory[i], bytes, i);
  }
  for (int i = 0; i < SIZES; i++) {
    check_filled(memory[i], size[(i + p->rank) % SIZES], i);
    CHECK_OK(grove_dealloc(p->ctx, memory[i]));
  }
}

/* Hundreds alive, given back in another order; then again. No memory is lost. */
static void many(const place *p)
{
  enum { ALIVE = 200 };
  void *memory[ALIVE];
  size_t bytes[ALIVE];
  int64_t order[ALIVE], before = settled_bytes(p);
  int pieces = shared_pieces();
  rng r = rng_from(test_seed(), 1), mine = rng_from(test_seed() + 2, (uint64_t)p->rank);
  for (int again = 0; again < 3; again++) {
    for (int i = 0; i < ALIVE; i++) {
      bytes[i] = (size_t)rng_below(&mine, 50000);
      CHECK_OK(grove_alloc(p->ctx, bytes[i], &memory[i]));
      fill(memory[i], bytes[i], i);
      order[i] = i;
    }
    rng_shuffle(&r, ALIVE, order);
    for (int i = 0; i < ALIVE; i++) {
      int64_t k = order[i];
      check_filled(memory[k], bytes[k], (int)k);
      CHECK_OK(grove_dealloc(p->ctx, memory[k]));
    }
  }
  int64_t after = settled_bytes(p);
  CHECK(after == before, "%lld bytes are left", (long long)(after - before));
  CHECK(shared_pieces() == pieces, "%d pieces are still mapped", shared_pieces() - pieces);
}

/* Much more in the course of time than there is at once. */
static void again_and_again(const place *p)
{
  const size_t bytes = 1 << 20;
  int64_t before = settled_bytes(p);
  for (int i = 0; i < 300; i++) {
    void *memory = NULL;
    CHECK_OK(grove_alloc(p->ctx, bytes, &memory));
    ((char *)memory)[0] = ((char *)memory)[bytes - 1] = (char)i;
    CHECK_OK(grove_dealloc(p->ctx, memory));
    CHECK(shared_bytes() <= before + 2 * p->size * (int64_t)bytes, "%lld bytes after %d rounds",
          (long long)shared_bytes(), i);
  }
}

/* ---- refusals ---- */

static void wrong_arguments(const place *p)
{
  void *memory = NULL, *other = NULL;
  char own;
  CHECK_STATUS(grove_alloc(NULL, 10, &memory), GROVE_ERR_ARG);
  CHECK_STATUS(grove_dealloc(NULL, &own), GROVE_ERR_ARG);
  CHECK(!memory, "a refused allocation has set its output");
  CHECK_OK(grove_dealloc(p->ctx, NULL));
  CHECK_OK(grove_alloc(p->ctx, 50000, &memory));
  for (int bad = 0; bad < p->size; bad++) {
    grove_status status = grove_alloc(p->ctx, 50000, p->rank == bad ? NULL : &other);
    CHECK(status == GROVE_ERR_ARG && !other, "rank %d gave no address: %s", bad,
          grove_status_name(status));
    CHECK_SAME_ERROR(p->comm, status);
    void *wrong[] = {&own, (char *)memory + 64, (char *)memory + 49999};
    for (int i = 0; i < 3; i++) {
      status = grove_dealloc(p->ctx, p->rank == bad ? wrong[i] : memory);
      CHECK(status == GROVE_ERR_ARG, "rank %d gave something back that it had not: %s", bad,
            grove_status_name(status));
      CHECK_SAME_ERROR(p->comm, status);
    }
  }
  fill(memory, 50000, 3); /* nobody has given it back */
  check_filled(memory, 50000, 3);
  CHECK_OK(grove_dealloc(p->ctx, memory));
  CHECK_STATUS(grove_dealloc(p->ctx, memory), GROVE_ERR_ARG); /* twice */
}

/* What belongs to another context. */
static void another_context(const place *p)
{
  place q = place_create(split(0));
  void *memory = NULL;
  CHECK_OK(grove_alloc(p->ctx, 50000, &memory));
  CHECK_STATUS(grove_dealloc(q.ctx, memory), GROVE_ERR_ARG);
  CHECK_OK(grove_dealloc(p->ctx, memory));
  place_free(&q);
}

/* More than any machine has, on one rank only: all hear of it, and go on. */
static void more_than_there_is(const place *p)
{
  static const size_t much[] = {SIZE_MAX, SIZE_MAX - 100, SIZE_MAX / 2, (size_t)1 << 55};
  for (int i = 0; i < 4; i++) {
    void *memory = NULL;
    int bad = i % p->size;
    grove_status status = grove_alloc(p->ctx, p->rank == bad ? much[i] : 100000, &memory);
    CHECK(status == GROVE_ERR_MEMORY && !memory, "%zu bytes: %s", much[i],
          grove_status_name(status));
    CHECK_SAME_ERROR(p->comm, status);
  }
}

/* More than /dev/shm holds, but not more than a process may have: ordinary memory, which is as
 * good. It is hardly touched. */
static void more_than_shared_memory(const place *p)
{
  struct statvfs shm;
  void *memory = NULL;
  const int64_t n = 100000;
  if (statvfs("/dev/shm", &shm) != 0 || shm.f_blocks == 0) return;
  size_t bytes = (size_t)shm.f_blocks * shm.f_frsize + (1 << 20);
  grove_status status = grove_alloc(p->ctx, bytes, &memory);
  CHECK(status == GROVE_OK || status == GROVE_ERR_MEMORY, "%s: %s", grove_status_name(status),
        grove_last_error());
  if (status != GROVE_OK) return; /* the system promises nothing that it has not */
  ((char *)memory)[bytes - 1] = 1;
  ring x = ring_open(p, n, RING_NOBODY, KIND_BCAST);
  int64_t *own = x.root;
  x.root = memory;
  ring_run(&x, 3);
  x.root = own;
  ring_close(&x);
  CHECK_OK(grove_dealloc(p->ctx, memory));
}

/* ---- in the middle of other things ---- */

/* A rank that waits in grove_alloc advances what is under way. */
static void while_operations_run(const place *p, int64_t n)
{
  ring x = ring_open(p, n, RING_NOBODY, KIND_BCAST);
  void *memory[4];
  ring_init(&x);
  for (int round = 1; round <= 4; round++) {
    ring_fill(&x, round);
    CHECK_OK(grove_start(x.op));
    if (p->rank % 2) CHECK_OK(grove_wait(x.op)); /* the others come to grove_alloc first */
    CHECK_OK(grove_alloc(p->ctx, 100000, &memory[round - 1]));
    if (p->rank % 2 == 0) CHECK_OK(grove_wait(x.op));
    ring_check(&x, round);
  }
  for (int i = 0; i < 4; i++) CHECK_OK(grove_dealloc(p->ctx, memory[i]));
  ring_close(&x);
}

/* What is not given back goes with the context, and that lives as long as an operation. */
static void left_to_the_context(int64_t n)
{
  place p = place_create(split(0));
  ring x = ring_open(&p, n, RING_NOBODY, KIND_BCAST);
  void *memory = NULL, *unused = NULL;
  CHECK_OK(grove_alloc(p.ctx, (size_t)n * sizeof(int64_t), &memory));
  CHECK_OK(grove_alloc(p.ctx, 1000000, &unused));
  int64_t *own = x.root;
  x.root = memory;
  ring_init(&x);
  CHECK_OK(grove_forest_free(&x.forest));
  CHECK_OK(grove_context_free(&p.ctx));
  for (int round = 1; round < 4; round++) {
    ring_fill(&x, round);
    CHECK_OK(grove_start(x.op));
    CHECK_OK(grove_wait(x.op));
    ring_check(&x, round);
  }
  polite_barrier(p.comm);
  CHECK_OK(grove_op_free(&x.op));
  x.root = own;
  x.borrowed = 1; /* the forest is gone */
  ring_close(&x);
  MPI_Comm_free(&p.comm);
}

/* What a rank has in its leaves is what it had, or what the next rank has sent: nothing else. */
static void check_old_or_new(const ring *x, int round)
{
  ring old = ring_sibling(x), sent = ring_sibling(x);
  sent.me = x->next;
  ring_fill(&old, round);
  ring_fill(&sent, round);
  for (int64_t i = 0; i < x->n; i++)
    CHECK(x->leaf[i] == old.leaf[i] || x->leaf[i] == sent.root[i],
          "entry %lld is %lld, which nobody has sent", (long long)i, (long long)x->leaf[i]);
  ring_close(&old);
  ring_close(&sent);
}

/* Rank 0 frees an operation that sends from such memory while it is active, and even the context,
 * before anybody else starts. */
static void abandoned(int64_t n)
{
  place p = place_create(split(0));
  ring x = ring_open(&p, n, RING_NOBODY, KIND_BCAST);
  void *memory = NULL;
  int64_t *own = x.root;
  int done = 0;
  CHECK_OK(grove_alloc(p.ctx, (size_t)n * sizeof(int64_t), &memory));
  x.root = memory;
  ring_init(&x);
  ring_fill(&x, 1);
  for (int late = 0; late < 2; late++) {
    if ((p.rank != 0) == late) {
      CHECK_OK(grove_start(x.op));
      for (int i = 0; late && i < 1000 && !done; i++) CHECK_OK(grove_test(x.op, &done));
      CHECK_OK(grove_op_free(&x.op));
      CHECK_OK(grove_forest_free(&x.forest));
      CHECK_OK(grove_context_free(&p.ctx));
    }
    polite_barrier(p.comm);
  }
  x.root = own;
  x.borrowed = 1; /* the forest is gone */
  check_old_or_new(&x, 1);
  ring_close(&x);
  MPI_Comm_free(&p.comm);
}

/* With shared memory, with ordinary memory, and back: each is given back for what it is. */
static void options_change(const place *p)
{
  static const char *const choice[] = {"mpi", "shm", "mpi", "shm"};
  void *memory[5];
  CHECK_OK(grove_alloc(p->ctx, 100000, &memory[4]));
  for (int i = 0; i < 4; i++) {
    CHECK_OK(grove_context_set(p->ctx, "transport_on_node", choice[i]));
    CHECK_OK(grove_alloc(p->ctx, 100000, &memory[i]));
    fill(memory[i], 100000, i);
  }
  for (int i = 0; i < 4; i++) check_filled(memory[i], 100000, i);
  for (int i = 0; i < 5; i++) CHECK_OK(grove_dealloc(p->ctx, memory[i]));
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "exec/alloc_lifetimes");
  int64_t before = shared_bytes();
  place p = place_create(split(0));
  different_sizes(&p);
  many(&p);
  again_and_again(&p);
  wrong_arguments(&p);
  another_context(&p);
  more_than_there_is(&p);
  more_than_shared_memory(&p);
  while_operations_run(&p, RING_SMALL);
  while_operations_run(&p, RING_MIDDLE);
  left_to_the_context(100000);
  options_change(&p);
  different_sizes(&p);
  place_free(&p);
  CHECK(shared_bytes() <= before, "a freed context has shared memory");
  if (world_size() > 1) abandoned(100000); /* leaves memory behind on purpose */
  return test_end();
}
