/* Many threads mark parts in random orders and ranges while one after the other of them takes what
 * may leave: every part leaves once, with what was written before its mark; a group leaves as a
 * whole where there is no delta, and never late; calls that are wrong change nothing.
 *
 * A thread that takes stops others only by a try: they go on marking. The next round begins when
 * this one is over, whatever threads are still in their last mark. */
#include "check.h"
#include "parts/readiness.h"
#include "random.h"
#include "threads.h"

#include <math.h>
#include <sched.h>
#include <stdlib.h>

enum { MOST_PARTS = 1200, MOST_THREADS = 32, ROUNDS = 6 };

typedef struct range {
  int64_t first, count;
} range;

typedef struct scene {
  grove_readiness *r;
  uint64_t seed;
  int threads, rounds, wrong; /* wrong: calls that must be refused are made, too */
  int64_t parts, ngroups, nranges;
  int64_t first[MOST_PARTS + 1];
  double delta;
  range ranges[MOST_PARTS];
  int64_t owner[MOST_PARTS]; /* of a range: a thread */
  int64_t data[MOST_PARTS];  /* what a part holds: the round, written before its mark */
  int taking;                /* somebody does: atomic */
  int64_t clock;             /* atomic */
  int round;                 /* that is under way, from 1: atomic */
  /* Who takes. */
  int left[MOST_PARTS];
} scene;

static double now(scene *s)
{
  return (double)__atomic_add_fetch(&s->clock, 1, __ATOMIC_RELAXED);
}

/* Groups and ranges with random ends. */
static void draw(scene *s, rng *random)
{
  int64_t kind = rng_below(random, 3);
  s->parts = 1 + rng_below(random, rng_below(random, 4) ? 40 : MOST_PARTS);
  s->delta = rng_below(random, 2) ? (double)rng_below(random, 3 * s->parts) + 0.5 : 0;
  s->ngroups = s->nranges = 0;
  for (int64_t p = 0; p < s->parts; p++) {
    if (p == 0 || kind == 0 || (kind == 1 && rng_below(random, 10) == 0))
      s->first[s->ngroups++] = p;
    if (p == 0 || rng_below(random, 3) > 0) s->ranges[s->nranges++] = (range){p, 0};
    s->ranges[s->nranges - 1].count++;
  }
  s->first[s->ngroups] = s->parts;
  for (int64_t i = s->nranges - 1; i > 0; i--) {
    int64_t j = rng_below(random, i + 1);
    range other = s->ranges[i];
    s->ranges[i] = s->ranges[j];
    s->ranges[j] = other;
  }
  for (int64_t i = 0; i < s->nranges; i++) s->owner[i] = rng_below(random, s->threads);
}

static void check_run(scene *s, const grove_part_run *run)
{
  int64_t g = 0;
  CHECK(run->first >= 0 && run->count > 0 && run->first + run->count <= s->parts,
        "parts %lld and %lld more", (long long)run->first, (long long)run->count);
  while (s->first[g + 1] <= run->first) g++;
  CHECK(run->first + run->count <= s->first[g + 1], "a run of two groups");
  CHECK(s->delta > 0 || run->count == s->first[g + 1] - s->first[g], "%lld parts of group %lld",
        (long long)run->count, (long long)g);
  for (int64_t p = run->first; p < run->first + run->count; p++) {
    CHECK(s->data[p] == s->round, "part %lld holds round %lld, not %d", (long long)p,
          (long long)s->data[p], s->round);
    CHECK(!s->left[p]++, "part %lld leaves again", (long long)p);
  }
}

