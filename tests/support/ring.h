/* A forest whose messages may be as large as one likes, with results that need no oracle: leaf i of
 * a rank is joined to root i of the next rank in the ring. A bcast replaces, reduce and fetch add;
 * a root has one leaf, so that there are as many multiroots as roots.
 *
 * One rank may be left out: it owns nothing, but calls everything.
 */
#ifndef TEST_RING_H
#define TEST_RING_H

#include "calls.h"
#include "places.h"

#include <stdint.h>

typedef struct ring {
  grove_forest *forest;
  int borrowed; /* the forest is another ring's */
  int64_t n;    /* roots, and leaves, on this rank */
  int me, previous, next;
  op_kind kind;
  int64_t *root, *leaf, *update; /* update: of a fetch, else NULL */
  grove_op *op;
} ring;

/* Numbers of entries: RING_MIDDLE (512 KiB) and RING_LARGE (4 MiB) are never sent eagerly. */
enum { RING_NOBODY = -1, RING_SMALL = 5, RING_MIDDLE = 1 << 16, RING_LARGE = 1 << 19 };

/* At most `n`, and few enough entries that `starts` messages of them have room in shared memory: a
 * rank may free operations on these, and then call MPI but not Grove. Over MPI it is n.
 * Collective. */
int64_t ring_room(const place *p, int64_t n, int starts);

/* Forest and arrays. `n` must be the same on all ranks. Collective. */
ring ring_open(const place *p, int64_t n, int left_out, op_kind k);

/* Other arrays for the same forest, to be closed before it. Local. */
ring ring_sibling(const ring *x);

op_call ring_call(const ring *x);
void ring_init(ring *x);
void ring_begin(ring *x);

/* The values before, and the check of those after. */
void ring_fill(ring *x, int round);
void ring_check(const ring *x, int round);

/* A copy of the arrays, and the assertion that they are still the same. Frees the copy. */
int64_t *ring_snapshot(const ring *x);
void ring_check_unchanged(const ring *x, int64_t *then);

/* Init, a few rounds, free: the forest still works. */
void ring_run(ring *x, int rounds);

/* Frees operation, forest and arrays; do so after the context where an operation was abandoned. */
void ring_close(ring *x);

#endif
