/* On a GPU: links of few blocks between parts of its memory, the path by the host, and the plain
 * copy. On several GPUs: the same over their own links. */
#include "multipath.h"

#include "grove_cuda.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- paths of one pair ---- */

static void study_load(bench_load *l, grove_copier *c, const char *list, int with_search)
{
  char name[64];
  grove_copy_decision d;
  const bench_place *p = l->p;
  snprintf(name, sizeof name, "%s,w%d,%s", list, l->window, l->ways == 1 ? "one-way" : "both-ways");
  for (char *at = name; *at; at++)
    if (*at == ',') *at = '+';
  bench_row(p, "copies", name, l->bytes, "direct", bench_load_time(l, NULL));
  bench_row(p, "copies", name, l->bytes, "dynamic", bench_load_time(l, c));
  bench_row(p, "copies", name, l->bytes, "predicted", bench_exactly(bench_load_predict(l, c)));
  bench_judge(p, "copies", name, l->bytes, "dynamic", bench_load_check(l, c));
  if (!with_search) return;
  bench_search(l, c, &d);
  l->as = &d;
  bench_row(p, "copies", name, l->bytes, "static", bench_load_time(l, c));
  l->as = NULL;
}

/* Sizes from 64 MiB on are judged; smaller ones show where splitting begins to pay. */
static void study_list(const bench_place *p, const char *list)
{
  static const int64_t sizes[] = {2, 8, 64, 256, 512};
  grove_copier *c = bench_copier(p, NULL, list);
  for (int i = p->s->quick ? 2 : 0; i < (p->s->check ? 1 : 5); i++) {
    int64_t bytes = sizes[i] * MIB;
    for (int ways = 1; ways <= (p->s->quick ? 1 : 2); ways++) {
      bench_load l;
      bench_load_open(p, 0, 1, bytes, 1, ways, &l);
      study_load(&l, c, list, ways == 1);
      bench_load_close(&l);
    }
  }
  if (!p->s->quick) {
    bench_load l;
    bench_load_open(p, 0, 1, (p->s->check ? 1 : 64) * MIB, 16, 1, &l);
    study_load(&l, c, list, 0);
    bench_load_close(&l);
  }
  bench_need_grove(grove_copier_free(&c));
}

/* What the copier has found out, for people. */
static void tell_links(const bench_place *p)
{
  const grove_links *l = &p->machine->links;
  printf("conditions %s %s: 0-1 %.1f GB/s, %.1f us; 0-host %.1f GB/s, %.1f us; host-1 %.1f GB/s, "
         "%.1f us; epsilon %.1f us, of the host %.1f us\n",
         p->rung, p->links, 1e-9 * l->link[0][1].rate, 1e6 * l->link[0][1].alpha,
         1e-9 * l->link[0][GROVE_HOST].rate, 1e6 * l->link[0][GROVE_HOST].alpha,
         1e-9 * l->link[GROVE_HOST][1].rate, 1e6 * l->link[GROVE_HOST][1].alpha,
         1e6 * l->epsilon[2], 1e6 * l->epsilon[GROVE_HOST]);
}

static int is_wanted(const bench_settings *s, int blocks, const char *list)
{
  return (s->blocks == 0 || s->blocks == blocks) && (!s->paths || strcmp(s->paths, list) == 0);
}

void bench_sm_mesh(bench_settings *s)
{
  static const char *const lists[] = {"direct,gpu2", "direct,gpu2,gpu3", "direct,gpu2,gpu3,host",
                                      "direct,host"};
  for (int blocks = 1; blocks <= 2; blocks++)
    for (int i = 0; i < (blocks == 1 ? 4 : 2); i++) {
      bench_place p;
      if (!is_wanted(s, blocks, lists[i])) continue;
      if (!bench_place_sm(s, 4, blocks, &p)) return;
      tell_links(&p);
      study_list(&p, lists[i]);
      bench_place_close(&p);
    }
}