static void begin_round(scene *s)
{
  rng random = rng_from(s->seed, (uint64_t)s->round + 1);
  if (s->round > 0 && rng_below(&random, 2)) { /* groups alone change between rounds */
    s->ngroups = 0;
    for (int64_t p = 0; p < s->parts; p++)
      if (p == 0 || rng_below(&random, 4) == 0) s->first[s->ngroups++] = p;
    s->first[s->ngroups] = s->parts;
    s->delta = rng_below(&random, 2) ? (double)rng_below(&random, 3 * s->parts) + 0.5 : 0;
  }
  const grove_part_plan plan = {.ngroups = s->ngroups, .first = s->first, .delta = s->delta};
  for (int64_t p = 0; p < s->parts; p++) {
    CHECK(s->round == 0 || s->left[p] == 1, "part %lld did not leave", (long long)p);
    s->left[p] = 0;
  }
  CHECK_OK(grove_readiness_follow(s->r, &plan));
  grove_readiness_begin(s->r, s->round % 2);
  __atomic_store_n(&s->round, s->round + 1, __ATOMIC_RELEASE);
}

/* Takes what there is, unless somebody else does. */
static void take(scene *s)
{
  grove_part_run run;
  if (__atomic_exchange_n(&s->taking, 1, __ATOMIC_ACQUIRE)) return;
  while (grove_readiness_take(s->r, now(s), &run)) check_run(s, &run);
  if (s->round <= s->rounds && grove_readiness_is_over(s->r)) begin_round(s);
  __atomic_store_n(&s->taking, 0, __ATOMIC_RELEASE);
}

/* A range around a part that this thread has marked. */
static void mark_wrongly(scene *s, rng *random, int64_t part)
{
  int64_t first = rng_below(random, part + 1), end = part + 1 + rng_below(random, s->parts - part);
  int due = -1;
  int64_t twice = grove_readiness_mark(s->r, first, end - first, now(s), &due);
  CHECK(twice >= first && twice <= part && due == 0, "part %lld of %lld to %lld was not refused",
        (long long)twice, (long long)first, (long long)end);
}

/* What is marked can be read. */
static void look(const scene *s, rng *random, int round)
{
  int64_t p = rng_below(random, s->parts);
  CHECK(!grove_readiness_is_marked(s->r, p) || s->data[p] == round, "part %lld holds round %lld",
        (long long)p, (long long)s->data[p]);
}

static void mark_mine(scene *s, int number, int round, rng *random)
{
  int due = 0;
  for (int64_t i = 0; i < s->nranges; i++) {
    if (s->owner[i] != number) continue;
    range mine = s->ranges[i];
    for (int64_t p = mine.first; p < mine.first + mine.count; p++) s->data[p] = round;
    int64_t twice = grove_readiness_mark(s->r, mine.first, mine.count, now(s), &due);
    CHECK(twice == -1, "part %lld was marked before", (long long)twice);
    /* Only while a part of this thread is missing: then the round is not over. */
    if (i + 1 < s->nranges && s->owner[s->nranges - 1] == number && rng_below(random, 4) == 0) {
      look(s, random, round);
      if (s->wrong) mark_wrongly(s, random, mine.first);
    }
    if (due || rng_below(random, 8) == 0) take(s);
  }
}

static void work(int number, void *self)
{
  scene *s = self;
  rng random = rng_from(s->seed, 1000 + (uint64_t)number);
  for (int round = 1; round <= s->rounds; round++) {
    while (__atomic_load_n(&s->round, __ATOMIC_ACQUIRE) < round) {
      take(s);
      sched_yield();
    }
    mark_mine(s, number, round, &random);
  }
  while (__atomic_load_n(&s->round, __ATOMIC_ACQUIRE) <= s->rounds) {
    take(s);
    sched_yield();
  }
}

static void one_case(int64_t number)
{
  scene *s = need(sizeof *s);
  *s = (scene){.seed = mix2(test_seed(), (uint64_t)number), .rounds = ROUNDS};
  rng random = rng_from(s->seed, 0);
  s->threads =
    (int)(number % 3 == 0 ? 1 + rng_below(&random, MOST_THREADS) : 1 + rng_below(&random, 4));
  s->wrong = number % 2 == 1;
  draw(s, &random);
  CHECK_OK(grove_readiness_create(s->parts, &s->r));
  begin_round(s);
  in_threads(s->threads, work, s);
  grove_readiness_free(&s->r);
  free(s);
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "parts/readiness_threads");
  for (int64_t i = 0; i < test_samples(300); i++) {
    test_case(i);
    one_case(i);
  }
  return test_end();
}
