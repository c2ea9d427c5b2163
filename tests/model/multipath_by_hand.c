/* Copies over several paths, worked out by hand: shares, launches, exclusion, what is shared,
 * what is refused, rounding, size classes, the cache. */
#include "model/multipath_parts.h"
#include "near.h"
#include "profile.h"

#include <pthread.h>
#include <string.h>

/* Three GPUs; everything 10 GB/s but the direct links from 0 to 1 and back, 20 GB/s. */
#define THREE                                                                                      \
  "gpus - node - 3 1 made\n"                                                                       \
  "link-alpha gpu any-any - 1e-6 s made\n"                                                         \
  "link-beta gpu any-any - 10e9 B/s made\n"                                                        \
  "link-beta gpu 0-1 - 20e9 B/s made\n"                                                            \
  "link-beta gpu 1-0 - 20e9 B/s made\n"                                                            \
  "link-epsilon gpu any - 2e-6 s made\n"
#define HOST                                                                                       \
  "link-alpha gpu any-host - 1e-6 s made\n"                                                        \
  "link-alpha gpu host-any - 1e-6 s made\n"                                                        \
  "link-beta gpu any-host - 5e9 B/s made\n"                                                        \
  "link-beta gpu host-any - 5e9 B/s made\n"                                                        \
  "link-epsilon gpu host - 3e-6 s made\n"

static grove_copies set;
static grove_split cut[GROVE_COPIES];

static void add(const grove_machine *m, int from, int to, double bytes, const char *paths)
{
  CHECK_OK(grove_copies_add(&set, m, from, to, bytes, paths));
}

static void begin(const grove_machine *m, double bytes, const char *paths)
{
  memset(&set, 0, sizeof set);
  add(m, 0, 1, bytes, paths);
}

/* (24) of two paths: 1e-10 and 2e-10 s a byte, 10 and 40 us, 1 MB. Both end after
 * (1e6 + 10e-6 / 1e-10 + 40e-6 / 2e-10) / (1e10 + 5e9) = 86.667 us. */
static void linear(void)
{
  const double omega[] = {1e-10, 2e-10}, delta[] = {1e-5, 4e-5};
  double share[2], seconds = (1e6 + 1e5 + 2e5) / 1.5e10;
  grove_linear_shares(2, omega, delta, 1e6, share);
  CHECK_NEAR(share[0], (seconds - 1e-5) / 1e-10 / 1e6);
  CHECK_NEAR(share[1], (seconds - 4e-5) / 2e-10 / 1e6);
  CHECK_NEAR(share[0] + share[1], 1);
  /* (8): direct paths of 10 and 30 GB/s, 1 and 2 us, 1 MB:
   * 3/4 (1 - 2e-6/1e6 4e10 + (1e-6 1e10 + 2e-6 3e10)/1e6) = 0.7425 */
  const double rates[] = {1e-10, 1 / 3e10}, alphas[] = {1e-6, 2e-6};
  grove_linear_shares(2, rates, alphas, 1e6, share);
  CHECK_NEAR(share[1], 0.7425);
  CHECK_NEAR(share[0], 0.2575);
  /* Too few bytes: a negative share is left to the caller. */
  grove_linear_shares(2, omega, delta, 1e3, share);
  CHECK(share[1] < 0 && fabs(share[0] + share[1] - 1) < 1e-12, "%g", share[1]);
}

/* One chunk on the relay: small enough. 20 kB: direct 1 us + b/20e9; the relay is launched 1 us
 * later and takes 4 us + 2 b/10e9. Both end after T: 20e9 (T - 1e-6) + 5e9 (T - 5e-6) = 200e3. */
