/* The library's own operations, to be timed: a bcast of doubles on a small made-up forest. Opened
 * in two steps, so that every rank has its memory before any rank relies on it:
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

#ifdef __cplusplus
extern "C" {
#endif

typedef struct grove_trial {
  int64_t nroots, nleaves;
  grove_root *root; /* of each leaf; leaves are consecutive */
  double *array;    /* roots, then leaves */
  grove_forest *forest;
  grove_op *op;
} grove_trial;

/* Both are agreed by all ranks of the context. */
grove_status grove_trial_open(grove_probe *p, int64_t nroots, int64_t nleaves, grove_trial *out);
grove_status grove_trial_connect(grove_probe *p, grove_trial *t);
void grove_trial_close(grove_trial *t); /* also for one that was never opened */

/* Runs the operations of `count` trials, one after the other, `n` times. */
grove_status grove_trials_run(grove_trial *trials, int count, int n, double *seconds);

#ifdef __cplusplus
}
#endif

#endif
