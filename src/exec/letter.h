/* A letter is all that goes to one rank in one stage. It has a section for each field with data for
 * that rank. A letter of one operation is in a *state*; over shared memory it travels as a *flow*.
 */
#ifndef GROVE_EXEC_LETTER_H
#define GROVE_EXEC_LETTER_H

#include "context/context.h"
#include "pack/pack.h"
#include "plan/plan.h"
#include "transport/shm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Sections of a letter begin on multiples of this, so that every basic type is aligned. */
enum { GROVE_SECTION_ALIGNMENT = 16 };

/* What one field puts into a letter. */
typedef struct grove_section {
  int field;
  grove_array array;
  int far_hub;       /* at the other end, the section lies in a hub */
  grove_shape shape; /* in the cheapest form for this unit */
  int64_t at, bytes; /* in the letter */
  int64_t unit_bytes;
} grove_section;

/* All that goes to one rank, or comes from it, in one stage. Empty letters do not travel. */
typedef struct grove_letter {
  int peer;
  int forwards; /* of a receive: a later stage takes the data from here */
  int nsections;
  grove_section *sections;
  int64_t data;     /* where the last section ends */
  int64_t bytes;    /* with the trailer */
  int inputs;       /* of a send: what must come before it can leave (feeds.c) */
  uint64_t sources; /* differs between letters with different inputs */
} grove_letter;

/* Which carrier of its stage has a letter, and under which number. */
typedef struct grove_link {
  int carrier, number;
} grove_link;

/* How far a letter of an operation is, at the start under way.
 *
 *     a send      WAITS  PACKS  LEAVES   DONE
 *     a receive   WAITS  HERE   UNPACKS  DONE
 *
 * A send waits for its inputs, a receive for its data. Where memory packs at once and the order
 * does not count, one call passes through the states in between. */
typedef enum grove_letter_state {
  GROVE_LETTER_DONE,
  GROVE_LETTER_WAITS,
  GROVE_LETTER_PACKS,   /* packing has begun */
  GROVE_LETTER_LEAVES,  /* packed: its carrier has the letter, or a fragment of it */
  GROVE_LETTER_HERE,    /* it has come, and waits for others in the order */
  GROVE_LETTER_UNPACKS, /* unpacking has begun */
} grove_letter_state;

/* A letter that a device packs or unpacks by chunks: how far it is (chunks.c). */
typedef struct grove_chunks {
  int64_t begun;          /* its first bytes, of which packing or unpacking has begun */
  int64_t gone;           /* ... over MPI: those of them that have left */
  int room, first, count; /* chunks for which it is not done: a ring of them */
  int64_t *ends;          /* where each ends in the letter; and ... */
  int64_t *marks;         /* ... what was begun for it, for each space */
} grove_chunks;

/* A letter of an operation. */
typedef struct grove_bound_letter {
  grove_letter_state state;
  int missing;          /* inputs that have not come, ... */
  int inputs;           /* ... of these: those of all letters that it stands for */
  int64_t open;         /* bytes that may leave while inputs are missing, and ... */
  int64_t gone;         /* ... bytes that have left its array or memory in parts */
  char *memory;         /* where the letter lies: in its array, or packed; NULL: never whole */
  unsigned char direct; /* ... in its array */
  unsigned char docked; /* a send: a device packs it into its dock, chunk by chunk */
  unsigned char single; /* over shared memory: waits for nothing; one fragment of an array */
  grove_chunks *chunks; /* if it travels in these */
} grove_bound_letter;

/* The other end of a section, in a hub of the other rank. */
typedef struct grove_remote {
  char *memory; /* slot 0 */
  grove_shape shape;
} grove_remote;

/* A letter under way over shared memory. It travels in fragments. These are bytes from or to
 * memory, or units that are packed straight into the ring and unpacked straight out of it. */
typedef struct grove_flow {
  grove_bound_letter bound; /* without memory: the flow moves units */
  int letter;               /* the first letter that it stands for */
  grove_shm_way way;
  grove_ring_writer *writer;        /* of a send */
  grove_ring_reader *reader;        /* of a receive */
  const grove_shm_distant *distant; /* through a hub: the other end, and ... */
  grove_remote *remotes;            /* ... that of each section; NULL: the hub is this rank's own */
  int in_place;                     /* readers take the data from its array, at `spot` */
  grove_spot spot;
  int64_t bytes; /* of the whole letter */
  int64_t at;    /* bytes that have travelled */
  int64_t held;  /* bytes that came too early, kept in `spill` */
  char *spill;
  uint64_t posted;          /* read in place: number of the item that says where, plus one */
  struct grove_flow *reply; /* of a fetch: the send that answers this receive */
  grove_dock *dock;         /* the writer's, or the one that the reader's items may tell of */
} grove_flow;

typedef struct grove_transfer grove_transfer;
typedef struct grove_bound_stage grove_bound_stage;

/* ---- where a letter may be cut (cut.c) ---- */

/* How many bytes travel next, from `at` on: whole units, at most `most` bytes. */
int64_t grove_letter_cut(const grove_letter *letter, int64_t at, int64_t most);

