/* With the option `profile`: when each part was marked, left and arrived, as far as this end knows,
 * and in which message. Times are only compared with each other. */
#include "channel.h"
#include "check.h"

#include <math.h>

enum { PARTS = 10 };

static void sort_out(const channel *c, grove_part_time t[PARTS])
{
  for (int i = 0; i < PARTS; i++) t[i] = (grove_part_time){-1, -1, -1, -2};
  CHECK_OK(grove_op_part_times(c->op, 0, c->parts, t));
  for (int i = c->parts; i < PARTS; i++)
    CHECK(t[i].message == -2, "more is written than was asked for");
}

static void check_sender(const channel *c, int marked, int over)
{
  grove_part_time t[PARTS];
  grove_report report = {.struct_size = sizeof report};
  char seen[PARTS] = {0};
  CHECK_OK(grove_op_report(c->op, &report));
  sort_out(c, t);
  for (int i = 0; i < c->parts; i++) {
    CHECK(isnan(t[i].arrived), "a sender knows when part %d arrived: %g", i, t[i].arrived);
    CHECK(i < marked ? t[i].ready >= 0 : isnan(t[i].ready), "part %d is ready at %g", i,
          t[i].ready);
    if (over) CHECK(t[i].sent >= t[i].ready, "part %d left at %g", i, t[i].sent);
    if (over)
      CHECK(t[i].message >= 0 && t[i].message < report.messages, "part %d in message %lld of %lld",
            i, (long long)t[i].message, (long long)report.messages);
    if (i >= marked)
      CHECK(isnan(t[i].sent) && t[i].message == -1, "part %d left unmarked, at %g", i, t[i].sent);
    if (over) seen[t[i].message] = 1;
    if (i > 0 && i < marked)
      CHECK(t[i - 1].ready <= t[i].ready, "part %d before part %d", i, i - 1);
  }
  for (int i = 0; over && i < report.messages; i++) CHECK(seen[i], "message %d is empty", i);
}

static void check_receiver(const channel *c, int come)
{
  grove_part_time t[PARTS];
  sort_out(c, t);
  for (int i = 0; i < c->parts; i++) {
    CHECK(isnan(t[i].ready) && isnan(t[i].sent), "a receiver knows when part %d left", i);
    CHECK(come ? t[i].arrived >= 0 : isnan(t[i].arrived), "part %d arrived at %g", i, t[i].arrived);
    CHECK(come ? t[i].message >= 0 : t[i].message == -1, "part %d in message %lld", i,
          (long long)t[i].message);
  }
}

/* Some of it, by first and count. */
static void check_range(const channel *c)
{
  grove_part_time all[PARTS], some[2];
  sort_out(c, all);
  CHECK_OK(grove_op_part_times(c->op, 1, 2, some));
  for (int i = 0; i < 2; i++)
    CHECK(some[i].message == all[1 + i].message, "part %d is another one by itself", 1 + i);
  CHECK_STATUS(grove_op_part_times(c->op, -1, 1, some), GROVE_ERR_ARG);
  CHECK_STATUS(grove_op_part_times(c->op, 0, c->parts + 1, all), GROVE_ERR_ARG);
  CHECK_OK(grove_op_part_times(c->op, 0, 0, some));
}

/* Every rank to the next. */
static void try_aggregator(const place *p, const unit *u, const char *name)
{
  channel c[2];
  int next = (p->rank + 1) % p->size, previous = (p->rank + p->size - 1) % p->size;
  place_set(p, "aggregator", name);
  for (int k = 0; k < 2; k++) {
    c[k] = (channel){.ctx = p->ctx, .sends = k, .peer = k ? next : previous, .tag = 2};
    c[k].parts = k ? PARTS : PARTS / 2;
    c[k].count = k ? 20 : 40;
    c[k].u = u;
    c[k].seed = mix2(test_seed(), (uint64_t)(k ? p->rank : previous));
    channel_open(&c[k]);
  }
  for (int round = 0; round < 3; round++) {
    for (int k = 0; k < 2; k++) channel_start(&c[k]);
    check_sender(&c[1], 0, 0);
    for (int i = 0; i < PARTS / 2; i++) channel_ready(&c[1], i, 1);
    check_sender(&c[1], PARTS / 2, 0);
    for (int i = PARTS / 2; i < PARTS; i++) channel_ready(&c[1], i, 1);
    for (int k = 0; k < 2; k++) channel_wait(&c[k]);
    check_sender(&c[1], PARTS, 1); /* of the last round, as long as there is none under way */
    check_receiver(&c[0], 1);
    for (int k = 0; k < 2; k++) check_range(&c[k]);
  }
  place_set(p, "aggregator", "none"); /* it was made with another one, and keeps it */
  for (int k = 0; k < 2; k++) channel_close(&c[k]);
}

/* A receiver that has started knows nothing before its sender has. */
static void before_anything(const place *p, grove_op *idle, const unit *u)
{
  int next = (p->rank + 1) % p->size, previous = (p->rank + p->size - 1) % p->size;
  channel c[2];
  for (int k = 0; k < 2; k++) {
    c[k] = (channel){.ctx = p->ctx, .sends = k, .peer = k ? next : previous, .tag = 3};
    c[k].parts = 4;
    c[k].count = 1;
    c[k].u = u;
    channel_open(&c[k]);
  }
  channel_start(&c[0]);
  check_receiver(&c[0], 0);
  place_meet(p, idle);
  channel_run(&c[1]);
  channel_wait(&c[0]);
  check_receiver(&c[0], 1);
  for (int k = 0; k < 2; k++) channel_close(&c[k]);
}

/* The option counts when the channel is made. */
static void without(const place *p, const unit *u)
{
  channel c = {.ctx = p->ctx, .sends = 1, .peer = p->rank, .tag = 4, .parts = 2, .count = 1};
  grove_part_time t[2];
  c.u = u;
  place_set(p, "profile", "off");
  channel_open(&c);
  CHECK_STATUS(grove_op_part_times(c.op, 0, 2, t), GROVE_ERR_STATE);
  channel_close(&c);
}

int main(int argc, char **argv)
{
  static const char *const aggregators[] = {"none", "ploggp", "timer", "adaptive"};
  test_begin(&argc, &argv, "partitioned/part_times");
  units *types = units_create();
  place p = place_create(split(0));
  grove_op *idle = place_idle(&p);
  place_set(&p, "profile", "on");
  for (int i = 0; i < 4; i++) {
    test_case(i);
    try_aggregator(&p, units_find(types, i % 2 ? "MPI_INT" : "vector of ints with gaps"),
                   aggregators[i]);
  }
  test_case(10);
  before_anything(&p, idle, units_find(types, "MPI_INT"));
  without(&p, units_find(types, "MPI_INT"));
  CHECK_OK(grove_op_free(&idle));
  place_free(&p);
  units_free(types);
  return test_end();
}
