/* Letters: all that goes to one rank in one stage, with a section for each field that has something
 * for it. A letter of one operation is in a *state*; over shared memory it travels as a *flow*.
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

/* Sections of a letter begin on multiples of this: every basic type is aligned in them. */
enum { GROVE_SECTION_ALIGNMENT = 16 };

/* What one field puts into a letter. */
typedef struct grove_section {
  int field;
  grove_array array;
  int far_hub;       /* at the other end it lies in a hub */
  grove_shape shape; /* in the form that is cheapest for this unit */
  int64_t at, bytes; /* in the letter */
  int64_t unit_bytes;
} grove_section;

/* All that goes to one rank, or comes from it, in one stage. Empty ones do not travel. */
typedef struct grove_letter {
  int peer;
  int forwards; /* of a receive: a later stage takes it from here */
  int nsections;
  grove_section *sections;
  int64_t data;     /* where the last section ends */
  int64_t bytes;    /* with its trailer */
  int inputs;       /* of a send: what must have come before it can leave (feeds.c) */
  uint64_t sources; /* differs where the inputs do */
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
 * It waits for its inputs, or to come; where memory packs at once, and the order does not count,
 * the states in between are passed through in one call. */
typedef enum grove_letter_state {
  GROVE_LETTER_DONE,
  GROVE_LETTER_WAITS,
  GROVE_LETTER_PACKS,   /* its packing has begun */
  GROVE_LETTER_LEAVES,  /* packed: its carrier has it, or a fragment of it */
  GROVE_LETTER_HERE,    /* all of it has come, and waits for others in the order */
  GROVE_LETTER_UNPACKS, /* its unpacking has begun */
} grove_letter_state;

/* A letter of an operation. */
typedef struct grove_bound_letter {
  grove_letter_state state;
  int missing;          /* inputs that have not come, ... */
  int inputs;           /* ... of these: of all letters that it stands for */
  int64_t open;         /* bytes of it that may leave while some are missing, and ... */
  int64_t gone;         /* ... those that have left its array or memory in parts */
  char *memory;         /* where all of it lies: in its array, or packed; NULL: nowhere at once */
  unsigned char direct; /* ... in its array */
  unsigned char single; /* over shared memory: waits for nothing, and one fragment of an array */
} grove_bound_letter;

/* The other end of a section, in the hub of its rank. */
typedef struct grove_remote {
  char *memory; /* slot 0 */
  grove_shape shape;
} grove_remote;

/* A letter over shared memory, on its way. It travels in fragments: bytes from or to memory, or
 * units that are packed straight into the ring and unpacked straight out of it. */
typedef struct grove_flow {
  grove_bound_letter bound; /* without memory: units */
  int letter;               /* the first it stands for */
  grove_shm_way way;
  grove_ring_writer *writer;        /* of a send */
  grove_ring_reader *reader;        /* of a receive */
  const grove_shm_distant *distant; /* through a hub: its other end, and ... */
  grove_remote *remotes;            /* ... of each section; NULL: the hub is this rank's own */
  int in_place;                     /* the readers take it from its array, at `spot` */
  grove_spot spot;
  int64_t bytes; /* of the whole letter */
  int64_t at;    /* bytes that have travelled */
  int64_t held;  /* bytes that came too early and wait in `spill` */
  char *spill;
  uint64_t posted;          /* read in place: number of the item that says where, plus one */
  struct grove_flow *reply; /* of a fetch: the send that this receive is answered by */
} grove_flow;

typedef struct grove_transfer grove_transfer;
typedef struct grove_bound_stage grove_bound_stage;

/* ---- between arrays and letters (letter.c) ---- */

/* How many bytes travel next, from `at` on: whole units, at most `most` bytes. */
int64_t grove_letter_cut(const grove_letter *letter, int64_t at, int64_t most);

/* Bytes at .. at+bytes-1 of a letter, where a cut begins and one ends. What comes for edges is
 * combined with their roots; what these were is left in its place. */
grove_status grove_letter_pack(const grove_transfer *op, const grove_letter *letter, int64_t at,
                               int64_t bytes, void *data);
grove_status grove_letter_unpack(const grove_transfer *op, const grove_letter *letter, int64_t at,
                                 int64_t bytes, const void *data);

/* The same of a letter for edges, whose bytes stay where they are. */
grove_status grove_letter_fetch(const grove_transfer *op, const grove_letter *letter, int64_t at,
                                int64_t bytes, void *data);

/* The whole of letter i. Pack takes a send from WAITS over PACKS to LEAVES, unpack a receive from
 * HERE over UNPACKS to DONE, as far as memory is: to be called again until it is there. */
grove_status grove_letter_advance_pack(grove_transfer *op, grove_bound_stage *s, int i);
grove_status grove_letter_advance_unpack(grove_transfer *op, grove_bound_stage *s, int i);

/* From one memory of a field to another, neither of them apart. */
grove_status grove_transfer_move(grove_transfer *op, const grove_section *from,
                                 const grove_section *to);

/* Self edges of stage s, from WAITS to DONE. */
grove_status grove_transfer_keep(grove_transfer *op, int s);

/* Behind stage s: edges of which all have come meet their roots. */
grove_status grove_transfer_meet(grove_transfer *op, int s);

/* ---- letters over shared memory (flow.c) ---- */

/* Moves what can be moved now; true when the letter is through. */
int grove_flow_send(grove_transfer *op, grove_bound_stage *s, grove_flow *flow);
int grove_flow_receive(grove_transfer *op, grove_bound_stage *s, grove_flow *flow);

/* The same where the letter goes through a hub (hub.c). */
int grove_hub_send(grove_transfer *op, grove_bound_stage *s, grove_flow *flow);
int grove_hub_receive(grove_transfer *op, grove_bound_stage *s, grove_flow *flow);

/* Has all been read that lay in this rank's hub? And: this start is through with it. */
int grove_hub_is_free(const grove_transfer *op);
void grove_hub_release(grove_transfer *op);

/* Makes room in a ring that is full, for a letter that others must be combined before. */
void grove_flow_hold(grove_transfer *op, const grove_bound_stage *s, grove_flow *flow);

/* ---- the option `check` (check.c) ---- */

/* What every letter then ends with. */
typedef struct grove_trailer {
  uint64_t checksum;
  uint64_t sequence;
} grove_trailer;

void grove_check_seal(void *letter, int64_t bytes, int64_t sequence);
/* GROVE_ERR_CORRUPT if the letter is not what was sent. */
grove_status grove_check_open(const grove_transfer *op, int peer, const void *letter,
                              int64_t bytes);

#ifdef __cplusplus
}
#endif

#endif
