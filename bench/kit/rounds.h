/* Entrants against each other. In a round each takes one sample, in a newly drawn order. So none
 * always finds the caches as the same other one left them, and a temporary disturbance affects all
 * of them.
 */
#ifndef BENCH_KIT_ROUNDS_H
#define BENCH_KIT_ROUNDS_H

#include <mpi.h>

typedef struct bench_rounds {
  MPI_Comm comm;
  int entrants, most; /* rounds at most */
  double seconds;     /* no round begins after that, except the first seven; INFINITY: all do */
  void (*sample)(void *about, int entrant, int round);
  void (*begin)(void *about, int round); /* before a round, and once after the last; or NULL */
  void *about;
} bench_rounds;

/* Returns how many rounds there were. Collective. */
int bench_rounds_run(const bench_rounds *r);

#endif
