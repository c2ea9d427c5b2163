/* Ways: what carries runs of bytes from a sender's message to the receiver's. Each is a table of
 * functions. The sender chooses one and tells the receiver in its offer.
 *
 *     sender                                receiver
 *     offer(c, &greeting)       -- greeting -->     accept(c, &greeting, &answer)
 *     tie(c, &answer)       <-- answer --
 *     open(c)  a round                      open(c)
 *     post(c, offset, bytes) ...
 *     advance(c)                            advance(c) -> grove_channel_take
 *     close(c)                              close(c)
 *
 * Whoever drives calls these, except post of a way `by_threads`.
 */
#ifndef GROVE_PARTITIONED_WAY_H
#define GROVE_PARTITIONED_WAY_H

#include "partitioned/channel.h"
#include "partitioned/shelf.h"

#include "transport/ofi.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What way_ofi adds to a greeting. */
typedef struct grove_fabric_greeting {
  int64_t runs;                 /* what leaves is not always a group */
  int64_t number;               /* the base of those that this end hears of */
  int64_t round;                /* of the receiver */
  grove_fabric_target target;   /* its message */
  grove_fabric_address address; /* last: it is sent only as far as it goes */
} grove_fabric_greeting;

/* What one end tells the other, once. */
typedef struct grove_greeting {
  int64_t is_offer; /* of a sender; otherwise the answer of a receiver */
  int64_t tag, number;
  int64_t bytes, parts;
  /* an offer: */
  int64_t way;        /* an index into grove_ways */
  int64_t aggregator; /* an index into grove_aggregators */
  int64_t groups;     /* into which the parts are cut evenly */
  int64_t chunk;      /* the most bytes of a message */
  grove_spot queue;   /* way_shm */
  int64_t shares;     /* `array` tells where the message lies, in shared memory */
  grove_spot array;   /* of either end */
  /* an answer: */
  int64_t fits;   /* otherwise the ends do not fit together */
  int64_t no_way; /* they fit, but the receiver could not make its end: a grove_status */
  int64_t mpi_tag;
  /* way_ofi, and otherwise not sent: */
  grove_fabric_greeting fabric;
} grove_greeting;

typedef struct grove_way_kind {
  const char *name;  /* for people: as option transport_parts spells it */
  int by_threads;    /* any thread may post */
  int before_answer; /* a sender may post before the receiver has answered */
  grove_status (*offer)(grove_channel *c, grove_greeting *greeting);
  grove_status (*accept)(grove_channel *c, const grove_greeting *offer, grove_greeting *answer);
  grove_status (*tie)(grove_channel *c, const grove_greeting *answer);
  /* A round of either end begins. */
  grove_status (*open)(grove_channel *c);
  /* By threads: `advance` takes later what finds no room now. */
  grove_status (*post)(grove_channel *c, int64_t offset, int64_t bytes);
  grove_status (*advance)(grove_channel *c);
  /* Sender: is nothing that was posted still in its array? */
  int (*is_quiet)(const grove_channel *c);
  /* Sender: does something that was posted go on only while somebody calls? */
  int (*needs_calls)(const grove_channel *c);
  /* Freed while a round is under way. Receiver: nothing is written to its array any more. Sender:
   * `data` lies elsewhere now, except for what was posted. */
  grove_status (*detach)(grove_channel *c);
  /* Does a freed receiver's end stay until what was sent has come? */
  int sees_through;
  void (*close)(grove_channel *c);
} grove_way_kind;

extern const grove_way_kind grove_way_groups, grove_way_runs, grove_way_shm, grove_way_ofi;
extern const grove_way_kind *const grove_ways[]; /* ends with NULL */
int64_t grove_way_index(const grove_way_kind *way);

/* How far a message to this peer goes, for prices: over libfabric, if an option says so. */
grove_locality grove_way_distance(const grove_context *ctx, int peer);
/* The sender's choice, by options, place and plan; over libfabric the plan may be another one. And
 * the choice among ways over MPI. */
grove_status grove_way_choose(grove_channel *c);
void grove_way_choose_messages(grove_channel *c);

/* Parts before group g of n, where the parts are cut evenly. */
static inline int64_t grove_even_group(int64_t parts, int64_t n, int64_t g)
{
  return parts / n * g + (g < parts % n ? g : parts % n);
}

/* Are the groups of a round settled, and follow from their number? */
static inline int grove_way_has_even_groups(const grove_channel *c)
{
  int64_t n = c->plan.ngroups;
  int even = !c->aggregator->runs;
  for (int64_t g = 0; even && g < n; g++)
    even = c->plan.first[g] == grove_even_group(c->parts, n, g);
  return even;
}

/* Does data flow? */
static inline int grove_channel_flows(const grove_channel *c)
{
  return c->bond == GROVE_BOND_TIED ||
         (c->bond == GROVE_BOND_SOUGHT && c->sends && c->way->before_answer);
}

/* ---- the other end (match.c) ---- */

/* Takes the next number for this peer and tag. */
grove_status grove_match_number(grove_channel *c);

/* Looks for the other end; a sender sends its offer. */
grove_status grove_match_seek(grove_channel *c, const grove_greeting *offer);
/* Sends a greeting to the peer. */
grove_status grove_match_tell(grove_channel *c, const grove_greeting *greeting);
/* The end is freed: nobody looks for it any more. */
void grove_match_leave(grove_channel *c);
/* Hands what has come to the end it is for. */
grove_status grove_match_poll(grove_context *ctx);

/* The first of this many MPI tags for messages from this peer. Tags are not used again: a sender
 * that is ahead may have sent what nobody will receive. */
grove_status grove_match_tags(grove_channel *c, int64_t n, int64_t *first);

/* Memory for queues. */
grove_shelf *grove_match_shelf(grove_context *ctx);

/* ---- requests of MPI (way_groups.c) ---- */

/* Takes back a receive that is under way; it may come meanwhile. */
grove_status grove_way_withdraw(const grove_channel *c, MPI_Request *request, int *withdrawn);

#ifdef __cplusplus
}
#endif

#endif
