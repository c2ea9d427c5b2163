/* One side is far ahead of the other. A start waits for nobody, however full shared memory is: what
 * has no room is packed later, by whatever call of the library comes, and arrives in order. */
#include "check.h"
#include "places.h"
#include "random.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

/* ---- one rank and all others ---- */

/* Rank `hub` has n roots, every other rank a leaf on each. In a bcast the hub sends, in a reduce it
 * receives. Where they are listed the roots are taken backwards, so that they need packing. */
typedef struct star {
  grove_forest *forest;
  int64_t n;
  int hub, me, size;
  int reduces, listed;
} star;

typedef struct shot {
  int64_t *root, *leaf;
  int64_t round;
  grove_op *op;
} shot;

static star star_open(const place *p, int hub, int64_t n, int reduces, int listed)
{
  star x = {.n = n, .hub = hub, .me = p->rank, .size = p->size};
  x.reduces = reduces;
  x.listed = listed;
  grove_root *root = need((size_t)n * sizeof *root);
  for (int64_t j = 0; j < n; j++) root[j] = (grove_root){hub, listed ? n - 1 - j : j};
  CHECK_OK(grove_forest_create(p->ctx, &x.forest));
  CHECK_OK(grove_forest_set_graph(x.forest, x.me == hub ? n : 0, x.me == hub ? 0 : n, NULL, root));
  CHECK_OK(grove_forest_set_up(x.forest));
  free(root);
  return x;
}

static int sends(const star *x)
{
  return (x->me == x->hub) != x->reduces;
}

static shot shot_open(const star *x)
{
  shot s = {0};
  s.root = need((size_t)x->n * sizeof *s.root);
  s.leaf = need((size_t)x->n * sizeof *s.leaf);
  return s;
}

static void shot_close(shot *s)
{
  CHECK_OK(grove_op_free(&s->op));
  free(s->root);
  free(s->leaf);
}

static int64_t root_value(int64_t round, int64_t i)
{
  return 70001 * round + i;
}

static int64_t leaf_value(int rank, int64_t round, int64_t i)
{
  return 900001 * (int64_t)(rank + 1) + 50021 * round + 3 * i;
}

static void fill(const star *x, shot *s, int64_t round)
{
  s->round = round;
  for (int64_t i = 0; i < x->n; i++) {
    s->root[i] = root_value(round, i);
    s->leaf[i] = leaf_value(x->me, round, i);
  }
}

static void check(const star *x, const shot *s)
{
  if (sends(x)) return;
  for (int64_t i = 0; i < x->n; i++) {
    int64_t at = x->listed ? x->n - 1 - i : i, got = x->reduces ? s->root[i] : s->leaf[i];
    int64_t expected = root_value(s->round, x->reduces ? i : at);
    for (int r = 0; x->reduces && r < x->size; r++)
      if (r != x->hub) expected += leaf_value(r, s->round, at);
    CHECK(got == expected, "entry %lld of %lld is %lld, not %lld, in round %lld", (long long)i,
          (long long)x->n, (long long)got, (long long)expected, (long long)s->round);
  }
}

static void init(const star *x, shot *s)
{
  if (x->reduces)
    CHECK_OK(grove_reduce_init(x->forest, MPI_INT64_T, s->leaf, s->root, MPI_SUM, &s->op));
  else
    CHECK_OK(grove_bcast_init(x->forest, MPI_INT64_T, s->root, s->leaf, MPI_REPLACE, &s->op));
}

static void begin(const star *x, shot *s)
{
  if (x->reduces)
    CHECK_OK(grove_reduce_begin(x->forest, MPI_INT64_T, s->leaf, s->root, MPI_SUM, &s->op));
  else
    CHECK_OK(grove_bcast_begin(x->forest, MPI_INT64_T, s->root, s->leaf, MPI_REPLACE, &s->op));
}

static void start(const star *x, shot *s, int begun)
{
  if (begun)
    begin(x, s);
  else
    CHECK_OK(grove_start(s->op));
}

/* ---- as far ahead as shared memory allows ---- */

/* Who receives dawdles. The sender changes its array as soon as it may. */
static void dawdling_receivers(const star *x, int64_t rounds)
{
  rng mine = rng_from(test_seed(), (uint64_t)x->me);
  shot s = shot_open(x);
  init(x, &s);
  for (int64_t round = 0; round < rounds; round++) {
    fill(x, &s, round);
    if (!sends(x) && rng_one_in(&mine, 50)) linger(1e-3);
    if (!sends(x) && rng_one_in(&mine, 4)) sched_yield();
    CHECK_OK(grove_start(s.op));
    CHECK_OK(grove_wait(s.op));
    check(x, &s);
  }
  shot_close(&s);
}

/* ---- farther ahead than it allows ---- */

static void hear(const place *p, int from)
{
  MPI_Request request;
  MPI_Irecv(NULL, 0, MPI_INT, from, 3, p->comm, &request);
  polite_wait(&request);
}

static void tell_others(const place *p)
{
  for (int r = 0; r < p->size; r++)
    if (r != p->rank) MPI_Send(NULL, 0, MPI_INT, r, 3, p->comm);
}

typedef enum finish { BY_WAIT, BY_TEST, BY_ANOTHER, FINISHES } finish;

