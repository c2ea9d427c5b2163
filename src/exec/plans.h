/* What a call asks for, and how it travels: the kind of operation, its forest's plans for that
 * kind, and the chosen route.
 */
#ifndef GROVE_EXEC_PLANS_H
#define GROVE_EXEC_PLANS_H

#include "context/context.h"
#include "forest/forest.h"
#include "pack/pack.h"
#include "plan/plan.h"
#include "route/choose.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum grove_operation {
  GROVE_BCAST,
  GROVE_REDUCE,
  GROVE_FETCH,
  GROVE_COLLECT,   /* gather; GROVE_GATHER is a pattern */
  GROVE_DISTRIBUTE /* scatter */
} grove_operation;

const char *grove_operation_name(grove_operation operation);

/* What a call asks for. Arrays are named by their role. */
typedef struct grove_request {
  grove_operation operation;
  grove_forest *forest;
  MPI_Datatype unit;
  MPI_Op op;
  void *arrays[GROVE_ARRAYS]; /* written only where the operation says so */
  int unbound;                /* the arrays come later: nothing is said of them */
} grove_request;

/* ---- which datatype (identity.c) ---- */

/* The datatype that an operation was made for. A handle is not enough: MPI gives the handle of a
 * freed type to the next one. Derived types carry this as an attribute, which dies with them. */
typedef struct grove_identity {
  int references; /* atomic */
} grove_identity;

/* NULL for a named type. Borrowed from the type. */
grove_status grove_identity_of(MPI_Datatype type, grove_identity **out);
void grove_identity_hold(grove_identity *identity);
void grove_identity_release(grove_identity *identity);

/* ---- what is the same on every rank (wiring.c) ---- */

/* What tells calls of _begin apart: facts that are the same on every rank. No handles, no
 * addresses: either all ranks find a wiring or none does. */
typedef struct grove_wiring_key {
  grove_operation operation;
  int64_t unit_bytes;
  grove_kind unit_kind;
  int op_number;  /* of a predefined operation; the users' share one number */
  int shared;     /* a value of a message may be sent once for several leaves */
  int merges;     /* ... and once for a node */
  int generation; /* of the options */
} grove_wiring_key;

grove_wiring_key grove_wiring_key_of(const grove_request *r, const grove_unit *unit,
                                     const grove_combine *combine);

/* ---- plans (plans.c) ---- */

/* The plans of a forest for one kind of operation, on one route, under one set of options. */
typedef struct grove_plans {
  int references;
  struct grove_plans *next;
  grove_operation operation;
  int generation;
  int shared; /* values may be sent once */
  int whole;  /* all edges come together before they meet their roots, in order */
  const grove_route *route;
  int64_t cap;
  grove_index slots;    /* of the multi-forest's roots, where the operation needs that */
  grove_index met;      /* roots of whole edges, if self edges are the first; else empty */
  grove_index places;   /* of this rank's leaves, where a slot is a leaf several times, and ... */
  grove_index landing;  /* ... the slot of each place */
  grove_plan *forward;  /* as the route made it; borrows from `slots` */
  grove_plan *directed; /* reversed, or a round trip; borrows from `forward`; NULL: forward */
} grove_plans;

/* A choice between routes, or the price of one, with the kind and size of operation that it was
 * made for. Few are needed at once; the oldest goes. */
enum { GROVE_DECISIONS = 12 };
typedef struct grove_decision {
  int generation, share;
  grove_question question;
  grove_choice choice; /* n = 0: none */
} grove_decision;

/* What a forest keeps for its operations. */
typedef struct grove_compiled {
  grove_plans *plans;        /* newest first */
  struct grove_wiring *pool; /* for calls of _begin, and its destructor (pool.c) */
  void (*empty_pool)(struct grove_compiled *c);
  grove_survey *surveys[2]; /* without and with sharing */
  int surveyed[2];          /* under which options */
  grove_decision decisions[GROVE_DECISIONS];
  int64_t decided;
  int64_t digest; /* of the graph on all ranks; 0: nobody has asked (wisdom.c) */
} grove_compiled;

grove_status grove_forest_compiled(grove_forest *f, grove_compiled **out);

/* An operation as the file of wisdom names it: a machine, and some numbers and words. */
enum { GROVE_QUESTION_BYTES = GROVE_MACHINE_NAME_BYTES + 128 };

/* How an operation travels. */
typedef struct grove_routing {
  const grove_route *route;
  int64_t cap;
  int chosen; /* by price; the reasons are: */
  grove_choice choice;
  grove_price price; /* by which it was chosen, or would have been */
  int lifted;        /* this rank's; once agreed upon, the operation's: see grove_question */
  int known;         /* the faster one: nothing is to be tried */
  char question[GROVE_QUESTION_BYTES]; /* on rank 0, with the option wisdom; "": none */
} grove_routing;

/* The plans for such an operation, compiled at first need. Collective if the route relays. A
 * failure is this rank's own, unless it is GROVE_ERR_UNSUPPORTED. */
grove_status grove_plans_get(grove_forest *f, const grove_wiring_key *key,
                             const grove_routing *routing, grove_plans **out);
void grove_plans_release(grove_plans *plans);

/* ---- which route (routing.c) ---- */

/* By which options an operation of n fields is made: those of the first one's forest, from which no
 * other's may differ. */
grove_settings grove_routing_settings(const grove_context *ctx, int n,
                                      const grove_request *requests);

/* The route of an operation of n fields, with the plans of all fields. A route that `routing`
 * already has is kept. `mine` is this rank's failure so far. A failure may be this rank's own; the
 * caller agrees on it. */
grove_status grove_routing_find(grove_context *ctx, grove_status mine, const grove_purpose *purpose,
                                int n, const grove_request *requests, const grove_wiring_key *keys,
                                grove_routing *routing);
/* May an operation take the standard route at first, and nobody ask for prices? The same on every
 * rank. */
int grove_routing_may_wait(const grove_forest *f);
/* Is there a choice that it waits for? The same on every rank. */
int grove_routing_chooses(const grove_forest *f);
/* The price of the route. All ranks are known to make the same operation on it. Agreed by all. */
grove_status grove_routing_price(grove_context *ctx, int n, const grove_request *requests,
                                 const grove_wiring_key *keys, grove_routing *routing);
/* Is there a route worth a contest with this one? The same on every rank. */
int grove_routing_has_rival(const grove_settings *settings, const grove_routing *best,
                            grove_routing *rival);

/* ---- the option wisdom (wisdom.c) ---- */

/* Takes the route that was faster when it was tried, if the file says so. Agreed by all. */
grove_status grove_wisdom_ask(grove_context *ctx, int n, const grove_request *requests,
                              const grove_wiring_key *keys, grove_routing *routing);

typedef struct grove_outcome {
  const char *route;
  double microseconds;
} grove_outcome;

/* On rank 0: the outcome of a contest. What cannot be written is counted in the context's log. */
void grove_wisdom_add(grove_context *ctx, const char *question, const char *forest,
                      const grove_outcome *winner, const grove_outcome *loser);

#ifdef __cplusplus
}
#endif

#endif
