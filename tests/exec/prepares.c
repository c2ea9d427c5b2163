/* What was prepared is begun by each rank alone: one after the other, each only when the one before
 * it has begun. A first call that was not prepared would wait for all. Every kind, on every route;
 * and ranks that prepare different things are told so. */
#include "check.h"
#include "exercise.h"
#include "places.h"

#include <string.h>

/* One after the other. What one of them begins may need the others, so nobody ends before all have
 * begun. */
static void begin_by_turns(const place *p, exercise *e)
{
  int word = 0;
  if (p->rank > 0) MPI_Recv(&word, 1, MPI_INT, p->rank - 1, 0, p->comm, MPI_STATUS_IGNORE);
  exercise_begin(e);
  if (p->rank + 1 < p->size) MPI_Send(&word, 1, MPI_INT, p->rank + 1, 0, p->comm);
}

static void try_kind(const place *p, exercise e, op_kind k, const units *types, rng *r)
{
  exercise_draw_of(&e, k, types, r);
  op_call kind = {.kind = e.kind, .f = e.f, .unit = e.u->type, .op = e.r->op};
  CHECK_OK(call_prepare(&kind));
  CHECK_OK(call_prepare(&kind)); /* nothing more */
  for (int round = 0; round < 2; round++) {
    exercise_open(&e);
    begin_by_turns(p, &e);
    CHECK_OK(grove_end(&e.op));
    exercise_check(&e);
    exercise_close(&e);
    e.seed = rng_next(r);
  }
}

static void try_route(const place *p, const units *types, const char *route, rng *r)
{
  place_set_route(p, route);
  for (op_kind k = 0; k < OP_KINDS; k++) {
    graph *g = graph_random(r, (graph_kind)rng_below(r, GRAPH_KINDS_AND_REPEATED), p->size);
    exercise e = {.g = g, .f = graph_forest(p->ctx, g, p->rank), .me = p->rank};
    try_kind(p, e, k, types, r);
    CHECK_OK(grove_forest_free(&e.f));
    graph_free(g);
  }
}

static void differ(const place *p)
{
  graph *g = graph_in_rows(p->size, 2);
  grove_forest *f = graph_forest(p->ctx, g, p->rank);
  grove_status status = grove_bcast_prepare(f, p->rank ? MPI_INT : MPI_DOUBLE, MPI_REPLACE);
  CHECK(status == (p->size > 1 ? GROVE_ERR_STATE : GROVE_OK), "%s", grove_status_name(status));
  CHECK(p->size == 1 || strstr(grove_last_error(), "MPI_INT") != NULL, "it says: %s",
        grove_last_error());
  status = grove_reduce_prepare(f, MPI_DATATYPE_NULL, MPI_SUM);
  CHECK(status == GROVE_ERR_ARG, "%s", grove_status_name(status));
  status = grove_bcast_prepare(NULL, MPI_INT, MPI_SUM);
  CHECK(status == GROVE_ERR_ARG, "%s", grove_status_name(status));
  CHECK_OK(grove_forest_free(&f));
  graph_free(g);
}

int main(int argc, char **argv)
{
  static const char *const routes[] = {"standard", "2-step", "3-step", "split", "auto"};
  MPI_Comm comm;
  test_begin(&argc, &argv, "exec/prepares");
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  units *types = units_create();
  place p = place_create(comm);
  place_set(&p, "timeout", "30"); /* so that a first call that waits is a failure */
  for (int64_t i = 0; i < test_samples(10); i++) {
    rng r = rng_from(test_seed(), (uint64_t)i);
    test_case(i);
    place_draw_nodes(&p, &r);
    try_route(&p, types, routes[i % 5], &r);
  }
  differ(&p);
  place_free(&p);
  units_free(types);
  return test_end();
}
