/* A message leaves when all that it carries is final, and not later. A rank marks all but what one
 * other waits for: whatever does not travel with that arrives before the rest is marked. All kinds,
 * over shared memory and MPI; on routes through other ranks, which pass on what has come. Each
 * target has one source, so that what travels together is known from who sends to whom. */
#include "blocks.h"
#include "check.h"
#include "net.h"
#include "places.h"
#include "random.h"
#include "threads.h"

#include <sched.h>
#include <string.h>

enum { DONE_TAG = 77, PATIENCE = 60 };

typedef struct scene {
  const place *p;
  op_kind kind;
  int source[NET_RANKS];
  grove_forest *f;
  grove_op *op;
  int64_t out[NET_RANKS + 1]; /* for target t: root t, the place that it has, or leaf slot t */
  int64_t in[NET_RANKS + 1];  /* the value that comes: the first */
  int64_t round;
  net x;
} scene;

static int is_target(const scene *s, int t)
{
  return s->source[t] != t;
}

/* Down: root t of the source, slot 0 of the target. Up: slot t of the source, root 0 of the target.
 * Slots and roots between are nobody's. */
static grove_forest *make_forest(const scene *s)
{
  const place *p = s->p;
  grove_forest *f = NULL;
  grove_root root[NET_RANKS] = {{s->source[p->rank], p->rank}};
  int64_t slot[NET_RANKS] = {0}, n = is_target(s, p->rank);
  CHECK_OK(grove_forest_create(p->ctx, &f));
  if (kind_goes_to_roots(s->kind)) {
    n = 0;
    for (int t = 0; t < p->size; t++)
      if (is_target(s, t) && s->source[t] == p->rank) {
        root[n] = (grove_root){t, 0};
        slot[n++] = t;
      }
  }
  CHECK_OK(grove_forest_set_graph(f, p->size, n, slot, root));
  CHECK_OK(grove_forest_set_up(f));
  return f;
}

/* What to mark for a target, and where its value lies. */
static int64_t mark_of(const scene *s, int target)
{
  int64_t before = 0;
  if (s->kind != KIND_SCATTER) return target;
  for (int t = 0; t < target; t++) before += is_target(s, t) && s->source[t] == s->p->rank;
  return before;
}

static int64_t value_of(const scene *s, int source, int target)
{
  return 100000 * (s->round + 1) + 100 * source + target;
}

static scene scene_open(const place *p, op_kind k, rng *r)
{
  scene s = {.p = p, .kind = k};
  for (int t = 0; t < p->size; t++) s.source[t] = (int)rng_below(r, p->size);
  s.source[1 % p->size] = s.source[2 % p->size] = 0; /* somebody has two targets */
  s.f = make_forest(&s);
  return s;
}

/* Sums of integers need no order: a letter does not wait for those of lower ranks. The arrays do
 * not move: the scene stays where it is. */
static void scene_init(scene *s)
{
  int up = kind_goes_to_roots(s->kind);
  op_call c = {.kind = s->kind, .f = s->f, .unit = MPI_INT64_T, .op = MPI_SUM};
  c.root = up ? s->in : s->out;
  c.leaf = up ? s->out : s->in;
  CHECK_OK(call_init(&c, &s->op));
  s->x = net_of(s->p, s->op);
}

static void scene_close(scene *s)
{
  CHECK_OK(grove_op_free(&s->op));
  CHECK_OK(grove_forest_free(&s->f));
}

/* ---- one round ---- */

static void mark(scene *s, int target)
{
  s->out[mark_of(s, target)] = value_of(s, s->p->rank, target);
  CHECK_OK(grove_ready(s->op, mark_of(s, target), 1));
}

/* All that it has but what the late one waits for. */
static void start(scene *s, int late, int whole)
{
  memset(s->out, 0, sizeof s->out);
  for (int t = 0; whole && t < s->p->size; t++)
    if (is_target(s, t) && s->source[t] == s->p->rank)
      s->out[mark_of(s, t)] = value_of(s, s->p->rank, t);
  CHECK_OK(whole ? grove_start(s->op) : grove_start_parts(s->op));
  for (int t = 0; !whole && t < s->p->size; t++)
    if (is_target(s, t) && s->source[t] == s->p->rank && t != late) mark(s, t);
}

static void await_value(scene *s, int marker, int late)
{
  int yes = 0, rank = s->p->rank;
  double begin = MPI_Wtime();
  while (!yes) {
    CHECK_OK(grove_arrived(s->op, 0, 1, &yes));
    CHECK(yes || MPI_Wtime() - begin < PATIENCE,
          "%s: what rank %d has for this rank waits for what it has for rank %d, or for longer",
          kind_name(s->kind), marker, late);
    linger(0);
  }
  CHECK(s->in[0] == value_of(s, s->source[rank], rank), "%s: %lld came, not %lld",
        kind_name(s->kind), (long long)s->in[0], (long long)value_of(s, s->source[rank], rank));
}

/* Until all have told that have what does not travel with the late one. What passes through this
 * rank needs its calls of Grove; what it has marked does not. */
static void await_others(scene *s, const unsigned char *held, int calls)
{
  for (int t = 0; t < s->p->size; t++) {
    MPI_Request request;
    if (!is_target(s, t) || held[t] || t == s->p->rank) continue;
    MPI_Irecv(NULL, 0, MPI_BYTE, t, DONE_TAG, s->p->comm, &request);
    for (int told = 0, done = 0; !told;) {
      MPI_Test(&request, &told, MPI_STATUS_IGNORE);
      if (calls) CHECK_OK(grove_test(s->op, &done));
      CHECK(!done, "%s: complete before all is marked", kind_name(s->kind));
      linger(0);
    }
  }
}

