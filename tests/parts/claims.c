/* Which places were claimed: ranges on either side of the edges of words, places that were claimed
 * before, and threads that claim at once. A place has one winner; a call that is refused leaves
 * nothing behind. */
#include "parts/claims.h"
#include "check.h"
#include "random.h"
#include "threads.h"

#include <sched.h>
#include <string.h>

enum { MOST_PLACES = 700, MOST_THREADS = 8 };

static grove_claims *made(int64_t n)
{
  grove_claims *c = NULL;
  CHECK_OK(grove_claims_create(n, &c));
  CHECK(c != NULL, "claims that were made are NULL");
  return c;
}

/* Those that are claimed are these. */
static void are_claimed(const grove_claims *c, const char *expected, int64_t n)
{
  for (int64_t i = 0; i < n; i++)
    CHECK(grove_claims_has(c, i) == expected[i], "place %lld of %lld: %d, not %d", (long long)i,
          (long long)n, grove_claims_has(c, i), expected[i]);
}

/* -1, or the place that stands in the way. */
static int64_t first_of(const char *claimed, int64_t first, int64_t count)
{
  for (int64_t i = first; i < first + count; i++)
    if (claimed[i]) return i;
  return -1;
}

static void take(grove_claims *c, char *claimed, int64_t first, int64_t count)
{
  int64_t expected = first_of(claimed, first, count), got = grove_claims_take(c, first, count);
  CHECK(got == expected, "%lld places from %lld: place %lld stands in the way, not %lld",
        (long long)count, (long long)first, (long long)got, (long long)expected);
  if (got < 0) memset(claimed + first, 1, (size_t)count);
}

/* ---- one thread ---- */

/* Every range of few places around the edges of words, alone and with one place taken before. */
static void edges(int64_t n)
{
  static const int64_t at[] = {0, 1, 62, 63, 64, 65, 127, 128, 129, 191, 192, 193};
  grove_claims *c = made(n);
  for (size_t i = 0; i < sizeof at / sizeof *at; i++)
    for (size_t k = i; k < sizeof at / sizeof *at && at[k] <= n; k++)
      for (int64_t before = -1; before < n; before += n / 3 + 1) {
        char claimed[MOST_PLACES] = {0};
        grove_claims_begin(c);
        if (before >= 0) take(c, claimed, before, 1);
        take(c, claimed, at[i], at[k] - at[i]);
        are_claimed(c, claimed, n);
        take(c, claimed, 0, n);
        are_claimed(c, claimed, n);
      }
  grove_claims_free(&c);
  CHECK(c == NULL, "freed claims are not NULL");
}

/* The first place in the way is named, be it in the first word of the range or in the last. */
static void first_in_the_way(void)
{
  grove_claims *c = made(300);
  char claimed[300] = {0};
  take(c, claimed, 250, 3);
  CHECK(grove_claims_take(c, 0, 300) == 250, "the last word");
  take(c, claimed, 70, 1);
  CHECK(grove_claims_take(c, 0, 300) == 70, "a word between");
  CHECK(grove_claims_take(c, 71, 200) == 250, "behind it");
  CHECK(grove_claims_take(c, 252, 48) == 252, "the first place");
  CHECK(grove_claims_take(c, 100, 0) == -1 && grove_claims_take(c, 70, 0) == -1, "no places");
  are_claimed(c, claimed, 300);
  grove_claims_begin(c);
  memset(claimed, 0, sizeof claimed);
  are_claimed(c, claimed, 300);
  take(c, claimed, 0, 300);
  are_claimed(c, claimed, 300);
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
  int64_t n = rng_between(r, 1, MOST_PLACES);
  grove_claims *c = made(n);
  for (int round = 0; round < 3; round++) {
    char claimed[MOST_PLACES] = {0};
    grove_claims_begin(c);
    for (int i = 0; i < 60; i++) {
      int64_t first = rng_below(r, n), most = rng_one_in(r, 3) ? n - first : 3;
      take(c, claimed, first, rng_between(r, 0, most < n - first ? most : n - first));
      if (i % 10 == 0) are_claimed(c, claimed, n);
    }
    are_claimed(c, claimed, n);
  }
  grove_claims_free(&c);
}

/* ---- threads ---- */

typedef struct race {
  grove_claims *c;
  uint64_t seed;
  int64_t n;
  int threads;
  int here;              /* threads that have begun: atomic */
  int wins[MOST_PLACES]; /* atomic */
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
    int64_t first = rng_below(&r, x->n), most = rng_one_in(&r, 4) ? x->n - first : 9;
    int64_t count = rng_between(&r, 1, most < x->n - first ? most : x->n - first);
    int64_t in_way = grove_claims_take(x->c, first, count);
    CHECK(in_way == -1 || (in_way >= first && in_way < first + count),
          "place %lld of %lld and %lld more", (long long)in_way, (long long)first,
          (long long)count);
    if (in_way >= 0) continue;
    for (int64_t k = first; k < first + count; k++) {
      int before = __atomic_fetch_add(&x->wins[k], 1, __ATOMIC_RELAXED);
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

/* The places of a thread are those with its number; every word has places of all. It claims one
 * after the other, and again and again a range around one that it has: that is refused, and makes
 * nobody else's claim look wrong. */
static void claim_own(int number, void *self)
{
  race *x = self;
  rng r = rng_from(x->seed, 100 + (uint64_t)number);
  line_up(x);
  for (int64_t k = number; k < x->n; k += x->threads) {
    int64_t in_way = grove_claims_take(x->c, k, 1);
    CHECK(in_way == -1, "place %lld is another's", (long long)in_way);
    if (!rng_one_in(&r, 2)) continue;
    int64_t first = rng_below(&r, k + 1), end = rng_between(&r, k + 1, x->n);
    in_way = grove_claims_take(x->c, first, end - first);
    CHECK(in_way >= first && in_way <= k, "place %lld, not one up to %lld", (long long)in_way,
          (long long)k);
  }
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
  rng r = rng_from(test_seed(), (uint64_t)number);
  race x = {.seed = rng_next(&r), .n = rng_between(&r, 1, number % 2 ? 90 : MOST_PLACES)};
  x.threads = (int)rng_between(&r, 2, MOST_THREADS);
  x.c = made(x.n);
  overlapping(&x);
  beside_mistakes(&x);
  grove_claims_free(&x.c);
}

int main(int argc, char **argv)
{
  static const int64_t sizes[] = {64, 65, 128, 191, 192, 193, 256, 300};
  test_begin(&argc, &argv, "parts/claims");
  rng r = rng_from(test_seed(), 0);
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) edges(sizes[i]);
  first_in_the_way();
  no_places();
  for (int64_t i = 0; i < test_samples(200); i++) {
    test_case(i);
    at_random(&r);
    try_threads(i);
  }
  return test_end();
}
