/* Grove beside PETSc's star forest: the same graphs in both, and a comparison of everything that
 * both can do.
 *
 * A *trial* draws random graphs from the seed of the run and its own number. A *twin* is one graph,
 * built in both libraries from the same arrays. Results are compared bit for bit. Where PETSc
 * leaves the order of a root's leaves open (fetch, gather, reduce with MPI_REPLACE), what a root
 * gets is compared without its order. Differences by design are in docs/petsc-differences.md, and
 * are not drawn here.
 */
#ifndef BENCH_PEERS_COMPARE_H
#define BENCH_PEERS_COMPARE_H

#include "kit/need.h"
#include "kit/random.h"
#include "kit/types.h"

#include "grove.h"
#include <petscsf.h>

typedef struct trial {
  MPI_Comm comm;
  int rank, nranks;
  grove_context *ctx;
  uint64_t seed;
  int number;
  uint64_t common, own; /* states of random numbers: the same on all ranks, and this rank's */
  int sabotage;         /* break Grove's results, to see that it is noticed */
  int64_t nforests, ncompared, nwrong; /* drawn; arrays and graphs compared, on this rank */
} trial;

/* 0 <= result < n. All ranks draw from `common` at the same places. */
static inline int64_t draw_common(trial *t, int64_t n)
{
  return (int64_t)(bench_random(&t->common) % (uint64_t)n);
}

static inline int64_t draw_own(trial *t, int64_t n)
{
  return (int64_t)(bench_random(&t->own) % (uint64_t)n);
}

/* ---- calls that end the job unless they succeed (calls.c) ---- */

void need_petsc(PetscErrorCode code);

/* Begin and end. */
void petsc_bcast(PetscSF f, MPI_Datatype unit, const void *root, void *leaf, MPI_Op op);
void petsc_reduce(PetscSF f, MPI_Datatype unit, const void *leaf, void *root, MPI_Op op);

/* The same numbers in PETSc's type; the caller frees them. */
PetscInt *petsc_list(const int64_t *list, int64_t n);

/* ---- graphs in both libraries (twin.c) ---- */

typedef struct twin {
  int64_t nroots, nleaves;
  int64_t end, nslots; /* of the leaf slots; of the leaf array, which may be longer */
  int64_t *first;      /* the global number of each rank's first root; nranks + 1 of them */
  int64_t *slot;       /* of each leaf */
  int listed;          /* 0: the slots were passed as NULL */
  grove_root *root;    /* of each leaf */
  char *is_leaf;       /* of each slot */
  grove_forest *grove;
  PetscSF petsc;
} twin;

/* A number of roots for this rank, possibly 0. */
int64_t draw_nroots(trial *t);

/* A random graph in which this rank has the given number of roots; `single`: no root has two
 * leaves. Collective. */
void twin_open(trial *t, int64_t nroots, int single, twin *out);
void twin_close(twin *f);

/* ---- comparisons (agree.c). A disagreement is printed with all that is needed to repeat it. */

void agree_number(trial *t, const char *what, int64_t at, int64_t grove, int64_t petsc);

/* n units, bit for bit. */
void agree_units(trial *t, const char *what, const bench_type *type, void *grove, const void *petsc,
                 int64_t n);

/* The same roots and edges, and the same leaves after a bcast of distinct values. Collective. */
void agree_graph(trial *t, const char *what, grove_forest *grove, PetscSF petsc);
/* The same, and frees both. */
void agree_results(trial *t, const char *what, grove_forest *grove, PetscSF petsc);

/* ---- what is compared ---- */

void compare_operations(trial *t);    /* operations.c */
void compare_constructions(trial *t); /* constructions.c */
void compare_growth(trial *t);        /* growth.c: forests with more roots */
void compare_numbers(trial *t);       /* numbers.c: graphs from global numbers, names, patterns */

typedef struct timing {
  const char *only; /* a case, or a prefix if it ends in -; NULL: all */
  int rounds, json;
} timing;

/* Times forests from forests; prints rows or, with `json`, a document (timing.c). Collective. */
void time_constructions(grove_context *ctx, MPI_Comm comm, const timing *how);

#endif
