/* What ranks other than 0 answer at the end of a context (roll.h). A step sends what was asked for,
 * as far as that goes without waiting.
 */
#include "context/roll.h"

#include "context/trace.h"

#include <stdlib.h>

static void send_answer(grove_context *ctx, const void *data, size_t bytes)
{
  grove_witness *r = &ctx->witness;
  r->under_way = MPI_Issend(data, (int)bytes, MPI_BYTE, 0, GROVE_TAG_TRACE, ctx->comm,
                            &r->request) == MPI_SUCCESS;
}

static void answer_time(grove_context *ctx)
{
  ctx->witness.clock = grove_clock();
  send_answer(ctx, &ctx->witness.clock, sizeof ctx->witness.clock);
}

static void answer_page(grove_context *ctx, int n)
{
  size_t bytes = 0;
  ctx->witness.page = grove_summary_page(ctx, n, &bytes);
  send_answer(ctx, ctx->witness.page, ctx->witness.page ? bytes : 0);
}

static void answer_lines(grove_context *ctx)
{
  static const int64_t no_memory = -1;
  grove_lines *lines = ctx->witness.lines;
  if (!lines) {
    send_answer(ctx, &no_memory, sizeof no_memory);
    return;
  }
  size_t n = grove_trace_print(ctx, &ctx->witness.next, lines->text, GROVE_LINES_BYTES);
  lines->bytes = (int64_t)n;
  send_answer(ctx, lines, offsetof(grove_lines, text) + n);
}

static void begin_lines(grove_context *ctx, const grove_roll_message *order)
{
  ctx->trace->last = (grove_reading){grove_clock(), order->ahead, order->error};
  ctx->witness.next = 0;
  ctx->witness.lines = grove_room(1, sizeof *ctx->witness.lines);
  answer_lines(ctx);
}

/* An answer was received: the next lines, or its memory goes. */
static void follow_up(grove_context *ctx)
{
  grove_witness *r = &ctx->witness;
  r->under_way = 0;
  if (r->lines && r->lines->bytes > 0) {
    answer_lines(ctx);
    return;
  }
  free(r->lines);
  free(r->page);
  r->lines = NULL;
  r->page = NULL;
}

static void obey_order(grove_context *ctx, const grove_roll_message *order)
{
  switch (order->word) {
  case GROVE_WORD_CLOCK: answer_time(ctx); break;
  case GROVE_WORD_PAGE: answer_page(ctx, order->number); break;
  case GROVE_WORD_LINES: begin_lines(ctx, order); break;
  default: break;
  }
}

int grove_witness_step(grove_context *ctx, grove_roll_message *end)
{
  grove_witness *r = &ctx->witness;
  while (!ctx->roll.late) {
    int done = 1;
    if (r->under_way) MPI_Test(&r->request, &done, MPI_STATUS_IGNORE);
    if (!done) return 0;
    if (r->under_way) follow_up(ctx);
    if (r->under_way) continue;
    if (grove_roll_next(ctx, end)) {
      if (end->word == GROVE_WORD_END) return 1;
      obey_order(ctx, end);
    } else if (!ctx->roll.late) {
      return 0;
    }
  }
  *end = (grove_roll_message){.word = GROVE_WORD_GONE};
  return 1;
}
