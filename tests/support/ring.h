/* A forest with messages of any size and results that need no oracle: leaf i of a rank is joined to
 * root i of the next rank in the ring. A bcast replaces, reduce and fetch add. A root has one leaf,
 * so there are as many multiroots as roots.
 *
 * One rank may be left out: it owns nothing, but makes all calls.
 */
#ifndef TEST_RING_H
#define TEST_RING_H

#include "calls.h"
#include "places.h"

#include <stdint.h>

typedef struct ring {
  grove_forest *forest;
  int borrowed; /* the forest belongs to another ring */
  int64_t n;    /* roots, and leaves, on this rank */
  int me, previous, next;
  op_kind kind;
  int64_t *root, *leaf, *update; /* update: for a fetch, else NULL */
  grove_op *op;
} ring;

/* Numbers of entries: RING_MIDDLE (512 KiB) and RING_LARGE (4 MiB) are never sent eagerly. */
enum { RING_NOBODY = -1, RING_SMALL = 5, RING_MIDDLE = 1 << 16, RING_LARGE = 1 << 19 };

/* At most `n`, and few enough entries that `starts` messages of them fit into shared memory: a rank
 * may free operations on these, and then call MPI but not Grove. Over MPI it is n. Collective. */
int64_t ring_room(const place *p, int64_t n, int starts);

/* Forest and arrays. `n` must be the same on all ranks. Collective. */
ring ring_open(const place *p, int64_t n, int left_out, op_kind k);

/* Other arrays for the same forest, to be closed before it. Local. */
ring ring_sibling(const ring *x);

op_call ring_call(const ring *x);
void ring_init(ring *x);
void ring_begin(ring *x);

/* Sets the values before, and checks those after. */
void ring_fill(ring *x, int round);
void ring_check(const ring *x, int round);

/* Copies the arrays; asserts that they are unchanged, and frees the copy. */
int64_t *ring_snapshot(const ring *x);
void ring_check_unchanged(const ring *x, int64_t *then);

/* Init, a few rounds, free: the forest still works. */
void ring_run(ring *x, int rounds);

/* Frees operation, forest and arrays. Call it after the context is freed if an operation was
 * abandoned. */
void ring_close(ring *x);

#endif
