/* Forests with more roots than the one they come from: multi, strided, expand. */
#include "peers/compare/compare.h"

#include <petscsection.h>
#include <stdlib.h>
#include <string.h>

/* ---- multi ---- */

/* New roots that know which old one they come from. */
static int *name_parts(const trial *t, const twin *f, int64_t total)
{
  int64_t *degree = bench_alloc((size_t)f->nroots, sizeof *degree), n = 0;
  int *name = bench_alloc((size_t)total, sizeof *name);
  bench_need_grove(grove_forest_degrees(f->grove, degree));
  for (int64_t i = 0; i < f->nroots; i++)
    for (int64_t k = 0; k < degree[i] && n < total; k++) name[n++] = ((t->rank + 1) << 16) + (int)i;
  free(degree);
  return name;
}

static void agree_degrees(trial *t, grove_forest *grove, PetscSF petsc)
{
  int64_t nroots;
  PetscInt there;
  const PetscInt *degree;
  bench_need_grove(grove_forest_sizes(grove, &nroots, NULL));
  need_petsc(PetscSFGetGraph(petsc, &there, NULL, NULL, NULL));
  agree_number(t, "multi, number of roots", 0, nroots, there);
  int64_t *here = bench_alloc((size_t)nroots, sizeof *here);
  bench_need_grove(grove_forest_degrees(grove, here));
  need_petsc(PetscSFComputeDegreeBegin(petsc, &degree));
  need_petsc(PetscSFComputeDegreeEnd(petsc, &degree));
  for (int64_t i = 0; i < nroots && i < there; i++) {
    agree_number(t, "multi, degrees", i, here[i], 1);
    agree_number(t, "multi, degrees", i, here[i], degree[i]);
  }
  free(here);
}

/* PETSc leaves open which part of its old root a leaf gets. It must be a part of the right root,
 * and no other leaf may have it. */
static void compare_multi(trial *t)
{
  twin f;
  grove_forest *grove;
  PetscSF petsc;
  int64_t total;
  twin_open(t, draw_nroots(t), 0, &f);
  bench_need_grove(grove_forest_multi(f.grove, &grove));
  need_petsc(PetscSFGetMultiSF(f.petsc, &petsc)); /* belongs to f.petsc */
  need_petsc(PetscSFSetUp(petsc));
  agree_degrees(t, grove, petsc);
  bench_need_grove(grove_forest_sizes(grove, &total, NULL));
  int *name = name_parts(t, &f, total);
  int *here = bench_alloc((size_t)f.nslots, sizeof *here);
  int *there = bench_alloc((size_t)f.nslots, sizeof *there);
  bench_need_grove(grove_bcast(grove, MPI_INT, name, here, MPI_REPLACE));
  petsc_bcast(petsc, MPI_INT, name, there, MPI_REPLACE);
  agree_units(t, "multi, whose part a leaf has", bench_type_find("int"), here, there, f.nslots);
  free(name);
  free(here);
  free(there);
  bench_need_grove(grove_forest_free(&grove));
  twin_close(&f);
}

/* ---- strided: PETSc 3.18 has none, and later versions define it by what is done here ---- */

/* n values per point: bcast, then a sum back, over `f` itself. */
static void exchange_petsc(const twin *f, const int64_t stride[2], int n, int *root, int *leaf)
{
  MPI_Datatype several;
  MPI_Type_contiguous(n, MPI_INT, &several);
  MPI_Type_commit(&several);
  MPI_Datatype unit = n > 1 ? several : MPI_INT; /* PETSc has no sum for a type that is one int */
  if (stride[0] == 0) {
    petsc_bcast(f->petsc, unit, root, leaf, MPI_REPLACE);
    petsc_reduce(f->petsc, unit, leaf, root, MPI_SUM);
  }
  for (int k = 0; k < n && stride[0] > 0; k++)
    petsc_bcast(f->petsc, MPI_INT, root + k * stride[0], leaf + k * stride[1], MPI_REPLACE);
  for (int k = 0; k < n && stride[0] > 0; k++)
    petsc_reduce(f->petsc, MPI_INT, leaf + k * stride[1], root + k * stride[0], MPI_SUM);
  MPI_Type_free(&several);
}

