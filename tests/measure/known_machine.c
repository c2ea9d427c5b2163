/* What is measured on a machine whose numbers are known: alpha and beta by ranges, LogGP, the step
 * along a queue, injection, contention, shared memory, packing, devices, crowds and cores come
 * back, in the right unit and not twice or half of it, with the ranges and points that belong to
 * them. What cannot be seen on a machine is not in its profile. */
#include "check.h"
#include "near.h"
#include "virtual.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Profiles have four digits. */
static int is_found(double got, double want, double off)
{
  return fabs(got - want) <= (off + 0.0006) * fabs(want);
}

#define FOUND(got, want)                                                                           \
  do {                                                                                             \
    double got_ = (got), want_ = (want);                                                           \
    CHECK(is_found(got_, want_, 0), #got " is %.12g, not %.12g", got_, want_);                     \
  } while (0)

/* The row of these words; NULL: there is none. */
static const grove_row *find(const grove_machine *m, const char *term, const char *locality,
                             const char *range)
{
  for (int i = 0; i < m->nrows; i++)
    if (strcmp(m->rows[i].term, term) == 0 && strcmp(m->rows[i].locality, locality) == 0 &&
        strcmp(m->rows[i].range, range) == 0)
      return &m->rows[i];
  return NULL;
}

static int count(const grove_machine *m, const char *term)
{
  int n = 0;
  for (int i = 0; i < m->nrows; i++) n += strcmp(m->rows[i].term, term) == 0;
  return n;
}

/* So many batches were measured; no line was laid through them. */
static void check_source(const grove_row *row, int samples)
{
  char want[64];
  snprintf(want, sizeof want, "measured 2026-11-15, %d samples", samples);
  CHECK(strcmp(row->source, want) == 0, "'%s', not '%s'", row->source, want);
}

#define ROW(m, term, locality, range, want, unit)                                                  \
  check_row(m, term, locality, range, want, unit, __LINE__)
static const grove_row *check_row(const grove_machine *m, const char *term, const char *locality,
                                  const char *range, double want, const char *unit, int line)
{
  const grove_row *row = find(m, term, locality, range);
  CHECK(row, "line %d: there is no row %s %s %s", line, term, locality, range);
  CHECK(is_found(row->value, want, 0), "line %d: %s %s %s is %.12g, not %.12g", line, term,
        locality, range, row->value, want);
  CHECK(strcmp(row->unit, unit) == 0, "line %d: %s is in %s", line, term, row->unit);
  return row;
}

/* The y at this x; NaN: there is none. */
static double point(const grove_points *points, const char *series, double x)
{
  for (int i = 0; i < points->count; i++)
    if (strcmp(points->point[i].series, series) == 0 && points->point[i].x == x)
      return points->point[i].y;
  return NAN;
}

static int count_points(const grove_points *points, const char *series)
{
  int n = 0;
  for (int i = 0; i < points->count; i++) n += strcmp(points->point[i].series, series) == 0;
  return n;
}

static double budget;

/* A step takes about as long as it may. */
static void check_time(void)
{
  double seconds = virtual_seconds();
  CHECK(seconds > 0.9 * budget && seconds < 1.15 * budget, "%g s of %g", seconds, budget);
}

/* ---- ping-pong ---- */

static const virtual_link three_pieces = {3,
                                          {{0, {200e-6, 40e-9}, {2e-6, 1e-9}},
                                           {512, {300e-6, 20e-9}, {5e-6, 0.5e-9}},
                                           {16384, {800e-6, 1e-9}, {20e-6, 0.25e-9}}},
                                          3e-6,
                                          7e-6};

static grove_locality place;

static grove_status postal(grove_probe *p)
{
  return grove_measure_postal(p, place, budget);
}

static void ranges(void)
{
  static const char *const series[] = {"ping-pong on-socket", "ping-pong on-node",
                                       "ping-pong off-node"};
  virtual_machine v = {.nodes = "0001", .hosts = "0001", .sockets = "0010", .cores = 4};
  budget = 0.24;
  for (int l = 0; l < GROVE_LOCALITIES; l++) {
    const char *name = grove_locality_names[l];
    grove_points points = {0};
    test_case(l);
    place = (grove_locality)l;
    memset(v.link, 0, sizeof v.link);
    v.link[l] = three_pieces;
    grove_machine *m = virtual_step(&v, GROVE_MEASURE_QUICK, postal, &points);
    CHECK(m->nrows == 8, "%d rows", m->nrows);
    ROW(m, "alpha", name, "short", 200e-6, "s");
    ROW(m, "beta", name, "short", 40e-9, "s/B");
    ROW(m, "alpha", name, "eager", 300e-6, "s");
    ROW(m, "beta", name, "eager", 20e-9, "s/B");
    ROW(m, "from", name, "eager", 512, "B");
    ROW(m, "alpha", name, "rend", 800e-6, "s");
    ROW(m, "beta", name, "rend", 1e-9, "s/B");
    ROW(m, "from", name, "rend", 16384, "B");
    /* 0, 1, 2, 4, ... 4 MiB; the time is that of one way. */
    CHECK(points.count == 24 && count_points(&points, series[l]) == 24, "%d points", points.count);
    CHECK_NEAR(point(&points, series[l], 0), 200e-6);
    CHECK_NEAR(point(&points, series[l], 256), 210.24e-6);
    CHECK_NEAR(point(&points, series[l], 512), 310.24e-6);
    CHECK_NEAR(point(&points, series[l], 8192), 463.84e-6);
    CHECK_NEAR(point(&points, series[l], 4194304), 4994.304e-6);
    grove_points_free(&points);
    grove_machine_free(&m);
  }
}

/* Two ranges are eager and rendezvous; one is eager, for all sizes. With more time there are sizes
 * between the powers of two. */
static void fewer_pieces(void)
{
  virtual_machine v = {.nodes = "01", .hosts = "01", .sockets = "00", .cores = 4};
  grove_points points = {0};
  place = GROVE_OFF_NODE;
  budget = 0.84;
  v.link[GROVE_OFF_NODE] = (virtual_link){
    .ranges = 2, .range = {{0, {300e-6, 10e-9}, {0, 0}}, {6144, {900e-6, 1e-9}, {0, 0}}}};
  grove_machine *m = virtual_step(&v, GROVE_MEASURE_NORMAL, postal, &points);
  CHECK(m->nrows == 5, "%d rows", m->nrows);
  ROW(m, "alpha", "off-node", "eager", 300e-6, "s");
  ROW(m, "beta", "off-node", "eager", 10e-9, "s/B");
  ROW(m, "alpha", "off-node", "rend", 900e-6, "s");
  ROW(m, "beta", "off-node", "rend", 1e-9, "s/B");
  ROW(m, "from", "off-node", "rend", 6144, "B");
  CHECK(points.count == 42, "%d points", points.count);
  CHECK(isnan(point(&points, "ping-pong off-node", 12)), "12 bytes");
  CHECK_NEAR(point(&points, "ping-pong off-node", 24), 300.24e-6);
  CHECK_NEAR(point(&points, "ping-pong off-node", 3145728), 4045.728e-6);
  grove_points_free(&points);
  grove_machine_free(&m);
  v.link[GROVE_OFF_NODE].ranges = 1;
  m = virtual_step(&v, GROVE_MEASURE_QUICK, postal, NULL);
  CHECK(m->nrows == 2, "%d rows", m->nrows);
  ROW(m, "alpha", "off-node", "eager", 300e-6, "s");
  ROW(m, "beta", "off-node", "eager", 10e-9, "s/B");
  grove_machine_free(&m);
  place = GROVE_ON_SOCKET; /* of which there is no pair */
  m = virtual_step(&v, GROVE_MEASURE_QUICK, postal, NULL);
  CHECK(m->nrows == 0, "%d rows", m->nrows);
  grove_machine_free(&m);
}

/* On a slow network sizes are left out, and batches: a round trip is 2 ms, a size once, twice to
 * warm up and three times: 12 ms, until one and a half times the budget is spent. */
static void too_slow(void)
{
  virtual_machine v = {.nodes = "01", .hosts = "01", .sockets = "00", .cores = 4};
  grove_points points = {0};
  place = GROVE_OFF_NODE;
  budget = 0.025;
  v.link[GROVE_OFF_NODE] = (virtual_link){.ranges = 1, .range = {{0, {1e-3, 0}, {0, 0}}}};
  grove_machine *m = virtual_step(&v, GROVE_MEASURE_QUICK, postal, &points);
  const grove_row *row = ROW(m, "alpha", "off-node", "eager", 1e-3, "s");
  CHECK(points.count == 4, "%d sizes", points.count);
  CHECK(strcmp(row->source, "measured 2026-11-15, 12 samples, residual 0.0 %") == 0, "'%s'",
        row->source);
  grove_points_free(&points);
  grove_machine_free(&m);
  /* With a little more time five batches: 16 ms a size, and 24 of them would take 0.384 s. */
  budget = 0.25;
  m = virtual_step(&v, GROVE_MEASURE_QUICK, postal, &points);
  row = ROW(m, "alpha", "off-node", "eager", 1e-3, "s");
  CHECK(points.count == 24, "%d sizes", points.count);
  CHECK(strstr(row->source, ", 120 samples, "), "'%s'", row->source);
  grove_points_free(&points);
  grove_machine_free(&m);
}

/* ---- LogGP ---- */

static int dropped; /* points, by the last step that says so */
static char doubted[400];

static grove_status loggp(grove_probe *p)
{
  grove_status status = grove_measure_loggp(p, place, budget);
  dropped = p->dropped;
  if (p->ctx->rank == 0) memcpy(doubted, p->doubt, sizeof doubted);
  return status;
}

static void streams(void)
{
  /* L is what is left of one way: 200 us + 40 ns s - o_s - o_r - G (s - 1), ... */
  static const struct {
    int64_t bytes;
    const char *range;
    double L, g, G;
  } row[] = {
    {1, "0..63", 190.04e-6, 2e-6, 1e-9},
    {64, "64..255", 192.497e-6, 2e-6, 1e-9},
    {256, "256..1023", 199.985e-6, 2e-6, 1e-9},
    {1024, "1024..2047", 309.9685e-6, 5e-6, 0.5e-9},
    {8192, "8192..16383", 449.7445e-6, 5e-6, 0.5e-9},
    {16384, "16384..32767", 802.28825e-6, 20e-6, 0.25e-9},
    {1048576, "1048576..", 1576.43225e-6, 20e-6, 0.25e-9},
  };
  virtual_machine v = {.nodes = "0011", .hosts = "0011", .sockets = "0000", .cores = 4};
  grove_points points = {0};
  budget = 2;
  for (int off = 0; off < 2; off++) {
    const char *name = off ? "off-node" : "on-socket";
    const char *series = off ? "stream off-node" : "stream on-socket";
    place = off ? GROVE_OFF_NODE : GROVE_ON_SOCKET;
    memset(v.link, 0, sizeof v.link);
    v.link[place] = three_pieces;
    grove_machine *m = virtual_step(&v, GROVE_MEASURE_QUICK, loggp, &points);
    check_time();
    CHECK(m->nrows == 65 && m->nloggp[place] == 13, "%d rows", m->nrows);
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
      test_case((int64_t)i);
      ROW(m, "L", name, row[i].range, row[i].L, "s");
      ROW(m, "o_s", name, row[i].range, 3e-6, "s");
      ROW(m, "o_r", name, row[i].range, 7e-6, "s");
      ROW(m, "g", name, row[i].range, row[i].g, "s");
      ROW(m, "G", name, row[i].range, row[i].G, "s/B");
      CHECK_NEAR(point(&points, series, (double)row[i].bytes),
                 row[i].g + row[i].G * (double)row[i].bytes);
    }
    CHECK(count_points(&points, series) == 13, "%d points", points.count);
    grove_points_free(&points);
    grove_machine_free(&m);
  }
  /* Overheads that are more than one way leave nothing for L. A size takes 32 ms, eight round trips
   * with a train of one and eight with one of many, until one and a half times the budget is
   * spent. */
  place = GROVE_OFF_NODE;
  v.link[GROVE_OFF_NODE] =
    (virtual_link){.ranges = 1, .range = {{0, {1e-3, 0}, {1e-7, 0}}}, .o_s = 1e-3, .o_r = 1e-3};
  budget = 0.13;
  grove_machine *m = virtual_step(&v, GROVE_MEASURE_QUICK, loggp, NULL);
  CHECK(m->nloggp[GROVE_OFF_NODE] == 7, "%d sizes", m->nloggp[GROVE_OFF_NODE]);
  CHECK(m->loggp[GROVE_OFF_NODE][0].L == 0, "L is %g", m->loggp[GROVE_OFF_NODE][0].L);
  FOUND(m->loggp[GROVE_OFF_NODE][0].g, 1e-7);
  ROW(m, "o_s", "off-node", "8192..", 1e-3, "s");
  CHECK(dropped == 0 && !*doubted, "%d points were dropped: %s", dropped, doubted);
  grove_machine_free(&m);
  /* Nothing is no time. A size is tried three times, so there are fewer, and no row comes of it. */
  v.link[GROVE_OFF_NODE].range[0].stream = (grove_postal){0, 0};
  m = virtual_step(&v, GROVE_MEASURE_QUICK, loggp, &points);
  CHECK(m->nrows == 0 && points.count == 0, "%d rows, %d points", m->nrows, points.count);
  CHECK(dropped == 3, "%d points were dropped", dropped);
  CHECK(strcmp(doubted, "no train of messages off-node made sense") == 0, "'%s'", doubted);
  grove_machine_free(&m);
}

