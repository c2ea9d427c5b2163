/* How long copies take on links that are emulated on a clock of their own. Nothing is timed here:
 * all numbers are the same each time. The copier knows only what it has measured itself. */
#include "copier_rig.h"

enum { MB = 1 << 20, STAGING = 64 * MB };

static double clock_now(void)
{
  double now = 0;
  CHECK(driver->own_clock(&now), "the device has no clock");
  return now;
}

/* Links that do what the model says, but for calls and events. */
static grove_emulated_links ideal_links(const grove_links *links)
{
  return (grove_emulated_links){.links = *links, .call = 0.3e-6, .wait = 1e-6, .moves_nothing = 1};
}

static grove_emulated_links hard_links(const grove_links *links, uint64_t seed)
{
  grove_emulated_links l = ideal_links(links);
  l.ramp_bytes = 128 << 10;
  l.jitter = 0.03;
  l.engines = 6;
  l.seed = seed;
  return l;
}

static grove_copier *copier_on(const grove_emulated_links *l, const char *paths)
{
  grove_copier *c = NULL;
  grove_emulated_set_devices(l->links.devices);
  grove_emulated_set_links(l);
  CHECK_OK(grove_copier_open(driver, l->links.devices, NULL, paths, STAGING, &c));
  return c;
}

static double last_begin; /* how long the host took until it began to enqueue the last copy */

/* A copy, or two that go opposite ways; without a copier: the driver's. */
static double seconds_of(grove_copier *c, int from, int to, int64_t bytes, int ways)
{
  grove_stream *streams[2] = {stream_at(from), stream_at(to)};
  int ends[2] = {from, to};
  char *src[2], *dst[2];
  for (int i = 0; i < ways; i++) {
    src[i] = memory_at(ends[i], bytes);
    dst[i] = memory_at(ends[1 - i], bytes);
  }
  double begin = clock_now();
  for (int i = 0; i < ways; i++) {
    last_begin = clock_now() - begin;
    CHECK_OK(
      c ? grove_copier_copy(c, dst[i], ends[1 - i], src[i], ends[i], (size_t)bytes, streams[i])
        : driver->copy(ends[i], streams[i], dst[i], src[i], bytes));
  }
  for (int i = 0; i < ways; i++) CHECK_OK(driver->finish(ends[i], streams[i]));
  double end = clock_now();
  for (int i = 0; i < 2; i++) driver->free_stream(ends[i], streams[i]);
  for (int i = 0; i < ways; i++) {
    driver->free(ends[i], src[i]);
    driver->free(ends[1 - i], dst[i]);
  }
  return end - begin;
}

static double predicted(grove_copier *c, int from, int to, int64_t bytes)
{
  grove_copy_pair *pair = NULL;
  double seconds = 0, single = 0;
  CHECK_OK(grove_copy_pair_find(c, from, to, &pair));
  CHECK_OK(grove_copy_pair_predict(c, pair, bytes, &seconds, &single));
  return seconds;
}

/* By the exact solver, which is told all about the links. */
static double best_possible(const grove_machine *m, int from, int to, int64_t bytes,
                            const char *paths)
{
  grove_split split;
  grove_copies *set = need(sizeof *set);
  memset(set, 0, sizeof *set);
  CHECK_OK(grove_copies_add(set, m, from, to, (double)bytes, paths));
  CHECK_OK(grove_multipath_solve(set, GROVE_SOLVER_EXACT, &split));
  free(set);
  return split.checked;
}

static const char *const machines[] = {"beluga", "narval", "dgx", "pcie-box"};
static const char *const path_lists[] = {"direct,gpu2", "direct,gpu2,gpu3", "direct,gpu2,gpu3,host",
                                         "direct,host", NULL};

