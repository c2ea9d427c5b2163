/* The engine of the emulated device: which task is next, doing it, and the thread that does.
 * See emulated_engine.h.
 */
#include "device/emulated_engine.h"

#include "base/pause.h"

#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* See GROVE_TEMPER_LAZY. */
static const double LAZY_SECONDS = 20e-3, LAZY_WORK_SECONDS = 50e-6;

/* The longest random delay; one task in this many has one. */
static const double RANDOM_SECONDS = 200e-6;
enum { RANDOM_ONE_IN = 4 };

/* How often the engine looks for words of others before it sleeps between two looks, longer and
 * longer. */
enum { LOOKS = 20 };
static const int64_t SHORT_NAP = 20000, LONG_NAP = 200000; /* nanoseconds */

/* ---- which task is next ---- */

static double clock_seconds(clockid_t clock)
{
  struct timespec t;
  if (clock_gettime(clock, &t) != 0) return 1e300; /* the thread is gone */
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int is_due(const grove_task *t)
{
  return t->demanded || grove_clock() >= t->due ||
         (t->patient && clock_seconds(t->thread) >= t->thread_due);
}

void grove_task_delay(grove_task *t)
{
  t->due = grove_clock();
  if (grove_engine.temper == GROVE_TEMPER_LAZY) {
    clockid_t clock = 0;
    t->due += LAZY_SECONDS;
    t->patient = pthread_getcpuclockid(pthread_self(), &clock) == 0;
    t->thread = clock;
    if (t->patient) t->thread_due = clock_seconds(clock) + LAZY_WORK_SECONDS;
  } else if (grove_engine.temper == GROVE_TEMPER_RANDOM &&
             grove_emulated_draw(&grove_engine.random) % RANDOM_ONE_IN == 0) {
    t->due += RANDOM_SECONDS * (double)(grove_emulated_draw(&grove_engine.random) % 1000) / 1000;
  }
}

static int is_ready(const grove_task *t)
{
  for (int i = 0; i < t->npoints; i++)
    if (!grove_stream_point_passed(&t->points[i])) return 0;
  return is_due(t) && (t->kind != GROVE_WORK_AWAIT || grove_task_word_came(t));
}

/* Is it the first of two that may be done? `met` have been compared so far. */
static int is_preferred(const grove_task *a, const grove_task *b, int met)
{
  if (grove_engine.temper == GROVE_TEMPER_RANDOM)
    return grove_emulated_draw(&grove_engine.random) % (uint64_t)met == 0;
  return (a->ticket < b->ticket) == (grove_engine.temper == GROVE_TEMPER_EAGER);
}

static grove_task *choose_task(void)
{
  grove_task *chosen = NULL;
  int met = 0;
  for (int i = 0; i < grove_engine.nstreams; i++) {
    grove_task *t = grove_engine.streams[i]->first;
    if (!t || !is_ready(t)) continue;
    if (++met == 1 || is_preferred(t, chosen, met)) chosen = t;
  }
  return chosen;
}

static int has_work(void)
{
  for (int i = 0; i < grove_engine.nstreams; i++)
    if (grove_engine.streams[i]->first) return 1;
  return 0;
}

/* ---- doing it ---- */

static void run_task(grove_task *t)
{
  grove_task_note(t);
  grove_engine_unlock();
  grove_task_perform(t);
  grove_engine_lock();
  grove_task_retire(t);
}

/* ---- the thread ---- */

static void sleep_engine(int64_t nanoseconds)
{
  struct timespec until;
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_nsec += nanoseconds;
  until.tv_sec += until.tv_nsec / 1000000000;
  until.tv_nsec %= 1000000000;
  pthread_cond_timedwait(&grove_engine.work, &grove_engine.lock, &until);
}

/* There is work, and none of it can be done. It waits for the clock, or for a word that somebody
 * else writes. */
static void look_again(int64_t looks)
{
  if (looks < LOOKS) {
    grove_engine_unlock();
    sched_yield();
    grove_engine_lock();
  } else {
    int64_t nap = (looks - LOOKS + 1) * SHORT_NAP;
    sleep_engine(nap < LONG_NAP ? nap : LONG_NAP);
  }
}

static void *run_engine(void *unused)
{
  (void)unused;
  grove_engine_lock();
  for (int64_t looks = 0; !grove_engine.stop;) {
    grove_task *t = grove_engine.has_clock ? NULL : choose_task();
    if (t) {
      run_task(t);
      looks = 0;
    } else if (has_work() && !grove_engine.has_clock) {
      look_again(looks++);
    } else {
      pthread_cond_wait(&grove_engine.work, &grove_engine.lock);
      looks = 0;
    }
  }
  grove_engine_unlock();
  return NULL;
}

/* The process ends, and what has not begun is not done. A program may end itself in a kernel, or
 * with the lock in its hands. Then nobody waits. */
static void stop_engine(void)
{
  struct timespec until;
  if (grove_engine.process != getpid() || pthread_equal(pthread_self(), grove_engine.thread))
    return;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec++;
  if (pthread_mutex_timedlock(&grove_engine.lock, &until) != 0) return;
  grove_engine.stop = 1;
  pthread_cond_signal(&grove_engine.work);
  grove_engine_unlock();
  pthread_join(grove_engine.thread, NULL);
  grove_launcher_stop();
}

static void make_conditions(void)
{
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&grove_engine.work, &attributes);
  pthread_cond_init(&grove_engine.done, &attributes);
  pthread_condattr_destroy(&attributes);
}

/* Signals are left to the program. */
grove_status grove_engine_start(void)
{
  sigset_t all, before;
  if (grove_engine.process) return GROVE_OK;
  make_conditions();
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int failed = pthread_create(&grove_engine.thread, NULL, run_engine, NULL);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  GROVE_PASS_CHECK(!failed, GROVE_ERR_DEVICE, "no thread for the emulated device: %s",
                   strerror(failed));
  grove_engine.process = getpid();
  atexit(stop_engine);
  return GROVE_OK;
}

/* ---- waiting ---- */

static void demand_point(const grove_stream_point *p);

/* Somebody may write the word here. Whoever waits for the word wants this done. */
static void demand_writes(const uint32_t *word)
{
  for (int i = 0; i < grove_engine.nstreams; i++)
    for (grove_task *t = grove_engine.streams[i]->first; t; t = t->next)
      if (t->kind == GROVE_WORK_WRITE && t->word == word && !t->demanded)
        demand_point(&(grove_stream_point){t->stream, t->number});
}

/* Asks for all up to there, and for what that waits for. */
static void demand_point(const grove_stream_point *p)
{
  for (grove_task *t = p->stream->first; t && t->number <= p->number; t = t->next) {
    if (t->demanded) continue;
    t->demanded = 1;
    for (int i = 0; i < t->npoints; i++) demand_point(&t->points[i]);
    if (t->kind == GROVE_WORK_AWAIT) demand_writes(t->word);
  }
}

void grove_engine_wait(grove_stream_point p)
{
  if (grove_engine.has_clock) {
    grove_clock_wait(p);
    return;
  }
  demand_point(&p);
  pthread_cond_signal(&grove_engine.work);
  while (!grove_stream_point_passed(&p)) pthread_cond_wait(&grove_engine.done, &grove_engine.lock);
}

/* ---- tempers ---- */

void grove_engine_set_temper(grove_temper temper, uint64_t seed)
{
  grove_engine_lock();
  grove_engine.temper = temper;
  grove_engine.random = seed;
  grove_engine_unlock();
}

void grove_engine_set_strict(int strict)
{
  grove_engine_lock();
  grove_engine.strict = strict;
  grove_engine_unlock();
}
