/* Collective steps in which each rank has a number of its own. MPI has non-blocking calls for them,
 * but Open MPI 4.1 carries these out in a step for every rank: 16 ranks on four hosts took 1.8 ms
 * for MPI_Iallgather and 12 to 16 ms for the first one, which makes connections between all pairs;
 * this takes 0.9 and 4 ms (2 cores of a Xeon, 2026-11). Here the distance between partners doubles
 * from round to round, as in rounds.h, so a rank has log2(ranks) of them in either direction.
 */
#include "context/context.h"

static grove_status check_whole(const grove_context *ctx)
{
  GROVE_PASS_CHECK(!ctx->broken, GROVE_ERR_STATE,
                   "rank %d: an earlier collective call on this context timed out", ctx->rank);
  return GROVE_OK;
}

/* One round: `out` to one rank and `in` from another, or nothing where the rank is MPI_PROC_NULL.
 * Both lie where MPI may use them for ever after a timeout. */
static grove_status swap_numbers(grove_context *ctx, const int64_t *out, int nout, int to,
                                 int64_t *in, int nin, int from)
{
  MPI_Request request[2];
  GROVE_PASS(check_whole(ctx));
  GROVE_PASS_MPI(MPI_Irecv(in, nin, MPI_INT64_T, from, GROVE_TAG_DOUBLING, ctx->comm, &request[0]));
  GROVE_PASS_MPI(MPI_Isend(out, nout, MPI_INT64_T, to, GROVE_TAG_DOUBLING, ctx->comm, &request[1]));
  GROVE_PASS(grove_context_wait(ctx, &request[0]));
  return grove_context_wait(ctx, &request[1]);
}

/* ---- to all ranks ---- */

static void reverse_list(int64_t *list, int begin, int end)
{
  for (; begin < --end; begin++) {
    int64_t other = list[begin];
    list[begin] = list[end];
    list[end] = other;
  }
}

grove_status grove_context_gather(grove_context *ctx, int64_t mine, int64_t *all)
{
  int n = ctx->size;
  all[0] = mine; /* all[i] is that of the rank i further */
  for (int known = 1; known < n; known *= 2) {
    int more = known < n - known ? known : n - known;
    GROVE_PASS(swap_numbers(ctx, all, more, (ctx->rank - known + n) % n, all + known, more,
                            (ctx->rank + known) % n));
  }
  reverse_list(all, 0, n - ctx->rank);
  reverse_list(all, n - ctx->rank, n);
  reverse_list(all, 0, n);
  return GROVE_OK;
}

static grove_status gather_at_first(grove_context *ctx, int64_t mine, int64_t *all)
{
  MPI_Request request;
  GROVE_PASS(check_whole(ctx));
  ctx->step.in[0] = mine;
  GROVE_PASS_MPI(
    MPI_Igather(ctx->step.in, 1, MPI_INT64_T, all, 1, MPI_INT64_T, 0, ctx->comm, &request));
  return grove_context_wait(ctx, &request);
}

grove_status grove_context_collect(grove_context *ctx, int64_t mine, int to_all, int64_t **all)
{
  grove_status status =
    to_all ? grove_context_gather(ctx, mine, *all) : gather_at_first(ctx, mine, *all);
  if (ctx->broken) *all = NULL;
  return status;
}

/* ---- over the ranks below ---- */

typedef void joiner(int64_t *sum, int64_t more);

/* n numbers at ctx->step.in, joined over this rank and those below, and at `below` over those
 * below alone. */
static grove_status scan_ranks(grove_context *ctx, int n, joiner *join, int64_t *below)
{
  grove_step *s = &ctx->step;
  for (int distance = 1; distance < ctx->size; distance *= 2) {
    int to = ctx->rank + distance, from = ctx->rank - distance;
    GROVE_PASS(swap_numbers(ctx, s->in, n, to < ctx->size ? to : MPI_PROC_NULL, s->out, n,
                            from >= 0 ? from : MPI_PROC_NULL));
    for (int i = 0; i < n && from >= 0; i++) {
      join(&s->in[i], s->out[i]);
      join(&below[i], s->out[i]);
    }
  }
  return GROVE_OK;
}

static void add_number(int64_t *sum, int64_t more)
{
  *sum += more;
}

static void keep_greater(int64_t *sum, int64_t more)
{
  if (more > *sum) *sum = more;
}

grove_status grove_context_scan_max(grove_context *ctx, const int64_t *mine, int n, int64_t *out)
{
  for (int i = 0; i < n; i++) {
    ctx->step.in[i] = mine[i];
    out[i] = -1;
  }
  return scan_ranks(ctx, n, keep_greater, out);
}

grove_status grove_context_offsets(grove_context *ctx, int64_t mine, int64_t *before,
                                   int64_t *total)
{
  *before = 0;
  ctx->step.in[0] = mine;
  GROVE_PASS(scan_ranks(ctx, 1, add_number, before));
  *total = *before + mine;
  return grove_context_tell(ctx, total, sizeof *total, ctx->size - 1);
}
