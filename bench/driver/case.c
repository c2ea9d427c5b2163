#include "driver/case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "methods/lists.h"

enum { PAGE = 4096 };

void bench_need(int ok, const char *what)
{
  if (ok) return;
  fprintf(stderr, "bench: %s\n", what);
  MPI_Abort(MPI_COMM_WORLD, 3);
}

void *bench_alloc(size_t count, size_t bytes)
{
  void *memory = calloc(count ? count : 1, bytes);
  bench_need(memory != NULL, "no memory left");
  return memory;
}

int64_t bench_case_edges(const bench_case *c)
{
  int64_t edges = 0;
  for (int k = 0; k < c->nexchanges; k++) edges += c->graph[k].nleaves;
  MPI_Allreduce(MPI_IN_PLACE, &edges, 1, MPI_INT64_T, MPI_SUM, c->comm);
  return edges;
}

/* ---- arrays ---- */

static char *open_array(const bench_case *c, size_t bytes)
{
  void *array = NULL;
#ifdef BENCH_HAVE_GROVE_ALLOC
  if (c->spec->alloc)
    bench_need(grove_alloc(c->ctx, bytes, &array) == GROVE_OK, grove_last_error());
#endif
  if (!array) bench_need(posix_memalign(&array, PAGE, bytes) == 0, "no memory left");
  (void)c;
  memset(array, 0, bytes);
  return array;
}

static void close_array(const bench_case *c, char *array)
{
#ifdef BENCH_HAVE_GROVE_ALLOC
  if (c->spec->alloc) {
    bench_need(grove_dealloc(c->ctx, array) == GROVE_OK, grove_last_error());
    return;
  }
#endif
  (void)c;
  free(array);
}

static size_t whole_pages(int64_t units, size_t bytes)
{
  return ((size_t)units * bytes + PAGE) / PAGE * PAGE; /* at least one */
}

int bench_case_open(const bench_spec *spec, MPI_Comm comm, grove_context *ctx, bench_case *out)
{
  static int last_number;
  bench_case c = {.spec = spec, .number = ++last_number, .comm = comm, .ctx = ctx};
  int64_t nroots = 0, nslots = 0;
#ifndef BENCH_HAVE_GROVE_ALLOC
  if (spec->alloc) return 1;
#endif
  MPI_Comm_rank(comm, &c.rank);
  MPI_Comm_size(comm, &c.nranks);
  c.nexchanges = spec->pattern == BENCH_PAIR ? 2 : 1;
  for (int k = 0; k < c.nexchanges; k++) {
    bench_graph *g = &c.graph[k];
    bench_graph_make(spec, k, c.rank, c.nranks, g);
    if (g->nroots > nroots) nroots = g->nroots;
    if (g->nslots > nslots) nslots = g->nslots;
  }
  c.root_bytes = whole_pages(nroots, spec->type->bytes);
  c.leaf_bytes = whole_pages(nslots, spec->type->bytes);
  c.root = open_array(&c, c.root_bytes * (size_t)spec->buffers);
  c.leaf = open_array(&c, c.leaf_bytes * (size_t)spec->buffers);
  *out = c;
  return 0;
}

void bench_case_close(bench_case *c)
{
  for (int k = 0; k < c->nexchanges; k++) {
    free(c->graph[k].leaf);
    free(c->graph[k].root);
  }
  close_array(c, c->root);
  close_array(c, c->leaf);
}

/* ---- values. Small: sums of them are exact in every type, whatever the order. ---- */

static int64_t units(size_t array_bytes, const bench_case *c)
{
  return (int64_t)(array_bytes / c->spec->type->bytes);
}

static int root_value(const bench_case *c, int rank, int64_t index, int buffer)
{
  int64_t mixed = rank * 31 + index * 7 + buffer * 13;
  return c->spec->reduce ? 1 : (int)(mixed % 97) + 2;
}

/* Bcast must overwrite the 1, and leave the rest of the array as it is. */
static int leaf_value(const bench_case *c, int rank, int64_t slot, int buffer)
{
  return c->spec->reduce ? (int)((rank + slot + buffer) % 3) + 1 : 1;
}

void bench_case_fill(bench_case *c)
{
  const bench_type *t = c->spec->type;
  for (int b = 0; b < c->spec->buffers; b++) {
    for (int64_t i = 0; i < units(c->root_bytes, c); i++)
      t->set(bench_root_array(c, b), i, root_value(c, c->rank, i, b));
    for (int64_t i = 0; i < units(c->leaf_bytes, c); i++)
      t->set(bench_leaf_array(c, b), i, leaf_value(c, c->rank, i, b));
  }
}

/* What one exchange leaves in the leaf array after a bcast. */
static void expect_leaves(const bench_case *c, const bench_graph *g, int b, int *expected)
{
  for (int64_t j = 0; j < g->nleaves; j++)
    expected[g->leaf ? g->leaf[j] : j] = root_value(c, g->root[j].rank, g->root[j].index, b);
}

/* What one exchange adds to the root array: the leaves' values, sent by MPI_Alltoallv. */
static void expect_roots(const bench_case *c, const bench_graph *g, int b, int *expected)
{
  bench_lists lists;
  bench_lists_open(g, c->comm, &lists);
  int *from = bench_alloc((size_t)g->nleaves, sizeof *from);
  int *to = bench_alloc((size_t)lists.roots.start[c->nranks], sizeof *to);
  for (int64_t i = 0; i < g->nleaves; i++)
    from[i] = leaf_value(c, c->rank, lists.leaves.index[i], b);
  MPI_Alltoallv(from, lists.leaves.count, lists.leaves.start, MPI_INT, to, lists.roots.count,
                lists.roots.start, MPI_INT, c->comm);
  for (int i = 0; i < lists.roots.start[c->nranks]; i++) expected[lists.roots.index[i]] += to[i];
  free(from);
  free(to);
  bench_lists_close(&lists);
}

int64_t bench_case_wrong(const bench_case *c)
{
  const bench_type *t = c->spec->type;
  int64_t wrong = 0, nroots = units(c->root_bytes, c), nslots = units(c->leaf_bytes, c);
  int *root = bench_alloc((size_t)nroots, sizeof *root);
  int *leaf = bench_alloc((size_t)nslots, sizeof *leaf);
  for (int b = 0; b < c->spec->buffers; b++) {
    for (int64_t i = 0; i < nroots; i++) root[i] = root_value(c, c->rank, i, b);
    for (int64_t i = 0; i < nslots; i++) leaf[i] = leaf_value(c, c->rank, i, b);
    for (int k = 0; k < c->nexchanges; k++) {
      if (c->spec->reduce) expect_roots(c, &c->graph[k], b, root);
      if (!c->spec->reduce) expect_leaves(c, &c->graph[k], b, leaf);
    }
    for (int64_t i = 0; i < nroots; i++) wrong += !t->is(bench_root_array(c, b), i, root[i]);
    for (int64_t i = 0; i < nslots; i++) wrong += !t->is(bench_leaf_array(c, b), i, leaf[i]);
  }
  free(root);
  free(leaf);
  return wrong;
}
