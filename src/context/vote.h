/* A vote: the maxima of some numbers over all ranks, without waiting for anybody. Each rank begins
 * it when it has come so far, and from then on every poll of the context advances it, like an
 * operation.
 *
 *     vote->known[0] = ...;
 *     grove_vote_begin(ctx, vote);        a poll calls vote->over, on every rank at its own time
 *
 * In each round every rank tells one other what it knows, first its neighbour, then the one 2
 * further, then 4, ... A number that is counted twice is no harm to a maximum, so this serves any
 * number of ranks: log2(ranks) rounds of one small message.
 */
#ifndef GROVE_CONTEXT_VOTE_H
#define GROVE_CONTEXT_VOTE_H

#include "context/context.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { GROVE_VOTE_MOST = 32 };

typedef struct grove_vote {
  grove_active active; /* first: the context knows votes by it */
  grove_context *ctx;
  int tag;                        /* which nothing else uses until all ranks are through */
  int n;                          /* numbers, the same on every rank */
  int64_t known[GROVE_VOTE_MOST]; /* at first this rank's own, in the end the maxima */
  int64_t heard[GROVE_VOTE_MOST];
  int reach; /* ranks up to this one that `known` is about */
  MPI_Request requests[2];
  /* Called once, when this rank knows and has told whom it must. It may free the vote, unless that
   * failed (this rank's failure): then MPI may use its memory for ever. */
  void (*over)(struct grove_vote *self, grove_status status);
} grove_vote;

/* With `tag`, `n`, `known` and `over` set. May call `over` at once. */
void grove_vote_begin(grove_context *ctx, grove_vote *vote);

#ifdef __cplusplus
}
#endif

#endif
