/* Results that depend on the order of combination. Sums of numbers that do not add up exactly: two
 * runs give the same bits, and with the option `deterministic` they are the bits of the defined
 * order, whatever carries the messages and on whichever route. Fetch, gather, scatter, and
 * operations that do not commute have those bits with any options. */
#include "check.h"
#include "exercise.h"
#include "places.h"

#include <stdlib.h>

/* ---- options that must not matter ---- */

typedef struct setting {
  const char *on_node, *p2p, *node_size, *route; /* node_size 0: all ranks are one node */
} setting;

static const setting settings[] = {
  {"shm", "persistent", "0", "standard"}, {"shm", "reposted", "2", "3-step"},
  {"shm", "persistent", "1", "standard"}, {"mpi", "persistent", "0", "standard"},
  {"mpi", "reposted", "0", "standard"},   {"mpi", "persistent", "2", "2-step"},
  {"shm", "persistent", "2", "split"},    {"mpi", "persistent", "1", "split"},
  {"mpi", "reposted", "1", "standard"},   {"shm", "persistent", "2", "standard"},
  {"mpi", "reposted", "2", "3-step"},
};
enum { SETTINGS = sizeof settings / sizeof *settings };

static void use(const place *p, const setting *s)
{
  place_set(p, "transport_on_node", s->on_node);
  place_set(p, "p2p", s->p2p);
  place_set(p, "node_size", s->node_size);
  place_set(p, "route", s->route);
  place_set(p, "message_cap", "40"); /* of split: less than most ranks have for a node */
}

/* ---- one operation, several times ---- */

static void run(exercise *e)
{
  exercise_renew(e, 0);
  CHECK_OK(grove_start(e->op));
  CHECK_OK(grove_wait(e->op));
}

/* `defined`: the order is, so that the oracle knows the bits. */
static void repeat(exercise e, int defined)
{
  exercise_open(&e);
  exercise_init(&e);
  run(&e);
  array root = array_copy(&e.root), leaf = array_copy(&e.leaf);
  for (int round = 0; round < 2; round++) {
    run(&e);
    array_check(e.u, &e.root, &root, "root", "a second run's");
    array_check(e.u, &e.leaf, &leaf, "leaf", "a second run's");
  }
  if (defined) exercise_check(&e);
  array_free(&root);
  array_free(&leaf);
  exercise_close(&e);
}

/* ---- all of them ---- */

static const char *const floats[] = {"MPI_FLOAT", "MPI_DOUBLE", "MPI_LONG_DOUBLE",
                                     "MPI_C_DOUBLE_COMPLEX", "3 doubles"};
enum { FLOATS = sizeof floats / sizeof *floats };

/* Reduce on every type; the others on some, by turns. */
static void try_sums(const units *types, exercise e, rng *r, int64_t turn, int deterministic)
{
  for (int i = 0; i < FLOATS; i++)
    for (e.kind = 0; e.kind < OP_KINDS; e.kind++) {
      if (e.kind != KIND_REDUCE && (i + e.kind + turn) % 3) continue;
      e.u = units_find(types, floats[i]);
      e.r = unit_reduction(e.u, "SUM");
      e.in_place = e.kind == KIND_FETCH && i % 2;
      e.seed = rng_next(r);
      repeat(e, deterministic || e.kind != KIND_REDUCE);
    }
}

static void try_non_commutative(const units *types, exercise e, rng *r, int64_t turn)
{
  static const char *const name[][2] = {{"affine map", "compose"},
                                        {"2x2 matrix", "matrix product"},
                                        {"struct of char and double", "left tagged"}};
  for (int i = 0; i < 3; i++)
    for (e.kind = KIND_REDUCE; e.kind <= KIND_FETCH; e.kind++) {
      if ((i + e.kind + turn) % 2) continue;
      e.u = units_find(types, name[i][0]);
      e.r = unit_reduction(e.u, name[i][1]);
      e.in_place = e.kind == KIND_FETCH && i % 2;
      e.seed = rng_next(r);
      repeat(e, 1);
    }
}

static void try_forest(const units *types, const place *p, int64_t number, int deterministic)
{
  rng r = rng_from(test_seed() + (uint64_t)p->side, (uint64_t)(number / SETTINGS));
  graph *g = graph_random(&r, number / SETTINGS % 2 ? GRAPH_STAR : GRAPH_DENSE, p->size);
  exercise e = {.g = g, .f = graph_forest(p->ctx, g, p->rank), .me = p->rank, .rough = 1};
  try_sums(types, e, &r, number + number / SETTINGS, deterministic);
  try_non_commutative(types, e, &r, number);
  CHECK_OK(grove_forest_free(&e.f));
  graph_free(g);
}

/* The same forests and values with every setting, without and with the option. */
int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "exec/same_bits");
  units *types = units_create();
  place p = place_create(split(0));
  int64_t cases = SETTINGS * test_samples(2);
  for (int64_t i = 0; i < 2 * cases; i++) {
    test_case(i);
    if (i == cases) place_set(&p, "deterministic", "1");
    use(&p, &settings[i % SETTINGS]);
    try_forest(types, &p, i % cases, i >= cases);
  }
  place_free(&p);
  units_free(types);
  return test_end();
}
