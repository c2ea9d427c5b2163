/* Where simulated ranks meet at no cost, outside MPI and simulated time. The process loads this
 * library once, but the module of the driver once per rank. */
#ifndef BENCH_SCALE_MEETING_H
#define BENCH_SCALE_MEETING_H

#ifdef __cplusplus
extern "C" {
#endif

/* All `ranks` leave at the simulated moment at which the last arrives. */
void meeting_wait(int ranks);

/* The same; each value becomes the maximum, or the sum, over all ranks. */
enum { MEETING_VALUES = 8 };
void meeting_combine(int ranks, double *maxima, int nmaxima, double *sums, int nsums);

#ifdef __cplusplus
}
#endif

#endif
