/* Transfers: operations on forests. What moves is a *field*: units of one type along one plan. Most
 * transfers have one field; a bundle has those of its members.
 */
#ifndef GROVE_EXEC_TRANSFER_H
#define GROVE_EXEC_TRANSFER_H

#include "context/trace.h"
#include "exec/op.h"
#include "exec/wiring.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct grove_trail grove_trail;
typedef struct grove_readying grove_readying;
typedef struct grove_arriving grove_arriving;

/* Units of one type on their way between arrays. */
typedef struct grove_field {
  grove_request request;            /* the forest is held by the operation while it is in use */
  grove_space spaces[GROVE_ARRAYS]; /* of its arrays */
  grove_mover mover;                /* the user's unit, and what is done with what comes */
  grove_mover packed;               /* units as in a letter: those of edges and hubs */
  grove_mover merger;               /* the same, to be combined in a hub */
  grove_mover fetcher;              /* of a fetch: what is done at the roots */
  void *edges;
  void *places; /* where what comes waits for all of it, if slots are leaves several times */
  void *hub;    /* in the wiring's memory, or in `hub_memory` */
  void *hub_memory;
  void *copy; /* of an abandoned operation: what it goes on with, as in a letter, and ... */
  void *roots, *leaves; /* ... of a fetch */
} grove_field;

/* An operation's share of a haul: letters by their numbers. The haul of a fast carrier, of which
 * there is one, has flows instead. */
typedef struct grove_bound_haul {
  const grove_haul *wired;
  grove_carrier *carrier; /* NULL: rings, or nothing to carry */
  grove_bound_letter *letters;
  int to_leave; /* sends still to be handed over, and one more until the carrier is told to go */
} grove_bound_haul;

/* A stage with memory and requests. */
struct grove_bound_stage {
  const grove_wired_stage *wired;
  int nreceives, nsends;
  int ordered;                /* as wired says; integers need no order */
  grove_letter_state has_own; /* how its self edges begin */
  int nforwards;
  int nhauls, ncarriers;         /* which are not fast */
  grove_bound_haul *hauls;       /* as many as carriers of the wiring */
  grove_flow *flows;             /* receives first, */
  grove_flow *sends, *flows_end; /* then sends */
  int nsendings;                 /* sends, counted by numbers */
  int to_come, to_send;          /* receives and sendings that are not through */
  int to_forward;                /* ... and the receives among them that later stages wait for */
  int next;                      /* receive to be combined next, where the order counts */
  int tells;                     /* somebody wants to know what has come */
  grove_bound_letter own;        /* self edges; with `memory` if some are in other memory */
  grove_wired_stage *rebound;    /* of an abandoned operation: what `wired` is then */
  int64_t *marks; /* for each space, if there are others than the host's: see grove_apart_mark */
};

/* An operation on a forest: a wiring, bound to datatypes, MPI operations and arrays, with memory
 * for the letters that need packing. */
struct grove_transfer {
  grove_op base;
  grove_wiring *wiring;
  grove_transfer *next_member; /* of the wiring's pool */
  int nfields;
  grove_field *fields; /* one for each lane of the wiring */
  MPI_Datatype type;   /* of a _begin: the user's own, only to compare */
  grove_identity *identity;
  int nstages;
  grove_bound_stage *stages;
  int plain;   /* one stage, of letters that nothing waits for, in the host's memory */
  int oldest;  /* first stage that is not through */
  int current; /* latest stage that was entered */
  int met;     /* stage: what earlier ones pass on has come, and has met its roots */
  int meeting; /* what stage `met` brings is meeting its roots */
  unsigned polls;
  int nspaces; /* other than the host's */
  grove_space *spaces;
  struct grove_placement *placement; /* of one that has such, for its report */
  grove_trail *trail;                /* and, if it is traced, for that; NULL until it is needed */
  void *memory;                      /* behind all letters that are packed, and self edges */
  int64_t memory_bytes;
  void *keep; /* a chunk of self edges on their way */
  int64_t keep_bytes;
  int64_t sequence; /* of the start under way */
  /* By parts (partial.h); each NULL until it is needed. */
  grove_readying *readying;
  grove_arriving *arriving;
  const void *starter; /* of one that has these: the thread that started it */
  unsigned looks;      /* in vain, of whoever drove */
  grove_tomb tomb;     /* of what a device may still read or write */
};

static inline grove_transfer *grove_transfer_of(grove_tomb *tomb)
{
  return (grove_transfer *)((char *)tomb - offsetof(grove_transfer, tomb));
}

/* ---- making one (bind.c) ---- */

/* An operation on the wiring, without arrays and requests. It takes over its fields. This rank's
 * failure. */
grove_status grove_transfer_create(const grove_op_kind *kind, grove_wiring *wiring, int n,
                                   grove_field **fields, grove_transfer **out);
/* Makes its requests; the wiring has its tag by now. After a fallback to messages (`rewired`), also
 * makes memory for those. */
