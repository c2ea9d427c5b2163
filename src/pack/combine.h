/* What an MPI operation does to units: target = target o value. Predefined operations run through
 * Grove's own kernels, on every basic type at the same speed. A user's runs through
 * MPI_Reduce_local.
 */
#ifndef GROVE_PACK_COMBINE_H
#define GROVE_PACK_COMBINE_H

#include "base/status.h"
#include "pack/kernels.h"
#include "pack/unit.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum grove_combine_way {
  GROVE_COMBINE_REPLACE, /* target = value */
  GROVE_COMBINE_NOTHING, /* MPI_NO_OP: target stays */
  GROVE_COMBINE_KERNEL,  /* element by element, by `kernels` */
  GROVE_COMBINE_MPI      /* many units at a time, by MPI_Reduce_local */
} grove_combine_way;

typedef struct grove_combine {
  MPI_Op op;
  grove_combine_way way;
  int number; /* of a predefined operation, the same on every rank; -1: a user's own */
  int commutative;
  int exact; /* the bits are the same in any order of combination: integers */
  const grove_kernels *kernels;
  int64_t memory_index, message_index; /* of pairs: distance of the index from its value */
} grove_combine;

/* GROVE_ERR_ARG for MPI_OP_NULL, GROVE_ERR_UNSUPPORTED if the operation has no meaning on the
 * unit. */
grove_status grove_combine_create(MPI_Op op, const grove_unit *unit, grove_combine *out);

/* "MPI_SUM", or "a user's operation". For sentences. */
const char *grove_combine_name(MPI_Op op);

/* Kernels for MAXLOC and MINLOC; NULL if this MPI's type is not laid out as in C. In memory the
 * index lies `*index_at` behind the value. */
const grove_kernels *grove_kernels_pair(MPI_Datatype type, int64_t bytes, int64_t extent,
                                        int number, int64_t *index_at);

#ifdef __cplusplus
}
#endif

#endif
