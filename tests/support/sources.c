#include "sources.h"

#include "check.h"

#include <stdlib.h>

/* ---- graphs as forests ---- */

static grove_forest *by_number(const place *p, const graph *g)
{
  const part *own = &g->part[p->rank];
  int64_t *number = need((size_t)own->nleaves * sizeof *number);
  grove_forest *f = NULL;
  for (int64_t j = 0; j < own->nleaves; j++) {
    number[j] = own->root[j].index;
    for (int i = 0; i < own->root[j].rank; i++) number[j] += g->part[i].nroots;
  }
  CHECK_OK(grove_forest_create(p->ctx, &f));
  CHECK_OK(grove_forest_set_graph_global(f, own->nroots, own->nleaves, own->leaf_index, number));
  CHECK_OK(grove_forest_set_up(f));
  free(number);
  return f;
}

static drawn from_graph(const place *p, graph_source s, graph *g)
{
  return (drawn){g, s == BY_NUMBER ? by_number(p, g) : graph_forest(p->ctx, g, p->rank)};
}

static drawn from_pattern(const place *p, rng *r, grove_pattern pattern)
{
  drawn d = {0};
  int64_t *n = need((size_t)p->size * sizeof *n), same = rng_below(r, 4);
  for (int i = 0; i < p->size; i++) n[i] = pattern == GROVE_ALLTOALL ? same : rng_below(r, 5);
  CHECK_OK(grove_forest_create(p->ctx, &d.f));
  CHECK_OK(grove_forest_set_pattern(d.f, pattern, n[p->rank]));
  CHECK_OK(grove_forest_set_up(d.f));
  d.g = graph_pattern(pattern, p->size, n);
  free(n);
  return d;
}

drawn draw_from(const place *p, rng *r, graph_source s, int64_t number)
{
  static const grove_pattern patterns[] = {GROVE_ALLGATHER, GROVE_GATHER, GROVE_ALLTOALL};
  if (s == BY_PATTERN) return from_pattern(p, r, patterns[number % 3]);
  return from_graph(p, s, graph_random(r, (graph_kind)(number % GRAPH_KINDS), p->size));
}

/* ---- trials ---- */

trial trial_begin(const place *p, int64_t number)
{
  rng r = rng_from(test_seed() + (uint64_t)p->side, (uint64_t)number);
  return (trial){.p = p, .number = number, .r = r};
}

/* Lists have the most to go wrong with. */
static graph_source draw_source(trial *t)
{
  static const graph_source sources[] = {BY_LIST, BY_LIST, BY_LIST, BY_NUMBER, BY_PATTERN};
  return sources[rng_below(&t->r, 5)];
}

drawn draw_any(trial *t)
{
  graph_source s = draw_source(t);
  return draw_from(t->p, &t->r, s, rng_below(&t->r, 3 * GRAPH_KINDS));
}

static graph *draw_graph(trial *t)
{
  return graph_random(&t->r, (graph_kind)rng_below(&t->r, GRAPH_KINDS), t->p->size);
}

/* Leaves without a list of slots move up. */
static void keep_leaves(part *p, const char *keep)
{
  int64_t n = 0;
  for (int64_t j = 0; j < p->nleaves; j++) {
    if (!keep[j]) continue;
    if (p->leaf_index != NULL) p->leaf_index[n] = p->leaf_index[j];
    p->root[n++] = p->root[j];
  }
  p->nleaves = n;
}

/* Leaves the first leaf of each root, in the order of ranks. */
static void make_single(graph *g)
{
  char **taken = need((size_t)g->nranks * sizeof *taken);
  for (int i = 0; i < g->nranks; i++) {
    taken[i] = calloc((size_t)g->part[i].nroots + 1, 1);
    CHECK(taken[i] != NULL, "no memory for %lld roots", (long long)g->part[i].nroots);
  }
  for (int i = 0; i < g->nranks; i++) {
    part *p = &g->part[i];
    char *keep = need((size_t)p->nleaves);
    for (int64_t j = 0; j < p->nleaves; j++) {
      char *root = &taken[p->root[j].rank][p->root[j].index];
      keep[j] = !*root;
      *root = 1;
    }
    keep_leaves(p, keep);
    free(keep);
  }
  for (int i = 0; i < g->nranks; i++) free(taken[i]);
  free(taken);
}

drawn draw_single(trial *t)
{
  graph_source s = draw_source(t);
  if (s == BY_PATTERN)
    return from_pattern(t->p, &t->r, rng_one_in(&t->r, 2) ? GROVE_GATHER : GROVE_ALLTOALL);
  graph *g = draw_graph(t);
  make_single(g);
  return from_graph(t->p, s, g);
}

