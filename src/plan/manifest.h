/* A manifest: every message that a plan would send, without slots or data. Prices are made from it.
 * A route counts all ranks' messages from edges, without MPI. Or they are counted from a rank's
 * built plan: those that it sends and those that it receives.
 */
#ifndef GROVE_PLAN_MANIFEST_H
#define GROVE_PLAN_MANIFEST_H

#include "base/status.h"
#include "plan/plan.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An edge of a forest as plain data: `leaf_rank` needs the value of root `root` of `root_rank`. */
typedef struct grove_edge {
  int32_t leaf_rank, root_rank;
  int64_t root;
} grove_edge;

typedef struct grove_shipment {
  int32_t stage, from, to;
  int64_t units;
} grove_shipment;

typedef struct grove_manifest {
  int nstages;
  int64_t count;
  grove_shipment *shipments;
} grove_manifest;

/* Appends one message. */
grove_status grove_manifest_add(grove_manifest *m, int stage, int from, int to, int64_t units);
void grove_manifest_free(grove_manifest *m);

/* The same messages in the other direction, with the stages in reverse order. */
void grove_manifest_reverse(grove_manifest *m);

/* What this rank's part of a plan sends and receives. */
grove_status grove_manifest_of_plan(const grove_plan *plan, grove_manifest *out);

#ifdef __cplusplus
}
#endif

#endif
