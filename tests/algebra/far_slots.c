/* Leaf slots so far apart that no array could hold all between them: what is made of such a forest
 * costs what its edges cost. */
#include "algebra.h"
#include "check.h"

enum { LEAVES = 3 };

/* A leaf in each of these slots, 2^40 apart, not in their order. */
static const int64_t slots[LEAVES] = {((int64_t)2 << 40) + 5, 0, ((int64_t)1 << 40) + 3};

/* Leaf j is joined to root j of the next rank. */
static grove_forest *plant(const place *p)
{
  grove_forest *f = NULL;
  grove_root root[LEAVES];
  for (int j = 0; j < LEAVES; j++) root[j] = (grove_root){(p->rank + 1) % p->size, j};
  CHECK_OK(grove_forest_create(p->ctx, &f));
  CHECK_OK(grove_forest_set_graph(f, LEAVES, LEAVES, slots, root));
  CHECK_OK(grove_forest_set_up(f));
  return f;
}

/* There are so many roots and leaves, and this slot is joined to that root. */
static void check(grove_forest *f, int64_t nroots, int64_t nleaves, int64_t slot, grove_root r)
{
  int64_t roots = -1, n = -1;
  const int64_t *index = NULL;
  const grove_root *root = NULL;
  CHECK_OK(grove_forest_graph(f, &roots, &n, &index, &root));
  CHECK(roots == nroots && n == nleaves, "%lld roots and %lld leaves, not %lld and %lld",
        (long long)roots, (long long)n, (long long)nroots, (long long)nleaves);
  for (int64_t j = 0; j < n; j++) {
    if ((index != NULL ? index[j] : j) != slot) continue;
    CHECK(root[j].rank == r.rank && root[j].index == r.index, "slot %lld is joined to (%d, %lld)",
          (long long)slot, root[j].rank, (long long)root[j].index);
    return;
  }
  CHECK(0, "slot %lld is no leaf", (long long)slot);
}

/* What keeps the leaves or some of them. */
static void same_slots(const place *p)
{
  grove_forest *f = plant(p), *before = identity(p, LEAVES), *few = turn(p, 2, 0);
  grove_forest *moved = composed(before, f), *near = composed(f, few), *both = merged(f, f);
  grove_forest *leaf = with_leaves(f, 1, &slots[2]), *root = with_roots(f, 1, &(int64_t){2});
  int next = (p->rank + 1) % p->size;
  for (int j = 0; j < LEAVES; j++) {
    check(moved, LEAVES, LEAVES, slots[j], (grove_root){next, j});
    check(both, LEAVES, LEAVES, slots[j], (grove_root){next, j});
  }
  check(near, LEAVES, 1, 0, (grove_root){next, 1}); /* the others are no roots */
  check(leaf, LEAVES, 1, slots[2], (grove_root){next, 2});
  check(root, LEAVES, 1, slots[2], (grove_root){next, 2});
  forests_free(8, (grove_forest *[]){f, before, few, moved, near, both, leaf, root});
}

/* What makes other slots or roots of them. */
static void other_slots(const place *p)
{
  static const int64_t sizes[LEAVES] = {2, 1, 4};
  grove_forest *f = plant(p), *inverse = inverse_of(f), *back = composed_inverse(f, f);
  grove_forest *two = side_by_side(f, f, GROVE_ROOTS_LOCAL), *blocks = strided(f, 2, 0, 0);
  grove_forest *apart = strided(f, 2, LEAVES, 1), *values = expanded(f, sizes, NULL, NULL);
  int64_t end = slots[0] + 1;
  int next = (p->rank + 1) % p->size, previous = (p->rank + p->size - 1) % p->size;
  CHECK(end_of(f) == end, "leaves up to %lld", (long long)end_of(f));
  for (int j = 0; j < LEAVES; j++) {
    check(inverse, end, LEAVES, j, (grove_root){previous, slots[j]});
    check(back, LEAVES, LEAVES, j, (grove_root){p->rank, j});
    check(two, 2 * LEAVES, 2 * LEAVES, slots[j], (grove_root){next, j});
    check(two, 2 * LEAVES, 2 * LEAVES, end + slots[j], (grove_root){next, LEAVES + j});
    check(blocks, 2 * LEAVES, 2 * LEAVES, 2 * slots[j] + 1, (grove_root){next, 2 * j + 1});
    check(apart, 2 * LEAVES, 2 * LEAVES, slots[j] + 1, (grove_root){next, LEAVES + j});
  }
  check(values, 7, 7, 0, (grove_root){next, 2}); /* by ascending slot: roots 1, 2, 0 */
  check(values, 7, 7, 4, (grove_root){next, 6});
  check(values, 7, 7, 6, (grove_root){next, 1});
  forests_free(7, (grove_forest *[]){f, inverse, back, two, blocks, apart, values});
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "algebra/far_slots");
  place p = place_create(split(0));
  same_slots(&p);
  other_slots(&p);
  place_free(&p);
  return test_end();
}
