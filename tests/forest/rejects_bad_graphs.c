/* Graphs that are wrong on one rank: set_up fails on every rank with one sentence, which has the
 * facts; then a good graph can be set. */
#include "check.h"
#include "exercise.h"
#include "places.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* A mistake, made in one leaf of one rank's part. */
typedef enum mistake {
  RANK_TOO_LARGE,
  RANK_FAR_TOO_LARGE,
  RANK_NEGATIVE,
  INDEX_NEGATIVE,
  INDEX_FAR_NEGATIVE,
  INDEX_JUST_TOO_LARGE,
  INDEX_FAR_TOO_LARGE,
  LEAF_TWICE,
  LEAF_NEGATIVE,
  NROOTS_NEGATIVE,
  NLEAVES_NEGATIVE,
  ROOTS_MISSING, /* NULL with a count */
  MISTAKES
} mistake;

static part part_copy(const part *p)
{
  part copy = *p;
  copy.root = need((size_t)p->nleaves * sizeof *copy.root);
  copy.leaf_index = need((size_t)p->nleaves * sizeof *copy.leaf_index);
  memcpy(copy.root, p->root, (size_t)p->nleaves * sizeof *copy.root);
  for (int64_t j = 0; j < p->nleaves; j++) copy.leaf_index[j] = part_slot(p, j);
  return copy;
}

static void part_free(part *p)
{
  free(p->root);
  free(p->leaf_index);
}

/* Makes the mistake in leaf j; leaf k is another one. */
static void spoil(part *p, const graph *g, mistake m, int64_t j, int64_t k)
{
  int64_t end = g->part[p->root[j].rank].nroots;
  switch (m) {
  case RANK_TOO_LARGE: p->root[j].rank = g->nranks; break;
  case RANK_FAR_TOO_LARGE: p->root[j].rank = INT_MAX; break;
  case RANK_NEGATIVE: p->root[j].rank = -1; break;
  case INDEX_NEGATIVE: p->root[j].index = -1; break;
  case INDEX_FAR_NEGATIVE: p->root[j].index = INT64_MIN; break;
  case INDEX_JUST_TOO_LARGE: p->root[j].index = end; break;
  case INDEX_FAR_TOO_LARGE: p->root[j].index = INT64_MAX; break;
  case LEAF_TWICE: p->leaf_index[j] = p->leaf_index[k]; break;
  case LEAF_NEGATIVE: p->leaf_index[j] = -3; break;
  case NROOTS_NEGATIVE: p->nroots = -4; break;
  case NLEAVES_NEGATIVE: p->nleaves = -5; break;
  default: break;
  }
}

/* The sentence may count leaves by position or by slot. */
static void check_leaf_in(const char *text, const part *p, int64_t j)
{
  CHECK(number_in(text, j) || number_in(text, p->leaf_index[j]),
        "neither leaf %lld nor its slot %lld in '%s'", (long long)j, (long long)p->leaf_index[j],
        text);
}

static void check_facts(const char *text, const part *p, mistake m, int bad, int64_t j)
{
  CHECK_NUMBER_IN(text, bad);
  if (m <= LEAF_NEGATIVE) check_leaf_in(text, p, j);
  if (m <= RANK_NEGATIVE) CHECK_NUMBER_IN(text, p->root[j].rank);
  if (m >= INDEX_NEGATIVE && m <= INDEX_FAR_TOO_LARGE) CHECK_NUMBER_IN(text, p->root[j].index);
  if (m == LEAF_TWICE || m == LEAF_NEGATIVE) CHECK_NUMBER_IN(text, p->leaf_index[j]);
  if (m == NROOTS_NEGATIVE) CHECK_NUMBER_IN(text, p->nroots);
  if (m == NLEAVES_NEGATIVE) CHECK_NUMBER_IN(text, p->nleaves);
}

enum { SENTENCE_BYTES = 2048 };

/* The sentence stays with the caller: the next call that fails replaces Grove's own. */
static void check_refused(const place *p, grove_forest *f, char *sentence)
{
  grove_status status = grove_forest_set_up(f);
  CHECK(status == GROVE_ERR_GRAPH, "%s: '%s'", grove_status_name(status), grove_last_error());
  CHECK_SAME_ERROR(p->comm, status);
  snprintf(sentence, SENTENCE_BYTES, "%s", grove_last_error());
  int64_t n = 0;
  grove_op *op = NULL;
  CHECK_STATUS(grove_forest_sizes(f, &n, &n), GROVE_ERR_STATE);
  CHECK_STATUS(grove_bcast_init(f, MPI_INT64_T, &n, &n, MPI_SUM, &op), GROVE_ERR_STATE);
}

/* The same forest, with a good graph: it works. */
static void check_mended(const units *types, const place *p, const graph *g, grove_forest *f)
{
  const part *own = &g->part[p->rank];
  CHECK_OK(grove_forest_set_graph(f, own->nroots, own->nleaves, own->leaf_index, own->root));
  CHECK_OK(grove_forest_set_up(f));
  exercise e = {.g = g, .f = f, .me = p->rank, .u = units_find(types, "MPI_INT")};
  e.r = unit_reduction(e.u, "SUM");
  exercise_open(&e);
  exercise_block(&e);
  exercise_check(&e);
  exercise_close(&e);
}

