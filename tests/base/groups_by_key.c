/* Lists to groups by key, against references that look at every entry. */
#include "base/group.h"
#include "check.h"
#include "random.h"

#include <limits.h>
#include <stdlib.h>

/* The groups of a list, and the entries in the order of their places. */
static grove_groups group(int64_t n, const int *key, int64_t **order)
{
  grove_groups g;
  CHECK_OK(grove_groups_create(&g));
  CHECK(g.count == 0, "there are groups before there are keys");
  for (int64_t i = 0; i < n; i++) {
    int before = g.count, known = grove_groups_find(&g, key[i]) >= 0;
    CHECK_OK(grove_groups_count(&g, key[i]));
    CHECK(g.count == before + !known, "key %d makes %d groups of %d", key[i], g.count, before);
    CHECK(1 << g.bits >= 2 * g.count, "%d slots for %d keys", 1 << g.bits, g.count);
  }
  CHECK_OK(grove_groups_arrange(&g));
  *order = need((size_t)(n + 1) * sizeof **order);
  for (int64_t i = 0; i < n; i++) (*order)[g.next[grove_groups_find(&g, key[i])]++] = i;
  for (int i = 0; i < g.count; i++)
    CHECK(g.next[i] == g.begin[i + 1], "group %d ends at %lld, not %lld", i, (long long)g.next[i],
          (long long)g.begin[i + 1]);
  return g;
}

/* How many distinct keys are less than this one. */
static int rank_of_key(int64_t n, const int *key, int k)
{
  int below = 0;
  for (int64_t i = 0; i < n; i++) {
    int first = key[i] < k;
    for (int64_t j = 0; j < i && first; j++) first = key[j] != key[i];
    below += first;
  }
  return below;
}

/* Every entry is in the group of its key, and only there; groups ascend, entries in them too. */
static void check_groups(int64_t n, const int *key)
{
  int64_t *order;
  grove_groups g = group(n, key, &order);
  CHECK(g.begin[0] == 0 && g.begin[g.count] == n, "groups from %lld to %lld of %lld",
        (long long)g.begin[0], (long long)g.begin[g.count], (long long)n);
  for (int i = 0; i < g.count; i++) {
    CHECK(i == 0 || g.keys[i] > g.keys[i - 1], "key %d after %d", g.keys[i], g.keys[i - 1]);
    CHECK(g.begin[i] < g.begin[i + 1], "group %d of key %d is empty", i, g.keys[i]);
    CHECK(grove_groups_find(&g, g.keys[i]) == i, "key %d is found in group %d, not %d", g.keys[i],
          grove_groups_find(&g, g.keys[i]), i);
    for (int64_t k = g.begin[i]; k < g.begin[i + 1]; k++) {
      CHECK(order[k] >= 0 && order[k] < n && key[order[k]] == g.keys[i],
            "entry %lld is in the group of key %d", (long long)order[k], g.keys[i]);
      CHECK(k == g.begin[i] || order[k] > order[k - 1], "entry %lld after %lld",
            (long long)order[k], (long long)order[k - 1]);
    }
    if (n <= 300) CHECK(rank_of_key(n, key, g.keys[i]) == i, "key %d is in group %d", g.keys[i], i);
  }
  grove_groups_free(&g);
  CHECK(g.count == 0 && !g.keys && !g.begin && !g.slots, "freed groups are not empty");
  grove_groups_free(&g);
  free(order);
}

static void groups_by_hand(void)
{
  int64_t *order;
  grove_groups g = group(0, NULL, &order);
  CHECK(g.count == 0, "no entries, but %d groups", g.count);
  CHECK(grove_groups_find(&g, 0) == -1, "a key among none");
  grove_groups_free(&g);
  free(order);
  static const int one[] = {7, 7, 7, 7}, ends[] = {INT_MAX, INT_MIN, 0, -1, INT_MIN, INT_MAX};
  check_groups(4, one);
  check_groups(1, one);
  check_groups(6, ends);
  g = group(6, ends, &order);
  CHECK(g.count == 4, "%d groups, not 4", g.count);
  CHECK(grove_groups_find(&g, 1) == -1 && grove_groups_find(&g, INT_MAX - 1) == -1,
        "a key that is not there was found");
  grove_groups_free(&g);
  free(order);
}

/* Few keys, as many keys as entries, runs, and keys far apart. */
static void groups_at_random(rng *r)
{
  int64_t n = rng_between(r, 1, 300), most = rng_between(r, 1, rng_one_in(r, 2) ? 8 : 400);
  int *key = need((size_t)n * sizeof *key);
  int stride = rng_one_in(r, 2) ? 1 : 65536, runs = (int)rng_between(r, 1, 6);
  for (int64_t i = 0; i < n; i++)
    key[i] = i > 0 && !rng_one_in(r, runs) ? key[i - 1] : (int)rng_below(r, most) * stride;
  check_groups(n, key);
  free(key);
}

/* Consecutive keys, and keys that differ in their high bits only, through many enlargements. */
static void many_groups(int stride)
{
  enum { KEYS = 20000, ROUNDS = 3 };
  int *key = need((size_t)(KEYS * ROUNDS) * sizeof *key);
  for (int i = 0; i < KEYS * ROUNDS; i++) key[i] = (int)((int64_t)i * 7919 % KEYS) * stride;
  check_groups(KEYS * ROUNDS, key);
  int64_t *order;
  grove_groups g = group(KEYS * ROUNDS, key, &order);
  CHECK(g.count == KEYS, "%d groups, not %d", g.count, KEYS);
  grove_groups_free(&g);
  free(order);
  free(key);
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "base/groups_by_key");
  groups_by_hand();
  many_groups(1);
  many_groups(-1);
  many_groups(1 << 16);
  for (int64_t i = 0; i < test_samples(100); i++) {
    test_case(i);
    rng r = rng_from(test_seed(), (uint64_t)i);
    groups_at_random(&r);
  }
  return test_end();
}
