/* The grid: a text file with one case on each line (bench/grid.txt explains its columns). */
#ifndef BENCH_DRIVER_GRID_H
#define BENCH_DRIVER_GRID_H

#include "driver/operation.h"
#include "kit/types.h"

typedef enum bench_pattern {
  BENCH_PAIR,
  BENCH_RANDOM,
  BENCH_GHOST,
  BENCH_HALO,
  BENCH_SWAP
} bench_pattern;
typedef enum bench_shape { BENCH_CONTIGUOUS, BENCH_FACE, BENCH_SCATTERED, BENCH_RUNS } bench_shape;
typedef enum bench_measure {
  BENCH_EXCHANGE,  /* time of an exchange, one way */
  BENCH_UNCHANGED, /* the same with data that nobody writes or reads in between */
  BENCH_SETUP,     /* time from nothing to the end of the first exchange */
  BENCH_INIT,      /* time to bind an exchange that is set up to its arrays */
  BENCH_CONTEXT,   /* time to make a further context of a process */
  BENCH_MEMORY,    /* bytes that a graph keeps once it is set up, by edge */
  BENCH_GROWTH,    /* bytes that an edge more makes it keep */
  BENCH_BOUND,     /* bytes that an operation keeps, the first of its kind on a graph, by edge */
  BENCH_OVERLAP    /* how much of an exchange hides behind computing */
} bench_measure;

/* method/peer:target; a target of 0 is none. */
typedef struct bench_comparison {
  char method[32], peer[32];
  double target;
} bench_comparison;

enum { BENCH_COMPARISONS = 10, BENCH_FIELDS = 8 };

/* What is exchanged: most cases have one field, bundles several on one graph. */
typedef struct bench_field {
  bench_kind kind;
  const bench_operator *op;
  const bench_type *type;
} bench_field;

typedef struct bench_spec {
  char name[40];
  bench_pattern pattern;
  bench_shape shape;
  bench_kind kind; /* of the first field */
  const bench_operator *op;
  const bench_type *type;
  int nfields;
  bench_field fields[BENCH_FIELDS];
  int64_t size; /* bytes of a pair's message, or leaves per rank */
  int buffers;  /* arrays used in turn */
  int alloc;    /* arrays from grove_alloc */
  bench_measure measure;
  int ncomparisons;
  bench_comparison comparisons[BENCH_COMPARISONS];
} bench_spec;

/* One bcast that replaces or one reduce that sums: what every method can do. */
int bench_is_plain(const bench_spec *spec);

/* Makes `field` the one that kind, op and type tell of. */
void bench_spec_take_field(bench_spec *s, int field);

/* Reads the file. Returns the number of cases, or -1 after having said on stderr what is wrong.
 * The caller frees *out. */
int bench_grid_read(const char *path, bench_spec **out);

#endif
