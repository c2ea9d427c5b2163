/* Which ends meet: the k-th to a rank with a tag, and the k-th there from this rank with that tag.
 * Only the two ranks take part; other tags, other orders and other contexts make no difference. */
#include "channel.h"
#include "check.h"

#include <limits.h>

typedef struct scene {
  place p;
  grove_op *idle;
  const units *types;
} scene;

/* Number k of its tag: none looks like another one. */
static channel end_of(const scene *s, int sends, int peer, int tag, int k)
{
  channel c = {.ctx = s->p.ctx, .sends = sends, .peer = peer, .tag = tag};
  int from = sends ? s->p.rank : peer;
  c.parts = 2 + k;
  c.count = 3 + tag % 5;
  c.u = units_find(s->types, "MPI_INT");
  c.seed = mix2(test_seed(), (uint64_t)(from * 1000 + tag % 100 * 10 + k));
  return c;
}

static channel open_end(const scene *s, int sends, int peer, int tag, int k)
{
  channel c = end_of(s, sends, peer, tag, k);
  channel_open(&c);
  return c;
}

/* All of them, some rounds: started, marked and waited for in this order. */
static void run_all(channel *c, int n, const int *order)
{
  for (int round = 0; round < 3; round++) {
    for (int i = 0; i < n; i++) channel_start(&c[order[i]]);
    for (int i = 0; i < n; i++)
      if (c[order[i]].sends) channel_ready(&c[order[i]], 0, c[order[i]].parts);
    for (int i = n - 1; i >= 0; i--) channel_wait(&c[order[i]]);
  }
}

static void close_all(channel *c, int n)
{
  for (int i = 0; i < n; i++) channel_close(&c[i]);
}

/* Ranks 0 and 1, of however many. The others make no call. */
static void only_two(const scene *s)
{
  if (s->p.rank > 1) return;
  channel c = open_end(s, s->p.rank == 0, 1 - s->p.rank, 0, 0);
  for (int round = 0; round < 5; round++) channel_run(&c);
  channel_close(&c);
}

/* Rank 0 makes them from the first tag to the last, rank 1 from the last to the first. */
static void tags_in_opposite_orders(const scene *s)
{
  enum { TAGS = 6 };
  static const int tag[TAGS] = {0, 1, 2, 70, 4096, INT_MAX};
  static const int first[TAGS] = {3, 0, 5, 1, 4, 2}, second[TAGS] = {2, 3, 4, 0, 1, 5};
  channel c[TAGS];
  if (s->p.rank > 1) return;
  for (int i = 0; i < TAGS; i++) {
    int k = s->p.rank == 0 ? i : TAGS - 1 - i;
    c[k] = open_end(s, s->p.rank == 0, 1 - s->p.rank, tag[k], 0);
  }
  run_all(c, TAGS, s->p.rank == 0 ? first : second);
  close_all(c, TAGS);
}

static void several_of_one_tag(const scene *s)
{
  enum { SAME = 4 };
  static const int down[SAME] = {3, 2, 1, 0}, mixed[SAME] = {1, 3, 0, 2};
  channel c[SAME];
  if (s->p.rank > 1) return;
  for (int k = 0; k < SAME; k++) c[k] = open_end(s, s->p.rank == 0, 1 - s->p.rank, 9, k);
  run_all(c, SAME, s->p.rank == 0 ? down : mixed);
  close_all(c, SAME);
}

/* Made at one end long after the other has started and marked. */
static void one_end_is_late(const scene *s)
{
  channel c;
  if (s->p.rank > 1) return;
  for (int late = 0; late < 2; late++) {
    if (s->p.rank == late) hear(&s->p, 1 - late, s->idle);
    c = open_end(s, s->p.rank == 0, 1 - s->p.rank, 11, late);
    channel_start(&c);
    if (c.sends) channel_ready(&c, 0, c.parts);
    if (s->p.rank != late) tell(&s->p, late);
    channel_wait(&c);
    channel_run(&c);
    channel_close(&c);
  }
}

/* Pairs that were made and never started count, and leave nothing behind. */
static void never_started(const scene *s)
{
  if (s->p.rank > 1) return;
  for (int k = 0; k < 6; k++) {
    channel c = open_end(s, s->p.rank == 0, 1 - s->p.rank, 12, k);
    if (k % 3 == 2) channel_run(&c);
    channel_close(&c);
  }
  /* The same with the next of the tag made, and waited for, before they are freed. */
  channel unused = open_end(s, s->p.rank == 0, 1 - s->p.rank, 13, 0);
  channel used = open_end(s, s->p.rank == 0, 1 - s->p.rank, 13, 1);
  channel_run(&used);
  channel_close(&unused);
  channel_run(&used);
  channel_close(&used);
}

/* One end starts, the other never does: both go, and the next pair meets all the same. */
static void started_at_one_end(const scene *s)
{
  if (s->p.rank > 1) return;
  for (int k = 0; k < 4; k++) {
    int starter = k / 2;
    channel c = open_end(s, s->p.rank == 0, 1 - s->p.rank, 14, k);
    if (k % 2 == 1) {
      channel_run(&c);
      channel_close(&c);
    } else if (s->p.rank == starter) {
      channel_start(&c);
      if (c.sends) channel_ready(&c, 0, c.parts - 1);
      channel_abandon(&c);
    } else {
      channel_close(&c);
    }
  }
}

static void both_directions(const scene *s)
{
  static const int up[2] = {0, 1}, down[2] = {1, 0};
  if (s->p.rank > 1) return;
  channel c[2];
  for (int i = 0; i < 2; i++) c[i] = open_end(s, (i + s->p.rank) % 2, 1 - s->p.rank, 15, 0);
  run_all(c, 2, s->p.rank == 0 ? up : down);
  close_all(c, 2);
}

