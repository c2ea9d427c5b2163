/* Where simulated ranks meet at no cost: outside of MPI and of simulated time, in a library that
 * the process has once, while it has the module of the driver once for every rank. */
#ifndef BENCH_SCALE_MEETING_H
#define BENCH_SCALE_MEETING_H

#ifdef __cplusplus
extern "C" {
#endif

/* All `ranks` leave it at the simulated moment at which the last has come. */
void meeting_wait(int ranks);

/* The same; what each brings becomes the largest, or the sum, of what all have brought. */
enum { MEETING_VALUES = 8 };
void meeting_combine(int ranks, double *maxima, int nmaxima, double *sums, int nsums);

#ifdef __cplusplus
}
#endif

#endif
