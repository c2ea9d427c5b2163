/* The option progress=thread: a thread of the library's own advances the operations of a context
 * while the program computes. It alternates with the program's threads by the lock of the context
 * (context.h), and sleeps while nothing is active.
 */
#ifndef GROVE_CONTEXT_HELPER_H
#define GROVE_CONTEXT_HELPER_H

#include "base/lock.h"
#include "base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct grove_helper grove_helper;

/* What the helper does, again and again, with the lock. `work` returns whether there is more. */
typedef struct grove_helper_task {
  int (*work)(void *self);
  void *self;
  int spins; /* before it yields */
} grove_helper_task;

/* GROVE_ERR_UNSUPPORTED without a lock: MPI does not allow several threads. This rank's failure. */
grove_status grove_helper_start(const grove_helper_task *task, grove_lock *lock,
                                grove_helper **out);

/* Waits until the thread has ended; not with the lock. */
void grove_helper_end(grove_helper *helper);
void grove_helper_stop(grove_helper **helper); /* and frees it */

/* There is something to do. With the lock. */
void grove_helper_wake(grove_helper *helper);

#ifdef __cplusplus
}
#endif

#endif
