/* The graphs of the grid.
 *
 *   pair     ranks 2k and 2k+1; exchange 0 goes from the even one to the odd one, exchange 1 back.
 *            Both lists have the shape: all of an array; a face of a box, one entry in n; distinct
 *            places in random order in an array four times as long; runs of eight.
 *   random   every leaf is joined to any root of any rank, its own included. With the shape
 *            `scattered` the leaves are in random order too.
 *   ghost    as in a matrix or a mesh: leaves on distinct roots of other ranks, ascending, at the
 *            leaf array's slots 0, 1, 2, ...
 *   halo     a box of cells per rank, the boxes in a box of ranks. Leaves are the faces of the
 *            neighbours' boxes, as a seven-point stencil needs them, one face after the other. With
 *            the shape `face` the ranks are arranged along the axis in which cells are consecutive
 *            (a face is one cell in n), else along the last (a face is consecutive).
 *   swap     a pair whose ranks send to each other at the same time.
 *
 * The same on every machine: everything random comes from the case's size and the rank.
 */
#include "driver/case.h"
#include "kit/random.h"
#include "kit/stats.h"

#include <stdlib.h>
#include <string.h>

/* The first n of a random order of 0 .. total-1. */
static void draw(int64_t n, int64_t total, uint64_t *state, int64_t *out)
{
  int64_t *all = bench_alloc((size_t)total, sizeof *all);
  for (int64_t i = 0; i < total; i++) all[i] = i;
  for (int64_t i = 0; i < n; i++) {
    int64_t j = i + (int64_t)(bench_random(state) % (uint64_t)(total - i)), kept = all[i];
    all[i] = all[j];
    all[j] = kept;
  }
  memcpy(out, all, (size_t)n * sizeof *out);
  free(all);
}

static int64_t edge_of_box(int64_t n)
{
  int64_t edge = 1;
  while (edge * edge < n) edge++;
  return edge;
}

/* The places of n units in an array of the shape; returns its length. */
static int64_t place(bench_shape shape, int64_t n, uint64_t *state, int64_t *out)
{
  enum { RUN = 8 };
  int64_t edge = edge_of_box(n);
  switch (shape) {
  case BENCH_CONTIGUOUS: break;
  case BENCH_FACE:
    for (int64_t i = 0; i < n; i++) out[i] = i * edge;
    return edge * edge * edge;
  case BENCH_SCATTERED: draw(n, 4 * n, state, out); return 4 * n;
  case BENCH_RUNS:
    for (int64_t i = 0; i < n; i++) out[i] = i / RUN * 2 * RUN + i % RUN;
    return 2 * n + 2 * RUN;
  }
  for (int64_t i = 0; i < n; i++) out[i] = i;
  return n;
}

/* Root and leaf places come from one state, known to both ranks. */
static void make_pair(const bench_spec *s, int exchange, int rank, int nranks, bench_graph *g)
{
  int64_t n = s->size / (int64_t)s->type->bytes;
  int peer = rank ^ 1;
  uint64_t state = 1000 + (uint64_t)exchange;
  int64_t *roots = bench_alloc((size_t)n, sizeof *roots);
  g->leaf = bench_alloc((size_t)n, sizeof *g->leaf);
  g->nroots = place(s->shape, n, &state, roots);
  g->nslots = place(s->shape, n, &state, g->leaf);
  int both_ways = s->pattern == BENCH_SWAP;
  if (peer < nranks && (both_ways || rank % 2 != exchange)) {
    g->nleaves = n;
    g->root = bench_alloc((size_t)n, sizeof *g->root);
    for (int64_t i = 0; i < n; i++) g->root[i] = (grove_root){peer, roots[i]};
  }
  free(roots);
  if (s->shape != BENCH_CONTIGUOUS) return;
  free(g->leaf);
  g->leaf = NULL;
}

