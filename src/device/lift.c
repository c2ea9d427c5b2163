#include "device/lift.h"

#include "device/by_host.h"
#include "device/merged.h"

#include <stdlib.h>

/* Host memory in which messages lie, and its mirror: where kernels have them. Of a small cover that
 * is the same memory, as kernels reach it. A kernel then takes as long as its copy would, and there
 * is none. */
typedef struct cover {
  char *memory, *mirror;
  int64_t bytes;
  int pinned;
  int reached; /* the mirror is no other memory */
  int shared;  /* the wiring's memory, pinned with its region */
} cover;

/* Kernels and copies of so many bytes take about the same time. Larger copies leave the kernels of
 * other processes alone. */
enum { REACHED = 1 << 20 };

/* What is prepared for a window of a shape, and one motion. */
typedef struct motion_plan {
  const grove_shape *shape; /* NULL: none here */
  int64_t begin, count;
  grove_motion motion;
  grove_prepared prepared;
  grove_by_host *by_host; /* instead, and why: */
  grove_obstacle obstacle;
} motion_plan;

/* What lies at `place` has the mirror of `message`. */
typedef struct likeness {
  const char *place, *message;
  int64_t bytes;
} likeness;

/* Messages that meet in the same slots. */
typedef struct meeting_plan {
  const grove_mover *mover;
  grove_motion motion;
  grove_merged *merged; /* NULL: each has a plan of its own, and the next batch */
  grove_sweep sweep;    /* those that are in ... */
  int64_t batch;        /* ... the batch of this number, */
  int job;              /* from this job on */
} meeting_plan;

/* Messages that stay in mirrors. */
typedef struct inside_range {
  char *begin, *end;
} inside_range;

enum { NO_BATCH = -1 };

struct grove_lift {
  grove_station *station;
  int ncovers;
  cover *covers;
  likeness like;
  int ninside;
  inside_range *inside;
  int64_t fetching; /* so many batches were enqueued when a fetch of something inside came */
  grove_asker asker;
  int nmeetings;
  meeting_plan *meetings;
  int64_t nmessages[GROVE_HEADINGS]; /* that it may move at once */
  int nplans, room;                  /* room: a power of 2, more than twice as many */
  motion_plan *plans;
};

/* ---- making and ending ---- */

grove_status grove_lift_open(const grove_space_kind *kind, grove_context *ctx, int device,
                             grove_lift **out)
{
  grove_status status = GROVE_OK;
  grove_lift *lift = NULL;
  GROVE_NEW(lift, 1);
  lift->fetching = NO_BATCH;
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
  if (!c->reached) s->driver->free(s->device, c->mirror);
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
  for (int i = 0; i < lift->nmeetings; i++)
    grove_merged_free(lift->station->driver, lift->station->device, lift->meetings[i].merged);
  free(lift->covers);
  free(lift->inside);
  free(lift->meetings);
  free(lift->plans);
  free(lift);
}

/* ---- mirrors ---- */

static grove_status add_cover(grove_lift *lift, const cover *c)
{
  GROVE_PASS_GROW(lift->covers, lift->ncovers, 1);
  lift->covers[lift->ncovers++] = *c;
  return GROVE_OK;
}

static grove_status add_mirror(grove_lift *lift, cover *c)
{
  const grove_station *s = lift->station;
  GROVE_PASS(s->driver->allocate(s->device, c->bytes, (void **)&c->mirror));
  grove_status status = add_cover(lift, c);
  if (status != GROVE_OK) s->driver->free(s->device, c->mirror);
  return status;
}

grove_status grove_lift_mirror(grove_lift *lift, void *memory, int64_t bytes)
{
  cover c = {.memory = memory, .bytes = bytes, .shared = 1};
  return bytes > 0 ? add_mirror(lift, &c) : GROVE_OK;
}

