#include "device/station.h"

#include <stdlib.h>
#include <string.h>

enum { LINE = 64, WORDS = GROVE_PAGE / LINE };

/* Each word has a cache line of its own. */
typedef struct grove_page {
  struct grove_page *next;
  char *memory;
  unsigned char taken[WORDS];
} word_page;

/* A copy of so many bytes takes some 40 us at 55 GB/s, and to begin one takes 5: longer ones would
 * gain little, and what comes first would wait for them. (To be measured on a GPU.) */
enum { CHUNK = 2 << 20 };

int64_t grove_space_chunk(void)
{
  return CHUNK;
}

/* So many bytes keep a device busy for as long as it takes to begin the next batch. */
enum { GATHERED = 256 << 10 };

static void free_station(grove_station *s)
{
  if (s->is_awaited) (void)s->driver->finish(s->device, NULL);
  for (int h = 0; h < GROVE_HEADINGS; h++) {
    grove_track *t = &s->tracks[h];
    if (t->stream && s->driver->finish(s->device, t->stream) == GROVE_OK)
      s->driver->free_stream(s->device, t->stream);
    s->driver->free(s->device, t->counter);
    if (t->batch) free(t->batch->ahead.accesses);
    if (t->batch) free(t->batch->main.accesses);
    free(t->batch);
  }
  if (s->event) s->driver->free_event(s->event);
  for (int i = 0; i < s->npins; i++) s->driver->unpin(s->pins[i]);
  free(s->pins);
  while (s->pages) {
    word_page *page = s->pages;
    s->pages = page->next;
    s->driver->unpin(page->memory);
    free(page->memory);
    free(page);
  }
  free(s);
}

static void close_stations(grove_context *ctx)
{
  grove_sentence before;
  grove_error_keep(&before);
  while (ctx->stations) {
    grove_station *s = ctx->stations;
    ctx->stations = s->next;
    free_station(s);
  }
  grove_error_restore(&before);
}

/* ---- words ---- */

static grove_status add_page(grove_station *s)
{
  grove_status status = GROVE_OK;
  word_page *page = NULL;
  GROVE_NEW(page, 1);
  page->memory = aligned_alloc(GROVE_PAGE, GROVE_PAGE);
  GROVE_CHECK(page->memory, GROVE_ERR_MEMORY, "no memory for a page");
  memset(page->memory, 0, GROVE_PAGE);
  GROVE_TRY(s->driver->pin(page->memory, GROVE_PAGE));
  page->next = s->pages;
  s->pages = page;
  return GROVE_OK;
fail:
  if (page) free(page->memory);
  free(page);
  return status;
}

static uint32_t *find_word(grove_station *s)
{
  for (word_page *page = s->pages; page; page = page->next)
    for (int i = 0; i < WORDS; i++)
      if (!page->taken[i]) {
        page->taken[i] = 1;
        return (uint32_t *)(page->memory + (size_t)i * LINE);
      }
  return NULL;
}

grove_status grove_station_take_word(grove_station *s, uint32_t **out)
{
  *out = find_word(s);
  if (*out) return GROVE_OK;
  GROVE_PASS(add_page(s));
  *out = find_word(s);
  return GROVE_OK;
}

void grove_station_give_word(grove_station *s, uint32_t *word)
{
  for (word_page *page = s->pages; page; page = page->next) {
    ptrdiff_t at = (char *)word - page->memory;
    if (at >= 0 && at < GROVE_PAGE) page->taken[at / LINE] = 0;
  }
}

/* ---- memory that processes share ---- */

static grove_status add_pin(grove_station *s, void *memory, int64_t bytes)
{
  GROVE_PASS_GROW(s->pins, s->npins, 1);
  GROVE_PASS(s->driver->pin(memory, bytes));
  s->pins[s->npins++] = memory;
  return GROVE_OK;
}

void grove_station_pin(grove_station *s, void *memory, int64_t bytes)
{
  grove_sentence before;
  for (int i = 0; i < s->npins; i++)
    if (s->pins[i] == memory) return;
  grove_error_keep(&before);
  (void)add_pin(s, memory, bytes);
  grove_error_restore(&before);
}

/* ---- making and ending ---- */

/* Waits for this stream only: others may wait for something that is still to be started. */
static grove_status make_counter(const grove_station *s, grove_track *t)
{
  static const uint32_t zero = 0;
  GROVE_PASS(s->driver->allocate(s->device, sizeof zero, (void **)&t->counter));
  GROVE_PASS(s->driver->copy(s->device, t->stream, t->counter, &zero, sizeof zero));
  return s->driver->finish(s->device, t->stream);
}

