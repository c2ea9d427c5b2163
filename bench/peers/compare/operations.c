/* Every operation that both libraries have.
 *
 * A fetch is compared only for int and double sums: PETSc says that it has no other operations, and
 * with other types PETSc 3.18 jumps to address 0.
 */
#include "peers/compare/compare.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Values before: `range` of them from `low` on, so small that sums of doubles are exact. */
typedef struct operation {
  const char *name;
  MPI_Op op;
  int low, range;
  int whole; /* for whole numbers only */
} operation;

/* Products of many leaves stay small: few of them are not 1. */
static int draw_value(trial *t, const operation *o)
{
  if (o->op == MPI_PROD && draw_own(t, 16) > 0) return 1;
  return o->low + (int)draw_own(t, o->range);
}

static void *draw_units(trial *t, const bench_type *type, int64_t n, const operation *o)
{
  void *array = bench_alloc((size_t)n, type->bytes);
  for (int64_t i = 0; i < n; i++) type->set(array, i, draw_value(t, o));
  return array;
}

static void *copy_units(const bench_type *type, int64_t n, const void *array)
{
  void *copy = bench_alloc((size_t)n, type->bytes);
  memcpy(copy, array, (size_t)n * type->bytes);
  return copy;
}

/* ---- bcast and reduce ---- */

static void compare_exchange(trial *t, const twin *f, const bench_type *type, const operation *o,
                             int reduce)
{
  char what[80];
  int64_t nfrom = reduce ? f->nslots : f->nroots, nto = reduce ? f->nroots : f->nslots;
  void *from = draw_units(t, type, nfrom, o), *here = draw_units(t, type, nto, o);
  void *there = copy_units(type, nto, here);
  bench_need_grove((reduce ? grove_reduce : grove_bcast)(f->grove, type->mpi(), from, here, o->op));
  (reduce ? petsc_reduce : petsc_bcast)(f->petsc, type->mpi(), from, there, o->op);
  snprintf(what, sizeof what, "%s of %s, %s", reduce ? "reduce" : "bcast", type->name, o->name);
  agree_units(t, what, type, here, there, nto);
  free(from);
  free(here);
  free(there);
}

static void compare_type(trial *t, const twin *f, const char *name)
{
  const bench_type *type = bench_type_find(name);
  const operation operations[] = {
    {"sum", MPI_SUM, -50, 100, 0}, {"prod", MPI_PROD, -1, 4, 0},  {"max", MPI_MAX, -50, 100, 0},
    {"min", MPI_MIN, -50, 100, 0}, {"land", MPI_LAND, 0, 3, 1},   {"lor", MPI_LOR, 0, 3, 1},
    {"lxor", MPI_LXOR, 0, 3, 1},   {"band", MPI_BAND, 0, 256, 1}, {"bor", MPI_BOR, 0, 256, 1},
    {"bxor", MPI_BXOR, 0, 256, 1},
  };
  const operation replace = {"replace", MPI_REPLACE, -50, 100, 0};
  int n = (int)(sizeof operations / sizeof operations[0]);
  compare_exchange(t, f, type, &replace, 0);
  for (int i = 0; i < n; i++) {
    if (operations[i].whole && strcmp(name, "double") == 0) continue;
    compare_exchange(t, f, type, &operations[i], 0);
    compare_exchange(t, f, type, &operations[i], 1);
  }
}

static void compare_pairs(trial *t, const twin *f)
{
  const bench_type *type = bench_type_find("2int");
  const operation operations[] = {{"maxloc", MPI_MAXLOC, 0, 12, 1},
                                  {"minloc", MPI_MINLOC, 0, 12, 1}};
  for (int i = 0; i < 2; i++) {
    compare_exchange(t, f, type, &operations[i], 0);
    compare_exchange(t, f, type, &operations[i], 1);
  }
}

/* ---- all leaves of a root ---- */

