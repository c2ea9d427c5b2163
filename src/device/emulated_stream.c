/* Streams of the emulated device, and the thread that does what is enqueued on them: the engine. It
 * goes on whatever the program does, since streams of other processes may wait for it.
 *
 * Everything enqueued is an *operation*, with a number in its stream. It begins when those before
 * it in its stream are done and when other streams have passed the points that it waits for. Such
 * points are events, and what holds for the default stream.
 */
#include "base/pause.h"
#include "device/emulated_parts.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* See GROVE_TEMPER_LAZY. */
static const double LAZY_SECONDS = 20e-3, LAZY_WORK_SECONDS = 50e-6;

/* The longest random delay; one operation in this many has one. */
static const double RANDOM_SECONDS = 200e-6;
enum { RANDOM_ONE_IN = 4 };

/* How often the engine looks for words of others before it sleeps between two looks, longer and
 * longer. */
enum { LOOKS = 20 };
static const int64_t SHORT_NAP = 20000, LONG_NAP = 200000; /* nanoseconds */

typedef enum work_kind { WORK_NOTHING, WORK_COPY, WORK_LAUNCH, WORK_WRITE, WORK_AWAIT } work_kind;

/* A stream that has done this many. */
typedef struct point {
  grove_stream *stream;
  uint64_t number;
} point;

typedef struct operation {
  struct operation *next;
  grove_stream *stream;
  uint64_t number;
  uint64_t ticket; /* among all of the process */
  work_kind kind;
  int demanded; /* somebody waits for it */
  int patient;  /* lazy: also until this thread has computed so long */
  clockid_t thread;
  double thread_due, due;
  void *to;
  const void *from;
  int64_t bytes;
  uint32_t *word, value;
  grove_launch *launch;
  uint64_t seed;
  int npoints;
  point points[];
} operation;

struct CUstream_st {
  int slot; /* its place in clocks */
  int device;
  int is_alive, is_default;
  uint64_t enqueued, done; /* numbers; a stream that takes its place goes on counting */
  operation *first, *last;
  grove_order order; /* what came before its last operation, with that operation */
  int is_unsure;     /* the host put it behind something, by a word, and nobody knows what */
};

struct grove_event {
  int device;
  point point; /* no stream: never recorded */
  grove_order order;
};

static struct {
  pthread_mutex_t lock;
  pthread_cond_t work, done;
  pthread_t thread;
  pid_t process; /* whose thread it is; 0: none */
  int stop;
  grove_stream *streams[GROVE_ORDER_STREAMS]; /* they stay: events know them */
  int nstreams;
  grove_stream *defaults[GROVE_EMULATED_DEVICES];
  uint64_t tickets;
  int strict;
  grove_temper temper;
  uint64_t random;
} engine = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void lock_engine(void)
{
  pthread_mutex_lock(&engine.lock);
}

static void unlock_engine(void)
{
  pthread_mutex_unlock(&engine.lock);
}

/* ---- which operation is next ---- */

static int point_passed(const point *p)
{
  return p->stream->done >= p->number;
}

static int word_came(const operation *o)
{
  const uint32_t *word = grove_emulated_alias(o->word);
  return (int32_t)(__atomic_load_n(word, __ATOMIC_ACQUIRE) - o->value) >= 0;
}

