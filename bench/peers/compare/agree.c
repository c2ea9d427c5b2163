/* Comparisons; a disagreement is counted and printed. */
#include "peers/compare/compare.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SAID = 5 }; /* disagreements that a rank prints; more are only counted */

static void disagree(trial *t, const char *what, int64_t at, const char *grove, const char *petsc)
{
  if (t->nwrong++ >= MOST_SAID) return;
  fprintf(stderr,
          "petsc_compare: seed %" PRIu64 ", trial %d, rank %d of %d: %s, entry %" PRId64
          ": Grove has %s, PETSc %s\n",
          t->seed, t->number, t->rank, t->nranks, what, at, grove, petsc);
}

static void disagree_numbers(trial *t, const char *what, int64_t at, int64_t grove, int64_t petsc)
{
  char one[32], other[32];
  snprintf(one, sizeof one, "%" PRId64, grove);
  snprintf(other, sizeof other, "%" PRId64, petsc);
  disagree(t, what, at, one, other);
}

void agree_number(trial *t, const char *what, int64_t at, int64_t grove, int64_t petsc)
{
  t->ncompared++;
  if (grove != petsc) disagree_numbers(t, what, at, grove, petsc);
}

void agree_units(trial *t, const char *what, const bench_type *type, void *grove, const void *petsc,
                 int64_t n)
{
  t->ncompared++;
  if (t->sabotage && n > 0) *(char *)grove ^= 1;
  if (n == 0 || memcmp(grove, petsc, (size_t)n * type->bytes) == 0) return;
  for (int64_t i = 0; i < n; i++) {
    size_t at = (size_t)i * type->bytes;
    if (memcmp((char *)grove + at, (const char *)petsc + at, type->bytes) != 0)
      disagree_numbers(t, what, i, type->get(grove, i), type->get(petsc, i));
  }
}

/* ---- graphs ---- */

typedef struct edge {
  int64_t slot, rank, index;
} edge;

typedef struct edges {
  int64_t nroots, n, end;
  edge *list;
} edges;

static int by_slot(const void *a, const void *b)
{
  const edge *x = a, *y = b;
  return (x->slot > y->slot) - (x->slot < y->slot);
}

static void sort_edges(edges *e)
{
  qsort(e->list, (size_t)e->n, sizeof *e->list, by_slot);
  if (e->n > 0) e->end = e->list[e->n - 1].slot + 1;
}

static edges edges_of_grove(grove_forest *f)
{
  edges e = {0};
  const int64_t *slot;
  const grove_root *root;
  bench_need_grove(grove_forest_graph(f, &e.nroots, &e.n, &slot, &root));
  e.list = bench_alloc((size_t)e.n, sizeof *e.list);
  for (int64_t j = 0; j < e.n; j++)
    e.list[j] = (edge){slot ? slot[j] : j, root[j].rank, root[j].index};
  sort_edges(&e);
  return e;
}

static edges edges_of_petsc(PetscSF f)
{
  edges e = {0};
  PetscInt nroots, n;
  const PetscInt *slot;
  const PetscSFNode *root;
  need_petsc(PetscSFGetGraph(f, &nroots, &n, &slot, &root));
  e.nroots = nroots;
  e.n = n;
  e.list = bench_alloc((size_t)n, sizeof *e.list);
  for (PetscInt j = 0; j < n; j++)
    e.list[j] = (edge){slot ? slot[j] : j, root[j].rank, root[j].index};
  sort_edges(&e);
  return e;
}

static void agree_edges(trial *t, const char *what, const edges *grove, const edges *petsc)
{
  char text[80], one[80], other[80];
  t->ncompared++;
  for (int64_t j = 0; j < grove->n && j < petsc->n; j++) {
    const edge *g = &grove->list[j], *p = &petsc->list[j];
    if (g->slot == p->slot && g->rank == p->rank && g->index == p->index) continue;
    snprintf(text, sizeof text, "%s, edges", what);
    snprintf(one, sizeof one, "slot %" PRId64 " on root %" PRId64 " of rank %" PRId64, g->slot,
             g->index, g->rank);
    snprintf(other, sizeof other, "slot %" PRId64 " on root %" PRId64 " of rank %" PRId64, p->slot,
             p->index, p->rank);
    disagree(t, text, j, one, other);
  }
}

/* Arrays long enough for both, so that a disagreement does no harm. */
static void agree_bcast(trial *t, const char *what, grove_forest *grove, PetscSF petsc,
                        int64_t nroots, int64_t nslots)
{
  char text[80];
  const bench_type *type = bench_type_find("int");
  int *root = bench_alloc((size_t)nroots, sizeof *root);
  int *here = bench_alloc((size_t)nslots, sizeof *here);
  int *there = bench_alloc((size_t)nslots, sizeof *there);
  for (int64_t i = 0; i < nroots; i++) root[i] = ((t->rank + 1) << 20) + (int)i;
  bench_need_grove(grove_bcast(grove, MPI_INT, root, here, MPI_REPLACE));
  petsc_bcast(petsc, MPI_INT, root, there, MPI_REPLACE);
  snprintf(text, sizeof text, "%s, bcast", what);
  agree_units(t, text, type, here, there, nslots);
  free(root);
  free(here);
  free(there);
}

void agree_graph(trial *t, const char *what, grove_forest *grove, PetscSF petsc)
{
  char text[80];
  need_petsc(PetscSFSetUp(petsc));
  edges g = edges_of_grove(grove), p = edges_of_petsc(petsc);
  snprintf(text, sizeof text, "%s, number of roots", what);
  agree_number(t, text, 0, g.nroots, p.nroots);
  snprintf(text, sizeof text, "%s, number of leaves", what);
  agree_number(t, text, 0, g.n, p.n);
  agree_edges(t, what, &g, &p);
  agree_bcast(t, what, grove, petsc, g.nroots > p.nroots ? g.nroots : p.nroots,
              (g.end > p.end ? g.end : p.end) + 1);
  free(g.list);
  free(p.list);
}

void agree_results(trial *t, const char *what, grove_forest *grove, PetscSF petsc)
{
  agree_graph(t, what, grove, petsc);
  bench_need_grove(grove_forest_free(&grove));
  need_petsc(PetscSFDestroy(&petsc));
}
