/* Keys to numbers in the order they were first seen (map), and lists to groups by key (group),
 * against references that look at every entry. */
#include "base/group.h"
#include "base/map.h"
#include "check.h"
#include "random.h"

#include <limits.h>
#include <stdlib.h>

/* ---- groups ---- */

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
  grove_groups g;
  CHECK_OK(grove_groups_create(n, key, &g));
  CHECK(g.begin[0] == 0 && g.begin[g.count] == n, "groups from %lld to %lld of %lld",
        (long long)g.begin[0], (long long)g.begin[g.count], (long long)n);
  for (int i = 0; i < g.count; i++) {
    CHECK(i == 0 || g.keys[i] > g.keys[i - 1], "key %d after %d", g.keys[i], g.keys[i - 1]);
    CHECK(g.begin[i] < g.begin[i + 1], "group %d of key %d is empty", i, g.keys[i]);
    CHECK(grove_groups_find(&g, g.keys[i]) == i, "key %d is found in group %d, not %d", g.keys[i],
          grove_groups_find(&g, g.keys[i]), i);
    for (int64_t k = g.begin[i]; k < g.begin[i + 1]; k++) {
      CHECK(g.order[k] >= 0 && g.order[k] < n && key[g.order[k]] == g.keys[i],
            "entry %lld is in the group of key %d", (long long)g.order[k], g.keys[i]);
      CHECK(k == g.begin[i] || g.order[k] > g.order[k - 1], "entry %lld after %lld",
            (long long)g.order[k], (long long)g.order[k - 1]);
    }
    if (n <= 300) CHECK(rank_of_key(n, key, g.keys[i]) == i, "key %d is in group %d", g.keys[i], i);
  }
  grove_groups_free(&g);
  CHECK(g.count == 0 && !g.keys && !g.begin && !g.order, "freed groups are not empty");
  grove_groups_free(&g);
}

static void groups_by_hand(void)
{
  grove_groups g;
  CHECK_OK(grove_groups_create(0, NULL, &g));
  CHECK(g.count == 0, "no entries, but %d groups", g.count);
  CHECK(grove_groups_find(&g, 0) == -1, "a key among none");
  grove_groups_free(&g);
  static const int one[] = {7, 7, 7, 7}, ends[] = {INT_MAX, INT_MIN, 0, -1, INT_MIN, INT_MAX};
  check_groups(4, one);
  check_groups(1, one);
  check_groups(6, ends);
  CHECK_OK(grove_groups_create(6, ends, &g));
  CHECK(g.count == 4, "%d groups, not 4", g.count);
  CHECK(grove_groups_find(&g, 1) == -1 && grove_groups_find(&g, INT_MAX - 1) == -1,
        "a key that is not there was found");
  grove_groups_free(&g);
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

static void many_groups(void)
{
  enum { KEYS = 20000, ROUNDS = 3 };
  int *key = need((size_t)(KEYS * ROUNDS) * sizeof *key);
  for (int i = 0; i < KEYS * ROUNDS; i++) key[i] = (int)((int64_t)i * 7919 % KEYS);
  check_groups(KEYS * ROUNDS, key);
  grove_groups g;
  CHECK_OK(grove_groups_create(KEYS * ROUNDS, key, &g));
  CHECK(g.count == KEYS, "%d groups, not %d", g.count, KEYS);
  grove_groups_free(&g);
  free(key);
}

/* ---- the map ---- */

static int seen_before(const int *key, int64_t at)
{
  for (int64_t i = 0; i < at; i++)
    if (key[i] == key[at]) return 1;
  return 0;
}

/* How many other keys came before the first one like this: the reference. */
static int number_of(const int *key, int64_t at)
{
  int number = 0;
  for (int64_t i = 0; key[i] != key[at]; i++) number += !seen_before(key, i);
  return number;
}

static void map_at_random(rng *r)
{
  int64_t n = rng_between(r, 1, 120), most = rng_between(r, 1, 100);
  int *key = need((size_t)n * sizeof *key), stride = rng_one_in(r, 2) ? 1 : -16;
  for (int64_t i = 0; i < n; i++)
    key[i] = i > 0 && rng_one_in(r, 3) ? key[i - 1] : (int)rng_below(r, most) * stride;
  grove_map map;
  CHECK_OK(grove_map_create(&map));
  for (int64_t i = 0; i < n; i++) {
    int number = -1, expected = number_of(key, i), before = map.count;
    CHECK_OK(grove_map_insert(&map, key[i], &number));
    CHECK(number == expected, "key %d has number %d, not %d", key[i], number, expected);
    CHECK(map.count == before + !seen_before(key, i), "key %d makes %d keys", key[i], map.count);
    CHECK(map.keys[number] == key[i], "number %d has key %d", number, map.keys[number]);
    CHECK(map.nslots >= 2 * map.count, "%d slots for %d keys", map.nslots, map.count);
  }
  grove_map_free(&map);
  free(key);
}

/* Consecutive keys, and keys that differ in their high bits only, through many enlargements. */
static void many_keys(int stride)
{
  enum { KEYS = 30000 };
  grove_map map;
  CHECK_OK(grove_map_create(&map));
  CHECK(map.count == 0, "a new map is not empty");
  for (int round = 0; round < 2; round++)
    for (int i = 0; i < KEYS; i++) {
      int number = -1;
      CHECK_OK(grove_map_insert(&map, i * stride, &number));
      CHECK(number == i, "key %d has number %d, not %d", i * stride, number, i);
    }
  CHECK(map.count == KEYS, "%d keys, not %d", map.count, KEYS);
  CHECK(map.nslots >= 2 * KEYS && (map.nslots & (map.nslots - 1)) == 0, "%d slots for %d keys",
        map.nslots, KEYS);
  for (int i = 0; i < KEYS; i++)
    CHECK(map.keys[i] == i * stride, "key %d is not number %d", i * stride, i);
  grove_map_free(&map);
  CHECK(map.count == 0 && !map.keys && !map.slots, "a freed map is not empty");
  grove_map_free(&map);
}

static void map_by_hand(void)
{
  static const int key[] = {INT_MIN, INT_MAX, 0, -1, INT_MIN, 0};
  static const int expected[] = {0, 1, 2, 3, 0, 2};
  grove_map map;
  CHECK_OK(grove_map_create(&map));
  for (int i = 0; i < 6; i++) {
    int number = -1;
    CHECK_OK(grove_map_insert(&map, key[i], &number));
    CHECK(number == expected[i], "key %d has number %d, not %d", key[i], number, expected[i]);
  }
  grove_map_free(&map);
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "base/groups_by_key");
  groups_by_hand();
  many_groups();
  map_by_hand();
  many_keys(1);
  many_keys(1 << 16);
  for (int64_t i = 0; i < test_samples(100); i++) {
    test_case(i);
    rng r = rng_from(test_seed(), (uint64_t)i);
    groups_at_random(&r);
    map_at_random(&r);
  }
  return test_end();
}
