/* What must be so of every copy, on random nodes: paths that are used end together, shares add
 * up to one, more bytes take longer, a faster link and one path more never do; the exact solver
 * is never slower than a search, whatever it finds. */
#include "model/multipath.h"
#include "near.h"
#include "random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double TINY = 1e-9;

static double between(rng *r, double low, double high)
{
  return low * pow(high / low, (double)rng_below(r, 1 << 30) / (1 << 30));
}

/* A node of random links. `wild`: anything; else as nodes are: launches of 1 to 6 us, rates of
 * 10 to 300 GB/s. */
static grove_machine *a_node(rng *r, int devices, int wild)
{
  grove_machine *m = NULL;
  CHECK_OK(grove_machine_create("random", &m));
  m->links.devices = devices;
  for (int a = 0; a <= devices; a++)
    for (int b = 0; b <= devices; b++) {
      int from = a == devices ? GROVE_HOST : a, to = b == devices ? GROVE_HOST : b;
      if (a == b || (a + b > 1 && rng_one_in(r, 12))) continue;
      m->links.link[from][to] =
        wild ? (grove_link_cost){between(r, 2e-7, 2e-5), between(r, 2e9, 3e11)}
             : (grove_link_cost){between(r, 1e-6, 6e-6), between(r, 1e10, 3e11)};
    }
  for (int a = 0; a <= devices; a++)
    m->links.epsilon[a == devices ? GROVE_HOST : a] = between(r, wild ? 1e-8 : 1e-6, 6e-6);
  return m;
}

/* Ports, and things with names that some links cross. */
static void share_some(rng *r, grove_machine *m)
{
  grove_links *l = &m->links;
  for (int d = 0; d < l->devices; d++)
    for (int way = 0; way < GROVE_PORT_WAYS; way++)
      if (rng_one_in(r, 3))
        l->port[way][rng_below(r, GROVE_PORT_KINDS)][d] = between(r, 2e10, 4e11);
  l->nshared = (int)rng_below(r, 4);
  for (int i = 0; i < l->nshared; i++) {
    snprintf(l->shared[i].name, sizeof l->shared[i].name, "thing-%d", i);
    l->shared[i].rate = between(r, 1e10, 3e11);
    for (int a = 0; a < GROVE_ENDS; a++) l->shared[i].crossed[a] = (uint32_t)rng_next(r);
  }
}

static double draw_bytes(rng *r)
{
  return floor(between(r, 1e3, 1e9));
}

static double solve(const grove_copies *set, grove_solver solver, grove_split *out)
{
  CHECK_OK(grove_multipath_solve(set, solver, out));
  double last = 0;
  for (int c = 0; c < set->count; c++) last = fmax(last, out[c].seconds);
  return last;
}

/* Theorem 1, and what adds up. */
static void check_split(const grove_copies *set, const grove_split *cuts, int equal)
{
  for (int c = 0; c < set->count; c++) {
    const grove_copy_paths *copy = &set->copy[c];
    double sum = 0, last = 0;
    int64_t bytes = 0;
    /* The theorem's condition: no path begins after the others could have ended. */
    int late = copy->path[0].kind == GROVE_PATH_DIRECT && cuts[c].load[0].share < 1e-9;
    for (int i = 0; i < copy->npaths; i++) {
      const grove_path_load *load = &cuts[c].load[i];
      CHECK(load->share >= 0 && load->bytes >= 0, "a negative share");
      sum += load->share;
      bytes += load->bytes;
      last = fmax(last, load->seconds);
      if (!(load->share > 0)) continue;
      CHECK(!equal || late || fabs(load->seconds - cuts[c].seconds) <= TINY * cuts[c].seconds,
            "path %d ends after %.17g s, all after %.17g", i, load->seconds, cuts[c].seconds);
      CHECK_NEAR(load->share * copy->bytes * load->omega + load->delta, load->seconds);
      CHECK(load->chunks >= 1 && load->place >= 0, "no chunks");
    }
    CHECK(fabs(sum - 1) <= TINY, "shares add up to %.17g", sum);
    CHECK(bytes == (int64_t)copy->bytes, "%lld bytes of %.0f", (long long)bytes, copy->bytes);
    CHECK_NEAR(last, cuts[c].seconds);
    CHECK(copy->path[0].kind != GROVE_PATH_DIRECT || cuts[c].load[0].share > 0,
          "the direct path is left out");
  }
}

