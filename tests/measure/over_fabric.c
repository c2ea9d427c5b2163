/* What messages cost over libfabric, measured on a network whose numbers are known. The bytes go by
 * libfabric's TCP, but the clock is this test's (--wrap): a message leaves a while after the one
 * before it, and arrives a latency later. These numbers must come back. A network that fails leaves
 * no rows, and a doubt. */
#include "check.h"

#ifndef GROVE_LIBFABRIC

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "measure/over_fabric");
  return test_skip("there is no libfabric");
}

#else

#include "measure/probe.h"
#include "profile.h"
#include "transport/ofi.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- a network with a clock of its own ---- */

static const double L = 1e-3, g = 2e-4, G = 1e-9;
static int stamp = 77; /* the tag of the times of arrival */

static int on;                /* the clock is this one: */
static double now, link_free; /* when this rank can send again */
static double each_look;      /* seconds that pass while one looks at the clock */
static int writes_left;       /* before the network fails */

double __real_grove_clock(void);
double __wrap_grove_clock(void);
double __wrap_grove_clock(void)
{
  return on ? now += each_look : __real_grove_clock();
}

/* When a message arrives is told by MPI. */
grove_status __real_grove_fabric_write(grove_fabric *f, const grove_fabric_put *put,
                                       int64_t *taken);
grove_status __wrap_grove_fabric_write(grove_fabric *f, const grove_fabric_put *put,
                                       int64_t *taken);
grove_status __wrap_grove_fabric_write(grove_fabric *f, const grove_fabric_put *put, int64_t *taken)
{
  if (writes_left == 0)
    return grove_error(GROVE_ERR_SYSTEM, __FILE__, __LINE__, "the network fails on purpose");
  GROVE_PASS(__real_grove_fabric_write(f, put, taken));
  if (*taken == 0) return GROVE_OK;
  CHECK(put->offset == 0 && *taken == put->bytes, "a message in pieces");
  double leaves = fmax(now, link_free), bytes = G * (double)(put->bytes - 1);
  double arrives = leaves + L + bytes;
  link_free = leaves + g + bytes;
  writes_left--;
  MPI_Send(&arrives, 1, MPI_DOUBLE, 1 - world_rank(), stamp, MPI_COMM_WORLD);
  return GROVE_OK;
}

static void (*told)(void *self, int64_t index); /* of a message that has come */

static void note_arrival(void *self, int64_t index)
{
  double arrives = 0;
  MPI_Recv(&arrives, 1, MPI_DOUBLE, 1 - world_rank(), stamp, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  now = fmax(now, arrives);
  told(self, index);
}

grove_status __real_grove_fabric_listen(grove_fabric *f, grove_fabric_listener *l, int64_t n);
grove_status __wrap_grove_fabric_listen(grove_fabric *f, grove_fabric_listener *l, int64_t n);
grove_status __wrap_grove_fabric_listen(grove_fabric *f, grove_fabric_listener *l, int64_t n)
{
  told = l->come;
  l->come = note_arrival;
  return __real_grove_fabric_listen(f, l, n);
}

/* ---- the step ---- */

static grove_machine *run_step(grove_context *ctx, char doubt[400])
{
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
  now = link_free = 0;
  on = 1;
  CHECK_OK(grove_measure_fabric(&p, 1));
  on = 0;
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

static void known_network(grove_context *ctx)
{
  char doubt[400];
  each_look = 0;
  writes_left = -1;
  grove_machine *m = run_step(ctx, doubt);
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

/* At the first message, and later; on one rank. */
static void failing_network(grove_context *ctx)
{
  for (int i = 0; i < 4; i++) {
    char doubt[400];
    test_case(1 + i);
    each_look = 1e-3; /* so that whoever waits gives up */
    writes_left = world_rank() == i % 2 ? 40 * (i / 2) : -1;
    grove_machine *m = run_step(ctx, doubt);
    CHECK(m->nrows == 0 && !grove_machine_has_fabric(m), "%d rows", m->nrows);
    CHECK(strcmp(doubt, "libfabric failed") == 0, "'%s'", doubt);
    grove_machine_free(&m);
    int left = 1; /* times of what has not come */
    polite_barrier(MPI_COMM_WORLD);
    while (left) {
      double unread;
      MPI_Iprobe(1 - world_rank(), stamp, MPI_COMM_WORLD, &left, MPI_STATUS_IGNORE);
      if (left)
        MPI_Recv(&unread, 1, MPI_DOUBLE, 1 - world_rank(), stamp, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    }
    stamp++;
    polite_barrier(MPI_COMM_WORLD);
  }
}

int main(int argc, char **argv)
{
  grove_context *ctx = NULL;
  test_begin(&argc, &argv, "measure/over_fabric");
  CHECK_OK(grove_context_create(MPI_COMM_WORLD, &ctx));
  known_network(ctx);
  failing_network(ctx);
  CHECK_OK(grove_context_free(&ctx));
  return test_end();
}

#endif
