/* A number of each rank: all ranks get all of them, or what those below make together. One step
 * after the other, on ranks that come at different times. */
#include "check.h"
#include "context/context.h"
#include "places.h"

#include <stdlib.h>

static int64_t say(uint64_t seed, int rank, int i)
{
  return (int64_t)(mix2(seed + (uint64_t)rank, (uint64_t)i) % 2000) - 1;
}

static void gathers(const place *p, uint64_t seed)
{
  int64_t *all = need((size_t)p->size * sizeof *all);
  CHECK_OK(grove_context_gather(p->ctx, say(seed, p->rank, 0), all));
  for (int r = 0; r < p->size; r++)
    CHECK(all[r] == say(seed, r, 0), "rank %d said %lld, not %lld", r, (long long)say(seed, r, 0),
          (long long)all[r]);
  free(all);
}

static void adds(const place *p, uint64_t seed)
{
  int64_t below = 0, sum = 0, before = -1, total = -1;
  for (int r = 0; r < p->size; r++) {
    if (r == p->rank) below = sum;
    sum += say(seed, r, 0);
  }
  CHECK_OK(grove_context_offsets(p->ctx, say(seed, p->rank, 0), &before, &total));
  CHECK(before == below && total == sum, "%lld of %lld, not %lld of %lld", (long long)before,
        (long long)total, (long long)below, (long long)sum);
}

static void compares(const place *p, uint64_t seed, int n)
{
  int64_t mine[6], most[6];
  for (int i = 0; i < n; i++) mine[i] = say(seed, p->rank, i);
  CHECK_OK(grove_context_scan_max(p->ctx, mine, n, most));
  for (int i = 0; i < n; i++) {
    int64_t below = -1;
    for (int r = 0; r < p->rank; r++)
      if (say(seed, r, i) > below) below = say(seed, r, i);
    CHECK(most[i] == below, "number %d: %lld, not %lld", i, (long long)most[i], (long long)below);
  }
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "context/numbers_of_ranks");
  place p = place_create(split(0));
  rng shared = rng_from(test_seed(), 0), mine = rng_from(test_seed(), 1 + (uint64_t)p.rank);
  for (int i = 0; i < 200; i++) {
    uint64_t seed = rng_next(&shared);
    if (rng_one_in(&mine, 20)) linger(1e-3);
    switch (rng_below(&shared, 3)) {
    case 0: gathers(&p, seed); break;
    case 1: adds(&p, seed); break;
    default: compares(&p, seed, 1 + (int)rng_below(&shared, 6));
    }
  }
  place_free(&p);
  return test_end();
}
