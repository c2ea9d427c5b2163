/* Messages between ranks that share memory: the rings of one wiring. The sender packs straight
 * into a ring, the receiver unpacks straight out of it. A message larger than a slot goes in
 * fragments, so that the two copies overlap; sends of the same data share a ring, and each receiver
 * reads it.
 *
 *     grove_shm_create(ctx, &plan, &shm)                  the rings that it writes, and hubs
 *     grove_shm_propose(ctx, shm, &grew)                  tells the others where
 *     (a collective step, which also takes the maximum of `grew`)
 *     grove_context_map_notices(ctx, &usable)             a further step, only if memory was added
 *     grove_shm_connect(shm)                              finds the rings that this rank reads
 *     ... grove_ring_ of shm->writers, shm->readers ...
 *     grove_shm_free(&shm)
 *
 * Hubs. What passes through a rank lies in an *area* of its part of the memory, and the others of
 * its node use it there: they *push* their units into it, and the ring only says that they are
 * there; or they *pull* units out of it once the ring says so. The owner of the area lays out
 * beside it which slots each of them means. An area is used again when all that was in it has been
 * read: a rank that pushes looks at `released`, the owner at what the readers of its rings have
 * consumed.
 *
 * When a rank of a node finds no memory for its rings, its notice says so, and all ranks of the
 * node use messages for this wiring: grove_shm_connect then sets shm->usable to 0.
 */
#ifndef GROVE_TRANSPORT_SHM_H
#define GROVE_TRANSPORT_SHM_H

#include "base/index.h"
#include "context/context.h"
#include "transport/carrier.h"
#include "transport/ring.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const grove_carrier_kind grove_carrier_shm;

/* How a message goes through the memory: copied into the ring and out of it, or through a hub, of
 * the receiver's or the sender's. */
typedef enum grove_shm_way { GROVE_SHM_COPIED, GROVE_SHM_PUSHED, GROVE_SHM_PULLED } grove_shm_way;

/* What a section of a message means of an area: its slots, in the order of the message. */
typedef struct grove_shm_view {
  int area;
  const grove_index *slots;
} grove_shm_view;

typedef struct grove_shm_message {
  int stage;
  int peer;      /* a rank of this node */
  int64_t bytes; /* of the whole message, if it is copied */
  int fragment;  /* bytes that travel at once */
  int slots;     /* that a ring should have at most, if it is large */
  int sends;     /* how many its sender has in the wiring: the more, the smaller the rings */
  int ring;      /* of a send: which of this rank's rings; sends of the same data name the same, and
                  * those that are pulled may */
  grove_shm_way way;
  int nviews;                  /* 0 where the hub is the other end's */
  const grove_shm_view *views; /* one a section */
} grove_shm_message;

/* All that one rank does in a wiring. Sends are numbered by ring: ring r comes before ring r+1. */
typedef struct grove_shm_plan {
  int nsends, nreceives, nareas;
  const grove_shm_message *sends, *receives;
  const int64_t *area_bytes;
} grove_shm_plan;

/* A section of a message in another rank's area. */
typedef struct grove_shm_remote {
  char *memory;      /* slot 0 */
  grove_index slots; /* borrowed */
} grove_shm_remote;

/* The other rank's end of a message that is pushed or pulled. */
typedef struct grove_shm_distant {
  int nsections;
  grove_shm_remote *sections;
  const uint64_t *released; /* starts that the other rank's areas are through with */
  uint64_t *left;           /* of a push: says that this rank will not come again */
} grove_shm_distant;

typedef struct grove_shm {
  grove_context *ctx;
  int usable;         /* there is memory for it */
  int connected;      /* the rings are in use */
  grove_block *block; /* holds what this rank writes, and its areas */
  char **areas;       /* NULL: it has none */
  uint64_t *released; /* see above; NULL: no areas */
  int nwriters, nreaders;
  grove_ring_writer *writers;
  grove_ring_reader *readers; /* in the order of the receives */
  grove_shm_distant *pushes;  /* a writer; empty where it does not push */
  grove_shm_distant *pulls;   /* a reader */
  int nsends, nreceives;
  grove_shm_message *sends, *receives; /* without views */
} grove_shm;

/* Bytes of a message of units that travel at once. */
int grove_shm_fragment(int64_t unit_bytes);

/* May several receivers read such a message from one ring? Only if all of it fits: else one that
 * has not started would hold the others up. */
int grove_shm_fits(const grove_shm_message *message);

/* This rank's failure; running out of shared memory is none. */
grove_status grove_shm_create(grove_context *ctx, const grove_shm_plan *plan, grove_shm **out);

/* Every rank must come here before every collective step that makes a wiring; NULL where it has no
 * rings to tell of. `grew` is set if others must map new memory. */
void grove_shm_propose(grove_context *ctx, const grove_shm *shm, int64_t *grew);

/* This rank's failure. */
grove_status grove_shm_connect(grove_shm *shm);

void grove_shm_free(grove_shm **shm);

#ifdef __cplusplus
}
#endif

#endif
