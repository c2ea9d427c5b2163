/* With the option `timeout`: a receiver is told which parts have not come, from whom, with which
 * tag; a sender, which parts it has not marked, or that its peer has not started. The round goes
 * on, and waiting again ends it. */
#include "channel.h"
#include "check.h"

#include <string.h>

enum { TAG = 4711, PARTS = 64, FIRST_MISSING = 37, SECOND_MISSING = 51 };

static channel end_of(const place *p, const unit *u, int64_t count)
{
  channel c = {.ctx = p->ctx, .sends = p->rank == 0, .peer = 1 - p->rank, .tag = TAG};
  c.parts = PARTS;
  c.count = count;
  c.u = u;
  c.seed = test_seed();
  channel_open(&c);
  return c;
}

static void times_out(channel *c, char sentence[2048])
{
  char rank[32];
  snprintf(rank, sizeof rank, "rank %d", c->peer);
  CHECK_STATUS(grove_wait(c->op), GROVE_ERR_TIMEOUT);
  snprintf(sentence, 2048, "%s", grove_last_error());
  CHECK(strstr(sentence, rank) != NULL, "no '%s' in '%s'", rank, sentence);
  CHECK(strstr(sentence, "tag") != NULL, "no tag in '%s'", sentence);
  CHECK_NUMBER_IN(sentence, TAG);
}

static void names_parts(const char *sentence)
{
  CHECK(strstr(sentence, "part") != NULL, "no part in '%s'", sentence);
  CHECK_NUMBER_IN(sentence, FIRST_MISSING);
  CHECK_NUMBER_IN(sentence, SECOND_MISSING);
  CHECK(!number_in(sentence, FIRST_MISSING - 2), "a part that was marked, in '%s'", sentence);
}

static void again(channel *c)
{
  grove_status status;
  do status = grove_wait(c->op); /* a slow machine may need more than one timeout */
  while (status == GROVE_ERR_TIMEOUT);
  CHECK_OK(status);
  channel_over(c);
}

/* Two parts are missing, and then are not. */
static void parts_are_missing(const place *p, grove_op *idle, const unit *u, int exact)
{
  char sentence[2048];
  channel c = end_of(p, u, 2);
  if (!exact) channel_run(&c); /* in the first round, or in a later one */
  channel_start(&c);
  for (int i = 0; c.sends && i < PARTS; i++)
    if (i != FIRST_MISSING && i != SECOND_MISSING) channel_ready(&c, i, 1);
  times_out(&c, sentence);
  if (c.sends || exact) names_parts(sentence);
  place_meet(p, idle);
  if (c.sends) channel_ready(&c, SECOND_MISSING, 1);
  if (c.sends) channel_ready(&c, FIRST_MISSING, 1);
  again(&c);
  place_meet(p, idle);
  channel_close(&c);
}

/* The peer comes when the other one has given up once. There are too many bytes for anybody to take
 * them meanwhile. */
static void peer_is_missing(const place *p, grove_op *idle, const unit *u, int missing)
{
  char sentence[2048];
  channel c = end_of(p, u, 20000);
  if (p->rank != missing) {
    channel_start(&c);
    if (c.sends) channel_ready(&c, 0, PARTS);
    times_out(&c, sentence);
    if (c.sends) CHECK(strstr(sentence, "start") != NULL, "nothing about starts in '%s'", sentence);
  }
  place_meet(p, idle);
  if (p->rank == missing) {
    channel_start(&c);
    if (c.sends) channel_ready(&c, 0, PARTS);
  }
  again(&c);
  place_meet(p, idle);
  channel_close(&c);
}

/* A timeout and then the end: nothing is written afterwards, and the next pair meets. */
static void freed_behind_it(const place *p, grove_op *idle, const unit *u)
{
  char sentence[2048];
  channel c = end_of(p, u, 2), next = end_of(p, u, 2);
  channel_start(&c);
  if (c.sends) channel_ready(&c, 0, PARTS - 1);
  times_out(&c, sentence);
  CHECK_NUMBER_IN(sentence, PARTS - 1);
  place_meet(p, idle);
  channel_abandon(&c);
  channel_start(&next);
  if (next.sends) channel_ready(&next, 0, PARTS);
  again(&next);
  place_meet(p, idle);
  channel_close(&next);
}

/* What carries channels may take a second to be loaded by a process. */
static void warm_up(const place *p, const unit *u)
{
  channel c = end_of(p, u, 1);
  channel_run(&c);
  channel_close(&c);
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "partitioned/timeout_names_parts");
  if (world_size() < 2) return test_skip("one rank waits for nobody");
  units *types = units_create();
  place p = place_create(split(world_rank() < 2));
  grove_op *idle = place_idle(&p);
  if (world_rank() < 2) warm_up(&p, units_find(types, "MPI_INT"));
  polite_barrier(p.comm);
  place_set(&p, "timeout", test_timeout());
  if (world_rank() < 2) {
    for (int i = 0; i < 2; i++) {
      test_case(i);
      polite_barrier(p.comm);
      place_set(&p, "aggregator", i == 0 ? "none" : "ploggp");
      parts_are_missing(&p, idle, units_find(types, i == 0 ? "MPI_INT" : "int in 20 bytes"),
                        i == 0);
    }
    for (int i = 0; i < 2; i++) {
      test_case(10 + i);
      peer_is_missing(&p, idle, units_find(types, "MPI_INT"), i);
    }
    test_case(20);
    freed_behind_it(&p, idle, units_find(types, "MPI_INT"));
    polite_barrier(p.comm);
  }
  place_set(&p, "timeout", "0");
  CHECK_OK(grove_op_free(&idle));
  place_free(&p);
  channels_sweep();
  units_free(types);
  return test_end();
}
