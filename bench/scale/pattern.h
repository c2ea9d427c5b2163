/* The exchanges at scale: the leaves of this rank and the roots they are joined to.
 *
 *     random:N:B      every rank needs B bytes from each of N others, and N others need B bytes
 *                     from it, different ones each: there is nothing to save but messages
 *     near:N:B        the same among the 4N ranks nearest by number, so that nodes, too, have the
 *                     same number of neighbours however many ranks there are
 *     multigrid:L     level L of a hierarchy on a box of ranks: 6 faces with 32 KiB on the finest
 *                     level 0, up to the 342 next ranks with 32 B on the coarsest level 4
 *     matrix:FILE     the halo of a matrix that is cut into blocks of rows, 8 bytes per value
 */
#ifndef BENCH_SCALE_PATTERN_H
#define BENCH_SCALE_PATTERN_H

#include <grove.h>

typedef struct pattern {
  int64_t nroots, nleaves;
  grove_root *root; /* one per leaf */
  int doubles;      /* per root */
} pattern;

enum { SCALE_LEVELS = 5 };

/* 0 on success; otherwise rank 0 has printed why. Collective. */
int pattern_make(const char *text, MPI_Comm comm, pattern *out);
void pattern_free(pattern *p);

#endif
