/* Making the two ends of a channel, how they meet, and freeing them in any state. */
#include "partitioned/guarded.h"
#include "partitioned/staged.h"
#include "partitioned/way.h"

#include "device/station.h"

#include <stdlib.h>
#include <string.h>

/* ---- the two ends meet ---- */

static void refuse_channel(grove_channel *c, grove_status code, const char *sentence)
{
  grove_channel_refuse(c, GROVE_ERR_ARG, sentence);
  grove_op_note(&c->base, grove_error_set(code, sentence));
}

static void refuse_bytes(grove_channel *c, const grove_greeting *greeting)
{
  char text[384];
  snprintf(
    text, sizeof text,
    "rank %d: this %s has %lld bytes (%lld parts), its other end has %lld bytes (%lld parts); "
    "they must be equal",
    c->base.ctx->rank, grove_op_label(&c->base), (long long)c->bytes, (long long)c->parts,
    (long long)greeting->bytes, (long long)greeting->parts);
  refuse_channel(c, GROVE_ERR_ARG, text);
}

static grove_status meet_sender(grove_channel *c, const grove_greeting *offer)
{
  grove_status status = GROVE_OK;
  grove_greeting answer = {.tag = c->tag,
                           .number = c->number,
                           .bytes = c->bytes,
                           .parts = c->parts,
                           .fits = offer->bytes == c->bytes};
  if (answer.fits) {
    c->way = grove_ways[offer->way];
    c->aggregated = grove_aggregators[offer->aggregator]->name;
    status = c->way->accept(c, offer, &answer);
    answer.no_way = status;
  } else {
    refuse_bytes(c, offer);
  }
  grove_status told = grove_match_tell(c, &answer);
  GROVE_PASS(status);
  GROVE_PASS(told);
  if (!answer.fits) return GROVE_OK;
  c->bond = GROVE_BOND_TIED;
  GROVE_PASS(c->way->open(c));
  return status;
}

static grove_status meet_receiver(grove_channel *c, const grove_greeting *answer)
{
  if (!answer->fits) {
    refuse_bytes(c, answer);
    return GROVE_OK;
  }
  GROVE_PASS_CHECK(answer->no_way != GROVE_ERR_MEMORY, GROVE_ERR_MEMORY,
                   "rank %d: rank %d has no memory for its end of this %s", c->base.ctx->rank,
                   c->peer, grove_op_label(&c->base));
  GROVE_PASS_CHECK(!answer->no_way, (grove_status)answer->no_way,
                   "rank %d: rank %d cannot make its end of this %s: %s there says why",
                   c->base.ctx->rank, c->peer, grove_op_label(&c->base),
                   grove_status_name((grove_status)answer->no_way));
  GROVE_PASS(c->way->tie(c, answer));
  c->bond = GROVE_BOND_TIED;
  return GROVE_OK;
}

static void meet_end(grove_channel *c, const grove_greeting *greeting)
{
  grove_status status = c->sends ? meet_receiver(c, greeting) : meet_sender(c, greeting);
  if (status != GROVE_OK) refuse_channel(c, status, grove_last_error());
}

/* ---- making one ---- */

typedef struct wanted {
  grove_context *ctx;
  void *array;
  int64_t parts, units;
  MPI_Datatype type;
  int sends, peer, tag;
} wanted;

static grove_status check_wanted(const wanted *w, grove_op **out)
{
  const char *call = w->sends ? "grove_psend_init" : "grove_precv_init";
  GROVE_PASS_CHECK(w->ctx && out, GROVE_ERR_ARG, "%s: %s is NULL", call,
                   w->ctx ? "out" : "the context");
  GROVE_PASS_CHECK(!grove_context_outlives_mpi(w->ctx), GROVE_ERR_STATE,
                   "rank %d: %s: MPI_Finalize was called", w->ctx->rank, call);
  GROVE_PASS_CHECK(w->parts >= 0 && w->units >= 0, GROVE_ERR_ARG,
                   "rank %d: %s: %lld parts of %lld units: neither may be negative", w->ctx->rank,
                   call, (long long)w->parts, (long long)w->units);
  GROVE_PASS_CHECK(w->peer >= 0 && w->peer < w->ctx->size, GROVE_ERR_ARG,
                   "rank %d: %s: the peer is %d; ranks are 0 to %d", w->ctx->rank, call, w->peer,
                   w->ctx->size - 1);
  GROVE_PASS_CHECK(w->tag >= 0, GROVE_ERR_ARG,
                   "rank %d: %s: the tag is %d; it must not be negative", w->ctx->rank, call,
                   w->tag);
  return GROVE_OK;
}

