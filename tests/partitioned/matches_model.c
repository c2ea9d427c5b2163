/* Random channels between random ranks, all under way at once and beside operations on a forest:
 * unequal parts whose boundaries do not align, different types at the two ends, buffers of every
 * kind, marks in any order and in runs, ends waited for in any order. Every byte is known, those in
 * gaps and margins too. */
#include "channel.h"
#include "check.h"
#include "errand.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_LINES = 24, MOST_PARTS = 300, LARGE_BYTES = 4 << 20 };

/* A channel, as both ranks know it. */
typedef struct shape {
  const unit *u;
  int parts;
  int64_t count;
  int allocated; /* the buffer is memory of grove_alloc */
} shape;

typedef struct line {
  int from, to, tag;
  uint64_t seed;
  shape end[2]; /* the receiver's, the sender's */
} line;

/* An end on this rank. */
typedef struct end {
  int line;
  channel c;
  char *told; /* a receiver's parts */
  int64_t ntold;
} end;

typedef struct scene {
  const place *p;
  int nlines;
  line line[MOST_LINES];
  int nends;
  end end[2 * MOST_LINES];
  char *shared;  /* of grove_alloc */
  errand beside; /* where all ranks are here: its forest joins them */
} scene;

/* ---- drawing, the same on every rank ---- */

static int64_t size_of(const unit *u)
{
  int size;
  MPI_Type_size(u->type, &size);
  return size;
}

static int64_t common_multiple(int64_t a, int64_t b)
{
  int64_t x = a, y = b;
  while (y != 0) {
    int64_t t = x % y;
    x = y;
    y = t;
  }
  return a / x * b;
}

/* Parts that divide the units. */
static shape draw_shape(rng *r, const unit *u, int64_t bytes)
{
  int64_t n = bytes / size_of(u);
  shape s = {.u = u, .allocated = rng_one_in(r, 3)};
  if (n == 0) {
    int empty = rng_one_in(r, 2);
    s.parts = empty ? 0 : (int)rng_between(r, 1, 4);
    s.count = empty ? rng_below(r, 3) : 0;
    return s;
  }
  s.parts = (int)rng_between(r, 1, n < MOST_PARTS ? n : MOST_PARTS);
  while (n % s.parts != 0) s.parts--;
  s.count = n / s.parts;
  return s;
}

/* A product of small primes, so that there are many ways to cut it. */
static int64_t draw_bytes(rng *r, int64_t multiple)
{
  static const int prime[] = {2, 3, 5, 7, 2, 3};
  static const int64_t most[] = {64, 1000, 1000, 8000, 40000, 300000};
  if (rng_one_in(r, 12)) return 0;
  int64_t limit = rng_one_in(r, 60) ? LARGE_BYTES : most[rng_below(r, 6)], bytes = multiple;
  for (int64_t p = prime[rng_below(r, 6)]; bytes * p <= limit; p = prime[rng_below(r, 6)])
    bytes *= p;
  return bytes;
}

static int fits(const unit *u, int64_t bytes)
{
  return u->most_slots == 0 || bytes / size_of(u) <= u->most_slots;
}

static line draw_line(rng *r, const units *types, int nranks)
{
  line x = {.from = (int)rng_below(r, nranks), .to = (int)rng_below(r, nranks)};
  const unit *u[2];
  int64_t bytes;
  x.tag = (int)rng_below(r, 4);
  x.seed = rng_next(r);
  do {
    for (int i = 0; i < 2; i++) u[i] = channel_unit(types, (int)rng_below(r, CHANNEL_UNITS));
    bytes = draw_bytes(r, common_multiple(size_of(u[0]), size_of(u[1])));
  } while (!fits(u[0], bytes) || !fits(u[1], bytes));
  for (int i = 0; i < 2; i++) x.end[i] = draw_shape(r, u[i], bytes);
  return x;
}

static void draw_options(const place *p, rng *r)
{
  static const char *const aggregator[] = {"auto", "none", "ploggp", "timer", "adaptive"};
  static const char *const delta[] = {"auto", "0", "0.00001", "0.001"};
  static const char *const least[] = {"0", "0", "100", "5000"};
  static const char *const most[] = {"0", "0", "1", "3"};
  place_set(p, "aggregator", aggregator[rng_below(r, 5)]);
  place_set(p, "delta", delta[rng_below(r, 4)]);
  place_set(p, "min_message", least[rng_below(r, 4)]);
  place_set(p, "max_messages", most[rng_below(r, 4)]);
}

/* ---- making ---- */

static int same_key(const line *a, const line *b)
{
  return a->from == b->from && a->to == b->to && a->tag == b->tag;
}

