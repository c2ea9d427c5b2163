#include "context/helper.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* After this many fruitless polls the helper sleeps between two: others need the cores to
 * compute. */
enum { PATIENT_POLLS = 10000, SLEEP_NANOSECONDS = 50000 };

struct grove_helper {
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

/* False if the helper must stop. */
static int poll_once(grove_helper *helper, int *more)
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

static void *run_helper(void *pointer)
{
  grove_helper *helper = pointer;
  const struct timespec nap = {0, SLEEP_NANOSECONDS};
  for (int more = 0, polls = 0; poll_once(helper, &more);) {
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

void grove_helper_end(grove_helper *helper)
{
  if (!helper->running) return;
  grove_lock_enter(helper->lock);
  helper->stop = 1;
  pthread_cond_signal(&helper->work);
  grove_lock_leave(helper->lock);
  pthread_join(helper->thread, NULL);
  helper->running = 0;
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
  int failed = pthread_create(&helper->thread, NULL, run_helper, helper);
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
  grove_helper_end(helper);
  pthread_cond_destroy(&helper->work);
  free(helper);
  *pointer = NULL;
}