void bench_gpus(bench_settings *s)
{
  bench_place p;
  if (!bench_place_cuda(s, &p)) return;
  if (p.ndevices < 2) {
    printf("conditions several GPUs: not run: there is one\n");
    return;
  }
  study_list(&p, "direct,host");
  if (p.ndevices > 2) study_list(&p, "direct,gpu2");
  if (p.ndevices > 3) study_list(&p, "direct,gpu2,gpu3");
  if (p.ndevices > 3) study_list(&p, "direct,gpu2,gpu3,host");
  bench_place_close(&p);
}

/* ---- by the host alone ---- */

/* All by the host, in so many chunks. */
static double time_chunks(bench_load *l, grove_copier *c, int64_t chunks)
{
  const grove_copy_decision d = {.npaths = 1, .share = {1}, .chunks = {chunks}, .gain = 1};
  double all[7];
  l->as = &d;
  bench_load_once(l, c);
  for (int i = 0; i < 7; i++) all[i] = bench_load_once(l, c);
  l->as = NULL;
  return bench_median(all, 7);
}

/* Doubled as long as that helps, then what lies beside. */
static double search_chunks(bench_load *l, grove_copier *c, int64_t *chunks)
{
  double best = INFINITY;
  for (int64_t k = 1; k <= 512; k *= 2) {
    double seconds = time_chunks(l, c, k);
    if (seconds < best) best = seconds, *chunks = k;
  }
  int64_t middle = *chunks;
  for (int i = -2; i <= 2; i++) {
    int64_t k = llround((double)middle * pow(2, i / 3.0));
    double seconds = k == middle || k < 1 ? INFINITY : time_chunks(l, c, k);
    if (seconds < best) best = seconds, *chunks = k;
  }
  return best;
}

/* A copy between a device and pinned memory. */
static bench_interval time_host_copy(const bench_place *p, void *memory, void *pinned,
                                     int64_t bytes, int is_up)
{
  double all[64];
  grove_stream *stream = NULL;
  int n = p->s->samples < 64 ? p->s->samples : 64;
  bench_need_grove(p->driver->create_stream(0, &stream));
  for (int i = -1; i < n; i++) {
    double begin = bench_place_clock(p);
    bench_need_grove(
      p->driver->copy(0, stream, is_up ? pinned : memory, is_up ? memory : pinned, bytes));
    bench_need_grove(p->driver->finish(0, stream));
    if (i >= 0) all[i] = bench_place_clock(p) - begin;
  }
  p->driver->free_stream(0, stream);
  return bench_centre_by_order(all, n);
}

static void time_host_links(const bench_place *p)
{
  int64_t bytes = (p->s->check ? 1 : 256) * MIB;
  void *memory = NULL, *pinned = aligned_alloc(4096, (size_t)bytes);
  bench_need(pinned != NULL, "no memory left");
  memset(pinned, 0, (size_t)bytes);
  bench_need_grove(p->driver->allocate(0, bytes, &memory));
  bench_need_grove(p->driver->pin(pinned, bytes));
  bench_row(p, "links", "pinned", bytes, "d2h", time_host_copy(p, memory, pinned, bytes, 1));
  bench_row(p, "links", "pinned", bytes, "h2d", time_host_copy(p, memory, pinned, bytes, 0));
  p->driver->unpin(pinned);
  p->driver->free(0, memory);
  free(pinned);
}

