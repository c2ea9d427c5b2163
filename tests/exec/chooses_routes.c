/* Which route an operation takes, by prices that were worked out by hand: fields of a bundle that
 * go the same way are one question about all their bytes, other fields' prices are added up; sizes
 * of one class are asked about once; and a second route is tried where it is predicted to take at
 * most twice as long. */
#include "check.h"
#include "exec/op.h"
#include "generate.h"
#include "places.h"
#include "profile.h"

#include <math.h>
#include <string.h>

enum { RANKS = 4, VALUES = 6 };

/* Ranks 0 and 1 are a node, 2 and 3 another. Between nodes 20 us + 1 ns a byte, inside 2 us and as
 * many ns a byte as `inside` says: messages inside as well. */
static void set_up(const place *p, const char *inside)
{
  char rows[400];
  snprintf(rows, sizeof rows,
           "alpha cpu off-node any 20e-6 s m\n"
           "beta cpu off-node any 1e-9 s/B m\n"
           "alpha cpu on-socket any 2e-6 s m\n"
           "beta cpu on-socket any %s s/B m\n",
           inside);
  grove_machine *m = machine_of(rows);
  place_set(p, "node_map", "0,0,1,1");
  place_set(p, "transport_on_node", "mpi");
  place_set(p, "message_cap", "1000000");
  CHECK_OK(grove_context_use_machine(p->ctx, m));
  grove_machine_free(&m);
}

/* Ranks 2 and 3 both need all VALUES values of ranks 0 and 1. With s bytes of VALUES values
 *
 *     standard  2 (20 us + 1 ns s)
 *     2-step    20 us + 1 ns s, then 2 us + inside s
 *     3-step    20 us + 2 ns s, then 2 us + 2 inside s
 */
static grove_forest *shared_forest(const place *p)
{
  graph *g = graph_empty(RANKS);
  for (int i = 0; i < RANKS; i++) {
    part_resize(&g->part[i], i < 2 ? VALUES : 0, i < 2 ? 0 : 2 * VALUES);
    for (int j = 0; j < g->part[i].nleaves; j++)
      g->part[i].root[j] = (grove_root){j / VALUES, j % VALUES};
  }
  grove_forest *f = graph_forest(p->ctx, g, p->rank);
  graph_free(g);
  return f;
}

/* Rank 2 needs those of rank 0, rank 3 those of rank 1: all routes take 20 us + 1 ns s. */
static grove_forest *straight_forest(const place *p)
{
  graph *g = graph_empty(RANKS);
  for (int i = 0; i < RANKS; i++) {
    part_resize(&g->part[i], i < 2 ? VALUES : 0, i < 2 ? 0 : VALUES);
    for (int j = 0; j < g->part[i].nleaves; j++) g->part[i].root[j] = (grove_root){i - 2, j};
  }
  grove_forest *f = graph_forest(p->ctx, g, p->rank);
  graph_free(g);
  return f;
}

/* ---- operations ---- */

static char room[2 * VALUES * 4096];

static grove_op *bcast(grove_forest *f, int bytes)
{
  MPI_Datatype type;
  grove_op *op = NULL;
  MPI_Type_contiguous(bytes, MPI_BYTE, &type);
  MPI_Type_commit(&type);
  CHECK_OK(grove_bcast_init(f, type, room, room, MPI_REPLACE, &op));
  MPI_Type_free(&type);
  return op;
}

static grove_op *reduce(grove_forest *f)
{
  grove_op *op = NULL;
  CHECK_OK(grove_reduce_init(f, MPI_DOUBLE, room, room, MPI_SUM, &op));
  return op;
}

#define TAKES(op, route) check_route(op, route, __LINE__)
static void check_route(grove_op *op, const char *route, int line)
{
  grove_report report = {.struct_size = sizeof report};
  CHECK_OK(grove_op_report(op, &report));
  CHECK(strcmp(report.route, route) == 0, "line %d: it takes %s, not %s", line, report.route,
        route);
  CHECK_OK(grove_op_free(&op));
}

/* A bundle of two, which are freed. */
static grove_op *bundle(grove_op *a, grove_op *b)
{
  grove_op *members[] = {a, b}, *both = NULL;
  CHECK_OK(grove_op_bundle(2, members, &both));
  CHECK_OK(grove_op_free(&a));
  CHECK_OK(grove_op_free(&b));
  return both;
}

/* ---- what is chosen ---- */

/* Inside a byte takes 4 ns. Standard and 2-step take, in us,
 *
 *     100 bytes a value   41.2 and 25        500 bytes a value   46 and 37, which is not enough
 *     300                 43.6 and 31        600                 47.2 and 40: neither is this
 */
static void by_size(const place *p)
{
  grove_forest *f = shared_forest(p);
  TAKES(bcast(f, 300), "2-step");
  TAKES(bcast(f, 500), "standard"); /* each size has its own price, whatever was asked before */
  TAKES(bcast(f, 511), "standard");
  TAKES(bcast(f, 255), "2-step");
  CHECK_OK(grove_forest_free(&f));
  f = shared_forest(p);
  TAKES(bcast(f, 500), "standard");
  TAKES(bcast(f, 300), "2-step");
  TAKES(bcast(f, 100), "2-step");
  CHECK_OK(grove_forest_free(&f));
}

