/* How far the clocks of hosts are apart. Ranks of one memory domain read the same clock, so only
 * the lowest rank of each compares it with rank 0's. Rank 0 asks for the time, and takes the answer
 * to be from the middle between question and answer. Of several rounds the quickest counts; half
 * its time is the largest possible error. Cost: some round trips for each host, one after the
 * other.
 */
#include "context/trace.h"

#include <math.h>
#include <stdlib.h>

enum { ROUNDS = 20 };

/* The message. It is never freed if a rank does not come: MPI may still use it. */
typedef struct clock_message {
  double question, answer;
} clock_message;

static grove_status ask_once(grove_context *ctx, int peer, clock_message *m)
{
  MPI_Request send, receive;
  GROVE_PASS_MPI(MPI_Irecv(&m->answer, 1, MPI_DOUBLE, peer, GROVE_TAG_CLOCK, ctx->comm, &receive));
  GROVE_PASS_MPI(MPI_Isend(&m->question, 1, MPI_DOUBLE, peer, GROVE_TAG_CLOCK, ctx->comm, &send));
  GROVE_PASS(grove_context_wait(ctx, &receive));
  return grove_context_wait(ctx, &send);
}

/* On rank 0: how far the clock of `peer` is ahead, and the largest error of that. */
static grove_status ask_clock(grove_context *ctx, int peer, clock_message *m, double out[2])
{
  for (int i = 0; i < ROUNDS; i++) {
    double before = grove_clock();
    GROVE_PASS(ask_once(ctx, peer, m));
    double after = grove_clock(), error = (after - before) / 2;
    if (i > 0 && error >= out[1]) continue;
    out[0] = m->answer - (before + after) / 2;
    out[1] = error;
  }
  return GROVE_OK;
}

static grove_status answer_clock(grove_context *ctx, clock_message *m)
{
  MPI_Request request;
  for (int i = 0; i < ROUNDS; i++) {
    GROVE_PASS_MPI(MPI_Irecv(&m->question, 1, MPI_DOUBLE, 0, GROVE_TAG_CLOCK, ctx->comm, &request));
    GROVE_PASS(grove_context_wait(ctx, &request));
    m->answer = grove_clock();
    GROVE_PASS_MPI(MPI_Isend(&m->answer, 1, MPI_DOUBLE, 0, GROVE_TAG_CLOCK, ctx->comm, &request));
    GROVE_PASS(grove_context_wait(ctx, &request));
  }
  return GROVE_OK;
}

int grove_trace_count_clocks(const grove_context *ctx)
{
  int most = 0;
  for (int r = 0; r < ctx->size; r++)
    if (ctx->place[r].domain > most) most = ctx->place[r].domain;
  return most + 1;
}

/* On rank 0: two numbers for each domain. Its lowest rank has its first seat. */
static grove_status ask_all(grove_context *ctx, clock_message *m, double *table)
{
  for (int r = 0; r < ctx->size; r++) {
    const grove_place *place = &ctx->place[r];
    if (place->domain == ctx->place[0].domain || place->seat > 0) continue;
    GROVE_PASS(ask_clock(ctx, r, m, table + 2 * place->domain));
  }
  return GROVE_OK;
}

/* ---- at the end ---- */

static void order_reading(grove_context *ctx, int peer, grove_reading *out)
{
  *out = (grove_reading){.error = INFINITY};
  for (int i = 0; i < ROUNDS; i++) {
    double answer = 0, before = grove_clock();
    grove_roll_say(ctx, GROVE_WORD_CLOCK, peer);
    grove_roll_answer(ctx, peer, &answer, sizeof answer);
    double after = grove_clock(), error = (after - before) / 2;
    if (error < out->error) *out = (grove_reading){after, answer - (before + after) / 2, error};
  }
}

void grove_trace_ask_clocks(grove_context *ctx, grove_reading *readings)
{
  int mine = ctx->place[0].domain;
  for (int r = 1; r < ctx->size; r++) {
    int domain = ctx->place[r].domain;
    if (domain == mine || readings[domain].here != 0 || !grove_roll_has(ctx, r)) continue;
    order_reading(ctx, r, &readings[domain]);
  }
  readings[mine].here = grove_clock();
}

/* ---- together ---- */

grove_status grove_trace_compare_clocks(grove_context *ctx, grove_reading *out, double *origin)
{
  grove_status status = GROVE_OK, mine = GROVE_OK;
  const grove_place *place = &ctx->place[ctx->rank];
  clock_message *m = grove_memory(1, sizeof *m);
  double *table = NULL;
  int domains = grove_trace_count_clocks(ctx);
  size_t bytes = (2 * (size_t)domains + 1) * sizeof *table;
  table = grove_memory(1, bytes);
  if (!m || !table)
    mine = grove_error(GROVE_ERR_MEMORY, __FILE__, __LINE__, "no memory for clocks");
  GROVE_TRY(grove_context_agree(ctx, mine, NULL, 0));
  table[2 * domains] = grove_clock();
  if (ctx->rank == 0)
    GROVE_TRY(ask_all(ctx, m, table));
  else if (place->seat == 0 && place->domain != ctx->place[0].domain)
    GROVE_TRY(answer_clock(ctx, m));
  GROVE_TRY(grove_context_tell(ctx, table, (int)bytes, 0));
  *out = (grove_reading){grove_clock(), table[2 * place->domain], table[2 * place->domain + 1]};
  *origin = table[2 * domains];
fail:
  if (!ctx->broken) free(m);
  free(table);
  return status;
}
