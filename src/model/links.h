/* The links inside a node: between its GPUs, and between each GPU and the host.
 *
 * A link has a latency and a rate, for each direction of each pair. Some things carry several links
 * at once, with a rate for all together: the port of a GPU, or anything a profile names, such as
 * the memory of the host or the slot that two GPUs share. A byte that passes through such a thing
 * twice, such as one written to memory and read again, counts twice.
 *
 *     const grove_links *l = &machine->links;
 *     if (grove_link_is_there(l, 0, 1)) seconds = l->link[0][1].alpha + bytes / l->link[0][1].rate;
 */
#ifndef GROVE_MODEL_LINKS_H
#define GROVE_MODEL_LINKS_H

#include "base/status.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
  GROVE_DEVICES = 16,         /* GPUs of a node, at most */
  GROVE_HOST = GROVE_DEVICES, /* the host as the end of a link */
  GROVE_ENDS,
  GROVE_ANY_END = GROVE_ENDS, /* in a profile: every GPU, not the host */
  GROVE_SHARED_THINGS = 32,   /* with a name, at most */
  GROVE_THING_BYTES = 32      /* of a name, with the terminating zero */
};

typedef struct grove_link_cost {
  double alpha, rate; /* seconds, bytes per second; NaN: there is no such link */
} grove_link_cost;

typedef enum grove_port_way { GROVE_PORT_OUT, GROVE_PORT_IN, GROVE_PORT_WAYS } grove_port_way;

/* Which links a port carries: those to other GPUs, or also those to the host. */
typedef enum grove_port_kind { GROVE_PORT_PEERS, GROVE_PORT_ALL, GROVE_PORT_KINDS } grove_port_kind;

/* What several links cross, with its rate in bytes per second. */
typedef struct grove_shared_thing {
  char name[GROVE_THING_BYTES];
  double rate;
  uint32_t crossed[GROVE_ENDS]; /* by the links from each end to the ends whose bits are set */
} grove_shared_thing;

typedef struct grove_links {
  int devices; /* 0: the profile has no links */
  grove_link_cost link[GROVE_ENDS][GROVE_ENDS];
  double epsilon[GROVE_ENDS]; /* waiting time there before a chunk goes on; 0 if not told */
  double port[GROVE_PORT_WAYS][GROVE_PORT_KINDS][GROVE_DEVICES]; /* rates; NaN: no limit */
  int nshared;
  grove_shared_thing shared[GROVE_SHARED_THINGS];
} grove_links;

void grove_links_clear(grove_links *l);

static inline int grove_link_is_there(const grove_links *l, int from, int to)
{
  return l->link[from][to].rate > 0; /* NaN is not */
}

/* "3" or "host". */
const char *grove_end_name(int end, char room[8]);

/* ---- for the reader of profiles ---- */

/* Reads "0-1", "0-host", "any-any" (or, for one end, "3", "host", "any") as a number that sorts the
 * general before the special; -1: not such a word. */
int grove_ends_read(const char *word, int pair);

/* The ends in that number. */
static inline int grove_ends_from(int code)
{
  return code >> 8 & 255;
}
static inline int grove_ends_to(int code)
{
  return code & 255;
}

/* Does `end` of a profile's row include this end? */
static inline int grove_end_means(int end, int which)
{
  return end == which || (end == GROVE_ANY_END && which != GROVE_HOST);
}

#ifdef __cplusplus
}
#endif

#endif
