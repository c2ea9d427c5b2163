/* Fabrics: libfabric's networks, as channels and operations on forests need them. There is nothing
 * of either in here. A process opens a fabric by the name of its provider, and has some endpoints
 * there, each with its own queue of completions. Memory that others write to is registered. A write
 * goes straight there, and brings a number along that tells the other side what has come.
 *
 *     grove_fabric *f = NULL;
 *     grove_fabric_wish wish = {.provider = "tcp;ofi_rxm", .endpoints = 2};
 *     GROVE_TRY(grove_fabric_open(&wish, &f));
 *
 *     one side                                    the other
 *     grove_fabric_tell_address   <- by MPI ->    grove_fabric_tell_address
 *     grove_fabric_reach                          grove_fabric_reach
 *                                                 grove_fabric_register, _listen
 *                                 <- by MPI --    grove_fabric_tell_region, listener.base
 *     grove_fabric_write          ------------>   (polls) listener.come(self, index)
 *     (polls) put.done(self)
 *     grove_fabric_tell           ------------>   (polls) listener.hear(self, index, note)
 *
 * Nothing here waits, and nothing goes on but in these calls: with most providers data lands only
 * while the *target* polls. That a write is done says that its source may be used again, not that
 * the bytes are there. Writes may land in any order. What comes is counted where it comes.
 *
 * What a provider can do decides the *manner* of writes:
 *
 *     data       the write brings the number along (fi_writedata)
 *     note       once a write has been delivered, a message tells its number
 *     message    the bytes travel in messages, and the listener copies them into place
 *
 * One thread at a time uses a fabric: who holds the context's lock.
 */
#ifndef GROVE_TRANSPORT_OFI_H
#define GROVE_TRANSPORT_OFI_H

#include "base/status.h"
#include "transport/ofi_library.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct grove_fabric grove_fabric;
typedef struct grove_fabric_peer grove_fabric_peer;
typedef struct grove_fabric_region grove_fabric_region;

enum {
  GROVE_FABRIC_MOST_ENDPOINTS = 16,
  GROVE_FABRIC_DEEP = 16,       /* writes under way from an endpoint */
  GROVE_FABRIC_PIECE = 1 << 13, /* the most bytes of data in a message */
  GROVE_FABRIC_NAME_BYTES = 64,
  GROVE_FABRIC_ADDRESS_BYTES = 64, /* the longest */
};

/* ---- what there is ---- */

typedef enum grove_fabric_manner {
  GROVE_FABRIC_AUTO, /* the first of these that the provider has */
  GROVE_FABRIC_DATA,
  GROVE_FABRIC_NOTE,
  GROVE_FABRIC_MESSAGE,
} grove_fabric_manner;

const char *grove_fabric_manner_name(grove_fabric_manner manner);

typedef struct grove_fabric_about {
  char provider[GROVE_FABRIC_NAME_BYTES]; /* as fi_info has it: "tcp;ofi_rxm" */
  char domain[GROVE_FABRIC_NAME_BYTES];   /* the card or interface */
  char network[GROVE_FABRIC_NAME_BYTES];
  grove_fabric_manner manner; /* the best it has, or the one asked for */
  int64_t largest;            /* bytes of a write */
  int64_t data_bytes;         /* of the number; 0: none */
  int64_t most_endpoints;
  int within_host;       /* it reaches ranks of this host only */
  int registers_sources; /* what is written from must be registered too */
  int by_address;        /* memory is known by its address; else by the distance in a region */
  int gives_keys;        /* the provider chooses keys */
  int per_endpoint;      /* a region belongs to one endpoint */
  int takes_receives;    /* a number that comes uses up a posted receive */
  int polled;            /* it goes on in calls only */
  int has_tags;          /* messages with tags, which come in order (ofi_tagged.h) */
  int rank;              /* among what is open to all hosts: the least is best; -1: not for Grove */
} grove_fabric_about;

/* What there is, in libfabric's order, of one provider or ("") all. `why` receives what libfabric
 * says if there is nothing. The caller frees the list. */
grove_status grove_fabric_list(const char *provider, grove_fabric_about **out, int *n);

/* ---- one of them ---- */

typedef struct grove_fabric_wish {
  const char *provider; /* "tcp;ofi_rxm", or with a domain: "tcp;ofi_rxm@eth0"; "" or "auto": the
                         * best that reaches other hosts, or: */
  int within_host;      /* one for ranks of this host, if there is one */
  int endpoints;        /* at least 1; there may be fewer in the end */
  grove_fabric_manner manner;
} grove_fabric_wish;

/* GROVE_ERR_UNSUPPORTED: libfabric, or such a provider, is not here. */
grove_status grove_fabric_open(const grove_fabric_wish *wish, grove_fabric **out);
/* Regions go too. What is under way is lost; nobody is told. */
void grove_fabric_close(grove_fabric **f);

const grove_fabric_about *grove_fabric_describe(const grove_fabric *f);
int grove_fabric_endpoints(const grove_fabric *f);
/* Writes that have left from one of them, from the beginning. */
int64_t grove_fabric_writes(const grove_fabric *f, int endpoint);

/* ---- the others ---- */

/* Where a process can be reached. */
typedef struct grove_fabric_address {
  char provider[GROVE_FABRIC_NAME_BYTES];
  int64_t endpoints;
  char of[GROVE_FABRIC_MOST_ENDPOINTS][GROVE_FABRIC_ADDRESS_BYTES];
} grove_fabric_address;

/* So much of it has to be sent. */
static inline int64_t grove_fabric_address_bytes(const grove_fabric_address *address)
{
  return (int64_t)(address->of[address->endpoints] - (const char *)address);
}

