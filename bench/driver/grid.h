/* The grid: a text file with one case per line (bench/grid.txt explains its columns). */
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
  BENCH_UNCHANGED, /* the same, without touching the data in between */
  BENCH_SETUP,     /* time from nothing to the end of the first exchange */
  BENCH_INIT,      /* time to bind a set-up exchange to its arrays */
  BENCH_CONTEXT,   /* time to make another context in a process */
  BENCH_MEMORY,    /* bytes that a graph keeps after set-up, per edge */
  BENCH_GROWTH,    /* bytes that one more edge adds to it */
  BENCH_BOUND,     /* bytes that the first operation of its kind on a graph keeps, per edge */
  BENCH_OVERLAP    /* how much of an exchange hides behind computing */
} bench_measure;

/* method/peer:target; a target of 0 is none. */
typedef struct bench_comparison {
  char method[32], peer[32];
  double target;
} bench_comparison;

enum { BENCH_COMPARISONS = 10, BENCH_FIELDS = 8 };

/* What is exchanged: most cases have one field, bundles have several on one graph. */
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

/* One replacing bcast or one summing reduce: every method can do it. */
int bench_is_plain(const bench_spec *spec);

/* Sets `field` from kind, op and type. */
void bench_spec_take_field(bench_spec *s, int field);

/* Reads the file. Returns the number of cases, or -1 after a sentence on stderr. The caller frees
 * *out. */
int bench_grid_read(const char *path, bench_spec **out);

#endif
