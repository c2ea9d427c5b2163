#include "pack/regular.h"

#include <string.h>

/* ---- runs of dense units ---- */

typedef enum direction { PACK, UNPACK, COMBINE } direction;

static void move_runs(const grove_mover *m, const grove_shape *shape, char *base, int64_t begin,
                      int64_t count, char *message, direction way)
{
  const grove_run *run = grove_shape_run(shape, begin);
  int64_t bytes = m->unit.bytes, end = begin + count;
  for (int64_t at = begin; at < end; at = run->begin) {
    char *memory = base + (run->first + at - run->begin) * bytes;
    run++;
    int64_t n = (run->begin < end ? run->begin : end) - at;
    if (way == PACK)
      memcpy(message, memory, (size_t)(n * bytes));
    else if (way == UNPACK)
      memcpy(memory, message, (size_t)(n * bytes));
    else
      m->combine.kernels->flat(memory, message, n * m->unit.elements);
    message += n * bytes;
  }
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
  const grove_box_copy box = {
    .memory = memory,
    .message = message,
    .n = {q.n[0], q.n[1], q.n[2]},
    .stride = {q.stride[0] * extent, q.stride[1] * extent, q.stride[2] * extent}};
  const grove_copy *copy = grove_copy_for(bytes);
  if (to_message)
    copy->gather_box(&box, bytes);
  else
    copy->scatter_box(&box, bytes);
}

/* Shorter rows are combined unit by unit: a call per row costs more. */
static int is_long(const grove_mover *m, int64_t n)
{
  return n >= 8 || n * m->unit.elements >= 32;
}

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
  if (rows_are_dense(m, p) && (is_long(m, p->n[0]) || m->unit.elements > 1)) {
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

/* Are box kernels better than the list, if there is one? Not with short rows. */
static int combines_in_boxes(const grove_mover *m, const grove_shape *shape)
{
  const grove_unit *u = &m->unit;
  int long_rows = shape->form == GROVE_SHAPE_CONSECUTIVE || is_long(m, shape->n[0]);
  if (u->dense && (shape->form == GROVE_SHAPE_CONSECUTIVE || shape->stride[0] == 1) && long_rows)
    return 1;
  return u->elements == 1 && (u->npieces == 1 || u->kind == GROVE_KIND_PAIR) &&
         (long_rows || !shape->slots.narrow);
}

/* ---- both ---- */

static void move_boxes(const grove_mover *m, const grove_shape *shape, char *base, int64_t begin,
                       int64_t count, char *message, direction way)
{
  grove_walk walk = grove_walk_begin(shape, begin, count);
  grove_patch patch;
  while (grove_walk_next(&walk, &patch)) {
    if (way == COMBINE)
      combine_patch(m, &patch, base, message);
    else
      copy_patch(m, &patch, base, message, way == PACK);
    message += grove_patch_count(&patch) * m->unit.bytes;
  }
}

static int move_regular(const grove_mover *m, const grove_shape *shape, char *base, int64_t begin,
                        int64_t count, char *message, direction way)
{
  if (shape->form == GROVE_SHAPE_LISTED) return 0;
  if (shape->form == GROVE_SHAPE_RUNS && m->unit.dense) {
    move_runs(m, shape, base, begin, count, message, way);
    return 1;
  }
  if (way == COMBINE ? !combines_in_boxes(m, shape) : !grove_unit_is_whole(&m->unit)) return 0;
  move_boxes(m, shape, base, begin, count, message, way);
  return 1;
}

int grove_regular_pack(const grove_mover *m, const grove_shape *shape, const void *base,
                       int64_t begin, int64_t count, void *message)
{
  return move_regular(m, shape, (char *)base, begin, count, message, PACK);
}

int grove_regular_unpack(const grove_mover *m, const grove_shape *shape, const void *message,
                         void *base, int64_t begin, int64_t count)
{
  direction way = m->combine.way == GROVE_COMBINE_REPLACE ? UNPACK : COMBINE;
  if (m->combine.way == GROVE_COMBINE_MPI) return 0;
  return move_regular(m, shape, base, begin, count, (char *)message, way);
}
