/* Arrays that are not the host's: memory that nobody can touch but its own table of functions, and
 * in which packing, unpacking and fetching are done two polls later. Operations of every kind, on
 * every route and carrier, with some of their arrays there and others not, give what the oracle
 * says; so do those whose partner frees them while they are under way, and takes the memory away.
 * The bytes are protected: whoever reads or writes them otherwise does not survive it. */
#define _GNU_SOURCE
#include "check.h"
#include "exec/transfer.h"
#include "exercise.h"
#include "places.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* ---- the memory ---- */

enum { REGIONS = 64 };

static struct {
  char *memory;
  size_t bytes;
} region[REGIONS];

static int owns(const void *slots, int *device)
{
  *device = 3;
  for (int i = 0; i < REGIONS; i++)
    if (region[i].memory && (const char *)slots >= region[i].memory &&
        (const char *)slots < region[i].memory + region[i].bytes)
      return 1;
  return 0;
}

static void protect(int how)
{
  for (int i = 0; i < REGIONS; i++)
    if (region[i].memory) CHECK(!mprotect(region[i].memory, region[i].bytes, how), "mprotect");
}

static grove_status allocate(int64_t bytes, int device, void **out)
{
  int i = 0;
  size_t pages = ((size_t)bytes + 8191) / 4096 * 4096;
  CHECK(device == 3, "device %d", device);
  while (region[i].memory) CHECK(++i < REGIONS, "too many regions");
  *out = mmap(NULL, pages, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(*out != MAP_FAILED, "mmap");
  region[i].memory = *out;
  region[i].bytes = pages;
  return GROVE_OK;
}

static void take_away(void *memory, int device)
{
  (void)device;
  for (int i = 0; i < REGIONS; i++)
    if (memory && region[i].memory == memory) {
      munmap(memory, region[i].bytes);
      region[i].memory = NULL;
    }
}

static grove_status copy(void *to, const void *from, int64_t bytes, int device)
{
  CHECK(device == 3, "device %d", device);
  protect(PROT_READ | PROT_WRITE);
  memcpy(to, from, (size_t)bytes);
  protect(PROT_NONE);
  return GROVE_OK;
}

/* ---- what is under way in it ---- */

typedef enum task { PACK, UNPACK, FETCH } task;

typedef struct job {
  task task;
  const grove_mover *mover;
  const grove_shape *shape;
  void *slots, *message;
  int64_t begin, count;
} job;

static struct {
  job *list;
  int64_t begun, room, ready, done;
} queue;

static int64_t deferred; /* jobs that were not done when they were asked for */

static grove_status add(job j, int device)
{
  CHECK(device == 3, "device %d", device);
  if (queue.begun == queue.room) {
    queue.room = 2 * queue.room + 64;
    queue.list = realloc(queue.list, (size_t)queue.room * sizeof *queue.list);
    CHECK(queue.list, "no memory");
  }
  queue.list[queue.begun++] = j;
  return GROVE_OK;
}

static grove_status pack(const grove_mover *mover, const grove_shape *shape, const void *slots,
                         int64_t begin, int64_t count, void *message, int device)
{
  return add((job){PACK, mover, shape, (void *)(uintptr_t)slots, message, begin, count}, device);
}

static grove_status unpack(const grove_mover *mover, const grove_shape *shape, const void *message,
                           void *slots, int64_t begin, int64_t count, int device)
{
  return add((job){UNPACK, mover, shape, slots, (void *)(uintptr_t)message, begin, count}, device);
}

static grove_status fetch(const grove_mover *mover, const grove_shape *shape, void *slots,
                          int64_t begin, int64_t count, void *message, int device)
{
  return add((job){FETCH, mover, shape, slots, message, begin, count}, device);
}

static void run_job(const job *j)
{
  switch (j->task) {
  case PACK:
    CHECK_OK(grove_pack(j->mover, j->shape, j->slots, j->begin, j->count, j->message));
    break;
  case UNPACK:
    CHECK_OK(grove_unpack(j->mover, j->shape, j->message, j->slots, j->begin, j->count));
    break;
  default: CHECK_OK(grove_pack_fetch(j->mover, j->shape, j->slots, j->begin, j->count, j->message));
  }
}

static int64_t begun(int device)
{
  (void)device;
  return queue.begun;
}

/* What was begun before the last question is done now. */
static int64_t passed(int device)
{
  (void)device;
  if (queue.done < queue.ready) protect(PROT_READ | PROT_WRITE);
  while (queue.done < queue.ready) run_job(&queue.list[queue.done++]);
  protect(PROT_NONE);
  deferred += queue.begun - queue.ready;
  queue.ready = queue.begun;
  return queue.done;
}

static const grove_space_kind behind = {.name = "behind",
                                        .bit = 1 << 1,
                                        .deferred = 1,
                                        .owns = owns,
                                        .allocate = allocate,
                                        .free = take_away,
                                        .copy = copy,
                                        .pack = pack,
                                        .unpack = unpack,
                                        .fetch = fetch,
                                        .begun = begun,
                                        .passed = passed};
static const grove_space_kind *const spaces[] = {&behind, NULL};

/* ---- arrays ---- */

/* An array of the exercise, and its double in the other memory, if it has one. */
typedef struct twin {
  array *array;
  void *memory;
} twin;

typedef struct twins {
  twin root, leaf, update;
} twins;

static twin twin_of(array *a, int wanted)
{
  twin t = {a, NULL};
  if (wanted && a->memory && a->bytes > 0) allocate((int64_t)a->bytes, 3, &t.memory);
  return t;
}

static twins twins_draw(exercise *e, rng *mine)
{
  twins t = {twin_of(&e->root, !rng_one_in(mine, 3)),
             twin_of(&e->leaf, !rng_one_in(mine, 3)),
             {&e->update, NULL}};
  if (e->kind == KIND_FETCH && !e->in_place) t.update = twin_of(&e->update, rng_one_in(mine, 2));
  return t;
}

static void twins_free(twins *t)
{
  take_away(t->root.memory, 3);
  take_away(t->leaf.memory, 3);
  take_away(t->update.memory, 3);
}

static void carry(const twin *t, int there)
{
  if (t->memory && there) copy(t->memory, t->array->memory, (int64_t)t->array->bytes, 3);
  if (t->memory && !there) copy(t->array->memory, t->memory, (int64_t)t->array->bytes, 3);
}

static void carry_all(const twins *t, int there)
{
  carry(&t->root, there);
  carry(&t->leaf, there);
  carry(&t->update, there);
}

/* Where the slot is that is given to Grove. */
static void *place_in(const twin *t, void *given)
{
  if (!t->memory || !given) return given;
  return (char *)t->memory + ((unsigned char *)given - t->array->memory);
}

static op_call call_of(const exercise *e, const twins *t)
{
  op_call c = exercise_call(e);
  c.root = place_in(&t->root, c.root);
  c.update = place_in(e->in_place ? &t->leaf : &t->update, c.update);
  c.leaf = place_in(&t->leaf, c.leaf);
  return c;
}

/* ---- operations ---- */

static void complete(grove_op *op, rng *mine)
{
  int done = rng_one_in(mine, 2);
  while (!done) CHECK_OK(grove_test(op, &done));
  CHECK_OK(grove_wait(op));
}

static void run_persistent(exercise *e, twins *t, rng *mine)
{
  op_call c = call_of(e, t);
  CHECK_OK(call_init(&c, &e->op));
  for (int round = 0; round < 3; round++) {
    exercise_renew(e, round);
    carry_all(t, 1);
    CHECK_OK(grove_start(e->op));
    complete(e->op, mine);
    carry_all(t, 0);
    exercise_check(e);
  }
}

/* Each in memory of its own choice: what is kept of one does not suit every other. */
static void run_one_shots(exercise *e, rng *mine)
{
  for (int round = 0; round < 4; round++) {
    grove_op *op = NULL;
    twins t = twins_draw(e, mine);
    exercise_renew(e, round);
    carry_all(&t, 1);
    op_call c = call_of(e, &t);
    CHECK_OK(call_begin(&c, &op));
    CHECK_OK(grove_end(&op));
    carry_all(&t, 0);
    exercise_check(e);
    twins_free(&t);
  }
}

/* Some ranks free it while it is under way, and their memory goes at once. */
static void run_freed(const place *p, exercise *e, twins *t, rng *mine)
{
  grove_op *idle = place_idle(p);
  op_call c = call_of(e, t);
  int frees = rng_one_in(mine, 2);
  CHECK_OK(call_init(&c, &e->op));
  exercise_renew(e, 9);
  carry_all(t, 1);
  CHECK_OK(grove_start(e->op));
  if (frees) {
    CHECK_OK(grove_op_free(&e->op));
    twins_free(t);
    *t = (twins){{&e->root, NULL}, {&e->leaf, NULL}, {&e->update, NULL}};
  } else {
    complete(e->op, mine);
    carry_all(t, 0);
    exercise_check(e);
  }
  place_meet(p, idle);
  CHECK_OK(grove_op_free(&idle));
}

static void try_case(const place *p, const units *types, int64_t number)
{
  static const char *const routes[] = {"standard", "2-step", "3-step", "split"};
  rng r = rng_from(test_seed() + (uint64_t)p->side, (uint64_t)number);
  rng mine = rng_from(r.state, (uint64_t)world_rank());
  graph *g = graph_random(&r, (graph_kind)rng_below(&r, GRAPH_KINDS), p->size);
  p->ctx->spaces = spaces;
  place_draw_nodes(p, &r);
  place_set(p, "route", routes[rng_below(&r, 4)]);
  place_set(p, "check", rng_one_in(&r, 4) ? "1" : "0");
  grove_forest *f = graph_forest(p->ctx, g, p->rank);
  exercise e = {.g = g, .f = f, .me = p->rank};
  exercise_draw(&e, types, &r);
  exercise_open(&e);
  twins t = twins_draw(&e, &mine);
  switch (rng_below(&r, 3)) {
  case 0: run_persistent(&e, &t, &mine); break;
  case 1: run_one_shots(&e, &mine); break;
  default: run_freed(p, &e, &t, &mine);
  }
  exercise_close(&e);
  twins_free(&t);
  CHECK_OK(grove_forest_free(&f));
  graph_free(g);
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "exec/other_memory");
  units *types = units_create();
  places all = places_create();
  for (int64_t i = 0; i < test_samples(120); i++) {
    test_case(i);
    try_case(places_turn(&all, i), types, i);
  }
  CHECK(deferred > 0, "nothing was ever under way");
  places_free(&all);
  units_free(types);
  free(queue.list);
  memset(&queue, 0, sizeof queue); /* other variants run in the same process */
  deferred = 0;
  return test_end();
}
