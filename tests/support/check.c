#define _POSIX_C_SOURCE 200809L /* alarm, nanosleep, clock_gettime */
#include "check.h"

#include "apart.h"
#include "random.h"
#include "yield.h"

#include <ctype.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { WATCHDOG_SECONDS = 240, FIXED_SEED = 20240613, SENTENCE_BYTES = 2048 };

static struct {
  const char *name;
  int rank, size;
  int shared; /* MPI is, with other tests */
  uint64_t seed;
  int64_t samples; /* 0: what the test asks for, `times` over */
  int64_t times;
  int all;
  int64_t number;
  char hint[128];
  char
    last_words[384]; /* what the watchdog says: ready beforehand, a signal handler cannot print */
  size_t last_words_bytes;
} test;

#if defined(__SANITIZE_ADDRESS__)
GROVE_API const char *__asan_default_options(void);
/* Where memory is asked for in vain, NULL is wanted, not a report. */
const char *__asan_default_options(void)
{
  return "allocator_may_return_null=1";
}
#endif

/* ---- the watchdog ---- */

static void bark(int signal_number)
{
  (void)signal_number;
  ssize_t ignored = write(STDERR_FILENO, test.last_words, test.last_words_bytes);
  (void)ignored;
  _exit(124); /* the launcher takes the others down */
}

static unsigned watchdog_seconds(void)
{
  const char *text = getenv("WATCHDOG");
  return text != NULL && atoi(text) > 0 ? (unsigned)atoi(text) : WATCHDOG_SECONDS;
}

void test_case(int64_t number)
{
  test.number = number;
  int n = snprintf(test.last_words, sizeof test.last_words,
                   "%s: rank %d of %d hangs in case %lld (SEED=%llu): no end in %u s\n%s",
                   test.name, test.rank, test.size, (long long)number,
                   (unsigned long long)test.seed, watchdog_seconds(), test.hint);
  test.last_words_bytes = n < (int)sizeof test.last_words ? (size_t)n : sizeof test.last_words - 1;
  alarm(watchdog_seconds());
}

void test_hint(const char *format, ...)
{
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(test.hint, sizeof test.hint, format, arguments);
  va_end(arguments);
  test_case(test.number);
}

/* ---- seed, samples, begin, end ---- */

static uint64_t read_seed(void)
{
  const char *text = getenv("SEED");
  if (text == NULL || text[0] == '\0') return FIXED_SEED;
  if (strcmp(text, "random") == 0) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return mix2((uint64_t)t.tv_sec, (uint64_t)t.tv_nsec ^ (uint64_t)getpid()) % 1000000000;
  }
  return strtoull(text, NULL, 0);
}

static void read_samples(int64_t *samples, int64_t *times, int64_t *all)
{
  const char *text = getenv("SAMPLES");
  *samples = 0, *times = 1, *all = 0;
  if (text == NULL || text[0] == '\0') return;
  *all = strcmp(text, "all") == 0;
  if (*all) {
    *times = 10;
    return;
  }
  char *end;
  long long n = strtoll(text, &end, 10);
  int multiple = strcmp(end, "x") == 0;
  CHECK((*end == '\0' || multiple) && n > 0, "SAMPLES is '%s': no positive number, Nx, or all",
        text);
  *(multiple ? times : samples) = n;
}

static void check_ranks(int argc, char **argv)
{
  for (int i = 1; i + 1 < argc; i++)
    if (strcmp(argv[i], "--ranks") == 0)
      CHECK(test.size == atoi(argv[i + 1]), "%d ranks, not %s: is this the MPI's own launcher?",
            test.size, argv[i + 1]);
}

static void init_mpi(int *argc, char ***argv)
{
  int initialised = 0, level = 0;
  MPI_Initialized(&initialised); /* a test of threads has done so */
  if (initialised) return;
  if (getenv("THREADS") == NULL)
    MPI_Init(argc, argv);
  else
    MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &level);
}

void test_begin(int *argc, char ***argv, const char *name)
{
  yield_in_mpi();
  test.name = name;
  test.hint[0] = '\0';
  signal(SIGALRM, bark);
  test_case(0);
  init_mpi(argc, argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &test.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &test.size);
  check_ranks(*argc, *argv);
  int64_t given[4] = {0};
  if (test.rank == 0) {
    given[0] = (int64_t)read_seed();
    read_samples(&given[1], &given[2], &given[3]);
  }
  MPI_Request request;
  MPI_Ibcast(given, 4, MPI_INT64_T, 0, MPI_COMM_WORLD, &request);
  polite_wait(&request);
  test.seed = (uint64_t)given[0];
  test.samples = given[1];
  test.times = given[2];
  test.all = given[3] != 0;
  test_case(0);
  if (test.rank == 0)
    printf("%s: %d ranks, SEED=%llu\n", name, test.size, (unsigned long long)test.seed);
  fflush(stdout);
  apart_open();
}

void test_share(void)
{
  test.shared = 1;
}

/* MPI_Finalize of Open MPI 4 tells mpiexec, and goes on if that has not answered in two seconds: on
 * a busy machine it may not have run. A process that ends before mpiexec has heard is taken for one
 * that never came to MPI_Finalize, and the job for a failed one. So mpiexec gets more time then. */
