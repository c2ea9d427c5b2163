/* What goes over which transport. A message to a rank of the same node goes over shared memory, if
 * the node has any; every other one over MPI. Sends of one stage that carry the same slots share a
 * ring, and are one flow.
 */
#include "exec/op.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int same_list(const grove_index *a, const grove_index *b)
{
  size_t n = (size_t)a->count;
  if (a->count != b->count || a->first != b->first || !a->narrow != !b->narrow ||
      !a->wide != !b->wide)
    return 0;
  if (a->narrow) return memcmp(a->narrow, b->narrow, n * sizeof *a->narrow) == 0;
  return !a->wide || memcmp(a->wide, b->wide, n * sizeof *a->wide) == 0;
}

static int same_data(const grove_message *a, const grove_message *b)
{
  return same_list(&a->slots.index, &b->slots.index) && same_list(&a->starts, &b->starts);
}

/* A stream stays in the caches in a small ring: 256 KiB take 27 us on a Xeon (2026-11) with 16
 * slots of 16 KiB, with 8 of them 31, with 4 44. In a reduce a message may have to wait for its
 * turn, and its sender should not: 400 KB both ways take 180 us with 32 slots, 279 with 16
 * (Neoverse V1). */
enum { STREAM_SLOTS = 16, REDUCE_SLOTS = 32 };

static int slots_for(const grove_channel *channel)
{
  return channel->key.operation == GROVE_REDUCE ? REDUCE_SLOTS : STREAM_SLOTS;
}

static int fits(const grove_channel *channel, const grove_shape *shape)
{
  grove_shm_message m = {.bytes = grove_message_bytes(channel, shape),
                         .piece = (int)channel->piece,
                         .slots = slots_for(channel),
                         .sends = (int)channel->counts.on_node_messages};
  return grove_shm_fits(&m);
}

static int over_shm(const grove_channel *channel, const grove_message *m)
{
  const grove_context *ctx = channel->ctx;
  return channel->uses_shm && grove_topo_same_node(&ctx->topo, ctx->rank, m->peer);
}

/* Gives every message its number over MPI or its flow. */
static void number(const grove_channel *channel, const grove_stage *stage, grove_wired_stage *w)
{
  int np2p = 0, nflows = 0;
  const grove_message *last = NULL; /* send of the latest flow */
  w->np2p_receives = w->np2p_sends = w->nflows_in = w->nflows_out = 0;
  for (int i = 0; i < w->nmessages; i++) {
    const grove_message *m = grove_stage_message(stage, i);
    int receives = i < stage->nreceives;
    if (!over_shm(channel, m)) {
      w->p2p[np2p] = i;
      w->via[i] = np2p++;
      (*(receives ? &w->np2p_receives : &w->np2p_sends))++;
      continue;
    }
    if (receives || !last || !same_data(m, last) || !fits(channel, &w->shapes[i])) {
      w->flows[nflows++] = i;
      (*(receives ? &w->nflows_in : &w->nflows_out))++;
      if (!receives) last = m;
    }
    w->via[i] = ~(nflows - 1);
  }
}

static void number_all(grove_channel *channel)
{
  for (int s = 0; s < channel->plan->nstages; s++)
    number(channel, &channel->plan->stages[s], &channel->stages[s]);
}

/* ---- memory for the stages ---- */

static grove_status make_stage(const grove_stage *stage, int64_t unit_bytes, grove_wired_stage *w)
{
  grove_status status = GROVE_OK;
  const grove_index none = {0};
  w->nmessages = stage->nreceives + stage->nsends;
  GROVE_NEW(w->shapes, w->nmessages);
  GROVE_NEW(w->via, w->nmessages);
  GROVE_NEW(w->p2p, w->nmessages);
  GROVE_NEW(w->flows, w->nmessages);
  for (int i = 0; i < w->nmessages; i++) {
    const grove_message *m = grove_stage_message(stage, i);
    GROVE_TRY(grove_shape_create(&m->slots.index, &m->starts, unit_bytes, &w->shapes[i]));
  }
  GROVE_TRY(grove_shape_create(&stage->keep_from.index, &none, unit_bytes, &w->keep_from));
  GROVE_TRY(grove_shape_create(&stage->keep_to.index, &none, unit_bytes, &w->keep_to));
fail:
  return status;
}

