#include "partitioned/staged.h"

#include "base/pause.h"
#include "device/station.h"

#include <pthread.h>
#include <stdlib.h>

enum { MOST_EVENTS = 32 };

/* Of a sender: which marks of the user's stream its copies come behind. */
typedef struct mark_book {
  pthread_mutex_t lock;
  int is_open;
  int64_t count;    /* marks so far, of all rounds; the latest is the number `count` */
  int64_t *of_part; /* the latest mark of each part; atomic */
  int nevents;
  grove_event *events[MOST_EVENTS]; /* mark k has the event k % nevents */
  int64_t followed;                 /* the track is behind this mark */
} mark_book;

struct grove_staged {
  grove_space space;
  grove_station *station; /* NULL: the space has no streams */
  grove_stream *stream;   /* of the round */
  grove_heading heading;
  int pinned;
  int is_copy;       /* array and message are the same bytes */
  int failed;        /* atomic */
  int64_t next, end; /* of what was begun: the next to be done, and the end */
  grove_part_run *runs;
  int64_t *marks; /* how much was begun with each */
  int64_t last;   /* and with the latest, of this round or an earlier one */
  mark_book book;
};

/* ---- making and ending ---- */

/* In whole pages, which nobody else has. */
static grove_status make_staging(grove_channel *c, int64_t *bytes)
{
  *bytes = grove_round_up(c->bytes, GROVE_PAGE);
  c->staging = aligned_alloc(GROVE_PAGE, (size_t)*bytes);
  GROVE_PASS_CHECK(c->staging, GROVE_ERR_MEMORY, "no memory for a message of %lld bytes",
                   (long long)c->bytes);
  c->data = c->staging;
  return GROVE_OK;
}

/* Kernels need a mirror of the message. Copies do not, and if it cannot be pinned they are slower,
 * and right. */
static grove_status cover_staging(const grove_channel *c, int64_t bytes)
{
  grove_staged *s = c->staged;
  grove_sentence before;
  if (!s->is_copy) return s->space.kind->cover(s->space.lift, c->staging, bytes);
  if (!s->station) return GROVE_OK;
  grove_error_keep(&before);
  s->pinned = s->station->driver->pin(c->staging, bytes) == GROVE_OK;
  grove_error_restore(&before);
  return GROVE_OK;
}

static grove_status open_book(const grove_channel *c, mark_book *book)
{
  const grove_station *station = c->staged->station;
  int failed = pthread_mutex_init(&book->lock, NULL);
  GROVE_PASS_CHECK(!failed, GROVE_ERR_MEMORY, "no memory for a lock");
  book->is_open = 1;
  GROVE_PASS_NEW(book->of_part, c->parts);
  int64_t n = c->parts < MOST_EVENTS ? c->parts : MOST_EVENTS;
  for (; book->nevents < n; book->nevents++)
    GROVE_PASS(station->driver->create_event(station->device, &book->events[book->nevents]));
  return GROVE_OK;
}

static void close_book(const grove_staged *s, mark_book *book)
{
  while (book->nevents > 0) s->station->driver->free_event(book->events[--book->nevents]);
  if (book->is_open) pthread_mutex_destroy(&book->lock);
  free(book->of_part);
}

grove_status grove_staged_open(grove_channel *c, grove_space space)
{
  grove_staged *s = NULL;
  const grove_space_kind *kind = space.kind;
  int64_t bytes = 0;
  GROVE_PASS_NEW(s, 1);
  c->staged = s;
  s->space = space;
  s->heading = c->sends ? GROVE_OUT : GROVE_IN;
  s->is_copy = c->mover.unit.dense;
  GROVE_PASS(make_staging(c, &bytes));
  GROVE_PASS_ROOM(s->runs, c->parts);
  GROVE_PASS_ROOM(s->marks, c->parts);
  if (kind->driver)
    GROVE_PASS(grove_station_find(c->base.ctx, kind->driver, space.device, &s->station));
  GROVE_PASS(kind->open(kind, c->base.ctx, space.device, &s->space.lift));
  GROVE_PASS(cover_staging(c, bytes));
  if (c->sends && s->station) GROVE_PASS(open_book(c, &s->book));
  return kind->prepare(s->space.lift, &c->mover, &c->shape, 0, c->part_units,
                       c->sends ? GROVE_MOTION_PACK : GROVE_MOTION_UNPACK);
}

