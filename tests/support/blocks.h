/* Every rank has a block of values for every rank, itself included. What it marks for rank b, and
 * what it is told of rank b, are numbers b * width to (b + 1) * width - 1, in all kinds of
 * operations but a fetch. Results need no oracle. */
#ifndef TEST_BLOCKS_H
#define TEST_BLOCKS_H

#include "calls.h"
#include "places.h"

enum { BLOCKS_NOTHING = -7 }; /* stands where there is no value yet */

typedef struct blocks {
  const place *p;
  op_kind kind;
  int64_t width;
  int borrowed; /* the forest belongs to another one */
  grove_forest *f;
  int64_t *out, *in;
  int round;
  grove_op *op;
} blocks;

/* Opens forest and arrays, or a sibling on the same forest, to be closed before it. The first is
 * collective. */
blocks blocks_open(const place *p, op_kind k, int64_t width);
blocks blocks_sibling(const blocks *b);
void blocks_init(blocks *b); /* Collective */

/* Clears the next round: nothing to send, nothing received. */
void blocks_renew(blocks *b);

/* Writes the first `count` values of the block for a rank; or all values of all blocks. */
void blocks_put(blocks *b, int peer, int64_t count);
void blocks_put_all(blocks *b);

/* The same, and marks them; and a run of them. */
void blocks_mark(blocks *b, int peer, int64_t count);
void blocks_mark_run(blocks *b, int peer, int64_t first, int64_t count);

/* Asserts that the block of one rank, or all blocks, have arrived. */
void blocks_check_from(const blocks *b, int peer);
void blocks_check(const blocks *b);

/* A few rounds by parts, with their own operation. */
void blocks_run(blocks *b, int rounds);

/* Frees the operation, and forest and arrays. */
void blocks_close(blocks *b);

#endif
