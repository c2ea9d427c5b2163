/* Operations. A *wiring* is what all ranks agree on once: the operation, the plan, the size of a
 * unit, a tag. An *operation* is what the user holds: on a wiring, bound to a datatype, an MPI_Op
 * and arrays, with memory for the messages that need packing. grove_bcast_init makes a wiring of
 * its own; grove_bcast_begin looks for one in the forest and borrows an idle operation there.
 *
 * What moves is a *field*: units of one type along one plan. Most operations have one, a bundle has
 * those of its members. All that goes to one rank in one stage is a *letter*, with a section for
 * each field that has something for it.
 *
 *     calls.c     the public calls                    run.c    start, advance, finish
 *     init.c      making operations                   flow.c   letters over shared memory
 *     routing.c   which route it takes                wait.c   start, test, wait, end, report
 *     plans.c     the plans of a forest               hub.c    letters through hubs
 *     wiring.c    finding and making wirings
 *     wire.c      what goes over which transport      free.c   freeing in any state
 *     letter.c    between arrays and letters          predict.c  what the model says it will take
 *     bind.c      arrays and memory                   check.c    the option `check`
 *     bundle.c    several as one                      clock.c    what it took, for log and trace
 *     detach.c    a fetch goes on without arrays      contest.c  the option effort=measure
 */
#ifndef GROVE_EXEC_OP_H
#define GROVE_EXEC_OP_H

#include "context/context.h"
#include "context/trace.h"
#include "forest/forest.h"
#include "model/price.h"
#include "pack/pack.h"
#include "plan/plan.h"
#include "route/choose.h"
#include "transport/carrier.h"
#include "transport/shm.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum grove_operation {
  GROVE_BCAST,
  GROVE_REDUCE,
  GROVE_FETCH,
  GROVE_COLLECT,   /* gather; GROVE_GATHER is a pattern */
  GROVE_DISTRIBUTE /* scatter */
} grove_operation;

const char *grove_operation_name(grove_operation operation);

/* What a call asks for. Arrays by their names. */
typedef struct grove_request {
  grove_operation operation;
  grove_forest *forest;
  MPI_Datatype unit;
  MPI_Op op;
  void *arrays[GROVE_ARRAYS]; /* written only where the operation says so */
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

/* ---- wirings (wiring.c) ---- */

/* What tells calls of _begin apart: facts that are the same on every rank, no handles and no
 * addresses, so that all ranks find a wiring or none does. */
typedef struct grove_wiring_key {
  grove_operation operation;
  int64_t unit_bytes;
  grove_kind unit_kind;
  int op_number;  /* of a predefined operation; all users' are one */
  int shared;     /* values of a message may be sent once */
  int merges;     /* and so may those of a node */
  int generation; /* of the context's options */
} grove_wiring_key;

/* ---- plans (plans.c) ---- */

/* The plans of a forest for one kind of operation, on one route, under one set of options. */
typedef struct grove_plans {
  int references;
  struct grove_plans *next;
  grove_operation operation;
  int generation;
  int shared; /* values may be sent once */
  int whole;  /* all edges come together before they meet their roots, in their order */
  const grove_route *route;
  int64_t cap;
  grove_index slots;   /* of the multi-forest's roots, where the operation needs that */
  grove_plan *forward; /* as routes make it, and borrowing from `slots` */
  grove_plan *turned;  /* reversed, or a round trip; borrows from `forward`; NULL: as it is */
} grove_plans;

/* What is kept of a choice between routes: for which kind and size of operation it was made. Few
 * are needed at once; the oldest goes. */
enum { GROVE_DECISIONS = 12 };
typedef struct grove_decision {
  int generation, share, backward, both, size_class;
  grove_choice choice; /* n = 0: none */
} grove_decision;

/* What a forest keeps for its operations. */
typedef struct grove_compiled {
  grove_plans *plans; /* newest first */
  struct grove_wiring *pool;
  grove_survey *surveys[2]; /* without and with sharing */
  int surveyed[2];          /* under which options */
  grove_decision decisions[GROVE_DECISIONS];
  int64_t decided;
} grove_compiled;

grove_status grove_forest_compiled(grove_forest *f, grove_compiled **out);

/* How an operation travels. */
typedef struct grove_routing {
  const grove_route *route;
  int64_t cap;
  int chosen; /* by price; then why: */
  grove_choice choice;
} grove_routing;

/* The plans for such an operation, compiled at first need: collective if the route relays, and what
 * fails is this rank's failure, unless it is GROVE_ERR_UNSUPPORTED. */
grove_status grove_plans_get(grove_forest *f, const grove_wiring_key *key,
                             const grove_routing *routing, grove_plans **out);
void grove_plans_release(grove_plans *plans);

/* What is kept of a wiring's operations for the options `log` and `trace` (clock.c). */
typedef struct grove_account {
  int kept;    /* either: only then the clock is read at every start and wait */
  int counted; /* in the summary, in row `tally` */
  int traced;  /* as `subject` */
  int tally, subject;
} grove_account;

/* What a wiring knows of a field. */
typedef struct grove_lane {
  grove_wiring_key key;
  grove_plans *plans;     /* held */
  const grove_plan *plan; /* one of them, in the direction of the data */
  int whole;              /* edges meet their roots all at once, behind the stage: */
  int turn;               /* of a fetch, or a reduce of whole edges: the last that brings leaves */
  grove_shape fetched;    /* the roots of all edges, in their order */
  int64_t own_begin;      /* from this edge on they are joined to ... */
  grove_shape own;        /* ... these leaves of this rank, which do not travel */
  int detached;           /* the lists of both are the wiring's own: the forest may go */
} grove_lane;

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
  int64_t data;  /* where the last section ends */
  int64_t bytes; /* with its trailer */
} grove_letter;

