/* Three ways between memory and message, from special to general: whole boxes of units, by one
 * kernel or memcpy; plain lists of dense units, by a kernel that reads the list; and batches
 * (batch.h), which can do everything.
 */
#include "pack/batch.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* ---- movers ---- */

/* Alignment of everything a user's operation may see; and what each scratch memory has, unless a
 * single unit is larger. */
enum { ALIGNMENT = 64, SCRATCH_BYTES = 1 << 14 };

static int64_t round_up(int64_t bytes)
{
  return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static int64_t how_many(const grove_unit *unit, int64_t bytes)
{
  int64_t n = bytes > 0 ? SCRATCH_BYTES / bytes : GROVE_BATCH;
  if (n > GROVE_BATCH) n = GROVE_BATCH;
  return n > 1 ? grove_unit_abreast(unit, n) : 1;
}

/* Units for MPI_Reduce_local, each as aligned as it would be in an array that is. */
static int64_t native_bytes(const grove_mover *m)
{
  return round_up((m->scratch_units - 1) * llabs(m->unit.extent) + m->unit.true_extent) + ALIGNMENT;
}

/* Where slot 0 is, if the units are to lie in this memory. */
static char *native_origin(const grove_mover *m, char *memory)
{
  const grove_unit *u = &m->unit;
  int64_t before = u->extent < 0 ? (m->scratch_units - 1) * -u->extent : 0;
  int64_t shift = (((u->true_lb - before) % ALIGNMENT) + ALIGNMENT) % ALIGNMENT;
  return memory + shift - u->true_lb + before;
}

static grove_status make_scratch(grove_mover *m)
{
  grove_status status = GROVE_OK;
  const grove_unit *u = &m->unit;
  int by_mpi = m->combine.way == GROVE_COMBINE_MPI, opaque = u->npieces == 0;
  if (!by_mpi && !(opaque && m->combine.way == GROVE_COMBINE_KERNEL)) return GROVE_OK;
  m->scratch_units = how_many(u, by_mpi ? llabs(u->extent) : u->bytes);
  if (by_mpi && opaque) m->scratch_units = 1;
  int64_t native = by_mpi ? native_bytes(m) : 0;
  int64_t packed = opaque ? round_up(m->scratch_units * u->bytes) : 0;
  m->memory = aligned_alloc(ALIGNMENT, (size_t)(2 * native + packed));
  GROVE_CHECK(m->memory, GROVE_ERR_MEMORY, "no memory for a unit that spans %lld bytes",
              (long long)u->true_extent);
  m->targets = native_origin(m, m->memory);
  m->values = native_origin(m, (char *)m->memory + native);
  m->packed = (char *)m->memory + 2 * native;
fail:
  return status;
}

grove_status grove_mover_create(const grove_unit *unit, const grove_combine *combine,
                                grove_mover *out)
{
  grove_status status = GROVE_OK;
  grove_mover m = {.unit = *unit, .combine = *combine, .copy = grove_copy_for(unit->bytes)};
  if (unit->bytes > 0) GROVE_TRY(make_scratch(&m));
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

/* ---- boxes ---- */

/* Do the units of a row touch each other? */
static int rows_are_dense(const grove_mover *m, const grove_patch *p)
{
  return m->unit.dense && (p->stride[0] == 1 || p->n[0] == 1);
}

/* Copies one box from memory to message, or back. */
static void copy_patch(const grove_mover *m, const grove_patch *p, char *memory, char *message,
                       int to_message)
{
  int64_t bytes = m->unit.bytes, extent = m->unit.extent;
  grove_patch q = *p;
  if (rows_are_dense(m, p)) { /* a row is one large unit */
    bytes *= p->n[0];
    q = (grove_patch){p->first, {p->n[1], p->n[2], 1}, {p->stride[1], p->stride[2], 0}};
  }
  memory += m->unit.true_lb + q.first * extent;
  if (grove_patch_count(&q) == 1) {
    memcpy(to_message ? message : memory, to_message ? memory : message, (size_t)bytes);
    return;
  }
  grove_box_copy box = {.to = memory, .from = message};
  for (int64_t d = 0, stride = bytes; d < GROVE_DIMENSIONS; stride *= q.n[d++]) {
    box.n[d] = q.n[d];
    box.to_stride[d] = q.stride[d] * extent;
    box.from_stride[d] = stride;
  }
  if (to_message) {
    grove_box_copy other = {.to = message, .from = memory};
    memcpy(other.n, box.n, sizeof box.n);
    memcpy(other.to_stride, box.from_stride, sizeof box.from_stride);
    memcpy(other.from_stride, box.to_stride, sizeof box.to_stride);
    box = other;
  }
  grove_copy_for(bytes)->box(&box, bytes);
}

/* Rows shorter than this are combined element by element: a call for each costs more. */
enum { LONG_ROW = 8 };

static void combine_rows(const grove_mover *m, const grove_patch *p, char *memory,
                         const char *message)
{
  int64_t extent = m->unit.extent, n = p->n[0] * m->unit.elements;
  for (int64_t k = 0; k < p->n[2]; k++)
    for (int64_t j = 0; j < p->n[1]; j++, message += p->n[0] * m->unit.bytes)
      m->combine.kernels->flat(memory + (p->first + j * p->stride[1] + k * p->stride[2]) * extent,
                               message, n);
}

static void combine_patch(const grove_mover *m, const grove_patch *p, char *memory,
                          const char *message)
{
  int64_t extent = m->unit.extent;
  if (rows_are_dense(m, p) && (p->n[0] >= LONG_ROW || m->unit.elements > 1)) {
    combine_rows(m, p, memory, message);
    return;
  }
  grove_box_combine box = {.target = memory + m->unit.true_lb + p->first * extent,
                           .value = message};
  for (int d = 0; d < GROVE_DIMENSIONS; d++) {
    box.n[d] = p->n[d];
    box.stride[d] = p->stride[d] * extent;
  }
  m->combine.kernels->box(&box);
}

/* A user's operation on dense units that lie in a row in memory as in the message. */
static grove_status reduce_row(const grove_mover *m, const grove_patch *p, char *memory,
                               const char *message)
{
  grove_status status = GROVE_OK;
  char *target = memory + p->first * m->unit.extent;
  for (int64_t k = 0, n = 0; k < p->n[0]; k += n) {
    n = p->n[0] - k < INT_MAX ? p->n[0] - k : INT_MAX;
    GROVE_TRY_MPI(MPI_Reduce_local(message + k * m->unit.bytes, target + k * m->unit.bytes, (int)n,
                                   m->unit.type, m->combine.op));
  }
fail:
  return status;
}

/* Can these units be moved in boxes, in the way that unpack needs? */
static int in_boxes(const grove_mover *m, const grove_shape *shape)
{
  int rows =
    m->unit.dense && (shape->form == GROVE_SHAPE_CONSECUTIVE || shape->form == GROVE_SHAPE_RUNS);
  if (shape->form == GROVE_SHAPE_LISTED) return 0;
  switch (m->combine.way) {
  case GROVE_COMBINE_REPLACE: return grove_unit_is_whole(&m->unit);
  case GROVE_COMBINE_KERNEL:
    return rows || (m->unit.elements == 1 &&
                    (grove_unit_is_whole(&m->unit) || m->unit.kind == GROVE_KIND_PAIR));
  default: return rows && m->combine.commutative;
  }
}

static grove_status unpack_boxes(const grove_mover *m, const grove_shape *shape,
                                 const char *message, char *base, int64_t begin, int64_t count)
{
  grove_status status = GROVE_OK;
  grove_walk walk = grove_walk_begin(shape, begin, count);
  grove_patch patch;
  while (grove_walk_next(&walk, &patch)) {
    if (m->combine.way == GROVE_COMBINE_REPLACE)
      copy_patch(m, &patch, base, (char *)message, 0);
    else if (m->combine.way == GROVE_COMBINE_KERNEL)
      combine_patch(m, &patch, base, message);
    else
      GROVE_TRY(reduce_row(m, &patch, base, message));
    message += grove_patch_count(&patch) * m->unit.bytes;
  }
fail:
  return status;
}

static void pack_boxes(const grove_mover *m, const grove_shape *shape, const char *base,
                       int64_t begin, int64_t count, char *message)
{
  grove_walk walk = grove_walk_begin(shape, begin, count);
  grove_patch patch;
  while (grove_walk_next(&walk, &patch)) {
    copy_patch(m, &patch, (char *)base, message, 1);
    message += grove_patch_count(&patch) * m->unit.bytes;
  }
}

/* ---- batches ---- */

/* Where n units lie from entry `begin` of the list on. */
static void find_slots(const grove_mover *m, const grove_shape *shape, int64_t begin, int64_t n,
                       int64_t *at)
{
  const grove_index *x = &shape->slots;
  int64_t extent = m->unit.extent;
  if (x->narrow)
    for (int64_t k = 0; k < n; k++) at[k] = x->narrow[begin + k] * extent;
  else if (x->wide)
    for (int64_t k = 0; k < n; k++) at[k] = x->wide[begin + k] * extent;
  else
    for (int64_t k = 0; k < n; k++) at[k] = (x->first + begin + k) * extent;
}

static int64_t batch_of(int64_t left)
{
  return left < GROVE_BATCH ? left : GROVE_BATCH;
}

/* Between n units one behind the other in the message and the slots from `begin` on. */
static grove_status move_batch(const grove_mover *m, const grove_shape *shape, char *base,
                               int64_t begin, int64_t n, char *message, int to_message)
{
  int64_t slots[GROVE_BATCH], places[GROVE_BATCH];
  find_slots(m, shape, begin, n, slots);
  for (int64_t k = 0; k < n; k++) places[k] = k * m->unit.bytes;
  grove_side memory = {base, slots, 1}, packed = {message, places, 0};
  return to_message ? grove_batch_copy(m, n, &packed, &memory)
                    : grove_batch_combine(m, n, &memory, &packed);
}

static grove_status move_batches(const grove_mover *m, const grove_shape *shape, char *base,
                                 int64_t begin, int64_t count, char *message, int to_message)
{
  grove_status status = GROVE_OK;
  for (int64_t k = 0, n = 0; k < count; k += n) {
    n = batch_of(count - k);
    GROVE_TRY(move_batch(m, shape, base, begin + k, n, message + k * m->unit.bytes, to_message));
  }
fail:
  return status;
}

/* ---- slots that share units of the message ---- */

/* The units that n entries of the list belong to, from entry `begin` on, which belongs to unit
 * `*unit` or a later one: where they lie in the message, which begins with unit `origin`. */
static void find_units(const grove_mover *m, const grove_shape *shape, int64_t begin, int64_t n,
                       int64_t origin, int64_t *unit, int64_t *at)
{
  for (int64_t k = 0; k < n; k++) {
    while (grove_index_at(&shape->starts, *unit + 1) <= begin + k) ++*unit;
    at[k] = (*unit - origin) * m->unit.bytes;
  }
}

static grove_status unpack_shared(const grove_mover *m, const grove_shape *shape,
                                  const char *message, char *base, int64_t begin, int64_t count)
{
  grove_status status = GROVE_OK;
  int64_t slots[GROVE_BATCH], units[GROVE_BATCH], unit = begin;
  int64_t end = grove_index_at(&shape->starts, begin + count);
  grove_side memory = {base, slots, 1}, packed = {(char *)message, units, 0};
  for (int64_t k = grove_index_at(&shape->starts, begin), n = 0; k < end; k += n) {
    n = batch_of(end - k);
    find_slots(m, shape, k, n, slots);
    find_units(m, shape, k, n, begin, &unit, units);
    GROVE_TRY(grove_batch_combine(m, n, &memory, &packed));
  }
fail:
  return status;
}

/* Every unit gets the value of its first slot; the last one, where the last one wins. */
static grove_status pack_one_of_each(const grove_mover *m, const grove_shape *shape, char *base,
                                     int64_t begin, int64_t count, char *message)
{
  grove_status status = GROVE_OK;
  int64_t slots[GROVE_BATCH], places[GROVE_BATCH];
  int last = m->combine.way == GROVE_COMBINE_REPLACE;
  grove_side memory = {base, slots, 1}, packed = {message, places, 0};
  for (int64_t u = 0, n = 0; u < count; u += n) {
    n = batch_of(count - u);
    for (int64_t k = 0; k < n; k++) {
      int64_t entry = grove_index_at(&shape->starts, begin + u + k + last) - last;
      slots[k] = grove_index_at(&shape->slots, entry) * m->unit.extent;
      places[k] = (u + k) * m->unit.bytes;
    }
    GROVE_TRY(grove_batch_copy(m, n, &packed, &memory));
  }
fail:
  return status;
}

/* And then the others, in their order. */
static grove_status pack_the_others(const grove_mover *m, const grove_shape *shape, char *base,
                                    int64_t begin, int64_t count, char *message)
{
  grove_status status = GROVE_OK;
  int64_t slots[GROVE_BATCH], places[GROVE_BATCH], n = 0;
  grove_side memory = {base, slots, 1}, packed = {message, places, 0};
  for (int64_t u = 0; u < count; u++) {
    int64_t end = grove_index_at(&shape->starts, begin + u + 1);
    for (int64_t k = grove_index_at(&shape->starts, begin + u) + 1; k < end; k++) {
      slots[n] = grove_index_at(&shape->slots, k) * m->unit.extent;
      places[n++] = u * m->unit.bytes;
      if (n < GROVE_BATCH) continue;
      GROVE_TRY(grove_batch_combine(m, n, &packed, &memory));
      n = 0;
    }
  }
  if (n > 0) GROVE_TRY(grove_batch_combine(m, n, &packed, &memory));
fail:
  return status;
}

static grove_status pack_shared(const grove_mover *m, const grove_shape *shape, char *base,
                                int64_t begin, int64_t count, char *message)
{
  grove_status status = GROVE_OK;
  GROVE_TRY(pack_one_of_each(m, shape, base, begin, count, message));
  if (m->combine.way == GROVE_COMBINE_KERNEL || m->combine.way == GROVE_COMBINE_MPI)
    GROVE_TRY(pack_the_others(m, shape, base, begin, count, message));
fail:
  return status;
}

/* ---- the two directions ---- */

static int is_plain_list(const grove_mover *m, const grove_shape *shape)
{
  return m->unit.dense && shape->form == GROVE_SHAPE_LISTED && shape->slots.narrow;
}

grove_status grove_pack(const grove_mover *mover, const grove_shape *shape, const void *base,
                        int64_t begin, int64_t count, void *message)
{
  const grove_unit *unit = &mover->unit;
  if (unit->bytes == 0 || count == 0) return GROVE_OK;
  if (shape->starts.count > 0)
    return pack_shared(mover, shape, (char *)base, begin, count, message);
  if (is_plain_list(mover, shape)) {
    mover->copy->gather(message, base, shape->slots.narrow + begin, count, unit->bytes);
    return GROVE_OK;
  }
  if (grove_unit_is_whole(unit) && shape->form != GROVE_SHAPE_LISTED) {
    pack_boxes(mover, shape, base, begin, count, message);
    return GROVE_OK;
  }
  return move_batches(mover, shape, (char *)base, begin, count, message, 1);
}

grove_status grove_unpack(const grove_mover *mover, const grove_shape *shape, const void *message,
                          void *base, int64_t begin, int64_t count)
{
  const grove_unit *unit = &mover->unit;
  const grove_combine *c = &mover->combine;
  if (unit->bytes == 0 || count == 0 || c->way == GROVE_COMBINE_NOTHING) return GROVE_OK;
  if (shape->starts.count > 0) return unpack_shared(mover, shape, message, base, begin, count);
  if (in_boxes(mover, shape)) return unpack_boxes(mover, shape, message, base, begin, count);
  if (is_plain_list(mover, shape)) {
    const int32_t *slots = shape->slots.narrow + begin;
    if (c->way == GROVE_COMBINE_REPLACE) {
      mover->copy->scatter(base, message, slots, count, unit->bytes);
      return GROVE_OK;
    }
    if (c->way == GROVE_COMBINE_KERNEL && unit->elements == 1) {
      c->kernels->listed(base, slots, message, count);
      return GROVE_OK;
    }
  }
  return move_batches(mover, shape, base, begin, count, (char *)message, 0);
}