static void two_paths(void)
{
  grove_machine *m = machine_of(THREE);
  const double bytes = 200e3, seconds = (bytes + 20e3 + 25e3) / 25e9;
  begin(m, bytes, NULL);
  CHECK(set.copy[0].npaths == 2 && set.copy[0].path[1].via == 2, "direct, and by GPU 2");
  for (int v = 0; v < GROVE_SOLVERS; v++) {
    CHECK_OK(grove_multipath_solve(&set, (grove_solver)v, cut));
    const grove_path_load *load = cut[0].load;
    double close = v == GROVE_SOLVER_SEARCH ? 1e-6 : 1e-9;
    CHECK(fabs(cut[0].seconds - seconds) <= close * seconds, "%s: %.17g, not %.17g",
          grove_solver_names[v], cut[0].seconds, seconds);
    CHECK(fabs(load[0].share - 20e9 * (seconds - 1e-6) / bytes) < 10 * close, "share %g",
          load[0].share);
    CHECK(load[1].chunks == 1 && load[0].place == 0 && load[1].place == 1, "chunks, places");
    CHECK_NEAR(load[1].launch, 1e-6);
    CHECK_NEAR(load[1].delta, 5e-6);
    CHECK_NEAR(load[1].omega, 2e-10);
    CHECK(load[0].bytes + load[1].bytes == 200000 && load[1].bytes % 256 == 0, "bytes");
  }
  CHECK_NEAR(grove_multipath_single(&set, NULL, NULL), 1e-6 + bytes / 20e9);
  CHECK_NEAR(grove_multipath_bound(&set), 1.5);
  /* A few bytes go over one path; the other is left out and launches nothing. */
  begin(m, 1, NULL);
  for (int v = 0; v < GROVE_SOLVERS; v++) {
    CHECK_OK(grove_multipath_solve(&set, (grove_solver)v, cut));
    CHECK_NEAR(cut[0].seconds, 1e-6 + 1 / 20e9);
    CHECK(cut[0].load[0].share == 1 && cut[0].load[1].share == 0 && cut[0].load[1].place < 0 &&
            cut[0].load[0].bytes == 1,
          "%s: one path", grove_solver_names[v]);
  }
  /* Without the direct one the relay has all. */
  begin(m, bytes, "gpu2");
  CHECK_OK(grove_multipath_solve(&set, GROVE_SOLVER_EXACT, cut));
  CHECK(cut[0].npaths == 1 && cut[0].load[0].share == 1, "one path");
  CHECK_NEAR(grove_multipath_single(&set, NULL, NULL), cut[0].seconds);
  grove_machine_free(&m);
}

/* Equal paths that end at a stop: line 18 adds the launches before. */
static void launches_add_up(void)
{
  grove_machine *m = machine_of("gpus - node - 4 1 made\n"
                                "link-alpha gpu any-any - 2e-6 s made\n"
                                "link-beta gpu any-any - 10e9 B/s made\n");
  begin(m, 64e6, NULL);
  for (int v = 0; v < GROVE_SOLVERS; v++) {
    CHECK_OK(grove_multipath_solve(&set, (grove_solver)v, cut));
    double sum = 0;
    for (int place = 0; place < 3; place++)
      for (int i = 0; i < 3; i++) {
        const grove_path_load *load = &cut[0].load[i];
        if (load->place != place) continue;
        CHECK_NEAR(load->launch, 2e-6 * place);
        CHECK_NEAR(load->seconds, load->share * 64e6 * load->omega + load->delta);
        sum += load->share;
      }
    CHECK_NEAR(sum, 1);
  }
  grove_machine_free(&m);
}

/* By GPU 2 a launch takes 100 us, and is due first, since that path is the faster one. With it
 * neither relay is of use; without it the other one is. */
static void worst_first(void)
{
  grove_machine *m = machine_of("gpus - node - 4 1 made\n"
                                "link-alpha gpu any-any - 1e-6 s made\n"
                                "link-alpha gpu 0-2 - 100e-6 s made\n"
                                "link-beta gpu any-any - 10e9 B/s made\n"
                                "link-beta gpu 0-1 - 20e9 B/s made\n"
                                "link-beta gpu 0-2 - 15e9 B/s made\n"
                                "link-beta gpu 2-1 - 15e9 B/s made\n");
  begin(m, 1e6, NULL);
  for (int v = 0; v < GROVE_SOLVERS; v++) {
    CHECK_OK(grove_multipath_solve(&set, (grove_solver)v, cut));
    CHECK(cut[0].load[1].share == 0 && cut[0].load[2].share > 0.2, "%s: %g by GPU 2, %g by GPU 3",
          grove_solver_names[v], cut[0].load[1].share, cut[0].load[2].share);
    CHECK_NEAR(cut[0].load[2].launch, 1e-6);
  }
  grove_machine_free(&m);
}