/* A stage of the plans, ready for these units and transports. Letters are numbered: receives, then
 * sends. Those over MPI have a number there, in the same order; those over shared memory belong to
 * a flow, which on the sending side may stand for several letters with the same data. */
typedef struct grove_wired_stage {
  int ordered; /* what comes is combined in the order of the ranks: there is a reduce or a fetch */
  int has_own; /* self edges, which are no letter */
  int answers; /* ... and must be done before the next stage, which passes them on */
  int nforwards; /* receives that later stages take from here */
  int lands;     /* ... over MPI: in a hub that must be free */
  int64_t turn;  /* which start of the wiring may enter the stage next */
  int nletters, nreceives;
  grove_letter *letters;
  int nsections;
  grove_section *sections; /* of all letters */
  int nkeeps;              /* fields with self edges in this stage */
  grove_section *keeps;    /* pairs: from, to */
  grove_shm_way *way;      /* of a letter over shared memory */
  int *via; /* letter i goes over MPI with number via[i] >= 0, or belongs to flow ~via[i] */
  int np2p_receives, np2p_sends;
  int *p2p;                 /* which letter each number is */
  grove_carried *carried;   /* and what is known of it there */
  grove_carriage *carriage; /* NULL: nothing goes over MPI, not even between others */
  int nflows_in, nflows_out;
  int *flows; /* the first letter of each flow, receives first */
} grove_wired_stage;

/* What one rank sends at one start. */
typedef struct grove_sent {
  int64_t on_node_messages, on_node_bytes;
  int64_t off_node_messages, off_node_bytes;
} grove_sent;

