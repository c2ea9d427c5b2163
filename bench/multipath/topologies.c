/* Nodes drawn at random: no copy may be slower than the driver's own. */
#include "multipath.h"

#include "grove_cuda.h"
#include "kit/random.h"

#include <math.h>

enum { NODES = 500, EACH = 2 };

static int64_t below(uint64_t *state, int64_t n)
{
  return (int64_t)(bench_random(state) % (uint64_t)n);
}

static int64_t between(uint64_t *state, int64_t low, int64_t high)
{
  return low + below(state, high - low + 1);
}

/* Links of any rates, some missing. */
static void draw_rates(uint64_t *state, grove_links *l, double rate)
{
  for (int from = 0; from < GROVE_ENDS; from++)
    for (int to = 0; to < GROVE_ENDS; to++) {
      int by_host = from == GROVE_HOST || to == GROVE_HOST;
      if (from == to || (from >= l->devices && from != GROVE_HOST) ||
          (to >= l->devices && to != GROVE_HOST))
        continue;
      if (!by_host && below(state, 6) == 0) continue;
      double share = 0.5 + 0.1 * (double)below(state, 10);
      l->link[from][to] =
        (grove_link_cost){1e-6 * (double)between(state, 1, 10), (by_host ? 12e9 : rate) * share};
    }
}

/* On some nodes ports, few copy engines, rates that ramp up. */
static grove_emulated_links draw_node(uint64_t *state)
{
  grove_emulated_links l = {.call = 0.3e-6, .wait = 1e-6, .moves_nothing = 1};
  grove_links_clear(&l.links);
  int n = l.links.devices = (int)between(state, 2, GROVE_EMULATED_DEVICES);
  double rate = 5e9 * (double)between(state, 1, 20);
  draw_rates(state, &l.links, rate);
  if (below(state, 2) == 0)
    for (int i = 0; i < 2 * n; i++)
      l.links.port[i % 2][below(state, 2)][i / 2] = rate * (0.5 + (double)below(state, 4));
  if (below(state, 2) == 0) l.engines = (int)between(state, 2, 6);
  if (below(state, 2) == 0) l.ramp_bytes = (double)((int64_t)1 << between(state, 12, 18));
  return l;
}

/* How much slower than the driver's own copy: 1 and less is well. */
static double compare_copy(const bench_place *p, grove_copier *c, uint64_t *state)
{
  bench_load l;
  int from = (int)below(state, p->ndevices);
  int to = (from + 1 + (int)below(state, p->ndevices - 1)) % p->ndevices;
  int64_t bytes = between(state, 1, (int64_t)1 << between(state, 10, 29));
  bench_load_open(p, from, to, bytes, 1, 1, &l);
  double alone = bench_load_time(&l, NULL).value, took = bench_load_time(&l, c).value;
  bench_load_close(&l);
  return took / alone;
}

void bench_topologies(bench_settings *s)
{
  int n = s->check ? 10 : NODES, split = 0, slower = 0;
  double worst = 0, sum = 0;
  bench_place p;
  for (int i = 0; i < n; i++) {
    uint64_t state = (uint64_t)i;
    grove_emulated_links links = draw_node(&state);
    bench_place_emulate_links(s, &links, &p);
    grove_copier *c = bench_copier(&p, NULL, NULL);
    for (int k = 0; k < EACH; k++) {
      double ratio = compare_copy(&p, c, &state);
      worst = fmax(worst, ratio);
      sum += log(ratio);
      split += ratio < 1 - 1e-9;
      slower += ratio > 1 + 1e-9;
    }
    bench_need_grove(grove_copier_free(&c));
    bench_place_close(&p);
  }
  bench_row_value(&p, "nodes", "random", n, "copies", EACH * n);
  bench_row_value(&p, "nodes", "random", n, "split", split);
  bench_row_value(&p, "nodes", "random", n, "slower", slower);
  bench_row_value(&p, "nodes", "random", n, "worst", worst);
  bench_row_value(&p, "nodes", "random", n, "mean", exp(sum / (EACH * n)));
}
