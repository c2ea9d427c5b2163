/* grove_wait_all, grove_wait_any and grove_test_some: lists of operations of every kind and of two
 * contexts, with gaps; what fails in them, and what times out. */
#include "channel.h"
#include "check.h"
#include "exercise.h"
#include "ring.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The list: an operation of each kind, half of them in either context, then what follows here. */
enum { BUNDLE = OP_KINDS, BEGUN, SENDS, RECEIVES, IDLE, NOTHING, ENTRIES };
enum { ROUNDS = 4, TAG = 3, PARTS = 4 };

typedef struct crew {
  place p[2];
  graph *g;
  grove_forest *forest[2];
  exercise member[ENTRIES]; /* of each kind; BUNDLE and IDLE: members; BEGUN */
  channel send, receive;
  grove_op *ops[ENTRIES];
  int told[ENTRIES];
} crew;

static void open_exercise(crew *w, int i, const units *types, rng *r)
{
  exercise *e = &w->member[i];
  *e = (exercise){.g = w->g, .f = w->forest[i % 2], .me = w->p[0].rank};
  exercise_draw_of(e, (op_kind)(i % OP_KINDS), types, r);
  exercise_open(e);
  if (i != BEGUN) exercise_init(e);
}

static void open_channels(crew *w, const units *types)
{
  const place *p = &w->p[1];
  int next = (p->rank + 1) % p->size, previous = (p->rank + p->size - 1) % p->size;
  channel c = {.ctx = p->ctx, .tag = TAG, .parts = PARTS, .count = 3};
  c.u = units_find(types, "MPI_INT");
  w->send = w->receive = c;
  w->send.sends = 1;
  w->send.peer = next;
  w->receive.peer = previous;
  w->send.seed = mix2(test_seed(), (uint64_t)p->rank);
  w->receive.seed = mix2(test_seed(), (uint64_t)previous);
  channel_open(&w->send);
  channel_open(&w->receive);
}

static void open_crew(crew *w, const units *types, int64_t number)
{
  rng r = rng_from(test_seed(), (uint64_t)number);
  *w = (crew){.g = graph_random(&r, (graph_kind)(number % GRAPH_KINDS_AND_REPEATED), world_size())};
  for (int i = 0; i < 2; i++) {
    w->p[i] = place_create(split(0));
    w->forest[i] = graph_forest(w->p[i].ctx, w->g, w->p[i].rank);
  }
  for (int i = 0; i <= BEGUN; i++) open_exercise(w, i, types, &r);
  open_exercise(w, IDLE, types, &r);
  open_channels(w, types);
  for (int i = 0; i < OP_KINDS; i++) w->ops[i] = w->member[i].op;
  CHECK_OK(grove_op_bundle(1, &w->member[BUNDLE].op, &w->ops[BUNDLE]));
  w->ops[SENDS] = w->send.op;
  w->ops[RECEIVES] = w->receive.op;
  w->ops[IDLE] = w->member[IDLE].op;
}

static void close_crew(crew *w)
{
  CHECK_OK(grove_op_free(&w->ops[BUNDLE]));
  for (int i = 0; i <= BEGUN; i++) exercise_close(&w->member[i]);
  exercise_close(&w->member[IDLE]);
  channel_close(&w->send);
  channel_close(&w->receive);
  for (int i = 0; i < 2; i++) {
    CHECK_OK(grove_forest_free(&w->forest[i]));
    place_free(&w->p[i]);
  }
  channels_sweep();
  graph_free(w->g);
}

static void start_entry(crew *w, int i, int round)
{
  if (i <= BEGUN) exercise_renew(&w->member[i], round);
  if (i == BEGUN) {
    exercise_begin(&w->member[i]);
    w->ops[i] = w->member[i].op;
  } else if (i == SENDS) {
    channel_start(&w->send);
    channel_ready(&w->send, 0, PARTS);
  } else if (i == RECEIVES) {
    channel_start(&w->receive);
  } else if (i < IDLE) {
    CHECK_OK(grove_start(w->ops[i]));
  }
}