/* The same of what a device packs or unpacks at once. */
int64_t grove_letter_chunk(const grove_letter *letter, int64_t at);

/* How many chunks there are. */
int grove_letter_count_chunks(const grove_letter *letter);

/* What a section has of a window of its letter. */
typedef struct grove_excerpt {
  int64_t begin, units;
  int64_t offset; /* of its bytes from the beginning of the window */
} grove_excerpt;

static inline grove_excerpt grove_section_excerpt(const grove_section *p, int64_t at, int64_t bytes)
{
  if (at <= p->at && p->at + p->bytes <= at + bytes) /* as usual; divisions take their time */
    return (grove_excerpt){0, p->shape.units, p->at - at};
  int64_t from = at > p->at ? at : p->at;
  int64_t to = at + bytes < p->at + p->bytes ? at + bytes : p->at + p->bytes;
  if (from >= to) return (grove_excerpt){0, 0, 0};
  return (grove_excerpt){(from - p->at) / p->unit_bytes, (to - from) / p->unit_bytes, from - at};
}

/* ---- between arrays and letters (letter.c) ---- */

/* Bytes at .. at+bytes-1 of a letter. Both limits lie on cuts. Units for edges are combined with
 * their roots, and the old values of the roots take their place. */
grove_status grove_letter_pack(const grove_transfer *op, const grove_letter *letter, int64_t at,
                               int64_t bytes, void *data);
grove_status grove_letter_unpack(const grove_transfer *op, const grove_letter *letter, int64_t at,
                                 int64_t bytes, const void *data);

/* The same for a letter to edges, whose bytes stay where they are. */
grove_status grove_letter_fetch(const grove_transfer *op, const grove_letter *letter, int64_t at,
                                int64_t bytes, void *data);

/* The whole of letter i. Pack takes a send from WAITS through PACKS to LEAVES. Unpack takes a
 * receive from HERE through UNPACKS to DONE. Both go as far as memory allows; call them again until
 * they get there. */
grove_status grove_letter_advance_pack(grove_transfer *op, grove_bound_stage *s, int i);
grove_status grove_letter_advance_unpack(grove_transfer *op, grove_bound_stage *s, int i);

/* From one memory of a field to another. Neither is apart. */
grove_status grove_transfer_move(grove_transfer *op, const grove_section *from,
                                 const grove_section *to);

/* Self edges of stage s, from WAITS to DONE. */
grove_status grove_transfer_keep(grove_transfer *op, int s);

/* After stage s: edges that have all come meet their roots, and places their slots. */
grove_status grove_transfer_meet(grove_transfer *op, int s);

/* ---- what a device does by chunks (chunks.c) ---- */

/* With room for so many chunks under way. */
grove_status grove_chunks_create(const grove_transfer *op, int room, grove_chunks **out);

/* The next chunk of a letter has begun; it ends at this byte. */
void grove_chunks_add(grove_transfer *op, grove_chunks *c, int64_t end, grove_heading heading);

/* Is the oldest done? Then it is taken out, and `end` is where it ends. */
int grove_chunks_take(const grove_transfer *op, grove_chunks *c, grove_heading heading,
                      int64_t *end);

/* ---- letters over shared memory (flow.c) ---- */

/* Moves what can be moved now; true when the letter is through. */
int grove_flow_send(grove_transfer *op, grove_bound_stage *s, grove_flow *flow);
int grove_flow_receive(grove_transfer *op, grove_bound_stage *s, grove_flow *flow);

/* The same for a letter through a hub (hub.c). */
int grove_hub_send(grove_transfer *op, grove_bound_stage *s, grove_flow *flow);
int grove_hub_receive(grove_transfer *op, grove_bound_stage *s, grove_flow *flow);

/* Has all the data in this rank's hub been read? And: this start is through with the hub. */
int grove_hub_is_free(const grove_transfer *op);
void grove_hub_release(grove_transfer *op);

/* The same for one through a dock (dock.c). Does one come that way? May its sender be waiting for
 * room there? And the item that a send waits for. */
int grove_dock_send(grove_transfer *op, const grove_bound_stage *s, grove_flow *flow);
int grove_dock_receive(grove_transfer *op, const grove_bound_stage *s, grove_flow *flow);
int grove_dock_brings(const grove_transfer *op, const grove_flow *flow);
int grove_dock_is_full(const grove_flow *flow);
uint64_t grove_dock_awaited(const grove_flow *flow);

/* Makes room in a full ring, for a letter that must wait until others are combined. */
void grove_flow_hold(grove_transfer *op, const grove_bound_stage *s, grove_flow *flow);

/* ---- the option `check` (check.c) ---- */

/* The end of every letter under this option. */
typedef struct grove_trailer {
  uint64_t checksum;
  uint64_t sequence;
} grove_trailer;

void grove_check_seal(void *letter, int64_t bytes, int64_t sequence);
/* GROVE_ERR_CORRUPT if the letter differs from what was sent. */
grove_status grove_check_open(const grove_transfer *op, int peer, const void *letter,
                              int64_t bytes);

#ifdef __cplusplus
}
#endif

#endif
