/* What a receiver is told while a round is under way: a part that was marked alone comes while the
 * others are not ready (aggregator none, or timer); every part is told once, in the order in which
 * they came; and not before all of its bytes are there. */
#include "channel.h"
#include "check.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PARTS = 64 };

/* What the receiver was told in this round. */
typedef struct list {
  int64_t n;
  int64_t part[MOST_PARTS];
} list;

static int ask(channel *c, list *told)
{
  int64_t first = -1, count = -1;
  CHECK_OK(grove_arrivals(c->op, &first, &count));
  CHECK(count >= 0 && (count == 0 || (first >= 0 && first + count <= c->parts)),
        "parts %lld, %lld of %d", (long long)first, (long long)count, c->parts);
  CHECK(told->n + count <= c->parts, "more parts are told than there are");
  for (int64_t i = 0; i < count; i++) told->part[told->n++] = first + i;
  if (count > 0) channel_check_parts(c, first, count);
  return count > 0;
}

static void ask_until(channel *c, list *told, int64_t n)
{
  while (told->n < n)
    if (!ask(c, told)) sched_yield();
}

static void check_each_once(const channel *c, const list *told)
{
  char seen[MOST_PARTS] = {0};
  CHECK(told->n == c->parts, "%lld parts are told, of %d", (long long)told->n, c->parts);
  for (int64_t i = 0; i < told->n; i++) {
    CHECK(!seen[told->part[i]], "part %lld is told twice", (long long)told->part[i]);
    seen[told->part[i]] = 1;
  }
}

/* ---- both ends, of ranks 0 and 1 or of one rank ---- */

typedef struct pair {
  const place *p;
  grove_op *idle;
  channel send, receive; /* those that are here */
  int sends, receives;
  int64_t order[MOST_PARTS];
} pair;

static channel end_of(const pair *x, int sends, int parts, int64_t units_in_all, const unit *u)
{
  int last = x->p->size > 1;
  channel c = {.ctx = x->p->ctx, .sends = sends, .peer = sends ? last : 0, .tag = 5};
  c.parts = parts;
  c.count = units_in_all / parts;
  c.u = u;
  c.seed = test_seed();
  return c;
}

static pair pair_open(const place *p, grove_op *idle, const unit *u, const int parts[2])
{
  pair x = {.p = p, .idle = idle};
  rng r = rng_from(test_seed(), (uint64_t)(parts[0] * 100 + parts[1]));
  x.sends = p->rank == 0;
  x.receives = p->rank == (p->size > 1);
  int64_t all = 20 * (int64_t)parts[0] * parts[1];
  if (x.sends) {
    x.send = end_of(&x, 1, parts[0], all, u);
    channel_open(&x.send);
  }
  if (x.receives) {
    x.receive = end_of(&x, 0, parts[1], all, u);
    channel_open(&x.receive);
  }
  for (int i = 0; i < parts[0]; i++) x.order[i] = i;
  rng_shuffle(&r, parts[0], x.order);
  return x;
}

static void pair_start(pair *x)
{
  if (x->sends) channel_start(&x->send);
  if (x->receives) channel_start(&x->receive);
}

static void pair_wait(pair *x)
{
  if (x->receives) channel_wait(&x->receive);
  if (x->sends) channel_wait(&x->send);
}

static void pair_close(pair *x)
{
  if (x->sends) channel_close(&x->send);
  if (x->receives) channel_close(&x->receive);
}

/* The receiver tells the sender to go on. */
static void go_on(pair *x)
{
  if (x->p->size == 1) return;
  if (x->receives) tell(x->p, 0);
  if (x->sends) hear(x->p, 1, x->idle);
}

/* ---- what is marked alone comes alone ---- */

/* How many of the receiver's parts are complete when the sender has marked so many of its own;
 * `complete` says which. */
static int64_t complete_parts(const int parts[2], const int64_t *order, int marked, char *complete)
{
  int64_t n = 0;
  char ready[MOST_PARTS] = {0};
  for (int i = 0; i < marked; i++) ready[order[i]] = 1;
  for (int64_t j = 0; j < parts[1]; j++) {
    complete[j] = 1;
    /* Part i has i * parts[1] .. (i+1) * parts[1] - 1 of the smallest pieces, part j of the
     * receiver j * parts[0] .. */
    for (int64_t i = 0; i < parts[0]; i++)
      if (i * parts[1] < (j + 1) * parts[0] && j * parts[0] < (i + 1) * parts[1] && !ready[i])
        complete[j] = 0;
    n += complete[j];
  }
  return n;
}

