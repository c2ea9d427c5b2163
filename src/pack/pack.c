#include "pack/pack.h"

#include <stdlib.h>
#include <string.h>

/* Alignment of everything a user's operation may see. */
enum { ALIGNMENT = 64 };

static size_t round_up(int64_t bytes)
{
  return ((size_t)bytes / ALIGNMENT + 2) * ALIGNMENT;
}

grove_status grove_scratch_create(const grove_unit *unit, const grove_combine *combine,
                                  grove_scratch *out)
{
  grove_status status = GROVE_OK;
  grove_scratch scratch = {0};
  int by_mpi = combine->way == GROVE_COMBINE_MPI;
  if (unit->dense || (!by_mpi && combine->way != GROVE_COMBINE_KERNEL)) return GROVE_OK;
  size_t native = by_mpi ? round_up(unit->true_extent) : 0;
  scratch.memory = aligned_alloc(ALIGNMENT, native + round_up(unit->bytes));
  GROVE_CHECK(scratch.memory, GROVE_ERR_MEMORY, "no memory for a unit that spans %lld bytes",
              (long long)unit->true_extent);
  /* Keeps the alignment that the type has relative to its origin. */
  int64_t shift = ((unit->true_lb % ALIGNMENT) + ALIGNMENT) % ALIGNMENT;
  scratch.native = (char *)scratch.memory + shift - unit->true_lb;
  scratch.packed = (char *)scratch.memory + native;
  *out = scratch;
fail:
  return status;
}

void grove_scratch_free(grove_scratch *scratch)
{
  free(scratch->memory);
  *scratch = (grove_scratch){0};
}

int grove_pack_is_trivial(const grove_unit *unit, const grove_index *slots)
{
  return unit->dense && grove_index_consecutive(slots);
}

/* How many slots from `at` on, at most `limit`, follow each other in memory. */
static int64_t run_length(const grove_index *slots, int64_t at, int64_t limit)
{
  if (grove_index_consecutive(slots)) return limit;
  int64_t first = grove_index_at(slots, at), n = 1;
  while (n < limit && grove_index_at(slots, at + n) == first + n) n++;
  return n;
}

/* ---- dense units: runs of bytes ---- */

/* The sizes that a compiler turns into one or two instructions. */
#define COPY_CASE(size)                                                                            \
  case size: memcpy(to, from, size); return

static inline void copy_one(void *to, const void *from, size_t bytes)
{
  switch (bytes) {
    COPY_CASE(4);
    COPY_CASE(8);
    COPY_CASE(16);
  default: memcpy(to, from, bytes);
  }
}

static void copy_dense(const grove_unit *unit, char *base, const grove_index *slots, int64_t begin,
                       int64_t count, char *message, int into_message)
{
  size_t bytes = (size_t)unit->bytes;
  if (grove_index_consecutive(slots)) {
    char *memory = grove_unit_at(unit, base, slots->first + begin);
    memmove(into_message ? message : memory, into_message ? memory : message,
            bytes * (size_t)count);
    return;
  }
  for (int64_t i = 0; i < count; i++, message += bytes) {
    char *memory = grove_unit_at(unit, base, grove_index_at(slots, begin + i));
    if (into_message)
      copy_one(message, memory, bytes);
    else
      copy_one(memory, message, bytes);
  }
}

/* ---- one unit of any type ---- */

static grove_status pack_one(const grove_unit *unit, MPI_Comm comm, const void *memory,
                             void *message)
{
  grove_status status = GROVE_OK;
  int position = 0;
  GROVE_TRY_MPI(MPI_Pack(memory, 1, unit->type, message, (int)unit->bytes, &position, comm));
fail:
  return status;
}

static grove_status unpack_one(const grove_unit *unit, MPI_Comm comm, const void *message,
                               void *memory)
{
  grove_status status = GROVE_OK;
  int position = 0;
  GROVE_TRY_MPI(MPI_Unpack(message, (int)unit->bytes, &position, memory, 1, unit->type, comm));
fail:
  return status;
}

