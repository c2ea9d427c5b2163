/* What the driver prints: lines of words for bench/run and for people (bench/METRICS.md). */
#ifndef BENCH_DRIVER_REPORT_H
#define BENCH_DRIVER_REPORT_H

#include "driver/measure.h"

/* With more ranks than cores the target against MPI and PETSc differs (1.05, issue 3). */
double bench_target(const bench_comparison *x, double crowded_target);

/* One row per comparison of the case; for overlap one line per entrant. `entrants` may be fewer
 * than the comparisons name. */
void bench_report(const bench_spec *spec, const bench_entrant *entrants, int n, int batches,
                  double crowded_target);

#endif
