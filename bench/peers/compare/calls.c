/* PETSc calls that end the job unless they succeed. */
#include "peers/compare/compare.h"

void need_petsc(PetscErrorCode code)
{
  bench_need(code == 0, "PETSc reported an error");
}

void petsc_bcast(PetscSF f, MPI_Datatype unit, const void *root, void *leaf, MPI_Op op)
{
  need_petsc(PetscSFBcastBegin(f, unit, root, leaf, op));
  need_petsc(PetscSFBcastEnd(f, unit, root, leaf, op));
}

void petsc_reduce(PetscSF f, MPI_Datatype unit, const void *leaf, void *root, MPI_Op op)
{
  need_petsc(PetscSFReduceBegin(f, unit, leaf, root, op));
  need_petsc(PetscSFReduceEnd(f, unit, leaf, root, op));
}

PetscInt *petsc_list(const int64_t *list, int64_t n)
{
  PetscInt *out = bench_alloc((size_t)n, sizeof *out);
  for (int64_t i = 0; i < n; i++) out[i] = (PetscInt)list[i];
  return out;
}