void grove_fabric_tell_address(const grove_fabric *f, grove_fabric_address *out);

/* The process with this address; the same again if it is known. It goes with the fabric. */
grove_status grove_fabric_reach(grove_fabric *f, const grove_fabric_address *address,
                                grove_fabric_peer **out);

/* How many endpoints both have. */
int grove_fabric_peer_endpoints(const grove_fabric_peer *peer);

/* ---- memory ---- */

/* What another process needs to write to a region. */
typedef struct grove_fabric_target {
  uint64_t base;
  int32_t nkeys, unused;
  uint64_t keys[GROVE_FABRIC_MOST_ENDPOINTS];
} grove_fabric_target;

/* Makes memory known, for others to write to (`is_target`), or for writes from here. NULL if there
 * are no bytes, or if the provider need not know. */
grove_status grove_fabric_register(grove_fabric *f, void *memory, int64_t bytes, int is_target,
                                   grove_fabric_region **out);
/* From now on nobody can write there; NULL is none. */
void grove_fabric_unregister(grove_fabric *f, grove_fabric_region **region);
void grove_fabric_tell_region(const grove_fabric_region *region, grove_fabric_target *out);

/* Registrations of this process, of all fabrics. */
int64_t grove_fabric_regions(void);

/* ---- what comes ---- */

/* A message. Data may follow it. */
typedef struct grove_fabric_note {
  uint32_t number; /* a listener's base, and an index */
  uint32_t kind;   /* one of the following, or the user's own */
  int64_t word[3];
} grove_fabric_note;

enum {
  GROVE_FABRIC_CAME = 1, /* for the fabric itself: as if a write had brought the number */
  GROVE_FABRIC_RUN,      /* word: bytes from `offset`, so many, have been written */
  GROVE_FABRIC_BYTES,    /* the same, but they follow, and are to be copied */
  GROVE_FABRIC_BYE,      /* the user's; the answer to a last note, if nobody hears it any more */
  GROVE_FABRIC_OWN = 16, /* from here on kinds are the user's */
};

/* Who is to hear of `n` numbers from `base`. A fabric has 2^31 of them. They are given out in turn,
 * so that one that was left is not soon another's. */
typedef struct grove_fabric_listener {
  void (*come)(void *self, int64_t index);
  void (*hear)(void *self, int64_t index, const grove_fabric_note *note, const char *data);
  void *self;
  uint32_t base; /* set by: */
  int64_t n;
} grove_fabric_listener;

/* The listener is the caller's, and stays where it is until it leaves. GROVE_ERR_UNSUPPORTED: there
 * are not as many numbers left in a row. */
grove_status grove_fabric_listen(grove_fabric *f, grove_fabric_listener *listener, int64_t n);
void grove_fabric_leave(grove_fabric *f, grove_fabric_listener *listener);

/* ---- what goes ---- */

typedef struct grove_fabric_put {
  const grove_fabric_peer *peer;
  int64_t endpoint; /* taken modulo those that both have */
  const char *from;
  const grove_fabric_region *source; /* NULL: the provider need not know it */
  int64_t bytes;                     /* 1 to about.largest */
  const grove_fabric_target *target;
  int64_t offset;  /* in the target */
  uint32_t number; /* what the listener is told, */
  int is_run;      /* or that it is a run: for bytes that have no number of their own */
  /* So many bytes need their source no more, or all is lost; then the sentence is this thread's
   * last one. May be NULL. */
  void (*done)(void *self, grove_status status, int64_t bytes);
  void *self;
} grove_fabric_put;

/* `taken`: so many bytes are on their way. Those that are not must be offered again later. */
grove_status grove_fabric_write(grove_fabric *f, const grove_fabric_put *put, int64_t *taken);

/* A note; `taken` is 0 if it must be offered again later. */
grove_status grove_fabric_tell(grove_fabric *f, const grove_fabric_peer *peer, int64_t endpoint,
                               const grove_fabric_note *note, int *taken);

/* The same for what may not get lost: it is kept until it can leave. This rank's failure. */
grove_status grove_fabric_say(grove_fabric *f, const grove_fabric_peer *peer, int64_t endpoint,
                              const grove_fabric_note *note);

/* Has something said to it not left yet? */
int grove_fabric_keeps(const grove_fabric *f, const grove_fabric_peer *peer);

/* The last note of a listener that leaves. The other side will say GROVE_FABRIC_BYE, now or because
 * it leaves too. Until then the fabric should not be closed: what the other side has not read would
 * be lost with the connection. */
grove_status grove_fabric_say_last(grove_fabric *f, const grove_fabric_peer *peer,
                                   const grove_fabric_note *note);

/* Somebody waits for the first word of another process (1), or does so no more (-1). Connections
 * are made in polls, and some providers look after them only in every hundredth. */
void grove_fabric_hurry(grove_fabric *f, int more);

/* Moves everything on, and tells listeners and writers. A failure that is nobody's. */
grove_status grove_fabric_poll(grove_fabric *f);

/* The same for several users who are called one after the other, again and again: one of them polls
 * for all. `mine` is the caller's; it begins as grove_fabric_turn. */
grove_status grove_fabric_poll_in_turn(grove_fabric *f, unsigned *mine);
unsigned grove_fabric_turn(const grove_fabric *f);

/* Whoever is `self` is not told any more. */
void grove_fabric_forget(grove_fabric *f, const void *self);

/* Is nothing under way from here, nothing kept, and every last note answered? */
int grove_fabric_is_quiet(const grove_fabric *f);

#ifdef __cplusplus
}
#endif

#endif
