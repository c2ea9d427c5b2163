/* Where MPI lets one thread call it, or one at a time (LEVEL: funneled or serialized), threads mark
 * and look all the same: the one that started the channel advances it. */
#define _POSIX_C_SOURCE 200809L
#include "channel.h"
#include "check.h"
#include "threads.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PARTS = 64, ROUNDS = 12 };

typedef struct team {
  channel *c;
  int nthreads, round;
  atomic_int told[MOST_PARTS];
  atomic_int left;
} team;

static void fill_and_mark(int number, void *self)
{
  team *t = self;
  for (int64_t i = number; i < t->c->parts; i += t->nthreads) {
    channel_ready(t->c, i, 1);
    if ((i + t->round) % 4 == 0) sched_yield();
  }
}

static void wait_here(void *self)
{
  team *t = self;
  if (t->round % 2 == 0)
    CHECK_OK(grove_wait(t->c->op));
  else
    polite_finish(t->c->op);
}

/* Other threads have marked all before this one does anything. */
static void send_round(team *t)
{
  channel_start(t->c);
  if (t->round % 3 == 0) {
    in_threads(t->nthreads, fill_and_mark, t);
    wait_here(t);
  } else {
    beside_threads(t->nthreads, fill_and_mark, wait_here, t);
  }
  channel_over(t->c);
}

static void look(int number, void *self)
{
  team *t = self;
  int64_t own = number * t->c->parts / t->nthreads;
  if (number % 3 == 0) channel_await(t->c, own, 1);
  while (atomic_load(&t->left) > 0) {
    int64_t first = -1, count = -1;
    CHECK_OK(grove_arrivals(t->c->op, &first, &count));
    for (int64_t i = first; i < first + count; i++) atomic_fetch_add(&t->told[i], 1);
    if (count > 0) channel_check_parts(t->c, first, count);
    atomic_fetch_sub(&t->left, (int)count);
    if (count == 0) sched_yield();
  }
}

static void advance_here(void *self)
{
  team *t = self;
  channel_await(t->c, 0, t->c->parts);
}

static void receive_round(team *t)
{
  for (int i = 0; i < t->c->parts; i++) atomic_store(&t->told[i], 0);
  atomic_store(&t->left, t->c->parts);
  channel_start(t->c);
  beside_threads(t->nthreads, look, advance_here, t);
  for (int i = 0; i < t->c->parts; i++)
    CHECK(atomic_load(&t->told[i]) == 1, "part %d was told %d times", i, atomic_load(&t->told[i]));
  channel_wait(t->c);
}

/* Even ranks send to the next. */
static void try_team(const place *p, channel c, int nthreads, int64_t rounds)
{
  static team t;
  int peer = p->rank % 2 == 0 ? p->rank + 1 : p->rank - 1;
  if (peer >= p->size) return;
  c.ctx = p->ctx;
  c.sends = p->rank % 2 == 0;
  c.peer = peer;
  c.seed = mix2(test_seed(), (uint64_t)nthreads);
  channel_open(&c);
  t.c = &c;
  t.nthreads = nthreads;
  for (int64_t round = 0; round < rounds; round++) {
    t.round = (int)round;
    if (c.sends)
      send_round(&t);
    else
      receive_round(&t);
  }
  channel_close(&c);
}

int main(int argc, char **argv)
{
  static const int nthreads[] = {1, 4, 8, 32};
  const char *text = getenv("LEVEL");
  int serialized = text != NULL && strcmp(text, "serialized") == 0, level = 0;
  MPI_Init_thread(&argc, &argv, serialized ? MPI_THREAD_SERIALIZED : MPI_THREAD_FUNNELED, &level);
  test_begin(&argc, &argv, "partitioned/threads_mark");
  if (level < (serialized ? MPI_THREAD_SERIALIZED : MPI_THREAD_FUNNELED))
    return test_skip("this MPI does not let threads be");
  units *types = units_create();
  place p = place_create(split(0));
  for (int i = 0; i < 4; i++) {
    channel like = {.tag = i, .parts = 32, .count = 10};
    test_case(i);
    like.u = units_find(types, i % 2 ? "int in 20 bytes" : "MPI_DOUBLE");
    try_team(&p, like, nthreads[i], test_samples(ROUNDS));
    like.count = 5000;
    try_team(&p, like, nthreads[i], test_samples(ROUNDS) / 3 + 1);
  }
  place_free(&p);
  units_free(types);
  return test_end();
}