grove_status grove_transfer_connect(grove_transfer *op, int rewired);
/* Binds it to the arrays of its fields' requests. */
grove_status grove_transfer_set_arrays(grove_transfer *op);
/* The same for number j of a haul. Its carrier must not have it. */
grove_status grove_letter_bind(const grove_transfer *op, grove_bound_stage *s,
                               grove_bound_haul *haul, int j);
void grove_transfer_destroy(grove_transfer *op);
/* Also lets go of its wiring, and leaves the wiring's pool, if it is in one. Not under way. */
void grove_transfer_dispose(grove_transfer *op);

/* ---- its fields (field.c) ---- */

/* A field for the request. This rank's failure. */
grove_status grove_field_create(const grove_request *r, grove_field *out, grove_wiring_key *key);
void grove_fields_free(int n, grove_field *fields);

/* The mover of units as in a letter. */
grove_status grove_field_make_packed(grove_field *f);
/* Makes what the plan needs besides the user's arrays: edges that wait for each other, and movers
 * of a hub. */
grove_status grove_field_equip(const grove_lane *lane, grove_field *f);
/* Makes the hubs, in memory that the node shares or in the operation's own. */
grove_status grove_transfer_make_hubs(grove_transfer *op);

/* Takes hold of the forests, and lets go of them. */
void grove_transfer_hold_forests(grove_transfer *op);
void grove_transfer_release_forests(grove_transfer *op);

/* ---- its rings (rings.c) ---- */

/* Takes its ends of the wiring's rings. This rank's failure. */
grove_status grove_transfer_join_rings(grove_transfer *op);

static inline grove_bound_letter *grove_bound_letter_of(const grove_bound_stage *s, int i)
{
  grove_link link = s->wired->links[i];
  const grove_bound_haul *haul = &s->hauls[link.carrier];
  return haul->letters ? &haul->letters[link.number] : &s->flows[link.number].bound;
}

/* Has what this rank's own edges bring met its roots, or begun to? */
static inline int grove_own_has_met(const grove_bound_stage *s)
{
  return s->own.state != GROVE_LETTER_WAITS && s->own.state != GROVE_LETTER_PACKS;
}

/* Edges that meet their roots as they come. */
static inline int grove_section_meets(const grove_transfer *op, const grove_section *p)
{
  return p->array == GROVE_ARRAY_EDGE && !op->wiring->lanes[p->field].whole;
}

/* Is all of it for such edges, of a fetch? */
static inline int grove_letter_is_for_edges(const grove_transfer *op, const grove_letter *letter)
{
  return letter->nsections == 1 && grove_section_meets(op, letter->sections);
}

/* The mover, and the memory, that the name of an array stands for. */
static inline const grove_mover *grove_field_mover(const grove_field *f, grove_array which)
{
  return grove_array_is_users(which) ? &f->mover : &f->packed;
}

static inline char *grove_field_array(const grove_field *f, grove_array which)
{
  if (grove_array_is_users(which)) return (char *)f->request.arrays[which];
  return (char *)(which == GROVE_ARRAY_EDGE    ? f->edges
                  : which == GROVE_ARRAY_HUB   ? f->hub
                  : which == GROVE_ARRAY_PLACE ? f->places
                                               : f->copy);
}

/* ---- under way (run.c) ---- */

grove_status grove_transfer_run(grove_transfer *op);
void grove_transfer_advance(grove_active *active);

/* Brings to an end what other memories have begun with the user's arrays. */
void grove_transfer_settle(grove_transfer *op);

/* ---- arrays in other memories (apart.c) ---- */

/* Opens its lifts; tells them what they must know once the letters have memory; closes them. This
 * rank's failure. */
grove_status grove_apart_open(grove_transfer *op);
grove_status grove_apart_prepare(grove_transfer *op);
void grove_apart_close(grove_transfer *op);
/* Its docks can be copied to and from: all ranks of the node have their memory by now. */
void grove_apart_share(const grove_transfer *op);

/* What a report says of them. */
void grove_apart_tell(const grove_transfer *op, grove_report *report);

/* May it be started? */
grove_status grove_apart_check(const grove_transfer *op);

/* At a start, before anything moves; then, at every poll; and where it must be begun at once. */
grove_status grove_apart_begin(const grove_transfer *op);
grove_status grove_apart_proceed(grove_transfer *op);
grove_status grove_apart_flush(grove_transfer *op);

/* Notes what was begun for letter i of a stage; behind the last it is for its self edges, and then
 * for edges that meet their roots. */
void grove_apart_mark(grove_transfer *op, grove_bound_stage *s, int i, grove_heading heading);
int grove_apart_has_passed(const grove_transfer *op, const grove_bound_stage *s, int i,
                           grove_heading heading);
/* The same with marks that others keep, one for each space. */
void grove_apart_note(grove_transfer *op, int64_t *marks, grove_heading heading);
int grove_apart_is_past(const grove_transfer *op, const int64_t *marks, grove_heading heading);
/* What comes lies at `place`, and is unpacked as if it lay at `message`, in a letter. */
void grove_apart_liken(const grove_transfer *op, const void *place, int64_t bytes,
                       const void *message);
