/* Bundles: several operations as one, with the same results, and one message to a rank where they
 * would send several. Members of any kind, type and forest, freed before, after or while the bundle
 * is used; several bundles at once; bundles of none and of bundles. */
#include "check.h"
#include "exercise.h"
#include "places.h"
#include "shared.h"

#include <stdlib.h>

enum { FORESTS = 3, MOST_MEMBERS = 8, ROUNDS = 3 };

/* The forests of a case. */
typedef struct woods {
  int me;
  graph *g[FORESTS];
  grove_forest *forest[FORESTS];
} woods;

/* The first is of this kind. */
static woods woods_open(const place *p, rng *r, graph_kind first)
{
  woods w = {.me = p->rank};
  for (int i = 0; i < FORESTS; i++) {
    graph_kind k = i == 0 ? first : (graph_kind)rng_below(r, GRAPH_KINDS_AND_REPEATED);
    w.g[i] = graph_random(r, k, p->size);
    w.forest[i] = graph_forest(p->ctx, w.g[i], p->rank);
  }
  return w;
}

static void woods_close(woods *w)
{
  for (int i = 0; i < FORESTS; i++) {
    CHECK_OK(grove_forest_free(&w->forest[i]));
    graph_free(w->g[i]);
  }
}

typedef struct bundle {
  int n;
  exercise member[MOST_MEMBERS];
  grove_op *op;
} bundle;

static void bundle_make(bundle *b)
{
  grove_op *list[MOST_MEMBERS] = {NULL};
  for (int i = 0; i < b->n; i++) list[i] = b->member[i].op;
  CHECK_OK(grove_op_bundle(b->n, b->n > 0 ? list : NULL, &b->op));
  CHECK(b->op != NULL, "a bundle that was made is NULL");
}

/* The kinds come by turns, from `first` on. */
static bundle bundle_open(const units *types, const woods *w, rng *r, int n, int64_t first)
{
  bundle b = {.n = n};
  for (int i = 0; i < n; i++) {
    int k = (int)rng_below(r, FORESTS);
    b.member[i] = (exercise){.g = w->g[k], .f = w->forest[k], .me = w->me};
    exercise_draw_of(&b.member[i], (op_kind)((first + i) % OP_KINDS), types, r);
    exercise_open(&b.member[i]);
    exercise_init(&b.member[i]);
  }
  bundle_make(&b);
  return b;
}

static void bundle_start(bundle *b, int64_t round)
{
  for (int i = 0; i < b->n; i++) exercise_renew(&b->member[i], round);
  CHECK_OK(grove_start(b->op));
}

static void bundle_check(bundle *b)
{
  for (int i = 0; i < b->n; i++) exercise_check(&b->member[i]);
}

/* By wait, by test, or by test and then wait: each rank as it likes. */
static void bundle_wait(bundle *b, rng *mine)
{
  int how = (int)rng_below(mine, 3);
  if (how > 0) polite_finish(b->op);
  if (how != 1) CHECK_OK(grove_wait(b->op));
  bundle_check(b);
}

static void bundle_close(bundle *b)
{
  CHECK_OK(grove_op_free(&b->op));
  CHECK(b->op == NULL, "a freed bundle is not NULL");
  for (int i = 0; i < b->n; i++) exercise_close(&b->member[i]);
}

/* ---- random ones, and what becomes of their members ---- */

typedef enum fate {
  FREED_AT_ONCE,
  FREED_UNDER_WAY, /* in the second round */
  USED_BETWEEN,    /* each by itself, after every round of the bundle */
  OUTLIVES,        /* the bundle, and is used then */
  FATES
} fate;

static void free_members(bundle *b)
{
  for (int i = 0; i < b->n; i++) CHECK_OK(grove_op_free(&b->member[i].op));
}

static void use_members(bundle *b, int64_t round)
{
  for (int i = 0; i < b->n; i++) {
    exercise_renew(&b->member[i], round);
    CHECK_OK(grove_start(b->member[i].op));
    CHECK_OK(grove_wait(b->member[i].op));
    exercise_check(&b->member[i]);
  }
}

static void run(bundle *b, fate f, rng *mine)
{
  if (f == FREED_AT_ONCE) free_members(b);
  for (int round = 0; round < ROUNDS; round++) {
    bundle_start(b, round);
    if (f == FREED_UNDER_WAY && round == 1) free_members(b);
    bundle_wait(b, mine);
    if (f == USED_BETWEEN) use_members(b, ROUNDS + round);
  }
  if (f != OUTLIVES) return;
  CHECK_OK(grove_op_free(&b->op));
  use_members(b, ROUNDS);
}