/* A switch: relays leave through the port that the direct path fills. */
static void one_port(void)
{
  char name[64];
  grove_machine *m = machine_of(THREE HOST "port-out gpu any peers 20e9 B/s made\n"
                                           "port-in gpu any peers 20e9 B/s made\n");
  begin(m, 64e6, "direct,gpu2");
  CHECK(set.copy[0].useless[0] < 0 && set.copy[0].useless[1] >= 0, "the relay is of no use");
  grove_resource_name(&set, set.copy[0].useless[1], name, sizeof name);
  CHECK(strcmp(name, "the port out of GPU 0") == 0, "'%s'", name);
  for (int v = 0; v < GROVE_SOLVERS; v++) {
    CHECK_OK(grove_multipath_solve(&set, (grove_solver)v, cut));
    CHECK_NEAR(cut[0].seconds, grove_multipath_single(&set, NULL, NULL));
    CHECK(cut[0].load[1].share == 0, "%s: a gain on a switch", grove_solver_names[v]);
  }
  CHECK_NEAR(grove_multipath_bound(&set), 1);
  /* The host is not behind that port. */
  begin(m, 64e6, "direct,gpu2,host");
  CHECK_OK(grove_multipath_solve(&set, GROVE_SOLVER_EXACT, cut));
  CHECK(cut[0].load[2].share > 0.15 && cut[0].load[1].share == 0, "by the host");
  CHECK_NEAR(grove_multipath_bound(&set), 1.25);
  grove_machine_free(&m);
  /* A port of 25 leaves the relay 5. */
  m = machine_of(THREE "port-out gpu 0 peers 25e9 B/s made\n");
  begin(m, 640e6, NULL);
  CHECK_NEAR(grove_multipath_bound(&set), 1.25);
  CHECK_OK(grove_multipath_solve(&set, GROVE_SOLVER_EXACT, cut));
  CHECK(cut[0].seconds >= (1e-6 + 640e6 / 25e9) * (1 - 1e-9), "more than the port can carry");
  CHECK(cut[0].seconds < 1.01 * (640e6 / 25e9), "%g", cut[0].seconds);
  CHECK_OK(grove_multipath_solve(&set, GROVE_SOLVER_PUBLISHED, cut));
  CHECK_NEAR(cut[0].load[1].beta, 5e9);
  CHECK_NEAR(cut[0].load[1].beta2, 5e9);
  CHECK(cut[0].load[1].limited_by >= 0, "by the port");
  grove_machine_free(&m);
}

/* What is staged in memory crosses it twice: 6 GB/s of memory are 3 for the path. Both ways 1.5. */
static void host_memory(void)
{
  grove_machine *m = machine_of(THREE HOST "link-share gpu any-host memory 6e9 B/s made\n"
                                           "link-share gpu host-any memory 6e9 B/s made\n");
  begin(m, 640e6, "direct,host");
  CHECK_NEAR(set.copy[0].path[1].beta, 3e9);
  CHECK_NEAR(set.copy[0].path[1].beta2, 3e9);
  CHECK_NEAR(grove_multipath_bound(&set), 23.0 / 20);
  add(m, 1, 0, 640e6, "direct,host");
  CHECK_NEAR(grove_multipath_bound(&set), 21.5 / 20);
  CHECK_OK(grove_multipath_solve(&set, GROVE_SOLVER_EXACT, cut));
  CHECK_NEAR(cut[0].seconds, cut[1].seconds);
  CHECK_NEAR(cut[0].load[1].share, cut[1].load[1].share);
  double crossed = 2 * 2 * cut[0].load[1].share * 640e6;
  CHECK(crossed <= 6e9 * cut[0].seconds * (1 + 1e-9), "more than the memory can carry");
  CHECK(cut[0].seconds < 1.01 * 640e6 / 21.5e9, "%g", cut[0].seconds);
  CHECK_NEAR(cut[0].checked, cut[0].seconds);
  /* Observation 5: who does not know what is shared gives the host twice what it can carry. */
  set.alone = 1;
  memset(&set, 0, sizeof set);
  set.alone = 1;
  add(m, 0, 1, 640e6, "direct,host");
  add(m, 1, 0, 640e6, "direct,host");
  CHECK_OK(grove_multipath_solve(&set, GROVE_SOLVER_PUBLISHED, cut));
  CHECK_NEAR(set.copy[0].path[1].beta, 5e9);
  CHECK(cut[0].checked > 3 * cut[0].seconds, "%g, %g", cut[0].checked, cut[0].seconds);
  grove_machine_free(&m);
}