/* Waits for all of it. */
void grove_apart_finish(grove_transfer *op);

/* The self edges of stage k, as far as they can go now. And the memory that they need, in front of
 * this receive: letters lie in the order in which they are combined. */
grove_status grove_apart_keep(grove_transfer *op, int k);
int64_t grove_apart_keep_bytes(const grove_wired_stage *w);
int grove_apart_keep_place(const grove_transfer *op, const grove_wired_stage *w);

/* ---- what devices do, for the option `trace` (trail.c) ---- */

/* Something was asked of a space, of those of the operation. It is done when `mark` has passed. */
void grove_trail_add(grove_transfer *op, int space, grove_heading heading, int64_t mark);
/* Notes what is done by now. */
void grove_trail_look(grove_transfer *op);

/* ---- freeing (free.c) ---- */

/* The slot of the kinds. */
grove_status grove_transfer_free(grove_op *op);

/* The user is done with it. If it is under way, and does not complete now, it is abandoned and
 * belongs to the context. */
grove_status grove_transfer_let_rest(grove_transfer *op, int *rests);

/* Copies what it still needs of the user's arrays and of the forest's lists, and binds its letters
 * to the copies (rebind.c). Receives that a carrier has are left out. This rank's failure. */
grove_status grove_transfer_rebind(grove_transfer *op);

/* ---- what it tells of itself (kind.c) ---- */

const char *grove_transfer_label(const grove_op *op);
void grove_transfer_missing(const grove_op *op, char *text, size_t room);
grove_report grove_transfer_report(const grove_op *op);
int grove_transfer_count(const grove_op *op);
grove_request grove_transfer_request(const grove_op *op, int k);

/* For the tables of the kinds that are transfers. Name, start, label, free and the calls about
 * parts are their own. */
#define GROVE_TRANSFER_SLOTS                                                                       \
  .takes_streams = 1, .advance = grove_transfer_advance, .missing = grove_transfer_missing,        \
  .report = grove_transfer_report, .count = grove_transfer_count,                                  \
  .request = grove_transfer_request, .part_times = grove_op_no_part_times

/* ---- of a pool (pool.c) ---- */

/* Gives a transfer that was begun, and is complete, back to its pool. */
void grove_transfer_put_back(grove_transfer *op);

/* ---- making transfers (init.c) ---- */

/* A transfer that is being made from requests. */
typedef struct grove_draft {
  grove_context *ctx;
  const char *call;
  int n;
  const grove_request *requests;
  int persistent;        /* its arrays never change */
  grove_routing routing; /* with a route: that one; else the one that is found */
  int hasty;             /* the standard route, without asking for prices */
  const grove_op_kind *kind;
  grove_field *fields;
  grove_wiring_key *keys;
  grove_purpose purpose;
  grove_wiring *wiring; /* if one is given, it is used */
  grove_transfer *op;
} grove_draft;

/* Makes a transfer on a new wiring, not bound to arrays. `mine` is this rank's failure so far.
 * Agreed by all. */
grove_status grove_draft_first(grove_draft *m, grove_status mine);
/* Makes a further one on the wiring that is given: local. */
grove_status grove_draft_further(grove_draft *m);

/* The ranks do not make the same (differ.c): the slot of a draft's purpose. */
grove_status grove_draft_differ(grove_context *ctx, const void *draft);

/* Checks all that can be wrong with arrays. */
grove_status grove_request_check(const grove_request *r, const char *call);

/* ---- the option `check` (check.c) ---- */

/* GROVE_ERR_ARG if a slot that is read is also written, or one is written twice by two fields. */
grove_status grove_check_overlap(const grove_wiring *wiring, const grove_field *fields);

/* Its arrays while it is under way (guard.c). When it is bound to arrays, and when it goes. This
 * rank's failure. */
grove_status grove_guard_create(grove_transfer *op);
void grove_guard_free(grove_guard **g);
/* At a start, before anything moves: GROVE_ERR_STATE if another operation that is under way shares
 * memory with it, and one of them writes there. */
grove_status grove_guard_open(grove_guard *g);
/* Of a start by parts, any thread: slots first .. end-1 of what it reads are final. */
void grove_guard_seal(const grove_guard *g, int64_t first, int64_t end);

/* ---- where the time goes (clock.c) ---- */

/* Opens the account of an operation's wiring, if the options want one. Making the operation began
 * at `since`. Agreed by all. */
grove_status grove_wiring_open_account(const grove_transfer *op, double since);

/* At the end of a start, if its wiring has an account. */
void grove_transfer_note_start(grove_transfer *op);

/* ---- the option effort=measure (contest.c) ---- */

/* From the next start on, `first` is tried against `second`, which serves the same requests on
 * another route. The operation that the user gets takes over both. `question`: what the outcome is
 * called in the file of wisdom; "": nobody wants it. Agreed by all. */
grove_status grove_contest_open(grove_transfer **first, grove_transfer **second,
                                const char *question, grove_op **out);

#ifdef __cplusplus
}
#endif

#endif