/* Leaves on ranks without roots are dropped. */
static void take_roots(graph *g, const graph *other)
{
  for (int i = 0; i < g->nranks; i++) {
    part *p = &g->part[i];
    char *keep = need((size_t)p->nleaves);
    p->nroots = other->part[i].nroots;
    for (int64_t j = 0; j < p->nleaves; j++) {
      int64_t n = other->part[p->root[j].rank].nroots;
      keep[j] = n > 0;
      if (n > 0) p->root[j].index %= n;
    }
    keep_leaves(p, keep);
    free(keep);
  }
}

drawn draw_beside(trial *t, const graph *other)
{
  graph *g = draw_graph(t);
  take_roots(g, other);
  return from_graph(t->p, rng_one_in(&t->r, 2) ? BY_LIST : BY_NUMBER, g);
}

void drawn_free(drawn *d, int rank)
{
  graph_check(d->f, &d->g->part[rank], "an input");
  CHECK_OK(grove_forest_free(&d->f));
  graph_free(d->g);
  d->g = NULL;
}

/* ---- forests as graphs ---- */

void graph_check(grove_forest *f, const part *p, const char *what)
{
  int64_t nroots = -1, nleaves = -1;
  const int64_t *index = NULL;
  const grove_root *root = NULL;
  CHECK_OK(grove_forest_graph(f, &nroots, &nleaves, &index, &root));
  CHECK(nroots == p->nroots && nleaves == p->nleaves,
        "%s: %lld roots and %lld leaves, not %lld, %lld", what, (long long)nroots,
        (long long)nleaves, (long long)p->nroots, (long long)p->nleaves);
  for (int64_t j = 0; j < nleaves; j++) {
    CHECK((index != NULL ? index[j] : j) == part_slot(p, j), "%s: leaf %lld moved", what,
          (long long)j);
    CHECK(root[j].rank == p->root[j].rank && root[j].index == p->root[j].index,
          "%s: leaf %lld is joined to (%d, %lld), not to (%d, %lld)", what, (long long)j,
          root[j].rank, (long long)root[j].index, p->root[j].rank, (long long)p->root[j].index);
  }
}

/* What a leaf is told to other ranks as: slot, rank and index of its root. */
enum { WORDS = 3 };

static int64_t *leaves_as_words(grove_forest *f, int64_t *n)
{
  const int64_t *index = NULL;
  const grove_root *root = NULL;
  CHECK_OK(grove_forest_graph(f, NULL, n, &index, &root));
  int64_t *words = need((size_t)(WORDS * *n) * sizeof *words);
  for (int64_t j = 0; j < *n; j++) {
    words[WORDS * j] = index != NULL ? index[j] : j;
    words[WORDS * j + 1] = root[j].rank;
    words[WORDS * j + 2] = root[j].index;
  }
  return words;
}

static void part_from_words(part *p, const int64_t *size, const int64_t *words)
{
  part_resize(p, size[0], size[1]);
  p->nslots = size[2];
  p->leaf_index = need((size_t)p->nleaves * sizeof *p->leaf_index);
  for (int64_t j = 0; j < p->nleaves; j++) {
    p->leaf_index[j] = words[WORDS * j];
    p->root[j].rank = (int)words[WORDS * j + 1];
    p->root[j].index = words[WORDS * j + 2];
  }
}

graph *graph_gathered(const place *p, grove_forest *f)
{
  MPI_Request request;
  int64_t own[3], *size = need((size_t)p->size * sizeof own), total = 0;
  int *count = need((size_t)p->size * sizeof *count), *at = need((size_t)p->size * sizeof *at);
  int64_t *mine = leaves_as_words(f, &own[1]);
  CHECK_OK(grove_forest_sizes(f, &own[0], NULL));
  CHECK_OK(grove_forest_leaf_range(f, NULL, &own[2]));
  MPI_Iallgather(own, 3, MPI_INT64_T, size, 3, MPI_INT64_T, p->comm, &request);
  polite_wait(&request);
  for (int i = 0; i < p->size; i++) {
    at[i] = (int)total;
    count[i] = (int)(WORDS * size[3 * i + 1]);
    total += count[i];
  }
  int64_t *all = need((size_t)total * sizeof *all);
  MPI_Iallgatherv(mine, count[p->rank], MPI_INT64_T, all, count, at, MPI_INT64_T, p->comm,
                  &request);
  polite_wait(&request);
  graph *g = graph_empty(p->size);
  for (int i = 0; i < p->size; i++) part_from_words(&g->part[i], &size[3 * i], &all[at[i]]);
  free(all);
  free(mine);
  free(at);
  free(count);
  free(size);
  return g;
}
