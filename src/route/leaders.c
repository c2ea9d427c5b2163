#include "route/leaders.h"

#include <string.h>

/* Up to this many ranks, packets go directly to leaders: they are few, and another exchange is one
 * more step that all ranks wait for. A round number, not a measured one. */
enum { FEW_RANKS = 64 };

static int node_in(const grove_context *ctx, int rank)
{
  return ctx->topo.place[rank].node;
}

static int own_leader(const grove_context *ctx)
{
  return grove_leader(&ctx->topo, node_in(ctx, ctx->rank));
}

static int proxy_of(const grove_context *ctx, int leader)
{
  int node = node_in(ctx, leader), ranks = grove_topo_node_size(&ctx->topo, node);
  return grove_topo_node_rank(&ctx->topo, node, ctx->topo.place[ctx->rank].local % ranks);
}

/* ---- there ---- */

/* A packet within a packet to this node's leader: its writer, its length, its words. */
static grove_status wrap_packet(const grove_context *ctx, int from, int64_t n, const int64_t *words,
                                grove_packets *home)
{
  int64_t *to = NULL;
  GROVE_PASS(grove_packets_write(home, own_leader(ctx), 2 + n, &to));
  to[0] = from;
  to[1] = n;
  memcpy(to + 2, words, (size_t)n * sizeof *words);
  return GROVE_OK;
}

/* Packets for other nodes go to the proxies; those for this node wait for what comes. */
static grove_status sort_packets(const grove_context *ctx, const grove_packets *packets,
                                 grove_packets *away, grove_packets *home)
{
  for (int i = 0; i < packets->noutgoing; i++) {
    const grove_outgoing *packet = &packets->outgoing[i];
    int leader = packets->ranks.keys[i];
    int64_t *to = NULL;
    if (leader == own_leader(ctx)) {
      GROVE_PASS(wrap_packet(ctx, ctx->rank, packet->count, packet->words, home));
      continue;
    }
    GROVE_PASS(grove_packets_write(away, proxy_of(ctx, leader), packet->count, &to));
    memcpy(to, packet->words, (size_t)packet->count * sizeof *to);
  }
  return GROVE_OK;
}

static grove_status forward_packets(const grove_context *ctx, const grove_packets *away,
                                    grove_packets *home)
{
  for (int i = 0; i < grove_packets_count(away); i++) {
    grove_reader r = grove_packets_read(away, i);
    GROVE_PASS(wrap_packet(ctx, r.from, r.end - r.at, r.at, home));
  }
  return GROVE_OK;
}

/* ---- and at the leader ---- */

/* Opens one of the packets from this node. Its contents go to `out`, which may be NULL; `n` counts
 * them. */
static grove_status open_packet(const grove_context *ctx, grove_reader r, grove_packet *out, int *n)
{
  while (r.at < r.end) {
    int64_t from = grove_reader_next(&r), count = grove_reader_next(&r);
    const int64_t *words = grove_reader_take(&r, count);
    GROVE_PASS_CHECK(words && from >= 0 && from < ctx->size, GROVE_ERR_STATE,
                     "rank %d does not understand what rank %d tells it", ctx->rank, r.from);
    if (out) {
      int64_t *copy = NULL, bytes = count * (int64_t)sizeof *copy;
      GROVE_PASS_ROOM(copy, count);
      memcpy(copy, words, (size_t)bytes);
      out[*n] = (grove_packet){.peer = (int)from, .bytes = bytes, .data = copy};
    }
    ++*n;
  }
  return GROVE_OK;
}

/* The contents of this node's packets, as if each had come by itself. */
static grove_status open_all(const grove_context *ctx, const grove_packets *home,
                             grove_packets *out)
{
  int n = 0;
  for (int i = 0; i < grove_packets_count(home); i++)
    GROVE_PASS(open_packet(ctx, grove_packets_read(home, i), NULL, &n));
  GROVE_PASS_NEW(out->came, n);
  for (int i = 0; i < grove_packets_count(home); i++)
    GROVE_PASS(open_packet(ctx, grove_packets_read(home, i), out->came, &out->ncame));
  grove_packet_list_sort(n, out->came);
  out->lower = n; /* this rank's own is among them */
  return GROVE_OK;
}

grove_status grove_proxies_exchange(grove_context *ctx, grove_status *mine, grove_packets *packets)
{
  grove_status status = GROVE_OK;
  grove_packets away = {0}, home = {0};
  if (*mine == GROVE_OK) *mine = sort_packets(ctx, packets, &away, &home);
  grove_packets_free(packets);
  GROVE_TRY(grove_packets_exchange(ctx, *mine, &away));
  *mine = forward_packets(ctx, &away, &home);
  GROVE_TRY(grove_packets_exchange(ctx, *mine, &home));
  *mine = open_all(ctx, &home, packets);
fail:
  grove_packets_free(&away);
  grove_packets_free(&home);
  return status;
}

grove_status grove_leaders_exchange(grove_context *ctx, grove_status *mine, grove_packets *packets)
{
  if (ctx->size > FEW_RANKS) return grove_proxies_exchange(ctx, mine, packets);
  grove_status status = grove_packets_exchange(ctx, *mine, packets);
  *mine = GROVE_OK;
  return status;
}
