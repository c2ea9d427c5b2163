/* The system refuses one rank what shared memory needs, at every point where it can: the ranks of a
 * node agree to do without it, data is right, and later there is shared memory again. No call fails
 * and no sentence tells of it. The linker puts our functions in the place of the system's. */
#define _GNU_SOURCE /* off64_t */
#include "check.h"
#include "random.h"
#include "ring.h"
#include "shared.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>

/* ---- what can be refused ---- */

typedef enum call { MAP, RESERVE, OPEN, CALLS } call;

static const char *const call_name[CALLS] = {"mmap", "posix_fallocate", "shm_open"};

/* The call of this kind that fails, counted from 1, and all behind it if `lasting`; 0: none. */
static struct {
  call which;
  int at, lasting, count;
} refuse;

static int refused(call which)
{
  if (refuse.at == 0 || refuse.which != which) return 0;
  refuse.count++;
  return refuse.lasting ? refuse.count >= refuse.at : refuse.count == refuse.at;
}

void *__real_mmap(void *address, size_t bytes, int rights, int flags, int file, off_t offset);
int __real_posix_fallocate(int file, off_t offset, off_t bytes);
int __real_shm_open(const char *name, int flags, mode_t mode);
void *__wrap_mmap(void *address, size_t bytes, int rights, int flags, int file, off_t offset);
int __wrap_posix_fallocate(int file, off_t offset, off_t bytes);
int __wrap_shm_open(const char *name, int flags, mode_t mode);

void *__wrap_mmap(void *address, size_t bytes, int rights, int flags, int file, off_t offset)
{
  if (!refused(MAP)) return __real_mmap(address, bytes, rights, flags, file, offset);
  errno = ENOMEM;
  return MAP_FAILED;
}

int __wrap_posix_fallocate(int file, off_t offset, off_t bytes)
{
  return refused(RESERVE) ? ENOSPC : __real_posix_fallocate(file, offset, bytes);
}

int __wrap_shm_open(const char *name, int flags, mode_t mode)
{
  if (!refused(OPEN)) return __real_shm_open(name, flags, mode);
  errno = EMFILE;
  return -1;
}

static void arm(call which, int at, int lasting)
{
  refuse.which = which;
  refuse.at = at;
  refuse.lasting = lasting;
  refuse.count = 0;
}

/* ---- what all ranks must agree on ---- */

static int same_node(const place *p, int rank)
{
  int mine = 0, other = 0;
  CHECK_OK(grove_context_node(p->ctx, p->rank, &mine, NULL));
  CHECK_OK(grove_context_node(p->ctx, rank, &other, NULL));
  return mine == other;
}

/* 1 or 0, the same on all ranks of the node, or else the test fails. Collective. */
static int agreed(const place *p, int mine, const char *what)
{
  int *all = need((size_t)p->size * sizeof *all);
  MPI_Request request;
  MPI_Iallgather(&mine, 1, MPI_INT, all, 1, MPI_INT, p->comm, &request);
  polite_wait(&request);
  for (int r = 0; r < p->size; r++)
    CHECK(all[r] == mine || !same_node(p, r), "rank %d of the same node does not agree: %s", r,
          what);
  free(all);
  return mine;
}

static int uses_shm(grove_op *op)
{
  grove_report r = {.struct_size = sizeof r};
  CHECK_OK(grove_op_report(op, &r));
  return strcmp(r.transport_on_node, "shm") == 0;
}

static void run(ring *x, int rounds)
{
  for (int round = 1; round <= rounds; round++) {
    ring_fill(x, round);
    CHECK_OK(grove_start(x->op));
    CHECK_OK(grove_wait(x->op));
    ring_check(x, round);
  }
}

/* Did the refusal come? It depends on the rank's part, so all must be told. */
static int happened(const place *p)
{
  int mine = refuse.at > 0 && refuse.count >= refuse.at, any = 0;
  MPI_Request request;
  MPI_Iallreduce(&mine, &any, 1, MPI_INT, MPI_MAX, p->comm, &request);
  polite_wait(&request);
  return any;
}

static int refusals; /* so far, on any rank */

/* ---- operations ---- */