/* Where the message lies: in the array, or in our own memory. */
static grove_status place_message(grove_channel *c)
{
  grove_context *ctx = c->base.ctx;
  grove_spaces_look(ctx);
  grove_space space = grove_space_of(ctx, c->bytes > 0 ? c->data : NULL);
  c->dense = c->mover.unit.dense && space.kind == &grove_space_host;
  if (space.kind != &grove_space_host) return grove_staged_open(c, space);
  if (c->dense) {
    grove_mover_free(&c->mover);
  } else {
    GROVE_PASS_ROOM(c->staging, c->bytes);
    c->data = c->staging;
  }
  return GROVE_OK;
}

/* Finds how many bytes there are, and how they lie. */
static grove_status measure_message(grove_channel *c, const wanted *w)
{
  grove_status status = GROVE_OK;
  grove_unit unit = {0};
  grove_combine combine = {0};
  const char *call = w->sends ? "grove_psend_init" : "grove_precv_init";
  GROVE_TRY(grove_unit_create(w->type, w->ctx->comm, &unit));
  int64_t most = INT64_MAX / 4, extent = llabs(unit.extent) + llabs(unit.true_lb) + unit.bytes + 1;
  GROVE_CHECK(w->units == 0 || w->parts <= most / extent / w->units, GROVE_ERR_ARG,
              "rank %d: %s: %lld parts of %lld units of %lld bytes are too many", w->ctx->rank,
              call, (long long)w->parts, (long long)w->units, (long long)unit.bytes);
  c->parts = w->parts;
  c->part_units = w->units;
  c->part_bytes = w->units * unit.bytes;
  c->bytes = c->parts * c->part_bytes;
  GROVE_CHECK(w->array || c->bytes == 0 || unit.true_lb != 0, GROVE_ERR_ARG,
              "rank %d: %s: the buffer of %lld bytes is NULL", w->ctx->rank, call,
              (long long)c->bytes);
  GROVE_TRY(grove_combine_create(MPI_REPLACE, &unit, &combine));
  GROVE_TRY(grove_mover_create(&unit, &combine, &c->mover));
  unit = (grove_unit){0};
  c->shape = (grove_shape){.form = GROVE_SHAPE_CONSECUTIVE,
                           .units = c->parts * c->part_units,
                           .slots = {.count = c->parts * c->part_units},
                           .n = {c->parts * c->part_units, 1, 1},
                           .stride = {1, 0, 0}};
  c->array = w->array;
  c->data = c->array + c->mover.unit.true_lb;
  GROVE_TRY(place_message(c));
fail:
  grove_unit_free(&unit);
  return status;
}

static grove_status make_sender(grove_channel *c)
{
  grove_context *ctx = c->base.ctx;
  c->ndoors = 1;
  while (c->ndoors < GROVE_MOST_DOORS && c->ndoors < c->parts) c->ndoors *= 2;
  GROVE_PASS_NEW(c->doors, c->ndoors);
  c->aggregator = grove_aggregator_of(ctx->options.aggregator);
  c->question = (grove_part_question){.parts = c->parts,
                                      .part_bytes = c->part_bytes,
                                      .where = grove_way_distance(ctx, c->peer),
                                      .machine = ctx->machine,
                                      .options = &ctx->options};
  GROVE_PASS(grove_readiness_create(c->parts, &c->readiness));
  GROVE_PASS(c->aggregator->plan(&c->question, &c->plan));
  GROVE_PASS(grove_way_choose(c));
  GROVE_PASS(grove_readiness_follow(c->readiness, &c->plan));
  if (c->aggregator->remember && ctx->machine)
    GROVE_PASS(grove_machine_copy(ctx->machine, &c->machine));
  c->question.machine = c->machine;
  if (c->aggregator->remember) GROVE_PASS(c->aggregator->remember(&c->question, &c->memory));
  if (c->aggregator->runs || c->staged) grove_context_expect_deadlines(ctx);
  return GROVE_OK;
}