/* The messages over shared memory, as the transport wants to know them; `sends` or receives. */
static int list_messages(const grove_channel *channel, int sends, grove_shm_message *list)
{
  int n = 0, rings = 0;
  for (int s = 0; s < channel->plan->nstages; s++) {
    const grove_stage *stage = &channel->plan->stages[s];
    const grove_wired_stage *w = &channel->stages[s];
    for (int i = sends ? stage->nreceives : 0; i < (sends ? w->nmessages : stage->nreceives); i++) {
      if (w->via[i] >= 0) continue;
      list[n++] = (grove_shm_message){.stage = s,
                                      .peer = grove_stage_message(stage, i)->peer,
                                      .bytes = grove_message_bytes(channel, &w->shapes[i]),
                                      .piece = (int)channel->piece,
                                      .slots = slots_for(channel),
                                      .sends = (int)channel->counts.on_node_messages,
                                      .ring = rings + ~w->via[i] - w->nflows_in};
    }
    rings += w->nflows_out;
  }
  return n;
}

static grove_status make_rings(grove_channel *channel)
{
  grove_status status = GROVE_OK;
  grove_shm_message *sends = NULL, *receives = NULL;
  int most = 0;
  for (int s = 0; s < channel->plan->nstages; s++) most += channel->stages[s].nmessages;
  GROVE_NEW(sends, most);
  GROVE_NEW(receives, most);
  int nsends = list_messages(channel, 1, sends), nreceives = list_messages(channel, 0, receives);
  GROVE_TRY(grove_shm_create(channel->ctx, nsends, sends, nreceives, receives, &channel->shm));
fail:
  free(sends);
  free(receives);
  return status;
}

grove_status grove_channel_wire(grove_channel *channel)
{
  grove_status status = GROVE_OK;
  const grove_plan *plan = channel->plan;
  const grove_context *ctx = channel->ctx;
  channel->piece = grove_shm_piece(channel->key.unit_bytes);
  GROVE_NEW(channel->stages, plan->nstages);
  channel->nstages = plan->nstages;
  for (int s = 0; s < plan->nstages; s++)
    GROVE_TRY(make_stage(&plan->stages[s], channel->key.unit_bytes, &channel->stages[s]));
  channel->uses_shm = ctx->shares_node && ctx->options.transport_on_node == GROVE_ON_NODE_SHM;
  number_all(channel);
  if (channel->uses_shm) GROVE_TRY(make_rings(channel));
fail:
  return status;
}

/* ---- the agreement ---- */

/* The node has the memory, or all its ranks go on with messages. */
static grove_status settle(grove_channel *channel, int usable, int *rewired)
{
  grove_status status = GROVE_OK;
  channel->shm->usable = channel->shm->usable && usable;
  GROVE_TRY(grove_shm_connect(channel->shm));
  if (channel->shm->usable) return GROVE_OK;
  grove_shm_free(&channel->shm);
  channel->uses_shm = 0;
  number_all(channel);
  *rewired = 1;
fail:
  return status;
}

/* Prices as whole numbers, which ranks can compare; one that is not known exceeds all. */
static int64_t picoseconds(double seconds)
{
  return seconds < 1e6 ? (int64_t)(1e12 * seconds) : INT64_MAX;
}

grove_status grove_channel_agree(grove_context *ctx, grove_status mine, int64_t signature,
                                 grove_channel *channel, int *rewired)
{
  grove_status status = GROVE_OK;
  grove_shm *shm = mine == GROVE_OK ? channel->shm : NULL;
  int64_t most[2] = {0, 0}; /* memory that grew; picoseconds */
  int usable = 1, tag = 0;
  grove_shm_propose(ctx, shm, &most[0]);
  if (mine == GROVE_OK) most[1] = picoseconds(channel->price.seconds);
  GROVE_TRY(grove_context_take_tag(ctx, mine, signature, most, &tag));
  channel->tag = tag;
  channel->predicted = most[1] == INT64_MAX ? NAN : 1e-12 * (double)most[1];
  if (most[0]) GROVE_TRY(grove_context_map_notices(ctx, &usable));
  if (shm) GROVE_TRY(settle(channel, usable, rewired));
fail:
  return status;
}

/* ---- the end ---- */

void grove_channel_unwire(grove_channel *channel)
{
  /* The plan may be gone with its forest. */
  for (int s = 0; channel->stages && s < channel->nstages; s++) {
    grove_wired_stage *w = &channel->stages[s];
    for (int i = 0; w->shapes && i < w->nmessages; i++) grove_shape_free(&w->shapes[i]);
    grove_shape_free(&w->keep_from);
    grove_shape_free(&w->keep_to);
    free(w->shapes);
    free(w->via);
    free(w->p2p);
    free(w->flows);
  }
  free(channel->stages);
  grove_shm_free(&channel->shm);
}
