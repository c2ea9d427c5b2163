/* What carries the letters that go over MPI: in point-to-point messages, by neighbourhood
 * collectives, or one-sidedly. A *carriage* is what the operations of a wiring share in one stage,
 * a *carrier* what one of them has there.
 *
 *     grove_carriage_create(ctx, &about, &carriage);     collective, unless it is p2p
 *     grove_carrier_create(carriage, &c);                local; as often as there are operations
 *     grove_carrier_bind(c, i, buffer);                  message i: receives first, then sends
 *
 *     grove_carrier_start(c, i);                         every message, in any order
 *     grove_carrier_go(c);                               that was all
 *     grove_carrier_poll(c, &n, &which);                 until it is no longer busy
 *
 *     grove_carrier_free(&c);
 *     grove_carriage_free(&carriage);                    local
 *
 * Carriers of one carriage are started in the same order on all ranks, also on those without
 * messages: what is sent by the k-th start is received by the k-th start. Nothing but the creation
 * of a carriage ever waits.
 *
 *     mpi_p2p.c        a request a message
 *     mpi_neighbor.c   one collective a start, on a communicator that knows the graph
 *     mpi_rma.c        the sender says where a message lies, the receiver fetches it
 */
#ifndef GROVE_TRANSPORT_CARRIER_H
#define GROVE_TRANSPORT_CARRIER_H

#include "context/context.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct grove_carried {
  int peer;
  int64_t bytes;
} grove_carried;

/* What a carriage is for. All but the messages is the same on every rank. */
typedef struct grove_carriage_request {
  int kind;       /* of enum grove_option_off_node */
  int tag;        /* of its messages, and, where these are fetched, ... */
  int answer_tag; /* ... of the answers, or GROVE_TAG_NOBODY; nobody else uses either on the
                   * context's communicator */
  int persistent; /* p2p: buffers never change */
  int chunk;      /* the most bytes that MPI gets at once */
  int nreceives, nsends;
  const grove_carried *messages; /* receives, then sends; each by ascending peer */
} grove_carriage_request;

typedef struct grove_carrier_kind grove_carrier_kind;

typedef struct grove_carriage {
  grove_context *ctx; /* not held */
  const grove_carrier_kind *kind;
  int tag, answer_tag, persistent, chunk;
  int nreceives, n;
  grove_carried *messages; /* n */
  void *shared;            /* the kind's own */
} grove_carriage;

typedef struct grove_carrier {
  const grove_carrier_kind *kind;
  grove_carriage *carriage;
  void *self; /* the kind's own */
} grove_carrier;

/* One for each kind. What can fail is this rank's failure, but for `open`. */
struct grove_carrier_kind {
  const char *name;                               /* as the option transport_off_node spells it */
  grove_status (*open)(grove_carriage *carriage); /* collective, agreed by all */
  void (*close)(grove_carriage *carriage);        /* also what was opened halfway */
  grove_status (*create)(grove_carrier *c);
  grove_status (*bind)(grove_carrier *c, int i, void *buffer);
  grove_status (*start)(grove_carrier *c, int i);
  grove_status (*go)(grove_carrier *c);
  grove_status (*poll)(grove_carrier *c, int *n, const int **which);
  int (*pending)(const grove_carrier *c, int i);
  int (*busy)(const grove_carrier *c);
  void (*free)(grove_carrier *c); /* also what was created halfway */
};

/* As the option transport_off_node spells it. */
const char *grove_carrier_name(int kind);

/* Are all messages of this kind in memory of the caller's own, until the carrier is free? Only p2p
 * can take back what it was to write to a user's array. */
static inline int grove_carrier_needs_memory(int kind)
{
  return kind != GROVE_OFF_NODE_P2P;
}

/* Must every rank have a carriage, with messages or without? */
static inline int grove_carrier_is_collective(int kind)
{
  return kind != GROVE_OFF_NODE_P2P;
}

/* If it is collective: every rank must come, and what fails is agreed by all. */
grove_status grove_carriage_create(grove_context *ctx, const grove_carriage_request *about,
                                   grove_carriage **out);
/* When all its carriers are freed. */
void grove_carriage_free(grove_carriage **carriage);

grove_status grove_carrier_create(grove_carriage *carriage, grove_carrier **out);
/* Only while it is not busy. */
void grove_carrier_free(grove_carrier **c);

/* Again with another buffer only where not persistent. */
static inline grove_status grove_carrier_bind(grove_carrier *c, int i, void *buffer)
{
  return c->kind->bind(c, i, buffer);
}

/* What is sent is in its buffer by now. */
static inline grove_status grove_carrier_start(grove_carrier *c, int i)
{
  return c->kind->start(c, i);
}

static inline grove_status grove_carrier_go(grove_carrier *c)
{
  return c->kind->go(c);
}

/* The messages completed since the last call: their numbers, valid until the next call. */
static inline grove_status grove_carrier_poll(grove_carrier *c, int *n, const int **which)
{
  return c->kind->poll(c, n, which);
}

/* True while message i is started and not yet complete. */
static inline int grove_carrier_pending(const grove_carrier *c, int i)
{
  return c->kind->pending(c, i);
}

/* True while there is anything left to do, also for others when all own messages are complete. */
static inline int grove_carrier_busy(const grove_carrier *c)
{
  return c->kind->busy(c);
}

/* Nobody wants what comes for message i, a receive under way: its sender need not wait until this
 * rank polls again. What is just arriving is waited for, so many seconds (0: for ever). */
grove_status grove_carrier_forgo(grove_carrier *c, int i, double timeout);

/* Starts message i, a receive, for a sender whose data nobody wants. */
grove_status grove_carrier_discard(grove_carrier *c, int i);

/* As grove_p2p_withdraw and grove_p2p_repost, and for that kind alone: others never write to a
 * user's array. */
grove_status grove_carrier_withdraw(grove_carrier *c, int i, double timeout, int *withdrawn);
grove_status grove_carrier_repost(grove_carrier *c, int i, int discard);

/* ---- for the kinds ---- */

/* What the carriages of a context use, and leave behind when they go. Each list is the same on
 * every rank. */
typedef struct grove_depot {
  struct grove_graphs *graphs;   /* mpi_neighbor.c */
  struct grove_windows *windows; /* mpi_rma.c */
} grove_depot;

/* The depot of a context, made at first need. This rank's failure. */
grove_status grove_depot_open(grove_context *ctx, grove_depot **out);

#ifdef __cplusplus
}
#endif

#endif
