#include "context/alarm.h"

#include "base/pause.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

struct grove_alarm {
  void (*fire)(void *self);
  void *self;
  pthread_t thread;
  pthread_mutex_t mutex; /* for all below */
  pthread_cond_t earlier;
  double when; /* infinity: never */
  int stop, running;
};

static struct timespec due_at(double when)
{
  double whole = floor(when);
  return (struct timespec){(time_t)whole, (long)(1e9 * (when - whole))};
}

static void sleep_until_due(grove_alarm *a)
{
  struct timespec until = due_at(isinf(a->when) ? 0 : a->when);
  if (isinf(a->when))
    pthread_cond_wait(&a->earlier, &a->mutex);
  else
    pthread_cond_timedwait(&a->earlier, &a->mutex, &until);
}

/* Linux may wake sleepers 50 us late, to wake many at once: as long as a deadline. */
static void wake_in_time(void)
{
#ifdef __linux__
  prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
#endif
}

static void *run_alarm(void *pointer)
{
  grove_alarm *a = pointer;
  wake_in_time();
  pthread_mutex_lock(&a->mutex);
  while (!a->stop) {
    if (grove_clock() < a->when) {
      sleep_until_due(a);
      continue;
    }
    a->when = INFINITY;
    pthread_mutex_unlock(&a->mutex);
    a->fire(a->self);
    pthread_mutex_lock(&a->mutex);
  }
  pthread_mutex_unlock(&a->mutex);
  return NULL;
}

void grove_alarm_set(grove_alarm *a, double when)
{
  pthread_mutex_lock(&a->mutex);
  if (when < a->when) {
    a->when = when;
    pthread_cond_signal(&a->earlier);
  }
  pthread_mutex_unlock(&a->mutex);
}

/* ---- begin and end ---- */

/* Deadlines are times of grove_clock, so the condition must use the same clock. */
static void make_condition(pthread_cond_t *condition)
{
  pthread_condattr_t about;
  pthread_condattr_init(&about);
  pthread_condattr_setclock(&about, CLOCK_MONOTONIC);
  pthread_cond_init(condition, &about);
  pthread_condattr_destroy(&about);
}

grove_status grove_alarm_start(void (*fire)(void *self), void *self, grove_alarm **out)
{
  grove_status status = GROVE_OK;
  grove_alarm *a = NULL;
  GROVE_NEW(a, 1);
  a->fire = fire;
  a->self = self;
  a->when = INFINITY;
  pthread_mutex_init(&a->mutex, NULL);
  make_condition(&a->earlier);
  int failed = pthread_create(&a->thread, NULL, run_alarm, a);
  GROVE_CHECK(!failed, GROVE_ERR_SYSTEM, "cannot start a thread: %s", strerror(failed));
  a->running = 1;
  *out = a;
  return GROVE_OK;
fail:
  grove_alarm_stop(&a);
  return status;
}

void grove_alarm_end(grove_alarm *a)
{
  if (!a->running) return;
  pthread_mutex_lock(&a->mutex);
  a->stop = 1;
  pthread_cond_signal(&a->earlier);
  pthread_mutex_unlock(&a->mutex);
  pthread_join(a->thread, NULL);
  a->running = 0;
}

void grove_alarm_stop(grove_alarm **pointer)
{
  grove_alarm *a = *pointer;
  if (!a) return;
  grove_alarm_end(a);
  pthread_cond_destroy(&a->earlier);
  pthread_mutex_destroy(&a->mutex);
  free(a);
  *pointer = NULL;
}
