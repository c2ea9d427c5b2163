#include "exec/op.h"
#include "route/route.h"

#include <stdlib.h>
#include <string.h>

/* The plan of a forest for one operation, under one set of options. */
typedef struct plans {
  struct plans *next;
  grove_operation operation;
  int generation;
  int shared;          /* values may be sent once */
  grove_index slots;   /* of the multi-forest's roots, where the operation needs that */
  grove_plan *forward; /* as routes make it, and borrowing from `slots` */
  grove_plan *turned;  /* reversed, or a round trip; borrows from `forward`; NULL: as it is */
} plans;

/* What a forest keeps for its operations. */
typedef struct compiled {
  plans *plans; /* newest first */
  grove_channel *pool;
} compiled;

const char *grove_operation_name(grove_operation operation)
{
  static const char *const names[] = {"bcast", "reduce", "fetch", "gather", "scatter"};
  return names[operation];
}

static void free_plans(plans *p)
{
  if (!p) return;
  grove_plan_free(&p->turned);
  grove_plan_free(&p->forward);
  grove_index_free(&p->slots);
  free(p);
}

static void free_compiled(void *pointer)
{
  compiled *c = pointer;
  for (grove_channel *next; c->pool; c->pool = next) {
    next = c->pool->next;
    grove_channel_release(c->pool);
  }
  for (plans *next; c->plans; c->plans = next) {
    next = c->plans->next;
    free_plans(c->plans);
  }
  free(c);
}

static grove_status get_compiled(grove_forest *f, compiled **out)
{
  grove_status status = GROVE_OK;
  compiled *c = f->compiled;
  if (!c) {
    GROVE_NEW(c, 1);
    f->compiled = c;
    f->free_compiled = free_compiled;
  }
  *out = c;
fail:
  return status;
}

/* The same forest with other roots: those of the multi-forest, one for each edge. Fetch has them in
 * the order of the edges, which are combined with their roots one by one. */
static grove_status split_roots(const grove_forest *f, plans *p, grove_forest *view)
{
  grove_status status = GROVE_OK;
  *view = *f;
  p->slots = (grove_index){.count = f->roots.slots.count};
  if (p->operation != GROVE_FETCH) {
    GROVE_TRY(grove_multi_slots(f, &p->slots));
    grove_index_settle(&p->slots);
  }
  view->roots.slots = p->slots;
fail:
  return status;
}

static grove_status turn(plans *p)
{
  switch (p->operation) {
  case GROVE_REDUCE:
  case GROVE_COLLECT: return grove_plan_reverse(p->forward, &p->turned);
  case GROVE_FETCH: return grove_plan_round_trip(p->forward, &p->turned);
  default: return GROVE_OK;
  }
}

static grove_status compile(const grove_forest *f, const grove_channel_key *key, plans **out)
{
  grove_status status = GROVE_OK;
  plans *p = NULL;
  grove_forest view = *f;
  GROVE_NEW(p, 1);
  p->generation = key->generation;
  p->operation = key->operation;
  p->shared = key->shared;
  grove_build how = {.share = p->shared, .by_root = p->operation == GROVE_REDUCE};
  if (p->operation != GROVE_BCAST && p->operation != GROVE_REDUCE)
    GROVE_TRY(split_roots(f, p, &view));
  int route = f->ctx->options.route;
  GROVE_TRY(
    grove_routes[route == GROVE_ROUTE_AUTO ? 0 : route - 1]->build(&view, &how, &p->forward));
  GROVE_TRY(turn(p));
  *out = p;
  return GROVE_OK;
fail:
  free_plans(p);
  return status;
}

static int is_for(const plans *p, const grove_channel_key *key)
{
  return p->generation == key->generation && p->operation == key->operation &&
         p->shared == key->shared;
}

/* The forest's plan under today's options, in the direction of the data; compiled at first need. */
static grove_status get_plan(grove_forest *f, const grove_channel_key *key, const grove_plan **out)
{
  grove_status status = GROVE_OK;
  compiled *c = NULL;
  GROVE_TRY(get_compiled(f, &c));
  plans *p = c->plans;
  while (p && !is_for(p, key)) p = p->next;
  if (!p) {
    GROVE_TRY(compile(f, key, &p));
    p->next = c->plans;
    c->plans = p;
  }
  *out = p->turned ? p->turned : p->forward;
fail:
  return status;
}

/* May several leaves share a value of a message? On the way back that means to combine their
 * contributions before the root is reached: the last one counts, or the order must not matter. All
 * users' operations are of one kind, whether they commute or not, so none does. */
static int may_share(const grove_request *r, const grove_combine *combine)
{
  if (r->operation == GROVE_BCAST) return 1;
  if (r->operation != GROVE_REDUCE) return 0; /* a value for each edge */
  if (combine->way == GROVE_COMBINE_REPLACE) return 1;
  return combine->number >= 0 && !r->forest->ctx->options.deterministic;
}

grove_channel_key grove_channel_key_of(const grove_request *r, const grove_unit *unit,
                                       const grove_combine *combine)
{
  return (grove_channel_key){.operation = r->operation,
                             .unit_bytes = unit->bytes,
                             .unit_kind = unit->kind,
                             .op_number = combine->number,
                             .shared = may_share(r, combine),
                             .generation = r->forest->ctx->generation};
}

