/* Measuring a machine: the micro-benchmarks and fits that make a profile of it.
 *
 *     grove_measuring how = {.effort = GROVE_MEASURE_QUICK};
 *     GROVE_TRY(grove_measure(ctx, &how, NULL, &machine));
 *
 * Measured, in this order: the cores that the ranks really have; for each locality between ranks of
 * the job (same socket, same node, other nodes) ping-pong over sizes and LogGP; if it is asked for,
 * LogGP over libfabric; the queue of receives; what a node can inject; a contended line of four
 * nodes; shared memory; packing; a crowd; copies between a device and the host; the links between
 * devices; and exchanges of all ranks, by which the prices are corrected.
 */
#ifndef GROVE_MEASURE_MEASURE_H
#define GROVE_MEASURE_MEASURE_H

#include "base/status.h"
#include "model/machine.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum grove_effort {
  GROVE_MEASURE_QUICK,    /* some ten seconds */
  GROVE_MEASURE_NORMAL,   /* about a minute */
  GROVE_MEASURE_THOROUGH, /* several minutes */
} grove_effort;

typedef struct grove_measuring {
  grove_effort effort;
  /* Called on rank 0 now and then: what is being measured, the fraction done (0 to 1), and roughly
   * the seconds left. May be NULL. */
  void (*progress)(void *self, const char *what, double share, double seconds_left);
  void *self;
  const grove_machine *against; /* whose prices points of exchanges get; NULL: the new profile's */
  int devices; /* looks for devices even if the process has not used any, which may take seconds */
  int fabric;  /* also over libfabric, between nodes; GROVE_ERR_UNSUPPORTED where there is none */
} grove_measuring;

/* A measured point: y seconds at x; `series` names what it is ("ping-pong on-socket", ...). Of an
 * exchange: `predicted` is its price, which cannot be told from x alone; else NaN. */
typedef struct grove_point {
  const char *series;
  double x, y, predicted;
} grove_point;

typedef struct grove_points {
  int count;
  grove_point *point;
} grove_points;

void grove_points_free(grove_points *points);

/* Collective; the same profile on every rank. `points` (may be NULL) are kept on every rank. Agreed
 * by all. */
grove_status grove_measure(grove_context *ctx, const grove_measuring *how, grove_points *points,
                           grove_machine **out);

/* The option machine=measure: gives the context a machine, if it has none. Agreed by all. */
grove_status grove_measure_if_due(grove_context *ctx);

/* The file in which `machine=auto` looks for the profile of this machine; "" if there is no place
 * for it. */
void grove_measure_path(const grove_context *ctx, char *out, size_t room);

/* How such a path begins on this machine, whatever cores and nodes a job has; "": there is none. */
void grove_measure_stem(char *out, size_t room);

/* The name of the published profile that stands in for this machine until it is measured. */
const char *grove_measure_stand_in(void);

#ifdef __cplusplus
}
#endif

#endif
