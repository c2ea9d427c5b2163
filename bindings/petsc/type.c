/* The table of the SF type `grove`. What has no entry is PETSc's own, on top of these: embedded
 * leaves, local SFs, gather, scatter, degrees, groups, compositions. */
#include "sf.h"

PetscErrorCode grove_sf_error(grove_status status)
{
  switch (status) {
  case GROVE_ERR_ARG: return PETSC_ERR_ARG_WRONG;
  case GROVE_ERR_GRAPH: return PETSC_ERR_ARG_OUTOFRANGE;
  case GROVE_ERR_STATE: return PETSC_ERR_ARG_WRONGSTATE;
  case GROVE_ERR_UNSUPPORTED: return PETSC_ERR_SUP;
  case GROVE_ERR_MEMORY: return PETSC_ERR_MEM;
  default: return PETSC_ERR_LIB;
  }
}

/* PETSc lets an SF change its type when it is set up, and says that it still is. */
static PetscErrorCode undo_set_up(PetscSF sf)
{
  PetscFunctionBegin;
  PetscCall(PetscFree4(sf->ranks, sf->roffset, sf->rmine, sf->rremote));
  sf->nranks = -1;
  sf->setupcalled = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode destroy_type(PetscSF sf)
{
  PetscFunctionBegin;
  PetscCall(grove_sf_forget_graph(sf));
  PetscCall(undo_set_up(sf));
  PetscCall(PetscFree(sf->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* VecScatterRemap, which DMDA calls on a copy, changes the insides of `basic` and refuses all other
 * types; so the copy of a scatter is `basic`. */
static PetscErrorCode configure_copy(PetscSF sf, PetscSFDuplicateOption option, PetscSF copy)
{
  PetscBool keep = PETSC_FALSE;
  PetscFunctionBegin;
  if (option != PETSCSF_DUPLICATE_GRAPH || sf->vscat.bs == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-sf_grove_copies", &keep, NULL));
  if (keep) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSFSetType(copy, PETSCSFBASIC));
  PetscCall(PetscInfo(sf, "delegates to basic: the copy of a scatter, which VecScatterRemap may "
                          "change; -sf_grove_copies keeps the type\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode view_type(PetscSF sf, PetscViewer viewer)
{
  PetscBool ascii;
  PetscViewerFormat format;
  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
  if (!ascii) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscViewerGetFormat(viewer, &format));
  if (format != PETSC_VIEWER_ASCII_MATLAB)
    PetscCall(PetscViewerASCIIPrintf(viewer, "  MultiSF sort=%s\n",
                                     sf->rankorder ? "rank-order" : "unordered"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode create_type(PetscSF sf)
{
  grove_sf *g;
  PetscFunctionBegin;
  PetscCall(grove_sf_expand_pattern(sf));
  PetscCall(undo_set_up(sf));
  PetscCall(PetscNew(&g));
  g->niranks = -1;
  sf->data = g;
  sf->ops->SetUp = grove_sf_set_up;
  sf->ops->Reset = grove_sf_forget_graph;
  sf->ops->Destroy = destroy_type;
  sf->ops->Duplicate = configure_copy;
  sf->ops->View = view_type;
  sf->ops->GetLeafRanks = grove_sf_leaf_ranks;
  sf->ops->CreateEmbeddedRootSF = grove_sf_embed_roots;
  sf->ops->BcastBegin = grove_sf_bcast_begin;
  sf->ops->BcastEnd = grove_sf_bcast_end;
  sf->ops->ReduceBegin = grove_sf_reduce_begin;
  sf->ops->ReduceEnd = grove_sf_reduce_end;
  sf->ops->FetchAndOpBegin = grove_sf_fetch_begin;
  sf->ops->FetchAndOpEnd = grove_sf_fetch_end;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PetscSFRegister_Grove(void)
{
  PetscFunctionBegin;
  PetscCall(PetscSFRegister(PETSCSFGROVE, create_type));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc calls it when it has loaded libgrove_petsc.so. */
PETSC_EXTERN PetscErrorCode PetscDLLibraryRegister_grove_petsc(void)
{
  PetscFunctionBegin;
  PetscCall(PetscSFRegister_Grove());
  PetscFunctionReturn(PETSC_SUCCESS);
}
