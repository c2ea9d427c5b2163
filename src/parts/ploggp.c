/* ploggp: as many messages as the LogGP model finds fastest, if one part is late by the option
 * `laggard`. More messages make the last one, which waited for the late part, shorter, but each
 * adds the cost of a message. Any number up to that of the parts is possible, not only powers of
 * two.
 *
 * Cost: see model/loggp.h, the covered form. If the profile has nothing about such messages, all
 * parts are one group.
 *
 * "A dynamic network-native MPI partitioned aggregation over InfiniBand Verbs", Temucin, Levy,
 * Schonbein, Grant, Afsahi, 2023, section IV.C.
 */
#include "parts/groups.h"

static grove_status plan_ploggp(const grove_part_question *question, grove_part_plan *out)
{
  grove_status status = grove_part_plan_model(question, question->options->laggard_seconds, out);
  if (status == GROVE_OK) out->aggregator = grove_aggregator_ploggp.name;
  return status;
}

const grove_aggregator grove_aggregator_ploggp = {
  .name = "ploggp",
  .about = "as many messages as the model finds fastest, with one part late",
  .plan = plan_ploggp,
};
