/* The grid: a text file with one case a line (bench/grid.txt explains its columns). */
#ifndef BENCH_DRIVER_GRID_H
#define BENCH_DRIVER_GRID_H

#include "driver/types.h"

typedef enum bench_pattern { BENCH_PAIR, BENCH_RANDOM, BENCH_GHOST } bench_pattern;
typedef enum bench_shape { BENCH_CONTIGUOUS, BENCH_FACE, BENCH_SCATTERED, BENCH_RUNS } bench_shape;
typedef enum bench_measure {
  BENCH_EXCHANGE, /* time of an exchange, one way */
  BENCH_SETUP,    /* time from nothing to the end of the first exchange */
  BENCH_INIT,     /* time to bind an exchange that is set up to its arrays */
  BENCH_MEMORY,   /* bytes that a graph keeps once it is set up, by edge */
  BENCH_GROWTH    /* bytes that an edge more makes it keep */
} bench_measure;

/* method/peer:target; a target of 0 is none. */
typedef struct bench_comparison {
  char method[32], peer[32];
  double target;
} bench_comparison;

enum { BENCH_COMPARISONS = 10 };

typedef struct bench_spec {
  char name[40];
  bench_pattern pattern;
  bench_shape shape;
  int reduce; /* reduce SUM, else bcast REPLACE */
  const bench_type *type;
  int64_t size; /* bytes of a pair's message, or leaves a rank */
  int buffers;  /* arrays used in turn */
  int alloc;    /* arrays from grove_alloc */
  bench_measure measure;
  int ncomparisons;
  bench_comparison comparisons[BENCH_COMPARISONS];
} bench_spec;

/* Reads the file. Returns the number of cases, or -1 after having said on stderr what is wrong.
 * The caller frees *out. */
int bench_grid_read(const char *path, bench_spec **out);

#endif
