/* The datatype that an operation was made for, as an attribute of the type. */
#include "exec/plans.h"

#include <pthread.h>
#include <stdlib.h>

/* A type may be used on several contexts at once. References are counted without the mutex, because
 * MPI calls `forget_type` with locks of its own. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int keyval = MPI_KEYVAL_INVALID;

void grove_identity_hold(grove_identity *identity)
{
  if (identity) __atomic_add_fetch(&identity->references, 1, __ATOMIC_RELAXED);
}

void grove_identity_release(grove_identity *identity)
{
  if (identity && __atomic_sub_fetch(&identity->references, 1, __ATOMIC_ACQ_REL) == 0)
    free(identity);
}

/* MPI calls this when it frees the type. */
static int forget_type(MPI_Datatype type, int key, void *value, void *extra)
{
  (void)type;
  (void)key;
  (void)extra;
  grove_identity_release(value);
  return MPI_SUCCESS;
}

/* Finds or makes the identity of a derived type. The caller holds the mutex. */
static grove_status look_up_identity(MPI_Datatype type, grove_identity **out)
{
  int found = 0;
  grove_identity *identity = NULL;
  if (keyval == MPI_KEYVAL_INVALID)
    GROVE_PASS_MPI(MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, forget_type, &keyval, NULL));
  GROVE_PASS_MPI(MPI_Type_get_attr(type, keyval, &identity, &found));
  if (!found) {
    GROVE_PASS_NEW(identity, 1);
    identity->references = 1; /* the type's own */
    GROVE_PASS_MPI(MPI_Type_set_attr(type, keyval, identity));
  }
  *out = identity;
  return GROVE_OK;
}

grove_status grove_identity_of(MPI_Datatype type, grove_identity **out)
{
  int combiner = 0;
  *out = NULL;
  GROVE_PASS_CHECK(type != MPI_DATATYPE_NULL, GROVE_ERR_ARG, "the unit is MPI_DATATYPE_NULL");
  GROVE_PASS(grove_basic_combiner(type, &combiner));
  if (combiner == MPI_COMBINER_NAMED) return GROVE_OK;
  pthread_mutex_lock(&mutex);
  grove_status status = look_up_identity(type, out);
  pthread_mutex_unlock(&mutex);
  return status;
}