static grove_status make_receiver(grove_channel *c)
{
  GROVE_PASS_NEW(c->come, c->parts);
  GROVE_PASS_ROOM(c->arrivals, c->parts);
  return GROVE_OK;
}

static grove_status make_channel(const wanted *w, grove_op **out)
{
  grove_status status = GROVE_OK;
  grove_channel *c = NULL;
  double since = grove_trace_clock(w->ctx);
  GROVE_NEW(c, 1);
  c->base = (grove_op){.active = {.advance = grove_channel_advance},
                       .kind = w->sends ? &grove_kind_psend : &grove_kind_precv,
                       .ctx = w->ctx,
                       .rest = GROVE_OP_IDLE,
                       .careful = 1};
  c->meet = meet_end;
  c->sends = w->sends;
  c->peer = w->peer;
  c->tag = w->tag;
  if (w->ctx->machine)
    grove_copy_text(c->machine_name, sizeof c->machine_name, w->ctx->machine->name);
  GROVE_TRY(measure_message(c, w));
  GROVE_TRY(grove_account_open(c));
  c->profiled = w->ctx->options.profile;
  if (c->profiled || c->account.traced) GROVE_NEW(c->when, c->parts);
  GROVE_TRY(w->sends ? make_sender(c) : make_receiver(c));
  c->timed = c->when || c->memory || c->plan.delta > 0;
  GROVE_TRY(grove_guarded_create(c));
  GROVE_TRY(grove_match_number(c)); /* nothing fails after it: both ends count alike */
  grove_account_introduce(c, since);
  grove_context_hold(w->ctx);
  *out = &c->base;
  return GROVE_OK;
fail:
  if (c) grove_channel_dispose(c);
  return status;
}

static grove_status init_channel(const wanted *w, grove_op **out)
{
  grove_status status = GROVE_OK;
  GROVE_TRY(check_wanted(w, out));
  if (grove_context_uses_devices(w->ctx))
    GROVE_TRY(grove_station_settle(w->ctx)); /* as of all that is made */
  grove_context_enter(w->ctx);
  status = make_channel(w, out);
  grove_context_leave(w->ctx);
fail:
  return grove_verdict(w->ctx, status);
}

grove_status grove_psend_init(grove_context *ctx, const void *buf, int parts,
                              int64_t count_per_part, MPI_Datatype type, int dest, int tag,
                              grove_op **out)
{
  wanted w = {ctx, (void *)buf, parts, count_per_part, type, 1, dest, tag};
  return init_channel(&w, out);
}

grove_status grove_precv_init(grove_context *ctx, void *buf, int parts, int64_t count_per_part,
                              MPI_Datatype type, int source, int tag, grove_op **out)
{
  wanted w = {ctx, buf, parts, count_per_part, type, 0, source, tag};
  return init_channel(&w, out);
}

/* ---- freeing in any state ---- */

/* What is on its way out of the device leaves before the device is forgotten. */
static grove_status save_staged(grove_channel *c)
{
  GROVE_PASS(grove_staged_save(c));
  c->packed = 1;
  return grove_send_copied(c);
}

/* Takes what was marked and has not left out of the user's array. */
static grove_status save_marked(grove_channel *c)
{
  if (grove_readiness_marked(c->readiness) == 0 || c->bytes == 0) return GROVE_OK;
  char *copy = c->staging;
  if (c->staged) return save_staged(c);
  if (c->dense) GROVE_PASS_ROOM(copy, c->bytes);
  for (int64_t p = 0; p < c->parts; p++) {
    if (!grove_readiness_is_marked(c->readiness, p)) continue;
    if (c->dense)
      memcpy(copy + p * c->part_bytes, c->data + p * c->part_bytes, (size_t)c->part_bytes);
    else
      GROVE_PASS(grove_send_pack(c, (grove_part_run){p, 1}));
  }
  c->staging = c->data = copy;
  c->packed = 1;
  return GROVE_OK;
}