void grove_staged_close(grove_channel *c)
{
  grove_staged *s = c->staged;
  if (!s) return;
  if (s->space.lift) {
    grove_staged_finish(c);
    s->space.kind->close(s->space.lift);
  }
  if (s->pinned) s->station->driver->unpin(c->staging);
  close_book(s, &s->book);
  free(s->runs);
  free(s->marks);
  free(s);
  c->staged = NULL;
}

/* ---- a round begins ---- */

static grove_status check_capture(const grove_channel *c, const char *call)
{
  const grove_staged *s = c->staged;
  GROVE_PASS_CHECK(!s->station || !s->station->driver->is_capturing(s->station->device, s->stream),
                   GROVE_ERR_UNSUPPORTED,
                   "rank %d: %s: the stream of this %s is being captured into a graph, and the "
                   "host moves its parts",
                   c->base.ctx->rank, call, grove_op_label(&c->base));
  return GROVE_OK;
}

grove_status grove_staged_start(grove_channel *c)
{
  grove_staged *s = c->staged;
  s->stream = grove_op_stream(&c->base);
  s->next = s->end = 0;
  __atomic_store_n(&s->failed, 0, __ATOMIC_RELAXED);
  GROVE_PASS(check_capture(c, "grove_start"));
  return c->sends ? GROVE_OK : s->space.kind->begin(s->space.lift, s->stream);
}

/* ---- marks ---- */

/* With the lock: who marks a part later has the higher number. */
static grove_status record_mark(const grove_staged *s, mark_book *book, int64_t first, int64_t end)
{
  int64_t number = book->count + 1;
  GROVE_PASS(s->station->driver->record(s->station->device, book->events[number % book->nevents],
                                        s->stream));
  book->count = number;
  for (int64_t p = first; p < end; p++)
    __atomic_store_n(&book->of_part[p], number, __ATOMIC_RELAXED);
  return GROVE_OK;
}

grove_status grove_staged_mark(grove_channel *c, int64_t first, int64_t count)
{
  grove_staged *s = c->staged;
  if (!s->station) return GROVE_OK;
  GROVE_PASS_CHECK(!c->base.awaited, GROVE_ERR_STATE,
                   "rank %d: grove_ready: part %lld (round %lld): the stream of this %s waits for "
                   "it already, by grove_wait_on_stream",
                   c->base.ctx->rank, (long long)first, (long long)c->round,
                   grove_op_label(&c->base));
  GROVE_PASS(grove_station_settle(c->base.ctx));
  GROVE_PASS(check_capture(c, "grove_ready"));
  pthread_mutex_lock(&s->book.lock);
  grove_status status = record_mark(s, &s->book, first, first + count);
  pthread_mutex_unlock(&s->book.lock);
  return status;
}

/* Puts the track behind the marks of these parts. */
static grove_status follow_marks(const grove_staged *s, mark_book *book, grove_part_run run)
{
  int64_t latest = 0;
  for (int64_t p = run.first; p < run.first + run.count; p++) {
    int64_t number = __atomic_load_n(&book->of_part[p], __ATOMIC_RELAXED);
    if (number > latest) latest = number;
  }
  if (latest <= book->followed) return GROVE_OK;
  GROVE_PASS(
    grove_station_follow_event(s->station, s->heading, book->events[latest % book->nevents]));
  book->followed = latest;
  return GROVE_OK;
}

/* ---- copies ---- */

static grove_status move_parts(const grove_channel *c, int64_t first, int64_t count)
{
  const grove_space *space = &c->staged->space;
  char *array = c->array + first * c->part_units * c->mover.unit.extent;
  char *message = c->data + first * c->part_bytes;
  int64_t units = count * c->part_units;
  if (c->sends)
    return space->kind->pack(space->lift, &c->mover, &c->shape, array, 0, units, message);
  return space->kind->unpack(space->lift, &c->mover, &c->shape, message, array, 0, units);
}

