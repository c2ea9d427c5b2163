/* The correct result of an exchange, computed with plain MPI and whole numbers.
 *
 * Values are small, so sums of them are exact in every type and order. Libraries differ in the
 * order of a root's leaves (grove.h defines Grove's, and its tests check it), so nothing here
 * depends on it. After a fetch the leaves of a root, sorted by what they got, must form a chain
 * from the first value to the last. What gather brings to a root, and scatter takes from it, is
 * compared as a sorted list.
 */
#include "driver/case.h"

#include <limits.h>
#include <stdlib.h>

static int64_t units(size_t array_bytes, const bench_case *c)
{
  return (int64_t)(array_bytes / c->spec->type->bytes);
}

static int is_reduction(const bench_case *c)
{
  return c->spec->kind == BENCH_REDUCE || c->spec->kind == BENCH_FETCH;
}

/* ---- values before ---- */

static int mixed(int rank, int64_t index, int buffer)
{
  return (int)((rank * 31 + index * 7 + buffer * 13) % 97) + 2;
}

/* Where an array is only written, all of it is 1: the rest must stay so. */
static int root_value(const bench_case *c, int rank, int64_t index, int buffer)
{
  if (is_reduction(c)) return c->spec->op->root;
  return c->spec->kind == BENCH_GATHER ? 1 : mixed(rank, index, buffer);
}

static int leaf_value(const bench_case *c, int64_t slot, int buffer)
{
  if (is_reduction(c)) return c->spec->op->low + (int)((c->rank + slot + buffer) % 3);
  return c->spec->kind == BENCH_GATHER ? mixed(c->rank, slot, buffer) : 1;
}

/* MPI_REPLACE may leave any leaf's value in the root, so a root's leaves are equal. */
static void make_leaves_equal(const bench_graph *g, int buffer, int *value)
{
  for (int64_t j = 0; j < g->nleaves; j++)
    value[g->leaf ? g->leaf[j] : j] = mixed(g->root[j].rank, g->root[j].index, buffer);
}

static int *root_values(const bench_case *c, int buffer)
{
  int64_t n = units(c->root_bytes, c);
  int *value = bench_alloc((size_t)n, sizeof *value);
  for (int64_t i = 0; i < n; i++) value[i] = root_value(c, c->rank, i, buffer);
  return value;
}

static int *leaf_values(const bench_case *c, int buffer)
{
  int64_t n = units(c->leaf_bytes, c);
  int *value = bench_alloc((size_t)n, sizeof *value);
  for (int64_t i = 0; i < n; i++) value[i] = leaf_value(c, i, buffer);
  int replaces = c->spec->kind == BENCH_REDUCE && c->spec->op->mpi() == MPI_REPLACE;
  for (int k = 0; replaces && k < c->nexchanges; k++)
    make_leaves_equal(&c->graph[k], buffer, value);
  return value;
}

/* Writes the values to the array and frees them. */
static void write_values(const bench_case *c, char *array, size_t bytes, int *value)
{
  for (int64_t i = 0; i < units(bytes, c); i++) c->spec->type->set(array, i, value[i]);
  free(value);
}

void bench_case_fill(bench_case *c)
{
  if (c->next) bench_case_fill(c->next);
  for (int b = 0; b < c->spec->buffers; b++) {
    write_values(c, bench_root_array(c, b), c->root_bytes, root_values(c, b));
    write_values(c, bench_leaf_array(c, b), c->leaf_bytes, leaf_values(c, b));
    if (c->update) write_values(c, bench_update_array(c, b), c->leaf_bytes, leaf_values(c, b));
  }
}

/* ---- values after ---- */

/* INT_MIN where it is not a whole number. */
static int *read_values(const bench_case *c, const char *array, size_t bytes)
{
  const bench_type *t = c->spec->type;
  int64_t n = units(bytes, c);
  int *value = bench_alloc((size_t)n, sizeof *value);
  for (int64_t i = 0; i < n; i++) {
    int near = t->get(array, i);
    value[i] = t->is(array, i, near) ? near : INT_MIN;
  }
  return value;
}

/* Frees what is expected. */
static int64_t differences(const bench_case *c, const char *array, size_t bytes, int *expected)
{
  int64_t wrong = 0;
  for (int64_t i = 0; i < units(bytes, c); i++) wrong += !c->spec->type->is(array, i, expected[i]);
  free(expected);
  return wrong;
}

/* An edge as its root sees it: a number from the leaf's end, and a second one. */
typedef struct edge {
  int root, value, other;
} edge;

static int by_root_and_values(const void *a, const void *b)
{
  const edge *x = a, *y = b;
  if (x->root != y->root) return x->root < y->root ? -1 : 1;
  if (x->value != y->value) return x->value < y->value ? -1 : 1;
  return (x->other > y->other) - (x->other < y->other);
}

/* The numbers in the array `value` at the leaves of this rank's roots, in the order of the lists.
 * */
static int *bring(const bench_case *c, const bench_lists *lists, const int *value)
{
  int nleaves = lists->leaves.start[c->nranks];
  int *from = bench_alloc((size_t)nleaves, sizeof *from);
  int *to = bench_alloc((size_t)lists->roots.start[c->nranks], sizeof *to);
  for (int i = 0; i < nleaves; i++) from[i] = value[lists->leaves.index[i]];
  MPI_Alltoallv(from, lists->leaves.count, lists->leaves.start, MPI_INT, to, lists->roots.count,
                lists->roots.start, MPI_INT, c->comm);
  free(from);
  return to;
}

