/* One price: what a report predicts is the price by which its route was chosen, or would have been;
 * grove_forest_explain prints the same number; it is the same on every rank, and its terms add up
 * to it. On every route, told and chosen, for every kind of operation. */
#define _POSIX_C_SOURCE 200809L /* open_memstream */
#include "check.h"
#include "exec/transfer.h"
#include "exercise.h"
#include "places.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static grove_report report_of(grove_op *op)
{
  grove_report report = {.struct_size = sizeof report};
  CHECK_OK(grove_op_report(op, &report));
  return report;
}

static int is_near(double a, double b)
{
  return fabs(a - b) <= 1e-11 + 1e-9 * fabs(b); /* agreed upon in picoseconds, each term */
}

/* ---- what the choice says ---- */

static grove_choice ask(const grove_forest *f, op_kind kind, int64_t unit_bytes, int lifted)
{
  int shares = kind == KIND_BCAST || kind == KIND_REDUCE;
  const grove_question question = {.unit_bytes = unit_bytes,
                                   .backward = kind == KIND_REDUCE || kind == KIND_GATHER,
                                   .both = kind == KIND_FETCH,
                                   .lifted = lifted};
  grove_survey *survey = NULL;
  grove_choice choice;
  CHECK_OK(grove_survey_create(f, shares, &survey));
  CHECK_OK(grove_route_choose(survey, &question, &choice));
  grove_survey_free(&survey);
  return choice;
}

static const grove_candidate *candidate_of(const grove_choice *choice, const char *route)
{
  for (int i = 0; i < choice->n; i++)
    if (strcmp(choice->candidates[i].route->name, route) == 0) return &choice->candidates[i];
  return NULL;
}

/* ---- what an operation says ---- */

static void check_terms(const grove_report *r)
{
  const grove_terms *t = &r->predicted;
  double sum = t->latency + t->bandwidth + t->injection + t->queue + t->contention + t->on_node +
               t->copy + t->cores;
  CHECK(is_near(sum, r->predicted_seconds), "terms of %g s, and the price is %g s", sum,
        r->predicted_seconds);
}

static void check_same_everywhere(const place *p, double seconds)
{
  double most[2] = {seconds, -seconds};
  MPI_Allreduce(MPI_IN_PLACE, most, 2, MPI_DOUBLE, MPI_MAX, p->comm);
  CHECK(most[0] == -most[1], "%.17g s on one rank, %.17g on another", -most[1], most[0]);
}

static int is_apart(const grove_field *f, grove_array which)
{
  return f->spaces[which].kind != &grove_space_host;
}

/* Which arrays lie on devices: of the rank that has most there, out before in. */
static int lifted_of(const place *p, const exercise *e)
{
  const grove_field *f = ((const grove_transfer *)e->op)->fields;
  int root = is_apart(f, GROVE_ARRAY_ROOT), leaf = is_apart(f, GROVE_ARRAY_LEAF);
  int update = is_apart(f, GROVE_ARRAY_UPDATE), up = kind_goes_to_roots(e->kind);
  int out = 2 * (up ? leaf : root), in = 2 * (up ? root : leaf);
  if (e->kind == KIND_FETCH) out = leaf + root;
  if (e->kind == KIND_FETCH) in = root + update;
  int most = GROVE_LIFTED(out, in);
  MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_INT, MPI_MAX, p->comm);
  return most;
}

/* On Lassen a copy takes 12 us at least, and each message means one in every lifted array. */
static void check_copies(const grove_report *r, int lifted, int64_t messages)
{
  double least = 12e-6 * (lifted / 3 + lifted % 3) / 2;
  if (strcmp(r->machine, "lassen") != 0 || messages == 0) return;
  CHECK(r->predicted.copy >= least, "copies of %g s of %g on %s, lifted %d", r->predicted.copy,
        r->predicted_seconds, r->route, lifted);
  CHECK(*r->price_note == '\0', "'%s'", r->price_note);
}