static grove_status make_track(grove_station *s, grove_track *t)
{
  GROVE_PASS(grove_station_take_word(s, &t->word));
  t->reached = s->driver->reach(s->device, t->word);
  GROVE_PASS_NEW(t->batch, 1);
  GROVE_PASS(s->driver->create_stream(s->device, &t->stream));
  return make_counter(s, t);
}

static grove_status make_station(grove_context *ctx, const grove_driver *driver, int device,
                                 grove_station **out)
{
  grove_status status = GROVE_OK;
  grove_station *s = NULL;
  GROVE_NEW(s, 1);
  s->ctx = ctx;
  s->driver = driver;
  s->device = device;
  GROVE_TRY(driver->create_event(device, &s->event));
  for (int h = 0; h < GROVE_HEADINGS; h++) GROVE_TRY(make_track(s, &s->tracks[h]));
  *out = s;
  return GROVE_OK;
fail:
  if (s) free_station(s);
  return status;
}

grove_status grove_station_find(grove_context *ctx, const grove_driver *driver, int device,
                                grove_station **out)
{
  for (grove_station *s = ctx->stations; s; s = s->next)
    if (s->driver == driver && s->device == device) {
      *out = s;
      return GROVE_OK;
    }
  GROVE_PASS(make_station(ctx, driver, device, out));
  (*out)->next = ctx->stations;
  __atomic_store_n(&ctx->stations, *out, __ATOMIC_RELEASE);
  ctx->close_stations = close_stations;
  return GROVE_OK;
}

/* ---- batches ---- */

static grove_status enqueue_copies(grove_station *s, const grove_track *t,
                                   const grove_copy_list *copies)
{
  for (const grove_device_copy *c = copies->list; c < copies->list + copies->n; c++)
    if (c->is_far && s->carry)
      GROVE_PASS(s->carry(s, t->stream, c));
    else
      GROVE_PASS(s->driver->copy(s->device, t->stream, c->to, c->from, c->bytes));
  return GROVE_OK;
}

static grove_status enqueue_launch(grove_station *s, const grove_track *t,
                                   const grove_watched_launch *w)
{
  if (w->launch.njobs == 0) return GROVE_OK;
  return s->driver->launch(s->device, t->stream, &w->launch, w->accesses, w->naccesses);
}

static int is_empty(const grove_device_batch *b)
{
  return b->copies_ahead.n == 0 && b->before.n == 0 && b->after.n == 0 &&
         b->ahead.launch.njobs == 0 && b->main.launch.njobs == 0;
}

static void clear_batch(grove_device_batch *b)
{
  b->copies_ahead.n = b->before.n = b->after.n = 0;
  b->ahead.launch.njobs = b->ahead.naccesses = 0;
  b->main.launch.njobs = b->main.naccesses = 0;
  b->asker = NULL;
  b->has_ordered = 0;
  b->bytes = 0;
}

/* Others wait for what comes after it, so this is tried twice. */
grove_status grove_station_count(grove_station *s, grove_heading heading)
{
  grove_track *t = &s->tracks[heading];
  grove_sentence sentence;
  uint32_t number = (uint32_t)++t->enqueued;
  grove_status status = s->driver->write(s->device, t->stream, t->word, number);
  if (status == GROVE_OK) return GROVE_OK;
  grove_error_keep(&sentence);
  t->broken |= s->driver->write(s->device, t->stream, t->word, number) != GROVE_OK;
  grove_error_restore(&sentence);
  return status;
}

/* What failed is not tried again; those that wait for it go on, and are told. */
static void count_failed(grove_station *s, grove_heading heading)
{
  grove_sentence sentence;
  grove_error_keep(&sentence);
  clear_batch(s->tracks[heading].batch);
  (void)grove_station_count(s, heading);
  grove_error_restore(&sentence);
}

/* Kernels at the end of a batch write its number themselves: one thing less to enqueue. */
static int counts_itself(const grove_track *t)
{
  grove_launch *l = &t->batch->main.launch;
  int counts = t->reached && t->batch->after.n == 0 && grove_launch_size(l) > 0;
  l->word = counts ? t->reached : NULL;
  l->counter = t->counter;
  l->value = (uint32_t)(t->enqueued + 1);
  return counts;
}