/* The same forest, the same way: one question. */
static void together(const place *p)
{
  grove_forest *f = shared_forest(p);
  TAKES(bundle(bcast(f, 300), bcast(f, 300)), "standard"); /* 600 bytes */
  TAKES(bundle(bcast(f, 100), bcast(f, 100)), "2-step");
  /* 416 bytes take 44.992 and 34.48; a sum of doubles back 40.096 and 22.24. Another way is another
   * question: together 85.088 and 56.72. (Of 424 bytes 2-step would not take enough less.) */
  TAKES(bundle(bcast(f, 416), reduce(f)), "2-step");
  TAKES(bundle(reduce(f), bcast(f, 416)), "2-step");
  CHECK_OK(grove_forest_free(&f));
}

/* Prices of several questions are added up, whichever comes first: with 21.8 us on another forest
 * 300 bytes take 65.4 and 52.8 us, which is not enough, and 100 bytes 63 and 46.8. */
static void added_up(const place *p)
{
  grove_forest *f = shared_forest(p), *straight = straight_forest(p);
  TAKES(bcast(straight, 300), "standard");
  TAKES(bcast(f, 300), "2-step");
  TAKES(bundle(bcast(f, 300), bcast(straight, 300)), "standard");
  TAKES(bundle(bcast(straight, 300), bcast(f, 300)), "standard");
  TAKES(bundle(bcast(f, 100), bcast(straight, 300)), "2-step");
  TAKES(bundle(bcast(straight, 300), bcast(f, 100)), "2-step");
  CHECK_OK(grove_forest_free(&f));
  CHECK_OK(grove_forest_free(&straight));
}

static int is_contest(const grove_op *op)
{
  return strcmp(op->kind->name, "contest") == 0;
}

/* 100 bytes a value: standard takes 41.2 us, 2-step 22.6 us and `inside` for 600 bytes. */
static void contests(const place *p)
{
  static const struct {
    const char *inside;
    int contest;
  } row[] = {
    {"4e-9", 1},   /* 25 us, and 3-step 28 */
    {"99e-9", 1},  /* 82 us */
    {"100e-9", 0}, /* 82.6 us, which is more than twice as much */
  };
  place_set(p, "effort", "measure");
  for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
    test_case((int64_t)i);
    set_up(p, row[i].inside);
    grove_forest *f = shared_forest(p);
    grove_op *op = bcast(f, 100);
    CHECK(is_contest(op) == row[i].contest, "case %zu: it is a %s", i, op->kind->name);
    TAKES(op, i == 0 ? "2-step" : "standard");
    CHECK_OK(grove_forest_free(&f));
  }
  place_set(p, "effort", "estimate");
  set_up(p, "4e-9");
  grove_forest *f = shared_forest(p);
  grove_op *op = bcast(f, 100);
  CHECK(!is_contest(op), "a contest that nobody asked for");
  TAKES(op, "2-step");
  CHECK_OK(grove_forest_free(&f));
}

/* ---- who is a rival ---- */

static grove_routing routing(double first, double second)
{
  return (grove_routing){.route = &grove_route_two_step,
                         .cap = 77,
                         .chosen = 1,
                         .choice = {.n = 3,
                                    .chosen = 1,
                                    .runner_up = 2,
                                    .candidates = {{&grove_route_standard, .seconds = 100},
                                                   {&grove_route_two_step, .seconds = first},
                                                   {&grove_route_three_step, .seconds = second}}}};
}

static void rivals(void)
{
  grove_settings settings = {.effort = GROVE_EFFORT_MEASURE};
  grove_routing best = routing(1, 2), rival = {0};
  CHECK(grove_routing_has_rival(&settings, &best, &rival), "twice as long is worth it");
  CHECK(rival.route == &grove_route_three_step && rival.cap == 77 && !rival.chosen, "another one");
  best = routing(1, nextafter(2, 3));
  CHECK(!grove_routing_has_rival(&settings, &best, &rival), "more than twice as long is not");
  best = routing(1, 1.5);
  best.route = &grove_route_standard; /* the one that was chosen cannot serve the forest */
  CHECK(!grove_routing_has_rival(&settings, &best, &rival), "it was not chosen");
  best = routing(1, 1.5);
  best.choice.runner_up = -1;
  CHECK(!grove_routing_has_rival(&settings, &best, &rival), "there is no other");
  best = routing(1, 1.5);
  best.chosen = 0; /* the option route said it */
  CHECK(!grove_routing_has_rival(&settings, &best, &rival), "nobody chose");
  best = routing(1, 1.5);
  settings.effort = GROVE_EFFORT_ESTIMATE;
  CHECK(!grove_routing_has_rival(&settings, &best, &rival), "nobody asked for it");
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "exec/chooses_routes");
  place p = place_create(split(0));
  CHECK(p.size == RANKS, "%d ranks", p.size);
  rivals();
  set_up(&p, "4e-9");
  by_size(&p);
  together(&p);
  added_up(&p);
  contests(&p);
  place_free(&p);
  return test_end();
}