static double clock_seconds(clockid_t clock)
{
  struct timespec t;
  if (clock_gettime(clock, &t) != 0) return 1e300; /* the thread is gone */
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int is_due(const operation *o)
{
  return o->demanded || grove_clock() >= o->due ||
         (o->patient && clock_seconds(o->thread) >= o->thread_due);
}

static int is_ready(const operation *o)
{
  for (int i = 0; i < o->npoints; i++)
    if (!point_passed(&o->points[i])) return 0;
  return is_due(o) && (o->kind != WORK_AWAIT || word_came(o));
}

/* Is it the first of two that may be done? `met` have been compared so far. */
static int is_preferred(const operation *a, const operation *b, int met)
{
  if (engine.temper == GROVE_TEMPER_RANDOM)
    return grove_emulated_draw(&engine.random) % (uint64_t)met == 0;
  return (a->ticket < b->ticket) == (engine.temper == GROVE_TEMPER_EAGER);
}

static operation *choose_operation(void)
{
  operation *chosen = NULL;
  int met = 0;
  for (int i = 0; i < engine.nstreams; i++) {
    operation *o = engine.streams[i]->first;
    if (!o || !is_ready(o)) continue;
    if (++met == 1 || is_preferred(o, chosen, met)) chosen = o;
  }
  return chosen;
}

static int has_work(void)
{
  for (int i = 0; i < engine.nstreams; i++)
    if (engine.streams[i]->first) return 1;
  return 0;
}

/* ---- doing it ---- */

static void perform_work(const operation *o)
{
  switch (o->kind) {
  case WORK_COPY:
    memmove(grove_emulated_alias(o->to), grove_emulated_alias(o->from), (size_t)o->bytes);
    break;
  case WORK_LAUNCH: grove_launcher_run(o->launch, o->seed); break;
  case WORK_WRITE:
    __atomic_store_n((uint32_t *)grove_emulated_alias(o->word), o->value, __ATOMIC_RELEASE);
    break;
  case WORK_AWAIT:
  case WORK_NOTHING: break;
  }
}

static void free_operation(operation *o)
{
  if (o) free(o->launch);
  free(o);
}

static void retire_operation(operation *o)
{
  grove_stream *s = o->stream;
  s->first = o->next;
  if (!s->first) s->last = NULL;
  s->done = o->number;
  free_operation(o);
  pthread_cond_broadcast(&engine.done);
}

/* Notes what the host has seen of it, before the host can see it. */
static void note_word(const operation *o)
{
  if (o->kind != WORK_WRITE || engine.strict || grove_store_is_given(o->word)) return;
  grove_order_saw(o->word, o->value);
}

static void run_operation(operation *o)
{
  note_word(o);
  unlock_engine();
  perform_work(o);
  lock_engine();
  retire_operation(o);
}

/* ---- the thread ---- */

static void sleep_engine(int64_t nanoseconds)
{
  struct timespec until;
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_nsec += nanoseconds;
  until.tv_sec += until.tv_nsec / 1000000000;
  until.tv_nsec %= 1000000000;
  pthread_cond_timedwait(&engine.work, &engine.lock, &until);
}

/* There is work, and none of it can be done. It waits for the clock, or for a word that somebody
 * else writes. */
static void look_again(int64_t looks)
{
  if (looks < LOOKS) {
    unlock_engine();
    sched_yield();
    lock_engine();
  } else {
    int64_t nap = (looks - LOOKS + 1) * SHORT_NAP;
    sleep_engine(nap < LONG_NAP ? nap : LONG_NAP);
  }
}

static void *run_engine(void *unused)
{
  (void)unused;
  lock_engine();
  for (int64_t looks = 0; !engine.stop;) {
    operation *o = choose_operation();
    if (o) {
      run_operation(o);
      looks = 0;
    } else if (has_work()) {
      look_again(looks++);
    } else {
      pthread_cond_wait(&engine.work, &engine.lock);
      looks = 0;
    }
  }
  unlock_engine();
  return NULL;
}

/* The process ends, and what has not begun is not done. A program may end itself in a kernel, or
 * with the lock in its hands. Then nobody waits. */
static void stop_engine(void)
{
  struct timespec until;
  if (engine.process != getpid() || pthread_equal(pthread_self(), engine.thread)) return;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec++;
  if (pthread_mutex_timedlock(&engine.lock, &until) != 0) return;
  engine.stop = 1;
  pthread_cond_signal(&engine.work);
  unlock_engine();
  pthread_join(engine.thread, NULL);
  grove_launcher_stop();
}

static void make_conditions(void)
{
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&engine.work, &attributes);
  pthread_cond_init(&engine.done, &attributes);
  pthread_condattr_destroy(&attributes);
}

/* Signals are left to the program. */
static grove_status start_engine(void)
{
  sigset_t all, before;
  if (engine.process) return GROVE_OK;
  make_conditions();
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int failed = pthread_create(&engine.thread, NULL, run_engine, NULL);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  GROVE_PASS_CHECK(!failed, GROVE_ERR_DEVICE, "no thread for the emulated device: %s",
                   strerror(failed));
  engine.process = getpid();
  atexit(stop_engine);
  return GROVE_OK;
}

/* ---- streams ---- */