static void one_node(int64_t number)
{
  rng r = rng_from(test_seed(), (uint64_t)number);
  grove_machine *m = a_node(&r, (int)rng_between(&r, 2, 5), rng_one_in(&r, 2));
  grove_copies set = {.count = 0}, other;
  grove_split cut[GROVE_COPIES], changed[GROVE_COPIES];
  double bytes = draw_bytes(&r);
  CHECK_OK(grove_copies_add(&set, m, 0, 1, bytes, NULL));
  double seconds = solve(&set, GROVE_SOLVER_EXACT, cut);
  check_split(&set, cut, 1);
  CHECK_NEAR(cut[0].checked, seconds);
  CHECK(seconds <= grove_multipath_single(&set, NULL, NULL) * (1 + TINY), "slower than one path");
  CHECK(seconds >= bytes / grove_multipath_bound(&set) / set.copy[0].path[0].beta,
        "faster than the rates");
  solve(&set, GROVE_SOLVER_PUBLISHED, changed);
  check_split(&set, changed, 1);
  CHECK(changed[0].checked >= seconds * (1 - TINY), "%g by the published split, %g exactly",
        changed[0].checked, seconds);
  other = set;
  other.copy[0].bytes = floor(bytes * (1 + between(&r, 1e-3, 1))) + 1;
  CHECK(solve(&other, GROVE_SOLVER_EXACT, changed) >= seconds * (1 - 1e-12),
        "%.0f bytes take less time than %.0f", other.copy[0].bytes, bytes);
  for (int i = 0; i < set.copy[0].npaths; i++)
    for (int link = 0; link < 1 + (set.copy[0].path[i].kind != GROVE_PATH_DIRECT); link++) {
      other = set;
      other.alone = 1;
      *(link ? &other.copy[0].path[i].beta2 : &other.copy[0].path[i].beta) *=
        1 + between(&r, 1e-3, 1);
      CHECK(solve(&other, GROVE_SOLVER_EXACT, changed) <= seconds * (1 + 1e-11),
            "link %d of path %d is faster, and the copy slower by %g", link, i,
            changed[0].seconds / seconds - 1);
    }
  for (int i = 1; i < set.copy[0].npaths; i++) {
    other = set;
    other.copy[0].useless[i] = 0; /* not to be used */
    CHECK(solve(&other, GROVE_SOLVER_EXACT, changed) >= seconds * (1 - 1e-11),
          "without path %d it is faster by %g", i, 1 - changed[0].seconds / seconds);
  }
  grove_machine_free(&m);
}

/* With what is shared: nothing carries more than it can, and no copy is slower than on one path. */
static void one_shared(int64_t number)
{
  rng r = rng_from(test_seed() + 1, (uint64_t)number);
  int devices = (int)rng_between(&r, 2, 5);
  grove_machine *m = a_node(&r, devices, rng_one_in(&r, 2));
  grove_copies set = {.count = 0}, other;
  grove_split cut[GROVE_COPIES], changed[GROVE_COPIES];
  share_some(&r, m);
  CHECK_OK(grove_copies_add(&set, m, 0, 1, draw_bytes(&r), NULL));
  if (rng_one_in(&r, 2)) CHECK_OK(grove_copies_add(&set, m, 1, 0, draw_bytes(&r), NULL));
  double seconds = solve(&set, GROVE_SOLVER_EXACT, cut);
  check_split(&set, cut, set.count == 1);
  CHECK(cut[0].checked <= seconds * (1 + TINY), "something carries more than it can: %g",
        cut[0].checked / seconds - 1);
  CHECK(seconds <= grove_multipath_single(&set, NULL, NULL) * (1 + TINY),
        "slower than one path by %g, %d copies",
        seconds / grove_multipath_single(&set, NULL, NULL) - 1, set.count);
  solve(&set, GROVE_SOLVER_PUBLISHED, changed);
  check_split(&set, changed, 1);
  for (int i = 1; set.count == 1 && i < set.copy[0].npaths; i++) {
    other = set;
    if (other.copy[0].useless[i] >= 0) continue;
    other.copy[0].useless[i] = 0;
    CHECK(solve(&other, GROVE_SOLVER_EXACT, changed) >= seconds * (1 - 1e-6),
          "without path %d it is faster by %g", i, 1 - changed[0].seconds / seconds);
  }
  grove_machine_free(&m);
}

/* More paths than there are orders to try: still no slower than one, and all of it adds up. */
static void large_node(int64_t number)
{
  rng r = rng_from(test_seed() + 4, (uint64_t)number);
  grove_machine *m = a_node(&r, (int)rng_between(&r, 11, GROVE_DEVICES), rng_one_in(&r, 2));
  grove_copies set = {.count = 0};
  grove_split cut[GROVE_COPIES];
  if (rng_one_in(&r, 2)) share_some(&r, m);
  CHECK_OK(grove_copies_add(&set, m, 0, 1, draw_bytes(&r), NULL));
  for (int v = 0; v <= GROVE_SOLVER_PUBLISHED; v++) {
    double seconds = solve(&set, (grove_solver)v, cut);
    check_split(&set, cut, 1);
    CHECK(v > 0 || seconds <= grove_multipath_single(&set, NULL, NULL) * (1 + TINY),
          "slower than one path");
  }
  grove_machine_free(&m);
}