/* Two copies whose relays cross each other's links. */
static void two_copies(void)
{
  grove_machine *m = machine_of("gpus - node - 4 1 made\n"
                                "link-alpha gpu any-any - 1e-6 s made\n"
                                "link-beta gpu any-any - 10e9 B/s made\n");
  begin(m, 1e9, NULL);
  CHECK_OK(grove_multipath_solve(&set, GROVE_SOLVER_EXACT, cut));
  double alone = cut[0].seconds;
  add(m, 2, 3, 1e9, NULL);
  CHECK_OK(grove_multipath_solve(&set, GROVE_SOLVER_EXACT, cut));
  /* 0-3 and 2-1 are wanted by both: of three times two links ten are there. */
  CHECK_NEAR(grove_multipath_bound(&set), 2);
  CHECK(alone < 1.05 * 1e9 / 30e9, "%g alone", alone);
  CHECK(cut[0].seconds > 1e9 / 20e9 && cut[0].seconds < 1.02 * 1e9 / 20e9, "%g together",
        cut[0].seconds);
  double sum = 0;
  for (int i = 0; i < 3; i++) sum += cut[1].load[i].share;
  CHECK_NEAR(sum, 1);
  /* Half as many bytes there: less than with as many, and no copy gets too much. */
  set.copy[1].bytes = 1e8;
  CHECK_OK(grove_multipath_solve(&set, GROVE_SOLVER_EXACT, cut));
  sum = 0;
  for (int i = 0; i < 3; i++) sum += cut[1].load[i].share;
  CHECK_NEAR(sum, 1);
  CHECK(cut[0].checked <= cut[0].seconds * (1 + 1e-9), "it takes longer than it should");
  grove_machine_free(&m);
}

static void refuses(void)
{
  grove_machine *m = machine_of(THREE), *none = machine_of("gpus - node - 4 1 made\n");
  const struct {
    const grove_machine *m;
    int from, to;
    double bytes;
    const char *paths, *word;
  } bad[] = {{m, 0, 3, 1, NULL, "no GPU 3"},         {m, -1, 1, 1, NULL, "no GPU -1"},
             {m, 1, 1, 1, NULL, "to itself"},        {m, 0, 1, 0, NULL, "1 or more"},
             {m, 0, 1, NAN, NULL, "1 or more"},      {m, 0, 1, 1, "", "no path"},
             {m, 0, 1, 1, "direct,", "no path"},     {m, 0, 1, 1, "gpu1", "no path 'gpu1'"},
             {m, 0, 1, 1, "gpu02", "no path"},       {m, 0, 1, 1, "gpu99", "no path"},
             {m, 0, 1, 1, "host", "no path 'host'"}, {m, 0, 1, 1, "gpu2,gpu2", "twice"},
             {none, 0, 1, 1, NULL, "no links"}};
  memset(&set, 0, sizeof set);
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    CHECK(grove_copies_add(&set, bad[i].m, bad[i].from, bad[i].to, bad[i].bytes, bad[i].paths) ==
            GROVE_ERR_ARG,
          "case %zu was taken", i);
    CHECK(strstr(grove_last_error(), bad[i].word), "no '%s' in: %s", bad[i].word,
          grove_last_error());
    CHECK(set.count == 0, "it is there all the same");
  }
  for (int i = 0; i < GROVE_COPIES; i++) add(m, 0, 1, 1, NULL);
  CHECK(grove_copies_add(&set, m, 0, 1, 1, NULL) == GROVE_ERR_ARG, "too many copies");
  grove_machine_free(&m);
  grove_machine_free(&none);
}

