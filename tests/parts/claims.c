/* Which places were claimed: ranges of any length, on either side of the edges of words and of what
 * lies above them, places that were claimed before, and threads that claim at once. A place has one
 * winner; a call that is refused leaves nothing behind. */
#include "parts/claims.h"
#include "check.h"
#include "random.h"
#include "threads.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PLACES = 150000, MOST_THREADS = 8 };

static char claimed[MOST_PLACES];

static grove_claims *made(int64_t n)
{
  grove_claims *c = NULL;
  CHECK_OK(grove_claims_create(n, &c));
  CHECK(c != NULL, "claims that were made are NULL");
  return c;
}

static void begin(grove_claims *c, int64_t n)
{
  grove_claims_begin(c);
  memset(claimed, 0, (size_t)n);
}

/* Those that are claimed are these. */
static void are_claimed(const grove_claims *c, int64_t n)
{
  for (int64_t i = 0; i < n; i++)
    CHECK(grove_claims_has(c, i) == claimed[i], "place %lld of %lld: %d, not %d", (long long)i,
          (long long)n, grove_claims_has(c, i), claimed[i]);
}

/* -1, or the place that stands in the way. */
static int64_t first_of(int64_t first, int64_t count)
{
  for (int64_t i = first; i < first + count; i++)
    if (claimed[i]) return i;
  return -1;
}

static void take(grove_claims *c, int64_t first, int64_t count)
{
  int64_t expected = first_of(first, count), got = grove_claims_take(c, first, count);
  CHECK(got == expected, "%lld places from %lld: place %lld stands in the way, not %lld",
        (long long)count, (long long)first, (long long)got, (long long)expected);
  if (got < 0) memset(claimed + first, 1, (size_t)count);
}

/* Of all lengths alike, by powers of two, and as many as there are. */
static int64_t draw_count(rng *r, int64_t room)
{
  int64_t most = INT64_C(1) << rng_below(r, 18);
  return rng_one_in(r, 12) ? room : rng_between(r, 0, most < room ? most : room);
}

/* ---- one thread ---- */

/* Every range between these numbers, alone and with one place taken before. */
static void edges(int64_t n, int64_t word)
{
  const int64_t at[] = {
    0,        1,        word - 1,     word,         word + 1,           2 * word - 1,
    2 * word, 3 * word, 3 * word + 1, 4 * word - 1, 4 * word + word / 2};
  int64_t in_way[] = {-1, 0, word - 1, word, 2 * word + word / 2, n - 1};
  grove_claims *c = made(n);
  memset(claimed, 0, (size_t)n);
  for (size_t i = 0; i < sizeof at / sizeof *at; i++)
    for (size_t k = i; k < sizeof at / sizeof *at && at[k] <= n; k++)
      for (size_t j = 0; j < sizeof in_way / sizeof *in_way; j++) {
        begin(c, n);
        if (in_way[j] >= n) continue;
        if (in_way[j] >= 0) take(c, in_way[j], 1);
        take(c, at[i], at[k] - at[i]);
        if (n <= 1000) are_claimed(c, n);
        take(c, at[i], n - at[i]);
        take(c, 0, n);
        if (n <= 1000 || i + k + j == 12) are_claimed(c, n);
      }
  grove_claims_free(&c);
  CHECK(c == NULL, "freed claims are not NULL");
}

/* The first place in the way is named, be it in the first word of the range or in the last. */
static void first_in_the_way(int64_t unit)
{
  grove_claims *c = made(30 * unit);
  memset(claimed, 0, (size_t)(30 * unit));
  take(c, 25 * unit, 3);
  CHECK(grove_claims_take(c, 0, 30 * unit) == 25 * unit, "the last word");
  take(c, 7 * unit, 1);
  CHECK(grove_claims_take(c, 0, 30 * unit) == 7 * unit, "a word between");
  CHECK(grove_claims_take(c, 7 * unit + 1, 20 * unit) == 25 * unit, "behind it");
  CHECK(grove_claims_take(c, 25 * unit + 2, 4 * unit) == 25 * unit + 2, "the first place");
  CHECK(grove_claims_take(c, 10 * unit, 0) == -1 && grove_claims_take(c, 7 * unit, 0) == -1,
        "no places");
  are_claimed(c, 30 * unit);
  take(c, 8 * unit, 17 * unit); /* as a whole, and then asked for by places */
  for (int64_t i = 8 * unit; i < 25 * unit; i += unit / 2 + 1) take(c, i, 1);
  take(c, 24 * unit - 1, 2);
  are_claimed(c, 30 * unit);
  begin(c, 30 * unit);
  are_claimed(c, 30 * unit);
  take(c, 0, 30 * unit);
  are_claimed(c, 30 * unit);
  grove_claims_free(&c);
}

static void no_places(void)
{
  grove_claims *c = made(0);
  CHECK(grove_claims_take(c, 0, 0) == -1, "no places");
  grove_claims_begin(c);
  grove_claims_free(&c);
  grove_claims_free(&c);
}

static void at_random(rng *r)
{
  static const int64_t most[] = {700, 700, 5000, MOST_PLACES};
  int64_t n = rng_between(r, 1, most[rng_below(r, 4)]), every = n > 5000 ? 60 : 12;
  grove_claims *c = made(n);
  for (int round = 0; round < 3; round++) {
    begin(c, n);
    for (int64_t i = 0; i < 60; i++) {
      int64_t first = rng_below(r, n);
      take(c, first, draw_count(r, n - first));
      if (i % every == 0) are_claimed(c, n);
    }
    are_claimed(c, n);
  }
  grove_claims_free(&c);
}

