/* A sparse matrix cut into blocks of rows, one per rank, and the ghosts that a product with it
 * needs.
 */
#ifndef BENCH_PARTS_ROWS_H
#define BENCH_PARTS_ROWS_H

#include <grove.h>

typedef struct bench_rows {
  int64_t *begin;      /* the first row of every rank; at the end, the number of rows */
  int64_t first, rows; /* this rank's */
  int64_t nonzeros;
  int64_t *start;         /* row i has entries start[i] .. start[i + 1] - 1 */
  int64_t *slot;          /* of an entry: its column's slot in vectors of own rows, then ghosts */
  int64_t ghosts, *ghost; /* columns of other ranks, ascending */
} bench_rows;

/* The rows of this rank, of either a Matrix Market file, with numbers of rows that differ by at
 * most one between ranks, or "27pt:SIDE", a box of SIDE^3 points per rank, each with its 26
 * neighbours. `nodes`: leaves out entries whose column belongs to another rank of this node; NULL:
 * leaves out none. Ends the job with a sentence if there is no such matrix. Collective. */
void bench_rows_read(MPI_Comm comm, const char *matrix, grove_context *nodes, bench_rows *out);
void bench_rows_free(bench_rows *rows);

#endif