/* ---- the queue ---- */

static grove_status queue(grove_probe *p)
{
  return grove_measure_queue(p, budget);
}

/* n messages in the opposite order go past n (n - 1) / 2 receives: gamma, by which n^2 is
 * multiplied, is half a step. */
static void steps_along_the_queue(void)
{
  virtual_machine v = {.nodes = "00", .hosts = "00", .sockets = "00", .cores = 4, .step = 20e-9};
  grove_points points = {0};
  budget = 12;
  v.link[GROVE_ON_SOCKET] = (virtual_link){
    .ranges = 1, .range = {{0, {992e-6, 1e-6}, {5e-6, 0}}}, .o_s = 1e-6, .o_r = 1e-6};
  grove_machine *m = virtual_step(&v, GROVE_MEASURE_QUICK, queue, &points);
  check_time();
  CHECK(m->nrows == 1, "%d rows", m->nrows);
  ROW(m, "gamma", "any", "-", 10e-9, "s");
  CHECK_NEAR(point(&points, "messages in order", 1), 1e-3);
  CHECK_NEAR(point(&points, "messages reversed", 1), 1e-3);
  CHECK_NEAR(point(&points, "messages in order", 1000), 1e-3 + 999 * 5e-6);
  CHECK_NEAR(point(&points, "messages reversed", 1000), 1e-3 + 999 * 5e-6 + 499500 * 20e-9);
  static const double counts[] = {1, 10, 100, 300, 1000, 2000, 3000, 5000};
  for (int i = 0; i < 8; i++)
    CHECK_NEAR(point(&points, "messages in order", counts[i]), 1e-3 + (counts[i] - 1) * 5e-6);
  CHECK(points.count == 2 * count_points(&points, "messages in order"), "%d points", points.count);
  grove_points_free(&points);
  grove_machine_free(&m);
  /* In little time only 1 and 10 messages, three times each way: no queue is seen. */
  budget = 0.03;
  m = virtual_step(&v, GROVE_MEASURE_QUICK, queue, &points);
  CHECK(points.count == 4, "%d points", points.count);
  const grove_row *row = find(m, "gamma", "any", "-");
  CHECK(row && row->value == 0, "gamma is %g", m->gamma);
  CHECK(strcmp(row->source, "measured 2026-11-15, 12 samples, residual 0.0 %") == 0, "'%s'",
        row->source);
  grove_points_free(&points);
  grove_machine_free(&m);
  v.nodes = "0";
  m = virtual_step(&v, GROVE_MEASURE_QUICK, queue, NULL);
  CHECK(m->nrows == 0, "a queue of one rank");
  grove_machine_free(&m);
}

