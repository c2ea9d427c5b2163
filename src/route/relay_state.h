/* A rank's part of a relay while its plan is built: what it has and needs, and what passes through
 * it, as its neighbours told it. relay.c fills it in; relay_plan.c makes the plan from it.
 */
#ifndef GROVE_ROUTE_RELAY_STATE_H
#define GROVE_ROUTE_RELAY_STATE_H

#include "route/blocks.h"
#include "route/legs.h"
#include "route/packets.h"
#include "route/relay.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What this rank sends to a rank of another node, for one rank of its own node, perhaps itself. */
typedef struct grove_relay_send {
  int32_t from, receiver;
  int64_t units;
  int64_t at; /* its first hub slot */
} grove_relay_send;

/* A leg that this rank receives. */
typedef struct grove_relay_receive {
  int32_t from, sender;
  int64_t begin, units;
  int64_t at;           /* where its units begin among all that are received */
  int64_t nlists;       /* ranks that need some of it */
  const int64_t *lists; /* for each, ascending: rank, number of units, which units; in the packet */
} grove_relay_receive;

typedef struct grove_relay_state {
  const grove_relay *relay;
  const grove_forest *f;
  const grove_build *how;
  grove_blocks blocks;
  grove_needs needs;
  grove_legs legs;       /* of the blocks, by sender */
  grove_legs arrivals;   /* of the needs, by receiver: begin and end are their units */
  grove_packets packets; /* the packets that receives point into */
  int64_t nsends;
  grove_relay_send *sends; /* by from, then by receiver */
  int32_t *by_receiver;    /* numbers of the sends, sorted by receiver, then by from */
  int64_t nreceives;
  grove_relay_receive *receives; /* by sender, from, begin */
  int64_t *needed; /* by local number in the node: units that this rank passes on to that rank */
} grove_relay_state;

/* This rank's part of the plan. */
grove_status grove_relay_make_plan(const grove_relay_state *state, grove_plan **out);

/* One list of a receive, and where the next begins. */
typedef struct grove_listed {
  int rank;
  int64_t count;
  const int64_t *places;
} grove_listed;

static inline grove_listed grove_relay_list(const int64_t **at)
{
  grove_listed list = {.rank = (int)(*at)[0], .count = (*at)[1], .places = *at + 2};
  *at += 2 + list.count;
  return list;
}

#ifdef __cplusplus
}
#endif

#endif
