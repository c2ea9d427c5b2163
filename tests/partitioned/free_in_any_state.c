/* Ends of channels freed in every state, by the sender, by the receiver, by both: the peer gets
 * what was marked, and never wrong data; a freed receiver's memory is gone at once; and the next
 * channels of the tag meet. Contexts go before their channels. */
#define _DEFAULT_SOURCE /* mmap */
#include "channel.h"
#include "check.h"

#include <sched.h>
#include <string.h>
#include <sys/mman.h>

enum { TAG = 6, PARTS = 12 };

/* What has been done to an end when it is freed. */
typedef enum state {
  FRESH,     /* never started */
  STARTED,   /* and the peer, as like as not, is not there yet */
  CONNECTED, /* the peer has started too */
  SOME,      /* some of the parts are marked, or have come */
  ALL,       /* all are marked; a receiver has not waited */
  TOLD,      /* a test told that it is complete */
  DONE,      /* complete, and nobody asked */
  LATER,     /* the same as SOME in a later round */
  STATES
} state;

typedef enum who { SENDER, RECEIVER, BOTH, WHOS } who;

typedef struct scene {
  place p;
  grove_op *idle;
  const units *types;
} scene;

/* ---- memory that is gone when the channel is ---- */

static void *map(size_t bytes)
{
  void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(memory != MAP_FAILED, "no %zu bytes", bytes);
  return memory;
}

static channel open_end(const scene *s, int64_t count, uint64_t seed)
{
  channel c = {.ctx = s->p.ctx, .sends = s->p.rank == 0, .peer = 1 - s->p.rank, .tag = TAG};
  c.parts = c.sends ? PARTS : PARTS / 2;
  c.count = c.sends ? count : 2 * count;
  c.u = units_find(s->types, "MPI_INT64_T");
  c.seed = mix2(test_seed(), seed);
  if (!c.sends) c.lent = map(channel_room(&c));
  channel_open(&c);
  return c;
}

/* Nobody may touch a receiver's buffer any more. */
static void leave(channel *c)
{
  size_t bytes = channel_room(c);
  void *memory = c->lent;
  if (c->sends) {
    channel_abandon(c);
    return;
  }
  channel_close(c);
  munmap(memory, bytes);
}

/* ---- bringing an end there ---- */

static void finish_round(channel *c)
{
  if (c->sends) channel_ready(c, 0, PARTS);
  channel_wait(c);
}

/* Advances what there is, for a while. */
static void advance(const scene *s)
{
  for (int i = 0, ignored; i < 50; i++) {
    CHECK_OK(grove_test(s->idle, &ignored));
    sched_yield();
  }
}

/* Some parts may come, as far as the aggregator lets them. */
static void ask_a_while(channel *c)
{
  int64_t first, count;
  for (int i = 0; i < 50; i++) {
    CHECK_OK(grove_arrivals(c->op, &first, &count));
    sched_yield();
  }
}

/* Until it is complete, by tests of another operation. */
static void complete_unseen(const scene *s, channel *c)
{
  grove_report report = {.struct_size = sizeof report};
  while (report.starts < c->round) {
    int ignored;
    CHECK_OK(grove_test(s->idle, &ignored));
    CHECK_OK(grove_op_report(c->op, &report));
    sched_yield();
  }
}

/* The round in which it is going to be freed. */
static void start_last(channel *c, state x)
{
  if (x == LATER) {
    channel_start(c);
    finish_round(c);
  }
  channel_start(c);
}

static void bring(const scene *s, channel *c, state x)
{
  if (x == FRESH) return;
  start_last(c, x);
  if (x == STARTED) return;
  if (x == CONNECTED) {
    hear(&s->p, c->peer, s->idle);
    advance(s);
  } else if (x == SOME || x == LATER) {
    if (c->sends) channel_ready(c, 3, 4);
    if (c->sends) advance(s);
    if (!c->sends) ask_a_while(c);
  } else {
    if (c->sends) channel_ready(c, 0, PARTS);
    if (x == TOLD) polite_finish(c->op);
    if (x == DONE) complete_unseen(s, c);
  }
}