/* ---- what nodes share ---- */

static grove_status injection(grove_probe *p)
{
  return grove_measure_injection(p, budget);
}

static virtual_machine two_nodes(const char *nodes)
{
  virtual_machine v = {.nodes = nodes, .hosts = nodes, .sockets = "0000000000", .cores = 8};
  v.link[GROVE_OFF_NODE] = (virtual_link){.ranges = 1, .range = {{0, {100e-6, 1e-9}, {0, 0}}}};
  return v;
}

/* Half a mebibyte takes a pair 100 + 524.288 us; more pairs k 0.5 ns a byte, if that is more. */
static void interface_is_full(void)
{
  virtual_machine v = two_nodes("00001111");
  grove_points points = {0};
  budget = 0.1;
  v.injection = 0.5e-9;
  grove_machine *m = virtual_step(&v, GROVE_MEASURE_QUICK, injection, &points);
  check_time();
  /* Four pairs: 100 us + 4 * 262.144 us for 4 half mebibytes. */
  CHECK(m->nrows == 1, "%d rows", m->nrows);
  const grove_row *row = ROW(m, "injection", "off-node", "any", 1148.576e-6 / 2097152, "s/B");
  check_source(row, 66); /* round trips of 1.25, 1.25 and 2.3 ms in 33.3 ms each */
  CHECK(points.count == 3, "%d points", points.count);
  CHECK_NEAR(point(&points, "node-pong", 1), 624.288e-6);
  CHECK_NEAR(point(&points, "node-pong", 2), 624.288e-6);
  CHECK_NEAR(point(&points, "node-pong", 4), 1148.576e-6);
  grove_points_free(&points);
  grove_machine_free(&m);
  v.injection = 0.25e-9; /* four pairs just fit in */
  m = virtual_step(&v, GROVE_MEASURE_QUICK, injection, NULL);
  CHECK(m->nrows == 0, "a limit that nobody meets");
  grove_machine_free(&m);
  /* Three pairs; the fourth rank of node 1 has nobody. */
  v = two_nodes("0001111");
  v.injection = 0.5e-9;
  m = virtual_step(&v, GROVE_MEASURE_QUICK, injection, &points);
  CHECK(points.count == 3, "%d points", points.count);
  CHECK_NEAR(point(&points, "node-pong", 3), 100e-6 + 786.432e-6);
  ROW(m, "injection", "off-node", "any", 886.432e-6 / 1572864, "s/B");
  grove_points_free(&points);
  grove_machine_free(&m);
  v = two_nodes("0000011111"); /* one, two, four, five */
  v.injection = 0.5e-9;
  m = virtual_step(&v, GROVE_MEASURE_QUICK, injection, &points);
  CHECK(points.count == 4, "%d points", points.count);
  CHECK_NEAR(point(&points, "node-pong", 4), 1148.576e-6);
  CHECK_NEAR(point(&points, "node-pong", 5), 100e-6 + 1310.72e-6);
  grove_points_free(&points);
  grove_machine_free(&m);
  static const char *const too_few[] = {"0000", "0001", "01"};
  for (int i = 0; i < 3; i++) {
    v = two_nodes(too_few[i]);
    v.injection = 5e-9;
    m = virtual_step(&v, GROVE_MEASURE_QUICK, injection, &points);
    CHECK(m->nrows == 0 && points.count == 0, "'%s' has a limit", too_few[i]);
    grove_machine_free(&m);
  }
}

