/* A context for each communicator, kept as an attribute of it: of the user's, where PETSc works on
 * a duplicate, for PETSc frees its duplicates whenever no object uses them. PetscFinalize frees
 * what is left, in the order of creation, which all ranks of two contexts share.
 */
#include "sf.h"

#include <string.h>

typedef struct held {
  MPI_Comm comm;
  grove_context *ctx;
  struct held *next;
} held;

static held *first_held;
static int held_keyval = MPI_KEYVAL_INVALID;

/* MPI calls it when the attribute goes. Nobody is left to tell of a failure but the user. */
static int drop_context(MPI_Comm comm, int keyval, void *attribute, void *extra)
{
  held *h = attribute, **at = &first_held;
  (void)comm, (void)keyval, (void)extra;
  while (*at != h) at = &(*at)->next;
  *at = h->next;
  if (grove_context_free(&h->ctx)) (void)(*PetscErrorPrintf)("%s\n", grove_last_error());
  return PetscFree(h) ? MPI_ERR_OTHER : MPI_SUCCESS;
}

static PetscErrorCode drop_all(void)
{
  PetscFunctionBegin;
  while (first_held) PetscCallMPI(MPI_Comm_delete_attr(first_held->comm, held_keyval));
  PetscCallMPI(MPI_Comm_free_keyval(&held_keyval));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What PETSc has duplicated, or the communicator itself. */
static PetscErrorCode outer_comm(MPI_Comm comm, MPI_Comm *out)
{
  union {
    MPI_Comm comm;
    void *pointer;
  } outer;
  int found;
  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_get_attr(comm, Petsc_OuterComm_keyval, &outer, &found));
  *out = found ? outer.comm : comm;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- options of Grove in PETSc's database: -sf_grove_set route=3-step,timeout=30 ---- */

PetscErrorCode grove_sf_read_settings(const char *prefix, grove_sf_setter *set, void *object)
{
  char list[PETSC_MAX_PATH_LEN];
  PetscBool found;
  PetscFunctionBegin;
  PetscCall(PetscOptionsGetString(NULL, prefix, "-sf_grove_set", list, sizeof list, &found));
  for (char *pair = found && *list ? list : NULL, *next; pair; pair = next) {
    char *value;
    next = strchr(pair, ',');
    if (next) *next++ = 0;
    value = strchr(pair, '=');
    PetscCheck(value, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG,
               "-sf_grove_set takes key=value,key=value..., and '%s' has no value", pair);
    *value = 0;
    GROVE_SF_CALL(set(object, pair, value + 1));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static grove_status set_of_context(void *ctx, const char *key, const char *value)
{
  return grove_context_set(ctx, key, value);
}

/* Most SFs of a solver's levels are used a few dozen times, which pays for no choice of a route. If
 * the user has said nothing, a kind of operation is chosen for after CHOOSE_AFTER uses. */
#define CHOOSE_AFTER "100"

/* What this binding wants of a context, unless -sf_grove_set says otherwise. One rank has no order
 * and no route. */
static PetscErrorCode set_defaults(MPI_Comm comm, grove_context *ctx)
{
  char given[16];
  PetscMPIInt size;
  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(comm, &size));
  if (size == 1) PetscFunctionReturn(PETSC_SUCCESS);
  GROVE_SF_CALL(grove_context_set(ctx, "order", "own-first")); /* as `basic` has it */
  GROVE_SF_CALL(grove_context_get(ctx, "choose_after", given, sizeof given));
  if (atoi(given) == 0) GROVE_SF_CALL(grove_context_set(ctx, "choose_after", CHOOSE_AFTER));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode create_held(MPI_Comm comm, held **out)
{
  held *h, **last = &first_held;
  PetscFunctionBegin;
  PetscCall(PetscNew(&h));
  h->comm = comm;
  GROVE_SF_CALL(grove_context_create(comm, &h->ctx));
  while (*last) last = &(*last)->next;
  *last = h;
  PetscCallMPI(MPI_Comm_set_attr(comm, held_keyval, h));
  PetscCall(set_defaults(comm, h->ctx));
  PetscCall(grove_sf_read_settings(NULL, set_of_context, h->ctx));
  *out = h;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode grove_sf_context(MPI_Comm comm, grove_context **out)
{
  held *h = NULL;
  int found;
  PetscFunctionBegin;
  if (held_keyval == MPI_KEYVAL_INVALID) {
    PetscCallMPI(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, drop_context, &held_keyval, NULL));
    PetscCall(PetscRegisterFinalize(drop_all));
  }
  PetscCall(outer_comm(comm, &comm));
  PetscCallMPI(MPI_Comm_get_attr(comm, held_keyval, &h, &found));
  if (!found) PetscCall(create_held(comm, &h));
  *out = h->ctx;
  PetscFunctionReturn(PETSC_SUCCESS);
}
