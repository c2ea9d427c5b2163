#include "exec/op.h"
#include "measure/measure.h"

#include <stdlib.h>

/* ---- what can be wrong with a request ---- */

static grove_status check_forest(const grove_request *r)
{
  grove_status status = GROVE_OK;
  GROVE_CHECK(r->forest, GROVE_ERR_ARG, "%s: the forest is NULL", r->call);
  GROVE_CHECK(r->forest->ready, GROVE_ERR_STATE, "%s: forest '%s' is not set up", r->call,
              grove_forest_label(r->forest));
fail:
  return status;
}

/* A NULL array is fine where the forest has no edge in it. */
static grove_status check_arrays(const grove_request *r)
{
  grove_status status = GROVE_OK;
  const grove_forest *f = r->forest;
  int bcast = r->operation == GROVE_BCAST;
  const void *root = bcast ? r->from : r->to, *leaf = bcast ? r->to : r->from;
  GROVE_CHECK(r->out, GROVE_ERR_ARG, "rank %d: %s: out is NULL", f->ctx->rank, r->call);
  GROVE_CHECK(root || f->roots.slots.count == 0, GROVE_ERR_ARG,
              "rank %d: %s: the root array is NULL, but %lld leaves of forest '%.100s' are joined "
              "to it",
              f->ctx->rank, r->call, (long long)f->roots.slots.count, grove_forest_label(f));
  GROVE_CHECK(leaf || f->nleaves == 0, GROVE_ERR_ARG,
              "rank %d: %s: the leaf array is NULL, but forest '%.100s' has %lld leaves here",
              f->ctx->rank, r->call, grove_forest_label(f), (long long)f->nleaves);
fail:
  return status;
}

/* ---- making channels and operations ---- */

/* All that a rank can do, and that can fail, by itself. `channel` and `op` are outputs; a channel
 * that is given is used. */
static grove_status make(const grove_request *r, int persistent, grove_channel **channel,
                         grove_op **op)
{
  grove_status status = GROVE_OK;
  grove_unit unit = {0};
  grove_combine combine;
  GROVE_TRY(check_arrays(r));
  GROVE_TRY(grove_unit_create(r->unit, r->forest->ctx->comm, &unit));
  GROVE_TRY(grove_combine_create(r->op, &unit, &combine));
  if (!*channel) {
    grove_channel_key key = grove_channel_key_of(r, &unit, &combine);
    GROVE_TRY(grove_channel_create(r, &key, persistent, channel));
  }
  if ((*channel)->check) GROVE_TRY(grove_check_overlap(*channel, &unit, r->from, r->to));
  GROVE_TRY(grove_op_create(*channel, r, &unit, &combine, op));
  return GROVE_OK;
fail:
  grove_unit_free(&unit);
  return status;
}

/* A positive number, the same on every rank that makes the same operation. */
static int64_t signature(const grove_request *r, const grove_channel *channel)
{
  uint64_t sum = (uint64_t)r->forest->serial * 31 + (uint64_t)r->operation;
  if (channel)
    sum = ((sum * 31 + (uint64_t)channel->key.unit_bytes) * 31 + (uint64_t)channel->key.unit_kind) *
            31 +
          (uint64_t)(2 * (channel->key.op_number + 1) + channel->key.shared);
  return (int64_t)(sum & INT64_MAX >> 1) + 1;
}

static grove_status make_row(const grove_request *r, grove_channel *channel)
{
  if (r->forest->ctx->options.log != GROVE_LOG_SUMMARY) return GROVE_OK;
  grove_tally row = {.forest = (char *)grove_forest_label(r->forest),
                     .operation = grove_operation_name(r->operation),
                     .route = channel->plan->route,
                     .forest_serial = r->forest->serial,
                     .unit_bytes = channel->key.unit_bytes};
  return grove_context_tally(r->forest->ctx, &row, &channel->tally);
}

/* The option machine=measure: now there is something to price. Agreed by all. */
static grove_status measure_machine(grove_context *ctx)
{
  grove_status status = GROVE_OK;
  const grove_measuring how = {.effort = GROVE_MEASURE_QUICK};
  grove_machine *measured = NULL;
  GROVE_TRY(grove_measure(ctx, &how, NULL, &measured));
  ctx->machine = measured;
fail:
  return status;
}

