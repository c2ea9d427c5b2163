/* The survey: what leaders are told. The owner of roots knows whose leaves they are joined to. So
 * it tells the leaders of both nodes about each pair of ranks; the leaves' ranks need not say
 * anything. Memory and messages: the neighbours.
 */
#include "base/distinct.h"
#include "base/order.h"
#include "route/choose.h"
#include "route/leaders.h"

#include <stdlib.h>

/* What this rank has for others. */
typedef struct offer {
  const grove_forest *forest;
  const grove_topo *topo;
  int share;
  int rank, node;
  int n;
  int own;                  /* the group of the rank itself, which needs no message; -1: none */
  grove_demand_pair *pairs; /* one per group of the forest's roots, `own` too */
  int32_t *order;           /* the groups by node, then by rank */
  int64_t nblocks;
  grove_demand_block *blocks;
} offer;

static void free_offer(offer *o)
{
  free(o->pairs);
  free(o->order);
  free(o->blocks);
}

static int node_of_neighbour(const offer *o, int64_t i)
{
  return o->topo->place[o->pairs[o->order[i]].to].node;
}

/* ---- counting ---- */

static grove_index slots_of(const offer *o, int group)
{
  const grove_side *roots = &o->forest->roots;
  return grove_index_view(&roots->slots, roots->begin[group],
                          roots->begin[group + 1] - roots->begin[group]);
}

static grove_status list_pairs(offer *o)
{
  const grove_side *roots = &o->forest->roots;
  GROVE_PASS_ROOM(o->pairs, o->n);
  for (int g = 0; g < o->n; g++) {
    grove_index slots = slots_of(o, g);
    grove_demand_pair *p = &o->pairs[g];
    *p = (grove_demand_pair){
      .from = o->rank, .to = roots->ranks[g], .edges = slots.count, .distinct = slots.count};
    if (p->to == o->rank)
      o->own = g;
    else if (o->share)
      GROVE_PASS(grove_distinct_count(&slots, &p->distinct));
  }
  return GROVE_OK;
}

static grove_status sort_by_node(offer *o)
{
  grove_status status = GROVE_OK;
  int64_t *nodes = NULL;
  GROVE_ROOM(nodes, o->n);
  for (int g = 0; g < o->n; g++) nodes[g] = o->topo->place[o->pairs[g].to].node;
  GROVE_TRY(grove_order_create(o->n, nodes, &o->order));
fail:
  free(nodes);
  return status;
}

/* Where the groups of the same node as the i-th end. */
static int end_of_node(const offer *o, int i)
{
  int end = i + 1;
  while (end < o->n && node_of_neighbour(o, end) == node_of_neighbour(o, i)) end++;
  return end;
}

/* The values that the groups begin .. end-1 of the order need, each counted once. */
static grove_status count_together(const offer *o, int begin, int end, int64_t *units)
{
  grove_status status = GROVE_OK;
  int64_t n = 0;
  grove_index all = {0};
  for (int i = begin; i < end; i++) n += o->pairs[o->order[i]].edges;
  GROVE_TRY(grove_index_reserve(n, 0, o->forest->nroots, &all));
  n = 0;
  for (int i = begin; i < end; i++) {
    grove_index slots = slots_of(o, o->order[i]);
    for (int64_t k = 0; k < slots.count; k++) grove_index_put(&all, n++, grove_index_at(&slots, k));
  }
  GROVE_TRY(grove_distinct_count(&all, units));
fail:
  grove_index_free(&all);
  return status;
}

static grove_status list_own_blocks(offer *o)
{
  GROVE_PASS_ROOM(o->blocks, o->n);
  for (int i = 0, end; i < o->n; i = end) {
    int64_t units = 0;
    end = end_of_node(o, i);
    if (node_of_neighbour(o, i) == o->node) continue;
    for (int k = i; k < end; k++) units += o->pairs[o->order[k]].distinct;
    if (o->share && end > i + 1) GROVE_PASS(count_together(o, i, end, &units));
    o->blocks[o->nblocks++] =
      (grove_demand_block){.from = o->rank, .node = node_of_neighbour(o, i), .units = units};
  }
  return GROVE_OK;
}

/* ---- packets to leaders: how many pairs and blocks there are, then these ---- */

enum { HEADING = 2, PAIR = 3, BLOCK = 2 };