typedef struct grove_wiring {
  int references;            /* operations on it, and the pool it is in */
  struct grove_wiring *next; /* in the pool of its forest */
  grove_context *ctx;        /* not held: the operations do that through their forests */
  int nlanes;
  grove_lane *lanes;
  int meets; /* some lane's edges meet their roots all at once */
  int nstages;
  grove_wired_stage *stages;
  int uses_shm;   /* inside the node */
  grove_shm *shm; /* its rings there, and hubs: */
  int uses_hubs;
  unsigned char *pulled; /* a ring: others pull from this rank's hub when it tells */
  int64_t through;       /* with hubs: how many starts are */
  grove_sent sent;
  int rank;
  int tag;             /* 0: none yet */
  int transport;       /* what carries letters over MPI, of enum grove_option_off_node */
  int check;           /* with checksums */
  int64_t piece;       /* bytes that travel at once over shared memory */
  int64_t widest_unit; /* of all lanes */
  int staged;          /* letters are complete before they travel over shared memory */
  int persistent;      /* arrays never change: requests are made once */
  int timed;           /* every start is: an account is kept, or routes are in a contest */
  int failed;          /* a start did not enter all its stages: no further one can */
  int64_t sequence;    /* starts so far */
  grove_op *members;   /* of a pool: all operations that are idle, active or abandoned */
  grove_price price;   /* this rank's own part of the model's price; NaN: not known */
  double predicted;    /* seconds of the slowest rank, by the model */
  char machine[64];    /* the name of the profile that said so */
  grove_account account;
} grove_wiring;

grove_wiring_key grove_wiring_key_of(const grove_request *r, const grove_unit *unit,
                                     const grove_combine *combine);

/* A wiring of n fields, without a tag, with shared memory as far as this rank can have it. This
 * rank's failure. */
grove_status grove_wiring_create(grove_context *ctx, int n, const grove_request *requests,
                                 const grove_wiring_key *keys, const grove_routing *routing,
                                 int persistent, grove_wiring **out);
void grove_wiring_release(grove_wiring *wiring);

/* "reduce", or "bundle"; and the route of its plans. */
const char *grove_wiring_name(const grove_wiring *wiring);
const char *grove_wiring_route(const grove_wiring *wiring);

/* ---- what goes over which transport (wire.c) ---- */

/* Makes the stages of a wiring. This rank's failure. */
grove_status grove_wiring_lay(grove_wiring *wiring);
void grove_wiring_unwire(grove_wiring *wiring);

/* The model's price of this rank's part of the wiring's plans (predict.c). */
grove_price grove_wiring_predict(const grove_wiring *wiring);

/* The collective step that gives a wiring its tag and its prediction, and settles whether its node
 * has the memory: if not, `rewired` is set. `wiring` is NULL where `mine` is a failure. Agreed by
 * all. */
grove_status grove_wiring_agree(grove_context *ctx, grove_status mine, int64_t signature,
                                grove_wiring *wiring, int *rewired);

/* What carries its letters over MPI, when it has its tag. Agreed by all, unless that is point to
 * point. */
grove_status grove_wiring_carry(grove_wiring *wiring);

/* The wiring of the forest's pool with this key, or NULL; and putting one there. */
grove_wiring *grove_wiring_find(const grove_forest *f, const grove_wiring_key *key);
/* The one after `last` (NULL: the first) for this operation under today's options, or NULL. */
grove_wiring *grove_wiring_next(const grove_forest *f, const grove_wiring *last,
                                grove_operation operation);
grove_status grove_wiring_pool(grove_forest *f, grove_wiring *wiring);

/* ---- operations (bind.c) ---- */

/* Units of one type on their way between arrays. */
typedef struct grove_field {
  grove_request request; /* the forest is held by the operation while it is in use */
  grove_mover mover;     /* the user's unit, and what is done with what comes */
  grove_mover packed;    /* units as in a letter: those of edges and hubs */
  grove_mover merger;    /* the same, to be combined in a hub */
  grove_mover fetcher;   /* of a fetch: what is done at the roots */
  void *edges;
  void *hub; /* in the wiring's memory, or in `hub_memory` */
  void *hub_memory;
  void *roots, *leaves; /* of a fetch that was abandoned: what it goes on with */
} grove_field;

/* The other end of a section, in the hub of its rank. */
typedef struct grove_remote {
  char *memory; /* slot 0 */
  grove_shape shape;
} grove_remote;

/* A letter over shared memory, on its way. It travels in pieces: bytes from or to memory, or units
 * that are packed straight into the ring and unpacked straight out of it. */