/* 0 to 8 members, each number with each fate. */
static void try_bundle(const units *types, const place *p, int64_t number)
{
  rng r = rng_from(test_seed() + (uint64_t)p->side, (uint64_t)number);
  rng mine = rng_from(r.state, (uint64_t)world_rank());
  woods w = woods_open(p, &r, (graph_kind)(number % GRAPH_KINDS_AND_REPEATED));
  bundle b = bundle_open(types, &w, &r, (int)(number % (MOST_MEMBERS + 1)), number);
  if (rng_one_in(&r, 2)) /* operations hold their forests */
    for (int i = 0; i < FORESTS; i++) CHECK_OK(grove_forest_free(&w.forest[i]));
  run(&b, (fate)(number / (MOST_MEMBERS + 1) % FATES), &mine);
  bundle_close(&b);
  woods_close(&w);
}

/* ---- several at once ---- */

static void shuffled(rng *mine, int n, int64_t *order)
{
  for (int i = 0; i < n; i++) order[i] = i;
  rng_shuffle(mine, n, order);
}

/* Started and waited for in an order of each rank's own. */
static void try_in_flight(const units *types, const place *p, int64_t number)
{
  enum { BUNDLES = 4 };
  rng r = rng_from(test_seed() + 1, (uint64_t)number);
  rng mine = rng_from(r.state, (uint64_t)world_rank());
  woods w = woods_open(p, &r, (graph_kind)(number % GRAPH_KINDS_AND_REPEATED));
  bundle b[BUNDLES];
  int64_t order[BUNDLES];
  for (int i = 0; i < BUNDLES; i++) b[i] = bundle_open(types, &w, &r, i + 1, number + i);
  for (int round = 0; round < ROUNDS; round++) {
    shuffled(&mine, BUNDLES, order);
    for (int i = 0; i < BUNDLES; i++) bundle_start(&b[order[i]], round);
    shuffled(&mine, BUNDLES, order);
    for (int i = 0; i < BUNDLES; i++) bundle_wait(&b[order[i]], &mine);
  }
  for (int i = 0; i < BUNDLES; i++) bundle_close(&b[i]);
  woods_close(&w);
}

/* ---- none, and bundles of bundles ---- */

static void bundle_of_none(void)
{
  grove_op *none = NULL;
  grove_report report = {.struct_size = sizeof report};
  CHECK_OK(grove_op_bundle(0, NULL, &none));
  for (int round = 0; round < 2; round++) {
    int done = 0;
    CHECK_OK(grove_start(none));
    CHECK_OK(grove_test(none, &done));
    CHECK(done, "a bundle of none is not complete at once");
    CHECK_OK(grove_start(none));
    CHECK_OK(grove_wait(none));
  }
  CHECK_STATUS(grove_wait(none), GROVE_ERR_STATE);
  CHECK_OK(grove_op_report(none, &report));
  CHECK(report.on_node_messages + report.off_node_messages == 0, "a bundle of none sends messages");
  CHECK_OK(grove_op_free(&none));
}

/* A bundle of the first member, a bundle of those between with a bundle of none, and the last. */
static void nest(bundle *b)
{
  grove_op *list[MOST_MEMBERS + 1] = {NULL}, *none = NULL, *inner = NULL;
  CHECK_OK(grove_op_free(&b->op));
  CHECK_OK(grove_op_bundle(0, NULL, &none));
  for (int i = 1; i < b->n - 1; i++) list[i] = b->member[i].op;
  list[0] = none;
  CHECK_OK(grove_op_bundle(b->n - 1, list, &inner));
  grove_op *outer[] = {b->member[0].op, inner, b->member[b->n - 1].op};
  CHECK_OK(grove_op_bundle(3, outer, &b->op));
  CHECK_OK(grove_op_free(&none));
  CHECK_OK(grove_op_free(&inner));
}

static void try_nested(const units *types, const place *p, int64_t number)
{
  rng r = rng_from(test_seed() + 2, (uint64_t)number);
  rng mine = rng_from(r.state, (uint64_t)world_rank());
  woods w = woods_open(p, &r, (graph_kind)(number % GRAPH_KINDS_AND_REPEATED));
  bundle b = bundle_open(types, &w, &r, 2 + (int)(number % 5), number);
  nest(&b);
  run(&b, (fate)(number % FATES), &mine);
  bundle_close(&b);
  woods_close(&w);
}

/* ---- one after the other ---- */

/* Made, used and freed, hundreds of times: the memory of one serves the next. */
static void made_and_freed(const units *types, const place *p)
{
  rng r = rng_from(test_seed() + 4, 0), mine = rng_from(r.state, (uint64_t)world_rank());
  woods w = woods_open(p, &r, GRAPH_ALL_TO_ALL);
  bundle b = bundle_open(types, &w, &r, MOST_MEMBERS, 0);
  int64_t early = 0;
  for (int i = 0; i < 300; i++) {
    CHECK_OK(grove_op_free(&b.op));
    bundle_make(&b);
    if (i % 30 == 0) bundle_start(&b, i);
    if (i % 30 == 0) bundle_wait(&b, &mine);
    if (i == 20) early = shared_bytes();
  }
  polite_barrier(p->comm);
  CHECK(shared_bytes() <= early + early / 2, "%lld bytes of shared memory became %lld",
        (long long)early, (long long)shared_bytes());
  bundle_close(&b);
  woods_close(&w);
}

