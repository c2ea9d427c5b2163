/* Operations. A *channel* is what all ranks agree on once: the operation, the plan, the size of a
 * unit, a tag. An *operation* is what the user holds: on a channel, bound to a datatype, an MPI_Op
 * and two arrays, with memory for the messages that need packing. grove_bcast_init makes a channel
 * of its own; grove_bcast_begin looks for one in the forest and borrows an idle operation there.
 *
 *     init.c      the calls that make operations      run.c    start, advance, finish
 *     channel.c   finding and making channels         flow.c   messages over shared memory
 *     wire.c      what goes over which transport      wait.c   start, test, wait, end, report
 *     bind.c      arrays to messages                  free.c   freeing in any state
 *     predict.c   what the model says it will take
 */
#ifndef GROVE_EXEC_OP_H
#define GROVE_EXEC_OP_H

#include "context/context.h"
#include "forest/forest.h"
#include "model/price.h"
#include "pack/pack.h"
#include "plan/plan.h"
#include "transport/mpi_p2p.h"
#include "transport/shm.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum grove_operation { GROVE_BCAST, GROVE_REDUCE } grove_operation;

const char *grove_operation_name(grove_operation operation);

/* What a call asks for. */
typedef struct grove_request {
  grove_operation operation;
  const char *call;
  grove_forest *forest;
  MPI_Datatype unit;
  MPI_Op op;
  const void *from;
  void *to;
  grove_op **out;
} grove_request;

/* ---- which datatype (identity.c) ---- */

/* Which datatype an operation was made for. A handle alone would not do: MPI gives the handle of a
 * freed type to the next one. Derived types carry this as an attribute, which dies with them. */
typedef struct grove_identity {
  int references; /* atomic */
} grove_identity;

/* NULL for a named type. Borrowed from the type. */
grove_status grove_identity_of(MPI_Datatype type, grove_identity **out);
void grove_identity_hold(grove_identity *identity);
void grove_identity_release(grove_identity *identity);

/* ---- channels (channel.c) ---- */

/* What tells calls of _begin apart: facts that are the same on every rank, no handles and no
 * addresses, so that all ranks find a channel or none does. */
typedef struct grove_channel_key {
  grove_operation operation;
  int64_t unit_bytes;
  grove_kind unit_kind;
  int op_number;  /* of a predefined operation; all users' are one */
  int shared;     /* values may be sent once */
  int generation; /* of the context's options */
} grove_channel_key;

/* A stage of the plan, ready for this unit and these transports. Its messages are numbered:
 * receives, then sends. Those over MPI have a number there, in the same order; those over shared
 * memory belong to a flow, which on the sending side may stand for several messages with the same
 * data. */
typedef struct grove_wired_stage {
  int nmessages;
  grove_shape *shapes; /* of the messages, in the forms that are cheapest for this unit */
  grove_shape keep_from, keep_to;
  int *via; /* message i goes over MPI with number via[i] >= 0, or belongs to flow ~via[i] */
  int np2p_receives, np2p_sends;
  int *p2p; /* which message each number is */
  int nflows_in, nflows_out;
  int *flows; /* the first message of each flow, receives first */
} grove_wired_stage;

typedef struct grove_channel {
  int references;             /* operations on it, and the pool it is in */
  struct grove_channel *next; /* in the pool of its forest */
  grove_channel_key key;
  grove_context *ctx;     /* not held: the operations do that through their forest */
  const grove_plan *plan; /* in the direction of the data; belongs to the forest */
  int nstages;
  grove_wired_stage *stages;
  int uses_shm;   /* inside the node */
  grove_shm *shm; /* its rings there */
  grove_counts counts;
  int rank;
  int tag;           /* 0: none yet */
  int check;         /* with checksums */
  int64_t piece;     /* bytes that travel at once over shared memory */
  int persistent;    /* arrays never change: requests are made once */
  int tally;         /* row of the summary; -1: none is kept */
  int64_t sequence;  /* starts so far */
  grove_op *members; /* of a pool: all operations that are idle, active or abandoned */
  grove_price price; /* this rank's own part of the model's price; NaN: not known */
  double predicted;  /* seconds of the slowest rank, by the model */
  char machine[64];  /* the name of the profile that said so */
} grove_channel;

grove_channel_key grove_channel_key_of(const grove_request *r, const grove_unit *unit,
                                       const grove_combine *combine);

/* A channel without a tag, with shared memory as far as this rank can have it. This rank's
 * failure. */
grove_status grove_channel_create(const grove_request *r, const grove_channel_key *key,
                                  int persistent, grove_channel **out);
void grove_channel_release(grove_channel *channel);

/* ---- what goes over which transport (wire.c) ---- */

/* Makes the stages of a channel. This rank's failure. */
grove_status grove_channel_wire(grove_channel *channel);
void grove_channel_unwire(grove_channel *channel);

/* The model's price of this rank's part of the channel's plan (predict.c). */
grove_price grove_channel_predict(const grove_channel *channel);

/* The collective step that gives a channel its tag and its prediction, and settles whether its node
 * has the memory: if not, `rewired` is set. `channel` is NULL where `mine` is a failure. Agreed by
 * all. */
grove_status grove_channel_agree(grove_context *ctx, grove_status mine, int64_t signature,
                                 grove_channel *channel, int *rewired);

/* The channel of the forest's pool with this key, or NULL; and putting one there. */
grove_channel *grove_channel_find(const grove_forest *f, const grove_channel_key *key);
/* The one after `last` (NULL: the first) for this operation under today's options, or NULL. */
grove_channel *grove_channel_next(const grove_forest *f, const grove_channel *last,
                                  grove_operation operation);
