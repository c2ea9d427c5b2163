/* grove_forest_root_lists and grove_forest_leaf_lists: every edge once, grouped by the rank at the
 * other end, and in the same order at both ends, so that a kernel of one's own can pack and unpack
 * by them. */
#include "check.h"
#include "generate.h"
#include "places.h"
#include "sources.h"

#include <stdlib.h>

typedef struct side {
  int n;
  const int *ranks;
  const int64_t *offsets, *slot, *remote;
} side;

static side root_side(grove_forest *f)
{
  side s = {.n = -1};
  CHECK_OK(grove_forest_root_lists(f, &s.n, &s.ranks, &s.offsets, &s.slot, &s.remote));
  return s;
}

static side leaf_side(grove_forest *f)
{
  side s = {.n = -1};
  CHECK_OK(grove_forest_leaf_lists(f, &s.n, &s.ranks, &s.offsets, &s.slot));
  return s;
}

/* The ranks are those of the queries, and no group is empty. */
static void check_groups(const side *s, int n, const int *ranks, int64_t edges)
{
  CHECK(s->n == n && s->offsets[0] == 0 && s->offsets[n] == edges, "%d groups, %lld to %lld", s->n,
        (long long)s->offsets[0], (long long)s->offsets[n]);
  for (int g = 0; g < n; g++) {
    CHECK(s->ranks[g] == ranks[g], "group %d is of rank %d", g, s->ranks[g]);
    CHECK(s->offsets[g] < s->offsets[g + 1], "group %d is empty", g);
  }
}

/* By the graph: the k-th leaf of this part whose root is on rank `owner`. */
static int64_t find_leaf(const part *p, int owner, int64_t k)
{
  for (int64_t j = 0; j < p->nleaves; j++)
    if (p->root[j].rank == owner && k-- == 0) return j;
  return -1;
}

static void check_roots(const side *s, const graph *g, int me)
{
  const part *p = &g->part[me];
  for (int i = 0; i < s->n; i++)
    for (int64_t k = s->offsets[i]; k < s->offsets[i + 1]; k++) {
      int64_t j = find_leaf(p, s->ranks[i], k - s->offsets[i]);
      CHECK(j >= 0 && s->slot[k] == part_slot(p, j) && s->remote[k] == p->root[j].index,
            "entry %lld: slot %lld, root %lld of rank %d", (long long)k, (long long)s->slot[k],
            (long long)s->remote[k], s->ranks[i]);
    }
}

static void check_leaves(const side *s, const graph *g, int me)
{
  for (int i = 0; i < s->n; i++) {
    const part *there = &g->part[s->ranks[i]];
    for (int64_t k = s->offsets[i]; k < s->offsets[i + 1]; k++) {
      int64_t j = find_leaf(there, me, k - s->offsets[i]);
      CHECK(j >= 0 && s->slot[k] == there->root[j].index, "entry %lld: root %lld for rank %d",
            (long long)k, (long long)s->slot[k], s->ranks[i]);
    }
  }
}

static void check_forest(const drawn *d, int me)
{
  int n = -1;
  const int *ranks = NULL;
  side roots = root_side(d->f), leaves = leaf_side(d->f);
  CHECK_OK(grove_forest_root_ranks(d->f, &n, &ranks));
  check_groups(&roots, n, ranks, d->g->part[me].nleaves);
  check_roots(&roots, d->g, me);
  CHECK_OK(grove_forest_leaf_ranks(d->f, &n, &ranks));
  check_groups(&leaves, n, ranks, graph_edges_to(d->g, me));
  check_leaves(&leaves, d->g, me);
  side again = root_side(d->f);
  CHECK(again.slot == roots.slot && again.remote == roots.remote, "the lists have moved");
  CHECK(leaf_side(d->f).slot == leaves.slot, "the list has moved");
  CHECK_OK(grove_forest_root_lists(d->f, NULL, NULL, NULL, NULL, NULL));
  CHECK_OK(grove_forest_leaf_lists(d->f, NULL, NULL, NULL, NULL));
}

static void refuses(const place *p)
{
  grove_forest *f = NULL;
  int n = 77;
  CHECK_STATUS(grove_forest_root_lists(NULL, &n, NULL, NULL, NULL, NULL), GROVE_ERR_ARG);
  CHECK_STATUS(grove_forest_leaf_lists(NULL, &n, NULL, NULL, NULL), GROVE_ERR_ARG);
  CHECK_OK(grove_forest_create(p->ctx, &f));
  CHECK_STATUS(grove_forest_root_lists(f, &n, NULL, NULL, NULL, NULL), GROVE_ERR_STATE);
  CHECK_STATUS(grove_forest_leaf_lists(f, &n, NULL, NULL, NULL), GROVE_ERR_STATE);
  CHECK(n == 77, "a refused call has set an output");
  CHECK_OK(grove_forest_free(&f));
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "forest/lists");
  places all = places_create();
  refuses(&all.place[0]);
  for (int64_t i = 0; i < test_samples(3 * GRAPH_KINDS); i++) {
    test_case(i);
    const place *p = places_turn(&all, i);
    rng r = rng_from(test_seed() + (uint64_t)p->side, (uint64_t)i);
    drawn d = draw_from(p, &r, (graph_source)(i % GRAPH_SOURCES), i / GRAPH_SOURCES);
    check_forest(&d, p->rank);
    CHECK_OK(grove_forest_free(&d.f));
    graph_free(d.g);
  }
  places_free(&all);
  return test_end();
}
