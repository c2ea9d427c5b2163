#include "context/context.h"

#include <stdlib.h>
#include <string.h>

/* The most values a step carries beside the status. */
enum { MOST = 8 };

/* What a step sends and receives lives on the heap: after a timeout MPI may still write to it, so
 * then it is left alone. */
typedef struct step {
  int64_t in[MOST + 1];
  int64_t out[MOST + 1];
} step;

static grove_status begin(grove_context *ctx, step **out)
{
  grove_status status = GROVE_OK;
  GROVE_CHECK(!ctx->broken, GROVE_ERR_STATE,
              "rank %d: an earlier collective call on this context timed out", ctx->rank);
  GROVE_NEW(*out, 1);
fail:
  return status;
}

/* Waits and frees; `s` is lost on a timeout, on purpose. */
static grove_status finish(grove_context *ctx, MPI_Request *request, step *s, int64_t *result,
                           int n)
{
  grove_status status = GROVE_OK;
  GROVE_TRY(grove_context_wait(ctx, request));
  memcpy(result, s->out, (size_t)n * sizeof *result);
  free(s);
fail:
  return status;
}

/* The sentence of the rank that failed, on every rank. */
static grove_status share_failure(grove_context *ctx, grove_status mine, int failed)
{
  grove_status status = GROVE_OK;
  struct failure {
    int status;
    char sentence[GROVE_SENTENCE_BYTES];
  } *failure = NULL;
  GROVE_NEW(failure, 1);
  if (ctx->rank == failed) {
    const char *sentence = grove_last_error();
    failure->status = mine;
    /* A sentence that names its rank already is not given another. */
    if (strncmp(sentence, "rank ", 5) == 0)
      snprintf(failure->sentence, sizeof failure->sentence, "%s", sentence);
    else
      snprintf(failure->sentence, sizeof failure->sentence, "rank %d: %.1000s", failed, sentence);
  }
  GROVE_TRY(grove_context_tell(ctx, failure, sizeof *failure, failed));
  status = grove_error_set((grove_status)failure->status, failure->sentence);
fail:
  free(failure);
  return status;
}

grove_status grove_agreement_begin(grove_context *ctx, grove_status mine, const int64_t *values,
                                   int n, grove_agreement *out)
{
  grove_status status = GROVE_OK;
  step *s = NULL;
  *out = (grove_agreement){.mine = mine, .n = n};
  /* What happens while this step runs must not replace the sentence that it may have to share. */
  if (mine != GROVE_OK) snprintf(out->sentence, sizeof out->sentence, "%s", grove_last_error());
  if (ctx->broken && mine != GROVE_OK) return mine; /* the timeout that broke it, as like as not */
  GROVE_TRY(begin(ctx, &s));
  out->step = s;
  s->in[0] = mine == GROVE_OK ? 0 : ctx->size - ctx->rank; /* the maximum is the lowest rank */
  /* As many values in every step: ranks that are in different calls must not confuse MPI. */
  for (int i = 0; i < MOST; i++) s->in[1 + i] = i < n ? values[i] : 0;
  GROVE_TRY_MPI(
    MPI_Iallreduce(s->in, s->out, MOST + 1, MPI_INT64_T, MPI_MAX, ctx->comm, &out->request));
fail:
  return status;
}

grove_status grove_agreement_end(grove_context *ctx, grove_agreement *a, int64_t *values)
{
  grove_status status = GROVE_OK;
  int64_t result[MOST + 1];
  GROVE_TRY(finish(ctx, &a->request, a->step, result, a->n + 1));
  if (a->mine != GROVE_OK) grove_error_set(a->mine, a->sentence);
  if (result[0] > 0) return share_failure(ctx, a->mine, ctx->size - (int)result[0]);
  for (int i = 0; i < a->n; i++) values[i] = result[1 + i];
fail:
  return status;
}

grove_status grove_context_agree(grove_context *ctx, grove_status mine, int64_t *values, int n)
{
  grove_status status = GROVE_OK;
  grove_agreement agreement;
  GROVE_TRY(grove_agreement_begin(ctx, mine, values, n, &agreement));
  GROVE_TRY(grove_agreement_end(ctx, &agreement, values));
fail:
  return status;
}

grove_status grove_context_tell(grove_context *ctx, void *data, int bytes, int from)
{
  grove_status status = GROVE_OK;
  char *copy = NULL;
  MPI_Request request;
  GROVE_NEW(copy, bytes);
  if (ctx->rank == from) memcpy(copy, data, (size_t)bytes);
  GROVE_TRY_MPI(MPI_Ibcast(copy, bytes, MPI_BYTE, from, ctx->comm, &request));
  GROVE_TRY(grove_context_wait(ctx, &request));
  memcpy(data, copy, (size_t)bytes);
  free(copy);
fail:
  return status;
}

grove_status grove_context_scan_max(grove_context *ctx, const int64_t *mine, int n, int64_t *out)
{
  grove_status status = GROVE_OK;
  step *s = NULL;
  MPI_Request request;
  GROVE_TRY(begin(ctx, &s));
  for (int i = 0; i < n; i++) {
    s->in[i] = mine[i];
    s->out[i] = -1;
  }
  GROVE_TRY_MPI(MPI_Iexscan(s->in, s->out, n, MPI_INT64_T, MPI_MAX, ctx->comm, &request));
  GROVE_TRY(finish(ctx, &request, s, out, n));
  if (ctx->rank == 0)
    for (int i = 0; i < n; i++) out[i] = -1;
fail:
  return status;
}

grove_status grove_context_offsets(grove_context *ctx, int64_t mine, int64_t *before,
                                   int64_t *total)
{
  grove_status status = GROVE_OK;
  step *s = NULL;
  MPI_Request request;
  GROVE_TRY(begin(ctx, &s));
  s->in[0] = mine;
  GROVE_TRY_MPI(MPI_Iscan(s->in, s->out, 1, MPI_INT64_T, MPI_SUM, ctx->comm, &request));
  GROVE_TRY(finish(ctx, &request, s, before, 1));
  *total = *before;
  *before -= mine;
  GROVE_TRY(grove_context_tell(ctx, total, sizeof *total, ctx->size - 1));
fail:
  return status;
}

grove_status grove_context_collect(grove_context *ctx, int64_t mine, int to_all, int64_t *all)
{
  grove_status status = GROVE_OK;
  int64_t *in = NULL, *out = NULL;
  int wanted = to_all || ctx->rank == 0;
  MPI_Request request;
  GROVE_NEW(in, 1);
  GROVE_NEW(out, wanted ? ctx->size : 1);
  *in = mine;
  if (to_all)
    GROVE_TRY_MPI(MPI_Iallgather(in, 1, MPI_INT64_T, out, 1, MPI_INT64_T, ctx->comm, &request));
  else
    GROVE_TRY_MPI(MPI_Igather(in, 1, MPI_INT64_T, out, 1, MPI_INT64_T, 0, ctx->comm, &request));
  GROVE_TRY(grove_context_wait(ctx, &request));
  if (wanted) memcpy(all, out, (size_t)ctx->size * sizeof *all);
  free(in);
  free(out);
fail:
  return status;
}
