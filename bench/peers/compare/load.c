#include "peers/compare/load.h"

#include <stdlib.h>

static void set_root(graph *g, int64_t j, int rank, int64_t index)
{
  g->root[j] = (grove_root){rank, index};
  g->node[j] = (PetscSFNode){rank, (PetscInt)index};
}

static void make_graph(const load *l, graph *g)
{
  g->root = bench_alloc((size_t)l->n, sizeof *g->root);
  g->node = bench_alloc((size_t)l->n, sizeof *g->node);
}

/* Every leaf on any root of any rank. */
static void make_random(const load *l, uint64_t seed, graph *g)
{
  uint64_t state = seed * 1000 + (uint64_t)l->rank;
  make_graph(l, g);
  for (int64_t j = 0; j < l->n; j++) {
    int rank = (int)(bench_random(&state) % (uint64_t)l->nranks);
    set_root(g, j, rank, (int64_t)(bench_random(&state) % (uint64_t)l->n));
  }
}

/* Every root has one leaf somewhere: all ranks draw the same order of all roots. */
static void make_single(const load *l, graph *g)
{
  uint64_t state = 3;
  int64_t *order = bench_shuffled(l->n * l->nranks, &state);
  make_graph(l, g);
  for (int64_t j = 0; j < l->n; j++) {
    int64_t root = order[l->rank * l->n + j];
    set_root(g, j, (int)(root / l->n), root % l->n);
  }
  free(order);
}

void load_open(MPI_Comm comm, grove_context *ctx, int64_t n, load *out)
{
  load l = {.comm = comm, .ctx = ctx, .n = n};
  MPI_Comm_rank(comm, &l.rank);
  MPI_Comm_size(comm, &l.nranks);
  make_random(&l, 1, &l.graph[FIRST]);
  make_random(&l, 2, &l.graph[SECOND]);
  make_single(&l, &l.graph[SINGLE]);
  uint64_t state = 4000 + (uint64_t)l.rank;
  l.chosen = bench_alloc((size_t)n, sizeof *l.chosen);
  for (int64_t i = 0; i < n; i++)
    if (bench_random(&state) % 2) l.chosen[l.nchosen++] = i;
  l.positions = petsc_list(l.chosen, l.nchosen);
  *out = l;
}

void load_close(load *l)
{
  for (int k = 0; k < GRAPHS; k++) {
    free(l->graph[k].root);
    free(l->graph[k].node);
  }
  free(l->chosen);
  free(l->positions);
}
