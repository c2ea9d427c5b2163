/* The lock of something that several threads use. The same thread may enter several times. While it
 * waits for something it can let go of all levels at once, and take them back afterwards.
 *
 *     grove_lock_enter(lock);                 if (grove_lock_try(lock)) {
 *     ...                                       ... one poll ...
 *     int depth = grove_lock_let_go(lock);      grove_lock_leave(lock);
 *     ... wait ...                            }
 *     grove_lock_take_back(lock, depth);
 *     grove_lock_leave(lock);
 *
 * A mutex is not fair: a thread that polls, leaves and polls again would keep everybody else out.
 * So the threads that must get in are counted, and those that only poll step aside for them.
 */
#ifndef GROVE_BASE_LOCK_H
#define GROVE_BASE_LOCK_H

#include "base/status.h"

#include <pthread.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct grove_lock grove_lock;

grove_status grove_lock_create(grove_lock **out);
void grove_lock_free(grove_lock **lock);

/* Waits until this thread is inside. */
void grove_lock_enter(grove_lock *lock);
void grove_lock_leave(grove_lock *lock);

/* Enters if nobody is inside and nobody is waiting; else yields the core and returns 0. */
int grove_lock_try(grove_lock *lock);

/* Is a thread waiting to get in? */
int grove_lock_is_wanted(const grove_lock *lock);

/* Leaves as often as this thread has entered. Returns how often that was: 0 if it is outside. */
int grove_lock_let_go(grove_lock *lock);
void grove_lock_take_back(grove_lock *lock, int depth);

/* Leaves, sleeps until the condition is signalled, enters again. To be entered exactly once. */
void grove_lock_sleep(grove_lock *lock, pthread_cond_t *until);

/* An identity of this thread, for comparison; never NULL. */
const void *grove_this_thread(void);

/* This thread's number, by first call: threads of a team get different remainders. */
unsigned grove_thread_number(void);

#ifdef __cplusplus
}
#endif

#endif
