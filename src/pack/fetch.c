/* Fetch and op: three ways, from special to general, as in pack.c. Rows of contiguous plain units;
 * lists of them, by a kernel that reads the list; and batches, some of which can be made into such
 * lists. What MPI combines, and what only MPI can move, goes in steps of different slots.
 */
#include "pack/batch.h"

#include <stdlib.h>
#include <string.h>

/* ---- kernels ---- */

/* Units that are replaced are exchanged by the largest words that divide them. */
static const grove_fetch_kernels *exchange_kernels(int64_t bytes, int64_t *elements)
{
  int64_t word = (bytes | 8) & -(bytes | 8);
  *elements = bytes / word;
  return grove_kernels_exchange(word);
}

const grove_fetch_kernels *grove_fetch_kernels_of(const grove_mover *m, int64_t bytes,
                                                  int64_t *elements)
{
  if (m->combine.way == GROVE_COMBINE_REPLACE) return exchange_kernels(bytes, elements);
  *elements = bytes / m->unit.element_bytes;
  return &m->combine.kernels->fetch;
}

/* Kernels know the distance between slots of such units. */
static int is_plain(const grove_mover *m)
{
  int pair = m->unit.kind == GROVE_KIND_PAIR && m->combine.way == GROVE_COMBINE_KERNEL;
  return m->unit.dense || pair;
}

/* ---- rows ---- */

/* Shorter rows of a box are fetched by the list: a call per row costs more. */
static int has_rows(const grove_mover *m, const grove_shape *shape)
{
  enum { LONG = 8 };
  if (!is_plain(m) || shape->form == GROVE_SHAPE_LISTED) return 0;
  return shape->form != GROVE_SHAPE_BOX || (shape->stride[0] == 1 && shape->n[0] >= LONG);
}

/* MPI_Reduce_local(a, b) sets b = a o b. The new values are made in the message, and exchanged with
 * the old ones while both are in the cache. */
static grove_status fetch_row_by_mpi(const grove_mover *m, char *memory, char *message, int64_t n)
{
  int64_t bytes = m->unit.bytes, elements = 0;
  const grove_fetch_kernels *kernels = exchange_kernels(bytes, &elements);
  for (int64_t k = 0, now = 0; k < n; k += now) {
    char *slots = memory + k * bytes, *units = message + k * bytes;
    now = grove_batch_of(n - k);
    GROVE_PASS_MPI(MPI_Reduce_local(slots, units, (int)now, m->unit.type, m->combine.op));
    kernels->flat(slots, units, now * elements);
  }
  return GROVE_OK;
}

static grove_status fetch_row(const grove_mover *m, char *memory, char *message, int64_t n)
{
  int64_t elements = 0;
  if (m->combine.way == GROVE_COMBINE_MPI) return fetch_row_by_mpi(m, memory, message, n);
  grove_fetch_kernels_of(m, m->unit.bytes * n, &elements)->flat(memory, message, elements);
  return GROVE_OK;
}

static grove_status fetch_rows(const grove_mover *m, const grove_shape *shape, char *base,
                               int64_t begin, int64_t count, char *message)
{
  grove_walk walk = grove_walk_begin(shape, begin, count);
  grove_patch p;
  while (grove_walk_next(&walk, &p))
    for (int64_t k = 0; k < p.n[2]; k++)
      for (int64_t j = 0; j < p.n[1]; j++, message += p.n[0] * m->unit.bytes) {
        int64_t slot = p.first + j * p.stride[1] + k * p.stride[2];
        GROVE_PASS(fetch_row(m, grove_unit_at(&m->unit, base, slot), message, p.n[0]));
      }
  return GROVE_OK;
}

/* ---- lists ---- */

/* Returns 0 if the list, or the unit, cannot go this way. */
static int fetch_list(const grove_mover *m, const grove_shape *shape, char *base, int64_t begin,
                      int64_t count, char *message)
{
  int64_t elements = 0;
  if (!shape->slots.narrow || m->combine.way == GROVE_COMBINE_MPI || !is_plain(m)) return 0;
  const grove_fetch_kernels *kernels = grove_fetch_kernels_of(m, m->unit.bytes, &elements);
  kernels->listed(base, shape->slots.narrow + begin, message, count, elements);
  return 1;
}