static grove_status contention(grove_probe *p)
{
  return grove_measure_contention(p, budget);
}

/* Four pairs at once, and what a byte of all of them takes beyond one pair of nodes alone. */
static void link_is_contended(void)
{
  virtual_machine v = two_nodes("00112233");
  budget = 0.1;
  v.delta = 0.3e-9;
  grove_machine *m = virtual_step(&v, GROVE_MEASURE_QUICK, contention, NULL);
  check_time();
  CHECK(m->nrows == 1, "%d rows", m->nrows);
  /* 34 batches of two round trips, of 0.724 ms, and 36 of one, of 1.353 ms, in 50 ms each. */
  check_source(ROW(m, "delta", "off-node", "-", 0.3e-9, "s/B"), 70);
  grove_machine_free(&m);
  v.nodes = v.hosts = "01234"; /* of a fifth nothing is needed */
  m = virtual_step(&v, GROVE_MEASURE_QUICK, contention, NULL);
  ROW(m, "delta", "off-node", "-", 0.3e-9, "s/B");
  grove_machine_free(&m);
  v.nodes = v.hosts = "0001123"; /* one pair each */
  m = virtual_step(&v, GROVE_MEASURE_QUICK, contention, NULL);
  ROW(m, "delta", "off-node", "-", 0.3e-9, "s/B");
  grove_machine_free(&m);
  v.delta = 0;
  m = virtual_step(&v, GROVE_MEASURE_QUICK, contention, NULL);
  CHECK(m->nrows == 1 && m->delta == 0, "delta is %g", m->delta);
  grove_machine_free(&m);
  v = two_nodes("00112233");
  v.cores = 1; /* ranks would wait for cores */
  m = virtual_step(&v, GROVE_MEASURE_QUICK, contention, NULL);
  CHECK(m->nrows == 0, "%d rows", m->nrows);
  grove_machine_free(&m);
  v = two_nodes("00112222");
  m = virtual_step(&v, GROVE_MEASURE_QUICK, contention, NULL);
  CHECK(m->nrows == 0, "%d rows", m->nrows);
  grove_machine_free(&m);
}

