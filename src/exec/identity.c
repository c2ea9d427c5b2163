#include "exec/op.h"

#include <stdlib.h>

static int keyval = MPI_KEYVAL_INVALID;

void grove_identity_release(grove_identity *identity)
{
  if (identity && --identity->references == 0) free(identity);
}

/* MPI frees the type. */
static int forget(MPI_Datatype type, int key, void *value, void *extra)
{
  (void)type;
  (void)key;
  (void)extra;
  grove_identity_release(value);
  return MPI_SUCCESS;
}

grove_status grove_identity_of(MPI_Datatype type, grove_identity **out)
{
  grove_status status = GROVE_OK;
  int combiner = 0, found = 0;
  grove_identity *identity = NULL;
  *out = NULL;
  GROVE_CHECK(type != MPI_DATATYPE_NULL, GROVE_ERR_ARG, "the unit is MPI_DATATYPE_NULL");
  GROVE_TRY(grove_basic_combiner(type, &combiner));
  if (combiner == MPI_COMBINER_NAMED) return GROVE_OK;
  if (keyval == MPI_KEYVAL_INVALID)
    GROVE_TRY_MPI(MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, forget, &keyval, NULL));
  GROVE_TRY_MPI(MPI_Type_get_attr(type, keyval, &identity, &found));
  if (!found) {
    GROVE_NEW(identity, 1);
    identity->references = 1; /* the type's own */
    GROVE_TRY_MPI(MPI_Type_set_attr(type, keyval, identity));
  }
  *out = identity;
fail:
  return status;
}
