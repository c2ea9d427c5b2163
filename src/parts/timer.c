/* timer: groups as ploggp makes them. But a delta after the first mark of a group its ready parts
 * leave, in the largest possible runs, and each later part with the ready parts beside it. So a
 * late part travels alone and delays no other, whatever group it is in; parts that come together
 * travel together.
 *
 * delta, if the option says auto: parts that do not wait cost a message each. Waiting for as long
 * as these messages would take at most doubles that, whatever comes (the ski-rental argument):
 * max(g, o_s, o_r) for every part of the largest group but one. It is kept between 10 and 100 us, a
 * range over which the paper finds a difference of 6 % (Fig. 13). If the profile does not tell, it
 * is 35 us, the spread that the paper measured for 32 threads (Fig. 12).
 *
 * Cost: that of ploggp, and a message for each run beyond the first; the late part is short.
 *
 * "A dynamic network-native MPI partitioned aggregation over InfiniBand Verbs", Temucin, Levy,
 * Schonbein, Grant, Afsahi, 2023, section IV.D.
 */
#include "parts/groups.h"

#include "model/loggp.h"

#include <math.h>

double grove_part_delta(const grove_part_question *question, int64_t largest)
{
  const double least = 10e-6, most = 100e-6, published = 35e-6;
  if (question->options->delta_seconds >= 0) return question->options->delta_seconds;
  if (largest < 2) return 0; /* nothing ever waits */
  grove_loggp row = grove_loggp_row(question->machine, question->where, question->part_bytes);
  if (isnan(row.G)) return published;
  return fmin(fmax((double)(largest - 1) * grove_loggp_spacing(&row), least), most);
}

static grove_status plan_timer(const grove_part_question *question, grove_part_plan *out)
{
  grove_status status = grove_aggregator_ploggp.plan(question, out);
  if (status != GROVE_OK) return status;
  out->aggregator = grove_aggregator_timer.name;
  out->delta = grove_part_delta(question, out->ngroups > 0 ? out->first[1] : 0);
  return GROVE_OK;
}

const grove_aggregator grove_aggregator_timer = {
  .name = "timer",
  .about = "what is ready a while after the first part of its group",
  .runs = 1,
  .plan = plan_timer,
};