static void compare_strided(trial *t)
{
  twin f;
  grove_forest *grove;
  const bench_type *type = bench_type_find("int");
  int n = 1 + (int)draw_common(t, 3), apart = (int)draw_common(t, 2);
  twin_open(t, draw_nroots(t), 0, &f);
  int64_t stride[2] = {apart ? f.nroots + 1 + draw_own(t, 2) : 0,
                       apart ? f.end + 1 + draw_own(t, 2) : 0};
  bench_need_grove(grove_forest_strided(f.grove, n, stride[0], stride[1], &grove));
  int64_t nroots = (f.nroots + 3) * n, nslots = (f.nslots + 3) * n;
  int *root[2], *leaf[2];
  for (int side = 0; side < 2; side++) {
    root[side] = bench_alloc((size_t)nroots, sizeof(int));
    leaf[side] = bench_alloc((size_t)nslots, sizeof(int));
    for (int64_t i = 0; i < nroots; i++) root[side][i] = ((t->rank + 1) << 16) + (int)i;
  }
  bench_need_grove(grove_bcast(grove, MPI_INT, root[0], leaf[0], MPI_REPLACE));
  bench_need_grove(grove_reduce(grove, MPI_INT, leaf[0], root[0], MPI_SUM));
  exchange_petsc(&f, stride, n, root[1], leaf[1]);
  agree_units(t, "strided, leaves after a bcast", type, leaf[0], leaf[1], nslots);
  agree_units(t, "strided, roots after a sum", type, root[0], root[1], nroots);
  for (int side = 0; side < 2; side++) {
    free(root[side]);
    free(leaf[side]);
  }
  bench_need_grove(grove_forest_free(&grove));
  twin_close(&f);
}

/* ---- expand, against PETSc's sections ---- */

/* Sizes of this rank's points and, unless `offset` is NULL, their places in another order. */
static PetscSection draw_root_section(trial *t, const twin *f, int64_t *size, int64_t *offset)
{
  PetscSection section;
  PetscInt n = (PetscInt)f->nroots, end = 0, turn = (PetscInt)draw_own(t, n + 1);
  need_petsc(PetscSectionCreate(t->comm, &section));
  need_petsc(PetscSectionSetChart(section, 0, n));
  for (PetscInt i = 0; i < n; i++) {
    size[i] = draw_own(t, 4);
    need_petsc(PetscSectionSetDof(section, i, (PetscInt)size[i]));
  }
  need_petsc(PetscSectionSetUp(section));
  for (PetscInt k = 0; k < n && offset; k++) {
    PetscInt i = (2 * n - 1 - k + turn) % n; /* backwards, from anywhere */
    offset[i] = end;
    need_petsc(PetscSectionSetOffset(section, i, end));
    end += (PetscInt)size[i];
  }
  return section;
}

/* Places for the leaves' values in the order of the list, with gaps. */
static void draw_leaf_offsets(trial *t, const twin *f, PetscSection section, int64_t *offset)
{
  PetscInt end = 0, size;
  for (int64_t j = 0; j < f->nleaves; j++) {
    PetscInt slot = (PetscInt)f->slot[j];
    need_petsc(PetscSectionGetDof(section, slot, &size));
    end += (PetscInt)draw_own(t, 3);
    offset[slot] = end;
    need_petsc(PetscSectionSetOffset(section, slot, end));
    end += size;
  }
}

static void compare_expand(trial *t)
{
  twin f;
  grove_forest *grove;
  PetscSF petsc;
  PetscSection leaves;
  PetscInt *remote;
  twin_open(t, draw_nroots(t), 0, &f);
  int64_t *size = bench_alloc((size_t)f.nroots, sizeof *size);
  int64_t *at = draw_own(t, 2) ? bench_alloc((size_t)f.nroots, sizeof *at) : NULL;
  int64_t *leaf_at = draw_own(t, 2) ? bench_alloc((size_t)f.nslots, sizeof *leaf_at) : NULL;
  PetscSection roots = draw_root_section(t, &f, size, at);
  need_petsc(PetscSectionCreate(t->comm, &leaves));
  need_petsc(PetscSFDistributeSection(f.petsc, roots, &remote, leaves));
  if (leaf_at) draw_leaf_offsets(t, &f, leaves, leaf_at);
  need_petsc(PetscSFCreateSectionSF(f.petsc, roots, remote, leaves, &petsc));
  bench_need_grove(grove_forest_expand(f.grove, size, at, leaf_at, &grove));
  agree_results(t, "expand", grove, petsc);
  need_petsc(PetscSectionDestroy(&roots));
  need_petsc(PetscSectionDestroy(&leaves));
  need_petsc(PetscFree(remote));
  free(size);
  free(at);
  free(leaf_at);
  twin_close(&f);
}

void compare_growth(trial *t)
{
  compare_multi(t);
  compare_strided(t);
  compare_expand(t);
}