typedef struct grove_flow {
  int letter;                /* the first it stands for */
  int done;                  /* this time */
  int packed;                /* into staging, this time */
  grove_ring_writer *writer; /* of a send */
  grove_ring_reader *reader; /* of a receive */
  char *memory;              /* where the bytes are: the array, or staging; NULL: units */
  int direct;                /* `memory` is in the array */
  int single;                /* ... and the letter is one piece */
  grove_shm_way way;         /* through a hub: */
  const grove_shm_distant *distant;
  grove_remote *remotes; /* a section; NULL: the hub is this rank's own */
  int in_place;          /* ... and the readers take it from there, at `spot` */
  grove_spot spot;
  int64_t bytes; /* of the whole letter */
  int64_t at;    /* bytes that have travelled */
  int64_t held;  /* bytes that came before their turn and wait in `spill` */
  char *spill;
  uint64_t posted;          /* read in place: number of the item that says where, plus one */
  struct grove_flow *reply; /* of a fetch: the send that this receive is answered by */
} grove_flow;

/* A stage with memory and requests. */
typedef struct grove_bound_stage {
  const grove_wired_stage *wired;
  int nreceives, nsends;
  int ordered, has_own; /* as wired says; integers need no order */
  int nforwards;
  grove_carrier *carrier; /* NULL: as wired says */
  void **staging;         /* a letter's packed form; NULL: it travels from or to the array itself */
  void **saved;           /* of an abandoned operation: staging that it got for that; else NULL */
  void **saved_keeps;     /* and its self edges */
  unsigned char *arrived;
  int nsendings;                 /* sends over MPI, and flows */
  int to_come, to_send;          /* receives and sendings that are not through */
  int to_forward;                /* ... and of the receives those that later stages wait for */
  grove_flow *flows;             /* receives first, */
  grove_flow *sends, *flows_end; /* then sends */
  int next;                      /* receive to be combined next, where the order counts */
  int kept;                      /* self edges are done */
} grove_bound_stage;

/* Where the time of a start goes that is kept an account of. */
typedef struct grove_stopwatch {
  int open;        /* started, and nobody was told of its end */
  double returned; /* when start did */
  double inside;   /* seconds in tests, and in waits that timed out, since */
} grove_stopwatch;

typedef struct grove_contest grove_contest;

typedef enum grove_op_state {
  GROVE_OP_IDLE,
  GROVE_OP_ACTIVE,
  GROVE_OP_DONE, /* complete, and nobody was told */
  GROVE_OP_TOLD  /* by a test: it may be waited for, or started again */
} grove_op_state;

struct grove_op {
  grove_active active; /* first: the context knows operations by it */
  grove_context *ctx;
  grove_wiring *wiring;
  grove_op *next_member;
  int nfields;
  grove_field *fields; /* one for each lane of the wiring */
  int in_use;          /* holds its forests: not abandoned, not idle in a pool */
  MPI_Datatype type;   /* of a _begin: the user's own, only to compare */
  grove_identity *identity;
  grove_op_state state;
  int begun;      /* by a _begin: belongs to the pool */
  int careful;    /* a start of it has more to do: it was begun, or is in a contest */
  int abandoned;  /* freed while active */
  int stuck;      /* it does not go on: a start failed, or memory lacks for what it owes others */
  int unusable;   /* a start failed */
  int timed;      /* the start under way is */
  unsigned tests; /* in vain */
  int nstages;
  grove_bound_stage *stages;
  int oldest;   /* stage that is not through */
  int current;  /* latest that was entered */
  void *memory; /* behind all staging */
  void *keep;   /* a chunk of self edges on their way */
  int64_t keep_bytes;
  int64_t sequence; /* of the start under way */
  int64_t starts, timed_starts;
  double since, seconds; /* of the timed ones */
  grove_status failure;  /* met while advancing; told by the next test or wait */
  char *sentence;
  grove_stopwatch timing;
  grove_contest *contest; /* NULL: its route is settled */
};

/* An operation on the wiring, without arrays and requests, but with its fields, which it takes
 * over. This rank's failure. */
