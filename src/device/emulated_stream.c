/* Streams of the emulated device: which there are, what a task gets when it is enqueued on one,
 * and how the host waits for all of one. The default stream has a rule of its own.
 */
#include "device/emulated_engine.h"

#include <string.h>

/* ---- streams ---- */

/* A place where all is done and that no stream has any more, or a new one. */
static grove_status find_slot(grove_stream **out)
{
  for (int i = 0; i < grove_engine.nstreams; i++)
    if (!grove_engine.streams[i]->is_alive && !grove_engine.streams[i]->first) {
      *out = grove_engine.streams[i];
      return GROVE_OK;
    }
  GROVE_PASS_CHECK(grove_engine.nstreams < GROVE_ORDER_STREAMS, GROVE_ERR_MEMORY,
                   "the emulated device has no more than %d streams", GROVE_ORDER_STREAMS);
  grove_stream *s = NULL;
  GROVE_PASS_NEW(s, 1);
  s->slot = grove_engine.nstreams;
  grove_engine.streams[grove_engine.nstreams++] = s;
  *out = s;
  return GROVE_OK;
}

static grove_status make_stream(int device, int is_default, grove_stream **out)
{
  GROVE_PASS(grove_engine_start());
  GROVE_PASS(find_slot(out));
  grove_stream *s = *out;
  s->device = device;
  s->is_alive = 1;
  s->is_default = is_default;
  memset(&s->order, 0, sizeof s->order);
  s->order.of[s->slot] = s->enqueued;
  return GROVE_OK;
}

grove_status grove_engine_create(int device, grove_stream **out)
{
  grove_engine_lock();
  grove_status status = make_stream(device, 0, out);
  grove_engine_unlock();
  return status;
}

void grove_engine_free(grove_stream *stream)
{
  grove_engine_lock();
  if (stream) stream->is_alive = 0;
  grove_engine_unlock();
}

static grove_status default_stream(int device, grove_stream **out)
{
  if (!grove_engine.defaults[device])
    GROVE_PASS(make_stream(device, 1, &grove_engine.defaults[device]));
  *out = grove_engine.defaults[device];
  return GROVE_OK;
}

static int is_known(const grove_stream *given)
{
  for (int i = 0; i < grove_engine.nstreams; i++)
    if (grove_engine.streams[i] == given) return given->is_alive;
  return 0;
}

int grove_engine_device_of(grove_stream *stream, int otherwise)
{
  grove_engine_lock();
  int device = stream && is_known(stream) ? stream->device : otherwise;
  grove_engine_unlock();
  return device;
}

/* What a caller means by a stream. */
static grove_status resolve_stream(int device, grove_stream *given, grove_stream **out)
{
  if (!given) return default_stream(device, out);
  GROVE_PASS_CHECK(is_known(given) && given->device == device, GROVE_ERR_DEVICE,
                   "%p is no stream of the emulated device %d", (void *)given, device);
  *out = given;
  return GROVE_OK;
}

/* ---- enqueue ---- */

void grove_task_add(grove_task *t, grove_stream_point p)
{
  if (p.stream && !grove_stream_point_passed(&p)) t->points[t->npoints++] = p;
}

static void add_stream(grove_task *t, grove_stream *other)
{
  grove_task_add(t, (grove_stream_point){other, other->enqueued});
  grove_order_join(&t->stream->order, &other->order);
}

/* The default stream waits for all streams of its device, and they for it. */
static void add_default_rule(grove_task *t)
{
  grove_stream *s = t->stream, *its_default = grove_engine.defaults[s->device];
  if (!s->is_default && its_default) add_stream(t, its_default);
  for (int i = 0; s->is_default && i < grove_engine.nstreams; i++)
    if (grove_engine.streams[i] != s && grove_engine.streams[i]->device == s->device)
      add_stream(t, grove_engine.streams[i]);
}

grove_status grove_task_make(int device, grove_stream *stream, grove_work kind, grove_task **out)
{
  grove_stream *s = NULL;
  GROVE_PASS(resolve_stream(device, stream, &s));
  size_t npoints = 1 + (s->is_default ? (size_t)grove_engine.nstreams : 1);
  grove_task *t = grove_memory(1, sizeof *t + npoints * sizeof(grove_stream_point));
  GROVE_PASS_CHECK(t, GROVE_ERR_MEMORY, "no memory for an operation of the emulated device");
  t->stream = s;
  t->kind = kind;
  *out = t;
  return GROVE_OK;
}

void grove_task_enqueue(grove_task *t)
{
  grove_stream *s = t->stream;
  add_default_rule(t);
  t->number = s->order.of[s->slot] = ++s->enqueued;
  t->ticket = ++grove_engine.tickets;
  t->seed = grove_emulated_draw(&grove_engine.random);
  grove_task_delay(t);
  if (grove_engine.has_clock) t->at = grove_clock_call();
  if (s->last)
    s->last->next = t;
  else
    s->first = t;
  s->last = t;
  pthread_cond_signal(&grove_engine.work);
}

/* ---- the host waits ---- */

static void finish_stream(grove_stream *s)
{
  grove_order order = s->order;
  s->is_unsure = 0;
  grove_engine_wait((grove_stream_point){s, s->enqueued});
  grove_order_forget(&order);
}

grove_status grove_engine_finish(int device, grove_stream *stream)
{
  grove_status status = GROVE_OK;
  grove_stream *s = NULL;
  grove_engine_lock();
  GROVE_TRY(resolve_stream(device, stream, &s));
  for (int i = 0; s->is_default && i < grove_engine.nstreams; i++)
    if (grove_engine.streams[i]->device == device) finish_stream(grove_engine.streams[i]);
  if (!s->is_default) finish_stream(s);
fail:
  grove_engine_unlock();
  return status;
}

void grove_engine_drain(int device)
{
  grove_engine_lock();
  for (int i = 0; i < grove_engine.nstreams; i++)
    if (grove_engine.streams[i]->device == device)
      grove_engine_wait(
        (grove_stream_point){grove_engine.streams[i], grove_engine.streams[i]->enqueued});
  grove_engine_unlock();
}
