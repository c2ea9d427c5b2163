/* One operation on one forest with random data, and the oracle's opinion of the result.
 *
 *     exercise e = {.g = g, .f = f, .me = rank, .u = unit, .r = reduction, .seed = seed};
 *     exercise_open(&e);
 *     exercise_init(&e);
 *     exercise_renew(&e, round);
 *     CHECK_OK(grove_start(e.op)); ... CHECK_OK(grove_wait(e.op));
 *     exercise_check(&e);
 *     exercise_close(&e);
 */
#ifndef TEST_EXERCISE_H
#define TEST_EXERCISE_H

#include "arrays.h"

typedef struct exercise {
  const graph *g;
  grove_forest *f;
  int me;
  const unit *u;
  const reduction *r;
  int reduces; /* else it is a bcast */
  uint64_t seed;
  arrays all;       /* all ranks' arrays, for the oracle */
  array root, leaf; /* this rank's, for Grove */
  grove_op *op;
} exercise;

/* Makes the arrays, filled as for round 0. */
void exercise_open(exercise *e);

/* Other values for every array; the addresses stay. */
void exercise_renew(exercise *e, int64_t round);

/* Grove's calls. A rank without roots (leaves) passes NULL for them in some of the exercises. */
void exercise_init(exercise *e);
void exercise_begin(exercise *e);
void exercise_block(exercise *e);

/* Asserts that the arrays are what the oracle makes of the values before. Once for each renewal. */
void exercise_check(exercise *e);

/* Frees the operation, if there is one, and the arrays. */
void exercise_close(exercise *e);

/* A random unit and one of its operations. */
void exercise_draw(exercise *e, const units *types, rng *r);

#endif
