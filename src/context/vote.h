/* A vote: the maxima of some numbers over all ranks, without waiting for anybody. Each rank begins
 * it in its own time. From then on every poll of the context advances it, like an operation.
 *
 *     vote->rounds.known[0] = ...;
 *     grove_vote_begin(ctx, vote);        a poll calls vote->over, on every rank at its own time
 */
#ifndef GROVE_CONTEXT_VOTE_H
#define GROVE_CONTEXT_VOTE_H

#include "context/context.h"
#include "context/rounds.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct grove_vote {
  grove_active active; /* first: the context knows votes by it */
  grove_context *ctx;
  grove_rounds rounds;
  /* Called once, when this rank knows the maxima and has sent all its messages. It may free the
   * vote unless the status is a failure (this rank's): then MPI may use its memory for ever. */
  void (*over)(struct grove_vote *self, grove_status status);
} grove_vote;

/* `tag`, `n` and `known` of the rounds, and `over`, must be set. May call `over` at once. */
void grove_vote_begin(grove_context *ctx, grove_vote *vote);

#ifdef __cplusplus
}
#endif

#endif
