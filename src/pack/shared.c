/* Slots that share units of the message. A root that a rank needs several times is sent to it once,
 * and written to several leaves. On the way back the leaves are combined before they are sent.
 */
#include "pack/batch.h"

/* Where the units of n entries of the list lie in a message that begins with unit `first`. */
static void find_units(const grove_mover *m, const grove_shape *shape, int64_t begin, int64_t n,
                       int64_t first, int64_t *at)
{
  const int32_t *owner = shape->owner + begin;
  for (int64_t k = 0; k < n; k++) at[k] = (owner[k] - first) * m->unit.bytes;
}

/* ---- plain units, by kernels that read lists ---- */

/* Returns 0 if the units, or their slots, cannot go this way. */
static int unpack_lists(const grove_mover *m, const grove_shape *shape, const char *message,
                        char *base, int64_t begin, int64_t count)
{
  const grove_unit *u = &m->unit;
  int64_t first = grove_index_at(&shape->starts, begin);
  int64_t n = grove_index_at(&shape->starts, begin + count) - first;
  if (!u->dense || !shape->slots.narrow) return 0;
  const int32_t *slots = shape->slots.narrow + first, *units = shape->owner + first;
  const char *unit_0 = message - begin * u->bytes;
  if (m->combine.way == GROVE_COMBINE_REPLACE)
    m->copy->carry(base, slots, unit_0, units, n, u->bytes);
  else if (m->combine.way == GROVE_COMBINE_KERNEL && m->combine.kernels->carried)
    m->combine.kernels->carried(base, slots, unit_0, units, n, u->elements);
  else
    return 0;
  return 1;
}

/* How many entries before unit u are not the first of their unit. */
static int64_t others_before(const grove_shape *shape, int64_t u)
{
  return grove_index_at(&shape->starts, u) - u;
}

static int pack_lists(const grove_mover *m, const grove_shape *shape, const char *base,
                      int64_t begin, int64_t count, char *message)
{
  const grove_unit *u = &m->unit;
  const grove_kernels *kernels = m->combine.kernels;
  if (!u->dense || !shape->firsts || m->combine.way != GROVE_COMBINE_KERNEL || !kernels->carried)
    return 0;
  int64_t from = others_before(shape, begin), to = others_before(shape, begin + count);
  m->copy->gather(message, base, shape->firsts + begin, count, u->bytes);
  kernels->carried(message - begin * u->bytes, shape->other_units + from, base,
                   shape->others + from, to - from, u->elements);
  return 1;
}

/* ---- all others, in batches ---- */

grove_status grove_shared_unpack(const grove_mover *m, const grove_shape *shape,
                                 const void *message, void *base, int64_t begin, int64_t count)
{
  int64_t slots[GROVE_BATCH], units[GROVE_BATCH];
  int64_t end = grove_index_at(&shape->starts, begin + count);
  grove_places memory = {base, slots, 1}, packed = {(char *)message, units, 0};
  if (unpack_lists(m, shape, message, base, begin, count)) return GROVE_OK;
  for (int64_t k = grove_index_at(&shape->starts, begin), n = 0; k < end; k += n) {
    n = grove_batch_of(end - k);
    grove_batch_slots(m, shape, k, n, slots);
    find_units(m, shape, k, n, begin, units);
    GROVE_PASS(grove_batch_combine(m, n, &memory, &packed));
  }
  return GROVE_OK;
}

/* Every unit gets the value of its first slot, or of its last where the last one wins. */
static grove_status pack_one_of_each(const grove_mover *m, const grove_shape *shape, char *base,
                                     int64_t begin, int64_t count, char *message)
{
  int64_t slots[GROVE_BATCH], places[GROVE_BATCH];
  int last = m->combine.way == GROVE_COMBINE_REPLACE;
  grove_places memory = {base, slots, 1}, packed = {message, places, 0};
  for (int64_t u = 0, n = 0; u < count; u += n) {
    n = grove_batch_of(count - u);
    for (int64_t k = 0; k < n; k++) {
      int64_t entry = grove_index_at(&shape->starts, begin + u + k + last) - last;
      slots[k] = grove_index_at(&shape->slots, entry) * m->unit.extent;
      places[k] = (u + k) * m->unit.bytes;
    }
    GROVE_PASS(grove_batch_copy(m, n, &packed, &memory));
  }
  return GROVE_OK;
}

/* Drops the entries that are the first of their unit; returns how many are left. */
static int64_t drop_first(const int32_t *owner, int64_t begin, int64_t n, int64_t *slots,
                          int64_t *units)
{
  int64_t left = 0;
  for (int64_t k = 0; k < n; k++) {
    slots[left] = slots[k];
    units[left] = units[k];
    left += begin + k > 0 && owner[begin + k] == owner[begin + k - 1];
  }
  return left;
}

/* Then the other entries, in their order. */
static grove_status pack_the_others(const grove_mover *m, const grove_shape *shape, char *base,
                                    int64_t begin, int64_t count, char *message)
{
  int64_t slots[GROVE_BATCH], units[GROVE_BATCH];
  int64_t end = grove_index_at(&shape->starts, begin + count);
  grove_places memory = {base, slots, 1}, packed = {message, units, 0};
  for (int64_t k = grove_index_at(&shape->starts, begin), n = 0; k < end; k += n) {
    n = grove_batch_of(end - k);
    grove_batch_slots(m, shape, k, n, slots);
    find_units(m, shape, k, n, begin, units);
    int64_t left = drop_first(shape->owner, k, n, slots, units);
    if (left > 0) GROVE_PASS(grove_batch_combine(m, left, &packed, &memory));
  }
  return GROVE_OK;
}

grove_status grove_shared_pack(const grove_mover *m, const grove_shape *shape, const void *base,
                               int64_t begin, int64_t count, void *message)
{
  if (pack_lists(m, shape, base, begin, count, message)) return GROVE_OK;
  GROVE_PASS(pack_one_of_each(m, shape, (char *)base, begin, count, message));
  if (m->combine.way == GROVE_COMBINE_KERNEL || m->combine.way == GROVE_COMBINE_MPI)
    GROVE_PASS(pack_the_others(m, shape, (char *)base, begin, count, message));
  return GROVE_OK;
}
