/* Operations that leave by parts, with some arrays of some ranks in memory that is not the host's
 * (device/behind.h): marks let letters leave that are packed some polls later, and what is told has
 * been unpacked. On random forests, every route and carrier; all arrays must equal the serial
 * oracle's. */
#include "behind.h"
#include "by_parts.h"
#include "check.h"
#include "places.h"

enum { ROUNDS = 3 };

/* An array that was moved there, and where it was. */
typedef struct moved {
  array *a;
  unsigned char *before;
} moved;

static void put_into(array *a, unsigned char *memory)
{
  a->slot0 = memory + (a->slot0 - a->memory);
  a->memory = memory;
}

static moved move(array *a, int wanted)
{
  moved m = {a, NULL};
  if (!wanted || a->bytes == 0) return m;
  m.before = a->memory;
  put_into(a, behind_create(a->bytes));
  return m;
}

static void move_back(const moved *m)
{
  if (m->before == NULL) return;
  unsigned char *there = m->a->memory;
  put_into(m->a, m->before);
  behind_free(there);
}

static void try_operation(exercise e, rng *mine)
{
  exercise_open(&e);
  moved root = move(&e.root, rng_one_in(mine, 2)), leaf = move(&e.leaf, rng_one_in(mine, 2));
  op_call c = exercise_call(&e);
  c.root = behind_given(c.root);
  c.leaf = behind_given(c.leaf);
  CHECK_OK(call_init(&c, &e.op));
  by_parts x = by_parts_of(&e);
  for (int round = 0; round < ROUNDS; round++) by_parts_round(&x, round, 0, mine);
  by_parts_free(&x);
  CHECK_OK(grove_op_free(&e.op));
  move_back(&root);
  move_back(&leaf);
  exercise_close(&e);
}

static void try_case(const units *types, const place *p, int64_t number, graph_kind kind)
{
  static const char *const routes[] = {"standard", "standard", "3-step", "split", "2-step"};
#ifdef TEST_FABRIC
  static const char *const carriers[] = {"p2p", "p2p", "neighbor", "rma", "ofi"};
#else
  static const char *const carriers[] = {"p2p", "p2p", "neighbor", "rma"};
#endif
  rng r = rng_from(test_seed() + (uint64_t)p->side, (uint64_t)number);
  rng mine = rng_from(r.state, (uint64_t)world_rank());
  graph *g = graph_random(&r, kind, p->size);
  place_draw_nodes(p, &r);
  place_set(p, "transport_on_node", rng_one_in(&r, 2) ? "mpi" : "shm");
  place_set(p, "transport_off_node", carriers[rng_below(&r, sizeof carriers / sizeof *carriers)]);
  place_set(p, "aggregator", rng_one_in(&r, 2) ? "none" : "auto");
  exercise e = {.g = g, .f = graph_forest(p->ctx, g, p->rank), .me = p->rank};
  for (op_kind k = 0; k < OP_KINDS; k++) {
    if (k == KIND_FETCH) continue;
    place_set_route(p, routes[rng_below(&r, 5)]);
    exercise_draw_of(&e, k, types, &r);
    try_operation(e, &mine);
  }
  CHECK_OK(grove_forest_free(&e.f));
  graph_free(g);
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "exec/parts_other_memory");
  units *types = units_create();
  places all = places_create();
  behind_reset();
  for (int i = 0; i < all.n; i++) behind_use(all.place[i].ctx);
  for (int64_t i = 0; i < test_samples(36); i++) {
    test_case(i);
    try_case(types, places_turn(&all, i), i, (graph_kind)(i / all.n % GRAPH_KINDS_AND_REPEATED));
  }
  CHECK(behind_under_way() == 0, "%lld jobs are left", (long long)behind_under_way());
  places_free(&all);
  units_free(types);
  return test_end();
}
