/* A graph as libraries of vectors see it: roots have global numbers, and a rank's ghosts are the
 * distinct numbers on other ranks that it needs, ascending. What that cannot say, leaves on roots
 * of the same rank and several leaves on one root, is left to loops around the exchange.
 */
#ifndef BENCH_PEERS_GHOSTS_H
#define BENCH_PEERS_GHOSTS_H

#include "driver/case.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bench_ghosts {
  int64_t first, total; /* the first root of this rank, and the roots of all */
  int nghosts;
  int64_t *global; /* their numbers */
  int plain;       /* ghost i is leaf slot i, and there is nothing else: no loops */
  int nouter;      /* leaves on other ranks' roots: slot outer_slot[i] is ghost outer_ghost[i] */
  int32_t *outer_slot, *outer_ghost;
  int ninner; /* leaves on this rank's roots */
  int32_t *inner_slot, *inner_root;
  double *values; /* room for a value of each ghost */
} bench_ghosts;

/* Of exchange 0. Found out once for a case and kept: a user of these libraries has it, so it
 * counts for no measure. Collective for a case that is new. */
const bench_ghosts *bench_ghosts_of(const bench_case *c);

/* Where the library is to put, or to find, the ghosts' values. */
double *bench_ghost_values(const bench_ghosts *g, double *leaf);

/* After a bcast: ghosts and own roots to leaves. Nothing to do if plain. */
void bench_ghosts_to_leaves(const bench_ghosts *g, const double *root, double *leaf);

/* Before a reduction: leaves are summed into ghosts and own roots. Nothing to do if plain. */
void bench_leaves_to_ghosts(const bench_ghosts *g, const double *leaf, double *root);

/* Doubles, and a pattern of one exchange. */
int bench_ghosts_support(const bench_spec *spec);

#ifdef __cplusplus
}
#endif

#endif