static void check_ideal(const grove_machine *m, const char *paths)
{
  grove_emulated_links l = ideal_links(&m->links);
  grove_copier *c = copier_on(&l, paths);
  for (int64_t bytes = 2 * MB; bytes <= 512 * (int64_t)MB; bytes *= 2) {
    double best = best_possible(m, 0, 1, bytes, paths), took = seconds_of(c, 0, 1, bytes, 1);
    double said = predicted(c, 0, 1, bytes), within = bytes < 8 * MB ? 1.10 : 1.03;
    test_hint("%s, %s, %lld bytes", m->name, paths ? paths : "all", (long long)bytes);
    /* Where splitting gains too little, the copier does not split. */
    double alone = seconds_of(NULL, 0, 1, bytes, 1);
    int is_whole = took == alone && alone <= (bytes < 8 * MB ? 1.10 : 1.06) * best;
    CHECK(took <= within * best || is_whole, "%g s, and %g are possible", took, best);
    CHECK(bytes <= 4 * MB || fabs(said / took - 1) <= 0.01, "%g s, predicted %g", took, said);
  }
  CHECK_OK(grove_copier_free(&c));
}

/* The paper's machine: rates of data sheets. */
static void check_beluga(const grove_machine *m)
{
  grove_emulated_links l = ideal_links(&m->links);
  grove_copier *c = copier_on(&l, NULL);
  double alone = seconds_of(NULL, 2, 0, 256000000, 1), took = seconds_of(c, 2, 0, 256000000, 1);
  CHECK(alone / took >= 2.9, "%g times as fast", alone / took);
  CHECK_OK(grove_copier_free(&c));
}

/* ---- paths end together, where one copy's paths share nothing ---- */

/* When a lane has carried its share. The same copy takes the same time again. */
static double lane_seconds(grove_copier *c, int64_t bytes, int stop)
{
  char *src = memory_at(0, bytes), *dst = memory_at(1, bytes);
  grove_stream *stream = stream_at(0);
  double begin = clock_now();
  CHECK_OK(grove_copier_copy(c, dst, 1, src, 0, (size_t)bytes, stream));
  const grove_copy_lane *lane = c->pairs[0][1]->crews[0]->lanes[stop];
  CHECK(lane, "no lane by %d", stop);
  CHECK_OK(driver->finish(lane->out_device, lane->out));
  double seconds = clock_now() - begin;
  CHECK_OK(driver->finish(0, stream));
  driver->free_stream(0, stream);
  driver->free(0, src);
  driver->free(1, dst);
  return seconds;
}

static void check_ends(const grove_machine *m)
{
  const int stops[] = {2, 3, GROVE_HOST};
  grove_emulated_links l = ideal_links(&m->links);
  grove_copier *c = copier_on(&l, NULL);
  for (int64_t bytes = 32 * MB; bytes <= 512 * (int64_t)MB; bytes *= 4) {
    double all = seconds_of(c, 0, 1, bytes, 1);
    for (int i = 0; i < 3; i++) {
      double one = lane_seconds(c, bytes, stops[i]);
      CHECK(one <= all && one >= 0.94 * all, "%lld bytes: the path by %d ends at %g of %g s",
            (long long)bytes, stops[i], one, all);
    }
  }
  CHECK_OK(grove_copier_free(&c));
}

/* ---- staging memory ---- */

/* Every stop serves six pairs, one after the other, with slots for four at once: a pair takes over
 * those of another that has nothing to do. */
static void check_pairs(const grove_machine *m)
{
  grove_emulated_links l = ideal_links(&m->links);
  grove_copier *c = copier_on(&l, "direct,gpu0,gpu1,gpu2,gpu3");
  double first = 0;
  for (int i = 0; i < 2 * 16; i++) {
    int from = i / 4 % 4, to = i % 4;
    if (from == to) continue;
    double took = seconds_of(c, from, to, 32 * MB, 1);
    if (first == 0) first = took;
    CHECK(took <= 1.01 * first, "from %d to %d: %g s, and %g at first", from, to, took, first);
  }
  for (int i = 0; i < 4; i++)
    CHECK(c->staged[i] > 0 && c->staged[i] <= STAGING, "%lld bytes of staging at %d",
          (long long)c->staged[i], i);
  CHECK_OK(grove_copier_free(&c));
}

