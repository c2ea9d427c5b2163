/* What can be enqueued on a stream of the emulated device: copies, launches, words and events. What
 * each reads and writes is checked, and noted for the order (emulated_order.c). So is what the host
 * does, and memory that goes while something enqueued uses it.
 */
#include "device/emulated_engine.h"

#include <stdlib.h>

static void note_accesses(const grove_task *t, const char *what, const grove_access *accesses,
                          int naccesses)
{
  const grove_stream *s = t->stream;
  if (s->is_unsure) return;
  grove_actor who = {what, s->slot, s->is_default, t->number};
  grove_order_access(&who, &s->order, accesses, naccesses);
}

/* ---- copies ---- */

/* Neither of a device nor pinned. */
static int is_pageable(const void *begin, int64_t bytes)
{
  return !grove_store_is_given(begin) && !grove_store_is_pinned(begin, bytes);
}

static grove_status check_side(const void *begin, int64_t bytes)
{
  return grove_store_is_given(begin) ? grove_store_check("copy", begin, bytes) : GROVE_OK;
}

grove_status grove_engine_copy(int device, grove_stream *stream, void *to, const void *from,
                               int64_t bytes)
{
  grove_status status = GROVE_OK;
  grove_task *t = NULL;
  grove_engine_lock();
  if (bytes > 0) {
    GROVE_TRY(check_side(to, bytes));
    GROVE_TRY(check_side(from, bytes));
  }
  GROVE_TRY(grove_task_make(device, stream, GROVE_WORK_COPY, &t));
  t->to = to;
  t->from = from;
  t->bytes = bytes;
  grove_task_enqueue(t);
  const grove_access accesses[] = {{from, bytes, 0}, {to, bytes, 1}};
  note_accesses(t, "copy", accesses, 2);
  if (is_pageable(to, bytes) || is_pageable(from, bytes)) {
    grove_order order = t->stream->order;
    grove_engine_wait((grove_stream_point){t->stream, t->number});
    grove_order_forget(&order);
  }
fail:
  grove_engine_unlock();
  return status;
}

/* ---- launches ---- */

static int items_of(const grove_launch *launch, int job)
{
  return launch->jobs[job].end > (job > 0 ? launch->jobs[job - 1].end : 0);
}

/* The host's address of pinned memory that kernels reach. */
static char *host_address(const void *reached)
{
  return (char *)reached + grove_device_offset;
}

static grove_status check_reached(const char *what, const void *begin, int64_t bytes)
{
  if (grove_store_is_pinned(host_address(begin), bytes)) return GROVE_OK;
  return grove_store_check(what, begin, bytes);
}

/* Slot 0 of an array need not lie in it. The rest must be the device's, or what it reaches. */
static grove_status check_launch(const grove_launch *launch, const grove_access *accesses,
                                 int naccesses)
{
  GROVE_PASS_CHECK(grove_launcher_is_able(), GROVE_ERR_DEVICE,
                   "the emulated device has no kernels");
  GROVE_PASS_CHECK(launch->njobs >= 0 && launch->njobs <= GROVE_JOBS, GROVE_ERR_DEVICE,
                   "a launch has %d jobs; at most %d are possible", (int)launch->njobs, GROVE_JOBS);
  for (int i = 0; i < launch->njobs; i++) {
    if (!items_of(launch, i)) continue;
    GROVE_PASS(grove_store_check("recipe of a launch", launch->jobs[i].recipe, 1));
    GROVE_PASS(check_reached("message of a launch", launch->jobs[i].message, 1));
  }
  for (int i = 0; i < naccesses; i++)
    if (accesses[i].bytes > 0)
      GROVE_PASS(check_reached("access of a launch", accesses[i].begin, accesses[i].bytes));
  return GROVE_OK;
}

/* The same accesses, under the addresses that copies have. */
static grove_status rename_accesses(const grove_access *accesses, int naccesses, grove_access **out)
{
  GROVE_PASS_ROOM(*out, naccesses);
  for (int i = 0; i < naccesses; i++) {
    (*out)[i] = accesses[i];
    if (!grove_store_is_given(accesses[i].begin)) (*out)[i].begin = host_address(accesses[i].begin);
  }
  return GROVE_OK;
}

grove_status grove_engine_launch(int device, grove_stream *stream, const grove_launch *launch,
                                 const grove_access *accesses, int naccesses)
{
  grove_status status = GROVE_OK;
  grove_task *t = NULL;
  grove_access *renamed = NULL;
  grove_engine_lock();
  GROVE_TRY(check_launch(launch, accesses, naccesses));
  GROVE_TRY(rename_accesses(accesses, naccesses, &renamed));
  GROVE_TRY(grove_task_make(device, stream, GROVE_WORK_LAUNCH, &t));
  GROVE_ROOM(t->launch, 1);
  *t->launch = *launch;
  grove_task_enqueue(t);
  note_accesses(t, "launch", renamed, naccesses);
  grove_engine_unlock();
  free(renamed);
  return GROVE_OK;
fail:
  grove_engine_unlock();
  free(renamed);
  grove_task_free(t);
  return status;
}

/* ---- words ---- */

