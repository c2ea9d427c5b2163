/* A window of copies of one size, one way or both ways: timed, or checked. */
#include "multipath.h"

#include "grove_cuda.h"
#include "kit/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Streams of a window, of both ways together: staging memory is enough for so many copies at once.
 * Where its copies have more bytes than this, those of a stream share memory. */
enum { WIDE = 4, APART = 512 * MIB };

void bench_load_open(const bench_place *p, int from, int to, int64_t bytes, int window, int ways,
                     bench_load *l)
{
  int ends[2] = {from, to};
  *l = (bench_load){.p = p, .from = from, .to = to, .bytes = bytes, .window = window, .ways = ways};
  l->nstreams = window < WIDE / ways ? window : WIDE / ways;
  l->nbuffers = window * bytes <= APART ? window : l->nstreams;
  for (int i = 0; i < ways; i++) {
    void *src = NULL, *dst = NULL;
    bench_need_grove(p->driver->allocate(ends[i], l->nbuffers * bytes, &src));
    bench_need_grove(p->driver->allocate(ends[1 - i], l->nbuffers * bytes, &dst));
    l->src[i] = src;
    l->dst[i] = dst;
    for (int k = 0; k < l->nstreams; k++)
      bench_need_grove(p->driver->create_stream(ends[i], &l->streams[i][k]));
  }
}

void bench_load_close(bench_load *l)
{
  int ends[2] = {l->from, l->to};
  for (int i = 0; i < l->ways; i++) {
    for (int k = 0; k < l->nstreams; k++) l->p->driver->free_stream(ends[i], l->streams[i][k]);
    l->p->driver->free(ends[i], l->src[i]);
    l->p->driver->free(ends[1 - i], l->dst[i]);
  }
}

/* ---- time ---- */

static grove_status copy_as(grove_copier *c, const grove_copy_decision *d, int from, int to,
                            const grove_copy_order *order)
{
  grove_copy_pair *pair = NULL;
  bench_need_grove(grove_copy_pair_find(c, from, to, &pair));
  return grove_copy_move_as(c, pair, d, order);
}

static void begin_copy(bench_load *l, grove_copier *c, int number, int way)
{
  int from = way ? l->to : l->from, to = way ? l->from : l->to;
  int64_t at = number % l->nbuffers * l->bytes;
  grove_stream *stream = l->streams[way][number % l->nstreams];
  char *dst = l->dst[way] + at, *src = l->src[way] + at;
  const grove_copy_order order = {dst, src, l->bytes, from, stream};
  if (!c)
    bench_need_grove(l->p->driver->copy(from, stream, dst, src, l->bytes));
  else if (l->as)
    bench_need_grove(copy_as(c, l->as, from, to, &order));
  else
    bench_need_grove(grove_copier_copy(c, dst, to, src, from, (size_t)l->bytes, stream));
}

static void finish_load(const bench_load *l)
{
  int ends[2] = {l->from, l->to};
  for (int i = 0; i < l->ways; i++)
    for (int k = 0; k < l->nstreams; k++)
      bench_need_grove(l->p->driver->finish(ends[i], l->streams[i][k]));
}

double bench_load_once(bench_load *l, grove_copier *c)
{
  double begin = bench_place_clock(l->p);
  for (int k = 0; k < l->window; k++)
    for (int i = 0; i < l->ways; i++) {
      l->last_begin = bench_place_clock(l->p) - begin;
      begin_copy(l, c, k, i);
    }
  finish_load(l);
  return bench_place_clock(l->p) - begin;
}

bench_interval bench_load_time(bench_load *l, grove_copier *c)
{
  double all[64];
  int n = l->p->s->samples < 64 ? l->p->s->samples : 64;
  double first = bench_load_once(l, c); /* makes lanes, and warms up */
  if (l->p->is_emulated) return bench_exactly(bench_load_once(l, c));
  if (first > 1 && n > 3) n = 3;
  for (int i = 0; i < n; i++) all[i] = bench_load_once(l, c);
  return bench_centre_by_order(all, n);
}

/* ---- bytes ---- */

static void fill_words(uint64_t *words, int64_t n, uint64_t seed)
{
  uint64_t x = bench_random(&seed);
  for (int64_t i = 0; i < n; i++) words[i] = x += 0x9e3779b97f4a7c15u;
}

static void move(const bench_load *l, int device, void *to, const void *from, int64_t bytes)
{
  bench_need_grove(l->p->driver->copy(device, NULL, to, from, bytes));
  bench_need_grove(l->p->driver->finish(device, NULL));
}

