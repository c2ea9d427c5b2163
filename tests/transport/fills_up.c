/* A /dev/shm that fills up while operations are made: those from before stay in shared memory,
 * those made meanwhile go over messages, agreed by the node, and later ones have shared memory
 * again. Nothing that was granted is ever missing: no SIGBUS.
 *
 * For short_of_memory.sh, which gives it a small /dev/shm of its own. */
#include "check.h"
#include "places.h"
#include "ring.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { MOST = 400, LARGE = 20000 };

static const char filler[] = "/dev/shm/filler";

/* Rank 0 takes all that is left, to the last byte. Collective. */
static void fill_shm(const place *p)
{
  static char page[4096];
  polite_barrier(p->comm);
  if (p->rank == 0) {
    FILE *file = fopen(filler, "w");
    CHECK(file && setvbuf(file, NULL, _IONBF, 0) == 0, "no filler");
    while (fwrite(page, 1, sizeof page, file) == sizeof page) {
    }
    fclose(file);
  }
  polite_barrier(p->comm);
}

static void empty_shm(const place *p)
{
  polite_barrier(p->comm);
  if (p->rank == 0) CHECK(unlink(filler) == 0, "the filler is gone");
  polite_barrier(p->comm);
}

/* Whether it goes over shared memory; all ranks say the same. Collective. */
static int uses_shm(const place *p, grove_op *op)
{
  grove_report r = {.struct_size = sizeof r};
  int mine[2], most[2];
  CHECK_OK(grove_op_report(op, &r));
  mine[0] = strcmp(r.transport_on_node, "shm") == 0;
  mine[1] = !mine[0];
  MPI_Request request;
  MPI_Iallreduce(mine, most, 2, MPI_INT, MPI_MAX, p->comm, &request);
  polite_wait(&request);
  CHECK(most[0] + most[1] == 1, "the ranks of a node do not agree");
  return mine[0];
}

typedef struct many {
  int n, shm;
  ring x[MOST];
} many;

static int add(const place *p, many *all, const ring *like)
{
  CHECK(all->n < MOST, "it never fills up");
  ring *x = &all->x[all->n++];
  *x = ring_sibling(like);
  ring_init(x);
  int shm = uses_shm(p, x->op);
  all->shm += shm;
  return shm;
}

static void run_all(many *all, int round)
{
  for (int i = 0; i < all->n; i++) {
    ring_fill(&all->x[i], round + i);
    CHECK_OK(grove_start(all->x[i].op));
  }
  for (int i = all->n - 1; i >= 0; i--) {
    CHECK_OK(grove_wait(all->x[i].op));
    ring_check(&all->x[i], round + i);
  }
}

/* Only the hub needs memory for this: all others hear that it has none. */
static void star(const place *p, int hub)
{
  grove_root *root = need(LARGE * sizeof *root);
  int64_t *value = need(LARGE * sizeof *value);
  grove_forest *f = NULL;
  grove_op *op = NULL;
  for (int64_t i = 0; i < LARGE; i++) {
    root[i] = (grove_root){hub, i};
    value[i] = p->rank == hub ? 3 * i + hub : -1;
  }
  int own = p->rank == hub;
  CHECK_OK(grove_forest_create(p->ctx, &f));
  CHECK_OK(grove_forest_set_graph(f, own ? LARGE : 0, own ? 0 : LARGE, NULL, root));
  CHECK_OK(grove_forest_set_up(f));
  CHECK_OK(grove_bcast_init(f, MPI_INT64_T, value, value, MPI_REPLACE, &op));
  uses_shm(p, op);
  CHECK_OK(grove_start(op));
  CHECK_OK(grove_wait(op));
  for (int64_t i = 0; i < LARGE; i++) CHECK(value[i] == 3 * i + hub, "from %d: wrong", hub);
  CHECK_OK(grove_op_free(&op));
  CHECK_OK(grove_forest_free(&f));
  free(value);
  free(root);
}

/* A context that is made when nothing is left. */
static void new_context(int shm)
{
  place p = place_create(split(0));
  ring x = ring_open(&p, LARGE, RING_NOBODY, KIND_REDUCE);
  void *memory = NULL;
  ring_init(&x);
  CHECK(uses_shm(&p, x.op) == shm, "a new context has%s shared memory", shm ? " no" : "");
  CHECK_OK(grove_op_free(&x.op));
  ring_run(&x, 2);
  CHECK_OK(grove_alloc(p.ctx, 1 << 20, &memory));
  memset(memory, 7, 1 << 20);
  CHECK_OK(grove_dealloc(p.ctx, memory));
  ring_close(&x);
  place_free(&p);
}

static void try_all(const place *p, many *all)
{
  ring large = ring_open(p, LARGE, RING_NOBODY, KIND_BCAST),
       small = ring_open(p, 6, RING_NOBODY, KIND_REDUCE);
  void *memory[2];
  for (int i = 0; i < 5; i++) CHECK(add(p, all, i % 2 ? &large : &small), "no shared memory yet");
  CHECK_OK(grove_alloc(p->ctx, LARGE * 8, &memory[0]));
  run_all(all, 1);
  fill_shm(p);
  while (add(p, all, &large)) { /* what was taken ahead of need is left */
  }
  int before = all->shm;
  for (int i = 0; i < 5; i++) add(p, all, &large);
  CHECK(all->shm == before, "there was none, and now there is, though nobody gave any back");
  for (int hub = 0; hub < p->size; hub++) star(p, hub);
  for (int i = 0; i < 50; i++) add(p, all, &small);
  CHECK_OK(grove_alloc(p->ctx, LARGE * 8, &memory[1]));
  memset(memory[0], 1, LARGE * 8);
  memset(memory[1], 2, LARGE * 8);
  run_all(all, 2);
  new_context(0);
  empty_shm(p);
  CHECK(add(p, all, &large) && add(p, all, &large), "the space is back, but not shared memory");
  new_context(1);
  run_all(all, 3);
  for (int hub = 0; hub < p->size; hub++) star(p, hub);
  fill_shm(p);
  run_all(all, 4);
  for (int i = 0; i < all->n; i++) ring_close(&all->x[i]);
  for (int i = 0; i < 2; i++) CHECK_OK(grove_dealloc(p->ctx, memory[i]));
  ring_close(&large);
  ring_close(&small);
  empty_shm(p);
}

int main(int argc, char **argv)
{
  static many all;
  struct statvfs shm;
  test_begin(&argc, &argv, "transport/fills_up");
  if (statvfs("/dev/shm", &shm) != 0 || (shm.f_blocks * shm.f_frsize) >> 28 > 0)
    return test_skip("/dev/shm is too large to be filled");
  place p = place_create(split(0));
  try_all(&p, &all);
  if (p.rank == 0) printf("transport/fills_up: %d of %d over shared memory\n", all.shm, all.n);
  place_free(&p);
  return test_end();
}
