/* What a forest says of itself is what was set, and what follows from it. */
#include "check.h"
#include "generate.h"
#include "places.h"

#include <stdlib.h>
#include <string.h>

static void check_graph(grove_forest *f, const part *p)
{
  int64_t nroots = -1, nleaves = -1;
  const int64_t *index = NULL;
  const grove_root *root = NULL;
  CHECK_OK(grove_forest_sizes(f, &nroots, &nleaves));
  CHECK(nroots == p->nroots && nleaves == p->nleaves, "%lld roots, %lld leaves", (long long)nroots,
        (long long)nleaves);
  nroots = nleaves = -1;
  CHECK_OK(grove_forest_graph(f, &nroots, &nleaves, &index, &root));
  CHECK(nroots == p->nroots && nleaves == p->nleaves, "%lld roots, %lld leaves", (long long)nroots,
        (long long)nleaves);
  for (int64_t j = 0; j < nleaves; j++) {
    int64_t slot = index != NULL ? index[j] : j;
    CHECK(slot == part_slot(p, j), "leaf %lld has slot %lld", (long long)j, (long long)slot);
    CHECK(root[j].rank == p->root[j].rank && root[j].index == p->root[j].index,
          "leaf %lld is joined to (%d, %lld)", (long long)j, root[j].rank,
          (long long)root[j].index);
  }
  CHECK(nleaves == 0 || (index == NULL) == (p->leaf_index == NULL), "a list of slots, or none");
}

static void check_range(grove_forest *f, const part *p)
{
  int64_t first = -1, end = -1, least = p->nleaves > 0 ? INT64_MAX : 0, most = 0;
  for (int64_t j = 0; j < p->nleaves; j++) {
    if (part_slot(p, j) < least) least = part_slot(p, j);
    if (part_slot(p, j) + 1 > most) most = part_slot(p, j) + 1;
  }
  CHECK_OK(grove_forest_leaf_range(f, &first, &end));
  CHECK(first == least && end == most, "leaves from %lld to %lld, not %lld to %lld",
        (long long)first, (long long)end, (long long)least, (long long)most);
}

/* joined[i]: rank i must be named. */
static void check_ranks(const char *what, int n, const int *ranks, const char *joined, int nranks)
{
  int k = 0;
  for (int i = 0; i < nranks; i++) {
    if (!joined[i]) continue;
    CHECK(k < n && ranks[k] == i, "%s rank %d is not there, or not in its place", what, i);
    k++;
  }
  CHECK(k == n, "%d %s ranks, not %d", n, what, k);
}

static void check_neighbours(grove_forest *f, const graph *g, int me)
{
  char *joined = need((size_t)g->nranks);
  int n = -1;
  const int *ranks = NULL;
  memset(joined, 0, (size_t)g->nranks);
  for (int64_t j = 0; j < g->part[me].nleaves; j++) joined[g->part[me].root[j].rank] = 1;
  CHECK_OK(grove_forest_root_ranks(f, &n, &ranks));
  check_ranks("root", n, ranks, joined, g->nranks);

  memset(joined, 0, (size_t)g->nranks);
  for (int i = 0; i < g->nranks; i++)
    for (int64_t j = 0; j < g->part[i].nleaves; j++)
      if (g->part[i].root[j].rank == me) joined[i] = 1;
  CHECK_OK(grove_forest_leaf_ranks(f, &n, &ranks));
  check_ranks("leaf", n, ranks, joined, g->nranks);
  free(joined);
}

static void check_degrees(grove_forest *f, const graph *g, int me)
{
  int64_t nroots = g->part[me].nroots, *degree = need((size_t)(nroots + 1) * sizeof *degree);
  for (int64_t i = 0; i <= nroots; i++) degree[i] = -77;
  CHECK_OK(grove_forest_degrees(f, degree));
  CHECK(degree[nroots] == -77, "a degree too many was written");
  for (int i = 0; i < g->nranks; i++)
    for (int64_t j = 0; j < g->part[i].nleaves; j++)
      if (g->part[i].root[j].rank == me) degree[g->part[i].root[j].index]--;
  for (int64_t i = 0; i < nroots; i++)
    CHECK(degree[i] == 0, "the degree of root %lld is %lld too large", (long long)i,
          (long long)degree[i]);
  free(degree);
}

