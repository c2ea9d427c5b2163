#include "generate.h"

#include "check.h"

#include <stdlib.h>
#include <string.h>

const char *graph_kind_name(graph_kind kind)
{
  static const char *const name[GRAPH_KINDS_AND_REPEATED] = {
    "empty",     "dense", "sparse",     "ring",       "blocks", "strided", "star",
    "ownerless", "self",  "duplicates", "all-to-all", "mixed",  "repeated"};
  return name[kind];
}

void part_resize(part *p, int64_t nroots, int64_t nleaves)
{
  free(p->leaf_index);
  free(p->root);
  *p = (part){.nroots = nroots, .nleaves = nleaves, .nslots = nleaves};
  p->root = need((size_t)nleaves * sizeof *p->root);
  memset(p->root, 0, (size_t)nleaves * sizeof *p->root); /* padding too: roots are compared whole */
}

graph *graph_empty(int nranks)
{
  graph *g = need(sizeof *g);
  *g = (graph){.kind = GRAPH_EMPTY, .nranks = nranks};
  g->part = calloc((size_t)nranks, sizeof *g->part);
  CHECK(g->part != NULL, "no memory for %d ranks", nranks);
  for (int i = 0; i < nranks; i++) part_resize(&g->part[i], 0, 0);
  return g;
}

graph *graph_in_rows(int nranks, int64_t each)
{
  graph *g = graph_empty(nranks);
  for (int i = 0; i < nranks; i++) {
    part *p = &g->part[i];
    part_resize(p, each, each * nranks);
    for (int64_t j = 0; j < p->nleaves; j++) p->root[j] = (grove_root){(int)(j / each), j % each};
  }
  return g;
}

void graph_free(graph *g)
{
  if (g == NULL) return;
  for (int i = 0; i < g->nranks; i++) {
    free(g->part[i].leaf_index);
    free(g->part[i].root);
  }
  free(g->part);
  free(g);
}

/* ---- where the leaves lie in the leaf array ---- */

/* Slots 0 .. nslots-1 in random order, of which the first nleaves are taken; ascending or not. */
static void lay_out_with_gaps(rng *r, part *p, int shuffled)
{
  p->nslots = p->nleaves + rng_below(r, p->nleaves + 4);
  int64_t *slot = need((size_t)p->nslots * sizeof *slot);
  for (int64_t i = 0; i < p->nslots; i++) slot[i] = i;
  rng_shuffle(r, p->nslots, slot);
  p->leaf_index = need((size_t)p->nleaves * sizeof *p->leaf_index);
  memcpy(p->leaf_index, slot, (size_t)p->nleaves * sizeof *slot);
  for (int64_t i = 1; !shuffled && i < p->nleaves; i++) {
    int64_t k = i, x = p->leaf_index[i];
    for (; k > 0 && p->leaf_index[k - 1] > x; k--) p->leaf_index[k] = p->leaf_index[k - 1];
    p->leaf_index[k] = x;
  }
  free(slot);
}

/* A run that starts anywhere: ghosts behind own entries, for instance. */
static void lay_out_shifted(rng *r, part *p)
{
  int64_t first = rng_below(r, 40);
  p->nslots = first + p->nleaves + rng_below(r, 4);
  p->leaf_index = need((size_t)p->nleaves * sizeof *p->leaf_index);
  for (int64_t j = 0; j < p->nleaves; j++) p->leaf_index[j] = first + j;
}

/* Fewer slots than leaves, each a leaf as often as it happens; or a rank without such slots. */
static void lay_out_repeatedly(rng *r, part *p)
{
  p->nslots = rng_between(r, 1, p->nleaves + 2);
  p->leaf_index = need((size_t)p->nleaves * sizeof *p->leaf_index);
  for (int64_t j = 0; j < p->nleaves; j++) p->leaf_index[j] = rng_below(r, p->nslots);
}

static void lay_out(rng *r, part *p)
{
  switch (rng_below(r, 4)) {
  case 0: p->nslots = p->nleaves + rng_below(r, 4); break; /* leaf_index stays NULL */
  case 1: lay_out_shifted(r, p); break;
  case 2: lay_out_with_gaps(r, p, 0); break;
  default: lay_out_with_gaps(r, p, 1); break;
  }
}

/* ---- which root each leaf is joined to ---- */