/* Each rank from another one on; the first one shot of a kind is collective, so it comes first. */
static void start_entries(crew *w, int round)
{
  memset(w->told, 0, sizeof w->told);
  start_entry(w, BEGUN, round);
  for (int k = 0; k < ENTRIES; k++) {
    int i = (k + w->p[0].rank) % ENTRIES;
    if (i != BEGUN) start_entry(w, i, round);
  }
}

static void check_entry(crew *w, int i)
{
  CHECK(i >= 0 && i < IDLE, "entry %d was never active", i);
  CHECK(!w->told[i], "entry %d is told twice", i);
  w->told[i] = 1;
  if (i == BEGUN) {
    CHECK_OK(grove_end(&w->ops[i]));
    w->member[i].op = NULL;
  }
  if (i <= BEGUN) exercise_check(&w->member[i]);
  if (i == SENDS) channel_over(&w->send);
  if (i == RECEIVES) channel_over(&w->receive);
}

static void check_all_told(const crew *w)
{
  for (int i = 0; i < IDLE; i++) CHECK(w->told[i], "entry %d was not told", i);
}

/* ---- the three ways ---- */

static void by_all(crew *w)
{
  CHECK_OK(grove_wait_all(ENTRIES, w->ops));
  for (int i = 0; i < IDLE; i++) check_entry(w, i);
  CHECK_OK(grove_wait_all(ENTRIES, w->ops)); /* none is active */
}

static void by_any(crew *w)
{
  for (int n = 0; n < IDLE; n++) {
    int which = 77;
    CHECK_OK(grove_wait_any(ENTRIES, w->ops, &which));
    check_entry(w, which);
  }
  int none = 77;
  CHECK_OK(grove_wait_any(ENTRIES, w->ops, &none));
  CHECK(none == -1, "entry %d is found where none is active", none);
}

static void by_some(crew *w)
{
  int which[ENTRIES], ndone = 0;
  for (int n = 0; n < IDLE;) {
    CHECK_OK(grove_test_some(ENTRIES, w->ops, &ndone, which));
    CHECK(ndone >= 0 && n + ndone <= IDLE, "%d more entries behind %d", ndone, n);
    for (int k = 0; k < ndone; k++) {
      CHECK(k == 0 || which[k] > which[k - 1], "the entries do not ascend");
      check_entry(w, which[k]);
    }
    n += ndone;
    if (ndone == 0) sched_yield();
  }
  CHECK_OK(grove_test_some(ENTRIES, w->ops, &ndone, which));
  CHECK(ndone == -1, "%d entries are complete where none is active", ndone);
}

/* What a test has told is no news; grove_wait_all takes it, and it may be started again. */
static void by_test_and_all(crew *w)
{
  int done = 0, which = 77;
  while (!done) CHECK_OK(grove_test(w->ops[0], &done));
  CHECK_OK(grove_wait_any(1, w->ops, &which));
  CHECK(which == -1, "what a test has told is found");
  by_all(w);
}

static void try_crew(const units *types, int64_t number)
{
  static void (*const way[ROUNDS])(crew *) = {by_all, by_any, by_some, by_test_and_all};
  crew w;
  open_crew(&w, types, number);
  for (int round = 0; round < ROUNDS; round++) {
    start_entries(&w, round);
    way[(round + world_rank()) % ROUNDS](&w); /* ranks need not do the same */
    check_all_told(&w);
  }
  close_crew(&w);
}

/* ---- contexts that wait for each other ---- */

/* Even ranks name the first context first, odd ones the second. Messages need both sides, so the
 * ranks would wait for each other if a wait advanced one context alone. */
static void opposite_contexts(void)
{
  place p[2] = {place_create(split(0)), place_create(split(0))};
  ring x[2];
  for (int i = 0; i < 2; i++) {
    x[i] = ring_open(&p[i], RING_LARGE, RING_NOBODY, KIND_REDUCE);
    ring_init(&x[i]);
  }
  int odd = p[0].rank % 2;
  grove_op *ops[3] = {x[odd].op, NULL, x[!odd].op};
  for (int round = 0; round < 2; round++) {
    for (int i = 0; i < 2; i++) ring_fill(&x[i], round);
    for (int i = 0; i < 2; i++) CHECK_OK(grove_start(x[i].op));
    CHECK_OK(grove_wait_all(3, ops));
    for (int i = 0; i < 2; i++) ring_check(&x[i], round);
  }
  for (int i = 0; i < 2; i++) {
    ring_close(&x[i]);
    place_free(&p[i]);
  }
}

