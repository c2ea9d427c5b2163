/* The inputs with which forests from forests are timed: graphs of n roots and n leaves per rank,
 * leaf j in slot j, and the forests of either library made from them. */
#ifndef BENCH_PEERS_COMPARE_LOAD_H
#define BENCH_PEERS_COMPARE_LOAD_H

#include "peers/compare/compare.h"

typedef struct graph {
  grove_root *root;
  PetscSFNode *node; /* the same */
} graph;

/* Leaves on any root of any rank, twice; one leaf on every root, anywhere. */
enum { FIRST, SECOND, SINGLE, GRAPHS, NONE = GRAPHS };

typedef struct load {
  MPI_Comm comm;
  grove_context *ctx;
  int rank, nranks;
  int64_t n;
  graph graph[GRAPHS];
  int64_t nchosen;
  int64_t *chosen;     /* a random half of the roots or leaves, ascending */
  PetscInt *positions; /* the same */
  grove_forest *grove[2];
  PetscSF petsc[2];
} load;

void load_open(MPI_Comm comm, grove_context *ctx, int64_t n, load *out);
void load_close(load *l);

#endif
