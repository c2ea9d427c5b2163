/* A staged path of a crew: chunks come in on one stream and leave on another. An event for each
 * slot and way makes the order. Nothing is waited for. */
#include "device/copier.h"

#include <stdlib.h>

/* ---- making one ---- */

/* Longer ones gain little. So more staging memory is for more copies at once. */
static int64_t lane_slot_bytes(const grove_copier *c)
{
  int64_t bytes = c->staging_bytes / (GROVE_LANE_SLOTS * GROVE_LANES_STAGED);
  if (bytes > GROVE_SLOT_BYTES) bytes = GROVE_SLOT_BYTES;
  return bytes / GROVE_SPLIT_ALIGNMENT * GROVE_SPLIT_ALIGNMENT;
}

static void return_memory(grove_copier *c, grove_copy_lane *lane)
{
  if (!lane->memory) return;
  if (lane->stop == GROVE_HOST) {
    c->driver->unpin(lane->memory);
    free(lane->memory);
  } else {
    c->driver->free(lane->stop, lane->memory);
  }
  __atomic_sub_fetch(&c->staged[lane->stop], GROVE_LANE_SLOTS * lane->slot_bytes, __ATOMIC_RELAXED);
}

static grove_status pin_slots(grove_copier *c, int64_t bytes, char **out)
{
  enum { PAGE = 4096 };
  char *memory = aligned_alloc(PAGE, (size_t)grove_round_up(bytes, PAGE));
  GROVE_PASS_CHECK(memory, GROVE_ERR_MEMORY, "no memory for %lld bytes of staging",
                   (long long)bytes);
  grove_status status = c->driver->pin(memory, bytes);
  if (status == GROVE_OK)
    *out = memory;
  else
    free(memory);
  return status;
}

/* The slots of a lane with the same stop, of a crew that is idle. It gets others when it needs
 * them. Whoever has a crew taken is the only one to use its lanes. */
static char *slots_of_crew(grove_copy_crew *crew, int stop)
{
  char *memory = NULL;
  if (!crew || __atomic_exchange_n(&crew->taken, 1, __ATOMIC_ACQ_REL)) return NULL;
  grove_copy_lane *lane = crew->lanes[stop];
  if (lane && lane->memory && grove_copy_crew_is_idle(crew)) {
    memory = lane->memory;
    lane->memory = NULL;
  }
  grove_copy_crew_give(crew);
  return memory;
}

static char *idle_slots(grove_copier *c, int stop)
{
  char *memory = NULL;
  for (int i = 0; i < c->ndevices * c->ndevices && !memory; i++) {
    grove_copy_pair *pair =
      __atomic_load_n(&c->pairs[i / c->ndevices][i % c->ndevices], __ATOMIC_ACQUIRE);
    for (int k = 0; pair && k < GROVE_CREWS && !memory; k++)
      memory = slots_of_crew(__atomic_load_n(&pair->crews[k], __ATOMIC_ACQUIRE), stop);
  }
  return memory;
}

/* All of it is taken before anything is allocated, so that two threads do not take too much. Where
 * all is taken, what an idle lane has will do. */
static grove_status take_memory(grove_copier *c, grove_copy_lane *lane)
{
  grove_status status = GROVE_OK;
  int64_t bytes = GROVE_LANE_SLOTS * lane->slot_bytes, *staged = &c->staged[lane->stop];
  int64_t then = __atomic_add_fetch(staged, bytes, __ATOMIC_RELAXED);
  if (then > c->staging_bytes) lane->memory = idle_slots(c, lane->stop);
  if (lane->memory) {
    __atomic_sub_fetch(staged, bytes, __ATOMIC_RELAXED);
    return GROVE_OK;
  }
  GROVE_CHECK(bytes > 0 && then <= c->staging_bytes, GROVE_ERR_MEMORY,
              "%lld bytes of staging memory are in use; the option copy_staging allows %lld",
              (long long)(then - bytes), (long long)c->staging_bytes);
  if (lane->stop == GROVE_HOST)
    GROVE_TRY(pin_slots(c, bytes, &lane->memory));
  else
    GROVE_TRY(c->driver->allocate(lane->stop, bytes, (void **)&lane->memory));
  return GROVE_OK;
fail:
  __atomic_sub_fetch(staged, bytes, __ATOMIC_RELAXED);
  return status;
}

static grove_status make_lane_events(grove_copier *c, grove_copy_lane *lane)
{
  for (int i = 0; i < GROVE_LANE_SLOTS; i++) {
    GROVE_PASS(c->driver->create_event(lane->in_device, &lane->filled[i]));
    GROVE_PASS(c->driver->create_event(lane->out_device, &lane->freed[i]));
  }
  return c->driver->create_event(lane->out_device, &lane->done);
}