static void check_print(grove_forest *f, const part *p, const char *name)
{
  char text[16384] = "";
  FILE *file = tmpfile();
  CHECK(file != NULL, "no temporary file");
  CHECK_OK(grove_forest_print(f, file));
  rewind(file);
  size_t n = fread(text, 1, sizeof text - 1, file);
  text[n] = '\0';
  fclose(file);
  CHECK(strstr(text, name) != NULL, "no name in '%s'", text);
  CHECK_NUMBER_IN(text, p->nroots);
  CHECK_NUMBER_IN(text, p->nleaves);
}

static void check_null_outputs(grove_forest *f)
{
  CHECK_OK(grove_forest_sizes(f, NULL, NULL));
  CHECK_OK(grove_forest_graph(f, NULL, NULL, NULL, NULL));
  CHECK_OK(grove_forest_leaf_range(f, NULL, NULL));
  CHECK_OK(grove_forest_root_ranks(f, NULL, NULL));
  CHECK_OK(grove_forest_leaf_ranks(f, NULL, NULL));
  CHECK_OK(grove_forest_degrees(f, NULL));
}

/* Nothing is known of a forest that is not set up. */
static void check_state(grove_forest *f)
{
  int64_t a = -9;
  int n = -9;
  const int64_t *index;
  const grove_root *root;
  const int *ranks;
  CHECK_STATUS(grove_forest_sizes(f, &a, &a), GROVE_ERR_STATE);
  CHECK_STATUS(grove_forest_graph(f, &a, &a, &index, &root), GROVE_ERR_STATE);
  CHECK_STATUS(grove_forest_leaf_range(f, &a, &a), GROVE_ERR_STATE);
  CHECK_STATUS(grove_forest_root_ranks(f, &n, &ranks), GROVE_ERR_STATE);
  CHECK_STATUS(grove_forest_leaf_ranks(f, &n, &ranks), GROVE_ERR_STATE);
  CHECK_STATUS(grove_forest_degrees(f, &a), GROVE_ERR_STATE);
  CHECK_STATUS(grove_forest_print(f, stderr), GROVE_ERR_STATE);
  CHECK(a == -9 && n == -9, "outputs were set by calls that failed");
}

static void check_no_new_graph(grove_forest *f)
{
  CHECK_STATUS(grove_forest_set_graph(f, 0, 0, NULL, NULL), GROVE_ERR_STATE);
  CHECK_STATUS(grove_forest_set_graph_global(f, 0, 0, NULL, NULL), GROVE_ERR_STATE);
  CHECK_STATUS(grove_forest_set_pattern(f, GROVE_GATHER, 1), GROVE_ERR_STATE);
}

static void check_all(grove_forest *f, const graph *g, int me, const char *name)
{
  check_graph(f, &g->part[me]);
  check_range(f, &g->part[me]);
  check_neighbours(f, g, me);
  check_degrees(f, g, me);
  check_print(f, &g->part[me], name);
  check_null_outputs(f);
}

/* The arrays are copied: what happens to them after set_graph does not matter. */
static grove_forest *set_and_forget(const place *p, const part *own)
{
  grove_forest *f = NULL;
  size_t roots_bytes = (size_t)own->nleaves * sizeof(grove_root);
  size_t index_bytes = (size_t)own->nleaves * sizeof(int64_t);
  grove_root *root = need(roots_bytes);
  int64_t *index = own->leaf_index != NULL ? need(index_bytes) : NULL;
  memcpy(root, own->root, roots_bytes);
  if (index != NULL) memcpy(index, own->leaf_index, index_bytes);
  char name[] = "quercus robur";
  CHECK_OK(grove_forest_create(p->ctx, &f));
  CHECK_OK(grove_forest_set_graph(f, 1, 0, NULL, NULL)); /* the last one counts */
  CHECK_OK(grove_forest_set_graph(f, own->nroots, own->nleaves, index, root));
  CHECK_OK(grove_forest_set_name(f, name));
  memset(root, 0xee, roots_bytes);
  if (index != NULL) memset(index, 0xee, index_bytes);
  memset(name, 'x', sizeof name - 1);
  free(root);
  free(index);
  return f;
}