/* The ends on this rank in an order of its own; those of one pair and tag in that of the lines. */
static void list_ends(scene *s, rng *mine)
{
  int64_t order[2 * MOST_LINES];
  int n = 0;
  for (int i = 0; i < 2 * s->nlines; i++) {
    const line *x = &s->line[i / 2];
    if ((i % 2 ? x->from : x->to) == s->p->rank) order[n++] = i;
  }
  rng_shuffle(mine, n, order);
  for (int a = 0; a < n; a++)
    for (int b = a + 1; b < n; b++)
      if (order[a] % 2 == order[b] % 2 && order[a] > order[b] &&
          same_key(&s->line[order[a] / 2], &s->line[order[b] / 2])) {
        int64_t t = order[a];
        order[a] = order[b];
        order[b] = t;
      }
  s->nends = n;
  for (int i = 0; i < n; i++) {
    const line *x = &s->line[order[i] / 2];
    int sends = (int)(order[i] % 2);
    const shape *e = &x->end[sends];
    channel c = {.ctx = s->p->ctx, .sends = sends, .peer = sends ? x->to : x->from, .tag = x->tag};
    c.parts = e->parts;
    c.count = e->count;
    c.u = e->u;
    c.seed = x->seed;
    s->end[i] = (end){.line = (int)(order[i] / 2), .c = c};
  }
}

static size_t line_up(size_t bytes)
{
  return (bytes + 63) / 64 * 64;
}

static int is_allocated(const scene *s, const end *e)
{
  return s->line[e->line].end[e->c.sends].allocated;
}

/* Every rank has one piece of it, for all its ends. */
static void lend_memory(scene *s)
{
  size_t bytes = 0, at = 0;
  void *memory = NULL;
  for (int i = 0; i < s->nends; i++)
    if (is_allocated(s, &s->end[i])) bytes += line_up(channel_room(&s->end[i].c));
  CHECK_OK(grove_alloc(s->p->ctx, bytes, &memory));
  s->shared = memory;
  for (int i = 0; i < s->nends; i++) {
    if (!is_allocated(s, &s->end[i])) continue;
    s->end[i].c.lent = s->shared + at;
    at += line_up(channel_room(&s->end[i].c));
  }
}

static void open_scene(scene *s, rng *mine)
{
  list_ends(s, mine);
  lend_memory(s);
  for (int i = 0; i < s->nends; i++) {
    channel_open(&s->end[i].c);
    s->end[i].told = need((size_t)s->end[i].c.parts);
  }
  if (s->p->size < world_size()) return;
  s->beside = (errand){.n = 40, .step = 7, .width = 1, .unit = MPI_INT64_T};
  s->beside.forest = errand_forest(s->p->ctx, s->beside.n, s->beside.step);
  errand_open(&s->beside, s->p->comm);
  errand_init(&s->beside);
}

static void close_scene(scene *s, rng *mine)
{
  int64_t order[2 * MOST_LINES];
  for (int i = 0; i < s->nends; i++) order[i] = i;
  rng_shuffle(mine, s->nends, order);
  for (int i = 0; i < s->nends; i++) {
    channel_close(&s->end[order[i]].c);
    free(s->end[order[i]].told);
  }
  CHECK_OK(grove_dealloc(s->p->ctx, s->shared));
  if (s->beside.op == NULL) return;
  CHECK_OK(grove_forest_free(&s->beside.forest));
  errand_close(&s->beside);
}

/* ---- a round ---- */

/* What has come: every part once. */
static void take_arrivals(end *e)
{
  int64_t first = -1, count = -1;
  CHECK_OK(grove_arrivals(e->c.op, &first, &count));
  if (count == 0) return;
  CHECK(first >= 0 && count > 0 && first + count <= e->c.parts, "parts %lld, %lld of %d",
        (long long)first, (long long)count, e->c.parts);
  for (int64_t i = first; i < first + count; i++) {
    CHECK(!e->told[i], "part %lld is told twice", (long long)i);
    e->told[i] = 1;
  }
  e->ntold += count;
  channel_check_parts(&e->c, first, count);
}

/* Something that makes no difference. */
static void meddle(scene *s, rng *mine)
{
  end *e = &s->end[rng_below(mine, s->nends)];
  int yes = 0;
  if (e->c.sends || e->c.parts == 0) return;
  if (rng_one_in(mine, 2)) {
    take_arrivals(e);
    return;
  }
  int64_t first = rng_below(mine, e->c.parts), count = rng_between(mine, 1, e->c.parts - first);
  CHECK_OK(grove_arrived(e->c.op, first, count, &yes));
  if (yes) channel_check_parts(&e->c, first, count);
}

typedef struct mark {
  int end;
  int64_t first, count;
} mark;