/* ---- inside a node ---- */

static grove_status shared(grove_probe *p)
{
  return grove_measure_shared(p, budget);
}

static void memory_is_shared(void)
{
  virtual_machine v = {.nodes = "1000000",
                       .hosts = "1000000",
                       .sockets = "0000111",
                       .cores = 8,
                       .flag = {30e-6, 70e-6},
                       .shared = 0.1e-9};
  grove_points points = {0};
  budget = 2;
  grove_machine *m = virtual_step(&v, GROVE_MEASURE_QUICK, shared, &points);
  check_time();
  CHECK(m->nrows == 5, "%d rows", m->nrows);
  check_source(ROW(m, "flag", "on-socket", "-", 30e-6, "s"), 25);
  ROW(m, "flag", "on-node", "-", 70e-6, "s");
  check_source(ROW(m, "shared", "on-node", "2", 0.2e-9, "s/B"), 25);
  ROW(m, "shared", "on-node", "4", 0.4e-9, "s/B");
  ROW(m, "shared", "on-node", "6", 0.6e-9, "s/B");
  CHECK(points.count == 3, "%d points", points.count);
  CHECK_NEAR(point(&points, "shared memory", 4), 0.4e-9);
  grove_points_free(&points);
  grove_machine_free(&m);
  v.nodes = v.hosts = v.sockets = "0000000000"; /* ten ranks of one node: two, four, eight, all */
  m = virtual_step(&v, GROVE_MEASURE_QUICK, shared, NULL);
  CHECK(m->nrows == 5, "%d rows", m->nrows);
  ROW(m, "flag", "on-socket", "-", 30e-6, "s");
  ROW(m, "shared", "on-node", "2", 0.2e-9, "s/B");
  ROW(m, "shared", "on-node", "4", 0.4e-9, "s/B");
  ROW(m, "shared", "on-node", "8", 0.8e-9, "s/B");
  ROW(m, "shared", "on-node", "10", 1e-9, "s/B");
  grove_machine_free(&m);
  v.without_memory = 1; /* one rank has none, so it is not used */
  m = virtual_step(&v, GROVE_MEASURE_QUICK, shared, NULL);
  CHECK(m->nrows == 0, "%d rows", m->nrows);
  grove_machine_free(&m);
  v = (virtual_machine){.nodes = "012", .hosts = "012", .sockets = "000", .cores = 8};
  m = virtual_step(&v, GROVE_MEASURE_QUICK, shared, NULL);
  CHECK(m->nrows == 0, "%d rows", m->nrows);
  grove_machine_free(&m);
}

static grove_status pack(grove_probe *p)
{
  return grove_measure_pack(p, budget);
}

static void packing(void)
{
  virtual_machine v = {
    .nodes = "00", .hosts = "00", .sockets = "00", .cores = 8, .pack = {1e-9, 3e-9, 7e-9}};
  grove_points points = {0};
  budget = 2;
  grove_machine *m = virtual_step(&v, GROVE_MEASURE_QUICK, pack, &points);
  check_time();
  CHECK(m->nrows == 3, "%d rows", m->nrows);
  check_source(ROW(m, "pack", "any", "0..32767", 1e-9, "s/B"), 11);
  ROW(m, "pack", "any", "32768..524287", 3e-9, "s/B");
  ROW(m, "pack", "any", "524288..", 7e-9, "s/B");
  CHECK(points.count == 3, "%d points", points.count);
  CHECK_NEAR(point(&points, "packing", 8192), 3e-9);
  grove_points_free(&points);
  grove_machine_free(&m);
}

/* ---- devices ---- */

static grove_status device(grove_probe *p)
{
  grove_status status = grove_probe_find_device(p);
  return status == GROVE_OK ? grove_measure_device(p, budget) : status;
}

/* Six ranks of the larger host copy: one, two, four at once, however nodes are told apart. */
static const virtual_machine with_device = {.nodes = "00112234",
                                            .hosts = "00000012",
                                            .sockets = "00000000",
                                            .cores = 8,
                                            .devices = 2,
                                            .copy = {{50e-6, 0.2e-9}, {70e-6, 0.3e-9}},
                                            .launch = 20e-6,
                                            .device_pack = 0.05e-9};