void test_finalize(void)
{
  enum { SUSPICIOUS_SECONDS = 1, GRACE_SECONDS = 4 };
  struct timespec begin, end;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  MPI_Finalize();
  clock_gettime(CLOCK_MONOTONIC, &end);
  if (end.tv_sec - begin.tv_sec > SUSPICIOUS_SECONDS) sleep(GRACE_SECONDS);
}

int test_end(void)
{
  test_case(test.number);
  apart_close();
  polite_barrier(MPI_COMM_WORLD);
  if (!test.shared) test_finalize();
  alarm(0);
  return 0;
}

int test_skip(const char *why)
{
  if (test.rank == 0) printf("%s: skipped: %s\n", test.name, why);
  fflush(stdout);
  test_end();
  return TEST_SKIPPED;
}

uint64_t test_seed(void)
{
  return test.seed;
}

int test_exhaustive(void)
{
  return test.all;
}

int64_t test_samples(int64_t normal)
{
  return test.samples > 0 ? test.samples : test.times * normal;
}

const char *test_timeout(void)
{
  const char *preloaded = getenv("LD_PRELOAD"); /* valgrind is there */
  return preloaded != NULL && strstr(preloaded, "vgpreload") != NULL ? "8" : "1";
}

int world_rank(void)
{
  return test.rank;
}
int world_size(void)
{
  return test.size;
}

/* ---- waiting ---- */

void polite_wait(MPI_Request *request)
{
  for (int done = 0; !done;) {
    MPI_Test(request, &done, MPI_STATUS_IGNORE);
    if (!done) sched_yield();
  }
}

void polite_finish(grove_op *op)
{
  for (int done = 0; !done;) {
    CHECK_OK(grove_test(op, &done));
    if (!done) sched_yield();
  }
}

void polite_barrier(MPI_Comm comm)
{
  MPI_Request request;
  MPI_Ibarrier(comm, &request);
  polite_wait(&request);
}

void linger(double seconds)
{
  struct timespec t = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
  nanosleep(&t, NULL);
}

MPI_Comm split(int color)
{
  MPI_Comm comm;
  MPI_Comm_split(MPI_COMM_WORLD, color, test.rank, &comm);
  return comm;
}

/* ---- failures ---- */

static void say_where(const char *file, int line)
{
  fprintf(stderr, "%s: rank %d of %d, case %lld (SEED=%llu): %s:%d: ", test.name, test.rank,
          test.size, (long long)test.number, (unsigned long long)test.seed, file, line);
}

static void give_up(void)
{
  fprintf(stderr, "\n%s", test.hint);
  fflush(stderr);
  MPI_Abort(MPI_COMM_WORLD, 1);
  _exit(1);
}

void test_fail(const char *file, int line, const char *condition, const char *format, ...)
{
  say_where(file, line);
  fprintf(stderr, "not so: %s: ", condition);
  va_list arguments;
  va_start(arguments, format);
  vfprintf(stderr, format, arguments);
  va_end(arguments);
  give_up();
  abort();
}

void test_fail_status(const char *file, int line, const char *call, grove_status got,
                      grove_status expected)
{
  /* Asked for first: any other Grove call may replace the sentence. */
  const char *sentence = grove_last_error();
  say_where(file, line);
  fprintf(stderr, "%s returned %s, not %s; last error: '%s'", call, grove_status_name(got),
          grove_status_name(expected), sentence);
  give_up();
}

void check_same_error(MPI_Comm comm, grove_status status, const char *file, int line)
{
  char mine[SENTENCE_BYTES] = "", first[SENTENCE_BYTES];
  snprintf(mine, sizeof mine, "%s: %s", grove_status_name(status), grove_last_error());
  memcpy(first, mine, sizeof first);
  MPI_Request request;
  MPI_Ibcast(first, sizeof first, MPI_CHAR, 0, comm, &request);
  polite_wait(&request);
  if (strcmp(first, mine) != 0)
    test_fail(file, line, "the same error on every rank", "rank 0 has '%s', this one '%s'", first,
              mine);
  if (strlen(grove_last_error()) < 10)
    test_fail(file, line, "grove_last_error() is a sentence", "it is '%s'", grove_last_error());
}

int number_in(const char *text, int64_t number)
{
  char digits[32];
  size_t n = (size_t)snprintf(digits, sizeof digits, "%lld", (long long)number);
  for (const char *p = strstr(text, digits); p != NULL; p = strstr(p + 1, digits)) {
    int before = p > text ? (unsigned char)p[-1] : ' ';
    int behind = (unsigned char)p[n];
    if (!isalnum(before) && before != '.' && before != '-' && !isalnum(behind)) return 1;
  }
  return 0;
}

void check_number_in(const char *text, int64_t number, const char *file, int line)
{
  if (number_in(text, number)) return;
  test_fail(file, line, "the sentence has the number", "no %lld in '%s'", (long long)number, text);
}

void *need(size_t bytes)
{
  void *p = malloc(bytes > 0 ? bytes : 1);
  CHECK(p != NULL, "no memory for %zu bytes", bytes);
  return p;
}
