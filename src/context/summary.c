/* The table of log=summary: what ran on all ranks together, printed by rank 0 when the context
 * goes. Rows come into being in collective calls, so they are the same on every rank and one
 * reduction adds them up. A rank that never frees its context must not stop the others for ever:
 * then rank 0 prints its own numbers and says so.
 */
#include "context/context.h"

#include <stdlib.h>
#include <string.h>

enum { SUMS = 5, COLUMNS = 7 };
static const double PATIENCE_SECONDS = 10;

grove_status grove_context_tally(grove_context *ctx, const grove_tally *like, int *row)
{
  grove_status status = GROVE_OK;
  grove_tally *t = ctx->tallies;
  /* A new forest has no rows yet: programs that make many should not search them all. */
  int i = ctx->ntallies > 0 && t[ctx->ntallies - 1].forest_serial < like->forest_serial
            ? ctx->ntallies
            : 0;
  while (i < ctx->ntallies &&
         (t[i].forest_serial != like->forest_serial || t[i].unit_bytes != like->unit_bytes ||
          strcmp(t[i].operation, like->operation) != 0 || strcmp(t[i].route, like->route) != 0))
    i++;
  if (i == ctx->ntallies) {
    t = realloc(t, (size_t)(i + 1) * sizeof *t);
    GROVE_CHECK(t, GROVE_ERR_MEMORY, "no memory for %d rows of the summary", i + 1);
    ctx->tallies = t;
    t[i] = *like;
    t[i].forest = strdup(like->forest);
    GROVE_CHECK(t[i].forest, GROVE_ERR_MEMORY, "no memory for a name");
    ctx->ntallies++;
  }
  *row = i;
fail:
  return status;
}

static void fill(const grove_context *ctx, double *sums, double *times)
{
  for (int i = 0; i < ctx->ntallies; i++) {
    const grove_tally *t = &ctx->tallies[i];
    double *sum = sums + SUMS * i, *time = times + 2 * i;
    sum[0] = (double)t->starts;
    sum[1] = (double)t->on_node_messages;
    sum[2] = (double)t->on_node_bytes;
    sum[3] = (double)t->off_node_messages;
    sum[4] = (double)t->off_node_bytes;
    time[0] = t->starts > 0 ? t->start_seconds / (double)t->starts : 0;
    time[1] = t->starts > 0 ? t->total_seconds / (double)t->starts : 0;
  }
}

/* Waits for two reductions; 0 when some rank does not take part. */
static int wait_for_all(grove_context *ctx, MPI_Request request[2])
{
  grove_pause pause;
  grove_pause_begin(&pause, ctx->spins);
  for (int done = 0;;) {
    MPI_Testall(2, request, &done, MPI_STATUSES_IGNORE);
    if (done) return 1;
    if (grove_pause_expired(&pause, PATIENCE_SECONDS)) return 0;
    grove_pause_step(&pause);
  }
}

static void print(const grove_context *ctx, int complete, const double *sums, const double *times)
{
  fprintf(stderr, "Grove: %d ranks on %d nodes; messages and bytes %s, times the slowest rank's\n",
          ctx->size, ctx->topo.nnodes,
          complete ? "of all ranks" : "of rank 0 only: not every rank freed its context");
  fprintf(stderr, "%-20s %-8s %-10s %6s %8s %10s %12s %10s %12s %10s %10s\n", "forest", "operation",
          "route", "unit", "starts", "on msgs", "on bytes", "off msgs", "off bytes", "start us",
          "total us");
  for (int i = 0; i < ctx->ntallies; i++) {
    const grove_tally *t = &ctx->tallies[i];
    const double *sum = sums + SUMS * i, *time = times + 2 * i;
    fprintf(stderr, "%-20s %-9s %-10s %5lld %8.0f %10.0f %12.0f %10.0f %12.0f %10.2f %10.2f\n",
            t->forest, t->operation, t->route, (long long)t->unit_bytes,
            complete ? sum[0] / ctx->size : sum[0], sum[1], sum[2], sum[3], sum[4], 1e6 * time[0],
            1e6 * time[1]);
  }
}

void grove_context_summarise(grove_context *ctx)
{
  int n = ctx->ntallies, complete = 0;
  double *mine = calloc((size_t)(n * COLUMNS + 1), sizeof *mine);
  double *all = calloc((size_t)(n * COLUMNS + 1), sizeof *all);
  MPI_Request request[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  if (!mine || !all) goto done;
  fill(ctx, mine, mine + SUMS * n);
  if (MPI_Ireduce(mine, all, SUMS * n, MPI_DOUBLE, MPI_SUM, 0, ctx->comm, &request[0]) ||
      MPI_Ireduce(mine + SUMS * n, all + SUMS * n, 2 * n, MPI_DOUBLE, MPI_MAX, 0, ctx->comm,
                  &request[1]))
    goto done;
  complete = wait_for_all(ctx, request);
  if (ctx->rank == 0)
    print(ctx, complete, complete ? all : mine, (complete ? all : mine) + SUMS * n);
  if (!complete) { /* MPI may still use the arrays and the communicator */
    ctx->broken = 1;
    return;
  }
done:
  free(mine);
  free(all);
}