/* The model's time, whatever the driver's own copy would take. */
static void study_host_load(bench_load *l, grove_copier *c)
{
  const bench_place *p = l->p;
  const char *name = l->ways == 1 ? "one-way" : "both-ways";
  grove_copy_pair *pair = NULL;
  int64_t best = 1;
  bench_row(p, "host", name, l->bytes, "dynamic", bench_load_time(l, c));
  bench_row(p, "host", name, l->bytes, "predicted", bench_exactly(bench_load_predict(l, c)));
  bench_judge(p, "host", name, l->bytes, "dynamic", bench_load_check(l, c));
  if (l->ways > 1) return;
  bench_need_grove(grove_copy_pair_find(c, 0, 1, &pair));
  const grove_copy_decision *d = grove_copy_route_decide(pair->route, l->bytes);
  bench_row(p, "host", name, l->bytes, "searched", bench_exactly(search_chunks(l, c, &best)));
  bench_row(p, "host", name, l->bytes, "again", bench_load_time(l, c)); /* beside the search */
  bench_row_value(p, "host", name, l->bytes, "chunks", d ? (double)d->chunks[0] : 0);
  bench_row_value(p, "host", name, l->bytes, "best-chunks", (double)best);
}

void bench_sm_host(bench_settings *s)
{
  bench_place p;
  if (!bench_place_sm(s, 2, 1, &p)) return;
  tell_links(&p);
  time_host_links(&p);
  grove_copier *c = bench_copier(&p, p.machine, "host");
  for (int ways = 1; ways <= 2; ways++)
    for (int64_t bytes = 4 * MIB; bytes <= (s->check ? 4 : 1024) * (int64_t)MIB;
         bytes *= s->quick ? 4 : 2) {
      bench_load l;
      bench_load_open(&p, 0, 1, bytes, 1, ways, &l);
      study_host_load(&l, c);
      bench_load_close(&l);
    }
  bench_need_grove(grove_copier_free(&c));
  bench_place_close(&p);
}

/* ---- a plain copy ---- */

/* In turns: the ratio is what counts. */
static void study_plain(const bench_place *p, grove_copier *c, char *dst, char *src, int64_t bytes,
                        grove_stream *stream)
{
  enum { ROUNDS = 41 };
  double plain[ROUNDS], ours[ROUNDS];
  int repeats = bytes < 16 * MIB ? 50 : bytes < 512 * MIB ? 5 : 1;
  for (int i = -1; i < ROUNDS; i++)
    for (int way = 0; way < 2; way++) {
      int is_ours = way ^ (i & 1);
      double begin = bench_place_clock(p);
      for (int k = 0; k < repeats; k++)
        bench_need_grove(is_ours ? grove_copier_copy(c, dst, 0, src, 0, (size_t)bytes, stream)
                                 : p->driver->copy(0, stream, dst, src, bytes));
      bench_need_grove(p->driver->finish(0, stream));
      if (i >= 0) (is_ours ? ours : plain)[i] = (bench_place_clock(p) - begin) / repeats;
    }
  bench_row(p, "plain", "inside", bytes, "driver", bench_centre_by_order(plain, ROUNDS));
  bench_row(p, "plain", "inside", bytes, "dynamic", bench_centre_by_order(ours, ROUNDS));
  bench_interval ratio = bench_ratio(ours, plain, ROUNDS);
  bench_row(p, "plain", "inside", bytes, "ratio",
            (bench_interval){1e-6 * ratio.value, 1e-6 * ratio.low, 1e-6 * ratio.high});
}

void bench_plain(bench_settings *s)
{
  bench_place p;
  void *src = NULL, *dst = NULL;
  grove_stream *stream = NULL;
  int64_t most = s->check ? MIB : (int64_t)4 << 30;
  if (!bench_place_cuda(s, &p)) return;
  grove_copier *c = bench_copier(&p, NULL, NULL);
  bench_need_grove(p.driver->allocate(0, most, &src));
  bench_need_grove(p.driver->allocate(0, most, &dst));
  bench_need_grove(p.driver->create_stream(0, &stream));
  for (int64_t bytes = 1024; bytes <= most; bytes *= 4) study_plain(&p, c, dst, src, bytes, stream);
  p.driver->free_stream(0, stream);
  p.driver->free(0, src);
  p.driver->free(0, dst);
  bench_need_grove(grove_copier_free(&c));
  bench_place_close(&p);
}
