/* Where the ranks run. */
#ifndef BENCH_KIT_CONDITIONS_H
#define BENCH_KIT_CONDITIONS_H

#include <mpi.h>

/* Rank 0 prints a line on the conditions. Ranks that have a core of their own got it from the
 * launcher, or have pinned themselves. Collective. */
void bench_report_conditions(MPI_Comm comm, int pinned);

/* Pins each rank to its share of the cores, by its number. The ranks are on one machine, even if
 * they are on several hosts of the test cluster, whose launcher would give the first core to the
 * first rank of each. Threads made later inherit it. */
void bench_pin(MPI_Comm comm);

#endif