grove_status grove_pack(const grove_unit *unit, MPI_Comm comm, const void *base,
                        const grove_index *slots, int64_t begin, int64_t count, void *message)
{
  grove_status status = GROVE_OK;
  if (unit->bytes == 0 || count == 0) return GROVE_OK;
  if (unit->dense) {
    copy_dense(unit, (char *)base, slots, begin, count, message, 1);
    return GROVE_OK;
  }
  for (int64_t i = 0; i < count; i++)
    GROVE_TRY(pack_one(unit, comm, grove_unit_at(unit, base, grove_index_at(slots, begin + i)),
                       (char *)message + i * unit->bytes));
fail:
  return status;
}

/* ---- combining ---- */

/* target = target o value, both in the layout of the type. MPI_Reduce_local(a, b) sets b = a o b:
 * for an operation that is not commutative the target must be its first argument. */
static grove_status reduce_units(const grove_unit *unit, const grove_combine *combine, void *target,
                                 void *value, int64_t count, int *result_in_value)
{
  grove_status status = GROVE_OK;
  *result_in_value = !combine->commutative;
  void *in = combine->commutative ? value : target;
  void *inout = combine->commutative ? target : value;
  GROVE_TRY_MPI(MPI_Reduce_local(in, inout, (int)count, unit->type, combine->op));
fail:
  return status;
}

/* A run of dense units: the message is laid out like the memory. */
static grove_status combine_dense(const grove_unit *unit, const grove_combine *combine,
                                  void *target, void *message, int64_t count)
{
  grove_status status = GROVE_OK;
  if (combine->way == GROVE_COMBINE_KERNEL) {
    combine->kernel(target, message, count * unit->elements);
    return GROVE_OK;
  }
  int result_in_value = 0;
  GROVE_TRY(reduce_units(unit, combine, target, message, count, &result_in_value));
  if (result_in_value) memmove(target, message, (size_t)(count * unit->bytes));
fail:
  return status;
}

/* One unit with gaps, or out of order: through scratch memory of the layout that is needed. */
static grove_status combine_sparse(const grove_unit *unit, const grove_combine *combine,
                                   MPI_Comm comm, const grove_scratch *scratch, void *target,
                                   void *message)
{
  grove_status status = GROVE_OK;
  if (combine->way == GROVE_COMBINE_KERNEL) {
    GROVE_TRY(pack_one(unit, comm, target, scratch->packed));
    combine->kernel(scratch->packed, message, unit->elements);
    GROVE_TRY(unpack_one(unit, comm, scratch->packed, target));
    return GROVE_OK;
  }
  int result_in_value = 0;
  GROVE_TRY(unpack_one(unit, comm, message, scratch->native));
  GROVE_TRY(reduce_units(unit, combine, target, scratch->native, 1, &result_in_value));
  if (result_in_value) {
    GROVE_TRY(pack_one(unit, comm, scratch->native, scratch->packed));
    GROVE_TRY(unpack_one(unit, comm, scratch->packed, target));
  }
fail:
  return status;
}

grove_status grove_unpack(const grove_unit *unit, const grove_combine *combine, MPI_Comm comm,
                          const grove_scratch *scratch, void *message, void *base,
                          const grove_index *slots, int64_t begin, int64_t count)
{
  grove_status status = GROVE_OK;
  if (unit->bytes == 0 || count == 0 || combine->way == GROVE_COMBINE_NOTHING) return GROVE_OK;
  if (combine->way == GROVE_COMBINE_REPLACE && unit->dense) {
    copy_dense(unit, base, slots, begin, count, message, 0);
    return GROVE_OK;
  }
  for (int64_t i = 0, run = 1; i < count; i += run) {
    void *target = grove_unit_at(unit, base, grove_index_at(slots, begin + i));
    char *value = (char *)message + i * unit->bytes;
    if (unit->dense) {
      run = run_length(slots, begin + i, count - i);
      GROVE_TRY(combine_dense(unit, combine, target, value, run));
    } else if (combine->way == GROVE_COMBINE_REPLACE) {
      GROVE_TRY(unpack_one(unit, comm, value, target));
    } else {
      GROVE_TRY(combine_sparse(unit, combine, comm, scratch, target, value));
    }
  }
fail:
  return status;
}