static void copies_of_a_device(void)
{
  grove_points points = {0};
  budget = 2;
  grove_machine *m = virtual_step(&with_device, GROVE_MEASURE_QUICK, device, &points);
  check_time();
  CHECK(m->nrows == 17, "%d rows", m->nrows);
  CHECK(m->gpus == 2, "%d devices", m->gpus);
  for (int k = 1; k <= 4; k *= 2) {
    char range[8];
    snprintf(range, sizeof range, "%d", k);
    ROW(m, "copy-alpha", "d2h", range, k * 50e-6, "s");
    ROW(m, "copy-beta", "d2h", range, k * 0.2e-9, "s/B");
    ROW(m, "copy-alpha", "h2d", range, k * 70e-6, "s");
    ROW(m, "copy-beta", "h2d", range, k * 0.3e-9, "s/B");
    ROW(m, "launch", "any", range, k * 20e-6, "s");
  }
  const grove_row *pack = ROW(m, "pack", "any", "0..", 0.05e-9, "s/B");
  CHECK(strcmp(pack->memory, "gpu") == 0, "packing in memory %s", pack->memory);
  CHECK(strstr(pack->source, "measured 2026-11-15, ") == pack->source &&
          strstr(pack->source, "residual 0.0 %"),
        "'%s'", pack->source);
  CHECK(points.count == 3 * 3 * count_points(&points, "copy d2h by 4"), "%d points", points.count);
  CHECK_NEAR(point(&points, "copy h2d by 4", 64), 4 * (70e-6 + 64 * 0.3e-9));
  CHECK_NEAR(point(&points, "kernel by 2", GROVE_PROBE_BYTES),
             2 * 20e-6 + GROVE_PROBE_BYTES * 0.05e-9);
  grove_points_free(&points);
  grove_machine_free(&m);
}

/* What rows say where the numbers are worth less; and none where a rank lacks the device. */
static void devices_in_doubt(void)
{
  virtual_machine v = with_device;
  v.emulated = 1;
  grove_machine *m = virtual_step(&v, GROVE_MEASURE_QUICK, device, NULL);
  CHECK(strstr(find(m, "copy-alpha", "d2h", "1")->source, "says nothing about speed") &&
          strstr(find(m, "gpus", "node", "-")->source, "says nothing about speed"),
        "'%s'", find(m, "copy-alpha", "d2h", "1")->source);
  grove_machine_free(&m);
  v = with_device;
  v.not_pinned = 1;
  m = virtual_step(&v, GROVE_MEASURE_QUICK, device, NULL);
  CHECK(strstr(find(m, "copy-beta", "h2d", "2")->source, "host memory not pinned"), "'%s'",
        find(m, "copy-beta", "h2d", "2")->source);
  grove_machine_free(&m);
  v = with_device;
  v.hosts = "12000000"; /* the last rank is one of those that copy */
  v.last_has_none = 1;
  m = virtual_step(&v, GROVE_MEASURE_QUICK, device, NULL);
  CHECK(m->nrows == 0, "%d rows", m->nrows);
  grove_machine_free(&m);
  v.hosts = with_device.hosts; /* it is not */
  m = virtual_step(&v, GROVE_MEASURE_QUICK, device, NULL);
  CHECK(m->nrows == 17, "%d rows", m->nrows);
  grove_machine_free(&m);
}

/* ---- crowds and cores ---- */

static grove_status crowd(grove_probe *p)
{
  grove_status status = grove_measure_crowd(p, budget);
  dropped = p->dropped;
  return status;
}

/* A small message has 8 bytes, which a message of a crowd is taken to be made of. */
static void crowds(void)
{
  virtual_machine v = {.nodes = "00001111",
                       .hosts = "00001111",
                       .sockets = "00000000",
                       .cores = 2,
                       .crowd = {{20e-6, 3e-6, 1e-9}, {70e-6, 9e-6, 4e-9}}};
  static const char *const shapes[] = {"00001111", "00011222", "01010101"};
  grove_points points = {0};
  budget = 2;
  for (int i = 0; i < 3; i++) {
    test_case(i);
    v.nodes = shapes[i];
    grove_machine *m = virtual_step(&v, GROVE_MEASURE_QUICK, crowd, &points);
    check_time();
    CHECK(m->nrows == 6, "%d rows", m->nrows);
    check_source(ROW(m, "crowd-turn", "on-node", "-", 20e-6, "s"), 90);
    ROW(m, "crowd-message", "on-node", "-", 3.008e-6, "s");
    CHECK(is_found(m->crowd[0].byte, 1e-9, 0.001), "%g s a byte", m->crowd[0].byte);
    ROW(m, "crowd-turn", "off-node", "-", 70e-6, "s");
    ROW(m, "crowd-message", "off-node", "-", 9.032e-6, "s");
    CHECK(is_found(m->crowd[1].byte, 4e-9, 0.001), "%g s a byte", m->crowd[1].byte);
    CHECK(count_points(&points, "crowd on-node") == 5, "%d points", points.count);
    CHECK_NEAR(point(&points, "crowd on-node", 4096), 20e-6 + 6e-6 + 2 * 4096 * 1e-9);
    CHECK_NEAR(point(&points, "crowd off-node", 4096), 70e-6 + 18e-6 + 2 * 4096 * 4e-9);
    grove_points_free(&points);
    grove_machine_free(&m);
  }
  /* Four ranks of a host on four cores are none; two on less than two are one. */
  v.cores = 4;
  grove_machine *m = virtual_step(&v, GROVE_MEASURE_QUICK, crowd, NULL);
  CHECK(m->nrows == 0, "%d rows", m->nrows);
  grove_machine_free(&m);
  v.nodes = v.hosts = "00";
  v.cores = 1.9;
  m = virtual_step(&v, GROVE_MEASURE_QUICK, crowd, NULL);
  CHECK(m->nrows == 3, "%d rows", m->nrows);
  ROW(m, "crowd-turn", "on-node", "-", 23e-6, "s"); /* with the one message that there can be */
  ROW(m, "crowd-message", "on-node", "-", 8e-9, "s");
  CHECK(dropped == 0, "%d points were dropped", dropped);
  grove_machine_free(&m);
  v.crowd[0].byte = 0; /* longer messages do not take longer: that makes no sense */
  m = virtual_step(&v, GROVE_MEASURE_QUICK, crowd, &points);
  ROW(m, "crowd-byte", "on-node", "-", 0, "s/B");
  CHECK(dropped == 4 && count_points(&points, "crowd on-node") == 1, "%d points were dropped",
        dropped);
  grove_points_free(&points);
  grove_machine_free(&m);
}

