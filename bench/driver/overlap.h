/* How much of an exchange hides behind computing.
 *
 * Methods compute between start and wait if the case says so: `work` rounds of a loop without
 * calls. Let x be the time of an exchange, c that of the computing alone and t that of both. The
 * hidden share is (x + c - t) / min(x, c): 1 if the shorter one costs nothing, 0 if they run one
 * after the other, less if they hinder each other. The work is chosen so that c is about x.
 */
#ifndef BENCH_DRIVER_OVERLAP_H
#define BENCH_DRIVER_OVERLAP_H

#include "driver/measure.h"

/* Sets the entrant's work from the time of its exchange, which is set up. Collective. */
void bench_overlap_prepare(bench_entrant *e);

/* Takes one sample, and notes the three times under `round`. The same on every rank. Collective. */
double bench_overlap_sample(bench_entrant *e, int round);

#endif
