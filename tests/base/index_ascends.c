/* Lists in ascending order, borrowed where they ascend, and how many of their entries are less than
 * a value. */
#include "base/index.h"
#include "check.h"
#include "random.h"

enum { MOST = 40 };

static const int64_t FAR = (int64_t)1 << 40;

/* Against a count of all, around every value. */
static void counts(const grove_index *x, const int64_t *values)
{
  for (int64_t i = 0; i < x->count; i++)
    for (int64_t value = values[i] - 2; value <= values[i] + 2; value++) {
      int64_t expected = 0;
      for (int64_t k = 0; k < x->count; k++) expected += values[k] < value;
      CHECK(grove_index_below(x, value) == expected,
            "%lld of %lld entries are below %lld, not %lld", (long long)expected,
            (long long)x->count, (long long)value, (long long)grove_index_below(x, value));
    }
}

/* `steps`: by how much entries may go up, or, if it is negative, down. */
static void at_random(rng *r, int64_t steps, int64_t far)
{
  int64_t n = rng_between(r, 0, MOST), values[MOST], at = 100;
  int ascends = 1, owned = 0;
  grove_index x = {0}, sorted = {0};
  for (int64_t i = 0; i < n; i++) {
    values[i] = at + (i == n - 1 ? far : 0);
    int64_t step = steps < 0 ? rng_between(r, steps, -steps) : rng_between(r, 0, steps);
    if (step < 0 && i + 1 < n && at + step + (i + 2 == n ? far : 0) < values[i]) ascends = 0;
    at += step;
  }
  CHECK_OK(grove_index_create(n, values, &x));
  CHECK_OK(grove_index_ascend(&x, &sorted, &owned));
  CHECK(owned == !ascends, "%lld entries: owned is %d", (long long)n, owned);
  CHECK(owned || (sorted.narrow == x.narrow && sorted.wide == x.wide), "they ascend: no copy");
  CHECK(sorted.count == n, "%lld entries, not %lld", (long long)sorted.count, (long long)n);
  int64_t copy[MOST];
  for (int64_t i = 0; i < n; i++) {
    copy[i] = grove_index_at(&sorted, i);
    CHECK(i == 0 || copy[i - 1] <= copy[i], "entry %lld is less than the one before", (long long)i);
    int64_t here = 0, there = 0;
    for (int64_t k = 0; k < n; k++) {
      here += grove_index_at(&sorted, k) == values[i];
      there += values[k] == values[i];
    }
    CHECK(here == there, "%lld is there %lld times", (long long)values[i], (long long)here);
  }
  counts(&sorted, copy);
  if (owned) grove_index_free(&sorted);
  grove_index_free(&x);
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "base/index_ascends");
  rng r = rng_from(test_seed(), 0);
  for (int i = 0; i < 300; i++) {
    at_random(&r, 1 + i % 3, i % 2 ? FAR : 0);
    at_random(&r, -2, i % 2 ? FAR : 0);
  }
  return test_end();
}
