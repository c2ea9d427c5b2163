/* The library's own operations, to be timed: a bcast of doubles on a small made-up forest, or a
 * reduce. Opened in two steps, so that every rank has its memory before any rank relies on it:
 *
 *     GROVE_TRY(grove_trial_open(p, nroots, nleaves, &t));
 *     for (i = 0; i < nleaves; i++) t.root[i] = ...;
 *     GROVE_TRY(grove_trial_connect(p, &t));
 *     GROVE_TRY(grove_trials_run(&t, 1, n, &seconds));
 *     grove_trial_close(&t);
 */
#ifndef GROVE_MEASURE_TRIAL_H
#define GROVE_MEASURE_TRIAL_H

#include "measure/probe.h"
#include "route/choose.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct grove_trial {
  int64_t nroots, nleaves;
  grove_root *root; /* of each leaf; leaves are consecutive */
  double *array;    /* roots, then leaves */
  int backward;     /* a reduce; else a bcast */
  grove_forest *forest;
  grove_op *op;
} grove_trial;

/* Both are agreed by all ranks of the context. */
grove_status grove_trial_open(grove_probe *p, int64_t nroots, int64_t nleaves, grove_trial *out);
grove_status grove_trial_connect(grove_probe *p, grove_trial *t);
void grove_trial_close(grove_trial *t); /* also for one that was never opened */

/* Runs the operations of `count` trials, one after the other, `n` times. */
grove_status grove_trials_run(grove_trial *trials, int count, int n, double *seconds);

/* On the first rank of a node: its messages on a route, and what else their price depends on. */
grove_status grove_trial_count(grove_probe *p, const grove_trial *t, const grove_route *route,
                               grove_manifest *out, grove_pricing *pricing);

/* The time of one exchange, of which many are made in about `budget` seconds: a median of batches,
 * each as long as it took the slowest rank. The clock stands while owners rewrite what they send.
 * The same on every rank. */
grove_status grove_trial_time(grove_probe *p, grove_trial *t, double budget, double *seconds);

#ifdef __cplusplus
}
#endif

#endif
