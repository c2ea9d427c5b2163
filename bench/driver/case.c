#include "driver/case.h"

#include <stdlib.h>
#include <string.h>

enum { PAGE = 4096 };

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
  if (c->spec->alloc) bench_need_grove(grove_alloc(c->ctx, bytes, &array));
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
    bench_need_grove(grove_dealloc(c->ctx, array));
    return;
  }
#endif
  (void)c;
  free(array);
}

static size_t whole_pages(size_t bytes)
{
  return (bytes + PAGE) / PAGE * PAGE; /* at least one */
}

/* Gather and scatter have one unit per leaf of a root. Then collective. */
static int64_t root_units(const bench_case *c, const bench_graph *g)
{
  if (c->spec->kind < BENCH_GATHER) return g->nroots;
  bench_lists lists;
  bench_lists_open(g, c->comm, 0, &lists);
  int64_t edges = lists.roots.start[c->nranks];
  bench_lists_close(&lists);
  return edges;
}

/* The graphs and the arrays of a case of one operation. */
static void open_graphs(bench_case *c)
{
  const bench_spec *spec = c->spec;
  int64_t nroots = 0, nslots = 0;
  c->nexchanges = spec->pattern == BENCH_PAIR ? 2 : 1;
  for (int k = 0; k < c->nexchanges; k++) {
    bench_graph *g = &c->graph[k];
    bench_graph_make(spec, k, c->rank, c->nranks, g);
    int64_t units = root_units(c, g);
    if (units > nroots) nroots = units;
    if (g->nslots > nslots) nslots = g->nslots;
  }
  c->root_used = (size_t)nroots * spec->type->bytes;
  c->leaf_used = (size_t)nslots * spec->type->bytes;
  c->root_bytes = whole_pages(c->root_used);
  c->leaf_bytes = whole_pages(c->leaf_used);
  c->root = open_array(c, c->root_bytes * (size_t)spec->buffers);
  c->leaf = open_array(c, c->leaf_bytes * (size_t)spec->buffers);
  if (spec->kind == BENCH_FETCH) c->update = open_array(c, c->leaf_bytes * (size_t)spec->buffers);
}

/* The other fields, as a list of cases. */
static void open_fields(bench_case *first)
{
  bench_case **at = &first->next;
  for (int i = 1; i < first->spec->nfields; i++, at = &(*at)->next) {
    bench_case *c = *at = bench_alloc(1, sizeof *c);
    *c = *first;
    c->next = NULL;
    c->update = NULL;
    c->spec = c->own_spec = bench_alloc(1, sizeof *c->own_spec);
    *c->own_spec = *first->spec;
    bench_spec_take_field(c->own_spec, i);
    open_graphs(c);
  }
}

static void close_fields(bench_case *c)
{
  for (bench_case *next; c; c = next) {
    next = c->next;
    c->next = NULL;
    bench_case_close(c);
    free(c->own_spec);
    free(c);
  }
}

int bench_case_open(const bench_spec *spec, MPI_Comm comm, grove_context *ctx, bench_case *out)
{
  static int last_number;
  bench_case c = {.spec = spec, .number = ++last_number, .comm = comm, .ctx = ctx};
#ifndef BENCH_HAVE_GROVE_ALLOC
  if (spec->alloc) return 1;
#endif
  MPI_Comm_rank(comm, &c.rank);
  MPI_Comm_size(comm, &c.nranks);
  open_graphs(&c);
  *out = c;
  open_fields(out);
  return 0;
}

/* ---- between exchanges ---- */

typedef uint64_t __attribute__((may_alias)) any_word; /* may be part of any type */

/* Flips the last bit of every eight bytes: changes the value, and writes to every cache line. */
static void write_anew(char *array, size_t bytes)
{
  any_word *word = (any_word *)(void *)array;
  for (size_t i = 0; i < (bytes + 7) / 8; i++) word[i] ^= 1;
}

static void read_all(const char *array, size_t bytes)
{
  static volatile uint64_t kept __attribute__((unused));
  const any_word *word = (const any_word *)(const void *)array;
  uint64_t sum = 0;
  for (size_t i = 0; i < (bytes + 7) / 8; i++) sum += word[i];
  kept = sum;
}

void bench_case_use(const bench_case *c, int buffer)
{
  if (c->next) bench_case_use(c->next, buffer);
  char *root = bench_root_array(c, buffer), *leaf = bench_leaf_array(c, buffer);
  if (c->update) read_all(bench_update_array(c, buffer), c->leaf_used);
  if (bench_writes_roots(c->spec)) {
    read_all(root, c->root_used);
    write_anew(leaf, c->leaf_used);
  } else {
    read_all(leaf, c->leaf_used);
    write_anew(root, c->root_used);
  }
}

void bench_case_close(bench_case *c)
{
  close_fields(c->next);
  for (int k = 0; k < c->nexchanges; k++) {
    free(c->graph[k].leaf);
    free(c->graph[k].root);
  }
  close_array(c, c->root);
  close_array(c, c->leaf);
  if (c->update) close_array(c, c->update);
}
