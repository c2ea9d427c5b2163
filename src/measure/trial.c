#include "measure/trial.h"

#include <math.h>
#include <stdlib.h>

grove_status grove_trial_open(grove_probe *p, int64_t nroots, int64_t nleaves, grove_trial *out)
{
  grove_status mine = GROVE_OK;
  *out = (grove_trial){.nroots = nroots, .nleaves = nleaves};
  out->root = grove_room((size_t)nleaves, sizeof *out->root);
  out->array = grove_memory((size_t)(nroots + nleaves), sizeof *out->array);
  if (!out->root || !out->array)
    mine = grove_error(GROVE_ERR_MEMORY, __FILE__, __LINE__, "no memory for %lld values",
                       (long long)(nroots + nleaves));
  return grove_context_agree(p->ctx, mine, NULL, 0);
}

grove_status grove_trial_connect(grove_probe *p, grove_trial *t)
{
  GROVE_PASS(grove_forest_create(p->ctx, &t->forest));
  GROVE_PASS(grove_forest_set_graph(t->forest, t->nroots, t->nleaves, NULL, t->root));
  GROVE_PASS(grove_forest_set_up(t->forest));
  if (t->backward)
    return grove_reduce_init(t->forest, MPI_DOUBLE, t->array + t->nroots, t->array, MPI_SUM,
                             &t->op);
  return grove_bcast_init(t->forest, MPI_DOUBLE, t->array, t->array + t->nroots, MPI_REPLACE,
                          &t->op);
}

void grove_trial_close(grove_trial *t)
{
  grove_op_free(&t->op);
  grove_forest_free(&t->forest);
  free(t->root);
  free(t->array);
}

grove_status grove_trials_run(grove_trial *trials, int count, int n, double *seconds)
{
  double begin = grove_clock();
  for (int k = 0; k < n; k++)
    for (int i = 0; i < count; i++) {
      GROVE_PASS(grove_start(trials[i].op));
      GROVE_PASS(grove_wait(trials[i].op));
    }
  *seconds = grove_clock() - begin;
  return GROVE_OK;
}

/* What goes wrong on one rank is kept in p->status, which is agreed upon in the end. */
grove_status grove_trial_count(grove_probe *p, const grove_trial *t, const grove_route *route,
                               grove_manifest *out, grove_pricing *pricing)
{
  const grove_question question = {
    .unit_bytes = sizeof(double), .backward = t->backward, .only = route};
  grove_survey *survey = NULL;
  GROVE_PASS(grove_survey_create(t->forest, 1, &survey));
  grove_status mine = survey->failure;
  if (survey->leader && mine == GROVE_OK)
    mine = grove_route_count(survey, &question, route, out, pricing);
  if (mine != GROVE_OK) p->status = mine;
  grove_survey_free(&survey);
  return GROVE_OK;
}

/* Runs a trial n times, with new data each time. */
static grove_status run_rewritten(grove_trial *t, int n, double *seconds)
{
  double *own = t->backward ? t->array + t->nroots : t->array;
  int64_t count = t->backward ? t->nleaves : t->nroots;
  *seconds = 0;
  for (int k = 0; k < n; k++) {
    for (int64_t i = 0; i < count; i++) own[i] = k;
    double begin = grove_clock();
    GROVE_PASS(grove_start(t->op));
    GROVE_PASS(grove_wait(t->op));
    *seconds += grove_clock() - begin;
  }
  return GROVE_OK;
}

grove_status grove_trial_time(grove_probe *p, grove_trial *t, double budget, double *seconds)
{
  enum { WARM_UP = 5, BATCHES = 11 };
  double batch[BATCHES], warm = 0;
  GROVE_PASS(run_rewritten(t, WARM_UP, &warm));
  GROVE_PASS(grove_probe_meet(p, &warm, 1));
  int n = (int)fmin(budget / BATCHES / (warm / WARM_UP + 1e-8), 2000) + 1;
  for (int i = 0; i < BATCHES; i++) {
    GROVE_PASS(run_rewritten(t, n, &batch[i]));
    GROVE_PASS(grove_probe_meet(p, &batch[i], 1)); /* the slowest rank's */
    batch[i] /= n;
  }
  *seconds = grove_median(batch, BATCHES);
  return GROVE_OK;
}