grove_status grove_channel_pool(grove_forest *f, grove_channel *channel);

/* Bytes of a message, with its trailer. */
int64_t grove_message_bytes(const grove_channel *channel, const grove_shape *shape);

/* ---- operations (bind.c) ---- */

/* A message over shared memory, on its way. It travels in pieces: bytes from or to memory, or units
 * that are packed straight into the ring and unpacked straight out of it. */
typedef struct grove_flow {
  int message;               /* the first it stands for */
  int done;                  /* this time */
  int packed;                /* into staging, this time */
  grove_ring_writer *writer; /* of a send */
  grove_ring_reader *reader; /* of a receive */
  char *memory;              /* where the bytes are: the array, or staging; NULL: units */
  int direct;                /* `memory` is in the array */
  int single;                /* ... and the message is one piece */
  int in_place;              /* ... and the readers take it from there, at `spot` */
  grove_spot spot;
  int64_t bytes; /* of the whole message */
  int64_t at;    /* bytes that have travelled */
  int64_t held;  /* bytes that came before their turn and wait in `spill` */
  char *spill;
  uint64_t posted; /* read in place: number of the item that says where, plus one */
} grove_flow;

/* A stage of the plan with memory and requests. */
typedef struct grove_bound_stage {
  const grove_stage *plan;
  const grove_wired_stage *wired;
  int nreceives, nsends;
  grove_p2p *p2p; /* NULL: no messages over MPI */
  void **staging; /* a message's packed form; NULL: it travels from or to the array itself */
  unsigned char *arrived;
  int nsendings;        /* sends over MPI, and flows */
  int to_come, to_send; /* receives and sendings that are not through */
  int nflows_in, nflows;
  grove_flow *flows; /* receives first */
  int next;          /* receive to be combined next, where the order counts */
  int kept;          /* self edges are done */
} grove_bound_stage;

typedef enum grove_op_state {
  GROVE_OP_IDLE,
  GROVE_OP_ACTIVE,
  GROVE_OP_DONE, /* complete, and nobody was told */
  GROVE_OP_TOLD  /* by a test: it may be waited for, or started again */
} grove_op_state;

struct grove_op {
  grove_active active; /* first: the context knows operations by it */
  grove_context *ctx;
  grove_forest *forest; /* held; NULL once abandoned or idle in a pool */
  grove_channel *channel;
  grove_op *next_member;
  grove_mover mover;
  MPI_Datatype type; /* the user's own, only to compare */
  grove_identity *identity;
  grove_op_state state;
  int begun;     /* by a _begin: belongs to the pool */
  int abandoned; /* freed while active */
  int unusable;  /* a start failed */
  int timed;     /* the start under way is */
  const char *from;
  char *to;
  int nstages;
  grove_bound_stage *stages;
  int current;  /* stage under way */
  void *memory; /* behind all staging */
  void *keep;   /* a chunk of self edges on their way */
  int64_t keep_units;
  int64_t sequence; /* of the start under way */
  int64_t starts, timed_starts;
  double since, seconds; /* of the timed ones */
  grove_status failure;  /* met while advancing; told by the next test or wait */
  char *sentence;
};

/* An operation on the channel, without arrays and requests. Takes `unit` over on success. This
 * rank's failure. */
grove_status grove_op_create(grove_channel *channel, const grove_request *r, const grove_unit *unit,
                             const grove_combine *combine, grove_op **out);
/* Its requests; the channel has its tag by now. After a fallback to messages (`rewired`) memory for
 * those too. */
grove_status grove_op_connect(grove_op *op, int rewired);
/* The arrays it works on. */
grove_status grove_op_set_arrays(grove_op *op, const void *from, void *to);
void grove_op_destroy(grove_op *op);

/* ---- under way (run.c) ---- */

grove_status grove_op_run(grove_op *op);
void grove_op_advance(grove_active *active);

/* Keeps the first failure; the user hears of it from test or wait. */
void grove_op_note(grove_op *op, grove_status status);

/* Between the arrays and message i, when it is complete in its staging memory. */
grove_status grove_op_pack(grove_op *op, grove_bound_stage *s, int i);
grove_status grove_op_unpack(grove_op *op, grove_bound_stage *s, int i);

/* ---- messages over shared memory (flow.c) ---- */

/* Moves what can be moved now; true when the message is through. */
int grove_flow_send(grove_op *op, grove_bound_stage *s, grove_flow *flow);
int grove_flow_receive(grove_op *op, grove_bound_stage *s, grove_flow *flow);

/* Takes what is left of a send out of the array. */
void grove_flow_save(grove_op *op, grove_bound_stage *s, grove_flow *flow);

/* Makes room in a ring that is full, for a message whose turn to be combined has not come. */
void grove_flow_hold(grove_op *op, grove_flow *flow);

/* ---- freeing (free.c) ---- */

/* Gives an operation that was begun, and is complete, back to its pool. */
void grove_op_put_back(grove_op *op);

/* Takes the operation off the list of its channel's members. */
void grove_op_leave(grove_op *op);

/* ---- the option `check` (check.c) ---- */

/* What every message then ends with. */
typedef struct grove_trailer {
  uint64_t checksum;
  uint64_t sequence;
} grove_trailer;

void grove_check_seal(void *message, int64_t bytes, int64_t sequence);
/* GROVE_ERR_CORRUPT if the message is not what was sent. */
grove_status grove_check_open(const grove_op *op, int peer, const void *message, int64_t bytes);
/* GROVE_ERR_ARG if a slot that is read is also written. */
grove_status grove_check_overlap(const grove_channel *channel, const grove_unit *unit,
                                 const void *from, const void *to);

#ifdef __cplusplus
}
#endif

#endif
