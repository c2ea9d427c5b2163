/* Ranks that wait, where they outnumber cores.
 *
 * MPICH's blocking calls poll and never let go of the processor (4.0): the rank that all the others
 * wait for gets its turn after each of them has polled for a whole time slice. It polls by a
 * function of UCX, which is taken here, and yields when nothing comes. Open MPI does so by itself
 * (tools/launch), and so does Grove.
 *
 * Whoever yields for long, because it waits for a timeout or for a rank that comes late, sleeps a
 * little instead: a processor that goes from one waiting rank to the next is lost to other tests.
 */
#define _GNU_SOURCE /* RTLD_NEXT */
#include "yield.h"

#include <dlfcn.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Nanoseconds: yields that are further apart than GAP do not belong to one wait. */
enum { POLLS = 20, GAP = 200000, LONG = 20000000, NAP = 100000 };

typedef unsigned progress(void *worker);

__attribute__((visibility("default"))) progress ucp_worker_progress;

static progress *original(void)
{
  void *found = dlsym(RTLD_NEXT, "ucp_worker_progress");
  progress *function;
  *(void **)&function = found;
  return function;
}

unsigned ucp_worker_progress(void *worker)
{
  static _Thread_local progress *next;
  static _Thread_local int in_vain;
  if (next == NULL) next = original();
  unsigned events = next(worker);
  in_vain = events > 0 ? 0 : in_vain + 1;
  if (in_vain < POLLS) return events;
  in_vain = 0;
  sched_yield();
  return events;
}

static long long now(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return 1000000000LL * t.tv_sec + t.tv_nsec;
}

__attribute__((visibility("default"))) int sched_yield(void)
{
  static _Thread_local long long since, last;
  long long at = now();
  if (at - last > GAP) since = at;
  if (at - since < LONG) {
    syscall(SYS_sched_yield);
  } else {
    const struct timespec nap = {.tv_nsec = NAP};
    nanosleep(&nap, NULL);
  }
  last = now();
  return 0;
}

void yield_in_mpi(void) {}
