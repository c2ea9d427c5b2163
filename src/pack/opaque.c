/* Units whose pieces are unknown, since they span more than a mebibyte. MPI packs many of them in
 * one call, by a type that is made for the call and says where they lie.
 */
#include "pack/batch.h"

#include <limits.h>

/* Is the message side contiguous, and short enough for one call? Large units gain nothing. */
static int is_stretch(const grove_mover *m, int64_t n, const int64_t *at)
{
  enum { SMALL = 1 << 16 };
  for (int64_t k = 1; k < n; k++)
    if (at[k] != at[0] + k * m->unit.bytes) return 0;
  return n > 1 && m->unit.bytes <= SMALL;
}

/* A type that consists of the units at these places. */
static grove_status gather_type(const grove_mover *m, int64_t n, const int64_t *at,
                                MPI_Datatype *out)
{
  grove_status status = GROVE_OK;
  MPI_Aint places[GROVE_BATCH];
  MPI_Datatype type = MPI_DATATYPE_NULL;
  for (int64_t k = 0; k < n; k++) places[k] = (MPI_Aint)at[k];
  GROVE_TRY_MPI(MPI_Type_create_hindexed_block((int)n, 1, places, m->unit.type, &type));
  GROVE_TRY_MPI(MPI_Type_commit(&type));
  *out = type;
  return GROVE_OK;
fail:
  if (type != MPI_DATATYPE_NULL) MPI_Type_free(&type);
  return status;
}

static grove_status pack_by_mpi(const grove_mover *m, MPI_Datatype type, int64_t n, void *message,
                                const void *memory)
{
  int position = 0, bytes = (int)(n * m->unit.bytes);
  GROVE_PASS_MPI(MPI_Pack(memory, 1, type, message, bytes, &position, m->unit.comm));
  return GROVE_OK;
}

static grove_status unpack_by_mpi(const grove_mover *m, MPI_Datatype type, int64_t n, void *memory,
                                  const void *message)
{
  int position = 0, bytes = (int)(n * m->unit.bytes);
  GROVE_PASS_MPI(MPI_Unpack(message, bytes, &position, memory, 1, type, m->unit.comm));
  return GROVE_OK;
}

static grove_status copy_together(const grove_mover *m, int64_t n, const grove_places *to,
                                  const grove_places *from)
{
  grove_status status = GROVE_OK;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  GROVE_TRY(gather_type(m, n, to->in_memory ? to->at : from->at, &type));
  if (to->in_memory)
    GROVE_TRY(unpack_by_mpi(m, type, n, to->base, from->base + from->at[0]));
  else
    GROVE_TRY(pack_by_mpi(m, type, n, to->base + to->at[0], from->base));
fail:
  if (type != MPI_DATATYPE_NULL) MPI_Type_free(&type);
  return status;
}

static grove_status copy_one(const grove_mover *m, int64_t k, const grove_places *to,
                             const grove_places *from)
{
  char *there = to->base + to->at[k];
  const char *here = from->base + from->at[k];
  if (!to->in_memory) return pack_by_mpi(m, m->unit.type, 1, there, here);
  if (!from->in_memory) return unpack_by_mpi(m, m->unit.type, 1, there, here);
  GROVE_PASS(pack_by_mpi(m, m->unit.type, 1, m->packed, here));
  return unpack_by_mpi(m, m->unit.type, 1, there, m->packed);
}

grove_status grove_opaque_copy(const grove_mover *m, int64_t n, const grove_places *to,
                               const grove_places *from)
{
  if (to->in_memory != from->in_memory && is_stretch(m, n, to->in_memory ? from->at : to->at))
    return copy_together(m, n, to, from);
  for (int64_t k = 0; k < n; k++) GROVE_PASS(copy_one(m, k, to, from));
  return GROVE_OK;
}
