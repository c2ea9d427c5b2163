/* mpi-send with a thread beside it that calls MPI_Test in a loop, on a message that never comes:
 * the usual way to make MPI advance while the program computes. The thread polls while exchanges
 * run and sleeps while other methods do. It yields between two polls, because it may share its
 * core.
 */
#include "methods/method.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

extern const bench_method bench_mpi_send;

typedef struct thread_state {
  void *inner; /* of mpi-send */
  MPI_Comm comm;
  MPI_Request never;
  pthread_t thread;
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  int polls; /* atomic: exchanges are running */
  int stop;  /* with the mutex */
} thread_state;

static int with_threads(const bench_spec *spec)
{
  int level;
  MPI_Query_thread(&level);
  return level == MPI_THREAD_MULTIPLE && bench_mpi_send.supports(spec);
}

static int is_polling(const thread_state *s)
{
  return __atomic_load_n(&s->polls, __ATOMIC_ACQUIRE);
}

/* Returns whether there is more to do. */
static int await_work(thread_state *s)
{
  pthread_mutex_lock(&s->mutex);
  while (!s->stop && !is_polling(s)) pthread_cond_wait(&s->changed, &s->mutex);
  int go_on = !s->stop;
  pthread_mutex_unlock(&s->mutex);
  return go_on;
}

static void *help(void *state)
{
  thread_state *s = state;
  int came;
  while (await_work(s))
    while (is_polling(s)) {
      MPI_Test(&s->never, &came, MPI_STATUS_IGNORE);
      sched_yield();
    }
  return NULL;
}

static void tell(thread_state *s, int polls, int stop)
{
  pthread_mutex_lock(&s->mutex);
  __atomic_store_n(&s->polls, polls, __ATOMIC_RELEASE);
  s->stop = stop;
  pthread_cond_signal(&s->changed);
  pthread_mutex_unlock(&s->mutex);
}

static void *set_up(bench_case *c)
{
  static char nowhere;
  thread_state *s = bench_alloc(1, sizeof *s);
  s->inner = bench_mpi_send.set_up(c);
  MPI_Comm_dup(c->comm, &s->comm);
  MPI_Irecv(&nowhere, 1, MPI_BYTE, MPI_ANY_SOURCE, 0, s->comm, &s->never);
  pthread_mutex_init(&s->mutex, NULL);
  pthread_cond_init(&s->changed, NULL);
  bench_need(pthread_create(&s->thread, NULL, help, s) == 0, "a thread cannot be made");
  return s;
}

static void init(void *state)
{
  bench_mpi_send.init(((thread_state *)state)->inner);
}

static void run(void *state, int begin, int end)
{
  thread_state *s = state;
  tell(s, 1, 0);
  bench_mpi_send.run(s->inner, begin, end);
  tell(s, 0, 0);
}

static void fini(void *state)
{
  bench_mpi_send.fini(((thread_state *)state)->inner);
}

static void tear_down(void *state)
{
  thread_state *s = state;
  tell(s, 0, 1);
  pthread_join(s->thread, NULL);
  MPI_Cancel(&s->never);
  MPI_Wait(&s->never, MPI_STATUS_IGNORE);
  MPI_Comm_free(&s->comm);
  pthread_cond_destroy(&s->changed);
  pthread_mutex_destroy(&s->mutex);
  bench_mpi_send.tear_down(s->inner);
  free(s);
}

const bench_method bench_mpi_thread = {
  .name = "mpi-thread",
  .about = "mpi-send, and a thread that calls MPI_Test in a loop",
  .supports = with_threads,
  .set_up = set_up,
  .init = init,
  .run = run,
  .fini = fini,
  .tear_down = tear_down,
};
