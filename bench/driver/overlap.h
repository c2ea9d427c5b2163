/* How much of an exchange hides behind computing.
 *
 * Methods compute between start and wait if the case says so: `work` rounds of a loop that calls
 * nothing. With x the time of an exchange, c that of as much computing alone and t that of both,
 * the hidden share is (x + c - t) / min(x, c): 1 if the shorter one costs nothing, 0 if they follow
 * each other, less if they are in each other's way. The work is chosen so that c is about x.
 */
#ifndef BENCH_DRIVER_OVERLAP_H
#define BENCH_DRIVER_OVERLAP_H

#include "driver/measure.h"

/* Sets the entrant's work by the time of its exchange, which is set up. Collective. */
void bench_overlap_prepare(bench_entrant *e);

/* One sample: also notes the three times under `round`. The same on every rank. Collective. */
double bench_overlap_sample(bench_entrant *e, int round);

#endif