static int64_t draw_roots(rng *r)
{
  return rng_between(r, 1, GRAPH_MOST_ROOTS);
}
static int64_t draw_leaves(rng *r)
{
  return rng_between(r, 1, GRAPH_MOST_SLOTS / 2 - 4);
}

/* Some rank that owns a root, or -1. */
static int draw_owner(rng *r, const graph *g)
{
  int first = (int)rng_below(r, g->nranks);
  for (int i = 0; i < g->nranks; i++) {
    int rank = (first + i) % g->nranks;
    if (g->part[rank].nroots > 0) return rank;
  }
  return -1;
}

static grove_root draw_root(rng *r, const graph *g, int owner)
{
  return (grove_root){owner, rng_below(r, g->part[owner].nroots)};
}

/* Gives rank `me` n leaves; fills them one by one through `next`. */
typedef grove_root (*next_root)(rng *r, const graph *g, int me, int64_t j);

static void join(rng *r, graph *g, int me, int64_t n, next_root next)
{
  part *p = &g->part[me];
  int64_t nroots = p->nroots;
  part_resize(p, nroots, n);
  for (int64_t j = 0; j < n; j++) {
    grove_root root = next(r, g, me, j);
    p->root[j].rank = root.rank;
    p->root[j].index = root.index;
  }
}

static grove_root anywhere(rng *r, const graph *g, int me, int64_t j)
{
  (void)me;
  (void)j;
  return draw_root(r, g, draw_owner(r, g));
}

/* The first half from the left neighbour's end, the rest from the right neighbour's beginning. */
static grove_root neighbours(rng *r, const graph *g, int me, int64_t j)
{
  (void)r;
  int64_t half = g->part[me].nleaves / 2, last = g->part[me].nleaves;
  int left = (me + g->nranks - 1) % g->nranks, right = (me + 1) % g->nranks;
  if (j < half) return (grove_root){left, g->part[left].nroots - half + j};
  return (grove_root){right, (j - half) % (last - half)};
}

/* Goes on where the leaf before ended, or, now and then, jumps. */
static grove_root runs(rng *r, const graph *g, int me, int64_t j)
{
  if (j > 0 && !rng_one_in(r, 12)) {
    grove_root before = g->part[me].root[j - 1];
    if (before.index + 1 < g->part[before.rank].nroots)
      return (grove_root){before.rank, before.index + 1};
  }
  return draw_root(r, g, draw_owner(r, g));
}

static grove_root every_third(rng *r, const graph *g, int me, int64_t j)
{
  (void)r;
  int owner = (me + (int)(j / 16)) % g->nranks;
  return (grove_root){owner, 3 * (j % 16) % g->part[owner].nroots};
}

static grove_root one_root(rng *r, const graph *g, int me, int64_t j)
{
  (void)r;
  (void)me;
  (void)j;
  int owner = g->nranks / 2;
  return (grove_root){owner, g->part[owner].nroots / 2};
}

static grove_root own(rng *r, const graph *g, int me, int64_t j)
{
  (void)j;
  return draw_root(r, g, me);
}

static grove_root few(rng *r, const graph *g, int me, int64_t j)
{
  int owner = (me + (int)(j % 2)) % g->nranks;
  (void)r;
  return (grove_root){owner, (j % 3) % g->part[owner].nroots};
}

static grove_root everybody(rng *r, const graph *g, int me, int64_t j)
{
  (void)me;
  return draw_root(r, g, (int)(j % g->nranks));
}

static void join_kind(rng *r, graph *g, int me, graph_kind kind)
{
  switch (kind) {
  case GRAPH_DENSE: join(r, g, me, draw_leaves(r), anywhere); break;
  case GRAPH_SPARSE: join(r, g, me, rng_below(r, 3), anywhere); break;
  case GRAPH_RING: join(r, g, me, rng_between(r, 1, 8), neighbours); break;
  case GRAPH_BLOCKS: join(r, g, me, draw_leaves(r), runs); break;
  case GRAPH_STRIDED: join(r, g, me, rng_between(r, 1, 48), every_third); break;
  case GRAPH_STAR: join(r, g, me, rng_between(r, 0, 50), one_root); break;
  case GRAPH_SELF: join(r, g, me, draw_leaves(r), own); break;
  case GRAPH_DUPLICATES: join(r, g, me, rng_between(r, 6, 60), few); break;
  case GRAPH_ALL_TO_ALL: join(r, g, me, g->nranks * rng_between(r, 1, 4), everybody); break;
  case GRAPH_REPEATED: join(r, g, me, draw_leaves(r), anywhere); break;
  default: break; /* no leaves */
  }
  if (kind == GRAPH_REPEATED && !rng_one_in(r, 4))
    lay_out_repeatedly(r, &g->part[me]);
  else
    lay_out(r, &g->part[me]);
}

