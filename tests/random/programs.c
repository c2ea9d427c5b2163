/* Random legal programs, each a pure function of its number, checked byte for byte against a serial
 * model. See README.md beside this file.
 *
 *     programs                           SAMPLES of them from SEED, on 1 to all ranks of the job
 *     programs --program NUMBER          this one; on fewer ranks it is cut down to those
 *              --times N                 N times
 *              --without 3,7-9           without these steps, and what they made
 *              --leaves N --plain --orderly --alone
 *                                        simpler: at most N leaves per rank; 64-bit integers
 *                                        only; the same order on all ranks; one thread
 *              --list                    only print it
 */
#define _POSIX_C_SOURCE 200809L /* setenv */
#include "program.h"
#include "run.h"

#include "check.h"
#include "threads.h"

#include <stdlib.h>
#include <string.h>

enum { WATCHDOG_SECONDS = 120, SAMPLES = 12 };

/* ---- arguments ---- */

static const char *value_of(int argc, char **argv, const char *name)
{
  for (int i = 1; i + 1 < argc; i++)
    if (strcmp(argv[i], name) == 0) return argv[i + 1];
  return NULL;
}

static int is_given(int argc, char **argv, const char *name)
{
  for (int i = 1; i < argc; i++)
    if (strcmp(argv[i], name) == 0) return 1;
  return 0;
}

static int64_t number_of(int argc, char **argv, const char *name, int64_t otherwise)
{
  const char *text = value_of(argc, argv, name);
  return text != NULL ? strtoll(text, NULL, 10) : otherwise;
}

/* "3,7-9" */
static void leave_out(program *p, const char *text)
{
  while (text != NULL && *text != '\0') {
    char *end = NULL;
    long first = strtol(text, &end, 10), last = first;
    CHECK(end != text, "--without '%s': no number there", text);
    if (*end == '-') last = strtol(end + 1, &end, 10);
    for (long i = first; i <= last && i < p->nsteps; i++) p->step[i].gone = 1;
    text = *end == ',' ? end + 1 : end;
  }
}

/* ---- one program ---- */

/* The first k ranks and the rest, or either of them backwards: made when they are needed, since
 * that is dear where ranks outnumber cores. */
static MPI_Comm parts(int k, int backwards)
{
  static MPI_Comm made[MOST_RANKS + 1][2];
  static char is_made[MOST_RANKS + 1][2];
  MPI_Comm *comm = &made[k][backwards];
  if (is_made[k][backwards]) return *comm;
  is_made[k][backwards] = 1;
  if (backwards)
    MPI_Comm_split(parts(k, 0), 0, -world_rank(), comm);
  else
    *comm = split(world_rank() < k);
  return *comm;
}

static void announce(int64_t number, int64_t sample)
{
  test_case(number);
  test_hint("smaller, and in words: tests/random/shrink %lld (sample %lld)\n", (long long)number,
            (long long)sample);
}

static void repeat(int argc, char **argv, const units *types, int64_t number)
{
  program *p = program_draw(number, types);
  CHECK(world_size() <= p->drawn_for, "program %lld is for %d ranks", (long long)number,
        p->drawn_for);
  p->nranks = world_size();
  p->plain = is_given(argc, argv, "--plain");
  p->most_leaves = number_of(argc, argv, "--leaves", INT64_MAX);
  if (is_given(argc, argv, "--orderly")) p->mixing = 0;
  if (is_given(argc, argv, "--alone")) p->threads = 0;
  leave_out(p, value_of(argc, argv, "--without"));
  scene *s = scene_build(p, types);
  if (is_given(argc, argv, "--list")) {
    if (world_rank() == 0) program_print(stdout, s);
  } else {
    for (int64_t i = 0; i < number_of(argc, argv, "--times", 1); i++) {
      announce(number, i);
      run_program(s, parts(world_size(), p->reversed));
      polite_barrier(MPI_COMM_WORLD);
    }
  }
  scene_free(s);
  free(p);
}

/* ---- many ---- */

/* Returns how many programs that were, on all ranks. */
static int run_sample(const units *types, int threads, int64_t i)
{
  rng r = rng_from(test_seed(), (uint64_t)i);
  int n = world_size(), k = rng_one_in(&r, 2) ? n : (int)rng_between(&r, 1, n);
  uint64_t seed[2] = {rng_next(&r), rng_next(&r)};
  int first = world_rank() < k;
  int64_t number = program_number(seed[first], threads, first ? k : n - k);
  parts(k, 0); /* by all */
  program *p = program_draw(number, types);
  announce(number, i);
  scene *s = scene_build(p, types);
  run_program(s, parts(k, p->reversed));
  scene_free(s);
  free(p);
  return k < n ? 2 : 1;
}

static void run_samples(const units *types, int threads)
{
  int64_t programs = 0;
  for (int64_t i = 0; i < test_samples(SAMPLES); i++) programs += run_sample(types, threads, i);
  if (world_rank() == 0) printf("random/programs: %lld programs\n", (long long)programs);
}

int main(int argc, char **argv)
{
  char seconds[16];
  int64_t number = number_of(argc, argv, "--program", 0);
  int threads = number > 0 ? number / 100 % 10 != 0 : getenv("THREADS") != NULL;
  snprintf(seconds, sizeof seconds, "%d", WATCHDOG_SECONDS);
  setenv("WATCHDOG", seconds, 0);
  if (!threads)
    test_begin(&argc, &argv, "random/programs");
  else if (!test_begin_threads(&argc, &argv, "random/programs"))
    return test_skip("this MPI does not provide MPI_THREAD_MULTIPLE");
  CHECK(world_size() <= MOST_RANKS, "programs are for up to %d ranks", MOST_RANKS);
  units *types = units_create();
  if (number > 0)
    repeat(argc, argv, types, number);
  else
    run_samples(types, threads);
  units_free(types);
  return test_end();
}