/* More staging memory is for more copies at once: all of these are split. */
static void check_many(const grove_machine *m)
{
  enum { COPIES = 8 };
  grove_emulated_links l = ideal_links(&m->links);
  grove_copier *c = NULL;
  grove_stream *streams[COPIES];
  char *src = memory_at(0, COPIES * 8 * MB), *dst = memory_at(1, COPIES * 8 * MB);
  grove_emulated_set_devices(4);
  grove_emulated_set_links(&l);
  CHECK_OK(grove_copier_open(driver, 4, m, "direct,gpu2", 4 * STAGING, &c));
  for (int i = 0; i < COPIES; i++) {
    streams[i] = stream_at(0);
    CHECK_OK(grove_copier_copy(c, dst + i * 8 * MB, 1, src + i * 8 * MB, 0, 8 * MB, streams[i]));
  }
  for (int i = 0; i < COPIES; i++) {
    const grove_copy_crew *crew = c->pairs[0][1]->crews[i];
    CHECK(crew && crew->lanes[2] && crew->lanes[2]->memory, "copy %d is not split", i);
    CHECK_OK(driver->finish(0, streams[i]));
    driver->free_stream(0, streams[i]);
  }
  driver->free(0, src);
  driver->free(1, dst);
  CHECK_OK(grove_copier_free(&c));
}

/* A copy each way: what goes by the host crosses the same slots and memory, so only one of them
 * does, and none is slower for it than by its own link. */
static void check_both_ways(const grove_machine *m, double gain)
{
  grove_emulated_links l = ideal_links(&m->links);
  grove_copier *c = copier_on(&l, "direct,gpu2,gpu3,host");
  double alone = seconds_of(NULL, 0, 1, 256 * MB, 2), took = seconds_of(c, 0, 1, 256 * MB, 2);
  CHECK(alone / took >= gain, "%g times as fast both ways", alone / took);
  const grove_copy_crew *there = c->pairs[0][1]->crews[0], *back = c->pairs[1][0]->crews[0];
  CHECK(there && there->lanes[GROVE_HOST], "the first copy does not go by the host");
  CHECK(!back || !back->lanes[GROVE_HOST], "both go by the host");
  took = seconds_of(c, 1, 0, 256 * MB, 1);
  back = c->pairs[1][0]->crews[0];
  CHECK(back && back->lanes[GROVE_HOST], "%g s: alone, the other does not go by the host", took);
  CHECK_OK(grove_copier_free(&c));
}

/* ---- links that do what the model does not know ---- */

/* Copies of both ways are decided as if they were alone, and share what they meet. The second does
 * not go by the host. */
static double predicted_both(grove_copier *c, int from, int to, int64_t bytes)
{
  grove_split splits[2];
  grove_copies *set = need(2 * sizeof *set);
  int binds = -1;
  memset(set, 0, 2 * sizeof *set);
  for (int i = 0; i < 2; i++) {
    int a = i ? to : from, b = i ? from : to;
    memset(&set[1], 0, sizeof set[1]);
    grove_copy_pair *pair = NULL;
    CHECK_OK(grove_copy_pair_find(c, a, b, &pair));
    const char *paths = i && pair->route->apart ? pair->route->apart->list : NULL;
    CHECK_OK(grove_copies_add(&set[0], c->machine, a, b, (double)bytes, paths));
    CHECK_OK(grove_copies_add(&set[1], c->machine, a, b, (double)bytes, paths));
    CHECK_OK(grove_multipath_solve(&set[1], GROVE_SOLVER_EXACT, &splits[i]));
  }
  double seconds = grove_resources_check(&set[0], splits, &binds);
  free(set);
  return seconds;
}

typedef struct errors {
  double sum, worst;
  int n;
} errors;

static void count_error(errors *e, double said, double took)
{
  double off = fabs(said / took - 1);
  e->sum += off;
  e->worst = fmax(e->worst, off);
  e->n++;
}

