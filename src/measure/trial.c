#include "measure/trial.h"

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