/* How many leaves each root has, and all of them together. */
static int64_t *compare_degrees(trial *t, const twin *f, int64_t *total)
{
  int64_t *degree = bench_alloc((size_t)f->nroots, sizeof *degree);
  const PetscInt *there;
  bench_need_grove(grove_forest_degrees(f->grove, degree));
  need_petsc(PetscSFComputeDegreeBegin(f->petsc, &there));
  need_petsc(PetscSFComputeDegreeEnd(f->petsc, &there));
  *total = 0;
  for (int64_t i = 0; i < f->nroots; i++) {
    agree_number(t, "degrees", i, degree[i], there[i]);
    *total += degree[i];
  }
  return degree;
}

static int ascending(const void *a, const void *b)
{
  int x = *(const int *)a, y = *(const int *)b;
  return (x > y) - (x < y);
}

/* What the two have gathered, ignoring the order of a root's leaves. */
static void agree_gathered(trial *t, const char *what, const twin *f, const int64_t *degree,
                           int *here, int *there)
{
  int64_t at = 0;
  for (int64_t i = 0; i < f->nroots; at += degree[i++]) {
    qsort(here + at, (size_t)degree[i], sizeof *here, ascending);
    qsort(there + at, (size_t)degree[i], sizeof *there, ascending);
  }
  agree_units(t, what, bench_type_find("int"), here, there, at);
}

/* Reduce with MPI_REPLACE: Grove promises the last leaf in its order, PETSc any of them. */
static void compare_last(trial *t, const twin *f, const int *leaf, const int64_t *degree,
                         const int *gathered)
{
  int *here = bench_alloc((size_t)f->nroots, sizeof *here);
  int *there = bench_alloc((size_t)f->nroots, sizeof *there);
  bench_need_grove(grove_reduce(f->grove, MPI_INT, leaf, here, MPI_REPLACE));
  petsc_reduce(f->petsc, MPI_INT, leaf, there, MPI_REPLACE);
  for (int64_t i = 0, at = 0; i < f->nroots; at += degree[i++]) {
    int found = degree[i] == 0 && there[i] == 0;
    for (int64_t k = 0; k < degree[i]; k++) found |= gathered[at + k] == there[i];
    agree_number(t, "reduce of int, replace, the last", i, here[i],
                 degree[i] ? gathered[at + degree[i] - 1] : 0);
    agree_number(t, "reduce of int, replace, one of the leaves' values", i, 1, found);
  }
  free(here);
  free(there);
}

/* What was gathered goes back where it came from. */
static void compare_scatter(trial *t, const twin *f, const int *leaf, const int *here,
                            const int *there)
{
  const bench_type *type = bench_type_find("int");
  int *back = bench_alloc((size_t)f->nslots, sizeof *back);
  int *expected = bench_alloc((size_t)f->nslots, sizeof *expected);
  int *petsc = bench_alloc((size_t)f->nslots, sizeof *petsc);
  for (int64_t s = 0; s < f->nslots; s++) expected[s] = f->is_leaf[s] ? leaf[s] : 0;
  bench_need_grove(grove_scatter(f->grove, MPI_INT, here, back));
  need_petsc(PetscSFScatterBegin(f->petsc, MPI_INT, there, petsc));
  need_petsc(PetscSFScatterEnd(f->petsc, MPI_INT, there, petsc));
  agree_units(t, "scatter after gather, PETSc's", type, expected, petsc, f->nslots);
  agree_units(t, "scatter after gather, Grove's", type, back, petsc, f->nslots);
  free(back);
  free(expected);
  free(petsc);
}