static grove_status check_word(const char *what, const uint32_t *word)
{
  GROVE_PASS_CHECK((uintptr_t)word % sizeof *word == 0, GROVE_ERR_DEVICE,
                   "%s: no word begins at %p", what, (void *)(size_t)word);
  if (grove_store_is_given(word)) return grove_store_check(what, word, sizeof *word);
  GROVE_PASS_CHECK(grove_store_is_pinned(word, sizeof *word), GROVE_ERR_DEVICE,
                   "%s: the word at %p is neither in pinned memory nor in the device's", what,
                   (void *)(size_t)word);
  return GROVE_OK;
}

static grove_status enqueue_word(int device, grove_stream *stream, grove_work kind, uint32_t *word,
                                 uint32_t value)
{
  grove_task *t = NULL;
  GROVE_PASS(check_word(kind == GROVE_WORK_WRITE ? "write" : "await", word));
  GROVE_PASS(grove_task_make(device, stream, kind, &t));
  t->word = word;
  t->value = value;
  grove_task_enqueue(t);
  if (kind == GROVE_WORK_WRITE && !grove_store_is_given(word))
    grove_order_wrote(word, value, &t->stream->order);
  if (kind == GROVE_WORK_AWAIT && !grove_store_is_given(word) && !grove_order_is_written(word))
    t->stream->is_unsure = 1;
  return GROVE_OK;
}

grove_status grove_engine_write(int device, grove_stream *stream, uint32_t *word, uint32_t value)
{
  grove_engine_lock();
  grove_status status = enqueue_word(device, stream, GROVE_WORK_WRITE, word, value);
  grove_engine_unlock();
  return status;
}

grove_status grove_engine_await(int device, grove_stream *stream, uint32_t *word, uint32_t value)
{
  grove_engine_lock();
  grove_status status = enqueue_word(device, stream, GROVE_WORK_AWAIT, word, value);
  grove_engine_unlock();
  return status;
}

/* ---- events ---- */

grove_status grove_engine_create_event(int device, grove_event **out)
{
  GROVE_PASS_NEW(*out, 1);
  (*out)->device = device;
  return GROVE_OK;
}

void grove_engine_free_event(grove_event *event)
{
  free(event);
}

/* Both are tasks that do nothing: so they take part in the default stream's rule. */
grove_status grove_engine_record(int device, grove_event *event, grove_stream *stream)
{
  grove_status status = GROVE_OK;
  grove_task *t = NULL;
  grove_engine_lock();
  GROVE_CHECK(event->device == device, GROVE_ERR_DEVICE,
              "an event of the emulated device %d cannot be recorded on device %d", event->device,
              device);
  GROVE_TRY(grove_task_make(device, stream, GROVE_WORK_NOTHING, &t));
  grove_task_enqueue(t);
  event->point = (grove_stream_point){t->stream, t->number};
  event->order = t->stream->order;
fail:
  grove_engine_unlock();
  return status;
}

grove_status grove_engine_after(int device, grove_stream *stream, grove_event *event)
{
  grove_status status = GROVE_OK;
  grove_task *t = NULL;
  grove_engine_lock();
  if (event->point.stream) {
    GROVE_TRY(grove_task_make(device, stream, GROVE_WORK_NOTHING, &t));
    grove_task_add(t, event->point);
    grove_order_join(&t->stream->order, &event->order);
    grove_task_enqueue(t);
  }
fail:
  grove_engine_unlock();
  return status;
}

/* ---- the host ---- */

void grove_engine_host_saw(const uint32_t *word, uint32_t value)
{
  grove_engine_lock();
  grove_order_saw(word, value);
  grove_engine_unlock();
}

void grove_engine_host_access(const grove_access *access)
{
  grove_engine_lock();
  grove_order_host(access);
  grove_engine_unlock();
}

/* ---- memory that goes ---- */

static int uses_memory(const grove_task *t, const void *begin, int64_t bytes)
{
  int found = 0;
  if (t->kind == GROVE_WORK_COPY)
    found = grove_emulated_overlap(t->to, t->bytes, begin, bytes) ||
            grove_emulated_overlap(t->from, t->bytes, begin, bytes);
  if (t->word) found = grove_emulated_overlap(t->word, sizeof *t->word, begin, bytes);
  for (int i = 0; t->launch && i < t->launch->njobs && !found; i++) {
    const grove_job *job = &t->launch->jobs[i];
    const char *message = job->message;
    if (!grove_store_is_given(message)) message = host_address(message);
    found = items_of(t->launch, i) && (grove_emulated_overlap(job->recipe, 1, begin, bytes) ||
                                       grove_emulated_overlap(message, 1, begin, bytes));
  }
  return found;
}

static void tell_release(const grove_task *t, const void *begin, int64_t bytes)
{
  static const char *const names[] = {"nothing", "copy", "launch", "write", "await"};
  grove_order_tell("%lld bytes at %p are freed while %s %llu of stream %d is enqueued, which uses "
                   "them",
                   (long long)bytes, (void *)(size_t)begin, names[t->kind],
                   (unsigned long long)t->number, t->stream->slot);
}

int grove_engine_release(const void *begin, int64_t bytes)
{
  int is_free = 1;
  grove_engine_lock();
  for (int i = 0; i < grove_engine.nstreams; i++)
    for (const grove_task *t = grove_engine.streams[i]->first; t; t = t->next)
      if (uses_memory(t, begin, bytes)) {
        tell_release(t, begin, bytes);
        is_free = 0;
      }
  grove_order_gone(begin, bytes);
  grove_engine_unlock();
  return is_free;
}