/* Whole pages, which nobody else has. Copies of others are slower, and right. */
static int try_to_pin(const grove_lift *lift, void *memory, int64_t bytes)
{
  grove_sentence before;
  if ((uintptr_t)memory % GROVE_PAGE != 0 || bytes % GROVE_PAGE != 0) return 0;
  grove_error_keep(&before);
  if (lift->station->driver->pin(memory, bytes) == GROVE_OK) return 1;
  grove_error_restore(&before);
  return 0;
}

grove_status grove_lift_cover(grove_lift *lift, void *memory, int64_t bytes)
{
  const grove_station *s = lift->station;
  cover c = {.memory = memory, .bytes = bytes};
  if (bytes == 0) return GROVE_OK;
  c.pinned = try_to_pin(lift, memory, bytes);
  int is_small = bytes <= REACHED && bytes <= grove_space_chunk(); /* no message comes by chunks */
  if (c.pinned && is_small) c.mirror = s->driver->reach(s->device, memory);
  c.reached = c.mirror != NULL;
  grove_status status = c.reached ? add_cover(lift, &c) : add_mirror(lift, &c);
  if (status != GROVE_OK && c.pinned) s->driver->unpin(memory);
  return status;
}

void grove_lift_share(grove_lift *lift, void *region, int64_t bytes)
{
  grove_station_pin(lift->station, region, bytes);
}

void grove_lift_liken(grove_lift *lift, const void *place, int64_t bytes, const void *message)
{
  lift->like = (likeness){place, message, bytes};
}

static const cover *find_cover(const grove_lift *lift, const char *message)
{
  for (const cover *c = lift->covers; c < lift->covers + lift->ncovers; c++)
    if (message >= c->memory && message < c->memory + c->bytes) return c;
  return NULL;
}

static char *find_mirror(const grove_lift *lift, const char *message)
{
  const cover *c = find_cover(lift, message);
  return c ? c->mirror + (message - c->memory) : NULL;
}

static char *mirror_of(const grove_lift *lift, const char *message)
{
  const likeness *like = &lift->like;
  int alike = message >= like->place && message < like->place + like->bytes;
  return find_mirror(lift, alike ? like->message + (message - like->place) : message);
}

grove_status grove_lift_keep_inside(grove_lift *lift, void *memory, int64_t bytes)
{
  if (bytes == 0) return GROVE_OK;
  GROVE_PASS_GROW(lift->inside, lift->ninside, 1);
  lift->inside[lift->ninside++] = (inside_range){memory, (char *)memory + bytes};
  return GROVE_OK;
}

/* Do kernels have the message where it lies? */
static int is_reached(const grove_lift *lift, const char *message)
{
  const cover *c = find_cover(lift, message);
  return c && c->reached;
}

static int stays_inside(const grove_lift *lift, const char *message)
{
  for (const inside_range *r = lift->inside; r < lift->inside + lift->ninside; r++)
    if (message >= r->begin && message < r->end) return 1;
  return 0;
}

/* Where copies find a message. */
static char *place_for_copies(const grove_lift *lift, char *message)
{
  int elsewhere = stays_inside(lift, message) && !is_reached(lift, message);
  return elsewhere ? mirror_of(lift, message) : message;
}

/* ---- recipes ---- */

static grove_heading heading_of(grove_motion motion)
{
  return motion == GROVE_MOTION_PACK ? GROVE_OUT : GROVE_IN;
}

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

/* Do kernels have all messages where they lie? */
static int reaches_all(const grove_lift *lift)
{
  for (const cover *c = lift->covers; c < lift->covers + lift->ncovers; c++)
    if (!c->reached) return 0;
  return lift->ncovers > 0;
}

/* One kernel takes less time than so many copies of small messages. */
enum { MANY_MESSAGES = 3 };

static int is_copied(const grove_lift *lift, const grove_prepared *p, grove_motion motion)
{
  return p->is_copy && (!p->recipe || lift->nmessages[heading_of(motion)] < MANY_MESSAGES);
}