static void check_hard(const grove_machine *m, errors *e)
{
  for (uint64_t seed = 1; seed <= 3; seed++) {
    grove_emulated_links l = hard_links(&m->links, seed);
    grove_copier *c = copier_on(&l, NULL);
    for (int64_t bytes = 8 * MB; bytes <= 512 * (int64_t)MB; bytes *= 2) {
      count_error(e, predicted(c, 0, 1, bytes), seconds_of(c, 0, 1, bytes, 1));
      if (c->machine->links.devices > 4) continue;
      double took = seconds_of(c, 0, 1, bytes, 2);
      count_error(e, last_begin + predicted_both(c, 0, 1, bytes), took);
    }
    CHECK_OK(grove_copier_free(&c));
  }
}

/* ---- any node ---- */

/* Links of any rates, some missing; ports, ramps and few engines on some. */
static grove_emulated_links draw_links(rng *r)
{
  grove_emulated_links l = {.call = 0.3e-6, .wait = 1e-6, .moves_nothing = 1};
  grove_links_clear(&l.links);
  int n = l.links.devices = (int)rng_between(r, 2, 6);
  double rate = 5e9 * (double)rng_between(r, 1, 20);
  for (int from = 0; from < GROVE_ENDS; from++)
    for (int to = 0; to < GROVE_ENDS; to++) {
      int by_host = from == GROVE_HOST || to == GROVE_HOST;
      if (from == to || (from >= n && from != GROVE_HOST) || (to >= n && to != GROVE_HOST))
        continue;
      if (!by_host && rng_one_in(r, 6)) continue;
      double share = 0.5 + 0.1 * (double)rng_below(r, 10);
      l.links.link[from][to] =
        (grove_link_cost){1e-6 * (double)rng_between(r, 1, 10), (by_host ? 12e9 : rate) * share};
    }
  for (int i = 0, ports = rng_one_in(r, 2); i < 2 * n && ports; i++)
    l.links.port[i % 2][rng_below(r, 2)][i / 2] = rate * (0.5 + (double)rng_below(r, 4));
  if (rng_one_in(r, 2)) l.engines = (int)rng_between(r, 2, 6);
  if (rng_one_in(r, 2)) l.ramp_bytes = 1 << rng_between(r, 12, 18);
  return l;
}

static void check_never_slower(uint64_t seed, int i, int *split)
{
  rng r = rng_from(seed, (uint64_t)i);
  grove_emulated_links l = draw_links(&r);
  grove_copier *c = copier_on(&l, NULL);
  for (int k = 0; k < 2; k++) {
    int64_t bytes = rng_between(&r, 1, (int64_t)1 << rng_between(&r, 10, 29));
    int n = l.links.devices, from = (int)rng_below(&r, n);
    int to = (from + 1 + (int)rng_below(&r, n - 1)) % n;
    double alone = seconds_of(NULL, from, to, bytes, 1), took = seconds_of(c, from, to, bytes, 1);
    CHECK(took <= alone * (1 + 1e-9), "%lld bytes from %d to %d: %g s, and %g directly",
          (long long)bytes, from, to, took, alone);
    *split += took < alone * (1 - 1e-9);
  }
  CHECK_OK(grove_copier_free(&c));
}

/* ---- links as they are measured ---- */

static void measure_on(const grove_driver *with, const grove_emulated_links *l, grove_machine **out)
{
  grove_copy_findings found = {0};
  grove_emulated_set_devices(l->links.devices);
  grove_emulated_set_links(l);
  CHECK_OK(grove_copy_links_measure(with, l->links.devices, &found, out));
}

/* A driver is asked for a link before that is measured. */
static uint32_t asked[GROVE_DEVICES];

static int ask_for_link(int from, int to)
{
  asked[from] |= (uint32_t)1 << to;
  return grove_driver_emulated.has_link(from, to);
}

