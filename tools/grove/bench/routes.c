/* Grove as an entrant, with its own forest and operation, on one route.
 */
#include "grove/bench/bench.h"
#include "kit/need.h"

#include "route/choose.h"
#include "route/print.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct route_state {
  grove_forest *forest;
  grove_op *op;
} route_state;

/* ---- the method ---- */

static grove_status open_route(bench_entrant *e)
{
  const bench *b = e->b;
  const pattern *p = e->task->edges;
  grove_context *ctx = e->ctx ? e->ctx : b->ctx;
  route_state *s = e->state = bench_alloc(1, sizeof *s);
  GROVE_PASS(grove_context_set(ctx, "route", e->name));
  GROVE_PASS(grove_forest_create(ctx, &s->forest));
  GROVE_PASS(grove_forest_set_name(s->forest, b->set.pattern));
  GROVE_PASS(grove_forest_set_graph(s->forest, p->nroots, p->nleaves, p->leaf, p->root));
  GROVE_PASS(grove_forest_set_up(s->forest));
  if (e->task->reduce)
    GROVE_PASS(grove_reduce_init(s->forest, b->unit, b->array, b->array, MPI_SUM, &s->op));
  else
    GROVE_PASS(grove_bcast_init(s->forest, b->unit, b->array, b->array, MPI_REPLACE, &s->op));
  return GROVE_OK;
}

static grove_status run_route(bench_entrant *e)
{
  grove_op *op = ((route_state *)e->state)->op;
  GROVE_PASS(grove_start(op));
  return grove_wait(op);
}

static void close_route(bench_entrant *e)
{
  route_state *s = e->state;
  if (!s) return;
  grove_op_free(&s->op);
  grove_forest_free(&s->forest);
  free(s);
  e->state = NULL;
}

static grove_status report_route(bench_entrant *e, grove_report *out)
{
  return grove_op_report(((route_state *)e->state)->op, out);
}

static const bench_method on_route = {
  .open = open_route,
  .run = run_route,
  .close = close_route,
  .report = report_route,
};

/* ---- reasons for the choice ---- */

static grove_status print_reasons(const grove_survey *survey, const grove_choice *choice, char *out,
                                  size_t room)
{
  grove_status status = GROVE_OK;
  const grove_context *ctx = survey->ctx;
  char *text = NULL;
  size_t bytes = 0;
  FILE *file = open_memstream(&text, &bytes);
  GROVE_CHECK(file, GROVE_ERR_MEMORY, "no memory for the reasons of a choice");
  grove_choice_print_reason(choice, ctx->machine,
                            grove_route_alone(&ctx->topo, ctx->options.transport_off_node), file);
  fclose(file);
  snprintf(out, room, "%s", text);
fail:
  free(text);
  return status;
}

grove_status bench_explain(bench_entrant *e)
{
  grove_status status = GROVE_OK;
  const grove_forest *forest = ((route_state *)e->state)->forest;
  const grove_question question = {.unit_bytes = e->b->width * (int64_t)sizeof(double),
                                   .backward = e->task->reduce};
  grove_survey *survey = NULL;
  grove_choice choice;
  GROVE_TRY(grove_survey_create(forest, 1, &survey));
  GROVE_TRY(grove_route_explain(survey, &question, &choice));
  if (e->b->rank == 0)
    GROVE_TRY(print_reasons(survey, &choice, e->result.why, sizeof e->result.why));
fail:
  grove_survey_free(&survey);
  return status;
}

/* ---- who takes part ---- */

/* "name=value,name=value" */
static grove_status set_options(grove_context *ctx, const char *options)
{
  grove_status status = GROVE_OK;
  char *copy = strdup(options);
  GROVE_CHECK(copy, GROVE_ERR_MEMORY, "no memory for the options of a variant");
  for (char *at = copy, *next; at; at = next) {
    next = strchr(at, ',');
    if (next) *next++ = '\0';
    char *value = strchr(at, '=');
    GROVE_CHECK(value, GROVE_ERR_OPTION, "a variant has options like name=value, not '%s'", at);
    *value++ = '\0';
    GROVE_TRY(grove_context_set(ctx, at, value));
  }
fail:
  free(copy);
  return status;
}

grove_status bench_context(const bench *b, const char *options, grove_context **out)
{
  grove_status status = GROVE_OK;
  grove_context *ctx = NULL;
  GROVE_TRY(grove_context_create(b->comm, &ctx));
  if (b->set.machine) GROVE_TRY(grove_context_set(ctx, "machine", b->set.machine));
  if (options) GROVE_TRY(set_options(ctx, options));
  *out = ctx;
  return GROVE_OK;
fail:
  grove_context_free(&ctx);
  return status;
}

/* "3-step,transport_on_node=mpi" */
static grove_status enter_variant(const bench *b, bench_field *field, const char *text)
{
  const char *comma = strchr(text, ',');
  for (int i = 0; i < GROVE_ROUTES && comma; i++) {
    const char *name = grove_routes[i]->name;
    if (strlen(name) != (size_t)(comma - text) || strncmp(name, text, strlen(name)) != 0) continue;
    bench_entrant *e = bench_enter(b, field, &on_route, BENCH_VARIANT, name);
    e->options = comma + 1;
    return bench_context(b, e->options, &e->ctx);
  }
  return grove_error(GROVE_ERR_OPTION, __FILE__, __LINE__,
                     "--variant cannot be '%.200s': it must be standard, 2-step, 3-step or split, "
                     "a comma, and options, such as 3-step,transport_on_node=mpi",
                     text);
}

static int is_wanted(const bench *b, const char *name)
{
  return !b->set.only || strcmp(b->set.only, name) == 0;
}

void bench_enter_one(const bench *b, bench_field *field)
{
  const char *name = b->set.only ? b->set.only : grove_route_standard.name;
  bench_enter(b, field, &on_route, BENCH_ROUTE, name);
}

const char *bench_alone(const bench *b)
{
  return grove_route_alone(&b->ctx->topo, b->ctx->options.transport_off_node);
}

grove_status bench_enter_routes(const bench *b, bench_field *field)
{
  int n = bench_alone(b) && !b->set.only ? 1 : GROVE_ROUTES; /* standard is the first */
  for (int i = 0; i < n; i++)
    if (is_wanted(b, grove_routes[i]->name))
      bench_enter(b, field, &on_route, BENCH_ROUTE, grove_routes[i]->name);
  if (is_wanted(b, "auto")) bench_enter(b, field, &on_route, BENCH_AUTO, "auto");
  for (int i = 0; i < b->set.nvariants; i++)
    GROVE_PASS(enter_variant(b, field, b->set.variants[i]));
  return GROVE_OK;
}