/* Parts of all senders, in runs of one to many. */
static mark *draw_marks(scene *s, rng *mine, int64_t *n)
{
  int64_t most = 0;
  for (int i = 0; i < s->nends; i++) most += s->end[i].c.sends ? s->end[i].c.parts : 0;
  mark *list = need((size_t)most * sizeof *list);
  *n = 0;
  for (int i = 0; i < s->nends; i++) {
    int64_t longest = rng_one_in(mine, 3) ? s->end[i].c.parts : rng_between(mine, 1, 4);
    for (int64_t first = 0, count; s->end[i].c.sends && first < s->end[i].c.parts; first += count) {
      count = rng_between(mine, 1, longest);
      if (count > s->end[i].c.parts - first) count = s->end[i].c.parts - first;
      list[(*n)++] = (mark){i, first, count};
    }
  }
  return list;
}

static void mark_all(scene *s, rng *mine)
{
  int64_t n;
  mark *list = draw_marks(s, mine, &n);
  for (int64_t i = n - 1; i >= 0; i--) {
    int64_t j = rng_below(mine, i + 1);
    mark m = list[j];
    list[j] = list[i];
    channel_ready(&s->end[m.end].c, m.first, m.count);
    if (rng_one_in(mine, 8)) meddle(s, mine);
  }
  free(list);
}

static void finish(end *e, rng *mine)
{
  switch (e->c.sends ? rng_below(mine, 2) : rng_below(mine, 4)) {
  case 0: channel_wait(&e->c); return;
  case 1: channel_poll(&e->c); return;
  case 2:
    while (e->ntold < e->c.parts) take_arrivals(e);
    channel_wait(&e->c);
    return;
  default: channel_await(&e->c, 0, e->c.parts); channel_wait(&e->c);
  }
}

static void run_round(scene *s, rng *mine)
{
  int64_t order[2 * MOST_LINES];
  for (int i = 0; i < s->nends; i++) order[i] = i;
  rng_shuffle(mine, s->nends, order);
  if (s->beside.op != NULL) {
    errand_fill(&s->beside);
    CHECK_OK(grove_start(s->beside.op));
  }
  for (int i = 0; i < s->nends; i++) {
    end *e = &s->end[order[i]];
    memset(e->told, 0, (size_t)e->c.parts);
    e->ntold = 0;
    channel_start(&e->c);
  }
  mark_all(s, mine); /* before any wait: others wait for it */
  int64_t pause = rng_below(mine, s->nends + 1);
  rng_shuffle(mine, s->nends, order);
  for (int i = 0; i <= s->nends; i++) {
    if (i == pause && s->beside.op != NULL) CHECK_OK(grove_wait(s->beside.op));
    if (i < s->nends) finish(&s->end[order[i]], mine);
  }
  if (s->beside.op != NULL) errand_check(&s->beside);
}

static void try_scene(const place *p, const units *types, int64_t number)
{
  static scene s;
  rng r = rng_from(test_seed(), (uint64_t)number);
  rng mine = rng_from(test_seed() + 1, (uint64_t)(number * 100 + p->rank));
  s = (scene){.p = p, .nlines = (int)rng_between(&r, 1, MOST_LINES)};
  for (int i = 0; i < s.nlines; i++) s.line[i] = draw_line(&r, types, p->size);
  draw_options(p, &r);
  open_scene(&s, &mine);
  for (int64_t rounds = rng_between(&r, 1, 4); rounds > 0; rounds--) run_round(&s, &mine);
  close_scene(&s, &mine);
}

/* ---- shapes worth their names ---- */

/* Three parts against seven, of one rank and the next; sizes from nothing to a few MiB. */
static void three_against_seven(const place *p, const units *types)
{
  static const int64_t units_of[] = {21, 21 * 100, 21 * 5000, 21 * 25000};
  int next = (p->rank + 1) % p->size, previous = (p->rank + p->size - 1) % p->size;
  for (int i = 0; i < 8; i++) {
    channel c[2];
    for (int k = 0; k < 2; k++) {
      c[k] = (channel){.ctx = p->ctx, .sends = k, .peer = k ? next : previous, .tag = 50};
      c[k].parts = (k + i) % 2 ? 3 : 7;
      c[k].count = units_of[i / 2] / c[k].parts;
      c[k].u = units_find(types, k ? "MPI_INT64_T" : "double before its slot");
      c[k].seed = mix2(test_seed(), (uint64_t)i);
      channel_open(&c[k]);
    }
    rng mine = rng_from(test_seed() + 2, (uint64_t)(i * 100 + p->rank));
    for (int round = 0; round < 3; round++) {
      for (int k = 0; k < 2; k++) channel_start(&c[k]);
      channel_ready_shuffled(&c[1], &mine);
      for (int k = 0; k < 2; k++) channel_wait(&c[k]);
    }
    for (int k = 0; k < 2; k++) channel_close(&c[k]);
  }
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "partitioned/matches_model");
  units *types = units_create();
  places all = places_create();
  int64_t samples = test_samples(30);
  for (int64_t i = 0; i < samples; i++) {
    test_case(i);
    try_scene(places_turn(&all, i), types, i);
  }
  test_case(samples);
  three_against_seven(&all.place[0], types);
  places_free(&all);
  units_free(types);
  return test_end();
}
