/* A random program: a list of steps over the whole interface, drawn from a number.
 *
 * Every rank draws the same list, in one order that would be legal if all ranks went through it in
 * step: the *written order*. A step makes something (a context, a forest, the arguments of a call,
 * an operation) or works on what earlier steps made, which it names by their numbers. Whether a
 * step is legal where it stands, scene.c decides, for the generator as well as for a list of which
 * something was left out: what has become illegal is left out too.
 *
 * A rank goes through the list in an order of its own (schedule.c), in one thread or several.
 * Nobody knows what the library will do when, but what it must have done by the end of each
 * operation follows from the list alone (model.c).
 *
 *     draw.c      the list, from a number       model.c     what the arrays must hold
 *     scene.c     what is legal                 run.c       a rank performs its steps
 *     forests.c   forests and their graphs      settle.c    completing, freeing, comparing
 *     schedule.c  a rank's own order            parts.c     marking, asking
 *     print.c     the list in words             memory.c    where arrays lie, and streams
 */
#ifndef TEST_PROGRAM_H
#define TEST_PROGRAM_H

#include "calls.h"
#include "random.h"
#include "serial.h"
#include "units.h"

enum { MOST_STEPS = 160, MOST_RANKS = 16, MOST_OF = 4, NOTHING = -1 };

typedef enum step_kind {
  STEP_CONTEXT,      /* makes a context and turns to it */
  STEP_SWITCH,       /* turns to another one; nobody waits for the last one's operations any more */
  STEP_SET,          /* an option */
  STEP_MACHINE,      /* the machine that prices are made with */
  STEP_FOREST,       /* a forest from a graph */
  STEP_DERIVE,       /* a forest from forests */
  STEP_QUERY,        /* a forest is what it should be */
  STEP_EXPLAIN,      /* its table of routes is made */
  STEP_CALL,         /* arguments of a call: forest, operation, unit, arrays */
  STEP_INIT,         /* a persistent operation of those */
  STEP_BUNDLE,       /* one of several */
  STEP_START,        /* of a persistent operation; some ranks may start it by parts */
  STEP_MARK,         /* of one that was: some of what is not marked yet, or all */
  STEP_ASK,          /* what has come of it */
  STEP_BEGIN,        /* a one-shot operation */
  STEP_COMPLETE,     /* of either: by test, wait or end */
  STEP_BLOCK,        /* begin and end in one call */
  STEP_ROUNDS,       /* many starts and waits, one after the other */
  STEP_REPORT,       /* of a persistent operation */
  STEP_ABANDON,      /* some ranks free it while it is active, the others complete it */
  STEP_DESERT,       /* some ranks start and free it, the others never start it */
  STEP_FREE_OP,      /* one that is not active */
  STEP_FREE_FOREST,  /* perhaps before its operations */
  STEP_FREE_CONTEXT, /* perhaps before its forests */
  STEP_DEALLOC,      /* memory of grove_alloc */
  STEP_THREADS,      /* from here on several threads, each with operations of its own ... */
  STEP_JOIN,         /* ... up to here */
  STEP_KINDS
} step_kind;

/* Where a forest's graph comes from: STEP_FOREST's `way`. */
typedef enum source { FROM_LIST, FROM_NUMBERS, FROM_PATTERN, SOURCES } source;

/* STEP_DERIVE's. */
typedef enum derivation {
  DERIVE_MULTI,
  DERIVE_INVERSE,
  DERIVE_COMPOSE,
  DERIVE_COMPOSE_INVERSE,
  DERIVE_EMBED_ROOTS,
  DERIVE_EMBED_LEAVES,
  DERIVE_CONCATENATE,
  DERIVE_MERGE,
  DERIVE_STRIDED,
  DERIVE_EXPAND,
  DERIVE_MATCH, /* this and the next take no forest, but the context */
  DERIVE_GHOSTS,
  DERIVE_BOX,
  DERIVATIONS
} derivation;