/* A new channel with its first operation. Agreed by all. */
static grove_status make_first(const grove_request *r, int persistent, grove_op **out)
{
  grove_status status = GROVE_OK;
  grove_channel *channel = NULL;
  grove_op *op = NULL;
  if (!r->forest->ctx->machine) GROVE_TRY(measure_machine(r->forest->ctx));
  grove_status mine = make(r, persistent, &channel, &op);
  int rewired = 0;
  GROVE_TRY(grove_channel_agree(r->forest->ctx, mine, signature(r, channel), channel, &rewired));
  GROVE_TRY(make_row(r, channel));
  GROVE_TRY(grove_op_connect(op, rewired));
  *out = op;
  return GROVE_OK;
fail:
  if (op) grove_op_destroy(op);
  if (channel) grove_channel_release(channel);
  return status;
}

static grove_status init(const grove_request *r, int persistent, grove_op **out)
{
  grove_status status = GROVE_OK;
  GROVE_TRY(grove_context_enter_call(r->forest->ctx, r->call));
  status = make_first(r, persistent, out);
  grove_context_leave_call(r->forest->ctx);
fail:
  return status;
}

static grove_status init_op(const grove_request *r)
{
  grove_status status = GROVE_OK;
  grove_op *op = NULL;
  GROVE_TRY(init(r, 1, &op));
  op->forest = grove_forest_hold(r->forest);
  GROVE_TRY(grove_op_set_arrays(op, r->from, r->to));
  *r->out = op;
  return GROVE_OK;
fail:
  if (op) grove_op_free(&op);
  return status;
}

/* ---- one shot ---- */

/* Idle operations that a channel keeps; more than a few only a program has that uses many types. */
enum { IDLE_OPERATIONS = 16 };

/* Puts an operation among the members of its channel; when many are idle, the one that came first
 * goes. */
static void join(grove_op *op)
{
  grove_channel *channel = op->channel;
  grove_op **first_idle = NULL;
  int idle = 0;
  op->begun = 1;
  op->next_member = channel->members;
  channel->members = op;
  for (grove_op **at = &op->next_member; *at; at = &(*at)->next_member)
    if (!(*at)->forest && !(*at)->abandoned) {
      first_idle = at;
      idle++;
    }
  if (idle < IDLE_OPERATIONS) return;
  grove_op *oldest = *first_idle;
  *first_idle = oldest->next_member;
  grove_op_destroy(oldest);
}

/* Was the operation made for this type? The handle of a named one is enough; that of a derived one
 * may have been given to another type since. */
static int same_type(const grove_op *op, MPI_Datatype unit)
{
  grove_identity *identity = NULL;
  if (op->type != unit) return 0;
  if (!op->identity) return 1;
  return grove_identity_of(unit, &identity) == GROVE_OK && identity == op->identity;
}

/* An idle operation that was made for the same type and operation as this call: the usual case,
 * which allocates nothing. */
static grove_op *find_idle(const grove_request *r)
{
  for (grove_channel *c = grove_channel_next(r->forest, NULL, r->operation); c;
       c = grove_channel_next(r->forest, c, r->operation))
    for (grove_op *op = c->members; op; op = op->next_member)
      if (!op->forest && !op->abandoned && op->mover.combine.op == r->op && same_type(op, r->unit))
        return op;
  return NULL;
}

/* The channel that this call belongs to, or NULL if it is the first of its kind. A call that is
 * wrong belongs to none; it is this rank's failure where others have used the forest this way, and
 * agreed upon where nobody has. */
static grove_status find_channel(const grove_request *r, grove_channel **out)
{
  grove_status status = GROVE_OK;
  grove_unit unit = {0};
  grove_combine combine;
  *out = grove_channel_next(r->forest, NULL, r->operation);
  if (!*out) return GROVE_OK;
  GROVE_TRY(grove_unit_create(r->unit, r->forest->ctx->comm, &unit));
  GROVE_TRY(grove_combine_create(r->op, &unit, &combine));
  grove_channel_key key = grove_channel_key_of(r, &unit, &combine);
  *out = grove_channel_find(r->forest, &key);
fail:
  grove_unit_free(&unit);
  return status;
}

/* A further call of a kind waits for nobody, so what is wrong with it is this rank's failure, and
 * the others' timeouts name it. */
static grove_status reuse(const grove_request *r, grove_op *op)
{
  grove_status status = GROVE_OK;
  GROVE_TRY(check_arrays(r));
  if (op->channel->check)
    GROVE_TRY(grove_check_overlap(op->channel, &op->mover.unit, r->from, r->to));
  /* A user's operation may have been freed, and its handle given to one of the other kind. */
  if (op->mover.combine.number < 0)
    GROVE_TRY(grove_combine_create(r->op, &op->mover.unit, &op->mover.combine));
fail:
  return status;
}

