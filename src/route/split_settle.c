/* The leaders of the nodes (leaders.h) settle who sends and receives which slice. This takes three
 * exchanges; the first is two if packets go through proxies. Every rank tells its blocks to its own
 * leader and to the leaders of their destinations. A leader tells the leaders of the nodes that
 * send to it the slices and their receivers. Those tell their ranks the legs of their blocks. */
#include "route/leaders.h"
#include "route/split.h"

#include <stdlib.h>

typedef struct settlement {
  grove_context *ctx;
  const grove_topo *topo;
  const grove_build *how;
  int node; /* this rank's */
  int64_t nout, nin;
  grove_node_block *out, *in; /* of a leader: what its node sends and receives */
} settlement;

static grove_status misunderstood_split(const settlement *s, int from)
{
  GROVE_PASS_CHECK(0, GROVE_ERR_STATE,
                   "route split: rank %d does not understand what rank %d tells it", s->ctx->rank,
                   from);
  return GROVE_OK;
}

/* ---- blocks, to the leaders ---- */

static grove_status write_blocks(const settlement *s, int64_t n, const grove_demand_block *blocks,
                                 grove_packets *packets)
{
  for (int64_t i = 0; i < n; i++) {
    int leaders[2] = {grove_leader(s->topo, s->node), grove_leader(s->topo, blocks[i].node)};
    for (int k = 0; k < 2; k++) {
      int64_t *words = NULL;
      GROVE_PASS(grove_packets_write(packets, leaders[k], 2, &words));
      words[0] = blocks[i].node;
      words[1] = blocks[i].units;
    }
  }
  return GROVE_OK;
}

/* A rank of this node tells all its blocks; another rank, its block for this node. */
static grove_status read_blocks(settlement *s, grove_reader *r)
{
  int node = s->topo->place[r->from].node, own = node == s->node;
  while (r->at < r->end) {
    int64_t to = grove_reader_next(r), units = grove_reader_next(r);
    if (r->torn || to < 0 || to >= s->topo->nnodes || (to == s->node) == own || units <= 0)
      return misunderstood_split(s, r->from);
    *(own ? &s->out[s->nout++] : &s->in[s->nin++]) =
      (grove_node_block){.to = (int32_t)to, .node = node, .from = r->from, .units = units};
  }
  return GROVE_OK;
}

static grove_status read_all_blocks(settlement *s, const grove_packets *packets)
{
  int64_t words = 0;
  for (int i = 0; i < grove_packets_count(packets); i++) {
    grove_reader r = grove_packets_read(packets, i);
    words += r.end - r.at;
  }
  GROVE_PASS_ROOM(s->out, words / 2);
  GROVE_PASS_ROOM(s->in, words / 2);
  for (int i = 0; i < grove_packets_count(packets); i++) {
    grove_reader r = grove_packets_read(packets, i);
    GROVE_PASS(read_blocks(s, &r));
  }
  grove_node_blocks_sort(s->nout, s->out);
  grove_node_blocks_sort(s->nin, s->in);
  return GROVE_OK;
}

static grove_status tell_blocks(settlement *s, int64_t n, const grove_demand_block *blocks,
                                grove_status *mine)
{
  grove_status status = GROVE_OK;
  grove_packets packets = {0};
  if (*mine == GROVE_OK) *mine = write_blocks(s, n, blocks, &packets);
  GROVE_TRY(grove_leaders_exchange(s->ctx, mine, &packets));
  if (*mine == GROVE_OK) *mine = read_all_blocks(s, &packets);
fail:
  grove_packets_free(&packets);
  return status;
}

/* ---- slices, to the leaders that send them ---- */

static grove_status write_slices(const settlement *s, grove_packets *packets)
{
  grove_status status = GROVE_OK;
  grove_slices slices = {0};
  GROVE_TRY(grove_slices_receive(s->topo, s->how->cap, s->nin, s->in, &slices));
  for (int64_t i = 0; i < slices.count; i++) {
    int64_t *words = NULL;
    GROVE_TRY(grove_packets_write(packets, grove_leader(s->topo, slices.slice[i].node), 2, &words));
    words[0] = slices.slice[i].receiver;
    words[1] = slices.slice[i].units;
  }
fail:
  grove_slices_free(&slices);
  return status;
}

/* Packets come in the order of the leaders' ranks, which is that of their nodes. */
static grove_status read_slices(const settlement *s, grove_reader *r, grove_slices *out)
{
  int to = s->topo->place[r->from].node;
  while (r->at < r->end) {
    int64_t receiver = grove_reader_next(r), units = grove_reader_next(r);
    if (r->torn || to == s->node || receiver < 0 || receiver >= s->topo->nranks || units <= 0 ||
        s->topo->place[receiver].node != to)
      return misunderstood_split(s, r->from);
    grove_slice slice = {.to = to, .node = s->node, .receiver = (int32_t)receiver, .units = units};
    GROVE_PASS(grove_slices_add(out, &slice));
  }
  return GROVE_OK;
}

