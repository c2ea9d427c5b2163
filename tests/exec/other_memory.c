/* Arrays that are not the host's: memory that nobody can touch but its own table of functions, and
 * in which packing, unpacking and fetching are done some polls later (device/behind.h). Operations
 * of every kind, on every route and carrier, with some of their arrays there and others not, give
 * what the oracle says; so do several that are under way on one wiring, and those whose partner
 * frees them while they are under way, and takes the memory away. */
#include "behind.h"
#include "check.h"
#include "exercise.h"
#include "places.h"

#include <string.h>

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
  if (wanted && a->memory && a->bytes > 0) t.memory = behind_create(a->bytes);
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
  behind_free(t->root.memory);
  behind_free(t->leaf.memory);
  behind_free(t->update.memory);
}

static void carry(const twin *t, int there)
{
  if (t->memory && there) memcpy(t->memory, t->array->memory, t->array->bytes);
  if (t->memory && !there) memcpy(t->array->memory, t->memory, t->array->bytes);
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
  return behind_given((char *)t->memory + ((unsigned char *)given - t->array->memory));
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

/* Several under way on one wiring, each in memory of its own choice: what is packed at once does
 * not overtake what is packed later. */
static void run_together(const exercise *like, rng *mine)
{
  enum { TOGETHER = 3 };
  exercise e[TOGETHER];
  twins t[TOGETHER];
  grove_op *op[TOGETHER];
  for (int i = 0; i < TOGETHER; i++) {
    e[i] = *like;
    exercise_open(&e[i]);
    exercise_renew(&e[i], i);
    t[i] = twins_draw(&e[i], mine);
    carry_all(&t[i], 1);
  }
  for (int i = 0; i < TOGETHER; i++) {
    op_call c = call_of(&e[i], &t[i]);
    CHECK_OK(call_begin(&c, &op[i]));
  }
  for (int i = 0; i < TOGETHER; i++) {
    CHECK_OK(grove_end(&op[i]));
    carry_all(&t[i], 0);
    exercise_check(&e[i]);
    twins_free(&t[i]);
    exercise_close(&e[i]);
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
  graph *g = graph_random(&r, (graph_kind)rng_below(&r, GRAPH_KINDS_AND_REPEATED), p->size);
  behind_use(p->ctx);
  place_draw_nodes(p, &r);
  place_set_route(p, routes[rng_below(&r, 4)]);
  place_set(p, "check", rng_one_in(&r, 4) ? "1" : "0");
  grove_forest *f = graph_forest(p->ctx, g, p->rank);
  exercise e = {.g = g, .f = f, .me = p->rank};
  exercise_draw(&e, types, &r);
  if (rng_one_in(&r, 4)) run_together(&e, &mine);
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
  CHECK(behind_deferred() > 0, "nothing was ever under way");
  CHECK(behind_under_way() == 0, "%lld jobs are left", (long long)behind_under_way());
  places_free(&all);
  units_free(types);
  behind_reset(); /* other variants run in the same process */
  return test_end();
}
