/* Graphs that come from numbers: global ones, names to be matched, and patterns. */
#include "peers/compare/compare.h"

#include <stdlib.h>

static PetscLayout layout_of(const trial *t, int64_t own, int64_t all)
{
  PetscLayout layout;
  need_petsc(PetscLayoutCreateFromSizes(t->comm, (PetscInt)own, (PetscInt)all, 1, &layout));
  return layout;
}

/* ---- global numbers ---- */

static void compare_global(trial *t)
{
  twin f;
  grove_forest *grove;
  PetscSF petsc;
  twin_open(t, draw_nroots(t), 0, &f);
  int64_t *global = bench_alloc((size_t)f.nleaves, sizeof *global);
  for (int64_t j = 0; j < f.nleaves; j++) global[j] = f.first[f.root[j].rank] + f.root[j].index;
  const int64_t *list = f.listed ? f.slot : NULL;
  bench_need_grove(grove_forest_create(t->ctx, &grove));
  bench_need_grove(grove_forest_set_graph_global(grove, f.nroots, f.nleaves, list, global));
  bench_need_grove(grove_forest_set_up(grove));
  PetscInt *slot = f.listed ? petsc_list(f.slot, f.nleaves) : NULL;
  PetscInt *number = petsc_list(global, f.nleaves);
  PetscLayout layout = layout_of(t, f.nroots, PETSC_DECIDE);
  need_petsc(PetscSFCreate(t->comm, &petsc));
  need_petsc(
    PetscSFSetGraphLayout(petsc, layout, (PetscInt)f.nleaves, slot, PETSC_COPY_VALUES, number));
  agree_results(t, "global numbers", grove, petsc);
  need_petsc(PetscLayoutDestroy(&layout));
  free(global);
  free(slot);
  free(number);
  twin_close(&f);
}

/* ---- match ---- */

/* PETSc wants names from 0 on, each with a root, while Grove skips a leaf whose name nobody has. So
 * PETSc is given only the others, and their slots. */
static void compare_match(trial *t)
{
  grove_forest *grove;
  PetscSF petsc;
  int64_t nroots = draw_nroots(t), nleaves = draw_own(t, 30), before = 0, total, known = 0;
  MPI_Exscan(&nroots, &before, 1, MPI_INT64_T, MPI_SUM, t->comm);
  MPI_Allreduce(&nroots, &total, 1, MPI_INT64_T, MPI_SUM, t->comm);
  int64_t all = total + 1 + draw_common(t, 5);
  int64_t *order =
    bench_shuffled(all, &t->common); /* the names after the first `total` are nobody's */
  int64_t *sought = bench_alloc((size_t)nleaves, sizeof *sought);
  int64_t *found = bench_alloc((size_t)nleaves, sizeof *found);
  int64_t *slot = bench_alloc((size_t)nleaves, sizeof *slot);
  for (int64_t s = 0; s < nleaves; s++) {
    int64_t place = draw_own(t, all);
    sought[s] = order[place];
    if (place >= total) continue;
    found[known] = sought[s];
    slot[known++] = s;
  }
  bench_need_grove(grove_forest_match(t->ctx, nroots, order + before, nleaves, sought, &grove));
  PetscInt *names = petsc_list(order + before, nroots), *wanted = petsc_list(found, known);
  PetscInt *slots = petsc_list(slot, known);
  PetscLayout layout = layout_of(t, PETSC_DECIDE, all);
  need_petsc(PetscSFCreateByMatchingIndices(layout, (PetscInt)nroots, names, NULL, 0,
                                            (PetscInt)known, wanted, slots, 0, NULL, &petsc));
  agree_results(t, "match", grove, petsc);
  need_petsc(PetscLayoutDestroy(&layout));
  void *lists[] = {order, sought, found, slot, names, wanted, slots};
  for (int i = 0; i < 7; i++) free(lists[i]);
}

/* ---- patterns ---- */

