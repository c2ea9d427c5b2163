/* Every route moves the same values: every kind of operation, in every form, on random forests and
 * on nodes of many shapes, whatever carries the messages and with whatever options. All arrays must
 * equal the serial oracle's in every byte; sums that depend on their order do so too wherever that
 * order is defined. One forest serves all routes in turn. */
#include "check.h"
#include "exercise.h"
#include "oracle.h"
#include "places.h"

#include <stdlib.h>
#include <string.h>

/* ---- what is crossed with what ---- */

/* 40 bytes are less than most blocks have, and cut them; a mebibyte holds them all. */
typedef struct way {
  const char *route, *cap;
} way;

static const way ways[] = {{"standard", "auto"}, {"2-step", "auto"},   {"3-step", "auto"},
                           {"split", "40"},      {"split", "1048576"}, {"auto", "auto"}};
enum { WAYS = sizeof ways / sizeof *ways };

typedef enum shape {
  SHAPE_FOUND,  /* as they are: one node, or the hosts of a cluster */
  SHAPE_TWO,    /* nodes of consecutive ranks */
  SHAPE_THREE,  /* ... which may differ by one in size */
  SHAPE_FIVE,   /* ... or have no rank */
  SHAPE_UNEVEN, /* one rank, two, and all others */
  SHAPE_ROUND,  /* ranks dealt to nodes by turns */
  SHAPE_ALONE,  /* a node for each rank */
  SHAPE_RANDOM, /* scattered and uneven */
  SHAPE_IDLE,   /* a node whose ranks need nothing */
  SHAPES
} shape;

/* Options with two values each, by bit. */
static const char *const switches[][3] = {{"transport_on_node", "shm", "mpi"},
                                          {"p2p", "persistent", "reposted"},
                                          {"deterministic", "off", "on"},
                                          {"check", "off", "on"},
                                          {"order", "ranks", "own-first"}};
enum { SWITCHES = sizeof switches / sizeof *switches, DETERMINISTIC = 1 << 2, OWN_FIRST = 1 << 4 };

/* ---- nodes ---- */

static int node_of(shape s, int rank, int size, rng *r)
{
  switch (s) {
  case SHAPE_TWO:
  case SHAPE_IDLE: return 2 * rank / size;
  case SHAPE_THREE: return 3 * rank / size;
  case SHAPE_FIVE: return 5 * rank / size;
  case SHAPE_UNEVEN: return rank < 3 ? (rank + 1) / 2 : 2;
  case SHAPE_ROUND: return rank % (size % 2 ? 2 : 3);
  case SHAPE_ALONE: return rank;
  case SHAPE_RANDOM: return (int)rng_below(r, size / 2 + 1);
  default: return 0;
  }
}

/* The last half of the ranks is the idle node. */
static void shape_nodes(const place *p, shape s, rng *r, graph *g)
{
  int *node = need((size_t)p->size * sizeof *node);
  for (int i = 0; i < p->size; i++) {
    node[i] = node_of(s, i, p->size, r);
    if (s == SHAPE_IDLE && node[i] == 1) part_resize(&g->part[i], g->part[i].nroots, 0);
  }
  if (s == SHAPE_FOUND)
    place_set(p, "node_map", "");
  else
    place_set_nodes(p, node);
  free(node);
}

/* ---- operations ---- */

/* In a reduce that is not deterministic a route may combine contributions on their way. */
static void draw(const units *types, exercise *e, op_kind k, int options, rng *r)
{
  exercise_draw_of(e, k, types, r);
  e->rough = e->r->code == OP_SUM && (k != KIND_REDUCE || options & DETERMINISTIC);
}

/* What was asked for is what one gets. */
static void check_route(exercise e, const char *route)
{
  grove_report report = {.struct_size = sizeof report};
  if (strcmp(route, "auto") == 0) return;
  exercise_open(&e);
  exercise_init(&e);
  CHECK_OK(grove_op_report(e.op, &report));
  CHECK(strcmp(report.route, route) == 0, "the route is '%s', not '%s'", report.route, route);
  exercise_close(&e);
}

static void try_ways(const place *p, const exercise *each, int64_t number, rng *mine)
{
  for (int w = 0; w < WAYS; w++) {
    place_set(p, "route", ways[w].route);
    place_set(p, "message_cap", ways[w].cap);
    for (int k = 0; k < OP_KINDS; k++)
      exercise_run(each[k], (op_form)((number + k + w) % OP_FORMS), mine);
    check_route(each[number % OP_KINDS], ways[w].route);
  }
}

/* A forest and what surrounds it. */
typedef struct setting {
  graph_kind kind;
  shape nodes;
  int options;
} setting;

enum { SETTINGS = GRAPH_KINDS_AND_REPEATED * SHAPES << SWITCHES };

/* All of them in turn; or a sample, which has every kind of graph and every shape, but not each
 * with each. */
static setting setting_of(int64_t number)
{
  rng r = rng_from(test_seed() + 2, (uint64_t)number);
  int64_t all = number / GRAPH_KINDS_AND_REPEATED,
          some = number + number / GRAPH_KINDS_AND_REPEATED;
  setting s = {.kind = (graph_kind)(number % GRAPH_KINDS_AND_REPEATED)};
  s.nodes = (shape)((test_exhaustive() ? all : some) % SHAPES);
  s.options = (int)(test_exhaustive() ? all / SHAPES : rng_below(&r, 1 << SWITCHES));
  return s;
}

static void try_setting(const units *types, const place *p, int64_t number)
{
  rng r = rng_from(test_seed() + (uint64_t)p->side, (uint64_t)number);
  rng mine = rng_from(r.state, (uint64_t)world_rank());
  setting s = setting_of(number);
  graph *g = graph_random(&r, s.kind, p->size);
  exercise each[OP_KINDS];
  shape_nodes(p, s.nodes, &r, g);
  for (int i = 0; i < SWITCHES; i++)
    place_set(p, switches[i][0], switches[i][1 + (s.options >> i & 1)]);
  oracle_own_first = (s.options & OWN_FIRST) != 0;
  grove_forest *f = graph_forest(p->ctx, g, p->rank);
  for (int k = 0; k < OP_KINDS; k++) {
    each[k] = (exercise){.g = g, .f = f, .me = p->rank};
    draw(types, &each[k], (op_kind)k, s.options, &r);
  }
  try_ways(p, each, number, &mine);
  CHECK_OK(grove_forest_free(&f));
  oracle_own_first = -1;
  graph_free(g);
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "exec/routes");
  units *types = units_create();
  places all = places_create();
  int64_t cases = test_exhaustive() ? SETTINGS : test_samples(18);
  for (int64_t i = 0; i < cases; i++) {
    test_case(i);
    try_setting(types, places_turn(&all, i / 2), i);
  }
  places_free(&all);
  units_free(types);
  return test_end();
}