static grove_status read_all_slices(const settlement *s, const grove_packets *packets,
                                    grove_slices *out)
{
  for (int i = 0; i < grove_packets_count(packets); i++) {
    grove_reader r = grove_packets_read(packets, i);
    GROVE_PASS(read_slices(s, &r, out));
  }
  return GROVE_OK;
}

static grove_status tell_slices(settlement *s, grove_slices *out, grove_status *mine)
{
  grove_status status = GROVE_OK;
  grove_packets packets = {0};
  if (*mine == GROVE_OK) *mine = write_slices(s, &packets);
  GROVE_TRY(grove_packets_exchange(s->ctx, *mine, &packets));
  *mine = read_all_slices(s, &packets, out);
fail:
  grove_packets_free(&packets);
  return status;
}

/* ---- legs, to the ranks whose blocks they are of ---- */

static grove_status write_legs(const settlement *s, grove_slices *slices, grove_packets *packets)
{
  grove_status status = GROVE_OK;
  grove_legs legs = {0};
  GROVE_TRY(grove_slices_send(s->topo, slices));
  GROVE_TRY(grove_slices_cut(slices, s->nout, s->out, &legs));
  for (int64_t i = 0; i < legs.count; i++) {
    const grove_leg *leg = &legs.leg[i];
    int64_t *words = NULL;
    GROVE_TRY(grove_packets_write(packets, leg->from, 5, &words));
    words[0] = leg->node;
    words[1] = leg->sender;
    words[2] = leg->receiver;
    words[3] = leg->begin;
    words[4] = leg->end;
  }
fail:
  grove_legs_free(&legs);
  return status;
}

/* The legs of a rank's blocks come by node, consecutively. */
static grove_status read_legs(const settlement *s, grove_reader *r, int64_t n,
                              const grove_demand_block *blocks, grove_legs *out)
{
  int64_t i = 0, begin = 0;
  while (r->at < r->end) {
    const int64_t *w = grove_reader_take(r, 5);
    if (!w || i == n || w[0] != blocks[i].node || w[3] != begin || w[4] <= begin ||
        w[4] > blocks[i].units || w[1] < 0 || w[1] >= s->topo->nranks || w[2] < 0 ||
        w[2] >= s->topo->nranks)
      return misunderstood_split(s, r->from);
    grove_leg leg = {.from = s->ctx->rank,
                     .node = blocks[i].node,
                     .sender = (int32_t)w[1],
                     .receiver = (int32_t)w[2],
                     .begin = begin,
                     .end = w[4]};
    GROVE_PASS(grove_legs_add(out, &leg));
    begin = w[4] == blocks[i].units ? 0 : w[4];
    i += begin == 0;
  }
  if (i < n) return misunderstood_split(s, r->from);
  return GROVE_OK;
}

static grove_status read_own_legs(const settlement *s, const grove_packets *packets, int64_t n,
                                  const grove_demand_block *blocks, grove_legs *out)
{
  int leader = grove_leader(s->topo, s->node), count = grove_packets_count(packets);
  grove_reader r = {.from = leader};
  if (count > 0) r = grove_packets_read(packets, 0);
  if (count > 1 || r.from != leader) return misunderstood_split(s, r.from);
  return read_legs(s, &r, n, blocks, out);
}

static grove_status tell_legs(settlement *s, grove_slices *slices, int64_t n,
                              const grove_demand_block *blocks, grove_legs *out, grove_status *mine)
{
  grove_status status = GROVE_OK;
  grove_packets packets = {0};
  if (*mine == GROVE_OK) *mine = write_legs(s, slices, &packets);
  GROVE_TRY(grove_packets_exchange(s->ctx, *mine, &packets));
  *mine = read_own_legs(s, &packets, n, blocks, out);
fail:
  grove_packets_free(&packets);
  return status;
}

grove_status grove_split_settle(grove_context *ctx, const grove_build *how, int64_t n,
                                const grove_demand_block *blocks, grove_legs *out,
                                grove_status *mine)
{
  grove_status status = GROVE_OK;
  settlement s = {.ctx = ctx, .topo = &ctx->topo, .how = how};
  grove_slices slices = {0};
  s.node = ctx->topo.place[ctx->rank].node;
  GROVE_TRY(tell_blocks(&s, n, blocks, mine));
  GROVE_TRY(tell_slices(&s, &slices, mine));
  GROVE_TRY(tell_legs(&s, &slices, n, blocks, out, mine));
fail:
  free(s.out);
  free(s.in);
  grove_slices_free(&slices);
  return status;
}
