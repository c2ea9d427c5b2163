#include "context/helper.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* After so many polls in vain the helper sleeps between two: computing threads need the cores. */
enum { PATIENT_POLLS = 10000, SLEEP_NANOSECONDS = 50000 };

struct grove_helper {
  grove_helper *next; /* that runs */
  grove_helper_task task;
  grove_lock *lock; /* the context's */
  pthread_t thread;
  pthread_cond_t work; /* there may be some */
  int stop;            /* with the lock */
  int running;
};

void grove_helper_wake(grove_helper *helper)
{
  pthread_cond_signal(&helper->work);
}

/* One turn. False when the helper is to stop. */
static int turn(grove_helper *helper, int *more)
{
  grove_lock_enter(helper->lock);
  *more = !helper->stop && helper->task.work(helper->task.self);
  while (!*more && !helper->stop) {
    grove_lock_sleep(helper->lock, &helper->work);
    *more = !helper->stop && helper->task.work(helper->task.self);
  }
  int go_on = !helper->stop;
  grove_lock_leave(helper->lock);
  return go_on;
}

static void *run(void *pointer)
{
  grove_helper *helper = pointer;
  const struct timespec nap = {0, SLEEP_NANOSECONDS};
  for (int more = 0, polls = 0; turn(helper, &more);) {
    /* A mutex is not fair: without this the others might wait for ever. */
    while (grove_lock_is_wanted(helper->lock)) sched_yield();
    if (++polls < helper->task.spins) continue;
    if (polls < PATIENT_POLLS)
      sched_yield();
    else
      nanosleep(&nap, NULL);
  }
  return NULL;
}

static void end_thread(grove_helper *helper)
{
  if (!helper->running) return;
  grove_lock_enter(helper->lock);
  helper->stop = 1;
  pthread_cond_signal(&helper->work);
  grove_lock_leave(helper->lock);
  pthread_join(helper->thread, NULL);
  helper->running = 0;
}

/* ---- those that run, for MPI_Finalize to end ---- */

static pthread_mutex_t list_mutex = PTHREAD_MUTEX_INITIALIZER;
static grove_helper *list;
static int watched; /* for the end of MPI */

/* MPI_Finalize deletes the attributes of MPI_COMM_SELF first of all. */
static int at_finalize(MPI_Comm comm, int key, void *value, void *extra)
{
  (void)comm;
  (void)key;
  (void)value;
  (void)extra;
  for (grove_helper *helper = list; helper; helper = helper->next) end_thread(helper);
  return MPI_SUCCESS;
}

static grove_status watch_finalize(void)
{
  grove_status status = GROVE_OK;
  int keyval = MPI_KEYVAL_INVALID;
  if (watched) return GROVE_OK;
  GROVE_TRY_MPI(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_finalize, &keyval, NULL));
  GROVE_TRY_MPI(MPI_Comm_set_attr(MPI_COMM_SELF, keyval, NULL));
  GROVE_TRY_MPI(MPI_Comm_free_keyval(&keyval)); /* lives as long as the attribute */
  watched = 1;
fail:
  return status;
}

static grove_status enlist(grove_helper *helper)
{
  pthread_mutex_lock(&list_mutex);
  grove_status status = watch_finalize();
  helper->next = list;
  list = helper;
  pthread_mutex_unlock(&list_mutex);
  return status;
}

static void strike_off(grove_helper *helper)
{
  pthread_mutex_lock(&list_mutex);
  grove_helper **at = &list;
  while (*at && *at != helper) at = &(*at)->next;
  if (*at) *at = helper->next;
  pthread_mutex_unlock(&list_mutex);
}

/* ---- begin and end ---- */

grove_status grove_helper_start(const grove_helper_task *task, grove_lock *lock, grove_helper **out)
{
  grove_status status = GROVE_OK;
  grove_helper *helper = NULL;
  GROVE_CHECK(lock, GROVE_ERR_UNSUPPORTED,
              "option progress=thread: MPI must be initialised by MPI_Init_thread with "
              "MPI_THREAD_MULTIPLE");
  GROVE_NEW(helper, 1);
  helper->task = *task;
  helper->lock = lock;
  pthread_cond_init(&helper->work, NULL);
  GROVE_TRY(enlist(helper));
  int failed = pthread_create(&helper->thread, NULL, run, helper);
  GROVE_CHECK(!failed, GROVE_ERR_SYSTEM, "cannot start a thread: %s", strerror(failed));
  helper->running = 1;
  *out = helper;
  return GROVE_OK;
fail:
  grove_helper_stop(&helper);
  return status;
}

void grove_helper_stop(grove_helper **pointer)
{
  grove_helper *helper = *pointer;
  if (!helper) return;
  end_thread(helper);
  strike_off(helper);
  pthread_cond_destroy(&helper->work);
  free(helper);
  *pointer = NULL;
}