static grove_status furnish_lane(grove_copier *c, const grove_copy_pair *pair,
                                 const grove_copy_crew *crew, int stop, grove_copy_lane **out)
{
  grove_status status = GROVE_OK;
  grove_copy_lane *lane = NULL;
  GROVE_NEW(lane, 1);
  lane->stop = stop;
  lane->in_device = pair->from;
  lane->out_device = stop == GROVE_HOST ? pair->to : stop;
  lane->slot_bytes = lane_slot_bytes(c);
  lane->word = &pair->words[crew->number * GROVE_ENDS + stop];
  GROVE_TRY(take_memory(c, lane));
  GROVE_TRY(c->driver->create_stream(lane->in_device, &lane->in));
  GROVE_TRY(c->driver->create_stream(lane->out_device, &lane->out));
  GROVE_TRY(make_lane_events(c, lane));
  *out = lane;
  return GROVE_OK;
fail:
  grove_copy_lane_free(c, lane);
  return status;
}

grove_status grove_copy_lane_find(grove_copier *c, grove_copy_pair *pair, grove_copy_crew *crew,
                                  int stop, grove_copy_lane **out)
{
  grove_copy_lane *lane = crew->lanes[stop];
  if (!lane) GROVE_PASS(furnish_lane(c, pair, crew, stop, &crew->lanes[stop]));
  if (lane && !lane->memory) GROVE_PASS(take_memory(c, lane));
  crew->stops |= (uint32_t)1 << stop;
  *out = crew->lanes[stop];
  return GROVE_OK;
}

/* Is all of it done? */
static int end_lane_stream(grove_copier *c, int device, grove_stream *stream)
{
  if (!stream) return 1;
  if (c->driver->finish(device, stream) != GROVE_OK) return 0;
  c->driver->free_stream(device, stream);
  return 1;
}

/* Slots stay if nobody knows whether a broken device still uses them. */
void grove_copy_lane_free(grove_copier *c, grove_copy_lane *lane)
{
  grove_sentence before;
  if (!lane) return;
  grove_error_keep(&before);
  int is_done = end_lane_stream(c, lane->in_device, lane->in);
  is_done &= end_lane_stream(c, lane->out_device, lane->out);
  for (int i = 0; i < GROVE_LANE_SLOTS; i++) {
    c->driver->free_event(lane->filled[i]);
    c->driver->free_event(lane->freed[i]);
  }
  c->driver->free_event(lane->done);
  if (is_done) return_memory(c, lane);
  free(lane);
  grove_error_restore(&before);
}

/* ---- using it ---- */

grove_status grove_copy_lane_begin(grove_copier *c, grove_copy_lane *lane, grove_event *begin,
                                   int is_idle)
{
  GROVE_PASS(c->driver->after(lane->in_device, lane->in, begin));
  return is_idle ? GROVE_OK : c->driver->after(lane->in_device, lane->in, lane->done);
}

/* Slots take turns: chunk i comes in when chunk i - SLOTS has left. */
grove_status grove_copy_lane_carry(grove_copier *c, grove_copy_lane *lane, int64_t number,
                                   int is_last_round, char *to, const char *from, int64_t bytes,
                                   int *left)
{
  const grove_driver *driver = c->driver;
  int slot = (int)(number % GROVE_LANE_SLOTS);
  char *memory = lane->memory + slot * lane->slot_bytes;
  *left = 0;
  if (number >= GROVE_LANE_SLOTS)
    GROVE_PASS(driver->after(lane->in_device, lane->in, lane->freed[slot]));
  GROVE_PASS(driver->copy(lane->in_device, lane->in, memory, from, bytes));
  GROVE_PASS(driver->record(lane->in_device, lane->filled[slot], lane->in));
  GROVE_PASS(driver->after(lane->out_device, lane->out, lane->filled[slot]));
  GROVE_PASS(driver->copy(lane->out_device, lane->out, to, memory, bytes));
  *left = 1;
  if (is_last_round) return GROVE_OK;
  return driver->record(lane->out_device, lane->freed[slot], lane->out);
}

/* If the word cannot be written, only the same stream will use the lane again. */
static void count_copy(grove_copier *c, grove_copy_lane *lane, grove_status so_far)
{
  grove_sentence said;
  if (so_far != GROVE_OK) grove_error_keep(&said);
  (void)c->driver->write(lane->out_device, lane->out, lane->word, ++lane->number);
  if (so_far != GROVE_OK) grove_error_restore(&said);
}

/* What leaves comes behind what has come in. */
static grove_status join_ways(grove_copier *c, const grove_copy_lane *lane)
{
  grove_status status = c->driver->record(lane->in_device, lane->filled[0], lane->in);
  if (status == GROVE_OK) status = c->driver->after(lane->out_device, lane->out, lane->filled[0]);
  return status == GROVE_OK ? status : c->driver->finish(lane->in_device, lane->in);
}

grove_status grove_copy_lane_end(grove_copier *c, grove_copy_lane *lane, int has_failed, int device,
                                 grove_stream *stream)
{
  grove_status joined = has_failed ? join_ways(c, lane) : GROVE_OK;
  grove_status status = c->driver->record(lane->out_device, lane->done, lane->out);
  if (status == GROVE_OK) status = c->driver->after(device, stream, lane->done);
  if (status != GROVE_OK) status = c->driver->finish(lane->out_device, lane->out);
  if (joined != GROVE_OK)
    lane->number++; /* it is never idle again */
  else
    count_copy(c, lane, status);
  return joined == GROVE_OK ? status : joined;
}
