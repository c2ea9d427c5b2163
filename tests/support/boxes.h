/* What grove_forest_box means, computed serially: a box of cells, cut into blocks with frames. */
#ifndef TEST_BOXES_H
#define TEST_BOXES_H

#include "sketch.h"

enum { BOX_DIMS = 8 };

typedef struct box {
  int dims, corners;
  int64_t size[BOX_DIMS];
  int procs[BOX_DIMS]; /* no zeros */
  int periodic[BOX_DIMS], width[BOX_DIMS];
} box;

/* A rank's block: where it begins, how many cells it has, and with the frame. */
typedef struct block {
  int64_t first[BOX_DIMS], count[BOX_DIMS], extent[BOX_DIMS];
  int64_t cells; /* with the frame */
  int is_empty;
} block;

block box_block(const box *b, int rank);

/* The cell of the box at a place of a block's array, wrapped round; false: there is none.
 * `outside`: in how many dimensions the place lies outside the block. */
int box_cell(const box *b, const block *at, int64_t slot, int64_t *cell, int *outside);

sketch *serial_box(const box *b, int nranks);

#endif
