#include "boxes.h"

block box_block(const box *b, int rank)
{
  block out = {.cells = 1};
  for (int d = b->dims - 1; d >= 0; d--) {
    int c = rank % b->procs[d];
    out.first[d] = c * b->size[d] / b->procs[d];
    out.count[d] = (c + 1) * b->size[d] / b->procs[d] - out.first[d];
    out.extent[d] = out.count[d] + 2 * b->width[d];
    out.cells *= out.extent[d];
    if (out.count[d] == 0) out.is_empty = 1;
    rank /= b->procs[d];
  }
  return out;
}

int box_cell(const box *b, const block *at, int64_t slot, int64_t *cell, int *outside)
{
  int is_there = 1;
  *outside = 0;
  for (int d = b->dims - 1; d >= 0; d--) {
    int64_t k = slot % at->extent[d] - b->width[d];
    slot /= at->extent[d];
    *outside += k < 0 || k >= at->count[d];
    cell[d] = at->first[d] + k;
    while (b->periodic[d] && b->size[d] > 0 && cell[d] < 0) cell[d] += b->size[d];
    while (b->periodic[d] && b->size[d] > 0 && cell[d] >= b->size[d]) cell[d] -= b->size[d];
    if (cell[d] < 0 || cell[d] >= b->size[d]) is_there = 0;
  }
  return is_there;
}

/* The owner of a cell: every rank is asked. */
static grove_root find_cell(const box *b, int nranks, const int64_t *cell)
{
  for (int i = 0; i < nranks; i++) {
    block there = box_block(b, i);
    int64_t index = 0;
    int has = 1;
    for (int d = 0; d < b->dims; d++) {
      int64_t k = cell[d] - there.first[d];
      has = has && k >= 0 && k < there.count[d];
      index = index * there.extent[d] + b->width[d] + k;
    }
    if (has) return (grove_root){i, index};
  }
  return (grove_root){SKETCH_DOT, 0};
}

sketch *serial_box(const box *b, int nranks)
{
  sketch *s = sketch_create(nranks);
  for (int i = 0; i < nranks; i++) {
    block own = box_block(b, i);
    s->part[i].nroots = own.cells;
    for (int64_t slot = 0; slot < own.cells && !own.is_empty; slot++) {
      int64_t cell[BOX_DIMS];
      int outside;
      if (!box_cell(b, &own, slot, cell, &outside)) continue;
      if (outside == 1 || (outside > 1 && b->corners))
        sketch_join(s, i, slot, find_cell(b, nranks, cell));
    }
  }
  return s;
}