static void compare_gather(trial *t, const twin *f, const int64_t *degree, int64_t total)
{
  int *leaf = bench_alloc((size_t)f->nslots, sizeof *leaf);
  int *here = bench_alloc((size_t)total, sizeof *here);
  int *there = bench_alloc((size_t)total, sizeof *there);
  for (int64_t s = 0; s < f->nslots; s++) leaf[s] = ((t->rank + 1) << 16) + (int)s;
  bench_need_grove(grove_gather(f->grove, MPI_INT, leaf, here));
  need_petsc(PetscSFGatherBegin(f->petsc, MPI_INT, leaf, there));
  need_petsc(PetscSFGatherEnd(f->petsc, MPI_INT, leaf, there));
  compare_last(t, f, leaf, degree, here);
  compare_scatter(t, f, leaf, here, there);
  agree_gathered(t, "gather of int", f, degree, here, there);
  free(leaf);
  free(here);
  free(there);
}

/* ---- fetch ---- */

/* Slots that are not leaves keep their value, 0. What the leaves got comes back in `out`, at the
 * roots. */
static void gather_fetched(trial *t, const twin *f, const bench_type *type, const void *update,
                           int *out)
{
  int *whole = bench_alloc((size_t)f->nslots, sizeof *whole);
  for (int64_t s = 0; s < f->nslots; s++) {
    whole[s] = type->get(update, s);
    if (!f->is_leaf[s]) agree_number(t, "fetch, a slot that is no leaf", s, whole[s], 0);
  }
  bench_need_grove(grove_gather(f->grove, MPI_INT, whole, out));
  free(whole);
}

/* All leaves of a root add the same value, so that their order shows only in who gets what. */
static void compare_fetch(trial *t, const twin *f, const char *name, const int64_t *degree,
                          int64_t total)
{
  const bench_type *type = bench_type_find(name);
  const operation sum = {"sum", MPI_SUM, 1, 9, 0};
  MPI_Datatype unit = type->mpi();
  char what[80];
  void *step = draw_units(t, type, f->nroots, &sum), *here = draw_units(t, type, f->nroots, &sum);
  void *there = copy_units(type, f->nroots, here),
       *leaf = bench_alloc((size_t)f->nslots, type->bytes);
  void *got[2] = {bench_alloc((size_t)f->nslots, type->bytes),
                  bench_alloc((size_t)f->nslots, type->bytes)};
  int *at_roots[2] = {bench_alloc((size_t)total, sizeof(int)),
                      bench_alloc((size_t)total, sizeof(int))};
  bench_need_grove(grove_bcast(f->grove, unit, step, leaf, MPI_REPLACE));
  bench_need_grove(grove_fetch(f->grove, unit, here, leaf, got[0], MPI_SUM));
  need_petsc(PetscSFFetchAndOpBegin(f->petsc, unit, there, leaf, got[1], MPI_SUM));
  need_petsc(PetscSFFetchAndOpEnd(f->petsc, unit, there, leaf, got[1], MPI_SUM));
  snprintf(what, sizeof what, "fetch of %s, roots", name);
  agree_units(t, what, type, here, there, f->nroots);
  for (int i = 0; i < 2; i++) gather_fetched(t, f, type, got[i], at_roots[i]);
  snprintf(what, sizeof what, "fetch of %s, what the leaves of a root got", name);
  agree_gathered(t, what, f, degree, at_roots[0], at_roots[1]);
  void *all[] = {step, here, there, leaf, got[0], got[1], at_roots[0], at_roots[1]};
  for (int i = 0; i < 8; i++) free(all[i]);
}

void compare_operations(trial *t)
{
  static const char *const types[] = {"int", "int64", "double"};
  twin f;
  int64_t total;
  twin_open(t, draw_nroots(t), 0, &f);
  agree_graph(t, "the graph as it was set", f.grove, f.petsc);
  compare_type(t, &f, types[draw_common(t, 3)]);
  compare_pairs(t, &f);
  int64_t *degree = compare_degrees(t, &f, &total);
  compare_gather(t, &f, degree, total);
  compare_fetch(t, &f, "int", degree, total);
  compare_fetch(t, &f, "double", degree, total);
  free(degree);
  twin_close(&f);
}