/* The edges at this rank's roots, sorted; returns how many. */
static int sorted_edges(const bench_case *c, const bench_graph *g, const int *value,
                        const int *other, edge **out)
{
  bench_lists lists;
  bench_lists_open(g, c->comm, 0, &lists);
  int n = lists.roots.start[c->nranks];
  int *x = bring(c, &lists, value), *y = bring(c, &lists, other);
  edge *edges = bench_alloc((size_t)n, sizeof *edges);
  for (int i = 0; i < n; i++) edges[i] = (edge){lists.roots.index[i], x[i], y[i]};
  qsort(edges, (size_t)n, sizeof *edges, by_root_and_values);
  free(x);
  free(y);
  bench_lists_close(&lists);
  *out = edges;
  return n;
}

/* ---- what each kind must give ---- */

static void expect_leaves(const bench_case *c, const bench_graph *g, int buffer, int *leaf)
{
  for (int64_t j = 0; j < g->nleaves; j++) {
    int *at = &leaf[g->leaf ? g->leaf[j] : j];
    *at = c->spec->op->of(*at, root_value(c, g->root[j].rank, g->root[j].index, buffer));
  }
}

static void expect_roots(const bench_case *c, const bench_graph *g, int buffer, int *root)
{
  edge *edges;
  int *leaf = leaf_values(c, buffer);
  int n = sorted_edges(c, g, leaf, leaf, &edges);
  for (int i = 0; i < n; i++)
    root[edges[i].root] = c->spec->op->of(root[edges[i].root], edges[i].value);
  free(leaf);
  free(edges);
}

/* Counts fetched values that do not continue the chain of their root. The operation makes no value
 * smaller, so sorted values are in the order of the chain. Those that change nothing come first. */
static int64_t broken_links(const bench_case *c, int buffer)
{
  edge *edges;
  int64_t wrong = 0;
  int *leaf = leaf_values(c, buffer), *root = root_values(c, buffer);
  int *fetched = read_values(c, bench_update_array(c, buffer), c->leaf_bytes);
  int n = sorted_edges(c, &c->graph[0], fetched, leaf, &edges);
  for (int i = 0; i < n; i++) {
    int *now = &root[edges[i].root];
    wrong += edges[i].value != *now;
    *now = c->spec->op->of(*now, edges[i].other);
  }
  free(leaf);
  free(root);
  free(fetched);
  free(edges);
  return wrong;
}

/* Compares the leaves' values with the units of their roots: sorted, both are equal. */
static int64_t unlike(const bench_case *c, const int *leaf, const int *multiroot)
{
  edge *edges, *slots;
  int64_t wrong = 0;
  int n = sorted_edges(c, &c->graph[0], leaf, leaf, &edges);
  slots = bench_alloc((size_t)n, sizeof *slots);
  for (int i = 0; i < n; i++) slots[i] = (edge){edges[i].root, multiroot[i], 0};
  qsort(slots, (size_t)n, sizeof *slots, by_root_and_values);
  for (int i = 0; i < n; i++) wrong += slots[i].value != edges[i].value;
  free(edges);
  free(slots);
  return wrong;
}

/* Both kinds: what was read must be unchanged, and nothing else may be written. */
static int64_t wrong_multi(const bench_case *c, int buffer)
{
  const bench_graph *g = &c->graph[0];
  int gathers = c->spec->kind == BENCH_GATHER;
  int *leaf = read_values(c, bench_leaf_array(c, buffer), c->leaf_bytes);
  int *root = read_values(c, bench_root_array(c, buffer), c->root_bytes);
  int64_t wrong = unlike(c, leaf, root);
  int *leaf_before = leaf_values(c, buffer), *root_before = root_values(c, buffer);
  bench_lists lists;
  bench_lists_open(g, c->comm, 0, &lists);
  for (int i = 0; gathers && i < lists.roots.start[c->nranks]; i++) root_before[i] = root[i];
  for (int i = 0; !gathers && i < lists.leaves.start[c->nranks]; i++)
    leaf_before[lists.leaves.index[i]] = leaf[lists.leaves.index[i]];
  bench_lists_close(&lists);
  free(leaf);
  free(root);
  wrong += differences(c, bench_leaf_array(c, buffer), c->leaf_bytes, leaf_before);
  return wrong + differences(c, bench_root_array(c, buffer), c->root_bytes, root_before);
}

static int64_t wrong_in(const bench_case *c, int buffer)
{
  if (c->spec->kind >= BENCH_GATHER) return wrong_multi(c, buffer);
  int *root = root_values(c, buffer), *leaf = leaf_values(c, buffer);
  for (int k = 0; k < c->nexchanges; k++) {
    if (is_reduction(c)) expect_roots(c, &c->graph[k], buffer, root);
    if (!is_reduction(c)) expect_leaves(c, &c->graph[k], buffer, leaf);
  }
  int64_t wrong = c->update ? broken_links(c, buffer) : 0;
  wrong += differences(c, bench_leaf_array(c, buffer), c->leaf_bytes, leaf);
  return wrong + differences(c, bench_root_array(c, buffer), c->root_bytes, root);
}

int64_t bench_case_wrong(const bench_case *c)
{
  int64_t wrong = c->next ? bench_case_wrong(c->next) : 0;
  for (int b = 0; b < c->spec->buffers; b++) wrong += wrong_in(c, b);
  return wrong;
}
