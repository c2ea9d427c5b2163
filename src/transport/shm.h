/* Messages between ranks that share memory: the rings of one channel. The sender packs straight
 * into a ring, the receiver unpacks straight out of it. A message larger than a slot goes in
 * pieces, so that the two copies overlap; sends of the same data share a ring, and each receiver
 * reads it.
 *
 *     grove_shm_create(ctx, nsends, sends, nreceives, receives, &shm)    the rings that it writes
 *     grove_shm_propose(ctx, shm, &grew)                  tells the others where
 *     (a collective step, which also takes the maximum of `grew`)
 *     grove_context_map_notices(ctx, &usable)             a further step, only if memory was added
 *     grove_shm_connect(shm)                              finds the rings that this rank reads
 *     ... grove_ring_ of shm->writers, shm->readers ...
 *     grove_shm_free(&shm)
 *
 * When a rank of a node finds no memory for its rings, its notice says so, and all ranks of the
 * node use messages for this channel: grove_shm_connect then sets shm->usable to 0.
 */
#ifndef GROVE_TRANSPORT_SHM_H
#define GROVE_TRANSPORT_SHM_H

#include "context/context.h"
#include "transport/ring.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct grove_shm_message {
  int stage;
  int peer;      /* a rank of this node */
  int64_t bytes; /* of the whole message */
  int piece;     /* bytes that travel at once */
  int slots;     /* that a ring should have at most, if it is large */
  int sends;     /* how many its sender has in the channel: the more, the smaller the rings */
  int ring;      /* of a send: which of this rank's rings; sends of the same data name the same */
} grove_shm_message;

typedef struct grove_shm {
  grove_context *ctx;
  int usable;         /* there is memory for it */
  int connected;      /* the rings are in use */
  grove_block *block; /* holds the rings that this rank writes */
  int nwriters, nreaders;
  grove_ring_writer *writers;
  grove_ring_reader *readers; /* in the order of the receives */
  grove_shm_message *receives;
} grove_shm;

/* Bytes of a message of units that travel at once. */
int grove_shm_piece(int64_t unit_bytes);

/* May several receivers read such a message from one ring? Only if all of it fits: else one that
 * has not started would hold the others up. */
int grove_shm_fits(const grove_shm_message *message);

/* Sends are numbered by ring: ring r comes before ring r + 1. This rank's failure; running out of
 * shared memory is none. */
grove_status grove_shm_create(grove_context *ctx, int nsends, const grove_shm_message *sends,
                              int nreceives, const grove_shm_message *receives, grove_shm **out);

/* Every rank must come here before every collective step that makes a channel; NULL where it has no
 * rings to tell of. `grew` is set if others must map new memory. */
void grove_shm_propose(grove_context *ctx, const grove_shm *shm, int64_t *grew);

/* This rank's failure. */
grove_status grove_shm_connect(grove_shm *shm);

void grove_shm_free(grove_shm **shm);

#ifdef __cplusplus
}
#endif

#endif
