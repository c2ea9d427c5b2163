/* Agreements: collective steps after which all ranks have the same status, sentence and numbers.
 */
#include "context/context.h"

#include <string.h>

static grove_status begin_step(grove_context *ctx, grove_step **out)
{
  GROVE_PASS_CHECK(!ctx->broken, GROVE_ERR_STATE,
                   "rank %d: an earlier collective call on this context timed out", ctx->rank);
  *out = &ctx->step;
  return GROVE_OK;
}

/* The sentence of the rank that failed, on every rank. */
static grove_status share_failure(grove_context *ctx, grove_status mine, int failed)
{
  struct failure {
    int status;
    char sentence[GROVE_SENTENCE_BYTES];
  } failure = {.status = mine};
  if (ctx->rank == failed) {
    const char *sentence = grove_last_error();
    /* A sentence that already names its rank is left as it is. */
    if (strncmp(sentence, "rank ", 5) == 0)
      snprintf(failure.sentence, sizeof failure.sentence, "%s", sentence);
    else
      snprintf(failure.sentence, sizeof failure.sentence, "rank %d: %.1000s", failed, sentence);
  }
  GROVE_PASS(grove_context_tell(ctx, &failure, sizeof failure, failed));
  return grove_error_set((grove_status)failure.status, failure.sentence);
}

/* If the option forbids shared memory between the ranks of a node, agreements do without it too. */
static int uses_board(const grove_context *ctx)
{
  return ctx->board.seats && ctx->options.transport_on_node == GROVE_ON_NODE_SHM;
}

grove_status grove_agreement_begin(grove_context *ctx, grove_status mine, const int64_t *values,
                                   int n, grove_agreement *out)
{
  grove_step *s = NULL;
  *out = (grove_agreement){.mine = mine, .n = n, .request = MPI_REQUEST_NULL};
  /* What happens while this step runs must not replace the sentence that it may have to share. */
  if (mine != GROVE_OK) snprintf(out->sentence, sizeof out->sentence, "%s", grove_last_error());
  if (ctx->broken && mine != GROVE_OK) return mine; /* most likely the timeout that broke it */
  GROVE_PASS(begin_step(ctx, &s));
  s->in[0] = mine == GROVE_OK ? 0 : ctx->size - ctx->rank; /* the maximum is the lowest rank */
  /* The same number of values in every step: ranks in different calls must not confuse MPI. */
  for (int i = 0; i < GROVE_STEP_VALUES; i++) s->in[1 + i] = i < n ? values[i] : 0;
  out->by_board = uses_board(ctx);
  if (out->by_board)
    grove_board_begin(&ctx->board, s->in);
  else if (ctx->size == 1)
    memcpy(s->out, s->in, sizeof s->in);
  else
    GROVE_PASS_MPI(MPI_Iallreduce(s->in, s->out, GROVE_STEP_VALUES + 1, MPI_INT64_T, MPI_MAX,
                                  ctx->comm, &out->request));
  return GROVE_OK;
}

grove_status grove_agreement_test(grove_context *ctx, grove_agreement *a, int *done)
{
  if (!a->by_board) {
    GROVE_PASS_MPI(MPI_Test(&a->request, done, MPI_STATUS_IGNORE));
    return GROVE_OK;
  }
  GROVE_PASS(grove_board_test(&ctx->board, done));
  if (!*done && ++a->tests > (unsigned)ctx->spins && a->tests % GROVE_NUDGE_EVERY == 0)
    grove_context_nudge(ctx);
  return GROVE_OK;
}

static grove_status test_agreement(grove_context *ctx, void *self, int *done)
{
  return grove_agreement_test(ctx, self, done);
}

grove_status grove_agreement_end(grove_context *ctx, grove_agreement *a, int64_t *values)
{
  const int64_t *result = a->by_board ? ctx->board.values : ctx->step.out;
  GROVE_PASS(grove_context_wait_for(ctx, test_agreement, a));
  if (a->mine != GROVE_OK) grove_error_set(a->mine, a->sentence);
  if (result[0] > 0) return share_failure(ctx, a->mine, ctx->size - (int)result[0]);
  for (int i = 0; i < a->n; i++) values[i] = result[1 + i];
  return GROVE_OK;
}

grove_status grove_context_agree(grove_context *ctx, grove_status mine, int64_t *values, int n)
{
  grove_agreement agreement;
  GROVE_PASS(grove_agreement_begin(ctx, mine, values, n, &agreement));
  return grove_agreement_end(ctx, &agreement, values);
}

/* A rank in another call put up no signature. It cannot be asked: its next step is another one. */
grove_status grove_context_compare(grove_context *ctx, const grove_purpose *purpose,
                                   const int64_t found[2])
{
  if (found[0] == -found[1]) return GROVE_OK;
  if (found[1] >= 0) return grove_context_refuse_call(ctx);
  return purpose->differ(ctx, purpose->self);
}

/* As much as a step can carry. */
static grove_status tell_part(grove_context *ctx, char *data, int bytes, int from)
{
  grove_step *s = NULL;
  MPI_Request request;
  GROVE_PASS(begin_step(ctx, &s));
  if (ctx->rank == from) memcpy(s->text, data, (size_t)bytes);
  GROVE_PASS_MPI(MPI_Ibcast(s->text, bytes, MPI_BYTE, from, ctx->comm, &request));
  GROVE_PASS(grove_context_wait(ctx, &request));
  if (data) memcpy(data, s->text, (size_t)bytes);
  return GROVE_OK;
}

grove_status grove_context_tell(grove_context *ctx, void *data, int bytes, int from)
{
  for (int at = 0; ctx->size > 1 && at < bytes; at += GROVE_STEP_BYTES) {
    int part = bytes - at < GROVE_STEP_BYTES ? bytes - at : GROVE_STEP_BYTES;
    GROVE_PASS(tell_part(ctx, data ? (char *)data + at : NULL, part, from));
  }
  return GROVE_OK;
}

/* A rank in another call put up no complement. */
grove_status grove_context_same(grove_context *ctx, grove_status status, const char *what,
                                int64_t mine, const int64_t found[2])
{
  grove_status own = GROVE_OK;
  int64_t first = mine;
  if (found[0] == ~found[1]) return GROVE_OK;
  if (found[1] >= 0) return grove_context_refuse_call(ctx);
  GROVE_PASS(grove_context_tell(ctx, &first, sizeof first, 0));
  if (mine != first)
    own = grove_error(status, __FILE__, __LINE__,
                      "rank %d: %s: %s is %lld, but on rank 0 it is %lld; it must be the same on "
                      "every rank",
                      ctx->rank, ctx->call, what, (long long)mine, (long long)first);
  return grove_context_agree(ctx, own, NULL, 0);
}