/* ---- threads ---- */

typedef struct race {
  grove_claims *c;
  uint64_t seed;
  int64_t n;
  int threads;
  int here;        /* threads that have begun: atomic */
  char *wins;      /* of each place: atomic */
  int64_t *begin;  /* of ranges that are dealt out, ... */
  int64_t nranges; /* ... so many */
} race;

/* All begin at once. */
static void line_up(race *x)
{
  __atomic_fetch_add(&x->here, 1, __ATOMIC_RELAXED);
  while (__atomic_load_n(&x->here, __ATOMIC_RELAXED) < x->threads) sched_yield();
}

/* Ranges that overlap those of the others: who is told that nothing stood in the way has them all,
 * and has them alone. */
static void claim_anything(int number, void *self)
{
  race *x = self;
  rng r = rng_from(x->seed, (uint64_t)number);
  line_up(x);
  for (int i = 0; i < 40; i++) {
    int64_t first = rng_below(&r, x->n), count = draw_count(&r, x->n - first);
    if (count == 0) continue;
    int64_t in_way = grove_claims_take(x->c, first, count);
    CHECK(in_way == -1 || (in_way >= first && in_way < first + count),
          "place %lld of %lld and %lld more", (long long)in_way, (long long)first,
          (long long)count);
    if (in_way >= 0) continue;
    for (int64_t k = first; k < first + count; k++) {
      char before = __atomic_fetch_add(&x->wins[k], 1, __ATOMIC_RELAXED);
      CHECK(before == 0, "place %lld has two winners", (long long)k);
      CHECK(grove_claims_has(x->c, k), "place %lld is not claimed", (long long)k);
    }
  }
}

/* Nothing is held by who was refused. */
static void overlapping(race *x)
{
  in_threads(x->threads, claim_anything, x);
  for (int64_t k = 0; k < x->n; k++) {
    CHECK(grove_claims_has(x->c, k) == x->wins[k], "place %lld has %d winners", (long long)k,
          x->wins[k]);
    CHECK((grove_claims_take(x->c, k, 1) == -1) == !x->wins[k], "place %lld can be claimed again",
          (long long)k);
  }
}

/* Ranges are dealt to threads in turn. Each claims its own, one after the other, and now and then a
 * range around one that it has: that is refused, and makes nobody else's claim look wrong. */
static void claim_own(int number, void *self)
{
  race *x = self;
  rng r = rng_from(x->seed, 100 + (uint64_t)number);
  line_up(x);
  for (int64_t k = number; k < x->nranges; k += x->threads) {
    int64_t begins = x->begin[k], ends = x->begin[k + 1];
    int64_t in_way = grove_claims_take(x->c, begins, ends - begins);
    CHECK(in_way == -1, "place %lld is another's", (long long)in_way);
    if (!rng_one_in(&r, 2)) continue;
    int64_t first = rng_below(&r, begins + 1), end = rng_between(&r, begins + 1, x->n);
    in_way = grove_claims_take(x->c, first, end - first);
    CHECK(in_way >= first && in_way <= begins, "place %lld, not one up to %lld", (long long)in_way,
          (long long)begins);
  }
}

/* Single places, or ranges of any length. */
static void deal(race *x, rng *r, int singles)
{
  x->nranges = 0;
  for (int64_t at = 0; at < x->n;) {
    x->begin[x->nranges++] = at;
    int64_t count = singles ? 1 : draw_count(r, (x->n - at + 3) / 4);
    at += count > 0 ? count : 1;
  }
  x->begin[x->nranges] = x->n;
}

static void beside_mistakes(race *x)
{
  grove_claims_begin(x->c);
  x->here = 0;
  in_threads(x->threads, claim_own, x);
  for (int64_t k = 0; k < x->n; k++)
    CHECK(grove_claims_has(x->c, k), "place %lld is lost", (long long)k);
}

static void try_threads(int64_t number)
{
  static const int64_t most[] = {90, 700, 5000, MOST_PLACES};
  rng r = rng_from(test_seed(), (uint64_t)number);
  race x = {.seed = rng_next(&r),
            .n = rng_between(&r, 1, most[number % 16 == 15 ? 3 : number % 3])};
  x.threads = (int)rng_between(&r, 2, MOST_THREADS);
  x.c = made(x.n);
  x.wins = memset(need((size_t)x.n), 0, (size_t)x.n);
  x.begin = need((size_t)(x.n + 1) * sizeof *x.begin);
  deal(&x, &r, x.n < 1000 && number % 2);
  overlapping(&x);
  beside_mistakes(&x);
  grove_claims_free(&x.c);
  free(x.wins);
  free(x.begin);
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "parts/claims");
  rng r = rng_from(test_seed(), 0);
  for (int64_t n = 64; n <= 300; n += 59) edges(n, 64);
  edges(320, 64);
  edges(4 * 2048 + 1024, 2048); /* a word above words */
  edges(4 * 2048 + 1025, 2048);
  edges(2 * 65536 + 1, 65536 / 2);
  first_in_the_way(10);
  first_in_the_way(64);
  first_in_the_way(4000);
  no_places();
  for (int64_t i = 0; i < test_samples(200); i++) {
    test_case(i);
    at_random(&r);
    try_threads(i);
  }
  return test_end();
}
