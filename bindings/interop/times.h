/* What the programs of this folder share: the matrix whose halo they exchange, and times of two
 * ways to do so, in turn in one run.
 */
#ifndef GROVE_INTEROP_TIMES_H
#define GROVE_INTEROP_TIMES_H

#include <grove.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Reads the arguments `[--check] [MATRIX.mtx...]`: returns the place of the first matrix. With
 * --check nothing is timed. */
int times_begin(int argc, char **argv);

/* The places of this rank's rows of a square matrix; rows are dealt out in blocks. */
typedef struct places {
  int64_t rows, first, nrows; /* of all ranks, and those of this one */
  int64_t count, *row, *col;  /* from 0, in the whole matrix */
} places;

/* Of a Matrix Market file; NULL: of a grid of `side` x `side` points and their neighbours. Ends the
 * job where it cannot be read. */
places places_read(const char *path, int64_t side);
void places_free(places *p);

/* Prints the medians of the slowest rank, and theirs divided by ours: above 1 Grove is faster. The
 * functions are given `user`. Collective. */
void times_compare(const char *name, const char *theirs_name, void (*theirs)(void *),
                   void (*ours)(void *), void *user);

/* Ends the job if the n numbers differ on any rank by more than rounding. */
void times_agree(const char *name, const double *theirs, const double *ours, int64_t n);

#ifdef __cplusplus
}
#endif

#endif
