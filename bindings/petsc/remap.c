/* VecScatterRemap, which PETSc refuses for all types but two of its own by their names, before it
 * asks the type for anything. So this function stands in its place, in programs that are linked
 * with this library, or started with LD_PRELOAD. What PETSc loads by -dll_append comes after PETSc
 * itself.
 *
 * To move roots, leaves are told where theirs have gone, and the graph is set anew.
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

/* Where each root of this rank goes; `to` has entries of vectors, of which a root is bs. */
static PetscErrorCode list_places(PetscSF sf, const PetscInt *to, PetscInt *place, PetscInt *end)
{
  PetscInt bs = sf->vscat.bs > 0 ? sf->vscat.bs : 1;
  PetscFunctionBegin;
  *end = sf->nroots;
  for (PetscInt i = 0; i < sf->nroots; i++) {
    place[i] = to[i * bs] / bs;
    if (place[i] >= *end) *end = place[i] + 1;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The place of the root of each leaf, in the order of the list. A slot may be there twice. */
static PetscErrorCode ask_places(PetscSF sf, const PetscInt *place, PetscInt *answer)
{
  PetscSF edges;
  PetscFunctionBegin;
  PetscCall(PetscSFCreate(PetscObjectComm((PetscObject)sf), &edges));
  PetscCall(PetscSFSetType(edges, PETSCSFBASIC));
  PetscCall(PetscSFSetGraph(edges, sf->nroots, sf->nleaves, NULL, PETSC_USE_POINTER, sf->remote,
                            PETSC_USE_POINTER));
  PetscCall(PetscSFBcastBegin(edges, MPIU_INT, place, answer, MPI_REPLACE));
  PetscCall(PetscSFBcastEnd(edges, MPIU_INT, place, answer, MPI_REPLACE));
  PetscCall(PetscSFDestroy(&edges));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode move_roots(PetscSF sf, const PetscInt *to)
{
  PetscInt *place, *answer, *slot = NULL, end, nleaves;
  PetscSFNode *root;
  PetscFunctionBegin;
  PetscCall(PetscSFSetUp(sf));
  nleaves = sf->nleaves;
  PetscCall(PetscMalloc2(sf->nroots, &place, nleaves, &answer));
  PetscCall(list_places(sf, to, place, &end));
  PetscCall(ask_places(sf, place, answer));
  PetscCall(PetscMalloc1(nleaves, &root));
  if (sf->mine) {
    PetscCall(PetscMalloc1(nleaves, &slot));
    PetscCall(PetscArraycpy(slot, sf->mine, nleaves));
  }
  for (PetscInt i = 0; i < nleaves; i++) {
    root[i].rank = sf->remote[i].rank;
    root[i].index = answer[i];
  }
  PetscCall(PetscFree2(place, answer));
  PetscCall(PetscSFDestroy(&sf->vscat.lsf)); /* PETSc makes it anew when it is needed */
  PetscCall(PetscSFSetGraph(sf, end, nleaves, slot, PETSC_OWN_POINTER, root, PETSC_OWN_POINTER));
  PetscCall(PetscSFSetUp(sf));
  sf->vscat.from_n = sf->vscat.to_n = -1; /* it is for vectors of other lengths, as PETSc has it */
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode VecScatterRemap(VecScatter scatter, PetscInt to[], PetscInt from[])
{
  remap_function *petsc_remap;
  PetscBool ours;
  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)scatter, PETSCSFGROVE, &ours));
  if (ours && to && !from) {
    PetscCall(move_roots(scatter, to));
  } else {
    PetscCall(find_petsc_remap(&petsc_remap));
    PetscCall(petsc_remap(scatter, to, from));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
