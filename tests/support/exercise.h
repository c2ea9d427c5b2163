/* One operation on one forest with random data, and the oracle's check of the result.
 *
 *     exercise e = {.g = g, .f = f, .me = rank, .kind = KIND_REDUCE, .u = unit, .r = reduction};
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
#include "calls.h"
#include "random.h"

typedef struct exercise {
  const graph *g;
  grove_forest *f;
  int me;
  op_kind kind;
  int in_place; /* a fetch whose updates overwrite the leaves */
  int rough;    /* floating-point values whose sums depend on their order */
  const unit *u;
  const reduction *r;
  uint64_t seed;
  arrays all;               /* all ranks' arrays, for the oracle */
  array root, leaf, update; /* this rank's, for Grove */
  void *apart[3];           /* ... or where they lie on a device (apart.h) */
  grove_op *op;
} exercise;

/* A random unit that suits the graph, and one of its operations; of this kind, or of any. */
void exercise_draw_of(exercise *e, op_kind k, const units *types, rng *r);
void exercise_draw(exercise *e, const units *types, rng *r);

/* This kind, with a unit and one of its operations by their names. */
void exercise_choose(exercise *e, op_kind k, const units *types, const char *unit_name,
                     const char *operation, rng *r);

/* This kind, this unit, its reduction number j. 0 if the unit does not suit the graph, or if a kind
 * without reductions has already been tried with another j. */
int exercise_set(exercise *e, op_kind k, const unit *u, int j);

/* Makes the arrays, filled for round 0. */
void exercise_open(exercise *e);

/* New values for every array; the addresses stay. */
void exercise_renew(exercise *e, int64_t round);

/* The arguments of Grove's calls, and the calls. In some exercises a rank without roots (leaves)
 * passes NULL for them. */
op_call exercise_call(const exercise *e);
void exercise_init(exercise *e);
void exercise_begin(exercise *e);
void exercise_block(exercise *e);

/* Asserts that the arrays are what the oracle makes of the previous values. Once per renewal. */
void exercise_check(exercise *e);

/* Its two halves: after the first `all` is the expected result. */
void exercise_solve(exercise *e);
void exercise_compare(exercise *e);

/* Its description for failures: "reduce of MPI_INT with SUM on 'ring', 4 ranks:". */
const char *exercise_name(const exercise *e, char text[160]);

/* Frees the operation, if there is one, and the arrays. */
void exercise_close(exercise *e);

/* All of the above, a few rounds in this form; each rank completes them in its own way. One shots
 * have new arrays every time, and the old ones are kept until the end. */
void exercise_run(exercise e, op_form how, rng *mine);

#endif
