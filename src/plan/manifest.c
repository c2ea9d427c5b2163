#include "plan/manifest.h"

#include <stdlib.h>

grove_status grove_manifest_add(grove_manifest *m, int stage, int from, int to, int64_t units)
{
  GROVE_PASS_GROW(m->shipments, m->count, 1);
  m->shipments[m->count++] =
    (grove_shipment){.stage = stage, .from = from, .to = to, .units = units};
  if (stage >= m->nstages) m->nstages = stage + 1;
  return GROVE_OK;
}

void grove_manifest_free(grove_manifest *m)
{
  free(m->shipments);
  *m = (grove_manifest){0};
}

void grove_manifest_reverse(grove_manifest *m)
{
  for (int64_t i = 0; i < m->count; i++) {
    grove_shipment *s = &m->shipments[i];
    *s = (grove_shipment){
      .stage = m->nstages - 1 - s->stage, .from = s->to, .to = s->from, .units = s->units};
  }
}

static grove_status add_stage(const grove_plan *plan, int s, grove_manifest *m)
{
  const grove_stage *stage = &plan->stages[s];
  for (int i = 0; i < stage->nsends; i++)
    GROVE_PASS(grove_manifest_add(m, s, plan->rank, stage->sends[i].peer,
                                  grove_message_units(&stage->sends[i])));
  for (int i = 0; i < stage->nreceives; i++)
    GROVE_PASS(grove_manifest_add(m, s, stage->receives[i].peer, plan->rank,
                                  grove_message_units(&stage->receives[i])));
  return GROVE_OK;
}

grove_status grove_manifest_of_plan(const grove_plan *plan, grove_manifest *out)
{
  grove_status status = GROVE_OK;
  grove_manifest m = {.nstages = plan->nstages};
  for (int s = 0; s < plan->nstages; s++) GROVE_TRY(add_stage(plan, s, &m));
  *out = m;
  return GROVE_OK;
fail:
  grove_manifest_free(&m);
  return status;
}