/* The facts are known on every rank, since all drew the same numbers: all check the sentence. */
static void try_mistake(const units *types, const place *p, int64_t number, mistake m)
{
  rng r = rng_from(test_seed() + (uint64_t)p->side, (uint64_t)number);
  graph *g;
  int bad;
  do { /* the bad rank must have two leaves */
    g = graph_random(&r, rng_one_in(&r, 2) ? GRAPH_DENSE : GRAPH_BLOCKS, p->size);
    bad = (int)rng_below(&r, p->size);
    if (g->part[bad].nleaves >= 2) break;
    graph_free(g);
  } while (1);
  int64_t j = rng_below(&r, g->part[bad].nleaves), k = rng_below(&r, g->part[bad].nleaves - 1);
  if (k >= j) k++;
  part wrong = part_copy(&g->part[bad]);
  spoil(&wrong, g, m, j, k);
  const part *own = p->rank == bad ? &wrong : &g->part[p->rank];
  grove_forest *f = NULL;
  CHECK_OK(grove_forest_create(p->ctx, &f));
  CHECK_OK(grove_forest_set_graph(f, own->nroots, own->nleaves, own->leaf_index,
                                  m == ROOTS_MISSING && p->rank == bad ? NULL : own->root));
  char text[SENTENCE_BYTES];
  check_refused(p, f, text);
  check_refused(p, f, text);                         /* nothing has changed */
  if (m == LEAF_TWICE && !number_in(text, j)) j = k; /* either of the two */
  check_facts(text, &wrong, m, bad, j);
  check_mended(types, p, g, f);
  CHECK_OK(grove_forest_free(&f));
  part_free(&wrong);
  graph_free(g);
}

/* ---- graphs that are not given as pairs ---- */

static void bad_global_numbers(const units *types, const place *p, int64_t number)
{
  rng r = rng_from(test_seed() + 7 + (uint64_t)p->side, (uint64_t)number);
  graph *g = graph_random(&r, GRAPH_DENSE, p->size);
  int bad = (int)rng_below(&r, p->size);
  int64_t nroots = g->part[p->rank].nroots, total = 0;
  for (int i = 0; i < p->size; i++) total += g->part[i].nroots;
  const int64_t values[] = {total, -1, INT64_MAX, INT64_MIN};
  int64_t wrong = values[rng_below(&r, 4)], roots[4] = {0, 0, p->rank == bad ? wrong : 0, 0};
  grove_forest *f = NULL;
  CHECK_OK(grove_forest_create(p->ctx, &f));
  CHECK_OK(grove_forest_set_graph_global(f, nroots, 4, NULL, roots));
  char text[SENTENCE_BYTES];
  check_refused(p, f, text);
  CHECK_NUMBER_IN(text, bad);
  CHECK_NUMBER_IN(text, 2);
  CHECK_NUMBER_IN(text, wrong);
  CHECK_OK(grove_forest_set_graph_global(f, nroots, p->rank == bad ? 4 : 0, NULL, NULL));
  check_refused(p, f, text); /* NULL with a count */
  CHECK_NUMBER_IN(text, bad);
  check_mended(types, p, g, f);
  CHECK_OK(grove_forest_free(&f));
  graph_free(g);
}

static void bad_patterns(const units *types, const place *p, int64_t number)
{
  rng r = rng_from(test_seed() + 9 + (uint64_t)p->side, (uint64_t)number);
  graph *g = graph_random(&r, GRAPH_DENSE, p->size);
  int bad = (int)rng_below(&r, p->size);
  char text[SENTENCE_BYTES];
  grove_forest *f = NULL;
  CHECK_OK(grove_forest_create(p->ctx, &f));
  for (int i = 0; i < 3; i++) {
    static const grove_pattern pattern[] = {GROVE_ALLGATHER, GROVE_GATHER, GROVE_ALLTOALL};
    CHECK_OK(grove_forest_set_pattern(f, pattern[i], p->rank == bad ? -1 : 2));
    check_refused(p, f, text);
    CHECK_NUMBER_IN(text, bad);
  }
  if (p->size > 1) {
    CHECK_OK(grove_forest_set_pattern(f, GROVE_ALLTOALL, p->rank == bad ? 3 : 2));
    check_refused(p, f, text);
    if (p->rank == bad)
      CHECK_OK(grove_forest_set_pattern(f, GROVE_GATHER, 2));
    else
      CHECK_OK(grove_forest_set_graph(f, 2, 0, NULL, NULL));
    check_refused(p, f, text);
  }
  check_mended(types, p, g, f);
  CHECK_OK(grove_forest_free(&f));
  graph_free(g);
}

/* One rank has set no graph at all. */
static void no_graph(const units *types, const place *p, int64_t number)
{
  rng r = rng_from(test_seed() + 11 + (uint64_t)p->side, (uint64_t)number);
  graph *g = graph_random(&r, GRAPH_DENSE, p->size);
  int bad = (int)rng_below(&r, p->size);
  grove_forest *f = NULL;
  CHECK_OK(grove_forest_create(p->ctx, &f));
  if (p->rank != bad) CHECK_OK(grove_forest_set_graph(f, 2, 0, NULL, NULL));
  grove_status status = grove_forest_set_up(f);
  CHECK(status != GROVE_OK, "a forest without a graph was set up");
  CHECK_SAME_ERROR(p->comm, status);
  CHECK_NUMBER_IN(grove_last_error(), bad);
  check_mended(types, p, g, f);
  CHECK_OK(grove_forest_free(&f));
  graph_free(g);
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "forest/rejects_bad_graphs");
  units *types = units_create();
  places all = places_create();
  int64_t cases = test_samples(3 * MISTAKES);
  for (int64_t i = 0; i < cases; i++) {
    test_case(i);
    const place *p = places_turn(&all, i);
    try_mistake(types, p, i, (mistake)(i % MISTAKES));
    if (i % 4 == 0) bad_global_numbers(types, p, i);
    if (i % 4 == 2) bad_patterns(types, p, i);
    if (i % 8 == 1) no_graph(types, p, i);
  }
  places_free(&all);
  units_free(types);
  return test_end();
}