static void try_graph(const place *p, int64_t number)
{
  rng r = rng_from(test_seed() + (uint64_t)p->side, (uint64_t)number);
  graph *g = graph_random(&r, (graph_kind)(number % GRAPH_KINDS), p->size);
  grove_forest *f = set_and_forget(p, &g->part[p->rank]);
  check_state(f);
  CHECK_OK(grove_forest_set_up(f));
  check_all(f, g, p->rank, "quercus robur");
  check_no_new_graph(f);
  check_all(f, g, p->rank, "quercus robur");
  CHECK_OK(grove_forest_free(&f));
  graph_free(g);
}

/* Slots may lie as far apart as they like: nothing is as large as the range. */
static void far_apart(const place *p)
{
  graph *g = graph_empty(p->size);
  for (int i = 0; i < p->size; i++) {
    part_resize(&g->part[i], 2, 3);
    g->part[i].leaf_index = need(3 * sizeof(int64_t));
    memcpy(g->part[i].leaf_index, (int64_t[]){INT64_C(1) << 60, 3, INT64_C(1) << 33}, 24);
    for (int j = 0; j < 3; j++) g->part[i].root[j] = (grove_root){(i + j) % p->size, j % 2};
  }
  grove_forest *f = graph_forest(p->ctx, g, p->rank);
  check_all(f, g, p->rank, "empty");
  CHECK_OK(grove_forest_free(&f));
  graph_free(g);
}

static void null_arguments(const place *p)
{
  grove_forest *f = NULL;
  int64_t a;
  CHECK_STATUS(grove_forest_create(NULL, &f), GROVE_ERR_ARG);
  CHECK_STATUS(grove_forest_create(p->ctx, NULL), GROVE_ERR_ARG);
  CHECK_STATUS(grove_forest_set_graph(NULL, 0, 0, NULL, NULL), GROVE_ERR_ARG);
  CHECK_STATUS(grove_forest_set_graph_global(NULL, 0, 0, NULL, NULL), GROVE_ERR_ARG);
  CHECK_STATUS(grove_forest_set_pattern(NULL, GROVE_GATHER, 0), GROVE_ERR_ARG);
  CHECK_STATUS(grove_forest_set_name(NULL, "x"), GROVE_ERR_ARG);
  CHECK_STATUS(grove_forest_set_up(NULL), GROVE_ERR_ARG);
  CHECK_STATUS(grove_forest_sizes(NULL, &a, &a), GROVE_ERR_ARG);
  CHECK_STATUS(grove_forest_print(NULL, stderr), GROVE_ERR_ARG);
  CHECK(f == NULL, "an output was set by a call that failed");
  CHECK_OK(grove_forest_create(p->ctx, &f));
  CHECK_STATUS(grove_forest_set_pattern(f, (grove_pattern)99, 0), GROVE_ERR_ARG);
  CHECK_STATUS(grove_forest_set_name(f, NULL), GROVE_ERR_ARG);
  CHECK_OK(grove_forest_free(&f));
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "forest/queries");
  places all = places_create();
  null_arguments(&all.place[0]);
  far_apart(&all.place[0]);
  int64_t cases = test_samples(44);
  for (int64_t i = 0; i < cases; i++) {
    test_case(i);
    try_graph(places_turn(&all, i), i / all.n);
  }
  places_free(&all);
  return test_end();
}
