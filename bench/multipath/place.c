/* Places: emulated links, links of few blocks, the GPUs of this machine. */
#include "multipath.h"

#include "kit/clock.h"
#include "links/sm_links.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STAGING = 64 * MIB };

static bench_place new_place(bench_settings *s, const char *rung, const char *node,
                             const char *links)
{
  bench_place p = {.s = s};
  snprintf(p.rung, sizeof p.rung, "%s", rung);
  snprintf(p.node, sizeof p.node, "%s", node);
  snprintf(p.links, sizeof p.links, "%s", links);
  return p;
}

/* ---- emulated ---- */

/* Calls and events take their time; the model has to find that out. */
static grove_emulated_links links_like(const grove_links *links, int are_hard, uint64_t seed)
{
  grove_emulated_links l = {.links = *links, .call = 0.3e-6, .wait = 1e-6, .moves_nothing = 1};
  if (!are_hard) return l;
  l.ramp_bytes = 128 << 10;
  l.jitter = 0.03;
  l.engines = 6;
  l.seed = seed;
  return l;
}

static void begin_emulated(bench_place *p)
{
  int n = 0;
  p->is_emulated = 1;
  p->driver = &grove_driver_emulated;
  p->ndevices = p->emulated.links.devices;
  grove_emulated_reset();
  grove_emulated_set_devices(p->ndevices);
  bench_need_grove(p->driver->open(&n));
  grove_emulated_set_links(&p->emulated);
}

void bench_place_emulate(bench_settings *s, const char *node, const char *links, uint64_t seed,
                         bench_place *p)
{
  *p = new_place(s, "emulated", node, links);
  bench_need_grove(grove_machine_open(node, &p->machine));
  p->emulated = links_like(&p->machine->links, strcmp(links, "hard") == 0, seed);
  begin_emulated(p);
}

void bench_place_emulate_links(bench_settings *s, const grove_emulated_links *l, bench_place *p)
{
  *p = new_place(s, "emulated", "random", "any");
  p->emulated = *l;
  begin_emulated(p);
}

/* ---- on a GPU ---- */

static int is_not_there(const char *what)
{
  printf("conditions %s: not run: %s\n", what, grove_last_error());
  return 0;
}

/* To see that the studies are right, emulated links do. */
static int play_gpu(bench_settings *s, const char *rung, const char *links, bench_place *p)
{
  bench_place_emulate(s, "beluga", "ideal", 0, p);
  snprintf(p->rung, sizeof p->rung, "%s", rung);
  snprintf(p->links, sizeof p->links, "%s", links);
  return 1;
}

int bench_place_sm(bench_settings *s, int ndevices, int blocks, bench_place *p)
{
  grove_copy_findings found = {0};
  char links[16];
  snprintf(links, sizeof links, "%d-block%s", blocks, blocks == 1 ? "" : "s");
  if (s->check) return play_gpu(s, "sm-links", links, p);
  *p = new_place(s, "sm-links", "gpu", links);
  p->ndevices = ndevices;
  if (sm_links_open(ndevices, blocks, &p->driver) != GROVE_OK) return is_not_there("links of SMs");
  bench_need_grove(grove_copy_links_measure(p->driver, ndevices, &found, &p->machine));
  return 1;
}

int bench_place_cuda(bench_settings *s, bench_place *p)
{
  if (s->check) return play_gpu(s, "gpu", "-", p);
#ifdef GROVE_CUDA
  *p = new_place(s, "gpu", "gpu", "-");
  p->driver = &grove_driver_cuda;
  return p->driver->open(&p->ndevices) == GROVE_OK || is_not_there("GPUs");
#else
  printf("conditions GPUs: not run: built without CUDA\n");
  return 0;
#endif
}

/* ---- any ---- */

void bench_place_close(bench_place *p)
{
  grove_machine_free(&p->machine);
  if (p->is_emulated) grove_emulated_reset();
}

grove_copier *bench_copier_with(const bench_place *p, const grove_machine *m, const char *paths,
                                int64_t staging_bytes)
{
  grove_copier *c = NULL;
  bench_need_grove(grove_copier_open(p->driver, p->ndevices, m, paths, staging_bytes, &c));
  return c;
}

grove_copier *bench_copier(const bench_place *p, const grove_machine *m, const char *paths)
{
  return bench_copier_with(p, m, paths, STAGING);
}

void bench_place_moves(const bench_place *p, int moves)
{
  if (!p->is_emulated) return;
  grove_emulated_links links = p->emulated;
  links.moves_nothing = !moves;
  grove_emulated_set_links(&links);
}

double bench_place_clock(const bench_place *p)
{
  double now = 0;
  if (p->driver->own_clock && p->driver->own_clock(&now)) return now;
  return bench_clock();
}

/* ---- rows ---- */

static void print_row(const bench_place *p, const char *line, const char *name, int64_t bytes,
                      const char *method, bench_interval i)
{
  printf("row %s %s %s %s %s %lld %s %.7g %.7g %.7g\n", p->rung, p->node, p->links, line, name,
         (long long)bytes, method, i.value, i.low, i.high);
  fflush(stdout);
}

void bench_row(const bench_place *p, const char *line, const char *name, int64_t bytes,
               const char *method, bench_interval seconds)
{
  bench_interval us = {1e6 * seconds.value, 1e6 * seconds.low, 1e6 * seconds.high};
  print_row(p, line, name, bytes, method, us);
}

void bench_row_value(const bench_place *p, const char *line, const char *name, int64_t bytes,
                     const char *method, double value)
{
  print_row(p, line, name, bytes, method, bench_exactly(value));
}

void bench_judge(const bench_place *p, const char *line, const char *name, int64_t bytes,
                 const char *method, int64_t wrong)
{
  if (wrong == 0) return;
  p->s->wrong++;
  printf("wrong %s %s %s %s %s %lld %s %lld wrong copies\n", p->rung, p->node, p->links, line, name,
         (long long)bytes, method, (long long)wrong);
}