/* One thread has both ends, made and waited for in either order. */
static void to_oneself(const scene *s)
{
  for (int i = 0; i < 4; i++) {
    int order[2] = {i % 2, 1 - i % 2};
    channel c[2];
    for (int k = 0; k < 2; k++) c[(k + i / 2) % 2] = open_end(s, (k + i / 2) % 2, s->p.rank, 16, i);
    run_all(c, 2, order);
    close_all(c, 2);
  }
}

static void with_everybody(const scene *s)
{
  enum { MOST = 64 };
  channel c[2 * MOST];
  int order[2 * MOST], n = 0;
  for (int peer = 0; peer < s->p.size && peer < MOST; peer++)
    for (int sends = 0; sends < 2; sends++) {
      order[n] = n;
      c[n++] = open_end(s, sends, peer, 17, 0);
    }
  run_all(c, n, order);
  close_all(c, n);
}

/* Nothing to send: in no parts, or in parts of nothing, unequal ones too. */
static void nothing_at_all(const scene *s)
{
  static const struct {
    int parts[2];
    int64_t count[2];
    const char *unit[2];
  } shape[] = {
    {{0, 0}, {0, 0}, {"MPI_INT", "MPI_INT"}}, {{0, 0}, {5, 7}, {"MPI_INT", "MPI_DOUBLE"}},
    {{3, 3}, {0, 0}, {"MPI_INT", "MPI_INT"}}, {{4, 0}, {0, 2}, {"MPI_DOUBLE", "MPI_INT"}},
    {{0, 5}, {1, 0}, {"MPI_INT", "MPI_INT"}}, {{2, 6}, {3, 1}, {"nothing", "nothing in 8 bytes"}},
  };
  int next = (s->p.rank + 1) % s->p.size, previous = (s->p.rank + s->p.size - 1) % s->p.size;
  for (int i = 0; i < (int)(sizeof shape / sizeof *shape); i++) {
    channel c[2];
    for (int k = 0; k < 2; k++) {
      c[k] = end_of(s, k == 0, k == 0 ? next : previous, 18, 0);
      c[k].parts = shape[i].parts[k];
      c[k].count = shape[i].count[k];
      c[k].u = units_find(s->types, shape[i].unit[k]);
      channel_open(&c[k]);
    }
    run_all(c, 2, (const int[]){0, 1});
    channel_start(&c[0]);
    channel_start(&c[1]);
    for (int k = 0; k < c[0].parts; k++) channel_ready(&c[0], k, 1);
    channel_await(&c[1], 0, c[1].parts);
    channel_wait(&c[1]);
    channel_wait(&c[0]);
    close_all(c, 2);
  }
}

/* No buffer is needed for that. */
static void nothing_from_nowhere(const scene *s)
{
  grove_op *op[2] = {NULL};
  CHECK_OK(grove_psend_init(s->p.ctx, NULL, 0, 4, MPI_INT, s->p.rank, 19, &op[0]));
  CHECK_OK(grove_precv_init(s->p.ctx, NULL, 2, 0, MPI_INT, s->p.rank, 19, &op[1]));
  for (int i = 0; i < 2; i++) CHECK_OK(grove_start(op[i]));
  for (int i = 1; i >= 0; i--) CHECK_OK(grove_wait(op[i]));
  for (int i = 0; i < 2; i++) CHECK_OK(grove_op_free(&op[i]));
}

/* Two contexts of the same ranks count for themselves. */
static void two_contexts(const scene *s)
{
  scene other = {.p = place_create(split(0)), .types = s->types};
  if (s->p.rank < 2) {
    channel c[2];
    for (int i = 0; i < 2; i++) {
      const scene *of = i == s->p.rank ? s : &other;
      int k = i == s->p.rank ? 0 : 1;
      c[k] = open_end(of, s->p.rank == 0, 1 - s->p.rank, 20, k);
    }
    for (int round = 0; round < 3; round++) {
      for (int i = 0; i < 2; i++) channel_start(&c[i]);
      for (int i = 0; i < 2; i++)
        if (c[i].sends) channel_ready(&c[i], 0, c[i].parts);
      for (int done[2] = {0}; !done[0] || !done[1];) /* a test advances its own context alone */
        for (int i = 0; i < 2; i++)
          if (!done[i]) CHECK_OK(grove_test(c[i].op, &done[i]));
      for (int i = 0; i < 2; i++) channel_over(&c[i]);
    }
    close_all(c, 2);
  }
  place_free(&other.p);
}

int main(int argc, char **argv)
{
  static void (*const pairs[])(const scene *) = {
    only_two,      tags_in_opposite_orders, several_of_one_tag, one_end_is_late,
    never_started, started_at_one_end,      both_directions,    two_contexts,
  };
  static void (*const all[])(const scene *) = {
    to_oneself,
    with_everybody,
    nothing_at_all,
    nothing_from_nowhere,
  };
  test_begin(&argc, &argv, "partitioned/matching");
  units *types = units_create();
  scene s = {.p = place_create(split(0)), .types = types};
  s.idle = place_idle(&s.p);
  for (int again = 0; again < 2; again++) { /* numbers of tags go on from where they were */
    for (int i = 0; i < 8 && s.p.size > 1; i++) {
      test_case(i);
      pairs[i](&s);
    }
    for (int i = 0; i < 4; i++) {
      test_case(10 + i);
      all[i](&s);
    }
  }
  CHECK_OK(grove_op_free(&s.idle));
  place_free(&s.p);
  polite_barrier(MPI_COMM_WORLD);
  channels_sweep();
  units_free(types);
  return test_end();
}
