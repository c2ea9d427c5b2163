/* VecScatterRemap, which PETSc refuses for all types but two of its own by their names, before it
 * asks the type for anything. So this function stands in its place: a scatter of type `grove`
 * becomes one of type `basic`, and PETSc goes on. It does so in programs that are linked with this
 * library, or started with LD_PRELOAD. What PETSc loads by -dll_append comes after PETSc itself.
 */
#define _GNU_SOURCE /* RTLD_NEXT */
#include "sf.h"

#include <dlfcn.h>
#include <petscvec.h>

typedef PetscErrorCode remap_function(VecScatter scatter, PetscInt *to, PetscInt *from);

static PetscErrorCode find_petsc_remap(remap_function **out)
{
  union {
    void *symbol;
    remap_function *call;
  } found = {.symbol = dlsym(RTLD_NEXT, "VecScatterRemap")};
  PetscFunctionBegin;
  PetscCheck(found.symbol, PETSC_COMM_SELF, PETSC_ERR_LIB, "PETSc's VecScatterRemap is not found");
  *out = found.call;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode VecScatterRemap(VecScatter scatter, PetscInt to[], PetscInt from[])
{
  remap_function *petsc_remap;
  PetscBool ours;
  PetscFunctionBegin;
  PetscCall(find_petsc_remap(&petsc_remap));
  PetscCall(PetscObjectTypeCompare((PetscObject)scatter, PETSCSFGROVE, &ours));
  if (ours) {
    PetscCall(PetscSFSetType(scatter, PETSCSFBASIC));
    PetscCall(PetscInfo(scatter, "delegates to basic: a scatter that VecScatterRemap changes\n"));
  }
  PetscCall(petsc_remap(scatter, to, from));
  PetscFunctionReturn(PETSC_SUCCESS);
}