static void check_operation(const place *p, exercise *e, const char *option)
{
  place_set(p, "route", option);
  exercise_init(e);
  grove_report r = report_of(e->op);
  int lifted = lifted_of(p, e);
  grove_choice choice = ask(e->f, e->kind, (int64_t)sizeof(double), lifted);
  int64_t messages = r.on_node_messages + r.off_node_messages;
  MPI_Allreduce(MPI_IN_PLACE, &messages, 1, MPI_INT64_T, MPI_MAX, p->comm);
  check_copies(&r, lifted, messages);
  const grove_candidate *c = candidate_of(&choice, r.route);
  if (c) /* where no other route can help, a route that is told has no place in the choice */
    CHECK(is_near(r.predicted_seconds, c->seconds), "%s: %s is predicted %g s, its price is %g s",
          option, r.route, r.predicted_seconds, c->seconds);
  if (strcmp(option, "auto") == 0)
    CHECK(c == &choice.candidates[choice.chosen], "%s was taken, and is not what is chosen",
          r.route);
  check_terms(&r);
  check_same_everywhere(p, r.predicted_seconds);
  CHECK_OK(grove_op_free(&e->op));
}

/* ---- what explain prints ---- */

/* The row of prices, in microseconds, in the order of the routes. */
static void read_row(const char *text, int n, double *out)
{
  const char *at = strstr(text, "\n  microseconds");
  CHECK(at != NULL, "explain prints no prices:\n%s", text);
  char *end = (char *)at + strlen("\n  microseconds");
  for (int i = 0; i < n; i++) out[i] = strtod(end, &end);
}

static void check_printed(const place *p, grove_forest *f, const char *memory)
{
  int lifted = strcmp(memory, "device") == 0 ? GROVE_ALL_LIFTED : 0;
  grove_choice choice = ask(f, KIND_BCAST, (int64_t)sizeof(double), lifted);
  char *text = NULL;
  size_t bytes = 0;
  FILE *file = open_memstream(&text, &bytes);
  double row[GROVE_ROUTES];
  place_set(p, "memory", memory);
  CHECK_OK(grove_forest_explain(f, sizeof(double), file));
  place_set(p, "memory", "auto");
  fclose(file);
  if (p->rank == 0)
    CHECK(!strstr(text, "Arrays lie on devices") == !(lifted && getenv("TEST_ARRAYS")) ||
            (lifted && strstr(text, GROVE_LACKS_COPIES)),
          "memory=%s:\n%s", memory, text);
  if (p->rank == 0) read_row(text, choice.n, row);
  for (int i = 0; i < choice.n && p->rank == 0; i++)
    CHECK(fabs(row[i] - 1e6 * choice.candidates[i].seconds) <= 6e-4 + 1e-4 * row[i],
          "%s: %g us are printed, and the price is %g us", choice.candidates[i].route->name, row[i],
          1e6 * choice.candidates[i].seconds);
  free(text);
}

/* ---- random forests ---- */

static void at_random(const place *p, const units *types, uint64_t number)
{
  static const char *const options[] = {"standard", "2-step", "3-step", "split", "auto"};
  rng r = rng_from(test_seed(), number);
  graph *g = graph_random(&r, (graph_kind)rng_below(&r, GRAPH_KINDS), p->size);
  place_draw_nodes(p, &r);
  exercise e = {.g = g, .f = graph_forest(p->ctx, g, p->rank), .me = p->rank};
  e.u = units_find(types, "MPI_DOUBLE");
  for (int k = 0; k < OP_KINDS; k++) {
    e.kind = (op_kind)k;
    e.r = unit_reduction(e.u, k == KIND_REDUCE || k == KIND_FETCH ? "SUM" : "REPLACE");
    exercise_open(&e);
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
      check_operation(p, &e, options[i]);
    exercise_close(&e);
  }
  check_printed(p, e.f, "auto");
  check_printed(p, e.f, "device");
  CHECK_OK(grove_forest_free(&e.f));
  graph_free(g);
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "exec/one_price");
  places all = places_create();
  units *types = units_create();
  for (int64_t i = 0; i < test_samples(12); i++) {
    test_case(i);
    const place *p = places_turn(&all, i);
    at_random(p, types, (uint64_t)i * 2 + (uint64_t)p->side);
  }
  units_free(types);
  places_free(&all);
  return test_end();
}