/* In an order of each rank's own. */
static void finish_all(const star *x, shot *s, int n, finish how, rng *mine)
{
  int64_t order[64];
  for (int i = 0; i < n; i++) order[i] = i;
  rng_shuffle(mine, n, order);
  if (how == BY_ANOTHER) polite_finish(s[n - 1].op); /* which drives all */
  for (int k = 0; k < n; k++) {
    shot *one = &s[order[k]];
    if (how == BY_TEST) polite_finish(one->op);
    CHECK_OK(grove_wait(one->op));
    check(x, one);
  }
}

/* The senders start all, and only then let the receivers know; these have started nothing yet. A
 * start that waited for room would wait for ever. */
static void all_started_first(const place *p, const star *x, int n, int begun, finish how)
{
  shot s[64];
  rng mine = rng_from(test_seed() + (uint64_t)how, (uint64_t)x->me);
  for (int i = 0; i < n; i++) {
    s[i] = shot_open(x);
    fill(x, &s[i], i);
    if (!begun) init(x, &s[i]);
  }
  if (begun) { /* the first of its kind is collective: out of the way */
    begin(x, &s[0]);
    CHECK_OK(grove_end(&s[0].op));
    fill(x, &s[0], 0);
  }
  polite_barrier(p->comm);
  for (int r = 0; !sends(x) && r < p->size; r++)
    if (r != x->me && (r == x->hub) != x->reduces) hear(p, r);
  for (int i = 0; i < n; i++) start(x, &s[i], begun);
  if (sends(x)) {
    if (x->reduces)
      MPI_Send(NULL, 0, MPI_INT, x->hub, 3, p->comm);
    else
      tell_others(p);
  }
  finish_all(x, s, n, how, &mine);
  polite_barrier(p->comm);
  for (int i = 0; i < n; i++) {
    if (begun) CHECK_OK(grove_end(&s[i].op));
    shot_close(&s[i]);
  }
}

/* ---- freed by who is ahead ---- */

/* The senders free what they have started, all of it, before a receiver has started anything. As
 * long as they call the library, here in a set-up that the receivers come to last, all of it
 * arrives. What is sent from stays until the context is gone. */
static void freed_at_once(int64_t n, int reduces, int listed, int begun)
{
  enum { SHOTS = 5 };
  place p = place_create(split(0));
  star x = star_open(&p, n % p.size, n, reduces, listed), last = {0};
  shot s[SHOTS];
  for (int i = 0; i < SHOTS; i++) {
    s[i] = shot_open(&x);
    fill(&x, &s[i], i);
    if (!begun) init(&x, &s[i]);
  }
  if (begun) {
    begin(&x, &s[0]);
    CHECK_OK(grove_end(&s[0].op));
    fill(&x, &s[0], 0);
  }
  if (!sends(&x)) polite_barrier(p.comm);
  for (int i = 0; i < SHOTS; i++) start(&x, &s[i], begun);
  for (int i = 0; i < SHOTS && sends(&x); i++) CHECK_OK(grove_op_free(&s[i].op));
  if (sends(&x)) polite_barrier(p.comm);
  for (int i = 0; i < SHOTS && !sends(&x); i++) {
    CHECK_OK(begun ? grove_end(&s[i].op) : grove_wait(s[i].op));
    check(&x, &s[i]);
  }
  last = star_open(&p, 0, 1, 0, 0);
  CHECK_OK(grove_forest_free(&last.forest));
  CHECK_OK(grove_forest_free(&x.forest));
  for (int i = 0; i < SHOTS; i++) CHECK_OK(grove_op_free(&s[i].op));
  place_free(&p);
  polite_barrier(MPI_COMM_WORLD);
  for (int i = 0; i < SHOTS; i++) shot_close(&s[i]);
}

static void try_size(const place *p, int64_t n, int64_t rounds)
{
  for (int i = 0; i < 4; i++) {
    star x = star_open(p, i % p->size, n, i % 2, i / 2);
    dawdling_receivers(&x, rounds);
    int shots = n < 10000 ? 64 : 6;
    for (int how = 0; how < FINISHES; how++)
      all_started_first(p, &x, shots, (how + i) % 2, (finish)how);
    CHECK_OK(grove_forest_free(&x.forest));
  }
}

int main(int argc, char **argv)
{
  static const struct {
    int64_t n, rounds;
  } size[] = {{1, 2000}, {5, 1000}, {128, 500}, {500, 250}, {2048, 150}, {20000, 30}};
  test_begin(&argc, &argv, "exec/runs_ahead");
  if (world_size() < 2) return test_skip("nobody is ahead of itself");
  place p = place_create(split(0));
  for (int i = 0; i < 6; i++) {
    int64_t most = test_samples(size[i].rounds);
    test_case(i);
    try_size(&p, size[i].n, most < 10 * size[i].rounds ? most : 10 * size[i].rounds);
  }
  place_free(&p);
  for (int i = 0; i < 6; i++)
    for (int k = 0; k < 4; k++) { /* bcast and reduce, consecutive and listed */
      test_case(4 * i + k);
      freed_at_once(size[i].n, k % 2, k / 2, (i + k / 2) % 2);
    }
  return test_end();
}
