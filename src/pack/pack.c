/* Three ways between memory and message, from special to general: regular shapes of plain units in
 * large steps (regular.h); lists of plain units, by a kernel that reads the list; and batches
 * (batch.h), which can do everything.
 */
#include "pack/batch.h"
#include "pack/regular.h"

#include <limits.h>

int grove_pack_is_trivial(const grove_unit *unit, const grove_shape *shape)
{
  return unit->dense && shape->form == GROVE_SHAPE_CONSECUTIVE && shape->starts.count == 0;
}

/* ---- batches ---- */

/* Between n contiguous units of the message and the slots from `begin` on. */
static grove_status move_batch(const grove_mover *m, const grove_shape *shape, char *base,
                               int64_t begin, int64_t n, char *message, int to_message)
{
  int64_t slots[GROVE_BATCH], places[GROVE_BATCH];
  grove_batch_slots(m, shape, begin, n, slots);
  for (int64_t k = 0; k < n; k++) places[k] = k * m->unit.bytes;
  grove_places memory = {base, slots, 1}, packed = {message, places, 0};
  return to_message ? grove_batch_copy(m, n, &packed, &memory)
                    : grove_batch_combine(m, n, &memory, &packed);
}

static grove_status move_batches(const grove_mover *m, const grove_shape *shape, char *base,
                                 int64_t begin, int64_t count, char *message, int to_message)
{
  for (int64_t k = 0, n = 0; k < count; k += n) {
    n = grove_batch_of(count - k);
    GROVE_PASS(move_batch(m, shape, base, begin + k, n, message + k * m->unit.bytes, to_message));
  }
  return GROVE_OK;
}

/* ---- lists ---- */

/* Returns 0 if the list, or the unit, cannot go this way. */
static int pack_list(const grove_mover *m, const grove_shape *shape, const char *base,
                     int64_t begin, int64_t count, void *message)
{
  const grove_unit *u = &m->unit;
  if (!shape->slots.narrow || !grove_unit_is_whole(u)) return 0;
  const int32_t *slots = shape->slots.narrow + begin;
  if (u->dense)
    m->copy->gather(message, base, slots, count, u->bytes);
  else
    m->copy->gather_apart(message, base + u->true_lb, slots, count, u->bytes, u->extent);
  return 1;
}

static int unpack_list(const grove_mover *m, const grove_shape *shape, const void *message,
                       char *base, int64_t begin, int64_t count)
{
  const grove_unit *u = &m->unit;
  if (!shape->slots.narrow) return 0;
  const int32_t *slots = shape->slots.narrow + begin;
  if (m->combine.way == GROVE_COMBINE_REPLACE && u->dense)
    m->copy->scatter(base, message, slots, count, u->bytes);
  else if (m->combine.way == GROVE_COMBINE_REPLACE && grove_unit_is_whole(u))
    m->copy->scatter_apart(base + u->true_lb, message, slots, count, u->bytes, u->extent);
  else if (m->combine.way == GROVE_COMBINE_KERNEL && (u->dense || u->kind == GROVE_KIND_PAIR))
    m->combine.kernels->listed(base, slots, message, count, u->elements);
  else
    return 0;
  return 1;
}

/* ---- users' operations on consecutive slots ---- */

static int in_place(const grove_mover *m, const grove_shape *shape)
{
  return m->combine.way == GROVE_COMBINE_MPI && m->combine.commutative && m->unit.dense &&
         (shape->form == GROVE_SHAPE_CONSECUTIVE || shape->form == GROVE_SHAPE_RUNS);
}