/* A place where all is done and that no stream has any more, or a new one. */
static grove_status find_slot(grove_stream **out)
{
  for (int i = 0; i < engine.nstreams; i++)
    if (!engine.streams[i]->is_alive && !engine.streams[i]->first) {
      *out = engine.streams[i];
      return GROVE_OK;
    }
  GROVE_PASS_CHECK(engine.nstreams < GROVE_ORDER_STREAMS, GROVE_ERR_MEMORY,
                   "the emulated device has no more than %d streams", GROVE_ORDER_STREAMS);
  grove_stream *s = NULL;
  GROVE_PASS_NEW(s, 1);
  s->slot = engine.nstreams;
  engine.streams[engine.nstreams++] = s;
  *out = s;
  return GROVE_OK;
}

static grove_status make_stream(int device, int is_default, grove_stream **out)
{
  GROVE_PASS(start_engine());
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
  lock_engine();
  grove_status status = make_stream(device, 0, out);
  unlock_engine();
  return status;
}

void grove_engine_free(grove_stream *stream)
{
  lock_engine();
  if (stream) stream->is_alive = 0;
  unlock_engine();
}

static grove_status default_stream(int device, grove_stream **out)
{
  if (!engine.defaults[device]) GROVE_PASS(make_stream(device, 1, &engine.defaults[device]));
  *out = engine.defaults[device];
  return GROVE_OK;
}

static int is_known(const grove_stream *given)
{
  for (int i = 0; i < engine.nstreams; i++)
    if (engine.streams[i] == given) return given->is_alive;
  return 0;
}