/* ---- doubts ---- */

/* Three rows are far off, and nobody else may be told of the second and the third. */
static grove_status misfits(grove_probe *p)
{
  static const struct {
    const char *term, *locality;
    double residual;
  } row[] = {{"flag", "on-socket", 0.1},
             {"crowd-turn", "on-node", 0.7},
             {"flag", "on-node", 0.8},
             {"crowd-turn", "off-node", 0.99},
             {"crowd-message", "off-node", 0.9}};
  for (size_t i = 0; i < sizeof row / sizeof *row; i++)
    grove_probe_row(p, row[i].term, row[i].locality, "-", 1, "s", 3, row[i].residual);
  CHECK(p->misfits == 3, "%d rows are far off", p->misfits);
  CHECK(strcmp(p->misfit, "flag on-node, off by 80 %") == 0, "'%s'", p->misfit);
  CHECK(*p->doubt == '\0', "'%s'", p->doubt);
  grove_probe_doubt(p, "%d moons", 2);
  grove_probe_doubt(p, "one sun");
  CHECK(strcmp(p->doubt, "2 moons, and one sun") == 0, "'%s'", p->doubt);
  for (int i = 0; i < 200; i++) grove_probe_doubt(p, "more");
  CHECK(strlen(p->doubt) < sizeof p->doubt, "it has no end");
  return GROVE_OK;
}

/* The whole of it says so in the profile, and a profile without doubts says nothing. */
static void doubts(void)
{
  virtual_machine v = {
    .nodes = "01", .hosts = "01", .sockets = "00", .system_cores = 4, .cores = 4};
  const grove_measuring how = {.effort = GROVE_MEASURE_QUICK};
  grove_machine *m = virtual_step(&v, GROVE_MEASURE_QUICK, misfits, NULL);
  grove_machine_free(&m);
  v.link[GROVE_OFF_NODE] =
    (virtual_link){.ranges = 1, .range = {{0, {1e-3, 1e-7}, {0, 0}}}, .o_s = 1e-5, .o_r = 1e-5};
  m = virtual_measure(&v, &how, NULL);
  const char *doubt = grove_machine_doubt(m);
  CHECK(doubt && strstr(doubt, " points made no sense"), "'%s'", m->about);
  grove_machine_free(&m);
  v.link[GROVE_OFF_NODE].range[0].stream = (grove_postal){2e-4, 1e-7};
  m = virtual_measure(&v, &how, NULL);
  doubt = grove_machine_doubt(m);
  CHECK(!doubt || !strstr(doubt, "points"), "'%s'", m->about);
  CHECK(!doubt || !strstr(doubt, "rows"), "'%s'", m->about);
  grove_machine_free(&m);
}

static grove_status cores(grove_probe *p)
{
  p->machine->cores = 0;
  return grove_measure_cores(p, budget);
}

static void counts_cores(void)
{
  static const struct {
    const char *hosts;
    double cores;
    int system;
    double found;
  } row[] = {
    {"0000", 2.5, 8, 2.5},     /* fewer than the system tells of */
    {"0000", 2.5, 2, 2},       /* which a rank cannot exceed */
    {"0000", 3.3, 8, 3.3},     /* not every rank had one */
    {"0000", 3.5, 8, 8},       /* nearly: there may be more */
    {"0000", 9, 16, 16},       /* every rank had one */
    {"00001111", 2.5, 8, 2.5}, /* of each host */
    {"0", 1, 4, 4},
  };
  budget = 0.3;
  for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
    test_case((int64_t)i);
    virtual_machine v = {.nodes = row[i].hosts,
                         .hosts = row[i].hosts,
                         .sockets = "00000000",
                         .cores = row[i].cores,
                         .system_cores = row[i].system};
    grove_machine *m = virtual_step(&v, GROVE_MEASURE_QUICK, cores, NULL);
    check_time();
    CHECK(m->nrows == 1, "%d rows", m->nrows);
    CHECK(fabs(m->cores - row[i].found) <= 0.02 * row[i].found, "%g cores, not %g", m->cores,
          row[i].found);
    ROW(m, "cores", "node", "-", m->cores, "1");
    grove_machine_free(&m);
  }
}

/* ---- all of it ---- */

typedef struct seen {
  int n;
  double left;
  const char *what[32];
  double share[32];
} seen;

static void note(void *self, const char *what, double share, double seconds_left)
{
  seen *s = self;
  if (s->n == 0) s->left = seconds_left;
  CHECK(s->n < 32 && seconds_left >= 0, "%g s are left", seconds_left);
  s->what[s->n] = what;
  s->share[s->n++] = share;
}