static grove_status make_motion_plan(const grove_lift *lift, const grove_mover *mover,
                                     motion_plan *plan)
{
  const grove_station *s = lift->station;
  plan->obstacle = grove_recipe_obstacle(mover, plan->shape, plan->motion);
  if (plan->obstacle == GROVE_OBSTACLE_NONE)
    return (reaches_all(lift) ? grove_recipe_prepare_both : grove_recipe_prepare)(
      s->driver, s->device, mover, plan->shape, plan->begin, plan->count, plan->motion,
      &plan->prepared);
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
  lift->nmessages[heading_of(motion)]++;
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

/* ---- messages that meet ---- */

/* The messages are those of the host. Mirrors may lie elsewhere than in one cover; then they are
 * not merged. */
static grove_status merge_mirrors(const grove_lift *lift, const grove_mover *mover,
                                  grove_motion motion, int n, const grove_window *windows,
                                  grove_merged **out)
{
  grove_status status = GROVE_OK;
  const grove_station *s = lift->station;
  grove_window *mirrored = NULL;
  int known = 1;
  GROVE_ROOM(mirrored, n);
  for (int w = 0; w < n; w++) {
    mirrored[w] = windows[w];
    mirrored[w].message = mirror_of(lift, windows[w].message);
    known &= mirrored[w].message != NULL;
  }
  if (known) GROVE_TRY(grove_merged_create(s->driver, s->device, mover, motion, n, mirrored, out));
fail:
  free(mirrored);
  return status;
}

grove_status grove_lift_merge(grove_lift *lift, const grove_mover *mover, grove_motion motion,
                              int n, const grove_window *windows)
{
  meeting_plan *m = NULL;
  if (n == 0 || mover->unit.bytes == 0) return GROVE_OK;
  GROVE_PASS_GROW(lift->meetings, lift->nmeetings, 1);
  m = &lift->meetings[lift->nmeetings++];
  *m = (meeting_plan){.mover = mover, .motion = motion, .batch = NO_BATCH};
  GROVE_PASS(merge_mirrors(lift, mover, motion, n, windows, &m->merged));
  if (m->merged) lift->nmessages[GROVE_IN] += n;
  for (int w = 0; w < n && !m->merged; w++)
    GROVE_PASS(grove_lift_prepare(lift, mover, windows[w].shape, windows[w].begin, windows[w].count,
                                  motion));
  return GROVE_OK;
}

static meeting_plan *find_meeting(const grove_lift *lift, const grove_mover *mover,
                                  grove_motion motion)
{
  for (meeting_plan *m = lift->meetings; m < lift->meetings + lift->nmeetings; m++)
    if (m->mover == mover && m->motion == motion) return m;
  return NULL;
}

/* Which part of a merged recipe so many units of a message are. */
static int find_part(const grove_lift *lift, const meeting_plan *m, const char *message,
                     int64_t count, grove_sweep *out)
{
  const char *mirror = mirror_of(lift, message);
  return m->merged && mirror && grove_merged_find(m->merged, mirror, count, out);
}

/* ---- what is asked for ---- */

static void queue_copy(grove_copy_list *copies, char *to, const char *from, int64_t bytes)
{
  grove_device_copy *last = copies->n > 0 ? &copies->list[copies->n - 1] : NULL;
  if (last && last->to + last->bytes == to && last->from + last->bytes == from)
    last->bytes += bytes;
  else
    copies->list[copies->n++] = (grove_device_copy){to, from, bytes};
}

/* Adds what a job touches to a launch. */
static grove_status add_accesses(const grove_lift *lift, grove_watched_launch *w,
                                 const grove_prepared *p, char *array, char *mirror)
{
  if (!lift->station->driver->checks_order) return GROVE_OK;
  GROVE_PASS_GROW(w->accesses, w->naccesses, 1 + p->ntouched);
  w->accesses[w->naccesses++] = (grove_access){mirror, p->message_bytes, p->writes_message};
  for (int i = 0; i < p->ntouched; i++) {
    const grove_touched *s = &p->touched[i];
    w->accesses[w->naccesses++] =
      (grove_access){array + s->begin, s->end - s->begin, p->writes_array};
  }
  return GROVE_OK;
}

static grove_status add_job(const grove_lift *lift, grove_watched_launch *w,
                            const grove_prepared *p, char *array, char *mirror)
{
  GROVE_PASS(add_accesses(lift, w, p, array, mirror));
  grove_launch_add(&w->launch, p, array, mirror);
  return GROVE_OK;
}

static int batch_has_room(const grove_device_batch *b, int njobs)
{
  return b->main.launch.njobs + njobs <= GROVE_JOBS && b->ahead.launch.njobs < GROVE_JOBS &&
         b->copies_ahead.n < GROVE_BATCH_COPIES && b->before.n < GROVE_BATCH_COPIES &&
         b->after.n < GROVE_BATCH_COPIES && b->bytes < grove_space_chunk();
}

/* The batch in which this lift may ask for so many jobs; for `anew`, an empty one. */
static grove_status open_batch(grove_lift *lift, grove_heading heading, int njobs, int anew,
                               grove_device_batch **out)
{
  grove_device_batch *b = lift->station->tracks[heading].batch;
  if (b->asker != &lift->asker || anew || !batch_has_room(b, njobs))
    GROVE_PASS(grove_station_flush(lift->station, heading, &lift->asker));
  b->asker = &lift->asker;
  *out = b;
  return GROVE_OK;
}

/* Packs into the mirror, ahead of what will unpack it. */
static grove_status pack_inside(grove_lift *lift, const grove_prepared *p, char *array,
                                char *message)
{
  grove_device_batch *b = NULL;
  GROVE_PASS(open_batch(lift, GROVE_IN, 1, 0, &b));
  if (is_copied(lift, p, GROVE_MOTION_PACK))
    queue_copy(&b->copies_ahead, place_for_copies(lift, message), array + p->low, p->message_bytes);
  else
    GROVE_PASS(add_job(lift, &b->ahead, p, array, mirror_of(lift, message)));
  b->bytes += p->message_bytes;
  return GROVE_OK;
}

/* A message on its way between the host and the mirror, before and behind a kernel. */
static void queue_message(const grove_lift *lift, grove_device_batch *b, grove_motion motion,
                          char *message, char *mirror, int64_t bytes)
{
  if (is_reached(lift, message)) return;
  if (motion != GROVE_MOTION_PACK) queue_copy(&b->before, mirror, message, bytes);
  if (motion != GROVE_MOTION_UNPACK) queue_copy(&b->after, message, mirror, bytes);
}

/* Does it read what a fetch in the same batch has yet to write? */
static int follows_fetch(const grove_lift *lift, grove_motion motion, int inside)
{
  return inside && motion == GROVE_MOTION_UNPACK &&
         lift->fetching == lift->station->tracks[GROVE_IN].enqueued;
}

static void note_fetch(grove_lift *lift, grove_motion motion, int inside)
{
  if (inside && motion == GROVE_MOTION_FETCH)
    lift->fetching = lift->station->tracks[GROVE_IN].enqueued;
}

/* By a kernel, or a copy that needs none. `ordered`: others may write the same slots. */
static grove_status add_motion(grove_lift *lift, const grove_prepared *p, grove_motion motion,
                               int ordered, char *array, char *message)
{
  grove_heading heading = heading_of(motion);
  char *mirror = mirror_of(lift, message);
  int inside = stays_inside(lift, message);
  int copied = is_copied(lift, p, motion);
  if (!copied && p->items == 0) return GROVE_OK; /* as MPI_NO_OP has it */
  if (inside && motion == GROVE_MOTION_PACK) return pack_inside(lift, p, array, message);
  grove_device_batch *b = lift->station->tracks[heading].batch;
  int anew = (ordered && b->has_ordered) || follows_fetch(lift, motion, inside);
  GROVE_PASS(open_batch(lift, heading, 1, anew, &b));
  note_fetch(lift, motion, inside);
  if (copied && !p->writes_array) {
    queue_copy(&b->after, place_for_copies(lift, message), array + p->low, p->message_bytes);
  } else if (copied) {
    queue_copy(&b->before, array + p->low, place_for_copies(lift, message), p->message_bytes);
  } else {
    GROVE_PASS_CHECK(mirror, GROVE_ERR_DEVICE, "a message lies where its operation has no mirror");
    GROVE_PASS(add_job(lift, &b->main, p, array, mirror));
    if (!inside) queue_message(lift, b, motion, message, mirror, p->message_bytes);
  }
  b->has_ordered |= ordered;
  b->bytes += p->message_bytes;
  return GROVE_OK;
}

/* Puts the jobs of a sweep into the batch, or in the place of those that it had there. */
static void put_sweep(grove_device_batch *b, const meeting_plan *m, char *array)
{
  grove_launch *l = &b->main.launch;
  int behind = m->job + GROVE_SWEEP_JOBS;
  int64_t before = m->job > 0 ? l->jobs[m->job - 1].end : 0;
  int64_t old = behind <= l->njobs ? l->jobs[behind - 1].end : before;
  if (l->njobs < behind) l->njobs = behind;
  l->moves_only = 0;
  grove_merged_apply(m->merged, &m->sweep, array, before, &l->jobs[m->job]);
  int64_t more = l->jobs[behind - 1].end - old;
  for (int j = behind; j < l->njobs; j++) l->jobs[j].end += more;
}

/* What a part of a sweep touches. */
static grove_status add_sweep_accesses(const grove_lift *lift, grove_device_batch *b,
                                       const meeting_plan *m, const grove_sweep *part, char *array,
                                       char *mirror, int64_t bytes)
{
  grove_prepared p = *grove_merged_touched(m->merged, part->first);
  p.message_bytes = bytes;
  p.writes_message = m->motion == GROVE_MOTION_FETCH;
  p.writes_array = 1;
  return add_accesses(lift, &b->main, &p, array, mirror);
}

/* With those that follow each other in one launch. */
static grove_status add_to_sweep(grove_lift *lift, meeting_plan *m, const grove_sweep *part,
                                 char *array, char *message, int64_t bytes)
{
  const grove_track *t = &lift->station->tracks[GROVE_IN];
  grove_device_batch *b = t->batch;
  char *mirror = mirror_of(lift, message);
  int inside = stays_inside(lift, message);
  int joins = batch_has_room(b, GROVE_SWEEP_JOBS) && m->batch == t->enqueued &&
              grove_sweep_join(&m->sweep, part);
  if (!joins) {
    GROVE_PASS(open_batch(lift, GROVE_IN, GROVE_SWEEP_JOBS, m->batch == t->enqueued, &b));
    m->sweep = *part;
    m->batch = t->enqueued;
    m->job = b->main.launch.njobs;
  }
  note_fetch(lift, m->motion, inside);
  GROVE_PASS(add_sweep_accesses(lift, b, m, part, array, mirror, bytes));
  if (!inside) queue_message(lift, b, m->motion, message, mirror, bytes);
  put_sweep(b, m, array);
  b->bytes += bytes;
  return GROVE_OK;
}

/* Behind all that was asked for before. What stays inside comes to the host for the while. */
static grove_status go_by_host(grove_lift *lift, grove_by_host *by_host, grove_motion motion,
                               const grove_mover *mover, char *array, char *message, int64_t bytes)
{
  grove_station *s = lift->station;
  const grove_driver *driver = s->driver;
  int inside = stays_inside(lift, message);
  grove_heading heading = inside ? GROVE_IN : heading_of(motion);
  grove_stream *stream = s->tracks[heading].stream;
  char *mirror = place_for_copies(lift, message);
  GROVE_PASS(grove_station_flush(s, heading, &lift->asker));
  if (mirror != message && motion != GROVE_MOTION_PACK)
    GROVE_PASS(driver->copy(s->device, stream, message, mirror, bytes));
  if (inside && motion != GROVE_MOTION_PACK) GROVE_PASS(driver->finish(s->device, stream));
  GROVE_PASS(grove_by_host_do(driver, s->device, stream, by_host, mover, array, message));
  if (mirror != message && motion != GROVE_MOTION_UNPACK) {
    GROVE_PASS(driver->copy(s->device, stream, mirror, message, bytes));
    GROVE_PASS(driver->finish(s->device, stream));
  }
  return grove_station_count(s, heading);
}

static grove_status ask_motion(grove_lift *lift, const grove_mover *mover, const grove_shape *shape,
                               char *array, int64_t begin, int64_t count, char *message,
                               grove_motion motion)
{
  motion_plan *plan = NULL;
  meeting_plan *meeting = find_meeting(lift, mover, motion);
  int64_t bytes = count * mover->unit.bytes;
  grove_sweep part;
  if (bytes == 0) return GROVE_OK;
  if (meeting && find_part(lift, meeting, message, count, &part))
    return add_to_sweep(lift, meeting, &part, array, message, bytes);
  GROVE_PASS(plan_for(lift, mover, shape, begin, count, motion, &plan));
  if (plan->by_host) return go_by_host(lift, plan->by_host, motion, mover, array, message, bytes);
  int ordered = meeting != NULL && plan->prepared.writes_array;
  return add_motion(lift, &plan->prepared, motion, ordered, array, message);
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

/* What others asked for is theirs to enqueue. */
static grove_status flush_own(grove_lift *lift, grove_heading heading)
{
  if (lift->station->tracks[heading].batch->asker != &lift->asker) return GROVE_OK;
  return grove_station_flush(lift->station, heading, &lift->asker);
}

grove_status grove_lift_flush(grove_lift *lift)
{
  grove_status told = grove_asker_told(&lift->asker);
  grove_status out = flush_own(lift, GROVE_OUT), in = flush_own(lift, GROVE_IN);
  return told != GROVE_OK ? told : out != GROVE_OK ? out : in;
}

grove_status grove_lift_proceed(grove_lift *lift)
{
  if (lift->asker.failure != GROVE_OK || !grove_station_may_gather(lift->station, GROVE_IN))
    return grove_lift_flush(lift);
  return flush_own(lift, GROVE_OUT);
}

int64_t grove_lift_begun(grove_lift *lift, grove_heading heading)
{
  return grove_track_begun(&lift->station->tracks[heading], &lift->asker);
}

/* Nothing is, until it was told of a failure. */
int64_t grove_lift_passed(grove_lift *lift, grove_heading heading)
{
  if (lift->asker.failure != GROVE_OK) return NO_BATCH;
  return grove_track_passed(&lift->station->tracks[heading]);
}

/* ---- what it has ---- */

void grove_lift_weigh(const grove_lift *lift, grove_burden *sum)
{
  for (const cover *c = lift->covers; c < lift->covers + lift->ncovers; c++) {
    if (!c->reached) sum->device_bytes += c->bytes;
    if (c->shared) continue;
    sum->host_bytes += c->bytes;
    if (c->pinned) sum->pinned_bytes += c->bytes;
  }
  for (const motion_plan *p = lift->plans; p < lift->plans + lift->room; p++) {
    if (!p->shape) continue;
    sum->device_bytes += p->by_host ? grove_by_host_bytes(p->by_host) : p->prepared.bytes;
    sum->obstacles |= p->obstacle;
  }
  for (int i = 0; i < lift->nmeetings; i++)
    if (lift->meetings[i].merged) sum->device_bytes += grove_merged_bytes(lift->meetings[i].merged);
}
