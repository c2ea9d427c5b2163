/* The option progress=thread: a thread of the library's own advances the operations of a context
 * while the program computes. It and the program's thread take turns by one lock, which calls take
 * on entry and give back on return; without a helper there is no lock.
 *
 *     grove_context_enter(ctx);
 *     ...
 *     grove_context_leave(ctx);
 *
 * The same thread may enter several times. The helper sleeps while nothing is active.
 */
#ifndef GROVE_CONTEXT_HELPER_H
#define GROVE_CONTEXT_HELPER_H

#include "base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct grove_helper grove_helper;

/* What the helper does, again and again, with the lock: `work` returns whether there is more. */
typedef struct grove_helper_task {
  int (*work)(void *self);
  void *self;
  int spins; /* before it yields */
} grove_helper_task;

/* GROVE_ERR_UNSUPPORTED where MPI does not allow several threads. This rank's failure. */
grove_status grove_helper_start(const grove_helper_task *task, grove_helper **out);

/* Waits for its end; not from inside. MPI_Finalize does the same, in case nobody else has. */
void grove_helper_stop(grove_helper **helper);

void grove_helper_lock(grove_helper *helper);
void grove_helper_unlock(grove_helper *helper);

/* There is something to do. */
void grove_helper_wake(grove_helper *helper);

#ifdef __cplusplus
}
#endif

#endif