/* Writes n groups, those in `order` or all, and some blocks. */
static grove_status write_demand(const offer *o, int node, int n, const int32_t *order,
                                 int64_t nblocks, const grove_demand_block *blocks,
                                 grove_packets *packets)
{
  int64_t *text = NULL, npairs = n - (!order && o->own >= 0), at = HEADING;
  GROVE_PASS(grove_packets_write(packets, grove_leader(o->topo, node),
                                 HEADING + PAIR * npairs + BLOCK * nblocks, &text));
  text[0] = npairs;
  text[1] = nblocks;
  for (int i = 0; i < n; i++) {
    const grove_demand_pair *p = &o->pairs[order ? order[i] : i];
    if (p->to == o->rank) continue;
    text[at++] = p->to;
    text[at++] = p->edges;
    text[at++] = p->distinct;
  }
  for (int64_t i = 0; i < nblocks; i++) {
    text[at++] = blocks[i].node;
    text[at++] = blocks[i].units;
  }
  return GROVE_OK;
}

/* Everything to this node's leader, and to each other leader what concerns its node. */
static grove_status write_demands(const offer *o, grove_packets *packets)
{
  int64_t block = 0;
  for (int i = 0, end; i < o->n; i = end) {
    end = end_of_node(o, i);
    if (node_of_neighbour(o, i) == o->node) continue;
    GROVE_PASS(write_demand(o, node_of_neighbour(o, i), end - i, o->order + i, 1,
                            &o->blocks[block++], packets));
  }
  return write_demand(o, o->node, o->n, NULL, o->nblocks, o->blocks, packets);
}

/* ---- the leader ---- */

static void read_demand(grove_reader packet, grove_demand *d)
{
  const int64_t *text = packet.at, *next = text + HEADING;
  for (int64_t i = 0; i < text[0]; i++, next += PAIR)
    d->pairs[d->npairs++] = (grove_demand_pair){
      .from = packet.from, .to = (int32_t)next[0], .edges = next[1], .distinct = next[2]};
  for (int64_t i = 0; i < text[1]; i++, next += BLOCK)
    d->blocks[d->nblocks++] =
      (grove_demand_block){.from = packet.from, .node = (int32_t)next[0], .units = next[1]};
}

/* Packets come by ascending rank. */
static grove_status read_demands(const grove_packets *packets, grove_demand *out)
{
  grove_status status = GROVE_OK;
  int64_t npairs = 0, nblocks = 0;
  grove_demand d = {0};
  for (int i = 0; i < grove_packets_count(packets); i++) {
    const int64_t *text = grove_packets_read(packets, i).at;
    npairs += text[0];
    nblocks += text[1];
  }
  GROVE_ROOM(d.pairs, npairs);
  GROVE_ROOM(d.blocks, nblocks);
  for (int i = 0; i < grove_packets_count(packets); i++)
    read_demand(grove_packets_read(packets, i), &d);
  *out = d;
  d = (grove_demand){0};
fail:
  grove_demand_free(&d);
  return status;
}

/* ---- the survey ---- */

/* What a rank can do by itself. */
static grove_status prepare_packets(const grove_forest *f, int share, grove_packets *packets)
{
  grove_status status = GROVE_OK;
  const grove_topo *topo = &f->ctx->topo;
  offer o = {.forest = f,
             .topo = topo,
             .share = share,
             .rank = f->ctx->rank,
             .node = topo->place[f->ctx->rank].node,
             .n = f->roots.count,
             .own = -1};
  GROVE_TRY(list_pairs(&o));
  GROVE_TRY(sort_by_node(&o));
  GROVE_TRY(list_own_blocks(&o));
  GROVE_TRY(write_demands(&o, packets));
fail:
  free_offer(&o);
  return status;
}

void grove_survey_free(grove_survey **survey)
{
  if (!*survey) return;
  grove_demand_free(&(*survey)->demand);
  free(*survey);
  *survey = NULL;
}

/* Agreed by all. */
static grove_status exchange_demands(const grove_forest *f, grove_status mine, grove_survey *survey)
{
  grove_status status = GROVE_OK;
  grove_packets packets = {0};
  if (mine == GROVE_OK) mine = prepare_packets(f, survey->share, &packets);
  GROVE_TRY(grove_leaders_exchange(f->ctx, &mine, &packets));
  if (survey->leader)
    survey->failure = mine == GROVE_OK ? read_demands(&packets, &survey->demand) : mine;
fail:
  grove_packets_free(&packets);
  return status;
}

static grove_status create_survey(const grove_forest *f, int share, grove_survey **out)
{
  GROVE_PASS_NEW(*out, 1);
  **out = (grove_survey){
    .ctx = f->ctx, .share = share, .leader = f->ctx->topo.place[f->ctx->rank].local == 0};
  return GROVE_OK;
}

grove_status grove_survey_create(const grove_forest *f, int share, grove_survey **out)
{
  grove_status status = GROVE_OK;
  grove_survey *survey = NULL;
  grove_status mine = create_survey(f, share, &survey);
  GROVE_TRY(exchange_demands(f, mine, survey));
  *out = survey;
  return GROVE_OK;
fail:
  grove_survey_free(&survey);
  return status;
}
