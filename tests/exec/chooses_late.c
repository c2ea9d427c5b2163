/* The option `choose_after`: so many one-shots of a kind take the standard route, which nobody
 * prices, the next one takes the route that is chosen. Values are right on both, also of operations
 * that are under way while others change; other kinds keep their own count, and what is prepared
 * has its route at once. */
#include "check.h"
#include "generate.h"
#include "places.h"
#include "profile.h"

#include <math.h>
#include <string.h>

enum { RANKS = 4, VALUES = 6, WIDE = 300, AFTER = 3, SHOTS = 4 };

/* Ranks 0 and 1 are a node, 2 and 3 another. Ranks 2 and 3 both need all values of 0 and 1: with
 * these prices 2-step is the cheapest (chooses_routes.c has the numbers). */
static void set_up(const place *p)
{
  grove_machine *m = machine_of("alpha cpu off-node any 20e-6 s m\n"
                                "beta cpu off-node any 1e-9 s/B m\n"
                                "alpha cpu on-socket any 2e-6 s m\n"
                                "beta cpu on-socket any 4e-9 s/B m\n");
  place_set(p, "node_map", "0,0,1,1");
  place_set(p, "transport_on_node", "mpi");
  place_set(p, "message_cap", "1000000");
  CHECK_OK(grove_context_use_machine(p->ctx, m));
  grove_machine_free(&m);
}

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

/* ---- one bcast ---- */

typedef struct shot {
  unsigned char root[VALUES][WIDE], leaf[2 * VALUES][WIDE];
  grove_op *op;
} shot;

static void begin(const place *p, grove_forest *f, MPI_Datatype unit, shot *s, int number)
{
  for (int i = 0; i < VALUES; i++) memset(s->root[i], 40 * p->rank + 6 * number + i, WIDE);
  memset(s->leaf, 0xff, sizeof s->leaf);
  CHECK_OK(grove_bcast_begin(f, unit, s->root, s->leaf, MPI_REPLACE, &s->op));
}

#define TAKES(shot, route) check_route(shot, route, __LINE__)
static void check_route(const shot *s, const char *route, int line)
{
  grove_report r = {.struct_size = sizeof r};
  CHECK_OK(grove_op_report(s->op, &r));
  CHECK(strcmp(r.route, route) == 0, "line %d: it takes %s, not %s", line, r.route, route);
  CHECK(isnan(r.predicted_seconds) == (strcmp(route, "standard") == 0), "line %d: %g seconds", line,
        r.predicted_seconds);
}

static void end(const place *p, shot *s, int number)
{
  CHECK_OK(grove_end(&s->op));
  for (int j = 0; p->rank >= 2 && j < 2 * VALUES; j++) {
    int expected = 40 * (j / VALUES) + 6 * number + j % VALUES;
    CHECK(s->leaf[j][0] == expected && s->leaf[j][WIDE - 1] == expected, "leaf %d: %d, not %d", j,
          s->leaf[j][0], expected);
  }
}

static const char *route_of(int number)
{
  return number < AFTER ? "standard" : "2-step";
}

/* ---- what is tried ---- */

static shot shots[SHOTS];

static void one_by_one(const place *p, MPI_Datatype unit)
{
  grove_forest *f = shared_forest(p);
  for (int i = 0; i < 2 * AFTER; i++) {
    begin(p, f, unit, &shots[0], i);
    TAKES(&shots[0], route_of(i));
    end(p, &shots[0], i);
  }
  CHECK_OK(grove_forest_free(&f));
}

/* All are under way at once, and end in another order on each rank; then again. */
static void together(const place *p, MPI_Datatype unit)
{
  grove_forest *f = shared_forest(p);
  for (int round = 0; round < 2; round++) {
    for (int i = 0; i < SHOTS; i++) {
      begin(p, f, unit, &shots[i], i);
      TAKES(&shots[i], route_of(SHOTS * round + i));
    }
    for (int i = 0; i < SHOTS; i++) {
      int which = (i + p->rank) % SHOTS;
      end(p, &shots[which], which);
    }
  }
  CHECK_OK(grove_forest_free(&f));
}

static void kinds_count_apart(const place *p, MPI_Datatype unit)
{
  grove_forest *f = shared_forest(p);
  double root[VALUES] = {0}, leaf[2 * VALUES] = {0};
  for (int i = 0; i < AFTER; i++) {
    begin(p, f, unit, &shots[0], i);
    end(p, &shots[0], i);
  }
  for (int i = 0; i < VALUES; i++) root[i] = p->rank + i;
  CHECK_OK(grove_bcast_begin(f, MPI_DOUBLE, root, leaf, MPI_REPLACE, &shots[0].op));
  TAKES(&shots[0], "standard");
  CHECK_OK(grove_end(&shots[0].op));
  begin(p, f, unit, &shots[0], AFTER);
  TAKES(&shots[0], "2-step");
  end(p, &shots[0], AFTER);
  CHECK_OK(grove_forest_free(&f));
}

/* To prepare a kind is to say that it will be used often: before its first use, or after some. */
static void prepared(const place *p, MPI_Datatype unit)
{
  for (int uses = 0; uses < 2; uses++) {
    grove_forest *f = shared_forest(p);
    for (int i = 0; i < uses; i++) {
      begin(p, f, unit, &shots[0], i);
      end(p, &shots[0], i);
    }
    CHECK_OK(grove_bcast_prepare(f, unit, MPI_REPLACE));
    begin(p, f, unit, &shots[0], 5);
    TAKES(&shots[0], "2-step");
    end(p, &shots[0], 5);
    CHECK_OK(grove_forest_free(&f));
  }
}

/* What the user says counts, and a persistent operation is made for many starts. */
static void told(const place *p, MPI_Datatype unit)
{
  grove_op *op = NULL;
  grove_report r = {.struct_size = sizeof r};
  grove_forest *f = shared_forest(p);
  CHECK_OK(grove_bcast_init(f, unit, shots[0].root, shots[0].leaf, MPI_REPLACE, &op));
  CHECK_OK(grove_op_report(op, &r));
  CHECK(strcmp(r.route, "2-step") == 0, "a persistent one takes %s", r.route);
  CHECK_OK(grove_op_free(&op));
  place_set(p, "route", "3-step");
  begin(p, f, unit, &shots[0], 1);
  TAKES(&shots[0], "3-step");
  end(p, &shots[0], 1);
  place_set(p, "route", "auto");
  CHECK_OK(grove_forest_free(&f));
}

/* Where no other route can help, none is chosen later either. */
static void nothing_to_choose(const place *p, MPI_Datatype unit)
{
  place_set(p, "node_map", "");
  place_set(p, "node_size", "4");
  grove_forest *f = shared_forest(p);
  for (int i = 0; i < 2 * AFTER; i++) {
    begin(p, f, unit, &shots[0], i);
    TAKES(&shots[0], "standard");
    end(p, &shots[0], i);
  }
  CHECK_OK(grove_forest_free(&f));
}

int main(int argc, char **argv)
{
  MPI_Comm comm;
  MPI_Datatype unit;
  test_begin(&argc, &argv, "exec/chooses_late");
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  place p = place_create(comm);
  MPI_Type_contiguous(WIDE, MPI_BYTE, &unit);
  MPI_Type_commit(&unit);
  set_up(&p);
  place_set(&p, "choose_after", "3");
  one_by_one(&p, unit);
  together(&p, unit);
  kinds_count_apart(&p, unit);
  prepared(&p, unit);
  told(&p, unit);
  nothing_to_choose(&p, unit);
  MPI_Type_free(&unit);
  place_free(&p);
  return test_end();
}
