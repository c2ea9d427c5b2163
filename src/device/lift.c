#include "device/lift.h"

#include "device/by_host.h"

#include <stdlib.h>

/* A batch of this many bytes is enqueued: it is copied while the next one is packed, or travels. */
static const int64_t CHUNK = (int64_t)2 << 20;

/* Host memory in which messages lie, and its mirror. */
typedef struct cover {
  char *memory, *mirror;
  int64_t bytes;
  int pinned;
} cover;

/* What is prepared for a window of a shape, and one motion. */
typedef struct motion_plan {
  const grove_shape *shape; /* NULL: none here */
  int64_t begin, count;
  grove_motion motion;
  grove_prepared prepared;
  grove_by_host *by_host; /* instead */
} motion_plan;

struct grove_lift {
  grove_station *station;
  int ordered;
  int ncovers;
  cover *covers;
  int nplans, room; /* room: a power of 2, more than twice as many */
  motion_plan *plans;
};

/* ---- making and ending ---- */

grove_status grove_lift_open(const grove_space_kind *kind, grove_context *ctx, int device,
                             int ordered, grove_lift **out)
{
  grove_status status = GROVE_OK;
  grove_lift *lift = NULL;
  GROVE_NEW(lift, 1);
  lift->ordered = ordered;
  GROVE_TRY(grove_station_find(ctx, kind->driver, device, &lift->station));
  *out = lift;
  return GROVE_OK;
fail:
  free(lift);
  return status;
}

static void free_cover(const grove_lift *lift, cover *c)
{
  const grove_station *s = lift->station;
  if (c->pinned) s->driver->unpin(c->memory);
  s->driver->free(s->device, c->mirror);
}

static void free_plan(const grove_lift *lift, motion_plan *plan)
{
  const grove_station *s = lift->station;
  grove_recipe_free(s->driver, s->device, &plan->prepared);
  grove_by_host_free(s->driver, s->device, plan->by_host);
}

void grove_lift_close(grove_lift *lift)
{
  if (!lift) return;
  for (int i = 0; i < lift->ncovers; i++) free_cover(lift, &lift->covers[i]);
  for (int i = 0; i < lift->room; i++)
    if (lift->plans[i].shape) free_plan(lift, &lift->plans[i]);
  free(lift->covers);
  free(lift->plans);
  free(lift);
}

/* ---- mirrors ---- */

grove_status grove_lift_cover(grove_lift *lift, void *memory, int64_t bytes)
{
  grove_status status = GROVE_OK;
  const grove_station *s = lift->station;
  grove_sentence before;
  cover c = {.memory = memory, .bytes = bytes}, *covers = NULL;
  if (bytes == 0) return GROVE_OK;
  GROVE_TRY(s->driver->allocate(s->device, bytes, (void **)&c.mirror));
  covers = realloc(lift->covers, (size_t)(lift->ncovers + 1) * sizeof *covers);
  GROVE_CHECK(covers, GROVE_ERR_MEMORY, "no memory for a mirror's place");
  lift->covers = covers;
  grove_error_keep(&before);
  /* Whole pages, which nobody else has. Copies of others are slower, and right. */
  int whole = (uintptr_t)memory % GROVE_PAGE == 0 && bytes % GROVE_PAGE == 0;
  c.pinned = whole && s->driver->pin(memory, bytes) == GROVE_OK;
  grove_error_restore(&before);
  covers[lift->ncovers++] = c;
  return GROVE_OK;
fail:
  s->driver->free(s->device, c.mirror);
  return status;
}

static char *mirror_of(const grove_lift *lift, const char *message)
{
  for (const cover *c = lift->covers; c < lift->covers + lift->ncovers; c++)
    if (message >= c->memory && message < c->memory + c->bytes)
      return c->mirror + (message - c->memory);
  return NULL;
}

/* ---- recipes ---- */

static size_t hash_plan(const motion_plan *p)
{
  uint64_t x = (uint64_t)(uintptr_t)p->shape ^ ((uint64_t)p->begin << 8) ^ (uint64_t)p->motion;
  x = x * 0x9e3779b97f4a7c15u ^ (uint64_t)p->count;
  x *= 0x9e3779b97f4a7c15u;
  return (size_t)(x >> 20);
}

static int is_same_plan(const motion_plan *a, const motion_plan *b)
{
  return a->shape == b->shape && a->begin == b->begin && a->count == b->count &&
         a->motion == b->motion;
}

