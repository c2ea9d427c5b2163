#include "exec/op.h"
#include "route/route.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* A plan of a forest under one set of options. */
typedef struct plans {
  struct plans *next;
  int generation;
  int reduces;
  int shared;           /* values may be sent once */
  grove_plan *forward;  /* for bcast */
  grove_plan *reversed; /* for reduce, and borrowing from it */
} plans;

/* What a forest keeps for its operations. */
typedef struct compiled {
  plans *plans; /* newest first */
  grove_channel *pool;
} compiled;

const char *grove_operation_name(grove_operation operation)
{
  return operation == GROVE_BCAST ? "bcast" : "reduce";
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
    grove_plan_free(&c->plans->reversed);
    grove_plan_free(&c->plans->forward);
    free(c->plans);
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

static grove_status compile(const grove_forest *f, const grove_channel_key *key, plans **out)
{
  grove_status status = GROVE_OK;
  plans *p = NULL;
  GROVE_NEW(p, 1);
  p->generation = key->generation;
  p->reduces = key->operation == GROVE_REDUCE;
  p->shared = key->shared;
  grove_build how = {.share = p->shared, .by_root = p->reduces};
  GROVE_TRY(grove_route_choose(f)->build(f, &how, &p->forward));
  if (p->reduces) GROVE_TRY(grove_plan_reverse(p->forward, &p->reversed));
  *out = p;
  return GROVE_OK;
fail:
  if (p) grove_plan_free(&p->forward);
  free(p);
  return status;
}

static int is_for(const plans *p, const grove_channel_key *key)
{
  return p->generation == key->generation && p->reduces == (key->operation == GROVE_REDUCE) &&
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
  *out = p->reduces ? p->reversed : p->forward;
fail:
  return status;
}

int64_t grove_message_bytes(const grove_channel *channel, const grove_shape *shape)
{
  return shape->units * channel->key.unit_bytes +
         (channel->check ? (int64_t)sizeof(grove_trailer) : 0);
}

static grove_status check_size(const grove_channel *channel, const grove_message *m,
                               const char *direction)
{
  grove_status status = GROVE_OK;
  int64_t units = grove_message_units(m), bytes = channel->key.unit_bytes;
  GROVE_CHECK(bytes == 0 || units <= (INT_MAX - 64) / bytes, GROVE_ERR_UNSUPPORTED,
              "rank %d has a message of %lld units of %lld bytes %s rank %d: more than 2^31 bytes "
              "in one message are not possible yet",
              channel->rank, (long long)units, (long long)bytes, direction, m->peer);
fail:
  return status;
}

static grove_status check_sizes(const grove_channel *channel)
{
  grove_status status = GROVE_OK;
  for (int s = 0; s < channel->plan->nstages; s++) {
    const grove_stage *stage = &channel->plan->stages[s];
    for (int i = 0; i < stage->nsends; i++) GROVE_TRY(check_size(channel, &stage->sends[i], "to"));
    for (int i = 0; i < stage->nreceives; i++)
      GROVE_TRY(check_size(channel, &stage->receives[i], "from"));
  }
fail:
  return status;
}

/* May several leaves share a value of a message? On the way back that means to combine their
 * contributions before the root is reached: the last one counts, or the order must not matter. All
 * users' operations are of one kind, whether they commute or not, so none does. */
static int may_share(const grove_request *r, const grove_combine *combine)
{
  if (r->operation == GROVE_BCAST || combine->way == GROVE_COMBINE_REPLACE) return 1;
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

grove_status grove_channel_create(const grove_request *r, const grove_channel_key *key,
                                  int persistent, grove_channel **out)
{
  grove_status status = GROVE_OK;
  grove_context *ctx = r->forest->ctx;
  grove_channel *channel = NULL;
  GROVE_NEW(channel, 1);
  channel->references = 1;
  channel->key = *key;
  channel->ctx = ctx;
  channel->rank = ctx->rank;
  channel->check = ctx->options.check;
  channel->persistent = persistent && ctx->options.p2p == GROVE_P2P_PERSISTENT;
  GROVE_TRY(get_plan(r->forest, key, &channel->plan));
  GROVE_TRY(check_sizes(channel));
  channel->counts = grove_plan_count(channel->plan, &ctx->topo);
  GROVE_TRY(grove_channel_wire(channel));
  channel->price = grove_channel_predict(channel);
  snprintf(channel->machine, sizeof channel->machine, "%s", ctx->machine->name);
  *out = channel;
  return GROVE_OK;
fail:
  if (channel) grove_channel_release(channel);
  return status;
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
  if (channel->tag > 0) grove_context_return_tag(channel->ctx, channel->tag, channel->sequence);
  free(channel);
}

grove_channel *grove_channel_find(const grove_forest *f, const grove_channel_key *key)
{
  const compiled *c = f->compiled;
  grove_channel *channel = c ? c->pool : NULL;
  while (channel && !same_key(&channel->key, key)) channel = channel->next;
  return channel;
}

grove_channel *grove_channel_next(const grove_forest *f, const grove_channel *last,
                                  grove_operation operation)
{
  const compiled *c = f->compiled;
  grove_channel *channel = last ? last->next : c ? c->pool : NULL;
  while (channel &&
         (channel->key.operation != operation || channel->key.generation != f->ctx->generation))
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
