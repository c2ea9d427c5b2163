/* Packets of numbers that ranks send each other while they build a plan.
 *
 *     grove_packets packets = {0};
 *     mine = grove_packets_write(&packets, rank, 2, &words);         as often as need be
 *     GROVE_TRY(grove_packets_exchange(ctx, mine, &packets));        collective
 *     for (int i = 0; i < grove_packets_count(&packets); i++)        by ascending rank
 *       ... grove_reader r = grove_packets_read(&packets, i); ...
 *     grove_packets_free(&packets);
 *
 * A packet to oneself comes like the rest. Packets are read in place: free them when nobody needs
 * them any more.
 */
#ifndef GROVE_ROUTE_PACKETS_H
#define GROVE_ROUTE_PACKETS_H

#include "base/group.h"
#include "base/status.h"
#include "context/context.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A packet that is being written. */
typedef struct grove_outgoing {
  int64_t count;
  int64_t *words;
} grove_outgoing;

typedef struct grove_packets {
  grove_groups ranks;       /* ranks that packets are written to */
  grove_outgoing *outgoing; /* one each */
  int noutgoing;
  int ncame;
  grove_packet *came; /* from others */
  grove_packet own;   /* to itself; no data: none */
  int lower;          /* packets from lower ranks */
} grove_packets;

void grove_packets_free(grove_packets *packets);

/* Room for `n` words at the end of the packet to `rank`, until the next call. */
grove_status grove_packets_write(grove_packets *packets, int rank, int64_t n, int64_t **words);

/* Delivers all packets; those written are gone afterwards. Agreed by all. */
grove_status grove_packets_exchange(grove_context *ctx, grove_status mine, grove_packets *packets);

/* The number of packets that came. */
static inline int grove_packets_count(const grove_packets *packets)
{
  return packets->ncame + (packets->own.data != NULL);
}

/* Reads a packet from its beginning. Reading more words than it has gives zeros and sets `torn`. */
typedef struct grove_reader {
  int from;
  int torn;
  const int64_t *at, *end;
} grove_reader;

grove_reader grove_packets_read(const grove_packets *packets, int packet);

static inline int64_t grove_reader_next(grove_reader *r)
{
  if (r->at < r->end) return *r->at++;
  r->torn = 1;
  return 0;
}

/* The next `n` words, or NULL. */
static inline const int64_t *grove_reader_take(grove_reader *r, int64_t n)
{
  const int64_t *words = r->at;
  if (n < 0 || n > r->end - r->at) {
    r->torn = 1;
    return NULL;
  }
  r->at += n;
  return words;
}

#ifdef __cplusplus
}
#endif

#endif