/* How many got early what the same rank sends: had everything waited, they would not have. */
static int64_t telling;

static int64_t tellings(const place *p, int64_t mine)
{
  int64_t all = 0;
  MPI_Request request;
  MPI_Iallreduce(&mine, &all, 1, MPI_INT64_T, MPI_SUM, p->comm, &request);
  polite_wait(&request);
  return all;
}

static void try_late(scene *s, int late, rng *mine)
{
  int marker = s->source[late], me = s->p->rank, relays = op_relays(s->op);
  unsigned char held[NET_RANKS] = {0};
  held[late] = 1;
  net_spread(&s->x, s->source, -1, held);
  s->round++;
  s->in[0] = 0;
  start(s, me == marker ? late : -1, me != marker && rng_one_in(mine, 2));
  if (me == marker) {
    await_others(s, held, relays);
    mark(s, late);
  } else if (is_target(s, me) && !held[me]) {
    MPI_Request request;
    await_value(s, marker, late);
    MPI_Isend(NULL, 0, MPI_BYTE, marker, DONE_TAG, s->p->comm, &request);
    polite_wait(&request);
    telling += s->source[me] == marker;
  }
  CHECK_OK(grove_wait(s->op));
  if (is_target(s, me)) await_value(s, marker, late);
  polite_barrier(s->p->comm);
}

static void try_case(const place *p, op_kind k, rng *r, rng *mine)
{
  scene s = scene_open(p, k, r);
  scene_init(&s);
  for (int late = 0; late < p->size; late++)
    if (is_target(&s, late)) try_late(&s, late, mine);
  scene_close(&s);
}

/* ---- threads ---- */

enum { MARKERS = 3, WIDTH = 2 };

typedef struct crowd {
  blocks *b;
  int here; /* atomic */
} crowd;

/* One half of each block is marked by one thread, the other by another; all begin at once. */
static void mark_some(int number, void *self)
{
  crowd *x = self;
  __atomic_fetch_add(&x->here, 1, __ATOMIC_RELAXED);
  while (__atomic_load_n(&x->here, __ATOMIC_RELAXED) < MARKERS) sched_yield();
  for (int i = number; i < x->b->p->size * WIDTH; i += MARKERS)
    blocks_mark_run(x->b, i / WIDTH, i % WIDTH, 1);
}

/* Threads of rank 0 mark at once, and then nobody there calls Grove: all has left. */
static void marks_are_enough(const place *p, op_kind k, int64_t rounds)
{
  unsigned char held[NET_RANKS] = {1};
  blocks b = blocks_open(p, k, WIDTH);
  blocks_init(&b);
  scene s = {.p = p, .kind = k, .op = b.op};
  for (int i = 1; i < p->size; i++) s.source[i] = 0;
  for (int64_t round = 0; round < rounds; round++) {
    blocks_renew(&b);
    CHECK_OK(grove_start_parts(b.op));
    if (p->rank == 0) {
      crowd x = {&b, 0};
      in_threads(MARKERS, mark_some, &x);
      await_others(&s, held, 0);
    } else {
      MPI_Request request;
      int yes = 0;
      for (int i = 0; i < p->size; i++) blocks_mark(&b, i, WIDTH);
      for (double begin = MPI_Wtime(); !yes; linger(0)) {
        CHECK_OK(grove_arrived(b.op, 0, WIDTH, &yes));
        CHECK(yes || MPI_Wtime() - begin < PATIENCE, "%s: what was marked has not left",
              kind_name(k));
      }
      MPI_Isend(NULL, 0, MPI_BYTE, 0, DONE_TAG, p->comm, &request);
      polite_wait(&request);
    }
    CHECK_OK(grove_wait(b.op));
    blocks_check(&b);
  }
  blocks_close(&b);
}

static void try_threads(const place *p)
{
  static const op_kind kinds[] = {KIND_BCAST, KIND_REDUCE, KIND_SCATTER, KIND_GATHER};
  place_set(p, "route", "standard");
  for (int i = 0; i < 8; i++) {
    test_case(1000 + i);
    place_set(p, "transport_on_node", i / 4 ? "mpi" : "shm");
    marks_are_enough(p, kinds[i % 4], test_samples(60));
  }
}

int main(int argc, char **argv)
{
  static const char *const routes[] = {"standard", "3-step", "2-step", "split"};
  static const op_kind kinds[] = {KIND_BCAST, KIND_REDUCE, KIND_SCATTER, KIND_GATHER};
  test_begin(&argc, &argv, "exec/parts_leave_early");
  place p = place_create(split(0));
  rng r = rng_from(test_seed(), 0), mine = rng_from(test_seed(), 1 + (uint64_t)p.rank);
  int node[NET_RANKS];
  for (int k = 0; k < p.size; k++) node[k] = k < 3 ? 0 : k < 5 ? 1 : k;
  place_set_nodes(&p, node);
  int64_t told[4] = {0}; /* by route */
  for (int64_t i = 0; i < test_samples(32); i++) {
    test_case(i);
    place_set(&p, "route", routes[i % 4]);
    place_set(&p, "transport_on_node", i / 16 % 2 ? "mpi" : "shm");
    telling = 0;
    try_case(&p, kinds[i / 4 % 4], &r, &mine);
    int64_t now = tellings(&p, telling);
    CHECK(now > 0 || i % 4 > 0 || p.size < 3, "this case would not have told");
    told[i % 4] += now;
  }
  for (int k = 0; k < 4; k++)
    CHECK(told[k] > 0 || p.size < 5, "no case of %s would have told", routes[k]);
  if (any_thread_may_call() && p.size > 1) try_threads(&p);
  place_free(&p);
  return test_end();
}
