/* A slot that is twice in a list is found wherever the two are, whether slots lie close together or
 * far apart, of 32 bits as of 64; and none is found where there is none. */
#include "forest/forest.h"

#include "check.h"
#include "random.h"

#include <stdlib.h>

enum { MOST = 300 };

static int times_in(int64_t n, const int64_t *list, int64_t slot)
{
  int times = 0;
  for (int64_t i = 0; i < n; i++) times += list[i] == slot;
  return times;
}

static int64_t find_in(const grove_graph *graph, int64_t least, int64_t most)
{
  int64_t slot = -2;
  CHECK_OK(grove_find_duplicate(graph, least, most, &slot));
  return slot;
}

/* In a list of 32 bits the same one as in one of 64, where its slots have room there. */
static int64_t find(int64_t n, int64_t *list)
{
  int64_t least = INT64_MAX, most = 0;
  int32_t narrow[MOST];
  for (int64_t i = 0; i < n; i++) {
    if (list[i] < least) least = list[i];
    if (list[i] > most) most = list[i];
    narrow[i] = (int32_t)list[i];
  }
  int64_t slot = find_in(&(grove_graph){.nleaves = n, .leaf_index = list}, least, most);
  if (most <= INT32_MAX) {
    int64_t other = find_in(&(grove_graph){.nleaves = n, .leaf_index32 = narrow}, least, most);
    CHECK(other == slot, "of 32 bits %lld is found, of 64 bits %lld", (long long)other,
          (long long)slot);
  }
  return slot;
}

/* n different slots, `apart` from each other, in any order. */
static void draw(rng *r, int64_t n, int64_t apart, int64_t *list)
{
  int64_t first = rng_one_in(r, 2) ? 0 : rng_below(r, 1000);
  for (int64_t i = 0; i < n; i++) list[i] = first + i * apart;
  rng_shuffle(r, n, list);
}

/* Slot j again in place of slot k. */
static void check_pair(int64_t n, int64_t *list, int64_t apart, int64_t j, int64_t k)
{
  int64_t kept = list[k];
  list[k] = list[j];
  int64_t found = find(n, list);
  CHECK(found == list[j], "%lld slots %lld apart: %lld is at %lld and %lld, and %lld is found",
        (long long)n, (long long)apart, (long long)list[j], (long long)j, (long long)k,
        (long long)found);
  list[k] = kept;
}

static void one_pair(rng *r, int64_t n, int64_t apart)
{
  int64_t list[MOST];
  draw(r, n, apart, list);
  CHECK(find(n, list) == -1, "%lld slots %lld apart: one is found twice, and none is there twice",
        (long long)n, (long long)apart);
  for (int64_t j = 0; j < n; j++)
    for (int64_t k = n <= 10 ? 0 : n - 3; k < n; k++)
      if (j != k) check_pair(n, list, apart, j, k);
}

/* Several are there twice, some three times: one of them is named. */
static void several(rng *r, int64_t n, int64_t apart)
{
  int64_t list[MOST];
  draw(r, n, apart, list);
  for (int64_t i = 0; i < n / 3; i++) list[rng_below(r, n)] = list[rng_below(r, n)];
  int64_t found = find(n, list), there = 0;
  for (int64_t i = 0; i < n; i++) there |= times_in(n, list, list[i]) > 1;
  CHECK(there ? times_in(n, list, found) > 1 : found == -1, "%lld is found", (long long)found);
}

int main(int argc, char **argv)
{
  static const int64_t apart[] = {1, 2, 63, 64, 65, 130, INT64_C(1) << 31, INT64_C(1) << 40};
  static const int64_t sizes[] = {2, 3, 4, 10, 64, MOST};
  test_begin(&argc, &argv, "forest/finds_duplicates");
  rng r = rng_from(test_seed(), 0);
  for (int i = 0; i < (int)(sizeof apart / sizeof *apart); i++)
    for (int k = 0; k < (int)(sizeof sizes / sizeof *sizes); k++) {
      one_pair(&r, sizes[k], apart[i]);
      several(&r, sizes[k], apart[i]);
    }
  return test_end();
}
