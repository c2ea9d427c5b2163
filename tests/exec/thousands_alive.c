/* Thousands of operations alive at once, each with shared memory of its own: started and waited for
 * in an order of each rank's own. All ranks of a node agree on what carries each of them; and when
 * they are freed their memory serves the next ones. */
#include "check.h"
#include "places.h"
#include "random.h"
#include "ring.h"
#include "shared.h"

#include <stdlib.h>
#include <string.h>

enum { SIZES = 6 };

/* Small ones mostly; the largest takes 128 KiB of shared memory on every rank. */
static int64_t size_of(int64_t i)
{
  static const int64_t size[SIZES] = {1, 6, 100, 500, 1500, 10000};
  int64_t k = (int64_t)(mix((uint64_t)i) % 100);
  return size[k < 80 ? k % 3 : k < 95 ? 3 : k < 98 ? 4 : 5];
}

static int uses_shm(grove_op *op)
{
  grove_report r = {.struct_size = sizeof r};
  CHECK_OK(grove_op_report(op, &r));
  return strcmp(r.transport_on_node, "shm") == 0;
}

/* How many of them go over shared memory: the same ones on every rank of the node. */
static int64_t count_shm(const place *p, const ring *x, int64_t n)
{
  int node = 0, nnodes = 0;
  int64_t count = 0;
  CHECK_OK(grove_context_node(p->ctx, p->rank, &node, &nnodes));
  unsigned char *mine = need(2 * (size_t)n), *most = need(2 * (size_t)n);
  for (int64_t i = 0; i < n; i++) {
    mine[i] = (unsigned char)uses_shm(x[i].op);
    mine[n + i] = !mine[i];
    count += mine[i];
  }
  MPI_Comm comm;
  MPI_Request request;
  MPI_Comm_split(p->comm, node, p->rank, &comm);
  MPI_Iallreduce(mine, most, (int)(2 * n), MPI_UNSIGNED_CHAR, MPI_MAX, comm, &request);
  polite_wait(&request);
  MPI_Comm_free(&comm);
  for (int64_t i = 0; i < n; i++)
    CHECK(!most[i] || !most[n + i], "the ranks of a node do not agree on operation %lld",
          (long long)i);
  free(mine);
  free(most);
  return count;
}

static void start_all(ring *x, int64_t n, int round, rng *mine)
{
  int64_t *order = need((size_t)n * sizeof *order);
  for (int64_t i = 0; i < n; i++) order[i] = i;
  rng_shuffle(mine, n, order);
  for (int64_t k = 0; k < n; k++) {
    ring_fill(&x[order[k]], round + (int)order[k]);
    CHECK_OK(grove_start(x[order[k]].op));
  }
  rng_shuffle(mine, n, order);
  for (int64_t k = 0; k < n; k++) {
    CHECK_OK(grove_wait(x[order[k]].op));
    ring_check(&x[order[k]], round + (int)order[k]);
  }
  free(order);
}

/* Of the context, while nobody changes it. Collective. */
static int64_t settled_bytes(const place *p)
{
  polite_barrier(p->comm);
  int64_t bytes = shared_bytes();
  polite_barrier(p->comm);
  return bytes;
}

/* Freed in another order than they were made. */
static void free_all(ring *x, int64_t n, rng *r)
{
  int64_t *order = need((size_t)n * sizeof *order);
  for (int64_t i = 0; i < n; i++) order[i] = i;
  rng_shuffle(r, n, order);
  for (int64_t k = 0; k < n; k++) CHECK_OK(grove_op_free(&x[order[k]].op));
  free(order);
}

static void alive_at_once(const place *p, int64_t n, int print)
{
  ring base[OP_KINDS * SIZES], *x = need((size_t)n * sizeof *x);
  rng r = rng_from(test_seed(), 9), mine = rng_from(test_seed(), (uint64_t)p->rank + 10);
  int nbases = 0;
  for (int64_t i = 0; i < n; i++) { /* siblings share the forest of the first of their kind */
    int b = 0;
    op_kind k = (op_kind)(i % OP_KINDS);
    int64_t entries = size_of(i);
    while (b < nbases && (base[b].n != entries || base[b].kind != k)) b++;
    if (b == nbases) base[nbases++] = ring_open(p, entries, RING_NOBODY, k);
    x[i] = ring_sibling(&base[b]);
  }
  int64_t bytes[3] = {0}, shm = 0;
  for (int again = 0; again < 3; again++) {
    test_case(again);
    for (int64_t i = 0; i < n; i++) ring_init(&x[i]);
    shm = count_shm(p, x, n);
    for (int round = 0; round < 2; round++) start_all(x, n, 7 * round + again, &mine);
    free_all(x, n, &r);
    bytes[again] = settled_bytes(p);
    if (p->rank == 0 && print)
      printf("exec/thousands_alive: %lld of %lld over shared memory, %lld bytes\n", (long long)shm,
             (long long)n, (long long)bytes[again]);
  }
  /* The second time may find the memory in other places, and need a little more. */
  CHECK(bytes[2] <= bytes[0] + bytes[0] / 2, "%lld bytes of shared memory became %lld",
        (long long)bytes[0], (long long)bytes[2]);
  for (int64_t i = 0; i < n; i++) ring_close(&x[i]);
  for (int k = 0; k < nbases; k++) ring_close(&base[k]);
  free(x);
}

/* --print: says how many went over shared memory. */
int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "exec/thousands_alive");
  int print = 0;
  for (int i = 1; i < argc; i++) print |= strcmp(argv[i], "--print") == 0;
  int64_t before = shared_bytes(); /* of tests before this one that freed what was active */
  place p = place_create(split(0));
  alive_at_once(&p, test_samples(3000), print);
  place_free(&p);
  CHECK(shared_bytes() <= before, "a freed context has shared memory");
  return test_end();
}
