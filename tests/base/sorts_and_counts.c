/* Orders of keys, and lists that name values several times, against the obvious loops; and lists
 * that grow, which keep what they have. */
#include "base/distinct.h"
#include "base/order.h"
#include "check.h"
#include "random.h"

#include <stdlib.h>

enum { MOST = 2000 };

static void check_order(int64_t n, const int64_t *key)
{
  int32_t *order = NULL;
  char *seen = calloc((size_t)n + 1, 1);
  CHECK_OK(grove_order_create(n, key, &order));
  int ascends = 1;
  for (int64_t i = 0; i < n; i++) {
    CHECK(order[i] >= 0 && order[i] < n && !seen[order[i]], "no permutation at %lld", (long long)i);
    seen[order[i]] = 1;
    if (i > 0) {
      int64_t a = key[order[i - 1]], b = key[order[i]];
      CHECK(a < b || (a == b && order[i - 1] < order[i]), "%lld before %lld", (long long)a,
            (long long)b);
      ascends = ascends && key[i - 1] <= key[i];
    }
  }
  CHECK(grove_order_ascends(n, key) == ascends, "ascending or not");
  free(seen);
  free(order);
}

/* The values themselves, each once: as many as `distinct`, all of the list, ascending. */
static void check_sorted(int64_t n, const int64_t *key)
{
  int32_t *order = NULL;
  int64_t count = n, at = 0, *values = malloc((size_t)(n + 1) * sizeof *values);
  for (int64_t i = 0; i < n; i++) values[i] = key[i];
  CHECK_OK(grove_distinct_sort(&count, values));
  CHECK_OK(grove_order_create(n, key, &order));
  for (int64_t i = 0; i < n; i++) {
    if (i > 0 && key[order[i]] == key[order[i - 1]]) continue;
    CHECK(at < count && values[at] == key[order[i]], "value %lld", (long long)at);
    at++;
  }
  CHECK(at == count, "%lld values, not %lld", (long long)count, (long long)at);
  for (int64_t i = 0; i <= count; i++) {
    int64_t limit = i < count ? values[i] : INT64_MAX;
    CHECK(grove_order_below(count, values, limit) == i, "%lld are below %lld", (long long)i,
          (long long)limit);
  }
  free(values);
  free(order);
}

static void check_distinct(int64_t n, const int64_t *key)
{
  grove_index list = {0};
  int32_t *number = need(((size_t)n + 1) * sizeof *number);
  int64_t count = 0, numbered = 0, next = 0;
  CHECK_OK(grove_index_create(n, key, &list));
  CHECK_OK(grove_distinct_count(&list, &count));
  CHECK_OK(grove_distinct_number(&list, number, &numbered));
  for (int64_t i = 0; i < n; i++) {
    int64_t first = 0;
    while (key[first] != key[i]) first++;
    int64_t expected = first == i ? next++ : number[first];
    CHECK(number[i] == expected, "entry %lld is number %d, not %lld", (long long)i, number[i],
          (long long)expected);
  }
  CHECK(count == next && numbered == next, "%lld and %lld different values, not %lld",
        (long long)count, (long long)numbered, (long long)next);
  grove_index_free(&list);
  free(number);
}

/* Grown as GROVE_GROW does, by any number of items at a time, and cut now and then. */
static void check_growth(rng *r)
{
  int64_t *list = NULL, n = 0;
  for (int round = 0; round < 40; round++) {
    int64_t more = rng_below(r, 3) ? 1 : rng_below(r, 50);
    CHECK(grove_grow(&list, n, more, sizeof *list), "no memory for %lld numbers",
          (long long)(n + more));
    for (int64_t end = n + more; n < end; n++) list[n] = 7 * n;
    for (int64_t i = 0; i < n; i++)
      CHECK(list[i] == 7 * i, "item %lld is %lld", (long long)i, (long long)list[i]);
    if (rng_below(r, 10) == 0) n = rng_below(r, n + 1);
  }
  CHECK(!grove_grow(&list, n, INT64_MAX / 16 + 1, sizeof *list), "more bytes than there are");
  free(list);
}

int main(int argc, char **argv)
{
  static const int64_t ranges[] = {1, 3, 100, 5000, (int64_t)1 << 33, INT64_MAX / 2};
  int64_t *key = NULL;
  test_begin(&argc, &argv, "base/sorts_and_counts");
  key = need(MOST * sizeof *key);
  for (int64_t i = 0; i < test_samples(120); i++) {
    test_case(i);
    rng r = rng_from(test_seed(), (uint64_t)i);
    int64_t n = i < 4 ? i : rng_below(&r, i % 3 ? 200 : MOST);
    int64_t range = ranges[i % 6];
    for (int64_t k = 0; k < n; k++) key[k] = i % 5 == 0 ? k * (range / MOST) : rng_below(&r, range);
    check_order(n, key);
    check_distinct(n, key);
    check_sorted(n, key);
    check_growth(&r);
  }
  free(key);
  return test_end();
}