/* ---- what fails ---- */

static void says(const char *word)
{
  CHECK(strstr(grove_last_error(), word), "no '%s' in '%s'", word, grove_last_error());
}

static void refuses(void)
{
  int which = 77, ndone = 78, idle;
  grove_op *ops[1] = {NULL};
  CHECK_STATUS(grove_wait_all(-1, ops), GROVE_ERR_ARG);
  says("grove_wait_all");
  CHECK_STATUS(grove_wait_all(1, NULL), GROVE_ERR_ARG);
  CHECK_STATUS(grove_wait_any(-1, ops, &which), GROVE_ERR_ARG);
  CHECK_STATUS(grove_wait_any(1, ops, NULL), GROVE_ERR_ARG);
  CHECK_STATUS(grove_test_some(-1, ops, &ndone, &which), GROVE_ERR_ARG);
  CHECK_STATUS(grove_test_some(1, ops, NULL, &which), GROVE_ERR_ARG);
  CHECK_STATUS(grove_test_some(1, ops, &ndone, NULL), GROVE_ERR_ARG);
  CHECK(which == 77 && ndone == 78, "a refused call has set outputs");
  CHECK_OK(grove_wait_all(0, NULL));
  CHECK_OK(grove_wait_all(1, ops));
  CHECK_OK(grove_wait_any(0, NULL, &idle));
  CHECK(idle == -1, "%d of no entries", idle);
  CHECK_OK(grove_test_some(0, NULL, &idle, NULL));
  CHECK(idle == -1, "%d of no entries are done", idle);
}

/* Two channels of this rank with itself whose ends differ, around a ring that is right. */
typedef struct wreck {
  ring good;
  int sent[8], come[8];
  grove_op *ops[6];
} wreck;

static wreck *open_wreck(const place *p, op_kind k)
{
  wreck *w = need(sizeof *w);
  *w = (wreck){.good = ring_open(p, RING_SMALL, RING_NOBODY, k)};
  ring_init(&w->good);
  for (int i = 0; i < 2; i++) {
    CHECK_OK(grove_psend_init(p->ctx, w->sent, 1, 8, MPI_INT, p->rank, i, &w->ops[1 + 3 * i]));
    CHECK_OK(grove_precv_init(p->ctx, w->come, 1, 7, MPI_INT, p->rank, i, &w->ops[2 + 3 * i]));
  }
  w->ops[3] = w->good.op;
  return w;
}

static void start_wreck(wreck *w, int round)
{
  ring_fill(&w->good, round);
  for (int i = 1; i < 6; i++) CHECK_OK(grove_start(w->ops[i]));
  for (int i = 1; i < 6; i += 3) CHECK_OK(grove_ready(w->ops[i], 0, 1));
}

static void wreck_all(const place *p)
{
  wreck *w = open_wreck(p, KIND_BCAST);
  start_wreck(w, 0);
  CHECK_STATUS(grove_wait_all(6, w->ops), GROVE_ERR_ARG);
  says("grove_wait_all: entry 1: rank");
  ring_check(&w->good, 0);                              /* it was waited for, */
  CHECK_STATUS(grove_wait(w->ops[4]), GROVE_ERR_STATE); /* and so were the others that fail */
  for (int i = 1; i < 6; i++)
    if (i != 3) CHECK_OK(grove_op_free(&w->ops[i]));
  ring_close(&w->good);
  free(w);
}