/* Consecutive bytes in one go. A recipe is for one part, since runs may have any length. */
static grove_status ask_for_copies(const grove_channel *c, grove_part_run run)
{
  grove_staged *s = c->staged;
  int64_t at_once = s->is_copy ? run.count : 1;
  if (c->sends && s->station) GROVE_PASS(follow_marks(s, &s->book, run));
  for (int64_t p = run.first; p < run.first + run.count; p += at_once)
    GROVE_PASS(move_parts(c, p, at_once));
  return GROVE_OK;
}

/* What was asked for is enqueued even if more was to come: others must not find it. */
static grove_status note_failure(grove_staged *s, grove_status status)
{
  grove_sentence sentence;
  grove_error_keep(&sentence);
  (void)s->space.kind->flush(s->space.lift);
  grove_error_restore(&sentence);
  s->last = s->space.kind->begun(s->space.lift, s->heading);
  __atomic_store_n(&s->failed, 1, __ATOMIC_RELEASE);
  return status;
}

grove_status grove_staged_begin(grove_channel *c, grove_part_run run)
{
  grove_staged *s = c->staged;
  grove_status status = ask_for_copies(c, run);
  if (status != GROVE_OK) return note_failure(s, status);
  s->runs[s->end] = run;
  s->marks[s->end++] = s->last = s->space.kind->begun(s->space.lift, s->heading);
  return GROVE_OK;
}

grove_status grove_staged_flush(grove_channel *c)
{
  grove_staged *s = c->staged;
  grove_status status = s->next < s->end ? s->space.kind->flush(s->space.lift) : GROVE_OK;
  return status == GROVE_OK ? GROVE_OK : note_failure(s, status);
}

static int has_passed(const grove_staged *s, int64_t mark)
{
  return s->space.kind->passed(s->space.lift, s->heading) >= mark;
}

int grove_staged_next(grove_channel *c, grove_part_run *run)
{
  grove_staged *s = c->staged;
  if (s->next == s->end || s->failed || !has_passed(s, s->marks[s->next])) return 0;
  *run = s->runs[s->next++];
  return 1;
}

int64_t grove_staged_parts(const grove_channel *c)
{
  const grove_staged *s = c->staged;
  int64_t parts = 0;
  for (int64_t i = s->next; i < s->end; i++) parts += s->runs[i].count;
  return parts;
}

int grove_staged_is_done(const grove_channel *c)
{
  const grove_staged *s = c->staged;
  return s->failed ? has_passed(s, s->last) : s->next == s->end;
}

void grove_staged_finish(grove_channel *c)
{
  grove_sentence before;
  grove_pause pause;
  grove_error_keep(&before);
  (void)grove_staged_flush(c);
  grove_error_restore(&before);
  grove_pause_begin(&pause, 0);
  while (!has_passed(c->staged, c->staged->last)) grove_pause_step(&pause);
}

grove_status grove_staged_save(grove_channel *c)
{
  grove_status status = GROVE_OK;
  for (int64_t p = 0; p < c->parts && status == GROVE_OK; p++)
    if (grove_readiness_is_marked(c->readiness, p))
      status = ask_for_copies(c, (grove_part_run){p, 1});
  if (status == GROVE_OK) status = c->staged->space.kind->flush(c->staged->space.lift);
  if (status != GROVE_OK) return note_failure(c->staged, status);
  c->staged->last = c->staged->space.kind->begun(c->staged->space.lift, c->staged->heading);
  grove_staged_finish(c);
  return GROVE_OK;
}

/* ---- failures ---- */

int grove_staged_has_failed(const grove_channel *c)
{
  return __atomic_load_n(&c->staged->failed, __ATOMIC_ACQUIRE);
}

grove_status grove_staged_check(const grove_channel *c, const char *call)
{
  GROVE_PASS_CHECK(!c->staged || !grove_staged_has_failed(c), GROVE_ERR_DEVICE,
                   "rank %d: %s: the device has failed in round %lld of this %s; grove_wait says "
                   "how",
                   c->base.ctx->rank, call, (long long)c->round, grove_op_label(&c->base));
  return GROVE_OK;
}