grove_status grove_op_create(grove_wiring *wiring, int n, grove_field **fields, grove_op **out);
/* Its requests; the wiring has its tag by now. After a fallback to messages (`rewired`) memory for
 * those too. */
grove_status grove_op_connect(grove_op *op, int rewired);
/* Binds it to the arrays of its fields' requests. */
grove_status grove_op_set_arrays(grove_op *op);
void grove_op_destroy(grove_op *op);

/* A field for the request. This rank's failure. */
grove_status grove_field_create(const grove_request *r, grove_field *out, grove_wiring_key *key);
void grove_fields_free(int n, grove_field *fields);

/* Takes hold of the forests, and lets go of them. */
void grove_op_hold_forests(grove_op *op);
void grove_op_release_forests(grove_op *op);

/* What it is called in sentences: "reduce on forest 'halo'". Valid until this thread asks again. */
const char *grove_op_label(const grove_op *op);

/* ---- which route (routing.c) ---- */

/* The route of an operation of n fields, with the plans of all of them: that of `routing`, if it
 * has one already. `mine` is what has failed here before. What fails may be this rank's failure
 * alone: to be agreed upon. */
grove_status grove_routing_find(grove_context *ctx, grove_status mine, int64_t signature, int n,
                                const grove_request *requests, const grove_wiring_key *keys,
                                grove_routing *routing);
/* Is there a route that is worth a contest with this one? The same on every rank. */
int grove_routing_has_rival(const grove_context *ctx, const grove_routing *best,
                            grove_routing *rival);
void grove_choices_free(grove_compiled *c);

/* ---- making operations (init.c) ---- */

/* An operation of n fields on a new wiring, for `call`; `mine` is what has failed here already.
 * Agreed by all. */
grove_status grove_op_init(grove_context *ctx, const char *call, grove_status mine, int n,
                           const grove_request *requests, grove_op **out);
/* One of one field, started: an idle one of its pool if there is one. */
grove_status grove_op_begin(const grove_request *r, const char *call, grove_op **out);
/* Frees what a call that failed leaves, or does not need: the sentence stays. */
void grove_op_give_up(grove_op **op);

/* ---- under way (run.c) ---- */

grove_status grove_op_run(grove_op *op);
void grove_op_advance(grove_active *active);

/* Keeps the first failure; the user hears of it from test or wait. */
void grove_op_note(grove_op *op, grove_status status);

/* ---- between arrays and letters (letter.c) ---- */

/* How many bytes travel next, from `at` on: whole units, at most `most` bytes. */
int64_t grove_letter_cut(const grove_letter *letter, int64_t at, int64_t most);

/* Bytes at .. at+bytes-1 of a letter, where a cut begins and one ends. What comes for edges is
 * combined with their roots; what these were is left in its place. */
grove_status grove_letter_pack(const grove_op *op, const grove_letter *letter, int64_t at,
                               int64_t bytes, void *data);
grove_status grove_letter_unpack(const grove_op *op, const grove_letter *letter, int64_t at,
                                 int64_t bytes, const void *data);

/* The same of a letter for edges, whose bytes stay where they are. */
grove_status grove_letter_fetch(const grove_op *op, const grove_letter *letter, int64_t at,
                                int64_t bytes, void *data);

/* The whole of letter i, when it is complete in its staging memory or in its array. */
grove_status grove_op_pack(grove_op *op, grove_bound_stage *s, int i);
grove_status grove_op_unpack(grove_op *op, grove_bound_stage *s, int i);

/* Does a letter lie in an array of the user's, and nowhere else? */
static inline int grove_op_is_in_array(const grove_bound_stage *s, int i)
{
  return !s->staging[i] && grove_array_is_users(s->wired->letters[i].sections->array);
}

/* Self edges of stage s. */
grove_status grove_op_keep(grove_op *op, int s);

/* Takes those that others wait for out of the arrays, for a stage that was not entered. */
grove_status grove_op_save_keeps(grove_op *op, int s);

