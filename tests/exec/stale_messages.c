/* What an operation leaves behind is never taken for a message of another one. A tag is not used
 * again while a message of its former owner may wait for somebody; and of several operations of one
 * kind that are under way, those that are freed do not shift the data of the others. */
#include "check.h"
#include "random.h"
#include "ring.h"

#include <stdlib.h>
#include <string.h>

/* ---- operations that were not started equally often ---- */

/* One rank owns a root, every other rank has a leaf on it. Who sends receives nothing, so that its
 * operation may be complete although nobody takes what it has sent. */
typedef struct star {
  grove_forest *forest;
  int hub, me, size;
  int reduces;
  int64_t root, leaf;
  grove_op *op;
} star;

static star star_open(const place *p, int hub, int reduces)
{
  star x = {.hub = hub, .me = p->rank, .size = p->size, .reduces = reduces};
  grove_root root = {hub, 0};
  CHECK_OK(grove_forest_create(p->ctx, &x.forest));
  CHECK_OK(grove_forest_set_graph(x.forest, p->rank == hub, p->rank != hub, NULL, &root));
  CHECK_OK(grove_forest_set_up(x.forest));
  return x;
}

static int star_sends(const star *x)
{
  return (x->me == x->hub) != x->reduces;
}

static void star_fill(star *x, int64_t round)
{
  x->root = 1000 * round;
  x->leaf = 1000 * round + 1 + x->me;
}

static void star_check(const star *x, int64_t round)
{
  int64_t root = 1000 * round, leaf = x->reduces ? 1000 * round + 1 + x->me : root;
  for (int i = 0; x->reduces && i < x->size; i++)
    if (i != x->hub) root += 1000 * round + 1 + i;
  CHECK(x->me != x->hub || x->root == root, "root is %lld, not %lld, in round %lld",
        (long long)x->root, (long long)root, (long long)round);
  CHECK(x->me == x->hub || x->leaf == leaf, "leaf is %lld, not %lld, in round %lld",
        (long long)x->leaf, (long long)leaf, (long long)round);
}

static void star_init(star *x)
{
  if (x->reduces)
    CHECK_OK(grove_reduce_init(x->forest, MPI_INT64_T, &x->leaf, &x->root, MPI_SUM, &x->op));
  else
    CHECK_OK(grove_bcast_init(x->forest, MPI_INT64_T, &x->root, &x->leaf, MPI_REPLACE, &x->op));
}

static void star_begin(star *x)
{
  if (x->reduces)
    CHECK_OK(grove_reduce_begin(x->forest, MPI_INT64_T, &x->leaf, &x->root, MPI_SUM, &x->op));
  else
    CHECK_OK(grove_bcast_begin(x->forest, MPI_INT64_T, &x->root, &x->leaf, MPI_REPLACE, &x->op));
}

/* Small messages are under way at once, with any MPI; one that would rather wait for the receiver
 * is not waited for. */
static int finishes_alone(grove_op *op)
{
  int done = 0;
  for (int i = 0; i < 1000 && !done; i++) CHECK_OK(grove_test(op, &done));
  return done;
}

/* The senders start so often more than the receivers; then all free the operation. */
static void leave_messages(star *x, int ahead)
{
  star_fill(x, 1);
  star_init(x);
  CHECK_OK(grove_start(x->op));
  CHECK_OK(grove_wait(x->op));
  star_check(x, 1);
  for (int i = 0, done = 1; i < ahead && done && star_sends(x); i++) {
    star_fill(x, 2 + i);
    CHECK_OK(grove_start(x->op));
    done = finishes_alone(x->op);
  }
  CHECK_OK(grove_op_free(&x->op));
}

/* The same with operations that are begun; their tag lives as long as the forest. */
static void leave_begun_messages(const place *p, star *x, int ahead)
{
  star_fill(x, 1);
  star_begin(x);
  CHECK_OK(grove_end(&x->op));
  star_check(x, 1);
  for (int i = 0, done = 1; i < ahead && done && star_sends(x); i++) {
    star_fill(x, 2 + i);
    star_begin(x);
    done = finishes_alone(x->op);
    CHECK_OK(grove_op_free(&x->op));
  }
  CHECK_OK(grove_forest_free(&x->forest));
  *x = star_open(p, x->hub, x->reduces);
}

/* Operations that are made later get what is meant for them, both kinds of them, several times. */
static void later_ones_are_right(star *x)
{
  for (int64_t round = 10; round < 13; round++) {
    star_fill(x, round);
    star_init(x);
    CHECK_OK(grove_start(x->op));
    CHECK_OK(grove_wait(x->op));
    star_check(x, round);
    CHECK_OK(grove_op_free(&x->op));
    star_fill(x, round + 10);
    star_begin(x);
    CHECK_OK(grove_end(&x->op));
    star_check(x, round + 10);
  }
}

/* Neither the message that nobody took, nor its tag, comes back. */
static void started_unequally(const place *p, int hub, int reduces, int ahead, int begun)
{
  star x = star_open(p, hub, reduces);
  if (begun)
    leave_begun_messages(p, &x, ahead);
  else
    leave_messages(&x, ahead);
  polite_barrier(p->comm);
  later_ones_are_right(&x);
  polite_barrier(p->comm); /* what is sent from here has been taken */
  CHECK_OK(grove_forest_free(&x.forest));
}

