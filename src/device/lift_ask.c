/* What a lift is asked for, and when that is begun and done. */
#include "device/lift_parts.h"

/* ---- what is asked for ---- */

static void queue_copy(grove_copy_list *copies, grove_device_copy to, const char *from,
                       int64_t bytes)
{
  grove_device_copy *last = copies->n > 0 ? &copies->list[copies->n - 1] : NULL;
  to.from = from;
  to.bytes = bytes;
  if (last && last->to + last->bytes == to.to && last->from + last->bytes == from &&
      last->is_far == to.is_far && last->to_device == to.to_device)
    last->bytes += bytes;
  else
    copies->list[copies->n++] = to;
}

/* To memory that needs no other device. */
static grove_device_copy copy_to(char *to)
{
  return (grove_device_copy){.to = to};
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
  if (grove_lift_copies(lift, p, GROVE_MOTION_PACK))
    queue_copy(&b->copies_ahead, grove_lift_place(lift, message), array + p->low, p->message_bytes);
  else
    GROVE_PASS(add_job(lift, &b->ahead, p, array, grove_lift_mirror_of(lift, message)));
  b->bytes += p->message_bytes;
  return GROVE_OK;
}

/* A message on its way between the host and the mirror, before and behind a kernel. */
static void queue_message(const grove_lift *lift, grove_device_batch *b, grove_motion motion,
                          char *message, char *mirror, int64_t bytes)
{
  if (grove_lift_reaches(lift, message)) return;
  if (motion != GROVE_MOTION_PACK) queue_copy(&b->before, copy_to(mirror), message, bytes);
  if (motion != GROVE_MOTION_UNPACK)
    queue_copy(&b->after, grove_lift_place(lift, message), mirror, bytes);
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
  grove_heading heading = grove_heading_of(motion);
  char *mirror = grove_lift_mirror_of(lift, message);
  int inside = grove_lift_keeps(lift, message);
  int copied = grove_lift_copies(lift, p, motion);
  if (!copied && p->items == 0) return GROVE_OK; /* as MPI_NO_OP has it */
  if (inside && motion == GROVE_MOTION_PACK) return pack_inside(lift, p, array, message);
  grove_device_batch *b = lift->station->tracks[heading].batch;
  int anew = (ordered && b->has_ordered) || follows_fetch(lift, motion, inside);
  GROVE_PASS(open_batch(lift, heading, 1, anew, &b));
  note_fetch(lift, motion, inside);
  if (copied && !p->writes_array) {
    queue_copy(&b->after, grove_lift_place(lift, message), array + p->low, p->message_bytes);
  } else if (copied) {
    queue_copy(&b->before, copy_to(array + p->low), grove_lift_place(lift, message).to,
               p->message_bytes);
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
static void put_sweep(grove_device_batch *b, const grove_meeting *m, char *array)
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
                                       const grove_meeting *m, const grove_sweep *part, char *array,
                                       char *mirror, int64_t bytes)
{
  grove_prepared p = *grove_merged_touched(m->merged, part->first);
  p.message_bytes = bytes;
  p.writes_message = m->motion == GROVE_MOTION_FETCH;
  p.writes_array = 1;
  return add_accesses(lift, &b->main, &p, array, mirror);
}

/* With those that follow each other in one launch. */
static grove_status add_to_sweep(grove_lift *lift, grove_meeting *m, const grove_sweep *part,
                                 char *array, char *message, int64_t bytes)
{
  const grove_track *t = &lift->station->tracks[GROVE_IN];
  grove_device_batch *b = t->batch;
  char *mirror = grove_lift_mirror_of(lift, message);
  int inside = grove_lift_keeps(lift, message);
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
  int inside = grove_lift_keeps(lift, message);
  grove_heading heading = inside ? GROVE_IN : grove_heading_of(motion);
  grove_stream *stream = s->tracks[heading].stream;
  char *mirror = grove_lift_place(lift, message).to;
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
  grove_motion_plan *plan = NULL;
  grove_meeting *meeting = grove_lift_meeting(lift, mover, motion);
  int64_t bytes = count * mover->unit.bytes;
  grove_sweep part;
  if (bytes == 0) return GROVE_OK;
  if (meeting && grove_lift_part(lift, meeting, message, count, &part))
    return add_to_sweep(lift, meeting, &part, array, message, bytes);
  GROVE_PASS(grove_lift_plan(lift, mover, shape, begin, count, motion, &plan));
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
  if (lift->asker.failure != GROVE_OK) return GROVE_NO_BATCH;
  return grove_track_passed(&lift->station->tracks[heading]);
}