static grove_status copy_if_asked(int device, grove_stream *stream, void *to, const void *from,
                                  int64_t bytes)
{
  grove_range a, b;
  if (driver->find(from, &a) && driver->find(to, &b) && a.device != b.device)
    CHECK(asked[a.device] >> b.device & 1, "%d-%d was not asked for", a.device, b.device);
  return grove_driver_emulated.copy(device, stream, to, from, bytes);
}

static void check_asked(const grove_machine *m)
{
  grove_emulated_links l = ideal_links(&m->links);
  grove_driver asking = grove_driver_emulated;
  grove_machine *measured = NULL;
  asking.has_link = ask_for_link;
  asking.copy = copy_if_asked;
  measure_on(&asking, &l, &measured);
  CHECK_OK(grove_machine_free(&measured));
}

/* ---- links together, on a host that takes long to begin a copy ---- */

static const double PEER = 48e9, BY_HOST = 55e9; /* rates */

static int is_close(double found, double truly)
{
  return isnan(truly) ? isnan(found) : fabs(found / truly - 1) <= 0.02;
}

/* Ports out of device 0 and into device 1, of so many links of peers each; 0: no limit. */
static void check_together(double peers, double all)
{
  grove_machine *m = even_machine(4, 2e-6, PEER), *measured = NULL;
  double limits[] = {peers > 0 ? peers * PEER : NAN, all > 0 ? all * PEER : NAN};
  for (int i = 0; i < 4; i++)
    m->links.link[i][GROVE_HOST].rate = m->links.link[GROVE_HOST][i].rate = BY_HOST;
  for (int kind = 0; kind < GROVE_PORT_KINDS; kind++)
    m->links.port[GROVE_PORT_OUT][kind][0] = m->links.port[GROVE_PORT_IN][kind][1] = limits[kind];
  grove_emulated_links l = ideal_links(&m->links);
  l.call = 4e-6; /* as a launch has on a GPU */
  measure_on(driver, &l, &measured);
  CHECK(measured->links.nshared == 0, "%d things are shared", measured->links.nshared);
  for (int way = 0; way < GROVE_PORT_WAYS; way++)
    for (int kind = 0; kind < GROVE_PORT_KINDS; kind++)
      for (int i = 0; i < 4; i++) {
        double found = measured->links.port[way][kind][i], truly = m->links.port[way][kind][i];
        CHECK(is_close(found, truly), "%g and %g links: port %d of kind %d at %d: %g, truly %g",
              peers, all, way, kind, i, found, truly);
      }
  CHECK_OK(grove_machine_free(&measured));
  CHECK_OK(grove_machine_free(&m));
}

/* All paths are used, since none was taken for slower than it is. */
static void check_slow_calls(void)
{
  enum { BYTES = 512 * MB };
  grove_machine *m = even_machine(4, 2e-6, 2 * PEER);
  for (int i = 0; i < 4; i++)
    m->links.link[i][GROVE_HOST].rate = m->links.link[GROVE_HOST][i].rate = BY_HOST;
  grove_emulated_links l = ideal_links(&m->links);
  l.call = 4e-6;
  grove_copier *c = copier_on(&l, "direct,gpu2,gpu3,host");
  double alone = seconds_of(NULL, 0, 1, BYTES, 1), took = seconds_of(c, 0, 1, BYTES, 1);
  CHECK(alone / took >= 3, "%g times as fast", alone / took);
  CHECK_OK(grove_copier_free(&c));
  CHECK_OK(grove_machine_free(&m));
}

/* All copies to the host up to some time are done three times. */
static double busy_until;

static grove_status copy_while_busy(int device, grove_stream *stream, void *to, const void *from,
                                    int64_t bytes)
{
  grove_range range;
  int times = clock_now() < busy_until && !driver->find(to, &range) ? 3 : 1;
  for (int i = 1; i < times; i++) CHECK_OK(driver->copy(device, stream, to, from, bytes));
  return driver->copy(device, stream, to, from, bytes);
}

