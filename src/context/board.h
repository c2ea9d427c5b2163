/* The maximum of a few numbers over all ranks, on all ranks: the basis of agreements where the
 * ranks of every host share memory. Every rank has a row on the board of its host. Waiting is only
 * reading.
 *
 *     few ranks, one host     everybody puts its numbers up and reads everybody's
 *     else                    seats are a tree: a rank puts up the maximum of what lies below it,
 *                             seats 0 find that of all hosts by messages, and it goes down again
 *
 * Steps have numbers. A rank that has finished a step may put up numbers for the next one while
 * others still read, but not for the one after. So there are two rows, used alternately.
 */
#ifndef GROVE_CONTEXT_BOARD_H
#define GROVE_CONTEXT_BOARD_H

#include "base/status.h"
#include "context/rounds.h"
#include "topo/topo.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { GROVE_BOARD_VALUES = 9, GROVE_STAND_BYTES = 64 };

typedef struct grove_board {
  struct grove_board_seat *seats; /* in shared memory; NULL: there is no board */
  int nseats, seat;
  int all;       /* everybody reads everybody's row */
  uint64_t step; /* the last that was begun */
  int phase;     /* of it */
  int next, end; /* seats whose rows are still to be read */
  int64_t values[GROVE_BOARD_VALUES];
  grove_rounds hosts; /* on seat 0: with those of the other hosts */
} grove_board;

/* Bytes of a host's board, which must be zero when it is opened. */
int64_t grove_board_bytes(int seats);

/* `memory` begins on a cache line. Between hosts it has `tag` of `comm` to itself. */
void grove_board_open(grove_board *board, void *memory, const grove_topo *topo, MPI_Comm comm,
                      int tag);

/* Begins a step with this rank's numbers; all ranks do. When a test says that it is done, `values`
 * of the board are the maxima. Keep testing until then, since other ranks wait for this one. A step
 * that was never completed cannot be followed by another. This rank's failure. */
void grove_board_begin(grove_board *board, const int64_t *values);
grove_status grove_board_test(grove_board *board, int *done);

/* Is the step under way waiting for this seat's numbers? For timeouts. Never in a tree, where
 * nobody sees all rows. */
int grove_board_lacks(const grove_board *board, int seat);

/* Where this rank is, for the timeouts of others: the collective call that it is in, "" for none.
 * And where another is. Not in a step: what is read may be old, but it is never out of bounds. */
void grove_board_stand(grove_board *board, const char *call);
void grove_board_find(const grove_board *board, int seat, char out[GROVE_STAND_BYTES]);

#ifdef __cplusplus
}
#endif

#endif
