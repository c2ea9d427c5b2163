#include "pack/pack.h"

#include <stdlib.h>
#include <string.h>

/* Alignment of everything a user's operation may see. */
enum { ALIGNMENT = 64 };

static size_t round_up(int64_t bytes)
{
  return ((size_t)bytes / ALIGNMENT + 2) * ALIGNMENT;
}

grove_status grove_mover_create(const grove_unit *unit, const grove_combine *combine,
                                grove_mover *out)
{
  grove_status status = GROVE_OK;
  grove_mover m = {.unit = *unit, .combine = *combine};
  int by_mpi = combine->way == GROVE_COMBINE_MPI;
  if (by_mpi || (!unit->dense && combine->way == GROVE_COMBINE_KERNEL)) {
    size_t native = by_mpi ? round_up(unit->true_extent) : 0;
    m.memory = aligned_alloc(ALIGNMENT, native + round_up(unit->bytes));
    GROVE_CHECK(m.memory, GROVE_ERR_MEMORY, "no memory for a unit that spans %lld bytes",
                (long long)unit->true_extent);
    /* Keeps the alignment that the type has relative to its origin. */
    int64_t shift = ((unit->true_lb % ALIGNMENT) + ALIGNMENT) % ALIGNMENT;
    m.native = (char *)m.memory + shift - unit->true_lb;
    m.packed = (char *)m.memory + native;
  }
  *out = m;
fail:
  return status;
}

void grove_mover_free(grove_mover *mover)
{
  grove_unit_free(&mover->unit);
  free(mover->memory);
  *mover = (grove_mover){0};
}

int grove_pack_is_trivial(const grove_unit *unit, const grove_shape *shape)
{
  return unit->dense && shape->form == GROVE_SHAPE_CONSECUTIVE && shape->starts.count == 0;
}

/* How many slots from `at` on, at most `limit`, follow each other in memory. */
static int64_t run_length(const grove_index *slots, int64_t at, int64_t limit)
{
  if (grove_index_consecutive(slots)) return limit;
  int64_t first = grove_index_at(slots, at), n = 1;
  while (n < limit && grove_index_at(slots, at + n) == first + n) n++;
  return n;
}

/* ---- one unit of any type ---- */

static grove_status pack_one(const grove_unit *unit, const void *memory, void *message)
{
  grove_status status = GROVE_OK;
  int position = 0;
  if (unit->dense)
    memcpy(message, memory, (size_t)unit->bytes);
  else
    GROVE_TRY_MPI(
      MPI_Pack(memory, 1, unit->type, message, (int)unit->bytes, &position, unit->comm));
fail:
  return status;
}

static grove_status unpack_one(const grove_unit *unit, const void *message, void *memory)
{
  grove_status status = GROVE_OK;
  int position = 0;
  if (unit->dense)
    memcpy(memory, message, (size_t)unit->bytes);
  else
    GROVE_TRY_MPI(
      MPI_Unpack(message, (int)unit->bytes, &position, memory, 1, unit->type, unit->comm));
fail:
  return status;
}

/* ---- combining ---- */

/* target = target o value, the value packed. MPI_Reduce_local(a, b) sets b = a o b: for an operation
 * that is not commutative the target must be its first argument. */
static grove_status combine_one(const grove_mover *m, void *target, const void *value)
{
  grove_status status = GROVE_OK;
  const grove_unit *unit = &m->unit;
  if (m->combine.way == GROVE_COMBINE_KERNEL) {
    GROVE_TRY(pack_one(unit, target, m->packed));
    m->combine.kernel(m->packed, value, unit->elements);
    GROVE_TRY(unpack_one(unit, m->packed, target));
    return GROVE_OK;
  }
  GROVE_TRY(unpack_one(unit, value, m->native));
  void *in = m->combine.commutative ? m->native : target;
  void *inout = m->combine.commutative ? target : m->native;
  GROVE_TRY_MPI(MPI_Reduce_local(in, inout, 1, unit->type, m->combine.op));
  if (inout == target) return GROVE_OK;
  GROVE_TRY(pack_one(unit, m->native, m->packed));
  GROVE_TRY(unpack_one(unit, m->packed, target));
fail:
  return status;
}

/* Writes or combines one unit. */
static grove_status place_one(const grove_mover *m, void *target, const void *value)
{
  if (m->combine.way == GROVE_COMBINE_REPLACE) return unpack_one(&m->unit, value, target);
  return combine_one(m, target, value);
}

/* ---- slots that share units of the message ---- */

static grove_status pack_shared(const grove_mover *m, const grove_shape *shape, const void *base,
                                int64_t begin, int64_t count, char *message)
{
  (void)m, (void)shape, (void)base, (void)begin, (void)count, (void)message;
  return grove_error(GROVE_ERR_UNSUPPORTED, __FILE__, __LINE__,
                     "not yet"); /* nobody makes one yet */
}

static grove_status unpack_shared(const grove_mover *m, const grove_shape *shape,
                                  const char *message, void *base, int64_t begin, int64_t count)
{
  grove_status status = GROVE_OK;
  for (int64_t u = begin; u < begin + count; u++, message += m->unit.bytes)
    for (int64_t k = grove_index_at(&shape->starts, u); k < grove_index_at(&shape->starts, u + 1);
         k++)
      GROVE_TRY(
        place_one(m, grove_unit_at(&m->unit, base, grove_index_at(&shape->slots, k)), message));
fail:
  return status;
}

/* ---- the two ways ---- */

grove_status grove_pack(const grove_mover *mover, const grove_shape *shape, const void *base,
                        int64_t begin, int64_t count, void *message)
{
  grove_status status = GROVE_OK;
  const grove_unit *unit = &mover->unit;
  char *to = message;
  if (unit->bytes == 0 || count == 0) return GROVE_OK;
  if (shape->starts.count > 0) return pack_shared(mover, shape, base, begin, count, message);
  for (int64_t i = 0, run = 1; i < count; i += run, to += run * unit->bytes) {
    const void *from = grove_unit_at(unit, base, grove_index_at(&shape->slots, begin + i));
    if (unit->dense) {
      run = run_length(&shape->slots, begin + i, count - i);
      memcpy(to, from, (size_t)(run * unit->bytes));
    } else {
      GROVE_TRY(pack_one(unit, from, to));
    }
  }
fail:
  return status;
}

grove_status grove_unpack(const grove_mover *mover, const grove_shape *shape, const void *message,
                          void *base, int64_t begin, int64_t count)
{
  grove_status status = GROVE_OK;
  const grove_unit *unit = &mover->unit;
  const char *from = message;
  if (unit->bytes == 0 || count == 0 || mover->combine.way == GROVE_COMBINE_NOTHING)
    return GROVE_OK;
  if (shape->starts.count > 0) return unpack_shared(mover, shape, message, base, begin, count);
  for (int64_t i = 0, run = 1; i < count; i += run, from += run * unit->bytes) {
    void *to = grove_unit_at(unit, base, grove_index_at(&shape->slots, begin + i));
    run = unit->dense && mover->combine.way != GROVE_COMBINE_MPI
            ? run_length(&shape->slots, begin + i, count - i)
            : 1;
    if (unit->dense && mover->combine.way == GROVE_COMBINE_REPLACE)
      memcpy(to, from, (size_t)(run * unit->bytes));
    else if (unit->dense && mover->combine.way == GROVE_COMBINE_KERNEL)
      mover->combine.kernel(to, from, run * unit->elements);
    else
      GROVE_TRY(place_one(mover, to, from));
  }
fail:
  return status;
}
