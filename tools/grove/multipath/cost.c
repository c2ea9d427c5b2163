/* grove multipath --cost: how long a decision itself takes. */
#include "grove/multipath/multipath.h"

#include "base/status.h"
#include "grove/command.h"

#include <stdlib.h>
#include <time.h>

enum { ROUNDS = 31, LOOKS = 200000 };
static const int64_t smallest = 1 << 21, largest = 1 << 29;

static double clock_seconds(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Seconds per decision with an empty cache, over all classes of the paper's sizes. */
static double time_uncached(grove_copy_cache *cache)
{
  int n = 0;
  double begin = clock_seconds();
  for (int64_t bytes = smallest; bytes <= largest; bytes += bytes / 8, n++)
    if (!grove_copy_decide(cache, bytes)) return -1;
  return (clock_seconds() - begin) / n;
}

/* Seconds per decision that is in the cache, with the bytes of each path. */
static double time_cached(grove_copy_cache *cache)
{
  int64_t sum = 0, part[GROVE_PATHS];
  double begin = clock_seconds();
  for (int64_t i = 0; i < LOOKS; i++) {
    int64_t bytes = smallest + i * 7919 % (largest - smallest);
    grove_copy_decision_bytes(grove_copy_decide(cache, bytes), bytes, part);
    sum += part[0];
  }
  volatile int64_t kept = sum; /* so that it is computed */
  (void)kept;
  return (clock_seconds() - begin) / LOOKS;
}

int multipath_cost(const multipath_settings *s, const grove_machine *m)
{
  double uncached[ROUNDS], cached[ROUNDS];
  for (int i = 0; i < ROUNDS; i++) {
    grove_copy_cache *cache = NULL;
    if (grove_copy_cache_create(m, s->from, s->to, s->paths, (grove_solver)s->solver, 1.05,
                                &cache) != GROVE_OK) {
      fprintf(stderr, "grove multipath: %s\n", last_sentence());
      return EXIT_BAD_INPUT;
    }
    uncached[i] = time_uncached(cache);
    cached[i] = uncached[i] < 0 ? -1 : time_cached(cache);
    grove_copy_cache_free(&cache);
    if (uncached[i] < 0) {
      fprintf(stderr, "grove multipath: %s\n", last_sentence());
      return EXIT_BAD_INPUT;
    }
  }
  qsort(uncached, ROUNDS, sizeof *uncached, by_value);
  qsort(cached, ROUNDS, sizeof *cached, by_value);
  if (s->json)
    printf("{\"solver\": \"%s\", \"uncached_seconds\": %.4g, \"uncached_least_seconds\": %.4g, "
           "\"cached_seconds\": %.4g, \"cached_least_seconds\": %.4g}\n",
           grove_solver_names[s->solver], uncached[ROUNDS / 2], uncached[0], cached[ROUNDS / 2],
           cached[0]);
  else
    printf(
      "A decision by the solver '%s', for 2 to 512 MiB: %.2f us (the least of %d rounds %.2f);\n"
      "from the cache, with the bytes of each path, %.1f ns (%.1f).\n",
      grove_solver_names[s->solver], 1e6 * uncached[ROUNDS / 2], ROUNDS, 1e6 * uncached[0],
      1e9 * cached[ROUNDS / 2], 1e9 * cached[0]);
  return EXIT_OK;
}
