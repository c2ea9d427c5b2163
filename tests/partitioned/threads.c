/* With MPI_THREAD_MULTIPLE: one to many threads fill and mark parts of a channel at once, while the
 * thread that started it waits or tests; at the other end threads ask for their own part, or take
 * what comes, and every part is told to one of them. */
#include "threads.h"
#include "channel.h"
#include "check.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { ROUNDS = 12 };

typedef struct team {
  channel *c;
  int nthreads;
  int round;
  atomic_int *told; /* how often each part was */
  atomic_int left;  /* parts that nobody was told of yet */
} team;

/* ---- a sender ---- */

/* The parts of thread `number`: one after the other, or some at once. */
static void fill_and_mark(int number, void *self)
{
  team *t = self;
  int64_t parts = t->c->parts, first = parts * number / t->nthreads,
          end = parts * (number + 1) / t->nthreads;
  if ((number + t->round) % 3 == 0) {
    if (first < end) channel_ready(t->c, first, end - first);
    return;
  }
  for (int64_t i = end - 1; i >= first; i--) channel_ready(t->c, i, 1);
}

static void wait_meanwhile(void *self)
{
  team *t = self;
  CHECK_OK(grove_wait(t->c->op));
}

static void test_meanwhile(void *self)
{
  team *t = self;
  polite_finish(t->c->op);
}

static void send_round(team *t)
{
  channel_start(t->c);
  if (t->round % 3 == 0) {
    in_threads(t->nthreads, fill_and_mark, t);
    CHECK_OK(grove_wait(t->c->op));
  } else {
    beside_threads(t->nthreads, fill_and_mark, t->round % 3 == 1 ? wait_meanwhile : test_meanwhile,
                   t);
  }
  channel_over(t->c);
}

/* ---- a receiver ---- */

static void take(team *t)
{
  int64_t first = -1, count = -1;
  CHECK_OK(grove_arrivals(t->c->op, &first, &count));
  for (int64_t i = first; i < first + count; i++) atomic_fetch_add(&t->told[i], 1);
  if (count > 0) channel_check_parts(t->c, first, count);
  atomic_fetch_sub(&t->left, (int)count);
  if (count == 0) sched_yield();
}

/* Some wait for parts of their own, the others for any. */
static void look(int number, void *self)
{
  team *t = self;
  int64_t parts = t->c->parts, first = parts * number / t->nthreads,
          end = parts * (number + 1) / t->nthreads;
  if ((number + t->round) % 3 == 0) channel_await(t->c, first, end - first);
  while (atomic_load(&t->left) > 0) take(t);
}

static void receive_round(team *t)
{
  for (int i = 0; i < t->c->parts; i++) atomic_store(&t->told[i], 0);
  atomic_store(&t->left, t->c->parts);
  channel_start(t->c);
  in_threads(t->nthreads, look, t);
  for (int i = 0; i < t->c->parts; i++)
    CHECK(atomic_load(&t->told[i]) == 1, "part %d was told %d times", i, atomic_load(&t->told[i]));
  channel_wait(t->c);
}

/* ---- between two ranks ---- */

/* Odd ranks receive from the one before; a last one without a partner looks on. */
static void try_team(const place *p, const channel *like, int nthreads, int64_t rounds)
{
  int peer = p->rank % 2 == 0 ? p->rank + 1 : p->rank - 1;
  channel c = *like;
  if (peer >= p->size) return;
  c.ctx = p->ctx;
  c.sends = p->rank % 2 == 0;
  c.peer = peer;
  if (!c.sends && nthreads % 2 == 0) { /* other boundaries than the sender's */
    c.parts /= 2;
    c.count *= 2;
  }
  c.seed = mix2(test_seed(), (uint64_t)nthreads);
  channel_open(&c);
  team t = {.c = &c, .nthreads = nthreads};
  t.told = need((size_t)c.parts * sizeof *t.told);
  for (int64_t round = 0; round < rounds; round++) {
    t.round = (int)round;
    if (c.sends)
      send_round(&t);
    else
      receive_round(&t);
  }
  free(t.told);
  channel_close(&c);
}

/* ---- a channel for each thread, all of one context ---- */

typedef struct crew {
  const place *p;
  const unit *u;
  int64_t rounds;
} crew;

/* Thread k of a rank makes, uses and frees channels with thread k of its partner. */
static void go_alone(int number, void *self)
{
  const crew *x = self;
  int peer = x->p->rank % 2 == 0 ? x->p->rank + 1 : x->p->rank - 1;
  if (peer >= x->p->size) return;
  for (int64_t i = 0; i < x->rounds; i++) {
    channel c = {.ctx = x->p->ctx, .sends = (x->p->rank + number) % 2 == 0, .peer = peer};
    c.tag = 100 + number;
    c.parts = 3 + number;
    c.count = 5;
    c.u = x->u;
    c.seed = mix2(test_seed(), (uint64_t)(number * 1000 + i));
    channel_open(&c);
    for (int round = 0; round < 5; round++) channel_run(&c);
    channel_close(&c);
  }
}

int main(int argc, char **argv)
{
  static const int nthreads[] = {1, 2, 5, 8, 32};
  if (!test_begin_threads(&argc, &argv, "partitioned/threads"))
    return test_skip("this MPI does not provide MPI_THREAD_MULTIPLE");
  units *types = units_create();
  place p = place_create(split(0));
  for (int i = 0; i < 5; i++) {
    channel like = {.tag = i, .parts = 32, .count = 6};
    test_case(i);
    like.u = units_find(types, i % 2 ? "vector of ints with gaps" : "MPI_INT64_T");
    try_team(&p, &like, nthreads[i], test_samples(ROUNDS));
    like.count = 3000;
    try_team(&p, &like, nthreads[i], test_samples(ROUNDS) / 4 + 1);
    like.parts = 64;
    like.count = 1;
    try_team(&p, &like, nthreads[i], test_samples(ROUNDS));
  }
  test_case(5);
  crew x = {.p = &p, .u = units_find(types, "MPI_INT"), .rounds = test_samples(ROUNDS)};
  in_threads(6, go_alone, &x);
  place_free(&p);
  units_free(types);
  return test_end();
}