/* ---- against a search ---- */

/* How much longer the split of a solver takes than that of a search. */
static double regret(const grove_copies *set, grove_solver solver, double *searched)
{
  grove_split cut[GROVE_COPIES];
  if (!(*searched > 0)) *searched = solve(set, GROVE_SOLVER_SEARCH, cut);
  solve(set, solver, cut);
  return cut[0].checked / *searched - 1;
}

/* On the machines that come with Grove, at the paper's sizes, over 2 to 4 paths. */
static void known_machines(void)
{
  static const char *const machines[] = {"beluga", "narval", "dgx", "pcie-box"};
  static const char *const paths[] = {"direct,gpu2", "direct,gpu2,gpu3", "direct,gpu2,gpu3,host"};
  for (int k = 0; k < 4; k++) {
    grove_machine *m = NULL;
    CHECK_OK(grove_machine_open(machines[k], &m));
    printf("# %s: regret of phi in %% at 2, 4, ... 512 MiB, 4 paths:", machines[k]);
    for (int p = 0; p < 3; p++)
      for (double bytes = 1 << 21; bytes <= 1 << 29; bytes *= 2) {
        grove_copies set = {.count = 0};
        double searched = 0;
        CHECK_OK(grove_copies_add(&set, m, 0, 1, bytes, paths[p]));
        double exact = regret(&set, GROVE_SOLVER_EXACT, &searched);
        double phi = regret(&set, GROVE_SOLVER_PUBLISHED, &searched);
        CHECK(exact <= 0.005, "%s, %s, %.0f: exact is %.3f %% behind", machines[k], paths[p], bytes,
              100 * exact);
        CHECK(phi <= 0.02, "%s, %s, %.0f: published is %.3f %% behind", machines[k], paths[p],
              bytes, 100 * phi);
        if (p == 2) printf(" %.3f", 100 * phi);
      }
    printf("\n");
    grove_machine_free(&m);
  }
}

static int by_value(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* On random nodes the exact one is held to the search; of the published one it is told. */
static void random_nodes(int wild)
{
  enum { SIZES = 6, MOST = 4000 };
  static double of_phi[SIZES][MOST];
  int n[SIZES] = {0};
  double behind = 0, ahead = 0;
  for (int64_t i = 0; i < test_samples(240); i++) {
    test_case(i);
    rng r = rng_from(test_seed() + 2 + (uint64_t)wild, (uint64_t)i);
    grove_machine *m = a_node(&r, (int)rng_between(&r, 3, 4), wild);
    grove_copies set = {.count = 0};
    double searched = 0, bytes = draw_bytes(&r);
    CHECK_OK(grove_copies_add(&set, m, 0, 1, bytes, NULL));
    double exact = regret(&set, GROVE_SOLVER_EXACT, &searched);
    CHECK(exact <= 0.005, "%.0f bytes: exact is %.3f %% behind", bytes, 100 * exact);
    behind = fmax(behind, exact);
    ahead = fmax(ahead, -exact);
    int size = (int)floor(log10(bytes)) - 3;
    if (size >= 0 && size < SIZES && n[size] < MOST)
      of_phi[size][n[size]++] = regret(&set, GROVE_SOLVER_PUBLISHED, &searched);
    grove_machine_free(&m);
  }
  printf("# %s nodes: exact at most %.4f %% behind the search, and %.3f %% ahead\n",
         wild ? "wild" : "plausible", 100 * behind, 100 * ahead);
  printf("# regret of phi in %%, median / 90 %% / worst, from 1 kB, 10 kB, ... 100 MB:");
  for (int size = 0; size < SIZES; size++) {
    qsort(of_phi[size], (size_t)n[size], sizeof(double), by_value);
    if (n[size] > 0)
      printf(" %.2f/%.2f/%.2f", 100 * of_phi[size][n[size] / 2],
             100 * of_phi[size][n[size] * 9 / 10], 100 * of_phi[size][n[size] - 1]);
  }
  printf("\n");
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "model/multipath_laws");
  printf("# seed %llu\n", (unsigned long long)test_seed());
  for (int64_t i = 0; i < test_samples(10000); i++) {
    test_case(i);
    one_node(i);
  }
  for (int64_t i = 0; i < test_samples(1500); i++) {
    test_case(i);
    one_shared(i);
  }
  for (int64_t i = 0; i < test_samples(300); i++) {
    test_case(i);
    large_node(i);
  }
  known_machines();
  random_nodes(0);
  random_nodes(1);
  return test_end();
}