static grove_status enqueue_batch(grove_station *s, grove_heading heading)
{
  grove_status status = GROVE_OK;
  grove_track *t = &s->tracks[heading];
  grove_device_batch *b = t->batch;
  int counts = counts_itself(t);
  GROVE_CHECK(!t->broken, GROVE_ERR_DEVICE, "an earlier failure of the device was not overcome");
  GROVE_TRY(enqueue_copies(s, t, &b->copies_ahead));
  GROVE_TRY(enqueue_launch(s, t, &b->ahead));
  GROVE_TRY(enqueue_copies(s, t, &b->before));
  GROVE_TRY(enqueue_launch(s, t, &b->main));
  GROVE_TRY(enqueue_copies(s, t, &b->after));
  clear_batch(b);
  t->enqueued += counts;
  return counts ? GROVE_OK : grove_station_count(s, heading);
fail:
  count_failed(s, heading);
  return status;
}

grove_status grove_station_flush(grove_station *s, grove_heading heading, const grove_asker *by)
{
  grove_sentence before;
  grove_asker *asker = s->tracks[heading].batch->asker;
  if (is_empty(s->tracks[heading].batch)) return GROVE_OK;
  if (asker == by) return enqueue_batch(s, heading);
  grove_error_keep(&before);
  grove_status status = enqueue_batch(s, heading);
  if (status != GROVE_OK && asker->failure == GROVE_OK) {
    asker->failure = status;
    grove_error_keep(&asker->sentence);
  }
  grove_error_restore(&before);
  return GROVE_OK;
}

grove_status grove_asker_told(grove_asker *asker)
{
  grove_status failure = asker->failure;
  if (failure != GROVE_OK) grove_error_restore(&asker->sentence);
  asker->failure = GROVE_OK;
  return failure;
}

/* To begin a small batch takes longer than all it does. A large one keeps the device busy. */
int grove_station_may_gather(const grove_station *s, grove_heading heading)
{
  const grove_track *t = &s->tracks[heading];
  return t->batch->bytes < GATHERED && grove_track_passed(t) < t->enqueued;
}

int64_t grove_track_begun(const grove_track *t, const grove_asker *asker)
{
  return t->enqueued + (t->batch->asker == asker && !is_empty(t->batch));
}

int64_t grove_track_passed(const grove_track *t)
{
  uint32_t done = __atomic_load_n(t->word, __ATOMIC_ACQUIRE);
  if (t->broken) return t->enqueued + 1;
  return t->enqueued - (int64_t)(uint32_t)((uint32_t)t->enqueued - done);
}

/* ---- the user's stream ---- */

grove_status grove_station_settle(grove_context *ctx)
{
  grove_pause pause;
  if (__atomic_load_n(&ctx->promises, __ATOMIC_RELAXED) == 0) return GROVE_OK;
  grove_context_enter(ctx);
  double timeout = ctx->options.timeout_seconds;
  grove_context_leave(ctx);
  grove_pause_begin(&pause, 0);
  while (__atomic_load_n(&ctx->promises, __ATOMIC_RELAXED) > 0) {
    GROVE_PASS_CHECK(!grove_pause_expired(&pause, timeout), GROVE_ERR_TIMEOUT,
                     "rank %d waited %g s for operations that streams wait for", ctx->rank,
                     timeout);
    if (grove_context_try(ctx)) {
      grove_context_progress(ctx);
      grove_context_leave(ctx);
    }
    grove_pause_step(&pause);
  }
  return GROVE_OK;
}

grove_status grove_station_follow_event(grove_station *s, grove_heading heading, grove_event *event)
{
  GROVE_PASS(grove_station_flush(s, heading, NULL));
  return s->driver->after(s->device, s->tracks[heading].stream, event);
}

/* An event is recorded on streams of its device only; those of others may wait for it. */
static grove_status follow_stream(grove_station *s, int device, grove_stream *stream)
{
  grove_station *home = NULL;
  GROVE_PASS_CHECK(!s->driver->is_capturing(device, stream), GROVE_ERR_UNSUPPORTED,
                   "rank %d: the stream is being captured into a graph, and this needs the host",
                   s->ctx->rank);
  GROVE_PASS(grove_station_find(s->ctx, s->driver, device, &home));
  GROVE_PASS(s->driver->record(device, home->event, stream));
  for (grove_heading h = GROVE_OUT; h < GROVE_HEADINGS; h++)
    GROVE_PASS(grove_station_follow_event(s, h, home->event));
  return GROVE_OK;
}

grove_status grove_station_follow(grove_station *s, grove_stream *stream)
{
  return follow_stream(s, s->driver->device_of(stream, s->device), stream);
}

grove_status grove_station_follow_default(grove_station *s, int device)
{
  return follow_stream(s, device, NULL);
}