/* ---- size classes and the cache ---- */

static void size_classes(void)
{
  int before = -1;
  for (int64_t bytes = 1; bytes < (int64_t)1 << 50; bytes += 1 + bytes / 100) {
    int k = grove_size_class(bytes);
    double centre = grove_size_class_centre(k);
    CHECK(k >= before && k < GROVE_SIZE_CLASSES, "class %d after %d", k, before);
    CHECK(grove_size_class((int64_t)centre) == k, "the centre of %d is in another", k);
    CHECK(fabs(centre / (double)bytes - 1) <= 1.0 / 16 + 1e-12, "%g for %lld", centre,
          (long long)bytes);
    before = k;
  }
  CHECK(grove_size_class(INT64_MAX) < GROVE_SIZE_CLASSES, "the largest has a class");
  CHECK(grove_size_class(1 << 21) == grove_size_class((1 << 21) + (1 << 18) - 1), "an eighth");
  CHECK(grove_size_class(1 << 21) != grove_size_class((1 << 21) + (1 << 18)), "and no more");
}

static void *decide_all(void *cache)
{
  for (int64_t bytes = 1000; bytes < 1000000000; bytes += bytes / 5)
    if (!grove_copy_decide(cache, bytes)) return cache;
  return NULL;
}

static void decisions(void)
{
  grove_machine *m = machine_of(THREE HOST);
  grove_copy_cache *cache = NULL;
  pthread_t thread;
  int64_t bytes[GROVE_PATHS];
  void *failed = NULL;
  CHECK_OK(grove_copy_cache_create(m, 0, 1, NULL, GROVE_SOLVER_EXACT, 1.05, &cache));
  pthread_create(&thread, NULL, decide_all, cache);
  CHECK(!decide_all(cache), "no decision");
  pthread_join(thread, &failed);
  CHECK(!failed, "no decision in the other thread");
  const grove_copy_decision *d = grove_copy_decide(cache, 64000000);
  CHECK(d == grove_copy_decide(cache, 64000001), "it is kept");
  CHECK(d->npaths == 3 && d->path[0] == 0 && d->gain > 1.5, "%d paths", d->npaths);
  begin(m, grove_size_class_centre(grove_size_class(64000000)), NULL);
  CHECK_OK(grove_multipath_solve(&set, GROVE_SOLVER_EXACT, cut));
  for (int i = 0; i < 3; i++) {
    CHECK_NEAR(d->share[i], cut[0].load[d->path[i]].share);
    CHECK(d->chunks[i] == cut[0].load[d->path[i]].chunks, "other chunks");
  }
  grove_copy_decision_bytes(d, 64000001, bytes);
  CHECK(bytes[0] + bytes[1] + bytes[2] == 64000001, "all bytes");
  CHECK(bytes[1] % 256 == 0 && bytes[2] % 256 == 0 && bytes[1] > 0, "aligned");
  /* Below the threshold one path has all. */
  d = grove_copy_decide(cache, 1000);
  CHECK(d->npaths == 1 && d->path[0] == 0 && d->share[0] == 1 && d->gain == 1, "one path");
  grove_copy_cache_free(&cache);
  CHECK_OK(grove_copy_cache_create(m, 0, 1, "gpu2,host", GROVE_SOLVER_EXACT, 9, &cache));
  d = grove_copy_decide(cache, 64000000);
  CHECK(d->npaths == 1 && d->path[0] == 0, "the better of the two");
  grove_copy_cache_free(&cache);
  grove_copy_cache_free(&cache);
  CHECK(grove_copy_cache_create(m, 0, 0, NULL, GROVE_SOLVER_EXACT, 1, &cache) == GROVE_ERR_ARG,
        "from = to");
  grove_machine_free(&m);
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "model/multipath_by_hand");
  linear();
  two_paths();
  launches_add_up();
  worst_first();
  one_port();
  host_memory();
  two_copies();
  refuses();
  size_classes();
  decisions();
  return test_end();
}