static void one_by_one(const place *p, grove_op *idle, const unit *u, const int parts[2])
{
  pair x = pair_open(p, idle, u, parts);
  for (int round = 0; round < 3 && (x.sends || x.receives); round++) {
    list told = {0};
    int yes = 0;
    pair_start(&x);
    for (int marked = 1; marked <= parts[0]; marked++) {
      char complete[MOST_PARTS];
      int64_t before = told.n, n = complete_parts(parts, x.order, marked, complete);
      if (x.sends) channel_ready(&x.send, x.order[marked - 1], 1);
      if (x.receives) {
        ask_until(&x.receive, &told, n);
        CHECK(!ask(&x.receive, &told), "a part is told that cannot have come");
        for (int64_t i = before; i < n; i++)
          CHECK(complete[told.part[i]], "part %lld cannot have come", (long long)told.part[i]);
        for (int64_t i = 0; i < parts[1]; i++) {
          CHECK_OK(grove_arrived(x.receive.op, i, 1, &yes));
          CHECK(yes == complete[i], "part %lld %s", (long long)i, yes ? "arrived" : "did not");
        }
        CHECK_OK(grove_arrived(x.receive.op, 0, parts[1], &yes));
        CHECK(yes == (n == parts[1]), "all arrived: %d", yes);
      }
      go_on(&x);
    }
    if (x.receives) check_each_once(&x.receive, &told);
    pair_wait(&x);
  }
  pair_close(&x);
}

/* ---- all at once, in runs ---- */

static void in_runs(const place *p, grove_op *idle, const unit *u, const int parts[2])
{
  pair x = pair_open(p, idle, u, parts);
  for (int round = 0; round < 6 && (x.sends || x.receives); round++) {
    list told = {0};
    pair_start(&x);
    if (x.sends && round % 2) channel_ready(&x.send, 0, x.send.parts);
    for (int i = 0; x.sends && round % 2 == 0 && i < x.send.parts; i++)
      channel_ready(&x.send, x.order[i], 1);
    if (x.receives && round != 2) { /* then nobody asks, and the next round knows nothing of it */
      ask_until(&x.receive, &told, round == 4 ? 1 : x.receive.parts);
      if (round != 4) CHECK(!ask(&x.receive, &told), "a part is told twice");
      if (round != 4) check_each_once(&x.receive, &told);
    }
    pair_wait(&x);
  }
  pair_close(&x);
}

/* ---- what waits for others ---- */

/* One part is not marked: the rest comes, as far as other groups, or the timer, let it. */
static void all_but_one(const place *p, grove_op *idle, const unit *u, const char *aggregator)
{
  static const int parts[2] = {16, 16};
  pair x = pair_open(p, idle, u, parts);
  grove_report report = {.struct_size = sizeof report};
  int last = x.order[0] == 0 ? 15 : 0; /* at an end: the other end is in another group, if any is */
  for (int round = 0; round < 4 && (x.sends || x.receives); round++) {
    int64_t messages = 0;
    list told = {0};
    pair_start(&x);
    for (int i = 0; x.sends && i < 16; i++)
      if (i != last) channel_ready(&x.send, i, 1);
    if (round > 0 && x.sends) CHECK_OK(grove_op_report(x.send.op, &report));
    messages = report.messages;
    if (p->size > 1) { /* the receiver is told how many there are */
      MPI_Request request = MPI_REQUEST_NULL;
      if (x.sends) MPI_Isend(&messages, 1, MPI_INT64_T, 1, 4, p->comm, &request);
      if (x.receives) MPI_Irecv(&messages, 1, MPI_INT64_T, 0, 4, p->comm, &request);
      polite_wait(&request);
    }
    if (x.receives && round > 0 && strcmp(aggregator, "timer") == 0)
      ask_until(&x.receive, &told, 15);
    else if (x.receives && round > 0 && strcmp(aggregator, "ploggp") == 0 && messages > 1)
      channel_await(&x.receive, 15 - last, 1);
    if (x.receives) {
      int yes = 1;
      CHECK_OK(grove_arrived(x.receive.op, last, 1, &yes));
      CHECK(!yes, "a part arrived that was not ready");
    }
    go_on(&x);
    if (x.sends) channel_ready(&x.send, last, 1);
    pair_wait(&x);
  }
  pair_close(&x);
}

int main(int argc, char **argv)
{
  static const int parts[][2] = {{1, 1}, {8, 8}, {3, 7},   {7, 3},
                                 {1, 9}, {9, 1}, {20, 64}, {64, 16}};
  static const char *const aggregators[] = {"none", "ploggp", "timer", "adaptive"};
  test_begin(&argc, &argv, "partitioned/arrivals");
  units *types = units_create();
  place p = place_create(split(0));
  grove_op *idle = place_idle(&p);
  place_set(&p, "delta", "0.0001");
  for (int a = 0; a < 4; a++)
    for (int i = 0; i < 8; i++) {
      const unit *u = units_find(types, i % 2 ? "vector of ints with gaps" : "MPI_INT64_T");
      test_case(10 * a + i);
      place_set(&p, "aggregator", aggregators[a]);
      if (a == 0) one_by_one(&p, idle, u, parts[i]);
      in_runs(&p, idle, u, parts[i]);
      if (i < 2) all_but_one(&p, idle, u, aggregators[a]);
    }
  CHECK_OK(grove_op_free(&idle));
  place_free(&p);
  units_free(types);
  return test_end();
}
