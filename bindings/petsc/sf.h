/* What the files of this binding share. An SF of type `grove` is a forest, and the operations on it
 * that are under way.
 *
 *     contexts.c   a context for each communicator
 *     graph.c      from PETSc's graph to a forest, and from the forest to PETSc's lists by rank
 *     flights.c    the operation that an End belongs to
 *     moves.c      Begin and End
 *     remap.c      VecScatterRemap, which takes `basic` alone
 *     type.c       the table of the type
 */
#ifndef GROVE_PETSC_SF_H
#define GROVE_PETSC_SF_H

#include "grove_petsc.h"

#include <grove.h>
#include <petsc/private/sfimpl.h>

#if PETSC_VERSION_LT(3, 19, 0)
#define PETSC_SUCCESS 0
#endif

/* A number of neighbours. */
#if PETSC_VERSION_LT(3, 22, 0)
typedef PetscInt grove_sf_rank_count;
#else
typedef PetscMPIInt grove_sf_rank_count;
#endif

/* Grove's failures become PETSc's, with the sentence. */
#define GROVE_SF_CALL(call)                                                                        \
  do {                                                                                             \
    grove_status grove_sf_status_ = (call);                                                        \
    PetscCheck(!grove_sf_status_, PETSC_COMM_SELF, grove_sf_error(grove_sf_status_), "%s: %s",     \
               grove_status_name(grove_sf_status_), grove_last_error());                           \
  } while (0)
PetscErrorCode grove_sf_error(grove_status status);

/* ---- contexts.c ---- */

/* The context of a communicator of PETSc's, made when it is first asked for. Collective. */
PetscErrorCode grove_sf_context(MPI_Comm comm, grove_context **out);

/* Sets the options of Grove that PETSc's database has for this prefix (NULL: for none). */
typedef grove_status grove_sf_setter(void *object, const char *key, const char *value);
PetscErrorCode grove_sf_read_settings(const char *prefix, grove_sf_setter *set, void *object);

/* ---- flights.c ---- */

typedef enum grove_sf_kind { FLIGHT_BCAST, FLIGHT_REDUCE, FLIGHT_FETCH } grove_sf_kind;

/* An operation between Begin and End. */
typedef struct grove_sf_flight {
  struct grove_sf_flight *next; /* of its bucket, or of the idle ones */
  grove_sf_kind kind;
  MPI_Datatype unit;
  const void *root, *leaf;
  grove_op *op;
} grove_sf_flight;

/* By the addresses that PETSc ends an operation with. */
typedef struct grove_sf_flights {
  grove_sf_flight **buckets; /* a power of two of them */
  size_t nbuckets, count;
  grove_sf_flight *idle;
} grove_sf_flights;

/* An idle flight, or a new one; it belongs to the caller until it is put among the others. */
PetscErrorCode grove_sf_flight_take(grove_sf_flights *f, grove_sf_flight **out);
void grove_sf_flight_put(grove_sf_flights *f, grove_sf_flight *flight);
/* The oldest one with these arguments, which is then no longer among the others. */
PetscErrorCode grove_sf_flight_find(grove_sf_flights *f, grove_sf_kind kind, MPI_Datatype unit,
                                    const void *root, const void *leaf, grove_sf_flight **out);
void grove_sf_flight_rest(grove_sf_flights *f, grove_sf_flight *flight);
PetscErrorCode grove_sf_flights_free(grove_sf_flights *f);

/* ---- graph.c ---- */

typedef struct grove_sf {
  grove_forest *forest;
  grove_sf_flights flights;
  grove_sf_rank_count niranks; /* the answer of GetLeafRanks; -1: not yet made */
  PetscMPIInt *iranks;
  PetscInt *ioffset, *irootloc;
} grove_sf;

PetscErrorCode grove_sf_set_up(PetscSF sf);
PetscErrorCode grove_sf_forget_graph(PetscSF sf);
PetscErrorCode grove_sf_expand_pattern(PetscSF sf);
PetscErrorCode grove_sf_leaf_ranks(PetscSF sf, grove_sf_rank_count *n, const PetscMPIInt **ranks,
                                   const PetscInt **offset, const PetscInt **root);
PetscErrorCode grove_sf_embed_roots(PetscSF sf, PetscInt n, const PetscInt *selected, PetscSF *out);

/* ---- moves.c: the slots of PETSc's table with these names ---- */

PetscErrorCode grove_sf_bcast_begin(PetscSF sf, MPI_Datatype unit, PetscMemType root_memory,
                                    const void *root, PetscMemType leaf_memory, void *leaf,
                                    MPI_Op op);
PetscErrorCode grove_sf_bcast_end(PetscSF sf, MPI_Datatype unit, const void *root, void *leaf,
                                  MPI_Op op);
PetscErrorCode grove_sf_reduce_begin(PetscSF sf, MPI_Datatype unit, PetscMemType leaf_memory,
                                     const void *leaf, PetscMemType root_memory, void *root,
                                     MPI_Op op);
PetscErrorCode grove_sf_reduce_end(PetscSF sf, MPI_Datatype unit, const void *leaf, void *root,
                                   MPI_Op op);
PetscErrorCode grove_sf_fetch_begin(PetscSF sf, MPI_Datatype unit, PetscMemType root_memory,
                                    void *root, PetscMemType leaf_memory, const void *leaf,
                                    void *leaf_update, MPI_Op op);
PetscErrorCode grove_sf_fetch_end(PetscSF sf, MPI_Datatype unit, void *root, const void *leaf,
                                  void *leaf_update, MPI_Op op);

#endif