/* The target is cleared first: what is not copied is found. */
static void prepare_way(const bench_load *l, int way, uint64_t *words, uint64_t *none)
{
  int ends[2] = {l->from, l->to};
  int64_t all = l->nbuffers * l->bytes;
  fill_words(words, (all + 7) / 8, (uint64_t)(all + way));
  move(l, ends[way], l->src[way], words, all);
  move(l, ends[1 - way], l->dst[way], none, all);
}

static int count_wrong(const bench_load *l, const uint64_t *words, uint64_t *found, int way)
{
  int ends[2] = {l->from, l->to}, wrong = 0;
  move(l, ends[1 - way], found, l->dst[way], l->nbuffers * l->bytes);
  if (l->p->s->sabotage) ((char *)found)[l->bytes / 2] ^= 1;
  for (int k = 0; k < l->nbuffers; k++)
    wrong += memcmp((const char *)words + k * l->bytes, (char *)found + k * l->bytes,
                    (size_t)l->bytes) != 0;
  return wrong;
}

int bench_load_check(bench_load *l, grove_copier *c)
{
  size_t room = (size_t)((l->nbuffers * l->bytes + 7) / 8);
  uint64_t *words[2] = {NULL, NULL}, *other = bench_alloc(room, 8);
  int wrong = 0;
  bench_place_moves(l->p, 1);
  for (int i = 0; i < l->ways; i++) {
    words[i] = bench_alloc(room, 8);
    prepare_way(l, i, words[i], other);
  }
  bench_load_once(l, c);
  for (int i = 0; i < l->ways; i++) {
    wrong += count_wrong(l, words[i], other, i);
    free(words[i]);
  }
  free(other);
  bench_place_moves(l->p, 0);
  return wrong;
}

/* ---- what the model says ---- */

/* One copy each way. */
static grove_copies *new_set(const bench_load *l, const grove_machine *m, const char *paths)
{
  grove_copies *set = bench_alloc(1, sizeof *set);
  double bytes = (double)l->bytes;
  bench_need_grove(grove_copies_add(set, m, l->from, l->to, bytes, paths));
  if (l->ways == 2) bench_need_grove(grove_copies_add(set, m, l->to, l->from, bytes, paths));
  return set;
}

double bench_load_best(const bench_load *l, const grove_machine *m, const char *paths)
{
  grove_split splits[2];
  grove_copies *set = new_set(l, m, paths);
  int binds = -1;
  bench_need_grove(grove_multipath_solve(set, GROVE_SOLVER_EXACT, splits));
  double seconds = grove_resources_check(set, splits, &binds);
  free(set);
  return seconds * l->window;
}

/* Copies of both ways are decided apart, and share what they meet. */
static double predict_split(const grove_copies *set)
{
  grove_split splits[2];
  grove_copies *one = bench_alloc(1, sizeof *one);
  int binds = -1;
  for (int i = 0; i < set->count; i++) {
    *one = *set;
    one->count = 1;
    one->copy[0] = set->copy[i];
    bench_need_grove(grove_multipath_solve(one, GROVE_SOLVER_EXACT, &splits[i]));
  }
  free(one);
  return grove_resources_check(set, splits, &binds);
}

/* The second copy does not go by the host if the first does. */
static void add_copy(grove_copies *set, grove_copier *c, const grove_copy_pair *pair, int64_t bytes)
{
  const grove_copy_route *route = pair->route;
  if (set->count > 0 && route->apart) route = route->apart;
  bench_need_grove(
    grove_copies_add(set, c->machine, pair->from, pair->to, (double)bytes, route->list));
}

double bench_load_predict(const bench_load *l, grove_copier *c)
{
  grove_copy_pair *pair = NULL;
  double seconds = 0, single = 0;
  bench_need_grove(grove_copy_pair_find(c, l->from, l->to, &pair));
  if (l->ways == 1) {
    bench_need_grove(grove_copy_pair_predict(c, pair, l->bytes, &seconds, &single));
    return seconds * l->window;
  }
  grove_copies *set = bench_alloc(1, sizeof *set);
  add_copy(set, c, pair, l->bytes);
  bench_need_grove(grove_copy_pair_find(c, l->to, l->from, &pair));
  add_copy(set, c, pair, l->bytes);
  seconds = grove_copy_route_decide(pair->route, l->bytes)
              ? predict_split(set)
              : grove_multipath_single(set, NULL, NULL);
  free(set);
  return seconds * l->window + (l->window == 1 ? l->last_begin : 0);
}
