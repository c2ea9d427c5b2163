/* The halo of a case's matrix as an operation of Grove. Every row has `width` values, one per
 * right-hand side; those of the ghosts come from their owners.
 */
#ifndef BENCH_PARTS_HALO_H
#define BENCH_PARTS_HALO_H

#include "part_case.h"
#include "rows.h"

typedef struct bench_halo {
  bench_part_case *c;
  bench_part_entrant *e;
  const bench_rows *rows;
  int width;
  double *x; /* own rows, then ghosts */
  MPI_Datatype unit;
  grove_forest *forest;
  grove_op *op;
} bench_halo;

/* Collective, like the next. */
void bench_halo_open(bench_part_case *c, bench_part_entrant *e, bench_halo *out);
/* Reports what the operation reports, and `share`. */
void bench_halo_close(bench_halo *h, double share);

/* Whether the entrant's method has this name. */
int bench_halo_is(const bench_halo *h, const char *method);

/* Rewrites rows first .. end - 1, for a round. */
void bench_halo_fill(bench_halo *h, int64_t first, int64_t end, int64_t round);
/* Adds the number of wrong ghosts to `wrong`. */
void bench_halo_check(bench_halo *h, int64_t round);

/* A moment one millisecond ahead, the same on every rank: there is one clock. Collective. */
double bench_halo_moment(const bench_halo *h);

/* The maximum over all ranks; the sum. Collective. */
double bench_halo_most(const bench_halo *h, double value);
double bench_halo_sum(const bench_halo *h, double value);

#endif