static void make_random(const bench_spec *s, int rank, int nranks, bench_graph *g)
{
  uint64_t state = 77 * (uint64_t)s->size + (uint64_t)rank;
  g->nroots = g->nslots = g->nleaves = s->size;
  g->root = bench_alloc((size_t)s->size, sizeof *g->root);
  for (int64_t j = 0; j < s->size; j++) {
    g->root[j].rank = (int)(bench_random(&state) % (uint64_t)nranks);
    g->root[j].index = (int64_t)(bench_random(&state) % (uint64_t)s->size);
  }
  if (s->shape != BENCH_SCATTERED) return;
  g->leaf = bench_alloc((size_t)s->size, sizeof *g->leaf);
  draw(s->size, s->size, &state, g->leaf);
}

/* Twice as many roots as leaves, so that with two ranks half of them are needed. */
static void make_ghost(const bench_spec *s, int rank, int nranks, bench_graph *g)
{
  int64_t own = 2 * s->size, n = nranks > 1 ? s->size : 0;
  uint64_t state = 99 * (uint64_t)s->size + (uint64_t)rank;
  int64_t *global = bench_alloc((size_t)s->size, sizeof *global);
  if (n) draw(n, own * (nranks - 1), &state, global);
  bench_sort_distinct(global, n);
  g->nroots = own;
  g->nslots = g->nleaves = n;
  g->root = bench_alloc((size_t)s->size, sizeof *g->root);
  for (int64_t j = 0; j < n; j++) {
    int other = (int)(global[j] / own);
    g->root[j] = (grove_root){other + (other >= rank), global[j] % own};
  }
  free(global);
}

/* The places of ranks in a halo, and the layout of their cells. */
typedef struct box {
  int ranks[3], at[3];     /* of this rank, by axis */
  int64_t edge, stride[3]; /* of cells */
} box;

static box find_box(const bench_spec *s, int rank, int nranks)
{
  box b = {.edge = edge_of_box(s->size)};
  int dims[3] = {0, 0, 0};
  MPI_Dims_create(nranks, 3, dims); /* descending */
  for (int axis = 0, below = 1; axis < 3; axis++) {
    int cells = s->shape == BENCH_FACE ? axis : 2 - axis;
    b.stride[axis] = cells == 0 ? 1 : cells == 1 ? b.edge : b.edge * b.edge;
    b.ranks[axis] = dims[axis];
    b.at[axis] = rank / below % dims[axis];
    below *= dims[axis];
  }
  return b;
}

/* The face of the neighbour's box on our side; returns the number of its leaves. */
static int64_t add_face(const box *b, int axis, int neighbour, int upper, grove_root *out)
{
  int64_t n = 0, layer = upper ? 0 : b->edge - 1;
  int64_t u = b->stride[(axis + 1) % 3], v = b->stride[(axis + 2) % 3];
  int64_t slow = u > v ? u : v, fast = u > v ? v : u;
  for (int64_t i = 0; i < b->edge; i++)
    for (int64_t j = 0; j < b->edge; j++)
      out[n++] = (grove_root){neighbour, layer * b->stride[axis] + i * slow + j * fast};
  return n;
}

static void make_halo(const bench_spec *s, int rank, int nranks, bench_graph *g)
{
  box b = find_box(s, rank, nranks);
  g->nroots = b.edge * b.edge * b.edge;
  g->root = bench_alloc((size_t)(6 * b.edge * b.edge), sizeof *g->root);
  for (int axis = 0, step = 1; axis < 3; step *= b.ranks[axis++])
    for (int upper = 0; upper < 2; upper++) {
      int to = b.at[axis] + (upper ? 1 : -1);
      if (to < 0 || to >= b.ranks[axis]) continue;
      int neighbour = rank + (upper ? step : -step);
      g->nleaves += add_face(&b, axis, neighbour, upper, g->root + g->nleaves);
    }
  g->nslots = g->nleaves;
}

void bench_graph_make(const bench_spec *spec, int exchange, int rank, int nranks, bench_graph *out)
{
  memset(out, 0, sizeof *out);
  switch (spec->pattern) {
  case BENCH_SWAP:
  case BENCH_PAIR: make_pair(spec, exchange, rank, nranks, out); break;
  case BENCH_RANDOM: make_random(spec, rank, nranks, out); break;
  case BENCH_GHOST: make_ghost(spec, rank, nranks, out); break;
  case BENCH_HALO: make_halo(spec, rank, nranks, out); break;
  }
}
