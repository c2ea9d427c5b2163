#include "team.h"

#include "kit/need.h"
#include "kit/random.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

/* ---- noise ---- */

int bench_noise_is_known(const char *kind)
{
  static const char *const kinds[] = {"none", "single", "fixed", "uniform", "gauss"};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (strcmp(kind, kinds[i]) == 0) return 1;
  return 0;
}

/* In (0, 1]. */
static double draw_uniform(uint64_t *state)
{
  return ((double)(bench_random(state) >> 11) + 1) / 9007199254740993.0;
}

static double draw_gauss(uint64_t *state)
{
  double radius = sqrt(-2 * log(draw_uniform(state)));
  return radius * cos(6.283185307179586 * draw_uniform(state));
}

void bench_noise_draw(const bench_noise *noise, uint64_t *state, int n, double *delay)
{
  const char *kind = noise->kind;
  int late = strcmp(kind, "fixed") == 0 ? n - 1 : (int)(bench_random(state) % (uint64_t)n);
  int one = strcmp(kind, "fixed") == 0 || strcmp(kind, "single") == 0;
  for (int i = 0; i < n; i++) {
    double more = one && i == late ? 1 : 0;
    if (strcmp(kind, "uniform") == 0) more = draw_uniform(state);
    if (strcmp(kind, "gauss") == 0) more = draw_gauss(state);
    delay[i] = fmax(0, noise->compute + more * noise->amount);
  }
}

/* ---- threads ---- */

typedef struct member {
  bench_team *team;
  int number;
  pthread_t thread;
} member;

struct bench_team {
  int n, spins, caller; /* caller: its slot in this run */
  member *members;      /* n - 1 */
  pthread_mutex_t mutex;
  pthread_cond_t begun, ended;
  const bench_job *job;
  const double *delay;
  double begin;
  int64_t run; /* number of runs so far; -1: the end */
  int working;
};

/* Enough time for all threads to wake up, or to leave a barrier, if they compute less than that. */
static double head_start(const bench_team *t)
{
  double enough = t->n == 1 ? 3e-6 : 1e-4, shortest = INFINITY;
  for (int i = 0; i < t->n; i++) shortest = fmin(shortest, t->delay[i]);
  return shortest < enough ? enough : 0;
}

static void compute_until(const bench_team *t, double moment)
{
  double left = moment - bench_clock();
  if (left > 2e-5 && !t->spins) {
    struct timespec until = {.tv_sec = (time_t)moment};
    until.tv_nsec = (long)(1e9 * (moment - (double)until.tv_sec));
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) != 0) continue;
  }
  while (bench_clock() < moment) continue;
}

static void work(bench_team *t, int slot)
{
  if (t->job->prepare) t->job->prepare(t->job->about, slot);
  compute_until(t, t->begin + t->delay[slot]);
  t->job->finish(t->job->about, slot);
}

/* Returns whether there is another run. */
static int await_run(bench_team *t, int64_t *run)
{
  pthread_mutex_lock(&t->mutex);
  while (t->run == *run) pthread_cond_wait(&t->begun, &t->mutex);
  *run = t->run;
  pthread_mutex_unlock(&t->mutex);
  return *run >= 0;
}

static void *serve(void *argument)
{
  member *m = argument;
  bench_team *t = m->team;
  int64_t run = 0;
  prctl(PR_SET_TIMERSLACK, 1000UL); /* sleep to the microsecond */
  while (await_run(t, &run)) {
    work(t, m->number + (m->number >= t->caller));
    pthread_mutex_lock(&t->mutex);
    if (--t->working == 0) pthread_cond_signal(&t->ended);
    pthread_mutex_unlock(&t->mutex);
  }
  return NULL;
}

bench_team *bench_team_create(int threads, int spins)
{
  bench_team *t = bench_alloc(1, sizeof *t);
  t->n = threads;
  t->spins = spins;
  t->members = bench_alloc((size_t)threads, sizeof *t->members);
  pthread_mutex_init(&t->mutex, NULL);
  pthread_cond_init(&t->begun, NULL);
  pthread_cond_init(&t->ended, NULL);
  prctl(PR_SET_TIMERSLACK, 1000UL);
  for (int i = 0; i < threads - 1; i++) {
    t->members[i] = (member){.team = t, .number = i};
    int bad = pthread_create(&t->members[i].thread, NULL, serve, &t->members[i]);
    bench_need(bad == 0, "a thread cannot be made");
  }
  return t;
}

static void tell(bench_team *t, int64_t run)
{
  pthread_mutex_lock(&t->mutex);
  t->run = run;
  t->working = t->n - 1;
  pthread_cond_broadcast(&t->begun);
  pthread_mutex_unlock(&t->mutex);
}

void bench_team_free(bench_team *team)
{
  tell(team, -1);
  for (int i = 0; i < team->n - 1; i++) pthread_join(team->members[i].thread, NULL);
  pthread_cond_destroy(&team->begun);
  pthread_cond_destroy(&team->ended);
  pthread_mutex_destroy(&team->mutex);
  free(team->members);
  free(team);
}

void bench_team_run(bench_team *team, const bench_job *job, const double *delay)
{
  int last = 0;
  for (int i = 1; i < team->n; i++)
    if (delay[i] >= delay[last]) last = i;
  team->job = job;
  team->delay = delay;
  team->caller = last;
  team->begin = bench_clock() + head_start(team);
  if (team->n > 1) tell(team, team->run + 1);
  work(team, last);
  pthread_mutex_lock(&team->mutex);
  while (team->n > 1 && team->working > 0) pthread_cond_wait(&team->ended, &team->mutex);
  pthread_mutex_unlock(&team->mutex);
}