static void open_pattern(trial *t, grove_pattern pattern, int64_t n, grove_forest **grove,
                         PetscSF *petsc)
{
  const PetscSFPattern theirs[] = {[GROVE_ALLGATHER] = PETSCSF_PATTERN_ALLGATHER,
                                   [GROVE_GATHER] = PETSCSF_PATTERN_GATHER,
                                   [GROVE_ALLTOALL] = PETSCSF_PATTERN_ALLTOALL};
  PetscLayout layout = layout_of(t, n, PETSC_DECIDE);
  bench_need_grove(grove_forest_create(t->ctx, grove));
  bench_need_grove(grove_forest_set_pattern(*grove, pattern, n));
  bench_need_grove(grove_forest_set_up(*grove));
  need_petsc(PetscSFCreate(t->comm, petsc));
  need_petsc(PetscSFSetGraphWithPattern(*petsc, layout, theirs[pattern]));
  need_petsc(PetscLayoutDestroy(&layout));
}

/* PETSc fails in a gather where nobody has a root: rank 0 has one. */
static void compare_gathers(trial *t, grove_pattern pattern, const char *what)
{
  grove_forest *grove;
  PetscSF petsc;
  int64_t nroots, nleaves;
  open_pattern(t, pattern, draw_own(t, 6) + (t->rank == 0), &grove, &petsc);
  agree_graph(t, what, grove, petsc);
  bench_need_grove(grove_forest_sizes(grove, &nroots, &nleaves));
  int *leaf = bench_alloc((size_t)nleaves, sizeof *leaf);
  int *here = bench_alloc((size_t)nroots, sizeof *here);
  int *there = bench_alloc((size_t)nroots, sizeof *there);
  for (int64_t j = 0; j < nleaves; j++) leaf[j] = (int)draw_own(t, 1000);
  for (int64_t i = 0; i < nroots; i++) here[i] = there[i] = (int)i;
  bench_need_grove(grove_reduce(grove, MPI_INT, leaf, here, MPI_SUM));
  petsc_reduce(petsc, MPI_INT, leaf, there, MPI_SUM);
  agree_units(t, what, bench_type_find("int"), here, there, nroots);
  free(leaf);
  free(here);
  free(there);
  bench_need_grove(grove_forest_free(&grove));
  need_petsc(PetscSFDestroy(&petsc));
}

/* PETSc has one item per rank, of any type: n of Grove's. The graph that it reports is not the one
 * that it uses (3.18: leaf j on root j of rank j), so data is compared. */
static void compare_all_to_all(trial *t)
{
  const bench_type *type = bench_type_find("int");
  grove_forest *grove;
  PetscSF petsc;
  MPI_Datatype unit;
  int n = 1 + (int)draw_common(t, 3), all = n * t->nranks;
  int *from = bench_alloc((size_t)all, sizeof *from);
  int *here = bench_alloc((size_t)all, sizeof *here),
      *there = bench_alloc((size_t)all, sizeof *there);
  open_pattern(t, GROVE_ALLTOALL, n, &grove, &petsc);
  MPI_Type_contiguous(n, MPI_INT, &unit);
  MPI_Type_commit(&unit);
  for (int i = 0; i < all; i++) from[i] = ((t->rank + 1) << 16) + i;
  bench_need_grove(grove_bcast(grove, MPI_INT, from, here, MPI_REPLACE));
  petsc_bcast(petsc, unit, from, there, MPI_REPLACE);
  agree_units(t, "all-to-all, bcast", type, here, there, all);
  bench_need_grove(grove_reduce(grove, MPI_INT, from, here, MPI_REPLACE));
  petsc_reduce(petsc, unit, from, there, MPI_REPLACE);
  agree_units(t, "all-to-all, reduce", type, here, there, all);
  MPI_Type_free(&unit);
  free(from);
  free(here);
  free(there);
  bench_need_grove(grove_forest_free(&grove));
  need_petsc(PetscSFDestroy(&petsc));
}

void compare_numbers(trial *t)
{
  compare_global(t);
  compare_match(t);
  compare_gathers(t, GROVE_ALLGATHER, "allgather");
  compare_gathers(t, GROVE_GATHER, "gather pattern");
  compare_all_to_all(t);
}
