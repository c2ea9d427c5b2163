/* Operations whose results need no oracle, for tests with many under way at once. Leaf i of a rank
 * is joined to root (i * step) mod n of the next rank. A unit is `width` numbers. Every errand and
 * every round has its own values. */
#ifndef TEST_ERRAND_H
#define TEST_ERRAND_H

#include "grove.h"

/* A forest of n roots and leaves on every rank; step and n have no common divisor. Collective. */
grove_forest *errand_forest(grove_context *ctx, int64_t n, int64_t step);

typedef struct errand {
  grove_forest *forest;
  int64_t n, step;
  int width, reduces;
  int number;        /* the same on every rank */
  MPI_Datatype unit; /* borrowed */
  int rank, size;
  int round;
  int64_t *root, *leaf;
  grove_op *op;
} errand;

/* Makes the arrays, once the fields are set. Local. */
void errand_open(errand *e, MPI_Comm comm);
void errand_close(errand *e);

/* Makes the persistent operation. Collective. */
void errand_init(errand *e);

/* Fills the arrays for the next round, and begins it; or only fills them. */
void errand_begin(errand *e);
void errand_fill(errand *e);

/* The operation is complete: asserts that everything is right. */
void errand_check(const errand *e);

#endif
