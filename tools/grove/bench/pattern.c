#include "grove/bench/pattern.h"

#include <stdlib.h>

int pattern_allocate(pattern *p, int64_t nroots, int64_t nleaves)
{
  p->nroots = nroots;
  p->nleaves = nleaves;
  p->leaf = malloc((size_t)(nleaves + 1) * sizeof *p->leaf);
  p->root = malloc((size_t)(nleaves + 1) * sizeof *p->root);
  if (p->leaf && p->root) return 0;
  pattern_free(p);
  return 1;
}

void pattern_free(pattern *p)
{
  free(p->leaf);
  free(p->root);
  *p = (pattern){0};
}

/* ---- stencils ---- */

typedef struct grid {
  MPI_Comm comm;
  int at[3], dims[3];
  int64_t side;
} grid;

static int open_grid(MPI_Comm comm, int64_t side, grid *g)
{
  int size, rank, periods[3] = {0, 0, 0};
  *g = (grid){.side = side};
  MPI_Comm_size(comm, &size);
  if (MPI_Dims_create(size, 3, g->dims) != MPI_SUCCESS ||
      MPI_Cart_create(comm, 3, g->dims, periods, 0, &g->comm) != MPI_SUCCESS)
    return 1;
  MPI_Comm_rank(g->comm, &rank);
  MPI_Cart_coords(g->comm, rank, 3, g->at);
  return 0;
}

/* The rank in direction d, or -1 beyond the edge of the grid. */
static int neighbour(const grid *g, const int d[3])
{
  int at[3], rank = -1;
  for (int k = 0; k < 3; k++) {
    at[k] = g->at[k] + d[k];
    if (at[k] < 0 || at[k] >= g->dims[k]) return -1;
  }
  MPI_Cart_rank(g->comm, at, &rank);
  return rank;
}

/* Appends the points of the neighbour in direction d that touch this box; without p only counts
 * them. */
static int64_t add_layer(const grid *g, const int d[3], int rank, int64_t used, pattern *p)
{
  int64_t begin[3], end[3], n = g->side;
  for (int k = 0; k < 3; k++) { /* in the neighbour's own numbering */
    begin[k] = d[k] == -1 ? n - 1 : 0;
    end[k] = d[k] == 1 ? 1 : n;
  }
  for (int64_t z = begin[2]; z < end[2]; z++)
    for (int64_t y = begin[1]; y < end[1]; y++)
      for (int64_t x = begin[0]; x < end[0]; x++, used++)
        if (p) {
          p->leaf[used] = p->nroots + used;
          p->root[used] = (grove_root){rank, (z * n + y) * n + x};
        }
  return used;
}

static int64_t add_layers(const grid *g, int corners, pattern *p)
{
  int64_t used = 0;
  for (int i = 0; i < 27; i++) {
    int d[3] = {i % 3 - 1, i / 3 % 3 - 1, i / 9 - 1};
    int steps = abs(d[0]) + abs(d[1]) + abs(d[2]);
    if (steps == 0 || (steps > 1 && !corners)) continue;
    int rank = neighbour(g, d);
    if (rank >= 0) used = add_layer(g, d, rank, used, p);
  }
  return used;
}

int pattern_stencil(MPI_Comm comm, int64_t side, int corners, pattern *out)
{
  grid g;
  if (open_grid(comm, side, &g)) return 1;
  int failed = pattern_allocate(out, side * side * side, add_layers(&g, corners, NULL));
  if (!failed) add_layers(&g, corners, out);
  MPI_Comm_free(&g.comm);
  return failed;
}

/* ---- random ---- */

/* splitmix64 (Steele, Lea, Flood 2014). */
static uint64_t next_random(uint64_t *state)
{
  uint64_t z = (*state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

int pattern_random(MPI_Comm comm, int64_t n, uint64_t seed, pattern *out)
{
  int rank, size;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  if (pattern_allocate(out, n, n)) return 1;
  uint64_t state = seed + 1000003u * (uint64_t)rank;
  for (int64_t i = 0; i < n; i++) {
    out->leaf[i] = n + i;
    out->root[i].rank = (int)(next_random(&state) % (uint64_t)size);
    out->root[i].index = (int64_t)(next_random(&state) % (uint64_t)n);
  }
  return 0;
}

/* ---- parts ---- */

int pattern_select(const pattern *all, grove_context *ctx, int rank, int on_node, pattern *out)
{
  int mine = 0;
  if (grove_context_node(ctx, rank, &mine, NULL) != GROVE_OK) return 1;
  if (pattern_allocate(out, all->nroots, all->nleaves)) return 1;
  out->nleaves = 0;
  for (int64_t i = 0; i < all->nleaves; i++) {
    int node = 0;
    grove_context_node(ctx, all->root[i].rank, &node, NULL);
    if ((node == mine) != on_node) continue;
    out->leaf[out->nleaves] = all->leaf[i];
    out->root[out->nleaves++] = all->root[i];
  }
  return 0;
}