/* Every failure is told once, with its entry, and what is right is told too. */
static void wreck_one_by_one(const place *p, int waits)
{
  wreck *w = open_wreck(p, KIND_REDUCE);
  int failed = 0, fine = 0, found[6] = {0};
  start_wreck(w, 0);
  for (int which[6], ndone = 1;;) {
    grove_status status =
      waits ? grove_wait_any(6, w->ops, which) : grove_test_some(6, w->ops, &ndone, which);
    if (waits ? which[0] < 0 : ndone < 0) break;
    if (ndone == 0) continue;
    char entry[32];
    snprintf(entry, sizeof entry, ": entry %d: ", which[0]);
    if (status != GROVE_OK) says(entry);
    CHECK(ndone == 1, "%d entries at once", ndone);
    CHECK((status == GROVE_OK) == (which[0] == 3), "entry %d: %s", which[0],
          grove_status_name(status));
    CHECK(found[which[0]]++ == 0, "entry %d twice", which[0]);
    failed += status == GROVE_ERR_ARG;
    fine += status == GROVE_OK;
  }
  CHECK(failed == 4 && fine == 1, "%d failures, %d successes", failed, fine);
  ring_check(&w->good, 0);
  for (int i = 1; i < 6; i++)
    if (i != 3) CHECK_OK(grove_op_free(&w->ops[i]));
  ring_close(&w->good);
  free(w);
}

/* ---- what does not come ---- */

/* The send of a channel with itself is started, but nothing is ready. */
static grove_op *start_stuck(const place *p, int *buffer, int tag, grove_op **other)
{
  grove_op *send = NULL;
  CHECK_OK(grove_psend_init(p->ctx, buffer, 1, 8, MPI_INT, p->rank, tag, &send));
  CHECK_OK(grove_precv_init(p->ctx, buffer + 8, 1, 8, MPI_INT, p->rank, tag, other));
  CHECK_OK(grove_start(*other));
  CHECK_OK(grove_start(send));
  return send;
}

/* However often operations that do not complete are named, they take one timeout, and stay active;
 * what is behind them in the list is seen through. */
static void runs_out(void)
{
  enum { TIMES = 5, BEHIND = 1 + 4 * TIMES };
  place p[2] = {place_create(split(0)), place_create(split(0))};
  int buffer[2][16], which = 77;
  grove_op *ops[BEHIND + 1] = {NULL};
  ring x = ring_open(&p[0], RING_SMALL, RING_NOBODY, KIND_BCAST);
  ring_init(&x);
  ops[1] = start_stuck(&p[0], buffer[0], 0, &ops[2]);
  ops[3] = start_stuck(&p[1], buffer[1], 0, &ops[4]);
  for (int i = 5; i < BEHIND; i++) ops[i] = ops[i - 4];
  ops[BEHIND] = x.op;
  CHECK_OK(grove_context_set(p[0].ctx, "timeout", test_timeout()));
  CHECK_OK(grove_context_set(p[1].ctx, "timeout", "1000"));
  CHECK_OK(grove_start(x.op));
  CHECK_STATUS(grove_wait_any(4, ops, &which), GROVE_ERR_TIMEOUT);
  CHECK(which == 1, "entry %d has run out of time", which);
  says("grove_wait_any: entry 1: rank");
  polite_barrier(p[0].comm);
  CHECK_OK(grove_context_set(p[1].ctx, "timeout", test_timeout()));
  double since = MPI_Wtime(), limit = strtod(test_timeout(), NULL);
  CHECK_STATUS(grove_wait_all(BEHIND + 1, ops), GROVE_ERR_TIMEOUT);
  says("grove_wait_all: entry 1: rank");
  CHECK(MPI_Wtime() - since < 2 * TIMES * limit, "a timeout took %g s", MPI_Wtime() - since);
  ring_check(&x, 0);
  polite_barrier(p[0].comm);
  for (int i = 0; i < 2; i++) CHECK_OK(grove_context_set(p[i].ctx, "timeout", "0"));
  CHECK_OK(grove_ready(ops[1], 0, 1));
  CHECK_OK(grove_ready(ops[3], 0, 1));
  CHECK_OK(grove_wait_all(BEHIND + 1, ops));
  for (int i = 1; i < 5; i++) CHECK_OK(grove_op_free(&ops[i]));
  ring_close(&x);
  for (int i = 0; i < 2; i++) place_free(&p[i]);
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "exec/several_waits");
  units *types = units_create();
  place p = place_create(split(0));
  refuses();
  wreck_all(&p);
  wreck_one_by_one(&p, 0);
  wreck_one_by_one(&p, 1);
  runs_out();
  opposite_contexts();
  for (int64_t i = 0; i < test_samples(GRAPH_KINDS_AND_REPEATED); i++) {
    test_case(i);
    try_crew(types, i);
  }
  place_free(&p);
  units_free(types);
  return test_end();
}
