/* A graph as vector libraries see it: roots have global numbers, and a rank's ghosts are the
 * distinct numbers on other ranks that it needs, ascending. Loops around the exchange handle what
 * that cannot express: leaves on roots of the same rank, and several leaves on one root.
 */
#ifndef BENCH_PEERS_GHOSTS_H
#define BENCH_PEERS_GHOSTS_H

#include "driver/case.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bench_ghosts {
  int64_t first, total; /* the first root of this rank, and the number of all roots */
  int nghosts;
  int64_t *global; /* their numbers */
  int plain;       /* ghost i is leaf slot i, and there are no other leaves: no loops */
  int nouter;      /* leaves on other ranks' roots: slot outer_slot[i] is ghost outer_ghost[i] */
  int32_t *outer_slot, *outer_ghost;
  int ninner; /* leaves on this rank's roots */
  int32_t *inner_slot, *inner_root;
  double *values; /* one per ghost */
} bench_ghosts;

/* For exchange 0. Computed once per case and kept. A user of these libraries has it already, so no
 * measure counts it. Collective for a new case. */
const bench_ghosts *bench_ghosts_of(const bench_case *c);

/* Where the library puts, or finds, the ghosts' values. */
double *bench_ghost_values(const bench_ghosts *g, double *leaf);

/* After a bcast: ghosts and own roots to leaves. Nothing to do if plain. */
void bench_ghosts_to_leaves(const bench_ghosts *g, const double *root, double *leaf);

/* Before a reduction: leaves are summed into ghosts and own roots. Nothing to do if plain. */
void bench_leaves_to_ghosts(const bench_ghosts *g, const double *leaf, double *root);

/* Doubles, and a pattern with one exchange. */
int bench_ghosts_support(const bench_spec *spec);

#ifdef __cplusplus
}
#endif

#endif