enum {
  FLAG_FRESH = 1,     /* START, BEGIN, BLOCK, ROUNDS: new values first */
  FLAG_BAD_FIRST = 2, /* FOREST: a wrong graph is refused before the right one is set */
  FLAG_ONE_ARRAY = 4, /* CALL: roots and leaves in one array */
  FLAG_IN_LEAF = 8,   /* CALL: updates of a fetch go where the leaves are */
  FLAG_ROUGH = 16,    /* CALL: values whose sums depend on their order */
  FLAG_NULLS = 32,    /* CALL: a rank without roots or leaves passes NULL for them */
  FLAG_ALLOC = 64,    /* CALL: arrays from grove_alloc */
  FLAG_BEHIND = 128,  /* CALL: some arrays of some ranks are in another memory */
  FLAG_PARTS = 256    /* START, ROUNDS, DESERT: some ranks start it by parts */
};

typedef struct step {
  step_kind kind;
  int gone;      /* left out */
  uint64_t seed; /* of the details */
  int nof;
  int of[MOST_OF]; /* the steps that made what it works on; of CALL: forest, lender of an array */
  int way;         /* source, derivation, op_kind, option, how many threads or rounds */
  int detail;      /* graph kind, mode of concatenate, value of an option */
  int unit, reduction;
  unsigned flags;
} step;

/* What arrays may lie in besides the host's memory: that of device/behind.h, or the emulated
 * device's. */
typedef enum other_memory { OTHER_NONE, OTHER_BEHIND, OTHER_DEVICE } other_memory;

typedef struct program {
  int64_t number;
  int nranks;          /* that run it */
  int drawn_for;       /* so many, of which the first nranks are left */
  int threads;         /* there is MPI_THREAD_MULTIPLE */
  int reversed;        /* the communicator has its ranks backwards */
  int own_first;       /* the option order=own-first, in every context */
  int mixing;          /* how far a rank's order is from the written one */
  other_memory other;  /* that its contexts know */
  int plain;           /* simpler: all units are 64-bit integers */
  int64_t most_leaves; /* simpler: of each rank in a graph */
  int nsteps;
  step step[MOST_STEPS];
} program;

/* The number holds all that a program depends on: seed, then a digit for threads, then two for the
 * ranks. */
int64_t program_number(uint64_t seed, int threads, int nranks);

/* ---- what steps make (scene.c) ---- */

/* The arrays of a call. Roots and leaves may be one; leaves and updates too. */
typedef enum role { ROLE_ROOT, ROLE_LEAF, ROLE_UPDATE, ROLES } role;

typedef struct scene_context {
  int made, handle; /* the user has it still */
  int generation;   /* of its options */
  int deterministic;
  const char *route, *on_node, *off_node; /* as the options say */
  int duties; /* operations were freed while active; others may still wait for them */
} scene_context;

typedef struct scene_forest {
  int made, handle, context;
  sketch *s;
  graph *order; /* with the order of the leaf lists, where it is known beforehand */
  int64_t edges;
} scene_forest;

/* An array of every rank. Those of call i are 3 i .. 3 i + 2, by role. */
typedef struct scene_array {
  int made, gone;  /* gone: given back, or left to an operation that was freed while active */
  int allocated;   /* by grove_alloc */
  unsigned behind; /* in another memory: a bit for each rank */
  const unit *u;
  const reduction *r; /* its values suit this */
  int rough;
  int64_t nslots[MOST_RANKS];
  int readers, writers; /* active operations */
} scene_array;

typedef struct scene_call {
  int made, context, forest;
  op_kind kind;
  const unit *u;
  const reduction *r;
  int rough;
  int array[ROLES];          /* numbers of arrays, or NOTHING */
  int64_t shift[MOST_RANKS]; /* leaf slot 0 is this slot of its array */
  int stale;                 /* starts since its values were new */
  int group;                 /* calls of a group are used by one thread at a time */
} scene_call;

typedef enum op_state { OP_NONE, OP_IDLE, OP_ACTIVE, OP_GONE } op_state;

