/* For tests of threads: MPI with MPI_THREAD_MULTIPLE, and threads that are all joined. */
#ifndef TEST_THREADS_H
#define TEST_THREADS_H

/* test_begin with MPI_THREAD_MULTIPLE. False where MPI does not provide it: then test_skip. */
int test_begin_threads(int *argc, char ***argv, const char *name);

/* Whether any thread may call MPI, at any time. */
int any_thread_may_call(void);

/* Runs body(number, self) for number = 0 .. n-1, each in its own thread; returns when all have
 * ended. */
void in_threads(int n, void body(int number, void *self), void *self);

/* The same, and here(self) in the calling thread meanwhile. */
void beside_threads(int n, void body(int number, void *self), void here(void *self), void *self);

#endif
