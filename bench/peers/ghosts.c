#include "peers/ghosts.h"

#include "kit/stats.h"

#include <stdlib.h>
#include <string.h>

static void forget(bench_ghosts *g)
{
  free(g->global);
  free(g->outer_slot);
  free(g->outer_ghost);
  free(g->inner_slot);
  free(g->inner_root);
  free(g->values);
  memset(g, 0, sizeof *g);
}

/* The global number of every rank's first root; at the end, the number of all roots. */
static int64_t *number_roots(const bench_case *c)
{
  int64_t *first = bench_alloc((size_t)c->nranks + 1, sizeof *first);
  MPI_Allgather(&c->graph[0].nroots, 1, MPI_INT64_T, first + 1, 1, MPI_INT64_T, c->comm);
  for (int r = 0; r < c->nranks; r++) first[r + 1] += first[r];
  return first;
}

static void split_leaves(const bench_case *c, const int64_t *first, bench_ghosts *g)
{
  const bench_graph *graph = &c->graph[0];
  for (int64_t j = 0; j < graph->nleaves; j++) {
    int32_t slot = (int32_t)(graph->leaf ? graph->leaf[j] : j);
    if (graph->root[j].rank == c->rank) {
      g->inner_slot[g->ninner] = slot;
      g->inner_root[g->ninner++] = (int32_t)graph->root[j].index;
    } else {
      g->outer_slot[g->nouter] = slot;
      g->global[g->nouter++] = first[graph->root[j].rank] + graph->root[j].index;
    }
  }
}

/* The ghost of each outer leaf. `wanted` are their numbers in the order of the leaves. */
static void find_ghosts(bench_ghosts *g, const int64_t *wanted)
{
  g->plain = g->ninner == 0;
  for (int i = 0; i < g->nouter; i++) {
    g->outer_ghost[i] = (int32_t)bench_find(g->global, g->nghosts, wanted[i]);
    g->plain = g->plain && g->outer_ghost[i] == g->outer_slot[i];
  }
  g->plain = g->plain && g->nouter == g->nghosts;
}

const bench_ghosts *bench_ghosts_of(const bench_case *c)
{
  static bench_ghosts kept;
  static int of_case;
  if (of_case == c->number) return &kept;
  of_case = c->number;
  forget(&kept);
  size_t n = (size_t)c->graph[0].nleaves;
  int64_t *first = number_roots(c);
  kept.first = first[c->rank];
  kept.total = first[c->nranks];
  kept.global = bench_alloc(n, sizeof *kept.global);
  kept.outer_slot = bench_alloc(n, sizeof(int32_t));
  kept.outer_ghost = bench_alloc(n, sizeof(int32_t));
  kept.inner_slot = bench_alloc(n, sizeof(int32_t));
  kept.inner_root = bench_alloc(n, sizeof(int32_t));
  split_leaves(c, first, &kept);
  int64_t *wanted = bench_alloc(n, sizeof *wanted);
  memcpy(wanted, kept.global, (size_t)kept.nouter * sizeof *wanted);
  kept.nghosts = (int)bench_sort_distinct(kept.global, kept.nouter);
  kept.values = bench_alloc((size_t)kept.nghosts, sizeof *kept.values);
  find_ghosts(&kept, wanted);
  free(wanted);
  free(first);
  return &kept;
}

double *bench_ghost_values(const bench_ghosts *g, double *leaf)
{
  return g->plain ? leaf : g->values;
}

void bench_ghosts_to_leaves(const bench_ghosts *g, const double *root, double *leaf)
{
  if (g->plain) return;
  for (int i = 0; i < g->nouter; i++) leaf[g->outer_slot[i]] = g->values[g->outer_ghost[i]];
  for (int i = 0; i < g->ninner; i++) leaf[g->inner_slot[i]] = root[g->inner_root[i]];
}

void bench_leaves_to_ghosts(const bench_ghosts *g, const double *leaf, double *root)
{
  if (g->plain) return;
  memset(g->values, 0, (size_t)g->nghosts * sizeof *g->values);
  for (int i = 0; i < g->nouter; i++) g->values[g->outer_ghost[i]] += leaf[g->outer_slot[i]];
  for (int i = 0; i < g->ninner; i++) root[g->inner_root[i]] += leaf[g->inner_slot[i]];
}

int bench_ghosts_support(const bench_spec *spec)
{
  return strcmp(spec->type->name, "double") == 0 && bench_is_plain(spec) &&
         spec->pattern != BENCH_PAIR && spec->buffers == 1 && spec->measure <= BENCH_SETUP;
}