static int same_key(const grove_channel_key *a, const grove_channel_key *b)
{
  return a->operation == b->operation && a->unit_bytes == b->unit_bytes &&
         a->unit_kind == b->unit_kind && a->op_number == b->op_number && a->shared == b->shared &&
         a->generation == b->generation;
}

/* The leaves of this rank's own roots need not come along the plan. */
static grove_status make_fetching_lane(const grove_forest *f, grove_lane *lane)
{
  grove_status status = GROVE_OK;
  const grove_index none = {0};
  const grove_side *leaves = &f->leaves, *roots = &f->roots;
  grove_index own = {0};
  lane->turn = lane->plan->nstages / 2 - 1;
  for (int g = 0; g < leaves->count; g++)
    if (leaves->ranks[g] == f->ctx->rank)
      own =
        grove_index_view(&leaves->slots, leaves->begin[g], leaves->begin[g + 1] - leaves->begin[g]);
  for (int g = 0; g < roots->count; g++)
    if (roots->ranks[g] == f->ctx->rank) lane->own_begin = roots->begin[g];
  GROVE_TRY(grove_shape_create(&roots->slots, &none, lane->key.unit_bytes, &lane->fetched));
  GROVE_TRY(grove_shape_create(&own, &none, lane->key.unit_bytes, &lane->own));
fail:
  return status;
}

static grove_status make_lane(const grove_request *r, const grove_channel_key *key, grove_lane *out)
{
  grove_status status = GROVE_OK;
  out->key = *key;
  GROVE_TRY(get_plan(r->forest, key, &out->plan));
  if (key->operation == GROVE_FETCH) GROVE_TRY(make_fetching_lane(r->forest, out));
fail:
  return status;
}

grove_status grove_channel_create(grove_context *ctx, int n, const grove_request *requests,
                                  const grove_channel_key *keys, int persistent,
                                  grove_channel **out)
{
  grove_status status = GROVE_OK;
  grove_channel *channel = NULL;
  GROVE_NEW(channel, 1);
  channel->references = 1;
  channel->ctx = ctx;
  channel->rank = ctx->rank;
  channel->check = ctx->options.check;
  channel->persistent = persistent && ctx->options.p2p == GROVE_P2P_PERSISTENT;
  GROVE_NEW(channel->lanes, n);
  for (channel->nlanes = 0; channel->nlanes < n; channel->nlanes++) {
    int k = channel->nlanes;
    GROVE_TRY(make_lane(&requests[k], &keys[k], &channel->lanes[k]));
  }
  GROVE_TRY(grove_channel_wire(channel));
  channel->price = grove_channel_predict(channel);
  snprintf(channel->machine, sizeof channel->machine, "%s", ctx->machine ? ctx->machine->name : "");
  *out = channel;
  return GROVE_OK;
fail:
  if (channel) grove_channel_release(channel);
  return status;
}

const char *grove_channel_name(const grove_channel *channel)
{
  return channel->nlanes == 1 ? grove_operation_name(channel->lanes[0].key.operation) : "bundle";
}

/* All fields take the same one. */
const char *grove_channel_route(const grove_channel *channel)
{
  return channel->nlanes > 0 ? channel->lanes[0].plan->route : grove_route_standard.name;
}

/* The last operation, or the pool, lets go. */
void grove_channel_release(grove_channel *channel)
{
  if (--channel->references > 0) return;
  for (grove_op *next; channel->members; channel->members = next) { /* all idle */
    next = channel->members->next_member;
    grove_op_destroy(channel->members);
  }
  grove_channel_unwire(channel);
  for (int k = 0; k < channel->nlanes; k++) {
    grove_lane *lane = &channel->lanes[k];
    grove_index lists[2] = {lane->fetched.slots, lane->own.slots};
    grove_shape_free(&lane->fetched);
    grove_shape_free(&lane->own);
    for (int i = 0; i < 2 && lane->detached; i++) grove_index_free(&lists[i]);
  }
  free(channel->lanes);
  if (channel->tag > 0) grove_context_return_tag(channel->ctx, channel->tag, channel->sequence);
  free(channel);
}

grove_channel *grove_channel_find(const grove_forest *f, const grove_channel_key *key)
{
  const compiled *c = f->compiled;
  grove_channel *channel = c ? c->pool : NULL;
  while (channel && !same_key(&channel->lanes[0].key, key)) channel = channel->next;
  return channel;
}

grove_channel *grove_channel_next(const grove_forest *f, const grove_channel *last,
                                  grove_operation operation)
{
  const compiled *c = f->compiled;
  grove_channel *channel = last ? last->next : c ? c->pool : NULL;
  while (channel && (channel->lanes[0].key.operation != operation ||
                     channel->lanes[0].key.generation != f->ctx->generation))
    channel = channel->next;
  return channel;
}

grove_status grove_channel_pool(grove_forest *f, grove_channel *channel)
{
  grove_status status = GROVE_OK;
  compiled *c = NULL;
  GROVE_TRY(get_compiled(f, &c));
  channel->references++;
  channel->next = c->pool;
  c->pool = channel;
fail:
  return status;
}
