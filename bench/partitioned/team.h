/* The threads of a sender: each computes for a while, then marks its parts. Computing is sleeping,
 * so that two cores are enough for any number of threads; with `spins` it takes a core.
 */
#ifndef BENCH_PARTITIONED_TEAM_H
#define BENCH_PARTITIONED_TEAM_H

#include "kit/clock.h"

#include <stdint.h>

/* Seconds that each thread computes: all of them `compute`, plus, by kind,
 *     none      nothing more
 *     single    one of them `amount` more, a random one each time
 *     fixed     the last one `amount` more
 *     uniform   each 0 to `amount` more, at random
 *     gauss     each more or less, by a normal distribution with deviation `amount`
 */
typedef struct bench_noise {
  char kind[12];
  double amount, compute;
} bench_noise;

/* Returns whether there is such a kind. */
int bench_noise_is_known(const char *kind);

void bench_noise_draw(const bench_noise *noise, uint64_t *state, int n, double *delay);

typedef struct bench_team bench_team;

/* The caller is one of them. */
bench_team *bench_team_create(int threads, int spins);
void bench_team_free(bench_team *team);

/* The job of each thread: at once, and after its delay. `slot` is the thread's place. */
typedef struct bench_job {
  void (*prepare)(void *about, int slot); /* NULL: nothing */
  void (*finish)(void *about, int slot);
  void *about;
} bench_job;

/* Returns when all have finished. The caller gets the slot with the longest delay, so that nobody
 * has to wait for the last. Delays count from a moment shortly after the call. */
void bench_team_run(bench_team *team, const bench_job *job, const double *delay);

#endif
