/* What carries letters: rings of shared memory; over MPI, point-to-point messages, neighbourhood
 * collectives, or one-sided messages; or libfabric. What a *kind* of carrier can do is data. Its
 * users ask for that, never for the kind itself.
 *
 * A *carriage* is what the operations of a wiring share in one stage. A *carrier* is what one of
 * them has there.
 *
 *     grove_carriage_create(ctx, &about, &carriage);     collective, if the kind is
 *     grove_carrier_create(carriage, &c);                local; once for each operation
 *     grove_carrier_bind(c, i, buffer);                  message i: receives first, then sends
 *
 *     grove_carrier_start(c, i);                         every message, in any order
 *     grove_carrier_go(c);                               all are started
 *     grove_carrier_poll(c, &n, &which);                 until it is no longer busy
 *
 *     grove_carrier_free(&c);
 *     grove_carriage_free(&carriage);                    local
 *
 * Carriers of one carriage are started in the same order on all ranks, also on those without
 * messages. The k-th start on one rank receives what the k-th start on another sends: message by
 * message, or all at once where they leave together. Only the creation of a carriage ever waits.
 *
 *     shm.c            packed straight into a ring: by its own functions (ring.h), not by these
 *     mpi_p2p.c        a request per message
 *     mpi_neighbor.c   one collective per start, on a communicator that knows the graph
 *     mpi_rma.c        the sender says where a message lies, the receiver fetches it
 *     ofi_letters.c    messages with tags over libfabric
 */
#ifndef GROVE_TRANSPORT_CARRIER_H
#define GROVE_TRANSPORT_CARRIER_H

#include "context/context.h"
#include "device/space.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct grove_carried {
  int peer;
  int64_t bytes;
} grove_carried;

typedef struct grove_carrier_kind grove_carrier_kind;

/* What a carriage is for. Everything but the messages is the same on every rank. */
typedef struct grove_carriage_request {
  const grove_carrier_kind *kind;
  int tag;        /* of its messages, and, if these are fetched, ... */
  int answer_tag; /* ... of the answers, or GROVE_TAG_NOBODY; nobody else uses either on the
                   * context's communicator */
  int persistent; /* p2p: buffers never change */
  int chunk;      /* the most bytes that MPI or libfabric gets at once */
  int nreceives, nsends;
  /* Receives, then sends; each by ascending peer. NULL: this rank had no memory for them. */
  const grove_carried *messages;
} grove_carriage_request;

typedef struct grove_carriage {
  grove_context *ctx; /* not held */
  const grove_carrier_kind *kind;
  int tag, answer_tag, persistent, chunk;
  int nreceives, n;
  grove_carried *messages; /* n */
  int64_t *turns;          /* by message: which start may start it next */
  void *shared;            /* the kind's own */
} grove_carriage;

typedef struct grove_carrier {
  const grove_carrier_kind *kind;
  grove_carriage *carriage;
  void *self; /* the kind's own */
} grove_carrier;

typedef enum grove_reach { GROVE_REACHES_NODE, GROVE_REACHES_ALL } grove_reach;

/* One for each kind. A failure is this rank's own, except in `open`. */
struct grove_carrier_kind {
  const char *name;  /* as the options spell it */
  grove_reach reach; /* the peers it carries letters to */
  int fast;          /* letters are packed into its memory fragment by fragment (ring.h) */
  int collective;    /* every rank must have a carriage, even without messages */
  int together;      /* all messages of a start leave in one call, `go` */
  int writes_arrays; /* messages may lie in a user's array: receives can be taken back */
  int takes_parts;   /* a message may leave in parts, one after the other */
  int registers;     /* `bind` makes memory known to a network, which may refuse it */
  unsigned memories; /* which it reads and writes: bits of spaces */
  /* No carriage is ever made of a fast kind, which has none of these. */
  grove_status (*open)(grove_carriage *carriage); /* if it is collective, agreed by all */
  void (*close)(grove_carriage *carriage);        /* also one opened halfway */
  grove_status (*create)(grove_carrier *c);
  grove_status (*bind)(grove_carrier *c, int i, void *buffer);
  grove_status (*start)(grove_carrier *c, int i);
  grove_status (*start_part)(grove_carrier *c, int i, int64_t begin, int64_t end);
  grove_status (*go)(grove_carrier *c);
  grove_status (*poll)(grove_carrier *c, int *n, const int **which);
  int (*pending)(const grove_carrier *c, int i);
  int (*busy)(const grove_carrier *c);
  grove_status (*forgo)(grove_carrier *c, int i, double timeout);
  grove_status (*withdraw)(grove_carrier *c, int i, double timeout, int *withdrawn);
  grove_status (*repost)(grove_carrier *c, int i);
  void (*free)(grove_carrier *c); /* also one created halfway */
};