/* ---- batches ---- */

/* The list as 32-bit distances from its first slot, in steps. Returns 0 if they do not fit. */
static int narrow_list(const grove_index *slots, int64_t begin, int64_t n, int64_t steps,
                       int32_t *near)
{
  uint64_t reach = (uint64_t)(INT32_MAX / steps), first = (uint64_t)grove_index_at(slots, begin);
  uint64_t far = 0;
  for (int64_t k = 0; k < n; k++) {
    uint64_t slot = (uint64_t)(slots->wide ? slots->wide[begin + k] : slots->narrow[begin + k]);
    far |= slot - first + reach > 2 * reach;
    near[k] = (int32_t)((uint32_t)(slot - first) * (uint32_t)steps);
  }
  return !far;
}

/* Slots that the kernel for lists reaches from the first one. It walks in steps of a unit's bytes,
 * so a gap behind a unit must be a multiple of these. Returns 0 if this way does not apply. */
static int fetch_near(const grove_mover *m, const grove_shape *shape, char *base, int64_t begin,
                      int64_t n, char *message)
{
  int32_t near[GROVE_BATCH];
  const grove_unit *u = &m->unit;
  const grove_index *slots = &shape->slots;
  int plain = is_plain(m), spaced = grove_unit_is_whole(u) && u->extent % u->bytes == 0;
  int64_t elements = 0, steps = plain ? 1 : u->extent / u->bytes;
  if (m->combine.way == GROVE_COMBINE_MPI || (!plain && !spaced) || steps <= 0) return 0;
  if ((!slots->wide && !slots->narrow) || !narrow_list(slots, begin, n, steps, near)) return 0;
  base = (char *)grove_unit_at(u, base, grove_index_at(slots, begin)) + u->true_lb;
  grove_fetch_kernels_of(m, u->bytes, &elements)->listed(base, near, message, n, elements);
  return 1;
}

/* The targets come first, for operations that do not commute. */
static grove_status fetch_by_mpi(const grove_mover *m, int64_t n, const grove_places *target,
                                 const grove_places *value)
{
  int64_t at[GROVE_BATCH];
  for (int64_t k = 0; k < n; k++) at[k] = k * m->unit.extent;
  GROVE_PASS(grove_batch_combine_by_mpi(m, n, target, value));
  return grove_batch_copy(m, n, value, &(grove_places){m->targets, at, 1});
}

/* Kernels cannot handle such units in place, so they work on them as in a message. */
static grove_status fetch_opaque(const grove_mover *m, int64_t n, const grove_places *target,
                                 const grove_places *value)
{
  int64_t at[GROVE_BATCH];
  for (int64_t k = 0; k < n; k++) at[k] = k * m->unit.bytes;
  grove_places packed = {m->packed, at, 0};
  GROVE_PASS(grove_opaque_copy(m, n, &packed, target));
  for (int64_t k = 0; k < n; k++)
    m->combine.kernels->fetch.flat(packed.base + at[k], value->base + value->at[k],
                                   m->unit.elements);
  return grove_opaque_copy(m, n, target, &packed);
}

/* Replaces one unit. Only a fetch needs memory for that, so the mover has none. A unit that spans a
 * mebibyte takes longer to move than memory takes to allocate. */
static grove_status replace_opaque(const grove_mover *m, int64_t n, const grove_places *target,
                                   const grove_places *value)
{
  grove_status status = GROVE_OK;
  int64_t at = 0;
  char *old = NULL;
  GROVE_ROOM(old, m->unit.bytes);
  GROVE_TRY(grove_opaque_copy(m, n, &(grove_places){old, &at, 0}, target));
  GROVE_TRY(grove_opaque_copy(m, n, target, value));
  memcpy(value->base + value->at[0], old, (size_t)m->unit.bytes);
fail:
  free(old);
  return status;
}

