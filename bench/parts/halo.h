/* The halo of a case's matrix as an operation of Grove: every row has `width` values, so many
 * right-hand sides; those of the ghosts come from their owners.
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
/* Tells what the operation reports, and `share`. */
void bench_halo_close(bench_halo *h, double share);

/* Whether this is what the entrant's method is called. */
int bench_halo_is(const bench_halo *h, const char *method);

/* Writes rows first .. end - 1 anew, for a round. */
void bench_halo_fill(bench_halo *h, int64_t first, int64_t end, int64_t round);
/* Adds the ghosts that are not as they should be to what is wrong. */
void bench_halo_check(bench_halo *h, int64_t round);

/* A moment a millisecond ahead, the same on every rank: there is one clock. Collective. */
double bench_halo_moment(const bench_halo *h);

/* The largest of all ranks; their sum. Collective. */
double bench_halo_most(const bench_halo *h, double value);
double bench_halo_sum(const bench_halo *h, double value);

#endif
