/* A *wiring* is what all ranks agree on once: the operation, the plan, the size of a unit, a tag,
 * and what goes over which transport.
 */
#ifndef GROVE_EXEC_WIRING_H
#define GROVE_EXEC_WIRING_H

#include "context/trace.h"
#include "exec/letter.h"
#include "exec/plans.h"
#include "model/price.h"
#include "transport/carrier.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a wiring knows of a field. */
typedef struct grove_lane {
  grove_wiring_key key;
  grove_plans *plans;     /* held */
  const grove_plan *plan; /* one of them, in the direction of the data */
  int whole;              /* edges meet their roots all at once, behind the stage: */
  int meets_at;           /* of a fetch, or a reduce of whole edges: the last that brings leaves */
  grove_shape fetched;    /* the roots of all edges, in their order */
  int64_t own_begin;      /* from this edge on they are joined to ... */
  grove_shape own;        /* ... these leaves of this rank, which do not travel */
  int detached;           /* the lists of both are the wiring's own: the forest may go */
  int feeder;             /* of its edges, when they have met */
} grove_lane;

/* What one carrier has of the letters of a stage, by its numbers: receives, then sends. A number
 * of a fast carrier may stand for several sends with the same data. */
typedef struct grove_haul {
  int nreceives, nsends;
  int *letters;             /* the first of each number */
  grove_carriage *carriage; /* NULL: rings, or nothing to carry, not even between others */
} grove_haul;

static inline int grove_haul_size(const grove_haul *haul)
{
  return haul->nreceives + haul->nsends;
}

/* What a receive, the self edges of a stage, or the edges of a lane that met their roots bring is
 * an input of this: letter `letter` of a stage, or, behind the last, its self edges. */
typedef struct grove_feed {
  int stage, letter;
} grove_feed;

/* A stage of the plans, ready for these units and carriers. Letters are numbered: receives, then
 * sends. */
typedef struct grove_wired_stage {
  int ordered; /* what comes is combined in the order of the ranks: there is a reduce or a fetch */
  int has_own; /* self edges, which are no letter */
  int answers; /* ... and must be done before the next stage, which passes them on */
  int nforwards; /* receives that later stages take from here */
  int lands;     /* ... not out of shared memory: in a hub that must be free */
  int nletters, nreceives;
  grove_letter *letters;
  int nsections;
  grove_section *sections; /* of all letters */
  int nkeeps;              /* fields with self edges in this stage */
  grove_section *keeps;    /* pairs: from, to */
  int keep_inputs;         /* what these self edges wait for */
  grove_shm_way *way;      /* of a letter over shared memory */
  grove_link *links;       /* of every letter */
  grove_haul *hauls;       /* one for each carrier of the wiring */
  int *numbers;            /* of all hauls: their letters */
  int feeder;              /* its receives are inputs from here on, then its self edges */
} grove_wired_stage;

/* What one rank sends at one start. */
typedef struct grove_sent {
  int64_t on_node_messages, on_node_bytes;
  int64_t off_node_messages, off_node_bytes;
} grove_sent;

/* What changes of a wiring from start to start. */
typedef struct grove_wiring_run {
  int64_t sequence;                 /* starts so far */
  int64_t turns[GROVE_STAGES_MOST]; /* which start may enter the stage next */
  int64_t through;                  /* with hubs: how many starts are */
  int failed;                       /* a start did not enter all its stages: no further one can */
  int timed;               /* every start is: an account is kept, or routes are in a contest */
  grove_transfer *members; /* of a pool: all that are idle, active or abandoned */
  void (*free_members)(grove_transfer *members);
} grove_wiring_run;

/* All but `run` and `references` stays as it was agreed upon. */
typedef struct grove_wiring {
  int references;            /* operations on it, and the pool it is in */
  struct grove_wiring *next; /* in the pool of its forest */
  grove_context *ctx;        /* not held: the operations do that through their forests */
  int nlanes;
  grove_lane *lanes;
  int meets; /* some lane's edges meet their roots all at once */
  int nstages;
  grove_wired_stage *stages;
  /* Where feeder f is an input: feeds[feed_begin[f]] .. feeds[feed_begin[f + 1] - 1]. NULL where
   * there is one stage. */
  int *feed_begin;
  grove_feed *feeds;
  int ncarriers; /* a letter goes with the first that reaches its peer */
  const grove_carrier_kind *carriers[GROVE_CARRIERS_MOST];
  grove_shm *shm; /* the rings of a fast one, and hubs: */
  int uses_hubs;
  unsigned char *pulled; /* a ring: others pull from this rank's hub when it tells */
  grove_sent sent;
  int rank;
  int tag;             /* 0: none yet */
  int check;           /* with checksums */
  int64_t fragment;    /* bytes that travel at once over shared memory */
  int64_t widest_unit; /* of all lanes */
  int staged;          /* letters are complete before they travel over shared memory */
  int persistent;      /* arrays never change: requests are made once */
  grove_price price;   /* by the model, the same on every rank; NaN: not known */
  char machine[64];    /* the name of the profile that said so */
  grove_account account;
  grove_wiring_run run;
} grove_wiring;

/* A wiring of n fields, without a tag, with shared memory as far as this rank can have it. This
 * rank's failure. */
grove_status grove_wiring_create(grove_context *ctx, int n, const grove_request *requests,
                                 const grove_wiring_key *keys, const grove_routing *routing,
                                 int persistent, grove_wiring **out);
void grove_wiring_release(grove_wiring *wiring);

/* "reduce", or "bundle"; and the route of its plans. */
const char *grove_wiring_name(const grove_wiring *wiring);
const char *grove_wiring_route(const grove_wiring *wiring);

/* ---- what waits for what (feeds.c) ---- */

/* When all stages have their letters. This rank's failure. */
grove_status grove_wiring_find_feeds(grove_wiring *wiring);

/* ---- what goes with which carrier (wire.c) ---- */

/* Makes the stages of a wiring. This rank's failure. */
grove_status grove_wiring_lay(grove_wiring *wiring);
void grove_wiring_unwire(grove_wiring *wiring);

/* The collective step that gives a wiring its tag, and settles whether its node has the memory: if
 * not, `rewired` is set. `wiring` is NULL where `mine` is a failure. Agreed by
 * all. */
grove_status grove_wiring_agree(grove_context *ctx, grove_status mine, int64_t signature,
                                grove_wiring *wiring, int *rewired);

/* The carriages of all but fast carriers, when it has its tag. Agreed by all, if some carrier is
 * collective. */
grove_status grove_wiring_carry(grove_wiring *wiring);

#ifdef __cplusplus
}
#endif

#endif
