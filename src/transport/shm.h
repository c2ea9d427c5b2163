/* Messages between ranks that share memory: the rings of one wiring. The sender packs straight into
 * a ring, the receiver unpacks straight out of it. A message larger than a slot goes in fragments,
 * so that the two copies overlap. Sends of the same data share a ring, and each receiver reads it.
 *
 *     grove_shm_create(ctx, &plan, &shm)                  the rings that it writes, and hubs
 *     grove_shm_propose(ctx, shm, &grew)                  tells the others where
 *     (a collective step, which also takes the maximum of `grew`)
 *     grove_context_map_notices(ctx, &usable)             a further step, only if memory was added
 *     grove_shm_connect(shm)                              finds the rings that this rank reads
 *     ... grove_ring_ of shm->writers, shm->readers ...
 *     grove_shm_free(&shm)
 *
 * Hubs. What passes through a rank lies in an *area* of its part of the memory, where the other
 * ranks of its node use it. They *push* their units into it, and the ring only says that they are
 * there. Or they *pull* units out of it once the ring says so. Beside the area, its owner lays out
 * which slots each of them uses. An area is used again when all its data has been read. A rank that
 * pushes looks at `released`; the owner looks at what the readers of its rings have consumed.
 *
 * Docks. What a device packs for another rank of the node is copied by the device, so it goes in
 * chunks that are larger than fragments. Beside its ring, a sender with such messages has a *dock*:
 * room for a few chunks. An item of the ring says where one lies. The receiver's device reads it
 * there, and is done with the item when it has. Whether there is a dock is the sender's affair.
 *
 * If a rank of a node finds no memory for its rings, its notice says so, and all ranks of the node
 * use messages for this wiring. grove_shm_connect then sets shm->usable to 0.
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

/* How a message goes through the memory: copied into the ring and out of it; through a hub, the
 * receiver's or the sender's; or, in an operation with a device, through the sender's dock. */
typedef enum grove_shm_way {
  GROVE_SHM_COPIED,
  GROVE_SHM_PUSHED,
  GROVE_SHM_PULLED,
  GROVE_SHM_DOCKED
} grove_shm_way;

/* Two chunks are copied, out of one device and to another, while two are on their way through ring
 * and acknowledgement. */
enum { GROVE_DOCK_SLOTS = 4 };

typedef struct grove_dock {
  char *memory; /* NULL: there is none */
  int slots;    /* of `stride` bytes */
  int64_t stride;
  grove_spot spot;                   /* of the memory */
  uint64_t next;                     /* the sender's: chunk that is put there next, and ... */
  uint64_t posted[GROVE_DOCK_SLOTS]; /* ... number of the item that told of a slot, plus one */
} grove_dock;

/* What an item holds that only says where data lies. */
typedef struct grove_whereabouts {
  grove_spot spot;
  int64_t bytes;
} grove_whereabouts;

/* The slots of an area that a section uses, in the order of the message. */
typedef struct grove_shm_view {
  int area;
  const grove_index *slots;
} grove_shm_view;

typedef struct grove_shm_message {
  int stage;
  int peer;      /* a rank of this node */
  int64_t bytes; /* of the whole message, if it is copied */
  int fragment;  /* bytes that travel at once */
  int slots;     /* the most that a ring should have, if it is large */
  int64_t chunk; /* of a send that wants a dock: the most bytes that it puts there at once */
  int sends;     /* how many its sender has in the wiring: the more, the smaller the rings */
  int ring;      /* of a send: which of this rank's rings; sends of the same data name the same, and
                  * those that are pulled may */
  grove_shm_way way;
  int nviews;                  /* 0 if the hub is the other end's */
  const grove_shm_view *views; /* one per section */
} grove_shm_message;

/* All that one rank does in a wiring. Sends are sorted by ring. */
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
  uint64_t *left;           /* of a push: tells that this rank will not come again */
} grove_shm_distant;

typedef struct grove_shm {
  grove_context *ctx;
  int usable;         /* there is memory for it */
  int connected;      /* the rings are in use */
  grove_block *block; /* what this rank writes, and its areas */
  char **areas;       /* NULL: it has none */
  uint64_t *released; /* see above; NULL: no areas */
  int nwriters, nreaders;
  grove_ring_writer *writers;
  grove_ring_reader *readers; /* in the order of the receives */
  grove_shm_distant *pushes;  /* per writer; empty if it does not push */
  grove_shm_distant *pulls;   /* per reader */
  grove_dock *docks;          /* per writer */
  grove_dock *far_docks;      /* per reader */
  int nsends, nreceives;
  grove_shm_message *sends, *receives; /* without views */
} grove_shm;

/* The bytes that travel at once of a message of such units. */
int grove_shm_fragment(int64_t unit_bytes);

/* May several receivers read such a message from one ring? Only if all of it fits: otherwise a
 * receiver that has not started would hold up the others. */
int grove_shm_fits(const grove_shm_message *message);

/* This rank's failure. Running out of shared memory is not a failure. */
grove_status grove_shm_create(grove_context *ctx, const grove_shm_plan *plan, grove_shm **out);

/* Every rank must call this before every collective step that makes a wiring, with NULL if it has
 * no rings to tell of. `grew` is set if others must map new memory. */
void grove_shm_propose(grove_context *ctx, const grove_shm *shm, int64_t *grew);

/* This rank's failure. */
grove_status grove_shm_connect(grove_shm *shm);

void grove_shm_free(grove_shm **shm);

#ifdef __cplusplus
}
#endif

#endif
