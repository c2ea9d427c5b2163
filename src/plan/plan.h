/* A plan: who sends what to whom, in stages, as plain data. It is written for bcast, where data
 * flows from the root array to the leaf array. Reversed, it serves reduce and gather; there and
 * back, fetch. This is one rank's part. The k-th entry of a sender's list meets the k-th entry of
 * the receiver's.
 *
 *     stage 0
 *       send to 3:    root slots 0 4 7           (read here, one message)
 *       send to 5:    root slots 4
 *       receive from 3: leaf slots 10 11         (written here)
 *       keep:         root slots 2 -> leaf slots 12      (a self edge is never a message)
 *
 * A plan borrows its lists from the forest it was compiled from, and must not outlive it. Its
 * reverse borrows from the plan.
 */
#ifndef GROVE_PLAN_PLAN_H
#define GROVE_PLAN_PLAN_H

#include "base/index.h"
#include "base/status.h"
#include "topo/topo.h"

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The array that a list of slots refers to. */
typedef enum grove_array {
  GROVE_ARRAY_ROOT,
  GROVE_ARRAY_LEAF,
  GROVE_ARRAY_EDGE,   /* at the roots' rank, one slot per edge, in edge order */
  GROVE_ARRAY_UPDATE, /* of a fetch: what comes back to the leaves */
  GROVE_ARRAY_HUB,    /* between two other arrays: the plan's own memory, `hub` slots */
  GROVE_ARRAY_PLACE,  /* at the leaves' rank, one slot per edge, where a slot is several leaves */
  GROVE_ARRAY_COPY,   /* in no plan: what a freed operation still needs of the user's */
  GROVE_ARRAYS
} grove_array;

/* Is it one of the user's arrays? Others are an operation's own, with units as in a message. */
static inline int grove_array_is_users(grove_array which)
{
  return which != GROVE_ARRAY_EDGE && which < GROVE_ARRAY_HUB;
}

typedef struct grove_slots {
  grove_array array;
  grove_index index;
} grove_slots;

typedef struct grove_message {
  int peer;
  int far_hub;        /* at the other end, the message lies in a hub */
  grove_slots slots;  /* read by a sender, written by a receiver */
  grove_index starts; /* count 0, or: unit u stands for slots starts[u] .. starts[u+1]-1 */
} grove_message;

/* The units that travel. */
static inline int64_t grove_message_units(const grove_message *m)
{
  return m->starts.count > 0 ? m->starts.count - 1 : m->slots.index.count;
}

/* Messages of one stage do not depend on each other. Both lists ascend by peer. */
typedef struct grove_stage {
  int nsends, nreceives;
  grove_message *sends;
  grove_message *receives;
  grove_slots keep_from, keep_to; /* of equal length, perhaps 0 */
} grove_stage;

typedef struct grove_plan {
  const char *route; /* that made it */
  int rank;          /* whose part it is */
  int64_t hub;       /* slots that this rank needs for units that it passes on */
  int nstages;
  grove_stage *stages;
  int nlists; /* its own lists, which it did not borrow */
  grove_index *lists;
} grove_plan;

/* What one rank sends when a plan runs once. */
typedef struct grove_counts {
  int64_t on_node_messages, on_node_units;
  int64_t off_node_messages, off_node_units;
  int64_t kept_units; /* moved without a message */
} grove_counts;

grove_status grove_plan_create(const char *route, int rank, int nstages, grove_plan **out);

/* Room for the messages of a stage; the caller fills them in. */
grove_status grove_plan_stage(grove_plan *plan, int stage, int nsends, int nreceives);
void grove_plan_free(grove_plan **plan);

/* Takes over a list, and frees it with the plan; on failure at once. */
grove_status grove_plan_adopt(grove_plan *plan, grove_index *list);

/* The two ends of a message that carries each of its values once (share.c). `names` gives the
 * sender's slot for each entry of the receiver's list. */
grove_status grove_message_send_once(grove_message *m, grove_plan *plan);
grove_status grove_message_receive_once(grove_message *m, const grove_index *names,
                                        grove_plan *plan);

/* The same messages in the other direction, with the stages in reverse order. */
grove_status grove_plan_reverse(const grove_plan *plan, grove_plan **out);

/* The slots of an array that its messages name become the entries of a list: slot i is entry i. */
grove_status grove_plan_look_up(grove_plan *plan, grove_array which, const grove_index *list);

/* Renames an array in all its messages. */
void grove_plan_rename(grove_plan *plan, grove_array from, grove_array to);

/* There and back: from the leaves to the edges, then from the edges to the update, with the same
 * number of stages each. `plan` is for a forest whose roots are the edges. */
grove_status grove_plan_round_trip(const grove_plan *plan, grove_plan **out);

grove_counts grove_plan_count(const grove_plan *plan, const grove_topo *topo);

/* For people; lists are cut after `most` slots. */
void grove_plan_print(const grove_plan *plan, int64_t most, FILE *file);

#ifdef __cplusplus
}
#endif

#endif
