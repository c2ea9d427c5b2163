/* The sender's end: its offer, what may leave, and the plan of the next round. */
#include "partitioned/staged.h"
#include "partitioned/way.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- a round begins ---- */

static int64_t index_of_aggregator(const char *name)
{
  int64_t i = 0;
  while (grove_aggregators[i + 1] && strcmp(grove_aggregators[i]->name, name) != 0) i++;
  return i;
}

/* If shared memory is short, messages are used. */
static grove_status open_way(grove_channel *c, grove_greeting *greeting)
{
  grove_sentence before;
  grove_error_keep(&before);
  grove_status status = c->way->offer(c, greeting);
  if (status != GROVE_ERR_MEMORY || c->way != &grove_way_shm) return status;
  if (c->end) c->way->close(c);
  grove_error_restore(&before);
  grove_way_choose_messages(c);
  return c->way->offer(c, greeting);
}

static grove_status offer_due(grove_channel *c)
{
  grove_greeting greeting = {.is_offer = 1,
                             .tag = c->tag,
                             .number = c->number,
                             .bytes = c->bytes,
                             .parts = c->parts,
                             .aggregator = index_of_aggregator(c->plan.aggregator),
                             .groups = c->plan.ngroups,
                             .chunk = c->base.ctx->options.chunk};
  GROVE_PASS(open_way(c, &greeting));
  greeting.way = grove_way_index(c->way);
  return grove_match_seek(c, &greeting);
}

grove_status grove_send_begin(grove_channel *c)
{
  c->due = c->gate = c->empty = 0;
  grove_readiness_begin(c->readiness, c->timed);
  if (c->bond == GROVE_BOND_NONE) GROVE_PASS(offer_due(c));
  if (grove_channel_flows(c)) GROVE_PASS(c->way->open(c));
  return GROVE_OK;
}

/* ---- sending ---- */

grove_status grove_send_pack(grove_channel *c, grove_part_run run)
{
  if (c->dense || c->packed) return GROVE_OK;
  return grove_pack(&c->mover, &c->shape, c->array, run.first * c->part_units,
                    run.count * c->part_units, c->data + run.first * c->part_bytes);
}

static double time_for_deadlines(const grove_channel *c)
{
  if (grove_channel_is_abandoned(c)) return INFINITY;
  return c->plan.delta > 0 ? grove_clock() : 0;
}

/* The next run that may leave, for one thread at a time. A thread that finds another one here need
 * not wait. The other looks at `due` again when it has left (channel.h says why that is enough). */
static int take_run(grove_channel *c, grove_part_run *run)
{
  int taken = 0;
  do {
    if (__atomic_exchange_n(&c->gate, 1, __ATOMIC_ACQUIRE)) return 0;
    __atomic_exchange_n(&c->due, 0, __ATOMIC_ACQ_REL);
    taken = grove_readiness_take(c->readiness, time_for_deadlines(c), run);
    __atomic_store_n(&c->gate, 0, __ATOMIC_RELEASE);
  } while (!taken && __atomic_fetch_or(&c->due, 0, __ATOMIC_ACQ_REL));
  return taken;
}

void grove_send_tell_alarm(const grove_channel *c, int at_once)
{
  if (!(c->aggregator->runs || c->staged) || !c->base.ctx->alarm)
    return; /* others may be before there is one */
  if (at_once)
    grove_alarm_set(c->base.ctx->alarm, 0);
  else if (c->plan.delta > 0)
    grove_alarm_set(c->base.ctx->alarm, grove_readiness_deadline(c->readiness));
}

int grove_send_needs_calls(const grove_channel *c)
{
  if (c->staged && !grove_staged_is_done(c)) return 1;
  return c->aggregator->runs && c->way->needs_calls(c);
}

static grove_status post_run(grove_channel *c, grove_part_run run)
{
  return c->way->post(c, run.first * c->part_bytes, run.count * c->part_bytes);
}

grove_status grove_send_copied(grove_channel *c)
{
  grove_part_run run;
  while (grove_staged_next(c, &run)) GROVE_PASS(post_run(c, run));
  return GROVE_OK;
}

/* Begins copies of what is due, and posts what has been copied. */
static grove_status post_staged(grove_channel *c, int *begins)
{
  grove_part_run run;
  if (grove_staged_has_failed(c)) return GROVE_OK;
  while (take_run(c, &run)) {
    *begins = 1;
    GROVE_PASS(grove_staged_begin(c, run));
  }
  GROVE_PASS(grove_staged_flush(c));
  return grove_send_copied(c);
}

static grove_status post_due(grove_channel *c)
{
  grove_part_run run;
  int posts = 0;
  grove_send_tell_alarm(c, 0);
  if (c->staged) GROVE_PASS(post_staged(c, &posts));
  while (!c->staged && take_run(c, &run)) {
    posts = 1;
    GROVE_PASS(grove_send_pack(c, run));
    GROVE_PASS(post_run(c, run));
  }
  if (posts && grove_send_needs_calls(c)) grove_context_look_after(c->base.ctx);
  return GROVE_OK;
}

/* A message of no bytes leaves when all its parts are marked. */
static grove_status post_nothing(grove_channel *c)
{
  if (c->empty || grove_readiness_marked(c->readiness) < c->parts) return GROVE_OK;
  c->empty = 1;
  return c->way->post(c, 0, 0);
}

static int is_nobody_inside(const grove_channel *c)
{
  for (unsigned d = 0; d < c->ndoors; d++)
    if (__atomic_load_n(&c->doors[d].inside, __ATOMIC_ACQUIRE) > 0) return 0;
  return 1;
}

int grove_send_is_over(const grove_channel *c)
{
  int left = c->bytes == 0 ? c->empty : grove_readiness_is_over(c->readiness);
  if (c->staged && !grove_staged_is_done(c)) return 0;
  return left && c->way->is_quiet(c) && is_nobody_inside(c);
}

int grove_send_is_spent(const grove_channel *c)
{
  return grove_staged_is_done(c) && !c->way->needs_calls(c) && is_nobody_inside(c);
}

grove_status grove_send_learn(grove_channel *c)
{
  grove_status status = GROVE_OK;
  grove_part_plan plan = {0};
  double *marked = NULL;
  int changed = 0;
  GROVE_ROOM(marked, c->parts);
  for (int64_t p = 0; p < c->parts; p++)
    marked[p] = grove_readiness_time(c->readiness, p) - c->since;
  GROVE_TRY(c->aggregator->learn(c->memory, marked, &plan, &changed));
  if (!changed) goto fail;
  GROVE_TRY(grove_readiness_follow(c->readiness, &plan));
  grove_part_plan_free(&c->plan);
  c->plan = plan;
fail:
  free(marked);
  return status;
}

grove_status grove_send_post(grove_channel *c)
{
  return c->bytes == 0 ? post_nothing(c) : post_due(c);
}
