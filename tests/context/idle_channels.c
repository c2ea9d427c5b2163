/* Channels that nobody uses cost nothing: a thousand of them, never started, or between two rounds,
 * leave nothing for a poll of the context to look at. */
#include "context/context.h"

#include "channel.h"
#include "check.h"
#include "errand.h"

#include <stdlib.h>

enum { PAIRS = 500, USED = 250 };

static int polled(const grove_context *ctx)
{
  int n = 0;
  for (const grove_active *a = ctx->active.next; a != &ctx->active; a = a->next) n++;
  return n;
}

/* Half of them have had rounds. All ranks call; the last one of an odd number has no channel. */
static void run_some(channel *c, int n)
{
  for (int round = 0; round < 2; round++) {
    for (int i = 0; i < n; i++) channel_start(&c[i]);
    for (int i = 0; i < n; i++)
      if (c[i].sends) channel_ready(&c[i], 0, c[i].parts);
    for (int i = 0; i < n; i++) channel_wait(&c[i]);
  }
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "context/idle_channels");
  units *types = units_create();
  place p = place_create(split(0));
  int peer = p.rank % 2 == 0 ? p.rank + 1 : p.rank - 1, n = peer < p.size ? 2 * PAIRS : 0;
  channel *c = need(2 * PAIRS * sizeof *c);
  errand e = {.n = 1, .step = 1, .width = 1, .unit = MPI_INT64_T};
  e.forest = errand_forest(p.ctx, e.n, e.step);
  errand_open(&e, p.comm);
  errand_init(&e);
  for (int i = 0; i < n; i++) {
    c[i] = (channel){.ctx = p.ctx, .peer = peer, .tag = i / 2, .parts = 4, .count = 2};
    c[i].sends = (i + p.rank) % 2;
    c[i].u = units_find(types, "MPI_INT");
    c[i].seed = mix2(test_seed(), (uint64_t)i);
    channel_open(&c[i]);
  }
  CHECK(polled(p.ctx) == 0, "%d things to poll for channels that were never started",
        polled(p.ctx));
  run_some(c, n < 2 * USED ? n : 2 * USED);
  CHECK(polled(p.ctx) == 0, "%d things to poll for channels between two rounds", polled(p.ctx));
  for (int i = 0; i < 20; i++) {
    errand_fill(&e);
    CHECK_OK(grove_start(e.op));
    CHECK(polled(p.ctx) <= 1, "%d things to poll, for one bcast", polled(p.ctx));
    CHECK_OK(grove_wait(e.op));
    errand_check(&e);
  }
  CHECK(polled(p.ctx) == 0, "%d things to poll", polled(p.ctx));
  run_some(c, n < 2 * USED ? n : 2 * USED);
  for (int i = 0; i < n; i++) channel_close(&c[i]);
  free(c);
  CHECK_OK(grove_forest_free(&e.forest));
  errand_close(&e);
  place_free(&p);
  units_free(types);
  return test_end();
}