/* The first operation of its kind on all ranks, or a further one on a channel that is there, which
 * is a local affair: operations of one channel share its tag and match in the order of starts. */
static grove_status make_further(const grove_request *r, grove_op **out)
{
  grove_status status = GROVE_OK;
  grove_channel *channel = NULL;
  grove_op *op = NULL;
  GROVE_TRY(find_channel(r, &channel));
  if (channel) {
    GROVE_TRY(make(r, 0, &channel, &op));
    GROVE_TRY(grove_op_connect(op, 0));
  } else {
    GROVE_TRY(init(r, 0, &op));
    status = grove_channel_pool(r->forest, op->channel);
    grove_channel_release(op->channel); /* the pool has it now */
    GROVE_TRY(status);
  }
  join(op);
  *out = op;
  return GROVE_OK;
fail:
  if (op) grove_op_destroy(op);
  return status;
}

static grove_status begin_op(const grove_request *r)
{
  grove_status status = GROVE_OK;
  grove_op *op = find_idle(r);
  if (op)
    GROVE_TRY(reuse(r, op));
  else
    GROVE_TRY(make_further(r, &op));
  GROVE_TRY(grove_op_set_arrays(op, r->from, r->to));
  op->forest = grove_forest_hold(r->forest);
  op->channel->references++;
  op->starts = op->timed_starts = 0;
  op->seconds = 0;
  status = grove_op_run(op);
  if (status == GROVE_OK)
    *r->out = op;
  else
    grove_op_free(&op);
fail:
  return status;
}

/* What the calls have in common. */
static grove_status enter(const grove_request *r, grove_status make_it(const grove_request *r))
{
  grove_status status = GROVE_OK;
  GROVE_TRY(check_forest(r));
  grove_context_enter(r->forest->ctx);
  status = make_it(r);
  grove_context_leave(r->forest->ctx);
fail:
  return status;
}

static grove_status begin_and_end(grove_request *r)
{
  grove_status status = GROVE_OK;
  grove_op *op = NULL;
  r->out = &op;
  GROVE_TRY(enter(r, begin_op));
  GROVE_TRY(grove_end(&op));
  return GROVE_OK;
fail:
  grove_op_free(&op); /* after a timeout */
  return status;
}

/* ---- the calls ---- */

static grove_request request(grove_operation operation, const char *call, grove_forest *f,
                             MPI_Datatype unit, const void *from, void *to, MPI_Op op,
                             grove_op **out)
{
  return (grove_request){operation, call, f, unit, op, from, to, out};
}

grove_status grove_bcast_init(grove_forest *f, MPI_Datatype unit, const void *root, void *leaf,
                              MPI_Op op, grove_op **out)
{
  grove_request r = request(GROVE_BCAST, "grove_bcast_init", f, unit, root, leaf, op, out);
  return enter(&r, init_op);
}

grove_status grove_reduce_init(grove_forest *f, MPI_Datatype unit, const void *leaf, void *root,
                               MPI_Op op, grove_op **out)
{
  grove_request r = request(GROVE_REDUCE, "grove_reduce_init", f, unit, leaf, root, op, out);
  return enter(&r, init_op);
}

grove_status grove_bcast_begin(grove_forest *f, MPI_Datatype unit, const void *root, void *leaf,
                               MPI_Op op, grove_op **out)
{
  grove_request r = request(GROVE_BCAST, "grove_bcast_begin", f, unit, root, leaf, op, out);
  return enter(&r, begin_op);
}

grove_status grove_reduce_begin(grove_forest *f, MPI_Datatype unit, const void *leaf, void *root,
                                MPI_Op op, grove_op **out)
{
  grove_request r = request(GROVE_REDUCE, "grove_reduce_begin", f, unit, leaf, root, op, out);
  return enter(&r, begin_op);
}

grove_status grove_bcast(grove_forest *f, MPI_Datatype unit, const void *root, void *leaf,
                         MPI_Op op)
{
  grove_request r = request(GROVE_BCAST, "grove_bcast", f, unit, root, leaf, op, NULL);
  return begin_and_end(&r);
}

grove_status grove_reduce(grove_forest *f, MPI_Datatype unit, const void *leaf, void *root,
                          MPI_Op op)
{
  grove_request r = request(GROVE_REDUCE, "grove_reduce", f, unit, leaf, root, op, NULL);
  return begin_and_end(&r);
}
