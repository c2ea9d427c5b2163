/* A *wiring* is what all ranks agree on once: the operation, the plan, the size of a unit, a tag,
 * and which transport carries what.
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
  int whole;              /* all edges meet their roots at once, after the stage: */
  int meets_at;           /* of a fetch, or a reduce of whole edges: the last that brings leaves */
  grove_shape fetched;    /* the roots of all edges, in edge order */
  int64_t own_begin;      /* from this edge on they are joined to ... */
  grove_shape own;        /* ... these leaves of this rank, which do not travel */
  grove_shape landing;    /* where a slot is several leaves: the slots of all places, ... */
  grove_array lands_in;   /* ... in this array, when all has come */
  unsigned apart;         /* bits of arrays that its first operation has in other memory */
  int detached;           /* the wiring owns the lists of both: the forest may go */
  int feeder;             /* its edges, once they have met */
} grove_lane;

/* Does what has come land after stage s? */
static inline int grove_lane_lands(const grove_lane *lane, int s)
{
  return lane->landing.units > 0 && s == lane->plan->nstages - 1;
}

/* One carrier's letters of a stage, by its numbers: receives, then sends. A number of a fast
 * carrier may stand for several sends with the same data. */
typedef struct grove_haul {
  int nreceives, nsends;
  int *letters;             /* the first letter of each number */
  grove_carriage *carriage; /* NULL: rings, or nothing to carry, not even between others */
} grove_haul;

static inline int grove_haul_size(const grove_haul *haul)
{
  return haul->nreceives + haul->nsends;
}

/* A target of a feeder. Feeders are receives, the self edges of a stage, and the edges of a lane
 * that met their roots. The target is letter `letter` of a stage, or, after the last, its self
 * edges. */
typedef struct grove_feed {
  int stage, letter;
} grove_feed;

/* A stage of the plans, ready for these units and carriers. Letters are numbered: receives, then
 * sends. */
typedef struct grove_wired_stage {
  int ordered;   /* data is combined in rank order: there is a reduce or a fetch */
  int has_own;   /* self edges, which are not letters */
  int answers;   /* ... and which must be done before the next stage passes them on */
  int nforwards; /* receives that later stages take from here */
  int lands;     /* ... not out of shared memory: into a hub that must be free */
  int nletters, nreceives;
  grove_letter *letters;
  int nsections;
  grove_section *sections; /* of all letters */
  int nkeeps;              /* fields with self edges in this stage */
  grove_section *keeps;    /* pairs: from, to */
  int keep_inputs;         /* inputs of these self edges */
  grove_shm_way *way;      /* of a letter over shared memory */
  grove_link *links;       /* of every letter */
  grove_haul *hauls;       /* one for each carrier of the wiring */
  int *numbers;            /* the letters of all hauls */
  int feeder;              /* the first of its receives, followed by its self edges */
} grove_wired_stage;

/* What one rank sends, or receives, at one start. */
typedef struct grove_sent {
  int64_t on_node_messages, on_node_bytes;
  int64_t off_node_messages, off_node_bytes;
} grove_sent;

/* The part of a wiring that changes from start to start. */
typedef struct grove_wiring_run {
  int64_t sequence;                 /* starts so far */
  int64_t begun;                    /* calls of _begin so far */
  int64_t turns[GROVE_STAGES_MOST]; /* which start may enter the stage next */
  int64_t through;                  /* with hubs: how many starts are through */
  int failed;                       /* a start did not enter all its stages: no other can start */
  int timed;               /* all starts are timed: for an account, or for a contest of routes */
  grove_transfer *members; /* of a pool: all that are idle, active or abandoned */
  void (*free_members)(grove_transfer *members);
} grove_wiring_run;

/* All but `run` and `references` stays as agreed. */
typedef struct grove_wiring {
  int references;            /* operations on it, and the pool it is in */
  struct grove_wiring *next; /* in the pool of its forest */
  grove_context *ctx;        /* not held: the operations hold it through their forests */
  int nlanes;
  grove_lane *lanes;
  int meets; /* in some lane, all edges meet their roots at once, or places their slots */
  int nstages;
  grove_wired_stage *stages;
  /* Feeder f is an input of feeds[feed_begin[f]] .. feeds[feed_begin[f + 1] - 1]. NULL if there is
   * only one stage. */
  int *feed_begin;
  grove_feed *feeds;
  int ncarriers; /* a letter goes with the first that reaches its peer */
  const grove_carrier_kind *carriers[GROVE_CARRIERS_MOST];
  grove_shm *shm; /* the rings of a fast carrier, and hubs: */
  int uses_hubs;
  unsigned char *pulled; /* by ring: it tells others to pull from this rank's hub */
  grove_sent sent, received;
  int rank;
  int tag;               /* 0: none yet */
  int check;             /* with checksums */
  int own_first;         /* self edges meet their roots before all others */
  int64_t fragment;      /* bytes that travel at once over shared memory */
  int64_t widest_unit;   /* of all lanes */
  int staged;            /* letters are packed whole before they travel over shared memory */
  int sole;              /* it is one operation's: nothing else has its tag */
  int persistent;        /* arrays never change: requests are made once */
  grove_price price;     /* by the model, the same on every rank; NaN: unknown */
  int hasty;             /* it took the standard route without asking for prices */
  int set_aside;         /* a route was chosen since: no call takes this one any more */
  int lifts_for_nothing; /* some arrays lie on devices, and the profile does not tell the cost */
  char machine[64];      /* name of the profile behind the price */
  grove_account account;
  grove_wiring_run run;
} grove_wiring;

/* A wiring of n fields, without a tag, with as much shared memory as this rank can have. This
 * rank's failure. */
grove_status grove_wiring_create(grove_context *ctx, int n, const grove_request *requests,
                                 const grove_wiring_key *keys, const grove_routing *routing,
                                 int persistent, grove_wiring **out);
void grove_wiring_release(grove_wiring *wiring);

/* "reduce", or "bundle"; and the route of its plans. */
const char *grove_wiring_name(const grove_wiring *wiring);
const char *grove_wiring_route(const grove_wiring *wiring);

/* ---- what waits for what (feeds.c) ---- */

/* Call when all stages have their letters. This rank's failure. */
grove_status grove_wiring_find_feeds(grove_wiring *wiring);

/* ---- what goes with which carrier (wire.c) ---- */

/* Makes the stages of a wiring. This rank's failure. */
grove_status grove_wiring_lay(grove_wiring *wiring);
void grove_wiring_unwire(grove_wiring *wiring);

/* The dock of letter i of stage s, a send; NULL: it has none. */
grove_dock *grove_wiring_dock(const grove_wiring *wiring, int s, int i);

/* The collective step that gives a wiring its tag and settles whether its node has the memory. If
 * it has not, `rewired` is set. `lifted` becomes the largest of all ranks'. `wiring` is NULL if
 * `mine` is a failure. Agreed by all. */
grove_status grove_wiring_agree(grove_context *ctx, grove_status mine, const grove_purpose *purpose,
                                grove_wiring *wiring, int *lifted, int *rewired);

/* transport_off_node=auto: over libfabric instead of MPI, if that is cheaper by a profile that has
 * the prices of both. Before the carriages are made. Agreed by all. (network.c) */
grove_status grove_wiring_choose_network(grove_wiring *wiring);

/* Makes the carriages of all carriers that are not fast, once the wiring has its tag. Agreed by all
 * if some carrier is collective. */
grove_status grove_wiring_carry(grove_wiring *wiring);

#ifdef __cplusplus
}
#endif

#endif