/* MPI_Reduce_local(a, b) sets b = a o b, which equals b o a here. */
static grove_status reduce_in_place(const grove_mover *m, const grove_shape *shape,
                                    const char *message, char *base, int64_t begin, int64_t count)
{
  grove_walk walk = grove_walk_begin(shape, begin, count);
  grove_patch p;
  while (grove_walk_next(&walk, &p))
    for (int64_t n = 0; p.n[0] > 0; p.first += n, p.n[0] -= n, message += n * m->unit.bytes) {
      n = p.n[0] < INT_MAX ? p.n[0] : INT_MAX;
      GROVE_PASS_MPI(MPI_Reduce_local(message, grove_unit_at(&m->unit, base, p.first), (int)n,
                                      m->unit.type, m->combine.op));
    }
  return GROVE_OK;
}

/* ---- the two directions ---- */

grove_status grove_pack(const grove_mover *mover, const grove_shape *shape, const void *base,
                        int64_t begin, int64_t count, void *message)
{
  if (mover->unit.bytes == 0 || count == 0) return GROVE_OK;
  if (shape->starts.count > 0) return grove_shared_pack(mover, shape, base, begin, count, message);
  if (grove_regular_pack(mover, shape, base, begin, count, message) ||
      pack_list(mover, shape, base, begin, count, message))
    return GROVE_OK;
  return move_batches(mover, shape, (char *)base, begin, count, message, 1);
}

grove_status grove_unpack(const grove_mover *mover, const grove_shape *shape, const void *message,
                          void *base, int64_t begin, int64_t count)
{
  if (mover->unit.bytes == 0 || count == 0 || mover->combine.way == GROVE_COMBINE_NOTHING)
    return GROVE_OK;
  if (shape->starts.count > 0)
    return grove_shared_unpack(mover, shape, message, base, begin, count);
  if (grove_regular_unpack(mover, shape, message, base, begin, count) ||
      unpack_list(mover, shape, message, base, begin, count))
    return GROVE_OK;
  if (in_place(mover, shape)) return reduce_in_place(mover, shape, message, base, begin, count);
  return move_batches(mover, shape, base, begin, count, (char *)message, 0);
}

/* ---- from array to array ---- */

/* Both lists at once. Returns 0 if they, or the unit, cannot go this way. */
static int move_lists(const grove_mover *m, const grove_shape *from_shape, const void *from,
                      const grove_shape *to_shape, void *to)
{
  const int32_t *source = from_shape->slots.narrow, *target = to_shape->slots.narrow;
  const grove_unit *u = &m->unit;
  if (!source || !target || !u->dense || from_shape->form != GROVE_SHAPE_LISTED ||
      to_shape->form != GROVE_SHAPE_LISTED)
    return 0;
  if (m->combine.way == GROVE_COMBINE_REPLACE)
    m->copy->carry(to, target, from, source, from_shape->units, u->bytes);
  else if (m->combine.way == GROVE_COMBINE_KERNEL && m->combine.kernels->carried)
    m->combine.kernels->carried(to, target, from, source, from_shape->units, u->elements);
  else
    return 0;
  return 1;
}

grove_status grove_move(const grove_mover *mover, const grove_shape *from_shape, const void *from,
                        const grove_shape *to_shape, void *to, void *buffer, int64_t room)
{
  const grove_unit *unit = &mover->unit;
  int64_t units = from_shape->units;
  if (unit->bytes == 0 || units == 0 || move_lists(mover, from_shape, from, to_shape, to))
    return GROVE_OK;
  if (grove_pack_is_trivial(unit, from_shape)) /* the array is the message */
    return grove_unpack(mover, to_shape, grove_unit_at(unit, from, from_shape->slots.first), to, 0,
                        units);
  if (grove_pack_is_trivial(unit, to_shape) && mover->combine.way == GROVE_COMBINE_REPLACE)
    return grove_pack(mover, from_shape, from, 0, units,
                      grove_unit_at(unit, to, to_shape->slots.first));
  for (int64_t at = 0, n = 0; at < units; at += n) {
    n = units - at < room ? units - at : room;
    GROVE_PASS(grove_pack(mover, from_shape, from, at, n, buffer));
    GROVE_PASS(grove_unpack(mover, to_shape, buffer, to, at, n));
  }
  return GROVE_OK;
}
