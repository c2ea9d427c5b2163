/* The ways, and which of them a channel takes. */
#include "partitioned/way.h"

#include "transport/ofi_desk.h"

/* So much less must libfabric take by the model, whose numbers are those of bare writes. A round
 * also has the receiver's word that it may begin, polls, and bytes that are in no cache. Between
 * hosts of the test cluster rounds of 4 KiB to 4 MiB took 1 to 9 times as long as predicted, those
 * over MPI 0.4 to 1.8 (x86_64, 2 cores, libfabric 1.17, Open MPI 4.1.4; 2026-11). Where they were
 * predicted to take half the time, they took 0.62 to 0.91 of MPI's. */
static const double GAIN = 2;

const grove_way_kind *const grove_ways[] = {&grove_way_groups, &grove_way_runs, &grove_way_shm,
                                            &grove_way_ofi, NULL};

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
  c->way = grove_way_has_even_groups(c) ? &grove_way_groups : &grove_way_runs;
}

grove_locality grove_way_distance(const grove_context *ctx, int peer)
{
  grove_locality where = grove_price_locality(&ctx->topo, ctx->rank, peer);
  int fabric = ctx->options.transport_parts == GROVE_PARTS_OFI && where == GROVE_OFF_NODE;
  return fabric ? GROVE_OVER_FABRIC : where;
}

/* That libfabric or its provider is missing should be known when the channel is made. */
static grove_status choose_fabric(grove_channel *c)
{
  c->way = &grove_way_ofi;
#ifdef GROVE_LIBFABRIC
  grove_fabric *f = NULL;
  return grove_fabric_of(c->base.ctx, c->peer, NULL, &f);
#else
  return grove_ofi_open();
#endif
}

/* By price: between nodes, where the profile has the prices of libfabric. A libfabric that is not
 * here is no failure. */
static grove_status compare_fabric(grove_channel *c)
{
  grove_sentence before;
  grove_part_question question = c->question;
  grove_part_plan plan = {0};
  if (question.where != GROVE_OFF_NODE || !grove_machine_has_fabric(question.machine))
    return GROVE_OK;
  question.where = GROVE_OVER_FABRIC;
  GROVE_PASS(c->aggregator->plan(&question, &plan));
  grove_error_keep(&before);
  if (GAIN * plan.seconds < c->plan.seconds && choose_fabric(c) == GROVE_OK) {
    grove_part_plan over_mpi = c->plan;
    c->plan = plan;
    c->question.where = GROVE_OVER_FABRIC;
    plan = over_mpi;
  } else {
    grove_error_restore(&before);
    grove_way_choose_messages(c);
  }
  grove_part_plan_free(&plan);
  return GROVE_OK;
}

grove_status grove_way_choose(grove_channel *c)
{
  const grove_context *ctx = c->base.ctx;
  int option = ctx->options.transport_parts, shm = reaches_by_memory(ctx, c->peer);
  GROVE_PASS_CHECK(option != GROVE_PARTS_SHM || shm, GROVE_ERR_UNSUPPORTED,
                   "rank %d: transport_parts=shm: this rank shares no memory with rank %d",
                   ctx->rank, c->peer);
  if (option == GROVE_PARTS_AUTO) shm &= ctx->options.transport_on_node == GROVE_ON_NODE_SHM;
  if (option == GROVE_PARTS_OFI) return choose_fabric(c);
  if (shm && option != GROVE_PARTS_MPI)
    c->way = &grove_way_shm;
  else
    grove_way_choose_messages(c);
  return shm || option != GROVE_PARTS_AUTO ? GROVE_OK : compare_fabric(c);
}