/* A receiver that has not met its sender: what comes must not go to the user's array any more. */
static grove_status keep_from_user(grove_channel *c)
{
  char *memory = grove_room((size_t)c->bytes, 1);
  if (!memory) grove_match_leave(c); /* then it is not to be met */
  GROVE_PASS_CHECK(memory, GROVE_ERR_MEMORY, "no memory for a message of %lld bytes",
                   (long long)c->bytes);
  c->staging = c->data = memory;
  return GROVE_OK;
}

static grove_status abandon_channel(grove_channel *c)
{
  grove_status status = GROVE_OK;
  grove_op_state state = c->base.state;
  grove_op_move(&c->base, state == GROVE_OP_ACTIVE ? GROVE_OP_ABANDONED : GROVE_OP_STUCK);
  c->base.ctx->abandoned++;
  int is_staged = c->staged != NULL;
  int failed = state != GROVE_OP_ACTIVE || (is_staged && grove_staged_has_failed(c));
  if (c->sends && !failed) status = save_marked(c);
  grove_staged_close(c);                         /* it may be there to the end of the program */
  if (state != GROVE_OP_ACTIVE) return GROVE_OK; /* a start failed halfway: nothing changes */
  if (c->sends && failed) {
    grove_op_move(&c->base, GROVE_OP_STUCK);
    return GROVE_OK;
  }
  if (!c->sends && c->dense && c->bond == GROVE_BOND_SOUGHT) status = keep_from_user(c);
  if (status == GROVE_OK && grove_channel_flows(c)) status = c->way->detach(c);
  if (status != GROVE_OK) {
    grove_op_move(&c->base, GROVE_OP_STUCK);
    return status;
  }
  /* Nothing is packed or unpacked any more. Some of these stay until the context goes, and an MPI
   * may have room for few datatypes (MPICH 4.0: 770 copies). */
  grove_mover_free(&c->mover);
  grove_channel_advance(&c->base.active);
  return status;
}

static grove_status free_channel(grove_op *op)
{
  grove_status status = GROVE_OK;
  grove_channel *c = (grove_channel *)op;
  grove_context *ctx = op->ctx;
  if (op->guard) grove_guard_close(op->guard);
  if (grove_mpi_is_gone()) {
    if (op->state == GROVE_OP_ACTIVE) grove_context_deactivate(&op->active);
  } else if (op->state == GROVE_OP_ACTIVE) {
    grove_channel_advance(&op->active);
  }
  if (grove_op_is_under_way(op) && !grove_mpi_is_gone()) {
    status = abandon_channel(c);
  } else {
    if (c->bond == GROVE_BOND_SOUGHT) grove_match_leave(c);
    grove_channel_dispose(c);
  }
  grove_context_release(ctx);
  return status;
}

/* ---- the kinds ---- */

/* It cannot be a member of a bundle. */
static int count_requests(const grove_op *op)
{
  (void)op;
  return -1;
}

static grove_request no_request(const grove_op *op, int k)
{
  (void)op, (void)k;
  return (grove_request){0};
}

#define CHANNEL                                                                                    \
  .takes_streams = 1, .start = grove_channel_start, .start_parts = grove_channel_start,            \
  .advance = grove_channel_advance, .missing = grove_channel_missing,                              \
  .label = grove_channel_label, .report = grove_channel_report, .free = free_channel,              \
  .count = count_requests, .request = no_request, .part_times = grove_channel_part_times

const grove_op_kind grove_kind_psend = {
  .name = "psend",
  CHANNEL,
  .ready = grove_marks_ready,
  .arrived = grove_marks_no_arrived,
  .arrivals = grove_marks_no_arrivals,
};

const grove_op_kind grove_kind_precv = {
  .name = "precv",
  CHANNEL,
  .ready = grove_marks_no_ready,
  .arrived = grove_marks_arrived,
  .arrivals = grove_marks_arrivals,
};
