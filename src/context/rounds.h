/* Maxima of a few numbers over ranks in a circle, by messages. In each round every rank tells one
 * other what it knows: first its neighbour, then the rank 2 further, then 4, ... Counting a number
 * twice does not change a maximum, so this works for any number of ranks: log2(ranks) rounds of one
 * small message.
 */
#ifndef GROVE_CONTEXT_ROUNDS_H
#define GROVE_CONTEXT_ROUNDS_H

#include "base/status.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { GROVE_ROUNDS_MOST = 31, GROVE_ROUNDS_VALUES = 32 };

typedef struct grove_rounds {
  MPI_Comm comm;
  int tag; /* not used by anything else until all ranks are through */
  int n;   /* numbers, the same on every rank */
  int count, round;
  int to[GROVE_ROUNDS_MOST], from[GROVE_ROUNDS_MOST]; /* ranks, by round */
  int64_t known[GROVE_ROUNDS_VALUES]; /* at first this rank's own, at the end the maxima */
  int64_t heard[GROVE_ROUNDS_VALUES];
  MPI_Request requests[2];
} grove_rounds;

/* Rounds for a circle of this many. */
int grove_rounds_needed(int places);

/* Makes the circle of ranks 0 .. size-1, with the place of `rank`. */
void grove_rounds_of_ranks(grove_rounds *rounds, int rank, int size);

/* All but `heard`, `round` and `requests` must be set. Done when this rank knows the maxima and has
 * sent its messages. After a failure, which is this rank's, MPI may use the memory for ever. */
grove_status grove_rounds_begin(grove_rounds *rounds);
grove_status grove_rounds_test(grove_rounds *rounds, int *done);

/* Gives up, before it is done: the others get what this rank knows now, and need not wait for it.
 * MPI may use the memory for ever. */
void grove_rounds_leave(grove_rounds *rounds);

#ifdef __cplusplus
}
#endif

#endif
