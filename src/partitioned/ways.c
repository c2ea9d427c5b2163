/* The ways, and which of them a channel takes. */
#include "partitioned/way.h"

const grove_way_kind *const grove_ways[] = {&grove_way_groups, &grove_way_runs, &grove_way_shm,
                                            NULL};

int64_t grove_way_index(const grove_way_kind *way)
{
  int64_t i = 0;
  while (grove_ways[i] != way) i++;
  return i;
}

/* Do both ranks reach memory that they share? */
static int reaches_by_memory(const grove_context *ctx, int peer)
{
  return ctx->arena && ctx->shares_node && grove_topo_same_node(&ctx->topo, ctx->rank, peer);
}

/* Groups that follow from their number are settled once. Others are settled by each message. */
void grove_way_choose_messages(grove_channel *c)
{
  int64_t n = c->plan.ngroups;
  int even = !c->aggregator->runs;
  for (int64_t g = 0; even && g < n; g++)
    even = c->plan.first[g] == grove_even_group(c->parts, n, g);
  c->way = even ? &grove_way_groups : &grove_way_runs;
}

grove_status grove_way_choose(grove_channel *c)
{
  const grove_context *ctx = c->base.ctx;
  int option = ctx->options.transport_parts, shm = reaches_by_memory(ctx, c->peer);
  GROVE_PASS_CHECK(option != GROVE_PARTS_SHM || shm, GROVE_ERR_UNSUPPORTED,
                   "rank %d: transport_parts=shm: this rank shares no memory with rank %d",
                   ctx->rank, c->peer);
  if (option == GROVE_PARTS_AUTO) shm &= ctx->options.transport_on_node == GROVE_ON_NODE_SHM;
  if (shm && option != GROVE_PARTS_MPI)
    c->way = &grove_way_shm;
  else
    grove_way_choose_messages(c);
  return GROVE_OK;
}