/* The place in the table of what is wanted, which may be empty. */
static motion_plan *find_plan(const grove_lift *lift, const motion_plan *wanted)
{
  size_t mask = (size_t)lift->room - 1, i = hash_plan(wanted) & mask;
  while (lift->plans[i].shape && !is_same_plan(&lift->plans[i], wanted)) i = (i + 1) & mask;
  return &lift->plans[i];
}

static grove_status make_room(grove_lift *lift)
{
  motion_plan *old = lift->plans, *plans = NULL;
  int n = lift->room;
  if (2 * (lift->nplans + 1) < n) return GROVE_OK;
  int room = n == 0 ? 16 : 2 * n;
  GROVE_PASS_NEW(plans, room);
  lift->plans = plans;
  lift->room = room;
  for (int i = 0; i < n; i++)
    if (old[i].shape) *find_plan(lift, &old[i]) = old[i];
  free(old);
  return GROVE_OK;
}

static grove_status make_motion_plan(const grove_lift *lift, const grove_mover *mover,
                                     motion_plan *plan)
{
  const grove_station *s = lift->station;
  if (grove_recipe_is_possible(mover, plan->shape, plan->motion))
    return grove_recipe_prepare(s->driver, s->device, mover, plan->shape, plan->begin, plan->count,
                                plan->motion, &plan->prepared);
  return grove_by_host_create(s->driver, s->device, mover, plan->shape, plan->begin, plan->count,
                              plan->motion, &plan->by_host);
}

static grove_status plan_for(grove_lift *lift, const grove_mover *mover, const grove_shape *shape,
                             int64_t begin, int64_t count, grove_motion motion, motion_plan **out)
{
  motion_plan wanted = {.shape = shape, .begin = begin, .count = count, .motion = motion};
  GROVE_PASS(make_room(lift));
  *out = find_plan(lift, &wanted);
  if ((*out)->shape) return GROVE_OK;
  GROVE_PASS(make_motion_plan(lift, mover, &wanted));
  **out = wanted;
  lift->nplans++;
  return GROVE_OK;
}

grove_status grove_lift_prepare(grove_lift *lift, const grove_mover *mover,
                                const grove_shape *shape, int64_t begin, int64_t count,
                                grove_motion motion)
{
  motion_plan *plan = NULL;
  if (count == 0 || mover->unit.bytes == 0) return GROVE_OK;
  return plan_for(lift, mover, shape, begin, count, motion, &plan);
}

/* ---- what is asked for ---- */

static grove_heading heading_of(grove_motion motion)
{
  return motion == GROVE_MOTION_PACK ? GROVE_OUT : GROVE_IN;
}

static void queue_copy(int *n, grove_device_copy *copies, char *to, const char *from, int64_t bytes)
{
  grove_device_copy *last = *n > 0 ? &copies[*n - 1] : NULL;
  if (last && last->to + last->bytes == to && last->from + last->bytes == from)
    last->bytes += bytes;
  else
    copies[(*n)++] = (grove_device_copy){to, from, bytes};
}

/* What a job touches. */
static grove_status add_accesses(grove_device_batch *b, const grove_prepared *p, char *array,
                                 char *mirror)
{
  grove_access *all = realloc(b->accesses, (size_t)(b->naccesses + 1 + p->ntouched) * sizeof *all);
  GROVE_PASS_CHECK(all, GROVE_ERR_MEMORY, "no memory for %d accesses", b->naccesses);
  b->accesses = all;
  all[b->naccesses++] = (grove_access){mirror, p->message_bytes, p->writes_message};
  for (int i = 0; i < p->ntouched; i++) {
    const grove_touched *s = &p->touched[i];
    all[b->naccesses++] = (grove_access){array + s->begin, s->end - s->begin, p->writes_array};
  }
  return GROVE_OK;
}

static void add_job(grove_device_batch *b, const grove_prepared *p, char *array, char *mirror)
{
  b->launch.jobs[b->launch.njobs++] = grove_recipe_apply(p, array, mirror, b->items);
  b->items = b->launch.jobs[b->launch.njobs - 1].end;
}

static int batch_has_room(const grove_device_batch *b)
{
  return b->launch.njobs < GROVE_JOBS && b->nbefore < GROVE_BATCH_COPIES &&
         b->nafter < GROVE_BATCH_COPIES && b->bytes < CHUNK;
}

