/* Every number of ranks in one launch: the job is split into its first k ranks and the rest, for
 * enough k that 1 to all ranks occur. Each part has its own communicator and context. All parts are
 * busy, and no separate launches are needed. */
#ifndef TEST_PLACES_H
#define TEST_PLACES_H

#include "grove.h"
#include "random.h"

#include <stdint.h>

typedef struct place {
  MPI_Comm comm;
  grove_context *ctx;
  int rank, size;
  int side; /* 0: among the first k ranks; 1: among the rest */
} place;

/* A context on this communicator, which it then owns. Collective over comm. */
place place_create(MPI_Comm comm);
void place_free(place *p);

/* Sets an option of its context. Collective. */
void place_set(const place *p, const char *option, const char *value);
/* This route, or standard where the transport between nodes serves no other. */
void place_set_route(const place *p, const char *route);

/* Puts rank i on node node[i]. Collective. */
void place_set_nodes(const place *p, const int *node);

/* Puts its ranks on nodes at random, usually uneven ones; sometimes as found. Collective. */
void place_draw_nodes(const place *p, rng *r);

/* A started operation that moves nothing: testing it advances all others of the context.
 * Collective. */
grove_op *place_idle(const place *p);

/* A barrier in which this rank goes on calling Grove, by tests of `idle`, so that what it has freed
 * still reaches those who need it. */
void place_meet(const place *p, grove_op *idle);

typedef struct places {
  int n;
  place *place; /* the first has all ranks */
} places;

places places_create(void);
void places_free(places *p);

/* Takes turns. */
static inline const place *places_turn(const places *p, int64_t i)
{
  return &p->place[i % p->n];
}

#endif
