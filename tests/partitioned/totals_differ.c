/* Ends that do not agree about the bytes of their channel: both are told so, by their wait, with
 * both numbers. Nothing is written, others go on, and the next pair of the tag meets. */
#include "channel.h"
#include "check.h"

#include <sched.h>
#include <string.h>

enum { TAG = 4711 };

static channel end_of(const place *p, int sends, int peer, int parts, int64_t count, const unit *u)
{
  channel c = {.ctx = p->ctx, .sends = sends, .peer = peer, .tag = TAG};
  c.parts = parts;
  c.count = count;
  c.u = u;
  c.seed = test_seed();
  channel_open(&c);
  return c;
}

static void check_sentence(int peer, int64_t sent, int64_t received)
{
  char sentence[2048], rank[32];
  snprintf(sentence, sizeof sentence, "%s", grove_last_error());
  snprintf(rank, sizeof rank, "rank %d", peer);
  CHECK(strstr(sentence, rank) != NULL, "no '%s' in '%s'", rank, sentence);
  CHECK_NUMBER_IN(sentence, TAG);
  CHECK_NUMBER_IN(sentence, sent);
  CHECK_NUMBER_IN(sentence, received);
}

/* By wait, or by tests: the first that does not say "not yet". */
static void must_fail(channel *c, int by_test, int64_t sent, int64_t received)
{
  grove_status status = GROVE_OK;
  if (by_test) {
    for (int done = 0; status == GROVE_OK && !done;) {
      status = grove_test(c->op, &done);
      CHECK(status != GROVE_OK || !done, "a channel whose ends do not fit is complete");
      sched_yield();
    }
  } else {
    status = grove_wait(c->op);
  }
  CHECK(status == GROVE_ERR_ARG, "%s, not GROVE_ERR_ARG", grove_status_name(status));
  check_sentence(c->peer, sent, received);
}

/* Every rank sends to the next. */
static void try_sizes(const place *p, grove_op *idle, const units *types, const int64_t bytes[2],
                      int how)
{
  int next = (p->rank + 1) % p->size, previous = (p->rank + p->size - 1) % p->size;
  const unit *u = units_find(types, "MPI_BYTE");
  channel bad[2], good[2];
  bad[1] = end_of(p, 1, next, bytes[1] % 3 ? 1 : 3, bytes[1] % 3 ? bytes[1] : bytes[1] / 3, u);
  bad[0] = end_of(p, 0, previous, 1, bytes[0], u);
  for (int k = 0; k < 2; k++) good[k] = end_of(p, k, k ? next : previous, 2, 50, u);
  for (int k = 0; k < 2; k++) channel_start(&bad[k]);
  for (int k = 0; k < 2; k++) channel_start(&good[k]);
  if (how < 2) channel_ready(&bad[1], 0, bad[1].parts); /* or it is found before */
  channel_ready(&good[1], 0, 2);
  for (int k = 0; k < 2; k++) channel_wait(&good[k]);
  for (int k = 0; k < 2; k++) must_fail(&bad[(k + how) % 2], how % 2, bytes[1], bytes[0]);
  bad[0].round = 0; /* canaries, all of it */
  channel_check(&bad[0]);
  place_meet(p, idle);
  for (int k = 0; k < 2; k++) channel_abandon(&bad[k]);
  for (int k = 0; k < 2; k++) channel_start(&good[k]);
  channel_ready(&good[1], 0, 2);
  for (int k = 0; k < 2; k++) channel_wait(&good[k]);
  for (int k = 0; k < 2; k++) channel_close(&good[k]);
}

int main(int argc, char **argv)
{
  static const int64_t bytes[][2] = {{96, 84}, {84, 96}, {900, 0}, {0, 999}, {300000, 300003}};
  test_begin(&argc, &argv, "partitioned/totals_differ");
  units *types = units_create();
  place p = place_create(split(0));
  grove_op *idle = place_idle(&p);
  for (int i = 0; i < 5; i++)
    for (int how = 0; how < 3; how++) {
      test_case(10 * i + how);
      try_sizes(&p, idle, types, bytes[i], how);
    }
  CHECK_OK(grove_op_free(&idle));
  place_free(&p);
  channels_sweep();
  units_free(types);
  return test_end();
}