/* The kinds that a context's options ask for, least reach first; returns how many. A letter goes
 * with the first kind that reaches its peer; the last reaches all. The same on every rank of a
 * node. */
enum { GROVE_CARRIERS_MOST = 4 };
int grove_carrier_kinds(const grove_context *ctx, const grove_carrier_kind **kinds);

/* If the kind is collective, every rank must call, and failures are agreed by all. */
grove_status grove_carriage_create(grove_context *ctx, const grove_carriage_request *about,
                                   grove_carriage **out);
/* Call when all its carriers are freed. */
void grove_carriage_free(grove_carriage **carriage);

grove_status grove_carrier_create(grove_carriage *carriage, grove_carrier **out);
/* Only while it is not busy. */
void grove_carrier_free(grove_carrier **c);

/* Another buffer is allowed only if not persistent, or when the operation is freed. */
static inline grove_status grove_carrier_bind(grove_carrier *c, int i, void *buffer)
{
  return c->kind->bind(c, i, buffer);
}

/* The data of a send is in its buffer by now. */
static inline grove_status grove_carrier_start(grove_carrier *c, int i)
{
  return c->kind->start(c, i);
}

/* For kinds that take parts. Bytes begin .. end-1 of message i, a send of one chunk, leave before
 * the others. Each part begins where the last one ended; starting the message sends the rest. The
 * receiver need not know. Meanwhile nothing else with this tag may go to that peer. */
static inline grove_status grove_carrier_start_part(grove_carrier *c, int i, int64_t begin,
                                                    int64_t end)
{
  return c->kind->start_part(c, i, begin, end);
}

static inline grove_status grove_carrier_go(grove_carrier *c)
{
  return c->kind->go(c);
}

/* The messages completed since the last call. Their numbers are valid until the next call. */
static inline grove_status grove_carrier_poll(grove_carrier *c, int *n, const int **which)
{
  return c->kind->poll(c, n, which);
}

/* Is message i started and not yet complete? */
static inline int grove_carrier_pending(const grove_carrier *c, int i)
{
  return c->kind->pending(c, i);
}

/* Is there anything left to do? It may be for others, when all own messages are complete. */
static inline int grove_carrier_busy(const grove_carrier *c)
{
  return c->kind->busy(c);
}

/* Nobody wants the data of message i, a receive under way. Its sender need not wait until this rank
 * polls again. A message that is just arriving is waited for, `timeout` seconds (0: for ever). */
static inline grove_status grove_carrier_forgo(grove_carrier *c, int i, double timeout)
{
  return c->kind->forgo(c, i, timeout);
}

/* For kinds that write to users' arrays. Takes back what has not come yet of message i, a receive
 * under way; `withdrawn` says whether there was anything. Data that is arriving is waited for, and
 * stays in its buffer. GROVE_ERR_TIMEOUT after `timeout` seconds (0: never), even if something was
 * withdrawn. If several carriers of one tag are under way, withdraw from the latest first.
 */
static inline grove_status grove_carrier_withdraw(grove_carrier *c, int i, double timeout,
                                                  int *withdrawn)
{
  return c->kind->withdraw(c, i, timeout, withdrawn);
}

/* Posts again what was withdrawn of a receive, into its buffer, which may have changed. If there
 * are several carriers, repost the earliest first. */
static inline grove_status grove_carrier_repost(grove_carrier *c, int i)
{
  return c->kind->repost(c, i);
}

/* ---- for the kinds ---- */

/* For a kind that does not need a function: each message goes by itself; no sender waits for data
 * that its receiver does not want; ... */
grove_status grove_carrier_go_nowhere(grove_carrier *c);
grove_status grove_carrier_let_come(grove_carrier *c, int i, double timeout);
/* ... it leaves as a whole, and none of it is in a user's array: GROVE_ERR_UNSUPPORTED. */
grove_status grove_carrier_no_part(grove_carrier *c, int i, int64_t begin, int64_t end);
grove_status grove_carrier_no_withdraw(grove_carrier *c, int i, double timeout, int *withdrawn);
grove_status grove_carrier_no_repost(grove_carrier *c, int i);

/* What the carriages of a context use, and leave behind. Each list is the same on every rank. */
typedef struct grove_depot {
  struct grove_graphs *graphs;   /* mpi_neighbor.c */
  struct grove_windows *windows; /* mpi_rma.c */
  int has_letters;               /* ofi_letters.c: libfabric's things go with the context */
} grove_depot;

/* The depot of a context, made at first need. This rank's failure. */
grove_status grove_depot_open(grove_context *ctx, grove_depot **out);

#ifdef __cplusplus
}
#endif

#endif
