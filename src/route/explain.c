/* grove_forest_explain: the table of the routes, from a survey of the forest.
 */
#include "base/options.h"
#include "forest/forest.h"
#include "route/choose.h"
#include "route/print.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

/* Checks the arguments as far as one rank can. */
static grove_status check_arguments(const grove_context *ctx, size_t unit_bytes, const FILE *file)
{
  GROVE_PASS_CHECK(unit_bytes > 0 && unit_bytes <= INT_MAX, GROVE_ERR_ARG,
                   "rank %d: grove_forest_explain: units of %zu bytes; 1 to %d are possible",
                   ctx->rank, unit_bytes, INT_MAX);
  GROVE_PASS_CHECK(ctx->rank > 0 || file, GROVE_ERR_ARG,
                   "rank %d: grove_forest_explain: there is no file", ctx->rank);
  return GROVE_OK;
}

/* Are the arguments the same on every rank? Agreed by all. */
static grove_status check_together(grove_context *ctx, size_t unit_bytes, const FILE *file)
{
  grove_status mine = check_arguments(ctx, unit_bytes, file);
  int64_t bytes[2] = {(int64_t)unit_bytes, ~(int64_t)unit_bytes}; /* greatest, least */
  GROVE_PASS(grove_context_agree(ctx, mine, bytes, 2));
  return grove_context_same(ctx, GROVE_ERR_ARG, "unit_bytes", (int64_t)unit_bytes, bytes);
}

/* ---- what is printed ---- */

static void print_settings(const grove_forest *f, int64_t unit_bytes, FILE *file)
{
  const grove_context *ctx = f->ctx;
  fprintf(file, "Split sends up to %lld bytes in a message between nodes (%s).\n",
          (long long)(grove_route_cap(ctx, unit_bytes) * unit_bytes),
          ctx->options.message_cap >= 0 ? "the option message_cap"
                                        : "where this machine turns to rendezvous");
  const grove_route *told = grove_route_told(grove_forest_settings_of(f).route);
  if (told) fprintf(file, "The option route says %s: that is what operations take.\n", told->name);
}

static grove_status print_explanation(const grove_forest *f, const grove_choice *choice,
                                      int64_t unit_bytes, FILE *file)
{
  const grove_context *ctx = f->ctx;
  const grove_options *o = &ctx->options;
  const char *alone = grove_route_alone(&ctx->topo, o->transport_off_node);
  fprintf(file, "Forest '%s': ranks %d, nodes %d (%s)\n", grove_forest_label(f), ctx->size,
          ctx->topo.nnodes,
          *o->node_map       ? "by the option node_map"
          : o->node_size > 0 ? "by the option node_size"
                             : "as found");
  grove_choice_print_table(choice, ctx->machine, unit_bytes, file);
  if (o->memory == GROVE_MEMORY_DEVICE) grove_choice_print_lifts(ctx->machine, file);
  fputs("\n", file);
  grove_choice_print_reason(choice, ctx->machine, alone, file);
  if (!alone) print_settings(f, unit_bytes, file);
  fputs("\n", file);
  grove_choice_print_inputs(ctx->machine, file);
  GROVE_PASS_CHECK(fflush(file) == 0 && !ferror(file), GROVE_ERR_SYSTEM,
                   "rank 0: grove_forest_explain cannot write: %s", strerror(errno));
  return GROVE_OK;
}

/* ---- the call ---- */

static grove_status explain_forest(const grove_forest *f, size_t unit_bytes, FILE *file)
{
  grove_status status = GROVE_OK, mine = GROVE_OK;
  int lifted = f->ctx->options.memory == GROVE_MEMORY_DEVICE ? GROVE_ALL_LIFTED : 0;
  const grove_question question = {.unit_bytes = (int64_t)unit_bytes, .lifted = lifted};
  grove_survey *survey = NULL;
  grove_choice choice;
  GROVE_TRY(check_together(f->ctx, unit_bytes, file));
  GROVE_TRY(grove_context_need_machine(f->ctx));
  GROVE_TRY(grove_survey_create(f, 1, &survey));
  GROVE_TRY(grove_route_explain(survey, &question, &choice));
  if (f->ctx->rank == 0) mine = print_explanation(f, &choice, question.unit_bytes, file);
  GROVE_TRY(grove_context_agree(f->ctx, mine, NULL, 0));
fail:
  grove_survey_free(&survey);
  return status;
}

grove_status grove_forest_explain(grove_forest *f, size_t unit_bytes, FILE *file)
{
  grove_status status = GROVE_OK;
  GROVE_CHECK(f, GROVE_ERR_ARG, "grove_forest_explain: the forest is NULL");
  GROVE_TRY(grove_context_enter_call(f->ctx, "grove_forest_explain"));
  status = f->ready ? explain_forest(f, unit_bytes, file)
                    : grove_forest_all_not_ready(f, "grove_forest_explain");
  grove_context_leave_call(f->ctx);
fail:
  return GROVE_VERDICT(f, status);
}