/* ---- what is sent ---- */

static grove_report report_of(grove_op *op)
{
  grove_report report = {.struct_size = sizeof report};
  CHECK_OK(grove_op_report(op, &report));
  return report;
}

/* Whether this rank sends something to that peer: not in a fetch, which has two stages. */
static int sends(const exercise *e, int peer)
{
  int up = kind_goes_to_roots(e->kind);
  const part *leaves = &e->g->part[up ? e->me : peer];
  int owner = up ? peer : e->me;
  for (int64_t j = 0; j < leaves->nleaves; j++)
    if (leaves->root[j].rank == owner) return 1;
  return 0;
}

static int64_t distinct_peers(const bundle *b, int nranks)
{
  int64_t n = 0;
  for (int peer = 0; peer < nranks; peer++) {
    int any = 0;
    for (int i = 0; i < b->n; i++) any |= peer != b->member[i].me && sends(&b->member[i], peer);
    n += any;
  }
  return n;
}

static void check_report(const bundle *b, int nranks, int64_t starts)
{
  grove_report whole = report_of(b->op);
  int64_t messages = 0, bytes = 0;
  int relays = op_relays(b->op); /* then others' values may be among what is sent */
  for (int i = 0; i < b->n; i++) {
    grove_report one = report_of(b->member[i].op);
    relays |= op_relays(b->member[i].op);
    messages += one.on_node_messages + one.off_node_messages;
    bytes += one.on_node_bytes + one.off_node_bytes;
  }
  int64_t sent = whole.on_node_messages + whole.off_node_messages,
          peers = distinct_peers(b, nranks);
  CHECK(relays || sent == peers, "%lld messages to %lld peers", (long long)sent, (long long)peers);
  CHECK(relays || nranks == 1 || sent < messages, "%lld messages, and %lld without the bundle",
        (long long)sent, (long long)messages);
  CHECK(relays || whole.on_node_bytes + whole.off_node_bytes >= bytes,
        "bytes of members are not sent");
  CHECK(whole.starts == starts, "%lld starts", (long long)whole.starts);
}

/* The first two members are the same operation on a forest that joins all ranks: they share every
 * message. */
static bundle open_for_report(const units *types, const woods *w, rng *r, int n, op_kind first)
{
  static const op_kind one_stage[] = {KIND_BCAST, KIND_REDUCE, KIND_GATHER, KIND_SCATTER};
  bundle b = {.n = n};
  for (int i = 0; i < n; i++) {
    int k = i < 2 ? 0 : (int)rng_below(r, FORESTS);
    exercise *e = &b.member[i];
    *e = (exercise){.g = w->g[k], .f = w->forest[k], .me = w->me, .seed = rng_next(r)};
    e->kind = one_stage[i < 2 ? first : rng_below(r, 4)];
    e->u = units_find(types, i % 2 ? "MPI_INT" : "3 doubles");
    e->r = unit_reduction(e->u, "SUM");
    exercise_open(e);
    exercise_init(e);
  }
  bundle_make(&b);
  return b;
}

static void try_report(const units *types, const place *p, int64_t number)
{
  rng r = rng_from(test_seed() + 3, (uint64_t)number);
  rng mine = rng_from(r.state, (uint64_t)world_rank());
  woods w = woods_open(p, &r, GRAPH_ALL_TO_ALL);
  bundle b = open_for_report(types, &w, &r, 2 + (int)(number / 4 % 4), (op_kind)(number % 4));
  check_report(&b, p->size, 0);
  for (int round = 0; round < 2; round++) {
    bundle_start(&b, round);
    bundle_wait(&b, &mine);
  }
  check_report(&b, p->size, 2);
  bundle_close(&b);
  woods_close(&w);
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "exec/bundles");
  units *types = units_create();
  places all = places_create();
  bundle_of_none();
  made_and_freed(types, &all.place[0]);
  int64_t cases = test_samples(2 * (MOST_MEMBERS + 1) * FATES);
  for (int64_t i = 0; i < cases; i++) {
    test_case(i);
    try_bundle(types, places_turn(&all, i / (MOST_MEMBERS + 1) + i), i);
  }
  for (int64_t i = 0; i < test_samples(10); i++) {
    test_case(cases + i);
    try_in_flight(types, &all.place[0], i);
    try_nested(types, &all.place[0], i);
    try_report(types, &all.place[0], i);
  }
  places_free(&all);
  units_free(types);
  return test_end();
}
