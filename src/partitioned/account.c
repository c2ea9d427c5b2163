/* What is kept of a channel for the options `log` and `trace`: how long its rounds took, and when
 * its parts were marked, left and came. Any thread may do these. The times stay with the parts, and
 * whoever drives notes them when the round ends.
 */
#include "partitioned/way.h"

#include <math.h>

/* "to 3, tag 7" */
static void print_peer(const grove_channel *c, char *text, size_t room)
{
  snprintf(text, room, "%s %d, tag %d", c->sends ? "to" : "from", c->peer, c->tag);
}

/* ---- opening it ---- */

grove_status grove_account_open(grove_channel *c)
{
  grove_account *account = &c->account;
  grove_context *ctx = c->base.ctx;
  account->counted = ctx->options.log == GROVE_LOG_SUMMARY;
  account->traced = grove_trace_is_on(ctx);
  account->kept = account->counted || account->traced;
  account->own = 1;
  if (!account->counted) return GROVE_OK;
  char peer[48], label[64];
  print_peer(c, peer, sizeof peer);
  snprintf(label, sizeof label, "%s %s", c->base.kind->name, peer);
  grove_tally like = {.forest = label,
                      .operation = c->base.kind->name,
                      .route = "channel",
                      .unit_bytes = c->part_bytes};
  return grove_context_own_tally(ctx, &like, &account->tally);
}

void grove_account_introduce(grove_channel *c, double since)
{
  grove_trace *trace = c->base.ctx->trace;
  char peer[48];
  if (!c->account.traced) return;
  print_peer(c, peer, sizeof peer);
  grove_subject like = {.forest = peer,
                        .operation = c->base.kind->name,
                        .route = "channel",
                        .unit_bytes = c->part_bytes,
                        .is_channel = 1,
                        .parts = c->parts,
                        .peer = c->peer,
                        .tag = c->tag,
                        .number = c->number};
  c->account.subject = grove_trace_subject(trace, &like);
  grove_span span = {
    .kind = GROVE_SPAN_INIT, .subject = c->account.subject, .begin = since, .end = grove_clock()};
  grove_trace_note(trace, &span);
}

/* ---- a round ends ---- */

static void count_channel_messages(const grove_channel *c)
{
  const grove_context *ctx = c->base.ctx;
  grove_tally *t = &ctx->own_tallies[c->account.tally];
  if (!c->sends) return;
  if (grove_topo_same_node(&ctx->topo, ctx->rank, c->peer)) {
    t->on_node_messages += c->messages;
    t->on_node_bytes += c->bytes;
  } else {
    t->off_node_messages += c->messages;
    t->off_node_bytes += c->bytes;
  }
}

static double time_of(const grove_channel *c, grove_span_kind kind, int64_t part)
{
  if (kind == GROVE_MARK_READY) return grove_readiness_time(c->readiness, part);
  return kind == GROVE_MARK_SENT ? c->when[part].sent : c->when[part].arrived;
}

/* Neighbours with the same time are one mark: they were marked, or left, together. */
static void trace_marks(const grove_channel *c, grove_span_kind kind)
{
  for (int64_t p = 0, end; p < c->parts; p = end) {
    double time = time_of(c, kind, p);
    for (end = p + 1; end < c->parts && time_of(c, kind, end) == time;) end++;
    if (isnan(time)) continue;
    grove_span mark = {.kind = kind,
                       .subject = c->account.subject,
                       .start = c->round,
                       .begin = time,
                       .end = time,
                       .first = (int)p,
                       .count = (int)(end - p)};
    grove_trace_note(c->base.ctx->trace, &mark);
  }
}

void grove_account_note_round(const grove_channel *c)
{
  if (c->account.counted) count_channel_messages(c);
  if (!c->account.traced) return;
  if (c->sends) trace_marks(c, GROVE_MARK_READY);
  trace_marks(c, c->sends ? GROVE_MARK_SENT : GROVE_MARK_ARRIVED);
}