typedef struct scene_op {
  op_state state;
  int context, begun, bundle, starts;
  int ncalls, call[MOST_OF];
  int last_start;                         /* the step */
  int by_parts, unmarked;                 /* that start was; and not all is marked */
  const char *route, *on_node, *off_node; /* that its report must name; NULL: any */
} scene_op;

/* What calls of _begin of one kind have in common; see grove_bcast_begin. */
typedef struct begin_kind {
  int forest, generation;
  op_kind kind;
  const unit *u;
  MPI_Op op;
} begin_kind;

typedef struct scene {
  const program *p;
  const units *types;
  int now;    /* the context that steps work with, or NOTHING */
  int region; /* the STEP_THREADS that is open, or NOTHING */
  int ncontexts;
  int nkinds;
  begin_kind kind[MOST_STEPS];
  int collective[MOST_STEPS]; /* of steps: all ranks meet in it */
  int start_of[MOST_STEPS];   /* of MARK, ASK, COMPLETE and ABANDON: what started it */
  scene_context context[MOST_STEPS];
  scene_forest forest[MOST_STEPS];
  scene_call call[MOST_STEPS];
  scene_op op[MOST_STEPS];
  scene_array array[ROLES * MOST_STEPS];
} scene;

scene *scene_create(const program *p, const units *types);
void scene_free(scene *s);

/* Step `id` of the program comes next: false if that is not legal, and nothing has happened. */
int scene_admit(scene *s, int id);

/* Whether a call could be made and started now, with new values; and an operation started. */
int scene_call_is_ready(const scene *s, int id);
int scene_op_is_ready(const scene *s, int id);

/* Whether an operation is of a kind that can leave by parts. */
int scene_op_has_parts(const scene *s, int id);

/* Whether one of the calls writes what the other one reads or writes. */
int scene_calls_clash(const scene *s, int first, int second);

/* The whole program; marks what is not legal as gone. */
scene *scene_build(program *p, const units *types);

int call_reads(const scene_call *c, role which);
int call_writes(const scene_call *c, role which);

/* What the operation that a step starts, completes or frees is made of: the calls, and how many. */
const int *step_calls(const scene *s, int id, int *n);

/* Whether this rank is among those who free it, or start it (ABANDON, DESERT). */
int step_chooses(const step *st, int rank);

/* Whether a step deals with an operation that some ranks have started by parts; and whether this
 * one has. Until all is marked nobody else uses the arrays. */
int step_is_by_parts(const scene *s, int id);
int step_starts_by_parts(const step *st, int rank);

/* ---- forests (forests.c) ---- */

/* The graph of STEP_FOREST, of all ranks that run the program. */
graph *forest_graph(const scene *s, const step *st);

/* What STEP_DERIVE makes: NULL if it must not be made of these. */
sketch *derived_sketch(const scene *s, const step *st);

/* The order of the leaf lists, where the header says it: else NULL. */
graph *derived_order(const scene *s, const step *st, const sketch *result);

const char *source_name(const step *st);
const char *derivation_name(const step *st);

/* ---- options (options.c) ---- */

enum { OPTION_TEXT = 64 };
int options_count(void);
int option_values(int option);
int option_needs_threads(int option, int value);
const char *option_name(int option);
const char *option_text(int option, int value); /* before ranks are looked at */
const char *option_value(const program *p, const step *st, char text[OPTION_TEXT]);

/* Of STEP_MACHINE; NULL: what the option says. */
const char *machine_name(const step *st);

/* ---- drawing, ordering, printing ---- */

program *program_draw(int64_t number, const units *types);

/* Units by number, the same with every MPI. */
int program_units(void);
const unit *program_unit(const program *p, const units *types, int number);

/* The steps in the order of this rank; returns how many. */
int schedule(const scene *s, int rank, int order[MOST_STEPS]);

/* The calls that a step deals with belong to one group; NOTHING: it deals with none. */
int step_group(const scene *s, int id);

/* Which thread of its region performs a step: the same on every rank. */
int step_thread(const scene *s, int id);

void program_print(FILE *file, const scene *s);
void step_print(FILE *file, const scene *s, int id);

#endif