/* Behind stage s: edges of which all have come meet their roots. */
grove_status grove_op_meet(grove_op *op, int s);

/* The memory and the mover that the name of an array means. */
static inline const grove_mover *grove_field_mover(const grove_field *f, grove_array which)
{
  return grove_array_is_users(which) ? &f->mover : &f->packed;
}

static inline char *grove_field_array(const grove_field *f, grove_array which)
{
  if (grove_array_is_users(which)) return (char *)f->request.arrays[which];
  return (char *)(which == GROVE_ARRAY_EDGE ? f->edges : f->hub);
}

/* ---- letters over shared memory (flow.c) ---- */

/* Moves what can be moved now; true when the letter is through. */
int grove_flow_send(grove_op *op, grove_bound_stage *s, grove_flow *flow);
int grove_flow_receive(grove_op *op, grove_bound_stage *s, grove_flow *flow);

/* The same where the letter goes through a hub (hub.c). */
int grove_hub_send(grove_op *op, grove_bound_stage *s, grove_flow *flow);
int grove_hub_receive(grove_op *op, grove_bound_stage *s, grove_flow *flow);

/* Has all been read that lay in this rank's hub? And: this start is through with it. */
int grove_hub_is_free(const grove_op *op);
void grove_hub_release(grove_op *op);

/* Takes a send out of the array, which may be gone a moment later. */
grove_status grove_flow_save(grove_op *op, grove_bound_stage *s, grove_flow *flow);

/* Makes room in a ring that is full, for a letter whose turn to be combined has not come. */
void grove_flow_hold(grove_op *op, const grove_bound_stage *s, grove_flow *flow);

/* ---- where the time goes (clock.c) ---- */

/* Opens the account of an operation's wiring, if the options want one; its making began at
 * `since`. Agreed by all. */
grove_status grove_wiring_open_account(const grove_op *op, double since);

/* At the end of a start, if its wiring has an account. */
void grove_op_note_start(grove_op *op);

/* At the beginning of a wait or test, and at its end. */
static inline double grove_op_clock(const grove_op *op)
{
  return op->timing.open ? grove_clock() : 0;
}
void grove_op_note_wait(grove_op *op, grove_span_kind kind, double since, int complete);

/* ---- the option effort=measure (contest.c) ---- */

/* From the next start on the operation is tried on its own route and on that of `other`, which it
 * takes over. Agreed by all. */
grove_status grove_contest_open(grove_op *op, grove_op **other);

/* Starts it on the route whose turn it is; in the end on the faster one, and closes the contest. */
grove_status grove_contest_start(grove_op *op);

/* A start is complete `now`. False: it must not be told yet, and the contest will see to that. */
int grove_contest_end_start(grove_op *op, double now);

/* Is it only the outcome of the contest that the start under way waits for? */
int grove_contest_holds(const grove_op *op);

/* The operation stays on the route that it is on. */
void grove_contest_close(grove_op *op);

/* ---- freeing (free.c) ---- */

/* A fetch that is abandoned before it has answered goes on with copies of what it needs of the
 * user's arrays (detach.c). This rank's failure. */
grove_status grove_op_detach(grove_op *op);

/* Gives an operation that was begun, and is complete, back to its pool. */
void grove_op_put_back(grove_op *op);

/* Takes the operation off the list of its wiring's members. */
void grove_op_leave(grove_op *op);

/* ---- the option `check` (check.c) ---- */

/* What every letter then ends with. */
typedef struct grove_trailer {
  uint64_t checksum;
  uint64_t sequence;
} grove_trailer;

void grove_check_seal(void *letter, int64_t bytes, int64_t sequence);
/* GROVE_ERR_CORRUPT if the letter is not what was sent. */
grove_status grove_check_open(const grove_op *op, int peer, const void *letter, int64_t bytes);
/* GROVE_ERR_ARG if a slot that is read is also written, or one is written twice by two fields. */
grove_status grove_check_overlap(const grove_wiring *wiring, const grove_field *fields);

#ifdef __cplusplus
}
#endif

#endif
