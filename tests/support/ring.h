/* A forest whose messages may be as large as one likes, with results that need no oracle: leaf i of
 * a rank is joined to root i of the next rank in the ring. A bcast replaces, a reduce adds.
 *
 * One rank may be left out: it owns nothing, but calls everything.
 */
#ifndef TEST_RING_H
#define TEST_RING_H

#include "places.h"

#include <stdint.h>

typedef struct ring {
  grove_forest *forest;
  int borrowed; /* the forest is another ring's */
  int64_t n;    /* roots, and leaves, on this rank */
  int me, previous, next;
  int reduces;
  int64_t *root, *leaf;
  grove_op *op;
} ring;

/* Numbers of entries: RING_MIDDLE (512 KiB) and RING_LARGE (4 MiB) are never sent eagerly. */
enum { RING_NOBODY = -1, RING_SMALL = 5, RING_MIDDLE = 1 << 16, RING_LARGE = 1 << 19 };

/* At most `n`, and few enough entries that `starts` messages of them have room in shared memory: a
 * rank may free operations on these, and then call MPI but not Grove. Over MPI it is n.
 * Collective. */
int64_t ring_room(const place *p, int64_t n, int starts);

/* Forest and arrays. `n` must be the same on all ranks. Collective. */
ring ring_open(const place *p, int64_t n, int left_out, int reduces);

/* Other arrays for the same forest, to be closed before it. Local. */
ring ring_sibling(const ring *x);

void ring_init(ring *x);
void ring_begin(ring *x);

/* The values before, and the check of those after. */
void ring_fill(ring *x, int round);
void ring_check(const ring *x, int round);

/* Init, a few rounds, free: the forest still works. */
void ring_run(ring *x, int rounds);

/* Frees operation, forest and arrays; do so after the context where an operation was abandoned. */
void ring_close(ring *x);

#endif
