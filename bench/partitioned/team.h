/* The threads of a sender: each computes for a while, then marks its parts. Computing is sleeping,
 * so that any number of threads can do it on two cores; with `spins` it takes a core.
 */
#ifndef BENCH_PARTITIONED_TEAM_H
#define BENCH_PARTITIONED_TEAM_H

#include "kit/clock.h"

#include <stdint.h>

/* Seconds that each thread computes: all of them `compute`, and by kind
 *     none      nothing more
 *     single    one of them `amount` more, drawn anew each time
 *     fixed     the last one `amount` more
 *     uniform   each 0 to `amount` more
 *     gauss     each something from a normal distribution of that deviation more or less
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

/* What each of them does: at once, and after its delay. A job's slot is the thread's place. */
typedef struct bench_job {
  void (*prepare)(void *about, int slot); /* NULL: nothing */
  void (*finish)(void *about, int slot);
  void *about;
} bench_job;

/* Returns when all have finished. The caller has the slot with the longest delay, so that who comes
 * last need not be waited for. Delays count from a moment shortly after the call. */
void bench_team_run(bench_team *team, const bench_job *job, const double *delay);

#endif