/* Four nodes, of which the first has two sockets with two ranks each. */
static virtual_machine whole_machine(void)
{
  virtual_machine v = {.nodes = "00001123",
                       .hosts = "00001123",
                       .sockets = "00110000",
                       .system_cores = 8,
                       .cores = 2.5,
                       .step = 6e-9,
                       .injection = 0.6e-9,
                       .delta = 0.3e-9,
                       .flag = {0.3e-6, 0.7e-6},
                       .shared = 0.1e-9,
                       .pack = {1e-9, 3e-9, 7e-9},
                       .crowd = {{20e-6, 3e-6, 1e-9}, {70e-6, 9e-6, 4e-9}}};
  v.link[GROVE_ON_SOCKET] = (virtual_link){
    .ranges = 1, .range = {{0, {500e-6, 0.2e-9}, {1e-6, 0.1e-9}}}, .o_s = 1e-6, .o_r = 2e-6};
  v.link[GROVE_ON_NODE] = (virtual_link){
    .ranges = 1, .range = {{0, {700e-6, 0.4e-9}, {3e-6, 0.3e-9}}}, .o_s = 3e-6, .o_r = 4e-6};
  v.link[GROVE_OFF_NODE] = (virtual_link){
    .ranges = 1, .range = {{0, {300e-6, 0.8e-9}, {5e-6, 0.6e-9}}}, .o_s = 5e-6, .o_r = 6e-6};
  return v;
}

static void check_whole(const grove_machine *m)
{
  CHECK(m->standing == GROVE_COMPLETE, "it is %d", m->standing);
  CHECK(m->sockets == 2 && m->ranks == 4, "%d sockets, %d ranks", m->sockets, m->ranks);
  ROW(m, "alpha", "on-socket", "eager", 500e-6, "s");
  ROW(m, "beta", "on-socket", "eager", 0.2e-9, "s/B");
  ROW(m, "alpha", "on-node", "eager", 700e-6, "s");
  ROW(m, "beta", "on-node", "eager", 0.4e-9, "s/B");
  ROW(m, "alpha", "off-node", "eager", 300e-6, "s");
  ROW(m, "beta", "off-node", "eager", 0.8e-9, "s/B");
  ROW(m, "g", "on-socket", "0..63", 1e-6, "s");
  ROW(m, "G", "on-node", "0..63", 0.3e-9, "s/B");
  ROW(m, "o_r", "off-node", "0..63", 6e-6, "s");
  CHECK(is_found(m->gamma, 3e-9, 0.005), "gamma is %g", m->gamma); /* of a few messages */
  /* Two pairs: 300 us, and 0.6 ns for each byte of both. */
  ROW(m, "injection", "off-node", "any", 929.1456e-6 / 1048576, "s/B");
  ROW(m, "delta", "off-node", "-", 0.3e-9, "s/B");
  ROW(m, "flag", "on-node", "-", 0.7e-6, "s");
  ROW(m, "shared", "on-node", "4", 0.4e-9, "s/B");
  ROW(m, "pack", "any", "32768..524287", 3e-9, "s/B");
  ROW(m, "crowd-turn", "off-node", "-", 70e-6, "s");
  CHECK(count(m, "L") == 39 && count(m, "cores") == 1 && count(m, "pack") == 3, "rows are missing");
  for (int i = 0; i < m->nrows; i++)
    CHECK(m->rows[i].known && strncmp(m->rows[i].source, "measured 20", 11) == 0, "row %d: '%s'", i,
          m->rows[i].source);
}

/* At quick effort 15 % of 0.6 s for cores, 6 and 3 for each locality, 3 each for the queue,
 * injection and shared memory, 2 for contention and for a crowd, 0.5 for packing, 12 for exchanges:
 * 53.1 s. */
static void everything(void)
{
  static const struct {
    const char *what;
    double before; /* seconds of 53.1 */
  } steps[] = {
    {"cores", 0},
    {"ping-pong on-socket", 0.6},
    {"stream on-socket", 6.6},
    {"ping-pong on-node", 9.6},
    {"stream on-node", 15.6},
    {"ping-pong off-node", 18.6},
    {"stream off-node", 24.6},
    {"queue of receives", 27.6},
    {"injection", 30.6},
    {"contention", 33.6},
    {"shared memory", 35.6},
    {"packing", 38.6},
    {"a crowd", 39.1},
    {"exchanges", 41.1},
    {"done", 53.1},
  };
  enum { STEPS = sizeof steps / sizeof *steps };
  seen s = {0};
  grove_points points = {0};
  const virtual_machine v = whole_machine();
  const grove_measuring how = {.effort = GROVE_MEASURE_QUICK, .progress = note, .self = &s};
  grove_machine *m = virtual_measure(&v, &how, &points);
  check_whole(m);
  CHECK(virtual_seconds() > 5 && virtual_seconds() < 8, "%g s", virtual_seconds()); /* of 6.165 */
  CHECK(points.count > 100, "%d points", points.count);
  CHECK_NEAR(s.left, 0.15 * 53.1);
  CHECK(s.n == STEPS, "%d steps", s.n);
  for (int i = 0; i < STEPS; i++) {
    CHECK(strcmp(s.what[i], steps[i].what) == 0, "step %d is %s", i, s.what[i]);
    CHECK_NEAR(s.share[i], steps[i].before / 53.1);
  }
  grove_points_free(&points);
  grove_machine_free(&m);
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "measure/known_machine");
  ranges();
  fewer_pieces();
  too_slow();
  streams();
  steps_along_the_queue();
  interface_is_full();
  link_is_contended();
  memory_is_shared();
  packing();
  copies_of_a_device();
  devices_in_doubt();
  crowds();
  doubts();
  counts_cores();
  everything();
  return test_end();
}