/* ---- the one that stays ---- */

/* It has its round to itself: the peer is gone before, while or after it starts. What was marked
 * comes, all of it; who has started takes what is sent; and else nothing is complete. */
static void stay(const scene *s, channel *c, state x)
{
  int done = 0;
  int owed = c->sends ? x != FRESH : x == ALL || x == TOLD || x == DONE;
  start_last(c, x);
  if (x == CONNECTED) tell(&s->p, c->peer);
  if (c->sends) channel_ready(c, 0, PARTS);
  if (owed) channel_poll(c);
  place_meet(&s->p, s->idle);
  for (int i = 0; !owed && !done && i < 50; i++) CHECK_OK(grove_test(c->op, &done));
  CHECK(c->sends || !done, "complete, though parts were never marked");
}

/* ---- all of it ---- */

/* The next ones of the tag. */
static void still_works(const scene *s, int64_t count, uint64_t seed)
{
  channel c[2];
  for (int i = 0; i < 2; i++) c[i] = open_end(s, count, seed + (uint64_t)i);
  for (int i = 1; i >= 0; i--) channel_start(&c[i]);
  for (int i = 0; i < 2; i++)
    if (c[i].sends) channel_ready(&c[i], 0, PARTS);
  for (int i = 0; i < 2; i++) channel_wait(&c[i]);
  for (int i = 0; i < 2; i++) leave(&c[i]);
}

static void free_in_state(const scene *s, state x, who w, int64_t count, uint64_t seed)
{
  channel c = open_end(s, count, seed);
  if (w == BOTH || (w == SENDER) == c.sends) {
    if (w == BOTH && x == CONNECTED) tell(&s->p, c.peer); /* as good as started */
    bring(s, &c, x);
    if (w == BOTH && x == ALL) place_meet(&s->p, s->idle);
    leave(&c);
    place_meet(&s->p, s->idle); /* what was marked goes on while this rank calls the library */
  } else {
    stay(s, &c, x);
    leave(&c);
  }
  still_works(s, count, seed + 10);
}

static void try_states(const scene *s, int64_t count, int64_t number)
{
  for (state x = 0; x < STATES; x++)
    for (who w = 0; w < WHOS; w++) {
      test_case(number + 10 * x + (int)w);
      free_in_state(s, x, w, count, (uint64_t)(number + 100 * x + 20 * (int)w));
    }
}

/* ---- owners first ---- */

/* Context and communicator go; their channels go on, and then go as they are. */
static void context_first(const units *types, int wait, int round)
{
  place p = place_create(split(0));
  scene s = {.p = p, .types = types};
  channel c = open_end(&s, 100, (uint64_t)round);
  if (round > 0) channel_run(&c);
  channel_start(&c);
  place_free(&p);
  if (c.sends) channel_ready(&c, 0, wait ? PARTS : PARTS - 1);
  if (wait) {
    channel_wait(&c);
    channel_run(&c);
  }
  leave(&c);
}

int main(int argc, char **argv)
{
  static const int64_t count[] = {2, 1500, 20000};
  test_begin(&argc, &argv, "partitioned/free_in_any_state");
  if (world_size() != 2) return test_skip("the two ends are ranks 0 and 1");
  units *types = units_create();
  for (int i = 0; i < 3; i++) {
    scene s = {.p = place_create(split(0)), .types = types};
    s.idle = place_idle(&s.p);
    try_states(&s, count[i], 1000 * i);
    CHECK_OK(grove_op_free(&s.idle));
    place_free(&s.p);
    polite_barrier(MPI_COMM_WORLD);
    channels_sweep();
  }
  for (int i = 0; i < 4; i++) {
    test_case(10000 + i);
    context_first(types, i % 2, i / 2);
    polite_barrier(MPI_COMM_WORLD);
    channels_sweep();
  }
  units_free(types);
  return test_end();
}