/* One more operation than fits into the memory that is there, so that something must be added. */
static void refused_operation(const place *p, call which, int at, int bad, int lasting)
{
  const int64_t n = 20000; /* 160 KB: more than a first piece */
  ring before = ring_open(p, RING_SMALL, RING_NOBODY, KIND_BCAST),
       x = ring_open(p, n, RING_NOBODY, KIND_BCAST);
  ring sibling = ring_sibling(&x), after = ring_sibling(&x);
  ring_init(&before);
  if (p->rank == bad) arm(which, at, lasting);
  ring_init(&x);
  int came = happened(p);
  refusals += came;
  int shm = agreed(p, uses_shm(x.op), "an operation");
  ring_init(&sibling); /* under the same conditions */
  agreed(p, uses_shm(sibling.op), "the next one");
  arm(which, 0, 0);
  CHECK(came || shm, "%s was not refused, and yet there is no shared memory", call_name[which]);
  CHECK(!came || !lasting || !shm || !same_node(p, bad),
        "%s is refused, and yet there is shared memory", call_name[which]);
  run(&x, 3);
  run(&sibling, 3);
  run(&before, 3);
  CHECK_OK(grove_op_free(&x.op));
  ring_init(&after);
  CHECK(agreed(p, uses_shm(after.op), "one of later"), "no shared memory, though all is well");
  run(&after, 3);
  ring_close(&sibling);
  ring_close(&after);
  ring_close(&before);
  ring_close(&x);
}

/* ---- memory that is read in place ---- */

static void refused_memory(const place *p, call which, int at, int bad)
{
  const int64_t n = 20000;
  void *memory[2] = {NULL, NULL};
  ring x = ring_open(p, n, RING_NOBODY, KIND_BCAST);
  int64_t *own = x.root;
  ring_run(&x, 1); /* has what it needs from now on */
  polite_barrier(p->comm);
  int64_t before = shared_bytes();
  polite_barrier(p->comm);
  if (p->rank == bad) arm(which, at, 0);
  for (int i = 0; i < 2; i++) CHECK_OK(grove_alloc(p->ctx, (size_t)n * 8, &memory[i]));
  refusals += happened(p);
  arm(which, 0, 0);
  for (int i = 0; i < 2; i++) {
    x.root = memory[i];
    ring_run(&x, 3);
    polite_barrier(p->comm); /* all have left, so the next one needs no more memory */
  }
  x.root = own;
  ring_close(&x);
  for (int i = 0; i < 2; i++) CHECK_OK(grove_dealloc(p->ctx, memory[i]));
  polite_barrier(p->comm);
  CHECK(shared_bytes() == before, "%lld bytes are left", (long long)(shared_bytes() - before));
  polite_barrier(p->comm);
}

/* ---- contexts ---- */

/* A context that cannot have shared memory works without. */
static void refused_context(call which, int at, int bad)
{
  if (world_rank() == bad) arm(which, at, 0);
  place p = place_create(split(0));
  int came = happened(&p);
  refusals += came;
  arm(which, 0, 0);
  ring x = ring_open(&p, 20000, RING_NOBODY, KIND_REDUCE);
  void *memory = NULL;
  ring_init(&x);
  CHECK(agreed(&p, uses_shm(x.op), "a context") == !came, "%s was%s refused", call_name[which],
        came ? "" : " not");
  run(&x, 3);
  CHECK_OK(grove_alloc(p.ctx, 100000, &memory));
  memset(memory, 1, 100000);
  CHECK_OK(grove_dealloc(p.ctx, memory));
  ring_close(&x);
  place_free(&p);
  CHECK(shared_bytes() == 0, "a freed context has shared memory");
}

static void try_context(int64_t number)
{
  int which = (int)(number % CALLS), at = 1 + (int)(number / CALLS % 2);
  refused_context((call)which, at, (int)(number / CALLS / 2 % world_size()));
}

static void try_operation(int64_t number)
{
  place p = place_create(split(0)); /* whose memory is as small as can be */
  int which = (int)(number % OPEN), at = 1 + (int)(number / OPEN % (1 + world_size()));
  int bad = (int)(number / OPEN / (1 + world_size()) % world_size());
  refused_operation(&p, (call)which, at, bad, at % 2);
  refused_memory(&p, (call)which, at, bad);
  place_free(&p);
}

/* Cases 0 .. n-1, all of them or a sample; always the first, which is certain to be refused
 * something. */
static void try_some(void (*one)(int64_t number), int64_t n, int64_t normal)
{
  rng r = rng_from(test_seed(), (uint64_t)n);
  int64_t *order = need((size_t)n * sizeof *order), most = test_exhaustive() ? n : normal;
  for (int64_t i = 0; i < n; i++) order[i] = i;
  rng_shuffle(&r, n - 1, order + 1);
  for (int64_t i = 0; i < n && i < most; i++) {
    test_case(order[i]);
    one(order[i]);
  }
  free(order);
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "transport/one_rank_is_short");
  try_some(try_context, 2 * CALLS * world_size(), test_samples(8));
  int before = refusals;
  CHECK(before > 0, "nothing was ever refused to a context");
  try_some(try_operation, OPEN * world_size() * (1 + world_size()), test_samples(10));
  CHECK(refusals > before || world_size() == 1, "nothing was ever refused to an operation");
  CHECK(!*grove_last_error(), "no call has failed, but '%s'", grove_last_error());
  return test_end();
}