int grove_engine_device_of(grove_stream *stream, int otherwise)
{
  lock_engine();
  int device = stream && is_known(stream) ? stream->device : otherwise;
  unlock_engine();
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

/* Lets an operation wait until `number` operations of the stream are done. */
static void add_point(operation *o, point p)
{
  if (p.stream && !point_passed(&p)) o->points[o->npoints++] = p;
}

static void add_stream(operation *o, grove_stream *other)
{
  add_point(o, (point){other, other->enqueued});
  grove_order_join(&o->stream->order, &other->order);
}

/* The default stream waits for all streams of its device, and they for it. */
static void add_default_rule(operation *o)
{
  grove_stream *s = o->stream, *its_default = engine.defaults[s->device];
  if (!s->is_default && its_default) add_stream(o, its_default);
  for (int i = 0; s->is_default && i < engine.nstreams; i++)
    if (engine.streams[i] != s && engine.streams[i]->device == s->device)
      add_stream(o, engine.streams[i]);
}

static void set_delay(operation *o)
{
  o->due = grove_clock();
  if (engine.temper == GROVE_TEMPER_LAZY) {
    o->due += LAZY_SECONDS;
    o->patient = pthread_getcpuclockid(pthread_self(), &o->thread) == 0;
    if (o->patient) o->thread_due = clock_seconds(o->thread) + LAZY_WORK_SECONDS;
  } else if (engine.temper == GROVE_TEMPER_RANDOM &&
             grove_emulated_draw(&engine.random) % RANDOM_ONE_IN == 0) {
    o->due += RANDOM_SECONDS * (double)(grove_emulated_draw(&engine.random) % 1000) / 1000;
  }
}

/* A new operation, which nobody but the caller knows yet. */
static grove_status make_operation(int device, grove_stream *stream, work_kind kind,
                                   operation **out)
{
  grove_stream *s = NULL;
  GROVE_PASS(resolve_stream(device, stream, &s));
  size_t npoints = 1 + (s->is_default ? (size_t)engine.nstreams : 1);
  operation *o = grove_memory(1, sizeof *o + npoints * sizeof(point));
  GROVE_PASS_CHECK(o, GROVE_ERR_MEMORY, "no memory for an operation of the emulated device");
  o->stream = s;
  o->kind = kind;
  *out = o;
  return GROVE_OK;
}

/* Gives it its place. What it waits for besides was added before. */
static void enqueue_operation(operation *o)
{
  grove_stream *s = o->stream;
  add_default_rule(o);
  o->number = s->order.of[s->slot] = ++s->enqueued;
  o->ticket = ++engine.tickets;
  o->seed = grove_emulated_draw(&engine.random);
  set_delay(o);
  if (s->last)
    s->last->next = o;
  else
    s->first = o;
  s->last = o;
  pthread_cond_signal(&engine.work);
}

static void note_accesses(const operation *o, const char *what, const grove_access *accesses,
                          int naccesses)
{
  const grove_stream *s = o->stream;
  if (s->is_unsure) return;
  grove_actor who = {what, s->slot, s->is_default, o->number};
  grove_order_access(&who, &s->order, accesses, naccesses);
}

/* ---- waiting ---- */

static void demand_point(const point *p);

/* Somebody may write the word here. Whoever waits for the word wants this done. */
static void demand_writes(const uint32_t *word)
{
  for (int i = 0; i < engine.nstreams; i++)
    for (operation *o = engine.streams[i]->first; o; o = o->next)
      if (o->kind == WORK_WRITE && o->word == word && !o->demanded)
        demand_point(&(point){o->stream, o->number});
}

/* Asks for all up to there, and for what that waits for. */
static void demand_point(const point *p)
{
  for (operation *o = p->stream->first; o && o->number <= p->number; o = o->next) {
    if (o->demanded) continue;
    o->demanded = 1;
    for (int i = 0; i < o->npoints; i++) demand_point(&o->points[i]);
    if (o->kind == WORK_AWAIT) demand_writes(o->word);
  }
}

/* Keeps the host here until it is done. */
static void wait_point(point p)
{
  demand_point(&p);
  pthread_cond_signal(&engine.work);
  while (!point_passed(&p)) pthread_cond_wait(&engine.done, &engine.lock);
}

static void finish_stream(grove_stream *s)
{
  grove_order order = s->order;
  s->is_unsure = 0;
  wait_point((point){s, s->enqueued});
  grove_order_forget(&order);
}

grove_status grove_engine_finish(int device, grove_stream *stream)
{
  grove_status status = GROVE_OK;
  grove_stream *s = NULL;
  lock_engine();
  GROVE_TRY(resolve_stream(device, stream, &s));
  for (int i = 0; s->is_default && i < engine.nstreams; i++)
    if (engine.streams[i]->device == device) finish_stream(engine.streams[i]);
  if (!s->is_default) finish_stream(s);
fail:
  unlock_engine();
  return status;
}

void grove_engine_drain(int device)
{
  lock_engine();
  for (int i = 0; i < engine.nstreams; i++)
    if (engine.streams[i]->device == device)
      wait_point((point){engine.streams[i], engine.streams[i]->enqueued});
  unlock_engine();
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
  operation *o = NULL;
  lock_engine();
  if (bytes > 0) {
    GROVE_TRY(check_side(to, bytes));
    GROVE_TRY(check_side(from, bytes));
  }
  GROVE_TRY(make_operation(device, stream, WORK_COPY, &o));
  o->to = to;
  o->from = from;
  o->bytes = bytes;
  enqueue_operation(o);
  const grove_access accesses[] = {{from, bytes, 0}, {to, bytes, 1}};
  note_accesses(o, "copy", accesses, 2);
  if (is_pageable(to, bytes) || is_pageable(from, bytes)) {
    grove_order order = o->stream->order;
    wait_point((point){o->stream, o->number});
    grove_order_forget(&order);
  }
fail:
  unlock_engine();
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
  operation *o = NULL;
  grove_access *renamed = NULL;
  lock_engine();
  GROVE_TRY(check_launch(launch, accesses, naccesses));
  GROVE_TRY(rename_accesses(accesses, naccesses, &renamed));
  GROVE_TRY(make_operation(device, stream, WORK_LAUNCH, &o));
  GROVE_ROOM(o->launch, 1);
  *o->launch = *launch;
  enqueue_operation(o);
  note_accesses(o, "launch", renamed, naccesses);
  unlock_engine();
  free(renamed);
  return GROVE_OK;
fail:
  unlock_engine();
  free(renamed);
  free_operation(o);
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

static grove_status enqueue_word(int device, grove_stream *stream, work_kind kind, uint32_t *word,
                                 uint32_t value)
{
  operation *o = NULL;
  GROVE_PASS(check_word(kind == WORK_WRITE ? "write" : "await", word));
  GROVE_PASS(make_operation(device, stream, kind, &o));
  o->word = word;
  o->value = value;
  enqueue_operation(o);
  if (kind == WORK_WRITE && !grove_store_is_given(word))
    grove_order_wrote(word, value, &o->stream->order);
  if (kind == WORK_AWAIT && !grove_store_is_given(word) && !grove_order_is_written(word))
    o->stream->is_unsure = 1;
  return GROVE_OK;
}

grove_status grove_engine_write(int device, grove_stream *stream, uint32_t *word, uint32_t value)
{
  lock_engine();
  grove_status status = enqueue_word(device, stream, WORK_WRITE, word, value);
  unlock_engine();
  return status;
}

grove_status grove_engine_await(int device, grove_stream *stream, uint32_t *word, uint32_t value)
{
  lock_engine();
  grove_status status = enqueue_word(device, stream, WORK_AWAIT, word, value);
  unlock_engine();
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

/* Both are operations that do nothing: so they take part in the default stream's rule. */
grove_status grove_engine_record(int device, grove_event *event, grove_stream *stream)
{
  grove_status status = GROVE_OK;
  operation *o = NULL;
  lock_engine();
  GROVE_CHECK(event->device == device, GROVE_ERR_DEVICE,
              "an event of the emulated device %d cannot be recorded on device %d", event->device,
              device);
  GROVE_TRY(make_operation(device, stream, WORK_NOTHING, &o));
  enqueue_operation(o);
  event->point = (point){o->stream, o->number};
  event->order = o->stream->order;
fail:
  unlock_engine();
  return status;
}

grove_status grove_engine_after(int device, grove_stream *stream, grove_event *event)
{
  grove_status status = GROVE_OK;
  operation *o = NULL;
  lock_engine();
  if (event->point.stream) {
    GROVE_TRY(make_operation(device, stream, WORK_NOTHING, &o));
    add_point(o, event->point);
    grove_order_join(&o->stream->order, &event->order);
    enqueue_operation(o);
  }
fail:
  unlock_engine();
  return status;
}

/* ---- the host ---- */

void grove_engine_set_temper(grove_temper temper, uint64_t seed)
{
  lock_engine();
  engine.temper = temper;
  engine.random = seed;
  unlock_engine();
}

void grove_engine_set_strict(int strict)
{
  lock_engine();
  engine.strict = strict;
  unlock_engine();
}

void grove_engine_host_saw(const uint32_t *word, uint32_t value)
{
  lock_engine();
  grove_order_saw(word, value);
  unlock_engine();
}

void grove_engine_host_access(const grove_access *access)
{
  lock_engine();
  grove_order_host(access);
  unlock_engine();
}

/* ---- memory that goes ---- */

static int uses_memory(const operation *o, const void *begin, int64_t bytes)
{
  int found = 0;
  if (o->kind == WORK_COPY)
    found = grove_emulated_overlap(o->to, o->bytes, begin, bytes) ||
            grove_emulated_overlap(o->from, o->bytes, begin, bytes);
  if (o->word) found = grove_emulated_overlap(o->word, sizeof *o->word, begin, bytes);
  for (int i = 0; o->launch && i < o->launch->njobs && !found; i++) {
    const grove_job *job = &o->launch->jobs[i];
    found = items_of(o->launch, i) && (grove_emulated_overlap(job->recipe, 1, begin, bytes) ||
                                       grove_emulated_overlap(job->message, 1, begin, bytes));
  }
  return found;
}

static void tell_release(const operation *o, const void *begin, int64_t bytes)
{
  static const char *const names[] = {"nothing", "copy", "launch", "write", "await"};
  grove_order_tell("%lld bytes at %p are freed while %s %llu of stream %d is enqueued, which uses "
                   "them",
                   (long long)bytes, (void *)(size_t)begin, names[o->kind],
                   (unsigned long long)o->number, o->stream->slot);
}

int grove_engine_release(const void *begin, int64_t bytes)
{
  int is_free = 1;
  lock_engine();
  for (int i = 0; i < engine.nstreams; i++)
    for (const operation *o = engine.streams[i]->first; o; o = o->next)
      if (uses_memory(o, begin, bytes)) {
        tell_release(o, begin, bytes);
        is_free = 0;
      }
  grove_order_gone(begin, bytes);
  unlock_engine();
  return is_free;
}
