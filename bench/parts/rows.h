/* A sparse matrix cut into blocks of rows, one per rank, and the ghosts that a product with it
 * needs.
 */
#ifndef BENCH_PARTS_ROWS_H
#define BENCH_PARTS_ROWS_H

#include <grove.h>

typedef struct bench_rows {
  int64_t *begin;      /* of every rank, the first row; behind them, how many there are */
  int64_t first, rows; /* this rank's */
  int64_t nonzeros;
  int64_t *start;         /* row i has entries start[i] .. start[i + 1] - 1 */
  int64_t *slot;          /* of an entry: where vectors have its column, own rows, then ghosts */
  int64_t ghosts, *ghost; /* columns of other ranks, ascending */
} bench_rows;

/* The rows of this rank: of a Matrix Market file, as many as any other rank's, or one more; or of
 * "27pt:SIDE", a box of SIDE^3 points per rank, each with its 26 neighbours. `nodes`: entries whose
 * column is on this rank's node, but another rank's, are left out; NULL: none are. Ends the job
 * with a sentence if there is no such matrix. Collective. */
void bench_rows_read(MPI_Comm comm, const char *matrix, grove_context *nodes, bench_rows *out);
void bench_rows_free(bench_rows *rows);

#endif
