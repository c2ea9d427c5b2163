/* The operations of the grid: the direction of values, and how they are combined. */
#ifndef BENCH_DRIVER_OPERATION_H
#define BENCH_DRIVER_OPERATION_H

#include <mpi.h>

typedef enum bench_kind {
  BENCH_BCAST,
  BENCH_REDUCE,
  BENCH_FETCH,
  BENCH_GATHER,
  BENCH_SCATTER
} bench_kind;

/* An MPI operation, and what it does to the small whole numbers that results are checked with. */
typedef struct bench_operator {
  const char *name;
  MPI_Op (*mpi)(void); /* a function: in Open MPI the names are no constants */
  int (*of)(int here, int other);
  int root, low; /* before a reduction every root holds `root`, and leaves low .. low+2 */
} bench_operator;

/* Reads "reduce", "reduce:max". Returns 0, or 1 where there is no such operation. The default is
 * replace for a bcast, and sum for reduce and fetch. */
int bench_operation_read(const char *word, bench_kind *kind, const bench_operator **op);

#endif
