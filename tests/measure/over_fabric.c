/* What messages cost over libfabric, measured on a network whose numbers are known: they must come
 * back. A network that fails leaves no rows, and a doubt. */
#include "check.h"

#ifndef GROVE_LIBFABRIC

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "measure/over_fabric");
  return test_skip("there is no libfabric");
}

#else

#include "known_network.h"
#include "measure/probe.h"
#include "profile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double L = 1e-3, g = 2e-4, G = 1e-9;

/* The step alone, on this network. */
static grove_machine *run_step(grove_context *ctx, int looks, int writes_left, char doubt[400])
{
  const known_network network = {L, g, G, looks, writes_left};
  const grove_measuring how = {.effort = GROVE_MEASURE_QUICK, .fabric = 1};
  grove_probe p = {.ctx = ctx,
                   .how = &how,
                   .machine = machine_of(""),
                   .planned = 12,
                   .source = "measured 2026-11-19",
                   .tag = ctx->tag_limit - GROVE_PROBE_TAGS};
  p.send = calloc(1, GROVE_PROBE_BYTES);
  p.receive = calloc(1, GROVE_PROBE_BYTES);
  CHECK(p.send && p.receive, "no memory");
  known_network_begin(&network);
  CHECK_OK(grove_measure_fabric(&p, 1));
  known_network_end();
  CHECK_OK(p.status);
  memcpy(doubt, p.doubt, sizeof p.doubt);
  CHECK_OK(grove_machine_digest(p.machine));
  free(p.send);
  free(p.receive);
  return p.machine;
}

static void check_near(const char *what, int64_t bytes, double got, double want)
{
  CHECK(fabs(got - want) <= 1e-3 * want, "%s for %lld bytes is %g, not %g", what, (long long)bytes,
        got, want);
}

static void known_numbers(grove_context *ctx)
{
  char doubt[400];
  grove_machine *m = run_step(ctx, 0, -1, doubt);
  CHECK(!*doubt, "'%s'", doubt);
  CHECK(grove_machine_has_fabric(m) && m->nrows == 3 * 13, "%d rows", m->nrows);
  for (int64_t bytes = 1; bytes <= 1 << 20; bytes *= 16) {
    const grove_loggp *row = grove_machine_loggp(m, GROVE_OVER_FABRIC, bytes);
    check_near("L", bytes, row->L, L);
    check_near("g", bytes, row->g, g);
    check_near("G", bytes, row->G, G);
  }
  for (int i = 0; i < m->nrows; i++)
    CHECK(strstr(m->rows[i].source, "measured 2026-11-19 over tcp;ofi_rxm, "), "'%s'",
          m->rows[i].source);
  grove_machine_free(&m);
}

/* At the first message, and later; on one rank. Whoever waits gives up after some looks. */
static void it_fails(grove_context *ctx)
{
  for (int i = 0; i < 4; i++) {
    char doubt[400];
    test_case(1 + i);
    grove_machine *m = run_step(ctx, 500, world_rank() == i % 2 ? 40 * (i / 2) : -1, doubt);
    CHECK(m->nrows == 0 && !grove_machine_has_fabric(m), "%d rows", m->nrows);
    CHECK(strcmp(doubt, "libfabric failed") == 0, "'%s'", doubt);
    grove_machine_free(&m);
  }
}

int main(int argc, char **argv)
{
  grove_context *ctx = NULL;
  test_begin(&argc, &argv, "measure/over_fabric");
  CHECK_OK(grove_context_create(MPI_COMM_WORLD, &ctx));
  known_numbers(ctx);
  it_fails(ctx);
  CHECK_OK(grove_context_free(&ctx));
  return test_end();
}

#endif
