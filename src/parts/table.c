/* table: as many messages as a file says, and over libfabric as many endpoints, which was made by
 * trying all numbers (grove aggregate --try). It holds for the machine, the MPI and the sizes that
 * were tried. Between entries the nearest counts, by the logarithm. Without a file, or with an
 * empty one, ploggp decides.
 *
 * "A dynamic network-native MPI partitioned aggregation over InfiniBand Verbs", Temucin, Levy,
 * Schonbein, Grant, Afsahi, 2023, section IV.B.
 */
#include "parts/groups.h"
#include "parts/table_file.h"

#include <math.h>

/* A measured time counts only for exactly what was measured; nearby, the model counts. */
static double seconds_of(const grove_part_question *q, const grove_part_entry *e,
                         const grove_part_plan *plan)
{
  if (!isnan(e->seconds) && e->parts == q->parts && e->bytes == q->parts * q->part_bytes &&
      e->messages == plan->ngroups)
    return e->seconds;
  return grove_part_seconds(q, plan->ngroups, q->options->laggard_seconds);
}

static grove_status plan_table(const grove_part_question *question, grove_part_plan *out)
{
  grove_status status = GROVE_OK;
  grove_part_table table = {0};
  const char *path = question->options->part_table;
  if (*path) GROVE_TRY(grove_part_table_open(path, &table));
  const grove_part_entry *e =
    grove_part_table_nearest(&table, question->parts, question->parts * question->part_bytes);
  if (!e) {
    status = grove_aggregator_ploggp.plan(question, out);
  } else {
    GROVE_TRY(grove_part_plan_even(question, e->messages, out));
    out->aggregator = grove_aggregator_table.name;
    out->seconds = seconds_of(question, e, out);
    out->endpoints = e->endpoints;
  }
fail:
  grove_part_table_free(&table);
  return status;
}

const grove_aggregator grove_aggregator_table = {
  .name = "table",
  .about = "as many messages as a table says that was made by trying",
  .plan = plan_table,
};
