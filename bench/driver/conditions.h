#ifndef BENCH_DRIVER_CONDITIONS_H
#define BENCH_DRIVER_CONDITIONS_H

#include <mpi.h>

/* Rank 0 prints a line on the conditions. Ranks with a core of their own have been given one by the
 * launcher, or have pinned themselves. Collective. */
void bench_report_conditions(MPI_Comm comm, int pinned);

#endif
