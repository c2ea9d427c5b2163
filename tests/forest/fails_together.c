/* Counts and indices at the edge of what numbers and memory hold: set-up fails with the same status
 * and sentence on every rank, also where only one of them is in trouble, and the forest can be
 * mended. What just fits works. */
#include "check.h"
#include "places.h"

#include <string.h>

/* More entries than any machine maps, but no more than 64 bits count. */
static const int64_t enormous = (int64_t)1 << 50;

static void refused(const place *p, grove_forest *f, grove_status expected)
{
  for (int again = 0; again < 2; again++) {
    grove_status status = grove_forest_set_up(f);
    CHECK(status == expected, "%s, not %s: %s", grove_status_name(status),
          grove_status_name(expected), grove_last_error());
    CHECK_SAME_ERROR(p->comm, status);
    CHECK(strstr(grove_last_error(), "edge") != NULL, "no name of a forest in '%s'",
          grove_last_error());
  }
}

/* Another graph, and the forest is as good as new. */
static void mended(const place *p, grove_forest *f)
{
  CHECK_STATUS(grove_forest_sizes(f, NULL, NULL), GROVE_ERR_STATE);
  int next = (p->rank + 1) % p->size, x = p->rank, y = -1;
  CHECK_OK(grove_forest_set_graph(f, 1, 1, NULL, &(grove_root){next, 0}));
  CHECK_OK(grove_forest_set_up(f));
  CHECK_OK(grove_bcast(f, MPI_INT, &x, &y, MPI_REPLACE));
  CHECK(y == next, "received %d, not %d", y, next);
}

static grove_forest *create(const place *p)
{
  grove_forest *f = NULL;
  CHECK_OK(grove_forest_create(p->ctx, &f));
  CHECK_OK(grove_forest_set_name(f, "edge"));
  return f;
}

/* ---- patterns ---- */

static void bad_pattern(const place *p, grove_pattern pattern, int64_t n, grove_status expected)
{
  grove_forest *f = create(p);
  CHECK_OK(grove_forest_set_pattern(f, pattern, n));
  refused(p, f, expected);
  mended(p, f);
  CHECK_OK(grove_forest_free(&f));
}

static void patterns(const place *p)
{
  static const int64_t wraps[] = {INT64_MAX, (int64_t)1 << 62, INT64_MAX - 1};
  int last = p->rank == p->size - 1;
  /* In a gather only rank 0 has leaves, and so no memory for them. */
  bad_pattern(p, GROVE_GATHER, enormous, GROVE_ERR_MEMORY);
  bad_pattern(p, GROVE_GATHER, last ? enormous : 1, GROVE_ERR_MEMORY);
  bad_pattern(p, GROVE_ALLGATHER, enormous, GROVE_ERR_MEMORY);
  bad_pattern(p, GROVE_ALLGATHER, last ? enormous : 0, GROVE_ERR_MEMORY);
  bad_pattern(p, GROVE_ALLTOALL, enormous, GROVE_ERR_MEMORY);
  for (int i = 0; i < 3; i++) {
    bad_pattern(p, GROVE_GATHER, wraps[i], GROVE_ERR_GRAPH);
    bad_pattern(p, GROVE_GATHER, last ? wraps[i] : 1, GROVE_ERR_GRAPH);
    bad_pattern(p, GROVE_ALLGATHER, wraps[i], GROVE_ERR_GRAPH);
    bad_pattern(p, GROVE_ALLGATHER, last ? wraps[i] : 1, GROVE_ERR_GRAPH);
    bad_pattern(p, GROVE_ALLTOALL, wraps[i], GROVE_ERR_GRAPH);
  }
}

/* ---- global numbers ---- */

static void too_many_roots(const place *p, int64_t nroots, int culprit)
{
  grove_forest *f = create(p);
  const int64_t first = 0;
  CHECK_OK(grove_forest_set_graph_global(f, nroots, 1, NULL, &first));
  refused(p, f, GROVE_ERR_GRAPH);
  CHECK_NUMBER_IN(grove_last_error(), culprit);
  mended(p, f);
  CHECK_OK(grove_forest_free(&f));
}

static void sums_that_overflow(const place *p)
{
  for (int bad = 0; bad < p->size; bad++) too_many_roots(p, p->rank == bad ? INT64_MAX : 1, bad);
  too_many_roots(p, INT64_MAX, 0);
  too_many_roots(p, INT64_MAX - 1, 0);
  too_many_roots(p, 0x6000000000000000, 0);
}

