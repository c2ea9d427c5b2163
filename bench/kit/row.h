/* A row of results, as bench/run reads it (bench/METRICS.md). */
#ifndef BENCH_KIT_ROW_H
#define BENCH_KIT_ROW_H

#include "kit/stats.h"

/* What is compared with what; `against`: the entrant that stood for the peer. */
typedef struct bench_row {
  const char *name, *method, *peer, *against;
} bench_row;

/* The values are those of method and peer; a target of 0 means none. With the peer "value" the
 * ratio is the value itself. */
void bench_row_print(const bench_row *row, const double values[2], bench_interval ratio,
                     double target);

#endif