static grove_status fetch_batch(const grove_mover *m, const grove_shape *shape, char *base,
                                int64_t begin, int64_t n, char *message)
{
  int64_t slots[GROVE_BATCH], places[GROVE_BATCH];
  if (fetch_near(m, shape, base, begin, n, message)) return GROVE_OK;
  grove_batch_slots(m, shape, begin, n, slots);
  for (int64_t k = 0; k < n; k++) places[k] = k * m->unit.bytes;
  grove_places memory = {base, slots, 1}, packed = {message, places, 0};
  if (m->combine.way == GROVE_COMBINE_MPI)
    return grove_batch_in_steps(m, n, &memory, &packed, fetch_by_mpi, m->scratch_units);
  if (m->unit.npieces == 0 && m->combine.way == GROVE_COMBINE_REPLACE)
    return grove_batch_in_steps(m, n, &memory, &packed, replace_opaque, 1);
  if (m->unit.npieces == 0)
    return grove_batch_in_steps(m, n, &memory, &packed, fetch_opaque, m->scratch_units);
  grove_batch_fetch(m, n, &memory, &packed);
  return GROVE_OK;
}

static grove_status fetch_batches(const grove_mover *m, const grove_shape *shape, char *base,
                                  int64_t begin, int64_t count, char *message)
{
  for (int64_t k = 0, n = 0; k < count; k += n) {
    n = grove_batch_of(count - k);
    GROVE_PASS(fetch_batch(m, shape, base, begin + k, n, message + k * m->unit.bytes));
  }
  return GROVE_OK;
}

/* ---- all ---- */

grove_status grove_pack_fetch(const grove_mover *mover, const grove_shape *shape, void *base,
                              int64_t begin, int64_t count, void *message)
{
  if (mover->unit.bytes == 0 || count == 0) return GROVE_OK;
  if (mover->combine.way == GROVE_COMBINE_NOTHING)
    return grove_pack(mover, shape, base, begin, count, message);
  if (has_rows(mover, shape)) return fetch_rows(mover, shape, base, begin, count, message);
  if (fetch_list(mover, shape, base, begin, count, message)) return GROVE_OK;
  return fetch_batches(mover, shape, base, begin, count, message);
}

/* ---- from array to array ---- */

/* Both lists at once. Returns 0 if they, or the unit, cannot go this way. */
static int carry_both(const grove_mover *m, const grove_shape *shape, char *base, int64_t begin,
                      const grove_shape *own, const void *values, void *old)
{
  int64_t elements = 0;
  int kernel = m->combine.way == GROVE_COMBINE_KERNEL || m->combine.way == GROVE_COMBINE_REPLACE;
  if (!shape->slots.narrow || !own->slots.narrow || !m->unit.dense || !kernel) return 0;
  const grove_fetch_kernels *kernels = grove_fetch_kernels_of(m, m->unit.bytes, &elements);
  if (!kernels->carried) return 0;
  kernels->carried(base, shape->slots.narrow + begin, values, own->slots.narrow, old, own->units,
                   elements);
  return 1;
}

grove_status grove_pack_fetch_own(const grove_mover *mover, const grove_shape *shape, void *base,
                                  int64_t begin, const grove_mover *plain, const grove_shape *own,
                                  const void *values, void *old, void *buffer, int64_t room)
{
  if (mover->unit.bytes == 0 || carry_both(mover, shape, base, begin, own, values, old))
    return GROVE_OK;
  for (int64_t at = 0, n = 0; at < own->units; at += n) {
    n = own->units - at < room ? own->units - at : room;
    GROVE_PASS(grove_pack(plain, own, values, at, n, buffer));
    GROVE_PASS(grove_pack_fetch(mover, shape, base, begin + at, n, buffer));
    GROVE_PASS(grove_unpack(plain, own, buffer, old, at, n));
  }
  return GROVE_OK;
}
