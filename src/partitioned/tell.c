/* How an end of a channel describes itself. */
#include "partitioned/guarded.h"
#include "partitioned/staged.h"
#include "partitioned/way.h"

#include <math.h>
#include <string.h>

const char *grove_channel_label(const grove_op *op)
{
  static _Thread_local char text[64];
  const grove_channel *c = (const grove_channel *)op;
  snprintf(text, sizeof text, "%s %s rank %d, tag %d", op->kind->name, c->sends ? "to" : "from",
           c->peer, c->tag);
  return text;
}

/* ---- errors of calls ---- */

grove_status grove_channel_check_range(const grove_channel *c, const char *call, int64_t first,
                                       int64_t count)
{
  GROVE_PASS_CHECK(
    first >= 0 && count >= 0 && count <= c->parts && first <= c->parts - count, GROVE_ERR_ARG,
    "rank %d: %s: %lld parts from part %lld on (round %lld) of this %s, which has parts 0 to "
    "%lld",
    c->base.ctx->rank, call, (long long)count, (long long)first, (long long)c->round,
    grove_op_label(&c->base), (long long)c->parts - 1);
  return GROVE_OK;
}

/* ---- the end of all rounds ---- */

void grove_channel_refuse(grove_channel *c, grove_status status, const char *sentence)
{
  c->bond = GROVE_BOND_REFUSED;
  c->refused = status;
  c->refusal = strdup(sentence);
}

/* ---- what is missing ---- */

static int lacks_part(const grove_channel *c, int64_t p)
{
  if (c->sends) return !grove_readiness_is_marked(c->readiness, p);
  return c->part_bytes == 0 || c->come[p] < c->part_bytes;
}

/* "parts 2, 5 to 7 of 8" */
static int64_t list_parts(const grove_channel *c, char *text, size_t room)
{
  enum { MOST_LISTED = 8 };
  int64_t missing = 0;
  int listed = 0;
  size_t used = 0;
  text[0] = '\0';
  for (int64_t p = 0; p < c->parts; p++) {
    if (!lacks_part(c, p)) continue;
    int64_t end = p + 1;
    while (end < c->parts && lacks_part(c, end)) end++;
    missing += end - p;
    if (listed++ < MOST_LISTED && used < room)
      used += (size_t)snprintf(text + used, room - used, end - p > 1 ? "%s%lld to %lld" : "%s%lld",
                               listed > 1 ? ", " : "", (long long)p, (long long)end - 1);
    p = end;
  }
  if (listed > MOST_LISTED && used < room) snprintf(text + used, room - used, " and others");
  return missing;
}

void grove_channel_missing(const grove_op *op, char *text, size_t room)
{
  const grove_channel *c = (const grove_channel *)op;
  char parts[192];
  int64_t missing = list_parts(c, parts, sizeof parts);
  size_t used = (size_t)snprintf(text, room, " (round %lld)", (long long)c->round);
  if (missing > 0 && used < room)
    used += (size_t)snprintf(text + used, room - used,
                             c->sends ? "; part%s %s of %lld not marked "
                                        "ready"
                                      : "; part%s %s of %lld not come",
                             missing > 1 ? "s" : "", parts, (long long)c->parts);
  if (used >= room) return;
  if (c->staged && grove_staged_parts(c) > 0)
    snprintf(text + used, room - used, "; the device has not copied %lld parts yet",
             (long long)grove_staged_parts(c));
  else if (c->bond == GROVE_BOND_SOUGHT)
    snprintf(text + used, room - used, "; rank %d has not started its end", c->peer);
  else if (c->sends && missing == 0)
    snprintf(text + used, room - used, "; not taken by rank %d: has it started this round?",
             c->peer);
  else if (!c->sends)
    snprintf(text + used, room - used, "; has rank %d marked them ready?", c->peer);
}

/* ---- the report ---- */

grove_report grove_channel_report(const grove_op *op)
{
  const grove_channel *c = (const grove_channel *)op;
  const grove_context *ctx = op->ctx;
  int on_node = grove_topo_same_node(&ctx->topo, ctx->rank, c->peer);
  int64_t messages = c->planned ? c->planned : c->messages;
  if (c->sends && messages == 0) messages = c->plan.ngroups;
  int64_t sent = c->sends ? messages : 0, bytes = c->sends ? c->bytes : 0;
  return (grove_report){
    .route = "channel",
    .transport = c->way ? c->way->name : "none",
    .transport_on_node = c->way ? c->way->name : "none",
    .on_node_messages = on_node ? sent : 0,
    .on_node_bytes = on_node ? bytes : 0,
    .off_node_messages = on_node ? 0 : sent,
    .off_node_bytes = on_node ? 0 : bytes,
    .starts = op->starts,
    .measured_seconds = op->timed_starts > 0 ? op->seconds / (double)op->timed_starts : 0,
    .predicted_seconds = c->sends ? c->plan.seconds : NAN,
    .machine = c->machine_name,
    .aggregator = c->sends        ? c->plan.aggregator
                  : c->aggregated ? c->aggregated
                                  : "none",
    .parts = c->parts,
    .messages = messages,
    .delta_seconds = c->sends ? c->plan.delta : 0,
  };
}

/* ---- times of parts ---- */

grove_status grove_channel_part_times(grove_op *op, int64_t first, int64_t count,
                                      grove_part_time *out)
{
  const grove_channel *c = (const grove_channel *)op;
  GROVE_PASS_CHECK(c->profiled, GROVE_ERR_STATE,
                   "rank %d: grove_op_part_times: this %s was made with the option profile off",
                   op->ctx->rank, grove_op_label(op));
  GROVE_PASS(grove_channel_check_range(c, "grove_op_part_times", first, count));
  GROVE_PASS_CHECK(c->round > 0, GROVE_ERR_STATE,
                   "rank %d: grove_op_part_times: this %s was not started", op->ctx->rank,
                   grove_op_label(op));
  grove_guarded_note_asked(c);
  for (int64_t i = 0; i < count; i++) {
    grove_part_time t = c->when[first + i];
    if (c->sends) t.ready = grove_readiness_time(c->readiness, first + i);
    out[i] =
      (grove_part_time){t.ready - c->since, t.sent - c->since, t.arrived - c->since, t.message};
  }
  return GROVE_OK;
}