/* A leaf on the first and on the last number of every rank, and of all. */
static void large_numbers(const place *p, int64_t nroots)
{
  enum { LEAVES = 4 };
  int next = (p->rank + 1) % p->size, last = p->size - 1;
  const int64_t number[LEAVES] = {nroots * next, nroots * next + nroots - 1, 0,
                                  nroots * p->size - 1};
  const grove_root expected[LEAVES] = {{next, 0}, {next, nroots - 1}, {0, 0}, {last, nroots - 1}};
  const grove_root *root = NULL;
  int64_t roots = 0, leaves = 0;
  grove_forest *f = create(p);
  CHECK_OK(grove_forest_set_graph_global(f, nroots, LEAVES, NULL, number));
  CHECK_OK(grove_forest_set_up(f));
  CHECK_OK(grove_forest_graph(f, &roots, &leaves, NULL, &root));
  CHECK(roots == nroots && leaves == LEAVES, "%lld roots, %lld leaves", (long long)roots,
        (long long)leaves);
  for (int i = 0; i < LEAVES; i++)
    CHECK(root[i].rank == expected[i].rank && root[i].index == expected[i].index,
          "number %lld is root %lld of rank %d, not %lld of %d", (long long)number[i],
          (long long)root[i].index, root[i].rank, (long long)expected[i].index, expected[i].rank);
  CHECK_OK(grove_forest_free(&f));
}

/* ---- pairs ---- */

/* An index must leave room for the number of a rank. The largest comes back, among small ones. */
static void last_root(const place *p)
{
  int next = (p->rank + 1) % p->size, bits = 63;
  while (1 << (63 - bits) < p->size) bits--;
  int64_t end = bits < 63 ? (int64_t)1 << bits : INT64_MAX;
  const grove_root *shown = NULL, good[3] = {{next, 7}, {next, end - 1}, {p->rank, 0}};
  for (int bad = 0; bad < p->size; bad++) {
    grove_root root[3] = {good[0], good[1], good[2]};
    if (p->rank == bad) root[1].index = end;
    grove_forest *f = create(p);
    CHECK_OK(grove_forest_set_graph(f, INT64_MAX, 3, NULL, root));
    refused(p, f, GROVE_ERR_GRAPH);
    CHECK_NUMBER_IN(grove_last_error(), bad);
    CHECK_NUMBER_IN(grove_last_error(), end);
    mended(p, f);
    CHECK_OK(grove_forest_free(&f));
  }
  grove_forest *f = create(p);
  CHECK_OK(grove_forest_set_graph(f, INT64_MAX, 3, NULL, good));
  CHECK_OK(grove_forest_set_up(f));
  CHECK_OK(grove_forest_graph(f, NULL, NULL, NULL, &shown));
  for (int i = 0; i < 3; i++)
    CHECK(shown[i].rank == good[i].rank && shown[i].index == good[i].index,
          "leaf %d is joined to root %lld of rank %d", i, (long long)shown[i].index, shown[i].rank);
  CHECK_OK(grove_forest_free(&f));
}

/* ---- leaves ---- */

static void set_leaves(const place *p, grove_forest *f, int global, const int64_t slot[2])
{
  const grove_root root[2] = {{p->size - 1, 0}, {0, 0}};
  const int64_t number[2] = {p->size - 1, 0};
  if (global)
    CHECK_OK(grove_forest_set_graph_global(f, 1, 2, slot, number));
  else
    CHECK_OK(grove_forest_set_graph(f, 1, 2, slot, root));
}

/* The slot behind the last one must have a number too. */
static void last_leaf(const place *p, int global)
{
  static const int64_t good[2] = {3, 5};
  static const int64_t wrong[][2] = {{INT64_MAX, 5}, {5, INT64_MAX}, {INT64_MAX, INT64_MIN}};
  static const int64_t fits[][2] = {{INT64_MAX - 1, 5}, {5, INT64_MAX - 1}};
  for (int bad = 0; bad < p->size; bad++)
    for (int i = 0; i < 3; i++) {
      grove_forest *f = create(p);
      set_leaves(p, f, global, p->rank == bad ? wrong[i] : good);
      refused(p, f, GROVE_ERR_GRAPH);
      CHECK_NUMBER_IN(grove_last_error(), bad);
      CHECK_NUMBER_IN(grove_last_error(), INT64_MAX);
      mended(p, f);
      CHECK_OK(grove_forest_free(&f));
    }
  for (int i = 0; i < 2; i++) {
    int64_t first = 0, end = 0;
    grove_forest *f = create(p);
    set_leaves(p, f, global, fits[i]);
    CHECK_OK(grove_forest_set_up(f));
    CHECK_OK(grove_forest_leaf_range(f, &first, &end));
    CHECK(first == 5 && end == INT64_MAX, "leaves from %lld to %lld", (long long)first,
          (long long)end);
    CHECK_OK(grove_forest_free(&f));
  }
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "forest/fails_together");
  places all = places_create();
  for (int i = 0; i < all.n; i++) {
    const place *p = &all.place[i];
    test_case(i);
    patterns(p);
    sums_that_overflow(p);
    large_numbers(p, ((int64_t)1 << 60) / p->size);
    large_numbers(p, INT32_MAX);
    last_root(p);
    last_leaf(p, 0);
    last_leaf(p, 1);
  }
  places_free(&all);
  return test_end();
}
