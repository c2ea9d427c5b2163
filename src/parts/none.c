/* none: every part alone, as far as min_message and max_messages allow. It leaves when it is ready.
 * The baseline for the others; right where parts are large.
 *
 * Cost: a message for each part.
 */
#include "parts/groups.h"

static grove_status plan_none(const grove_part_question *question, grove_part_plan *out)
{
  grove_status status = grove_part_plan_even(question, question->parts, out);
  if (status != GROVE_OK) return status;
  out->aggregator = grove_aggregator_none.name;
  out->seconds = grove_part_seconds(question, out->ngroups, question->options->laggard_seconds);
  return GROVE_OK;
}

const grove_aggregator grove_aggregator_none = {
  .name = "none",
  .about = "every part travels alone",
  .plan = plan_none,
};
