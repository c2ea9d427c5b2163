#include "base/lock.h"

#include <sched.h>
#include <stdlib.h>

/* How often a thread that wants to get in looks before it sleeps. What others do inside is usually
 * short, and waking up takes longer. */
enum { LOOKS = 200 };

struct grove_lock {
  pthread_mutex_t mutex;
  const void *owner; /* the thread inside; atomic */
  int depth;         /* how often it has entered */
  int wanted;        /* threads that wait to get in; atomic */
};

const void *grove_this_thread(void)
{
  static _Thread_local char here;
  return &here;
}

unsigned grove_thread_number(void)
{
  static unsigned given;
  static _Thread_local unsigned mine; /* plus one */
  if (mine == 0) mine = __atomic_add_fetch(&given, 1, __ATOMIC_RELAXED);
  return mine - 1;
}

grove_status grove_lock_create(grove_lock **out)
{
  grove_status status = GROVE_OK;
  grove_lock *lock = NULL;
  GROVE_NEW(lock, 1);
  int failed = pthread_mutex_init(&lock->mutex, NULL);
  GROVE_CHECK(!failed, GROVE_ERR_SYSTEM, "the system has no lock for a context (error %d)", failed);
  *out = lock;
  return GROVE_OK;
fail:
  free(lock);
  return status;
}

void grove_lock_free(grove_lock **lock)
{
  if (!*lock) return;
  pthread_mutex_destroy(&(*lock)->mutex);
  free(*lock);
  *lock = NULL;
}

/* ---- in and out ---- */

/* Only this thread writes its own name there, so what others write does not matter. */
static int is_inside(const grove_lock *lock, const void *self)
{
  return __atomic_load_n(&lock->owner, __ATOMIC_RELAXED) == self;
}

static void settle_in(grove_lock *lock, const void *self, int depth)
{
  __atomic_store_n(&lock->owner, self, __ATOMIC_RELAXED);
  lock->depth = depth;
}

static void go_out(grove_lock *lock)
{
  __atomic_store_n(&lock->owner, NULL, __ATOMIC_RELAXED);
  pthread_mutex_unlock(&lock->mutex);
}

static void wait_to_get_in(grove_lock *lock)
{
  int in = 0;
  __atomic_add_fetch(&lock->wanted, 1, __ATOMIC_RELAXED);
  for (int i = 0; i < LOOKS && !in; i++) in = pthread_mutex_trylock(&lock->mutex) == 0;
  if (!in) pthread_mutex_lock(&lock->mutex);
  __atomic_sub_fetch(&lock->wanted, 1, __ATOMIC_RELAXED);
}

static void get_in(grove_lock *lock, const void *self, int depth)
{
  if (pthread_mutex_trylock(&lock->mutex) != 0) wait_to_get_in(lock);
  settle_in(lock, self, depth);
}

void grove_lock_enter(grove_lock *lock)
{
  const void *self = grove_this_thread();
  if (is_inside(lock, self))
    lock->depth++;
  else
    get_in(lock, self, 1);
}

void grove_lock_leave(grove_lock *lock)
{
  if (--lock->depth == 0) go_out(lock);
}

int grove_lock_is_wanted(const grove_lock *lock)
{
  return __atomic_load_n(&lock->wanted, __ATOMIC_RELAXED) > 0;
}

int grove_lock_try(grove_lock *lock)
{
  const void *self = grove_this_thread();
  if (is_inside(lock, self)) {
    lock->depth++;
    return 1;
  }
  if (!grove_lock_is_wanted(lock) && pthread_mutex_trylock(&lock->mutex) == 0) {
    settle_in(lock, self, 1);
    return 1;
  }
  sched_yield();
  return 0;
}

/* ---- out for a while ---- */

int grove_lock_let_go(grove_lock *lock)
{
  if (!is_inside(lock, grove_this_thread())) return 0;
  int depth = lock->depth;
  lock->depth = 0;
  go_out(lock);
  return depth;
}

void grove_lock_take_back(grove_lock *lock, int depth)
{
  if (depth > 0) get_in(lock, grove_this_thread(), depth);
}

void grove_lock_sleep(grove_lock *lock, pthread_cond_t *until)
{
  lock->depth = 0;
  __atomic_store_n(&lock->owner, NULL, __ATOMIC_RELAXED);
  pthread_cond_wait(until, &lock->mutex);
  settle_in(lock, grove_this_thread(), 1);
}
