/* The basis of every test program: assertions that name rank, file, line, seed and case and end the
 * whole job; a seed; and a watchdog, so that a deadlock is a failure with a name.
 *
 *     int main(int argc, char **argv) {
 *       test_begin(&argc, &argv, "exec/in_place");
 *       for (int i = 0; i < test_samples(20); i++) {
 *         test_case(i);
 *         CHECK_OK(grove_start(op));
 *         CHECK(x == 3, "x is %d", x);
 *       }
 *       return test_end();
 *     }
 *
 * Environment: SEED, a number or `random` (default: a fixed one); SAMPLES, how many random cases a
 * test tries: a number, `4x` for four times what the test asks for, or `all`; WATCHDOG, the seconds
 * a case may take. Rank 0's values count. THREADS, if set: MPI with MPI_THREAD_MULTIPLE. The
 * argument --ranks N asserts that there are N ranks: the wrong launcher would start N jobs of one
 * rank each, and all of them would pass.
 */
#ifndef TEST_CHECK_H
#define TEST_CHECK_H

#include "grove.h"

#include <stdint.h>

enum { TEST_SKIPPED = 77 };

/* MPI_Init, seed, watchdog. `name` is the test's name, "module/behaviour". */
void test_begin(int *argc, char ***argv, const char *name);

/* All ranks got here: MPI_Finalize, still under the watchdog. Returns main's result. */
int test_end(void);

/* MPI_Finalize, for a program that does not call test_end. */
void test_finalize(void);

/* Before test_begin: many tests use MPI one after the other, and no test_end ends it. */
void test_share(void);

/* Leaves with the status that ctest counts as skipped. Collective; says why. */
int test_skip(const char *why);

/* The current case, shown by failures. Restarts the watchdog. */
void test_case(int64_t number);

/* The last line of failures and hangs: how to run this case alone. */
void test_hint(const char *format, ...);

uint64_t test_seed(void);

/* SAMPLES; `normal` if it is not set, a multiple of it with SAMPLES=4x, 10 with SAMPLES=all. */
int64_t test_samples(int64_t normal);

/* SAMPLES=all: a test that enumerates its cases should try every one. */
int test_exhaustive(void);

/* The shortest value of the option `timeout` under which collective calls still succeed: a second,
 * more where a checker slows everything down. */
const char *test_timeout(void);

int world_rank(void);
int world_size(void);

/* The tests' own collectives. They poll and yield: with more ranks than cores a blocking MPI call
 * can cost tens of milliseconds. */
void polite_wait(MPI_Request *request);
void polite_finish(grove_op *op); /* by grove_test alone */
void polite_barrier(MPI_Comm comm);

/* Yields the processor for about this long, without calling MPI or Grove. */
void linger(double seconds);

/* A communicator of ranks with the same color, and this rank in it. */
MPI_Comm split(int color);

/* Asserts that `status` and grove_last_error() are the same on all ranks of comm. Collective. */
#define CHECK_SAME_ERROR(comm, status) check_same_error(comm, status, __FILE__, __LINE__)

/* Whether the sentence contains this number as a word; and the assertion that it does. */
int number_in(const char *text, int64_t number);
#define CHECK_NUMBER_IN(text, number) check_number_in(text, number, __FILE__, __LINE__)

#define CHECK(condition, ...)                                                                      \
  do {                                                                                             \
    if (!(condition)) test_fail(__FILE__, __LINE__, #condition, __VA_ARGS__);                      \
  } while (0)

#define CHECK_OK(call) CHECK_STATUS(call, GROVE_OK)

#define CHECK_STATUS(call, expected)                                                               \
  do {                                                                                             \
    grove_status status_ = (call);                                                                 \
    if (status_ != (expected)) test_fail_status(__FILE__, __LINE__, #call, status_, expected);     \
  } while (0)

#if defined(__GNUC__)
#define TEST_FAILS(text, first) __attribute__((format(printf, text, first), noreturn))
#else
#define TEST_FAILS(text, first)
#endif

void test_fail(const char *file, int line, const char *condition, const char *format, ...)
  TEST_FAILS(4, 5);
void test_fail_status(const char *file, int line, const char *call, grove_status got,
                      grove_status expected);
void check_same_error(MPI_Comm comm, grove_status status, const char *file, int line);
void check_number_in(const char *text, int64_t number, const char *file, int line);

/* malloc that never returns NULL. */
void *need(size_t bytes);

#endif
