/* A unit and an operation, with the kernels that suit both. */
#include "pack/batch.h"

#include <stdlib.h>

/* Alignment of all that a user's operation may see; and the size of each scratch memory, unless a
 * single unit is larger. */
enum { ALIGNMENT = 64, SCRATCH_BYTES = 1 << 14 };

static int64_t how_many(const grove_unit *unit, int64_t bytes)
{
  int64_t n = bytes > 0 ? SCRATCH_BYTES / bytes : GROVE_BATCH;
  if (n > GROVE_BATCH) n = GROVE_BATCH;
  return n > 1 ? grove_unit_abreast(unit, n) : 1;
}

/* Memory for units of MPI_Reduce_local, each aligned as in an aligned array. */
static int64_t native_bytes(const grove_mover *m)
{
  return grove_round_up((m->scratch_units - 1) * llabs(m->unit.extent) + m->unit.true_extent,
                        ALIGNMENT) +
         ALIGNMENT;
}

/* The address of slot 0 for units in this memory. */
static char *native_origin(const grove_mover *m, char *memory)
{
  const grove_unit *u = &m->unit;
  int64_t before = u->extent < 0 ? (m->scratch_units - 1) * -u->extent : 0;
  int64_t shift = (((u->true_lb - before) % ALIGNMENT) + ALIGNMENT) % ALIGNMENT;
  return memory + shift - u->true_lb + before;
}

static grove_status make_scratch(grove_mover *m)
{
  const grove_unit *u = &m->unit;
  int by_mpi = m->combine.way == GROVE_COMBINE_MPI, opaque = u->npieces == 0;
  if (!by_mpi && !(opaque && m->combine.way == GROVE_COMBINE_KERNEL)) return GROVE_OK;
  m->scratch_units = how_many(u, by_mpi ? llabs(u->extent) : u->bytes);
  if (by_mpi && opaque) m->scratch_units = 1;
  int64_t native = by_mpi ? native_bytes(m) : 0;
  int64_t packed = opaque ? grove_round_up(m->scratch_units * u->bytes, ALIGNMENT) : 0;
  m->memory = aligned_alloc(ALIGNMENT, (size_t)(2 * native + packed));
  GROVE_PASS_CHECK(m->memory, GROVE_ERR_MEMORY, "no memory for a unit that spans %lld bytes",
                   (long long)u->true_extent);
  m->targets = native_origin(m, m->memory);
  m->values = native_origin(m, (char *)m->memory + native);
  m->packed = (char *)m->memory + 2 * native;
  return GROVE_OK;
}

grove_status grove_mover_create(const grove_unit *unit, const grove_combine *combine,
                                grove_mover *out)
{
  grove_mover m = {.unit = *unit, .combine = *combine, .copy = grove_copy_for(unit->bytes)};
  if (unit->bytes > 0) GROVE_PASS(make_scratch(&m));
  *out = m;
  return GROVE_OK;
}

void grove_mover_forget_type(grove_mover *mover)
{
  if (mover->combine.way != GROVE_COMBINE_MPI) grove_unit_forget_type(&mover->unit);
}

void grove_mover_free(grove_mover *mover)
{
  grove_unit_free(&mover->unit);
  free(mover->memory);
  *mover = (grove_mover){0};
}