static void check_busy_at_first(const grove_machine *m)
{
  grove_emulated_links l = ideal_links(&m->links);
  grove_driver busy = grove_driver_emulated;
  grove_machine *measured = NULL;
  busy.copy = copy_while_busy;
  busy_until = 0.02;
  measure_on(&busy, &l, &measured);
  CHECK(clock_now() > 2 * busy_until, "all was measured in %g s", clock_now());
  for (int i = 0; i < m->links.devices; i++)
    CHECK(is_close(measured->links.link[i][GROVE_HOST].rate, m->links.link[i][GROVE_HOST].rate),
          "from %d to the host %g B/s", i, measured->links.link[i][GROVE_HOST].rate);
  CHECK_OK(grove_machine_free(&measured));
}

/* ---- the clock moves the bytes too ---- */

static void check_data(const grove_machine *m, rng *r)
{
  grove_emulated_links l = hard_links(&m->links, 7);
  l.moves_nothing = 0;
  grove_copier *c = NULL;
  grove_emulated_set_devices(m->links.devices);
  grove_emulated_set_links(&l);
  CHECK_OK(grove_copier_open(driver, m->links.devices, m, NULL, STAGING, &c));
  trip t = new_trip(1, 0, 3 * MB + 5, 3, 1, r), back = new_trip(0, 1, 5 * MB, 0, 0, r);
  enqueue_head(&t);
  enqueue_head(&back);
  CHECK_OK(copy_trip(c, &t));
  CHECK_OK(copy_trip(c, &back));
  enqueue_tail(&t);
  enqueue_tail(&back);
  check_trip(&t, "on the clock");
  check_trip(&back, "the other way");
  free_trip(&t);
  free_trip(&back);
  CHECK_OK(grove_copier_free(&c));
}

int main(int argc, char **argv)
{
  errors e = {0};
  int split = 0;
  test_begin(&argc, &argv, "device/copier_times");
  rng r = rng_from(test_seed(), 0);
  for (int i = 0; i < 4; i++) {
    grove_machine *m = named_machine(machines[i]);
    test_case(i);
    for (size_t k = 0; k < sizeof path_lists / sizeof *path_lists; k++)
      check_ideal(m, path_lists[k]);
    if (i == 0) check_beluga(m);
    if (i == 0) check_ends(m);
    if (i == 0) check_asked(m);
    if (i == 0) check_busy_at_first(m);
    if (i == 0) check_pairs(m);
    if (i == 0) check_many(m);
    if (i == 0) check_both_ways(m, 2.6);
    if (i == 2) check_both_ways(m, 0.97);
    check_hard(m, &e);
    check_data(m, &r);
    CHECK_OK(grove_machine_free(&m));
  }
  CHECK(e.sum / e.n <= 0.06 && e.worst <= 0.15, "predictions are off by %g, at worst %g",
        e.sum / e.n, e.worst);
  for (int i = 0; i < 500; i++) {
    test_case(100 + i);
    check_never_slower(test_seed(), i, &split);
  }
  /* Paths that meet the direct one at a port; ports that relays share, without a direct link. */
  static const int narrow[][2] = {{1, 50},  {2, 436}, {3, 66}, {3, 147},
                                  {4, 120}, {6, 385}, {7, 257}};
  for (size_t i = 0; i < sizeof narrow / sizeof *narrow; i++) {
    test_case(600 + (int)i);
    check_never_slower((uint64_t)narrow[i][0], narrow[i][1], &split);
  }
  const double ports[][2] = {{0, 0}, {2.8, 0}, {2.8, 3.2}, {0, 3.6}, {1, 0}, {1, 1.5}};
  for (size_t i = 0; i < sizeof ports / sizeof *ports; i++) {
    test_case(1000 + (int)i);
    check_together(ports[i][0], ports[i][1]);
  }
  check_slow_calls();
  CHECK(split > 150, "only %d of 1000 copies were split", split);
  check_conflicts();
  grove_emulated_reset();
  return test_end();
}