/* By a kernel, or a copy that needs none. */
static grove_status add_motion(grove_lift *lift, const grove_prepared *p, grove_motion motion,
                               char *array, char *message)
{
  grove_heading heading = heading_of(motion);
  grove_device_batch *b = lift->station->tracks[heading].batch;
  char *mirror = mirror_of(lift, message);
  if (!p->is_copy && p->items == 0) return GROVE_OK; /* as MPI_NO_OP has it */
  int ordered = lift->ordered && motion != GROVE_MOTION_PACK;
  if (!batch_has_room(b) || (ordered && b->has_ordered))
    GROVE_PASS(grove_station_flush(lift->station, heading));
  if (p->is_copy && !p->writes_array) {
    queue_copy(&b->nafter, b->after, message, array + p->low, p->message_bytes);
  } else if (p->is_copy) {
    queue_copy(&b->nbefore, b->before, array + p->low, message, p->message_bytes);
  } else {
    GROVE_PASS_CHECK(mirror, GROVE_ERR_DEVICE, "a message lies where its operation has no mirror");
    if (motion != GROVE_MOTION_PACK)
      queue_copy(&b->nbefore, b->before, mirror, message, p->message_bytes);
    if (lift->station->driver->checks_order) GROVE_PASS(add_accesses(b, p, array, mirror));
    add_job(b, p, array, mirror);
    if (motion != GROVE_MOTION_UNPACK)
      queue_copy(&b->nafter, b->after, message, mirror, p->message_bytes);
  }
  b->has_ordered |= ordered;
  b->bytes += p->message_bytes;
  return GROVE_OK;
}

/* Behind all that was asked for before. */
static grove_status go_by_host(grove_lift *lift, grove_by_host *by_host, grove_motion motion,
                               const grove_mover *mover, char *array, char *message)
{
  grove_station *s = lift->station;
  grove_track *t = &s->tracks[heading_of(motion)];
  GROVE_PASS(grove_station_flush(s, heading_of(motion)));
  GROVE_PASS(grove_by_host_do(s->driver, s->device, t->stream, by_host, mover, array, message));
  return grove_station_count(s, heading_of(motion));
}

static grove_status ask_motion(grove_lift *lift, const grove_mover *mover, const grove_shape *shape,
                               char *array, int64_t begin, int64_t count, char *message,
                               grove_motion motion)
{
  motion_plan *plan = NULL;
  if (count == 0 || mover->unit.bytes == 0) return GROVE_OK;
  GROVE_PASS(plan_for(lift, mover, shape, begin, count, motion, &plan));
  if (plan->by_host)
    GROVE_PASS(go_by_host(lift, plan->by_host, motion, mover, array, message));
  else
    GROVE_PASS(add_motion(lift, &plan->prepared, motion, array, message));
  return GROVE_OK;
}

grove_status grove_lift_pack(grove_lift *lift, const grove_mover *mover, const grove_shape *shape,
                             const void *array, int64_t begin, int64_t count, void *message)
{
  return ask_motion(lift, mover, shape, (char *)array, begin, count, message, GROVE_MOTION_PACK);
}

grove_status grove_lift_unpack(grove_lift *lift, const grove_mover *mover, const grove_shape *shape,
                               const void *message, void *array, int64_t begin, int64_t count)
{
  return ask_motion(lift, mover, shape, array, begin, count, (char *)message, GROVE_MOTION_UNPACK);
}

grove_status grove_lift_fetch(grove_lift *lift, const grove_mover *mover, const grove_shape *shape,
                              void *array, int64_t begin, int64_t count, void *message)
{
  return ask_motion(lift, mover, shape, array, begin, count, message, GROVE_MOTION_FETCH);
}

/* ---- when ---- */

grove_status grove_lift_begin(grove_lift *lift, grove_stream *stream)
{
  return grove_station_follow(lift->station, stream);
}

grove_status grove_lift_flush(grove_lift *lift)
{
  grove_status out = grove_station_flush(lift->station, GROVE_OUT);
  grove_status in = grove_station_flush(lift->station, GROVE_IN);
  return out == GROVE_OK ? in : out;
}

int64_t grove_lift_begun(grove_lift *lift, grove_heading heading)
{
  return grove_track_begun(&lift->station->tracks[heading]);
}

int64_t grove_lift_passed(grove_lift *lift, grove_heading heading)
{
  return grove_track_passed(&lift->station->tracks[heading]);
}