/* ---- several of one kind, some of them freed ---- */

enum { SHOTS = 6 };

typedef struct volley {
  ring shot[SHOTS];
  int64_t *then[SHOTS]; /* the written array of a freed one, at that time */
} volley;

static volley volley_open(const place *p, int64_t n, int reduces)
{
  volley v = {.shot[0] = ring_open(p, n, RING_NOBODY, reduces)};
  for (int i = 1; i < SHOTS; i++) v.shot[i] = ring_sibling(&v.shot[0]);
  ring_begin(&v.shot[0]); /* the first of its kind is collective: out of the way */
  CHECK_OK(grove_end(&v.shot[0].op));
  return v;
}

/* After the context: a freed operation may have been sending. */
static void volley_close(volley *v)
{
  for (int i = SHOTS - 1; i >= 0; i--) ring_close(&v->shot[i]);
}

static int64_t *written(const ring *x)
{
  return x->reduces ? x->root : x->leaf;
}

static void begin_all(volley *v)
{
  for (int i = 0; i < SHOTS; i++) ring_begin(&v->shot[i]);
}

static void drop(volley *v, int i)
{
  const ring *x = &v->shot[i];
  CHECK_OK(grove_op_free(&v->shot[i].op));
  v->then[i] = need((size_t)x->n * sizeof *x->leaf);
  memcpy(v->then[i], written(x), (size_t)x->n * sizeof *x->leaf);
}

static void end(volley *v, int i, int round)
{
  CHECK_OK(grove_end(&v->shot[i].op));
  ring_check(&v->shot[i], SHOTS * round + i);
}

/* Everything has arrived by now, and nothing where it should not. */
static void check_dropped(volley *v)
{
  for (int i = 0; i < SHOTS; i++) {
    const ring *x = &v->shot[i];
    if (v->then[i] == NULL) continue;
    CHECK(memcmp(v->then[i], written(x), (size_t)x->n * sizeof *x->leaf) == 0,
          "operation %d wrote after it was freed", i);
    free(v->then[i]);
    v->then[i] = NULL;
  }
}

static void fill_all(volley *v, int round)
{
  for (int i = 0; i < SHOTS; i++) ring_fill(&v->shot[i], SHOTS * round + i);
}

/* One rank begins all and frees `n` of them, in this order, before any other rank begins: none of
 * its messages has come. It and the others end the rest, and have the right data. */
static void freed_before_arrival(const place *p, volley *v, int early, int n, const int64_t *order,
                                 int round)
{
  int first = p->rank == early;
  fill_all(v, round);
  if (!first) polite_barrier(p->comm);
  begin_all(v);
  for (int k = 0; k < n && first; k++) drop(v, (int)order[k]);
  if (first) polite_barrier(p->comm);
  for (int i = 0; i < SHOTS; i++)
    if (v->shot[i].op != NULL) end(v, i, round);
  polite_barrier(p->comm);
  check_dropped(v);
}

/* Every rank frees what it likes and when it likes. */
static void freed_at_random(const place *p, volley *v, rng *mine, int round)
{
  int64_t order[SHOTS] = {0, 1, 2, 3, 4, 5};
  rng_shuffle(mine, SHOTS, order);
  fill_all(v, round);
  begin_all(v);
  for (int k = 0; k < SHOTS; k++) {
    if (rng_one_in(mine, 3))
      drop(v, (int)order[k]);
    else
      end(v, (int)order[k], round);
  }
  polite_barrier(p->comm);
  check_dropped(v);
}

static void freed_among_others(int64_t size, int reduces, int64_t samples)
{
  place p = place_create(split(0));
  int64_t n = ring_room(&p, size, SHOTS);
  volley v = volley_open(&p, n, reduces);
  rng r = rng_from(test_seed(), (uint64_t)(2 * n + reduces));
  rng mine = rng_from(r.state, (uint64_t)world_rank());
  int round = 0;
  for (int64_t a = 0; a < SHOTS && n == RING_SMALL; a++)
    for (int64_t b = 0; b < SHOTS; b++)
      if (a != b) {
        round++;
        freed_before_arrival(&p, &v, round % p.size, 2, (const int64_t[]){a, b}, round);
      }
  for (int64_t i = 0; i < samples; i++) {
    int64_t order[SHOTS] = {0, 1, 2, 3, 4, 5};
    test_case(i);
    rng_shuffle(&r, SHOTS, order);
    int dropped = (int)rng_between(&r, 1, SHOTS);
    freed_before_arrival(&p, &v, (int)rng_below(&r, p.size), dropped, order, round++);
    freed_at_random(&p, &v, &mine, round++);
  }
  place_free(&p);
  polite_barrier(MPI_COMM_WORLD);
  volley_close(&v);
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "exec/stale_messages");
  if (world_size() < 2) return test_skip("one rank sends no messages");
  place p = place_create(split(0));
  for (int i = 0; i < 8; i++) {
    test_case(i);
    started_unequally(&p, i % p.size, i % 2, 1 + i / 4, i / 2 % 2);
  }
  place_free(&p);
  for (int reduces = 0; reduces < 2; reduces++) {
    freed_among_others(RING_SMALL, reduces, test_samples(10));
    freed_among_others(RING_MIDDLE, reduces, test_samples(2));
  }
  return test_end();
}
