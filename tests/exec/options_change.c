/* Options that change while a forest is in use: what is made from now on is as the options say, as
 * on a forest that was never used before. What was made before goes on as it is. */
#include "check.h"
#include "exercise.h"
#include "generate.h"
#include "places.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A call instead of an option. */
static const char *const use_machine = "grove_context_use_machine";

static void change(const place *p, const char *key, const char *value)
{
  grove_machine *m = NULL;
  if (key != use_machine) {
    CHECK_OK(grove_context_set(p->ctx, key, value));
    return;
  }
  if (*value) CHECK_OK(grove_machine_open(value, &m));
  CHECK_OK(grove_context_use_machine(p->ctx, m));
  CHECK_OK(grove_machine_free(&m));
}

/* A report, with a machine that lives longer than the operation. */
typedef struct account {
  grove_report report;
  char machine[100];
} account;

static account account_of(grove_op *op)
{
  account a = {.report = {.struct_size = sizeof a.report}};
  CHECK_OK(grove_op_report(op, &a.report));
  snprintf(a.machine, sizeof a.machine, "%s", a.report.machine);
  return a;
}

static int same_seconds(double a, double b)
{
  return a == b || (isnan(a) && isnan(b));
}

static void check_same(const account *a, const account *b, const char *what)
{
  const grove_report *got = &a->report, *expected = &b->report;
  CHECK(strcmp(got->route, expected->route) == 0, "%s: route %s, not %s", what, got->route,
        expected->route);
  CHECK(strcmp(got->transport, expected->transport) == 0, "%s: %s off node, not %s", what,
        got->transport, expected->transport);
  CHECK(strcmp(got->transport_on_node, expected->transport_on_node) == 0, "%s: %s on node, not %s",
        what, got->transport_on_node, expected->transport_on_node);
  CHECK(got->on_node_messages == expected->on_node_messages &&
          got->on_node_bytes == expected->on_node_bytes &&
          got->off_node_messages == expected->off_node_messages &&
          got->off_node_bytes == expected->off_node_bytes,
        "%s: %lld messages of %lld bytes on node, %lld of %lld off node, not %lld of %lld and %lld "
        "of %lld",
        what, (long long)got->on_node_messages, (long long)got->on_node_bytes,
        (long long)got->off_node_messages, (long long)got->off_node_bytes,
        (long long)expected->on_node_messages, (long long)expected->on_node_bytes,
        (long long)expected->off_node_messages, (long long)expected->off_node_bytes);
  CHECK(strcmp(a->machine, b->machine) == 0 &&
          same_seconds(got->predicted_seconds, expected->predicted_seconds),
        "%s: %g s on %s, not %g s on %s", what, got->predicted_seconds, a->machine,
        expected->predicted_seconds, b->machine);
}

static exercise exercise_on(const graph *g, grove_forest *f, int me, op_kind kind, const unit *u)
{
  exercise e = {.g = g, .f = f, .me = me, .kind = kind, .u = u, .r = unit_reduction(u, "SUM")};
  exercise_open(&e);
  return e;
}

/* One operation, made, reported and run. */
static account run(const graph *g, grove_forest *f, int me, op_kind kind, op_form how,
                   const unit *u)
{
  exercise e = exercise_on(g, f, me, kind, u);
  if (how == FORM_INIT)
    exercise_init(&e);
  else
    exercise_begin(&e);
  account a = account_of(e.op);
  if (how == FORM_INIT) {
    CHECK_OK(grove_start(e.op));
    CHECK_OK(grove_wait(e.op));
  } else {
    CHECK_OK(grove_end(&e.op));
  }
  exercise_check(&e);
  exercise_close(&e);
  return a;
}

/* On the forest that was used before and on a new one. After the first unit the used forest is
 * known under the new options, but not for the second. */
static void compare(const units *types, const place *p, const graph *g, grove_forest *used,
                    op_kind kind, op_form how, const char *what)
{
  const unit *both[] = {units_find(types, "MPI_INT"), units_find(types, "MPI_INT64_T")};
  grove_forest *fresh = graph_forest(p->ctx, g, p->rank);
  for (int i = 0; i < 2; i++) {
    account got = run(g, used, p->rank, kind, how, both[i]);
    account expected = run(g, fresh, p->rank, kind, how, both[i]);
    check_same(&got, &expected, what);
  }
  CHECK_OK(grove_forest_free(&fresh));
}

int main(int argc, char **argv)
{
  const char *const changes[][2] = {{"route", "standard"},
                                    {"transport_on_node", "mpi"},
                                    {"node_size", "2"},
                                    {"transport_on_node", "shm"},
                                    {"route", "auto"},
                                    {"machine", "lassen"},
                                    {"node_size", "3"},
                                    {"machine", "perlmutter"},
                                    {"node_map", "0,1,0,1"},
                                    {"route", "3-step"},
                                    {"node_map", ""},
                                    {"node_size", "2"},
                                    {"route", "2-step"},
                                    {"node_size", "1"},
                                    {"deterministic", "on"},
                                    {"route", "split"},
                                    {"message_cap", "64"},
                                    {"route", "standard"},
                                    {"transport_off_node", "rma"},
#ifdef TEST_FABRIC
                                    {"transport_off_node", "ofi"},
#endif
                                    {"transport_off_node", "p2p"},
                                    {"node_size", "2"},
                                    {"route", "auto"},
                                    {use_machine, "frontier"},
                                    {use_machine, ""}};
  test_begin(&argc, &argv, "exec/options_change");
  units *types = units_create();
  place p = place_create(split(0));
  rng r = rng_from(test_seed(), 0);
  graph *g = graph_random(&r, GRAPH_ALL_TO_ALL, p.size);
  grove_forest *used = graph_forest(p.ctx, g, p.rank);
  exercise before = exercise_on(g, used, p.rank, KIND_REDUCE, units_find(types, "MPI_INT"));
  exercise_init(&before);
  for (int i = 0; i < (int)(sizeof changes / sizeof *changes); i++) {
    char what[64];
    test_case(i);
    snprintf(what, sizeof what, "after %s=%s", changes[i][0], changes[i][1]);
    change(&p, changes[i][0], changes[i][1]);
    compare(types, &p, g, used, KIND_BCAST, FORM_BEGIN, what);
    compare(types, &p, g, used, i % 2 ? KIND_REDUCE : KIND_FETCH, FORM_INIT, what);
    exercise_renew(&before, i);
    CHECK_OK(grove_start(before.op));
    CHECK_OK(grove_wait(before.op));
    exercise_check(&before);
  }
  exercise_close(&before);
  CHECK_OK(grove_forest_free(&used));
  graph_free(g);
  place_free(&p);
  units_free(types);
  return test_end();
}
