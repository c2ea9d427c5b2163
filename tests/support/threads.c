#include "threads.h"

#include "check.h"

#include <pthread.h>
#include <stdlib.h>

typedef struct part {
  pthread_t thread;
  int number;
  void (*body)(int number, void *self);
  void *self;
} part;

int test_begin_threads(int *argc, char ***argv, const char *name)
{
  int initialised = 0, level = 0;
  MPI_Initialized(&initialised);
  if (initialised) /* by a suite */
    MPI_Query_thread(&level);
  else
    MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &level);
  test_begin(argc, argv, name);
  return level == MPI_THREAD_MULTIPLE;
}

int any_thread_may_call(void)
{
  int level = 0;
  MPI_Query_thread(&level);
  return level == MPI_THREAD_MULTIPLE;
}

static void *run(void *pointer)
{
  part *p = pointer;
  p->body(p->number, p->self);
  return NULL;
}

void beside_threads(int n, void body(int number, void *self), void here(void *self), void *self)
{
  part *parts = need((size_t)n * sizeof *parts);
  for (int i = 0; i < n; i++) {
    parts[i] = (part){.number = i, .body = body, .self = self};
    CHECK(pthread_create(&parts[i].thread, NULL, run, &parts[i]) == 0, "no thread %d", i);
  }
  if (here != NULL) here(self);
  for (int i = 0; i < n; i++) pthread_join(parts[i].thread, NULL);
  free(parts);
}

void in_threads(int n, void body(int number, void *self), void *self)
{
  beside_threads(n, body, NULL, self);
}
