/* Compact lists: the same numbers as the plain list, in as little memory as their values allow, and
 * views that see what is consecutive. */
#include "base/index.h"
#include "check.h"
#include "random.h"

#include <stdlib.h>

enum form { CONSECUTIVE, NARROW, WIDE };

static const int64_t FAR = (int64_t)1 << 31; /* the first number that needs more than 32 bits */

static int follows(int64_t n, const int64_t *values)
{
  for (int64_t i = 1; i < n; i++)
    if (values[i] - values[i - 1] != 1) return 0;
  return 1;
}

/* The view has the numbers, owns nothing, and is consecutive exactly when they are. */
static void check_view(const grove_index *x, const int64_t *values, int64_t begin, int64_t count)
{
  grove_index v = grove_index_view(x, begin, count);
  CHECK(v.count == count, "a view of %lld has %lld", (long long)count, (long long)v.count);
  for (int64_t i = 0; i < count; i++)
    CHECK(grove_index_at(&v, i) == values[begin + i], "entry %lld of the view from %lld is %lld",
          (long long)i, (long long)begin, (long long)grove_index_at(&v, i));
  CHECK(grove_index_consecutive(&v) == follows(count, values + begin),
        "%lld entries from %lld on: consecutive is %d", (long long)count, (long long)begin,
        grove_index_consecutive(&v));
  if (grove_index_consecutive(&v)) return;
  CHECK(v.narrow == (x->narrow ? x->narrow + begin : NULL),
        "the view has 32-bit memory of its own");
  CHECK(v.wide == (x->wide ? x->wide + begin : NULL), "the view has 64-bit memory of its own");
}

static void check_list(int64_t n, const int64_t *values, enum form expected)
{
  grove_index x;
  CHECK_OK(grove_index_create(n, values, &x));
  CHECK(x.count == n, "%lld entries, not %lld", (long long)x.count, (long long)n);
  for (int64_t i = 0; i < n; i++)
    CHECK(grove_index_at(&x, i) == values[i], "entry %lld is %lld, not %lld", (long long)i,
          (long long)grove_index_at(&x, i), (long long)values[i]);
  CHECK(grove_index_consecutive(&x) == (expected == CONSECUTIVE), "consecutive: %d",
        grove_index_consecutive(&x));
  CHECK((x.narrow != NULL) == (expected == NARROW) && (x.wide != NULL) == (expected == WIDE),
        "%lld entries are not of form %d", (long long)n, expected);
  for (int64_t begin = 0; begin <= n && n <= 8; begin++)
    for (int64_t count = 0; begin + count <= n; count++) check_view(&x, values, begin, count);
  grove_index_free(&x);
  CHECK(x.count == 0 && !x.narrow && !x.wide, "a freed list is not empty");
  grove_index_free(&x);
}

#define CHECK_LIST(form, ...)                                                                      \
  do {                                                                                             \
    const int64_t values_[] = {__VA_ARGS__};                                                       \
    check_list((int64_t)(sizeof values_ / sizeof *values_), values_, form);                        \
  } while (0)

static void by_hand(void)
{
  check_list(0, NULL, CONSECUTIVE);
  CHECK_LIST(CONSECUTIVE, 0);
  CHECK_LIST(CONSECUTIVE, 17);
  CHECK_LIST(CONSECUTIVE, 5 * FAR); /* one number is a range, however large */
  CHECK_LIST(CONSECUTIVE, 3, 4, 5, 6);
  CHECK_LIST(CONSECUTIVE, FAR - 2, FAR - 1, FAR, FAR + 1);
  CHECK_LIST(CONSECUTIVE, -2, -1, 0, 1);
  CHECK_LIST(CONSECUTIVE, INT64_MAX - 2, INT64_MAX - 1, INT64_MAX);
  CHECK_LIST(NARROW, 3, 3);
  CHECK_LIST(NARROW, 4, 3, 2);
  CHECK_LIST(NARROW, 0, 1, 2, 4);
  CHECK_LIST(NARROW, 9, 1, 2, 3, 4, 5);
  CHECK_LIST(NARROW, 1, 2, 3, 4, 5, 9);
  CHECK_LIST(NARROW, 0, FAR - 1);
  CHECK_LIST(NARROW, -FAR, 0, FAR - 1);
  CHECK_LIST(WIDE, 0, FAR);
  CHECK_LIST(WIDE, -FAR - 1, 0);
  CHECK_LIST(WIDE, FAR, FAR + 1, FAR + 2, 0);
  CHECK_LIST(WIDE, 0, 1, 2, 3, INT64_MAX - 1);
}

/* Runs of consecutive numbers with jumps between them: what halos look like. */
static void draw(rng *r, int64_t n, int64_t *values, int64_t most)
{
  int64_t next = 0;
  for (int64_t i = 0; i < n; i++) {
    if (i == 0 || rng_one_in(r, 4)) next = rng_below(r, most);
    values[i] = next++;
  }
}

static void at_random(rng *r)
{
  int64_t n = rng_between(r, 1, 200), most = rng_one_in(r, 3) ? 64 * FAR : 1000;
  int64_t *values = need((size_t)n * sizeof *values), largest = 0;
  draw(r, n, values, most);
  for (int64_t i = 0; i < n; i++)
    if (values[i] > largest) largest = values[i];
  check_list(n, values, follows(n, values) ? CONSECUTIVE : largest < FAR ? NARROW : WIDE);
  grove_index x;
  CHECK_OK(grove_index_create(n, values, &x));
  for (int i = 0; i < 50; i++) {
    int64_t begin = rng_below(r, n + 1);
    check_view(&x, values, begin, rng_below(r, n - begin + 1));
  }
  grove_index_free(&x);
  free(values);
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "base/index_is_compact");
  by_hand();
  for (int64_t i = 0; i < test_samples(200); i++) {
    test_case(i);
    rng r = rng_from(test_seed(), (uint64_t)i);
    at_random(&r);
  }
  return test_end();
}
