/* Launches. A device would share the items among many threads. What each of these does is done one
 * after the other, in an order drawn from a seed, by two threads at once. So ThreadSanitizer sees
 * items that are in each other's way, which they must not be on a GPU.
 */
#include "device/emulated_parts.h"

#include <pthread.h>
#include <signal.h>

/* This many threads are handed out at once. */
enum { THREADS = 64 };

/* A thread has about this many items, but there are never more threads than that. */
enum { MOST_ITEMS = 33, MOST_THREADS = 1 << 20 };

/* The second thread, and what it is to do. */
static struct {
  pthread_mutex_t lock;
  pthread_cond_t work, done;
  pthread_t thread;
  int running, stop;
  const struct walk *walk; /* NULL: nothing */
} aide = {.lock = PTHREAD_MUTEX_INITIALIZER,
          .work = PTHREAD_COND_INITIALIZER,
          .done = PTHREAD_COND_INITIALIZER};

static grove_item_runner *item_runner; /* atomic; NULL: the built-in one */

void grove_emulated_set_runner(grove_item_runner *run)
{
  __atomic_store_n(&item_runner, run, __ATOMIC_RELEASE);
}

static grove_item_runner *current_runner(void)
{
  grove_item_runner *run = __atomic_load_n(&item_runner, __ATOMIC_ACQUIRE);
  return run ? run : grove_launch_threads;
}

int grove_launcher_is_able(void)
{
  return current_runner() != NULL;
}

/* ---- the order of threads ---- */

/* Threads first, first + step, ..., modulo all. */
typedef struct walk {
  const grove_launch *launch;
  grove_item_runner *run;
  int64_t first, step, all, count;
} walk;

static int64_t draw_below(uint64_t *state, int64_t n)
{
  return (int64_t)(grove_emulated_draw(state) % (uint64_t)n);
}

/* A step that has no common divisor with their number meets all of them. */
static walk draw_walk(const grove_launch *launch, int64_t all, uint64_t seed)
{
  walk w = {.launch = launch, .run = current_runner(), .all = all, .count = all};
  w.first = draw_below(&seed, all);
  do w.step = 1 + draw_below(&seed, all);
  while (grove_common_divisor(w.step, all) != 1);
  return w;
}

/* The other thread's part: from the end of the walk backwards. */
static walk split_walk(walk *w)
{
  walk other = *w;
  other.step = (w->all - w->step % w->all) % w->all;
  other.first = (w->first + other.step) % w->all;
  other.count = w->count / 2;
  w->count -= other.count;
  return other;
}

static void take_walk(const walk *w)
{
  int64_t threads[THREADS], thread = w->first;
  for (int64_t i = 0, n = 0; i < w->count; i++) {
    threads[n++] = thread;
    thread += w->step;
    if (thread >= w->all) thread -= w->all;
    if (n < THREADS && i + 1 < w->count) continue;
    w->run(w->launch, threads, n, w->all);
    n = 0;
  }
}

/* ---- the second thread ---- */

static void *serve_walks(void *unused)
{
  (void)unused;
  pthread_mutex_lock(&aide.lock);
  while (!aide.stop) {
    if (aide.walk) {
      const walk *w = aide.walk;
      pthread_mutex_unlock(&aide.lock);
      take_walk(w);
      pthread_mutex_lock(&aide.lock);
      aide.walk = NULL;
      pthread_cond_signal(&aide.done);
    } else {
      pthread_cond_wait(&aide.work, &aide.lock);
    }
  }
  pthread_mutex_unlock(&aide.lock);
  return NULL;
}

/* Without it, one thread does all. Signals are left to the program. */
static int has_aide(void)
{
  if (aide.running) return 1;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  aide.running = pthread_create(&aide.thread, NULL, serve_walks, NULL) == 0;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return aide.running;
}

static void walk_together(walk *w)
{
  walk other = split_walk(w);
  pthread_mutex_lock(&aide.lock);
  aide.walk = &other;
  pthread_cond_signal(&aide.work);
  pthread_mutex_unlock(&aide.lock);
  take_walk(w);
  pthread_mutex_lock(&aide.lock);
  while (aide.walk) pthread_cond_wait(&aide.done, &aide.lock);
  pthread_mutex_unlock(&aide.lock);
}

void grove_launcher_run(const grove_launch *launch, uint64_t seed)
{
  int64_t items = launch->njobs > 0 ? launch->jobs[launch->njobs - 1].end : 0;
  if (items <= 0) return;
  int64_t each = 1 + draw_below(&seed, MOST_ITEMS), all = (items + each - 1) / each;
  if (all > MOST_THREADS) all = MOST_THREADS;
  walk w = draw_walk(launch, all, seed);
  if (all > 1 && has_aide())
    walk_together(&w);
  else
    take_walk(&w);
}

void grove_launcher_stop(void)
{
  if (!aide.running || pthread_equal(pthread_self(), aide.thread)) return;
  pthread_mutex_lock(&aide.lock);
  aide.stop = 1;
  pthread_cond_signal(&aide.work);
  pthread_mutex_unlock(&aide.lock);
  pthread_join(aide.thread, NULL);
  aide.running = 0;
}
