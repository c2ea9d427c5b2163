/* What an operation leaves behind is never taken for a message of another one. A tag is not used
 * again while a message of its former owner may wait for somebody; and of several operations of one
 * kind that are under way, those that are freed do not shift the data of the others. */
#include "check.h"
#include "random.h"
#include "ring.h"

/* ---- operations that were not started equally often ---- */

/* One rank owns a root, every other rank has a leaf on it. Who sends receives nothing, so that its
 * operation may be complete although nobody takes what it has sent: no fetch, which goes both
 * ways. */
static const op_kind one_way[] = {KIND_BCAST, KIND_REDUCE, KIND_GATHER, KIND_SCATTER};
enum { ONE_WAY = sizeof one_way / sizeof *one_way, MOST_RANKS = 16 };

typedef struct star {
  grove_forest *forest;
  int hub, me, size;
  op_kind kind;
  int64_t root[MOST_RANKS], leaf; /* the first, or all multiroots */
  grove_op *op;
} star;

static star star_open(const place *p, int hub, op_kind k)
{
  star x = {.hub = hub, .me = p->rank, .size = p->size, .kind = k};
  grove_root root = {hub, 0};
  CHECK(p->size <= MOST_RANKS, "too many ranks");
  CHECK_OK(grove_forest_create(p->ctx, &x.forest));
  CHECK_OK(grove_forest_set_graph(x.forest, p->rank == hub, p->rank != hub, NULL, &root));
  CHECK_OK(grove_forest_set_up(x.forest));
  return x;
}

static int star_sends(const star *x)
{
  return (x->me == x->hub) != kind_goes_to_roots(x->kind);
}

static int64_t root_value(int64_t round, int i)
{
  return 1000 * round - i;
}

static int64_t leaf_value(int64_t round, int rank)
{
  return 1000 * round + 1 + rank;
}

static void star_fill(star *x, int64_t round)
{
  for (int i = 0; i < x->size; i++) x->root[i] = root_value(round, i);
  x->leaf = leaf_value(round, x->me);
}

/* The place of a rank's leaf among the multiroots. */
static int star_place(const star *x, int rank)
{
  return rank - (rank > x->hub);
}

static void star_expect(const star *x, int64_t round, int64_t root[MOST_RANKS], int64_t *leaf)
{
  for (int i = 0; i < x->size; i++) root[i] = root_value(round, i);
  *leaf = leaf_value(round, x->me);
  for (int i = 0; i < x->size; i++) {
    if (i == x->hub) continue;
    if (x->kind == KIND_REDUCE) root[0] += leaf_value(round, i);
    if (x->kind == KIND_GATHER) root[star_place(x, i)] = leaf_value(round, i);
  }
  if (x->kind == KIND_BCAST) *leaf = root_value(round, 0);
  if (x->kind == KIND_SCATTER) *leaf = root_value(round, star_place(x, x->me));
}

static void star_check(const star *x, int64_t round)
{
  int64_t root[MOST_RANKS], leaf;
  star_expect(x, round, root, &leaf);
  for (int i = 0; i < x->size && x->me == x->hub; i++)
    CHECK(x->root[i] == root[i], "%s: root %d is %lld, not %lld, in round %lld", kind_name(x->kind),
          i, (long long)x->root[i], (long long)root[i], (long long)round);
  CHECK(x->me == x->hub || x->leaf == leaf, "%s: leaf is %lld, not %lld, in round %lld",
        kind_name(x->kind), (long long)x->leaf, (long long)leaf, (long long)round);
}

static op_call star_call(star *x)
{
  MPI_Op op = x->kind == KIND_BCAST ? MPI_REPLACE : MPI_SUM;
  return (op_call){x->kind, x->forest, MPI_INT64_T, op, x->root, &x->leaf, NULL};
}

static void star_init(star *x)
{
  op_call c = star_call(x);
  CHECK_OK(call_init(&c, &x->op));
}

static void star_begin(star *x)
{
  op_call c = star_call(x);
  CHECK_OK(call_begin(&c, &x->op));
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
  *x = star_open(p, x->hub, x->kind);
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
static void started_unequally(const place *p, int hub, op_kind k, int ahead, int begun)
{
  star x = star_open(p, hub, k);
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
  int relays;     /* what is freed then goes on only while its rank calls Grove: */
  grove_op *none; /* moves nothing; to be tested meanwhile */
  ring shot[SHOTS];
  int64_t *then[SHOTS]; /* the arrays of a freed one, at that time */
} volley;

static volley volley_open(const place *p, int64_t n, op_kind k)
{
  volley v = {.shot[0] = ring_open(p, n, RING_NOBODY, k)};
  for (int i = 1; i < SHOTS; i++) v.shot[i] = ring_sibling(&v.shot[0]);
  ring_begin(&v.shot[0]); /* the first of its kind is collective: out of the way */
  v.relays = op_relays(v.shot[0].op);
  v.none = place_idle(p);
  CHECK_OK(grove_end(&v.shot[0].op));
  return v;
}

/* After the context: a freed operation may have been sending. */
static void volley_close(volley *v)
{
  for (int i = SHOTS - 1; i >= 0; i--) ring_close(&v->shot[i]);
}

static void begin_all(volley *v)
{
  for (int i = 0; i < SHOTS; i++) ring_begin(&v->shot[i]);
}

static void drop(volley *v, int i)
{
  CHECK_OK(grove_op_free(&v->shot[i].op));
  v->then[i] = ring_snapshot(&v->shot[i]);
}

static void end(volley *v, int i, int round)
{
  CHECK_OK(grove_end(&v->shot[i].op));
  ring_check(&v->shot[i], SHOTS * round + i);
}

/* All ranks have ended what they did not drop. What was dropped leaves shared memory when its rank
 * looks there: one that ends nothing, round after round, would take the room of others. */
static void meet(const place *p, volley *v)
{
  int done;
  if (v->relays)
    place_meet(p, v->none);
  else
    polite_barrier(p->comm);
  CHECK_OK(grove_test(v->none, &done));
}

/* Everything has arrived by now, and nothing where it should not. */
static void check_dropped(volley *v)
{
  for (int i = 0; i < SHOTS; i++) {
    if (v->then[i] != NULL) ring_check_unchanged(&v->shot[i], v->then[i]);
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
  meet(p, v);
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
  meet(p, v);
  check_dropped(v);
}

static void freed_among_others(int64_t size, op_kind k, int64_t samples)
{
  place p = place_create(split(0));
  int64_t n = ring_room(&p, size, 2 * SHOTS);
  volley v = volley_open(&p, n, k);
  rng r = rng_from(test_seed(), (uint64_t)(OP_KINDS * n + k));
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
  CHECK_OK(grove_op_free(&v.none));
  place_free(&p);
  polite_barrier(MPI_COMM_WORLD);
  volley_close(&v);
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "exec/stale_messages");
  if (world_size() < 2) return test_skip("one rank sends no messages");
  place p = place_create(split(0));
  for (int i = 0; i < 4 * ONE_WAY; i++) {
    test_case(i);
    started_unequally(&p, i % p.size, one_way[i % ONE_WAY], 1 + i / ONE_WAY % 2, i / (2 * ONE_WAY));
  }
  place_free(&p);
  for (int i = 0; i < ONE_WAY; i++) {
    freed_among_others(RING_SMALL, one_way[i], test_samples(10));
    freed_among_others(RING_MIDDLE, one_way[i], test_samples(2));
  }
  return test_end();
}