/* ---- ranks that have nothing ---- */

static void draw_all_roots(rng *r, graph *g)
{
  for (int i = 0; i < g->nranks; i++) {
    /* A ring takes up to four entries from either end. */
    int64_t least = g->kind == GRAPH_RING || g->kind == GRAPH_MIXED ? 8 : 1;
    g->part[i].nroots = least - 1 + draw_roots(r);
    if (g->part[i].nroots > GRAPH_MOST_ROOTS) g->part[i].nroots = GRAPH_MOST_ROOTS;
    if (g->kind == GRAPH_OWNERLESS && rng_one_in(r, 2)) g->part[i].nroots = 0;
    if (g->kind == GRAPH_EMPTY && rng_one_in(r, 2)) g->part[i].nroots = 0;
  }
}

static graph_kind draw_kind_of_part(rng *r, const graph *g)
{
  if (g->kind == GRAPH_MIXED) return (graph_kind)rng_below(r, GRAPH_MIXED);
  if (g->kind != GRAPH_OWNERLESS) return g->kind;
  /* Nobody may own a root at all: then nobody has leaves. */
  return draw_owner(r, g) < 0 || rng_one_in(r, 2) ? GRAPH_EMPTY : GRAPH_DENSE;
}

graph *graph_random(rng *r, graph_kind kind, int nranks)
{
  graph *g = graph_empty(nranks);
  g->kind = kind;
  draw_all_roots(r, g);
  for (int me = 0; me < nranks; me++) join_kind(r, g, me, draw_kind_of_part(r, g));
  return g;
}

/* Every root of every rank, in rank order, for this rank. */
static void join_all(graph *g, int me)
{
  int64_t total = 0, j = 0;
  for (int i = 0; i < g->nranks; i++) total += g->part[i].nroots;
  part_resize(&g->part[me], g->part[me].nroots, total);
  for (int i = 0; i < g->nranks; i++)
    for (int64_t k = 0; k < g->part[i].nroots; k++) g->part[me].root[j++] = (grove_root){i, k};
}

graph *graph_pattern(grove_pattern pattern, int nranks, const int64_t *n)
{
  graph *g = graph_empty(nranks);
  for (int i = 0; i < nranks; i++) {
    g->part[i].nroots = pattern == GROVE_ALLTOALL ? n[i] * nranks : n[i];
    if (pattern == GROVE_ALLTOALL) part_resize(&g->part[i], n[i] * nranks, n[i] * nranks);
  }
  for (int i = 0; i < nranks; i++) {
    if (pattern == GROVE_ALLGATHER || (pattern == GROVE_GATHER && i == 0)) join_all(g, i);
    for (int64_t k = 0; pattern == GROVE_ALLTOALL && k < n[i] * nranks; k++)
      g->part[i].root[k] = (grove_root){(int)(k / n[i]), i * n[i] + k % n[i]};
  }
  return g;
}

int64_t graph_edges_to(const graph *g, int rank)
{
  int64_t n = 0;
  for (int i = 0; i < g->nranks; i++)
    for (int64_t j = 0; j < g->part[i].nleaves; j++) n += g->part[i].root[j].rank == rank;
  return n;
}

/* ---- forests ---- */

grove_forest *graph_forest_raw(grove_context *ctx, const graph *g, int rank)
{
  const part *p = &g->part[rank];
  grove_forest *f = NULL;
  CHECK_OK(grove_forest_create(ctx, &f));
  if (g->kind == GRAPH_REPEATED) CHECK_OK(grove_forest_allow_duplicates(f));
  CHECK_OK(grove_forest_set_graph(f, p->nroots, p->nleaves, p->leaf_index, p->root));
  CHECK_OK(grove_forest_set_name(f, graph_kind_name(g->kind)));
  return f;
}

grove_forest *graph_forest(grove_context *ctx, const graph *g, int rank)
{
  grove_forest *f = graph_forest_raw(ctx, g, rank);
  CHECK_OK(grove_forest_set_up(f));
  return f;
}
