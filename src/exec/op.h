/* Operations. A *recipe* is what does not change from one use to the next: the plan, the unit, the
 * MPI operation, the tag. An *operation* is a recipe bound to two arrays, with memory for the
 * messages that need packing; this is what the user holds. grove_bcast_init makes a recipe of its
 * own; grove_bcast_begin looks for one in the forest and borrows an idle operation of it.
 *
 *     recipe.c    finding and making recipes          bind.c   arrays to messages
 *     init.c      the calls that make operations      run.c    start, advance, finish
 *     wait.c      test, wait, end                     free.c   freeing in any state
 */
#ifndef GROVE_EXEC_OP_H
#define GROVE_EXEC_OP_H

#include "context/context.h"
#include "forest/forest.h"
#include "pack/pack.h"
#include "plan/plan.h"
#include "transport/mpi_p2p.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum grove_operation { GROVE_BCAST, GROVE_REDUCE } grove_operation;

/* Which datatype a recipe was made for. A handle alone would not do: MPI gives the handle of a
 * freed type to the next one. Derived types carry this as an attribute, which dies with them. */
typedef struct grove_identity {
  int references;
} grove_identity;

grove_status grove_identity_of(MPI_Datatype type, grove_identity **out); /* NULL: a named type */
void grove_identity_release(grove_identity *identity);

typedef struct grove_recipe grove_recipe;

struct grove_recipe {
  int references;     /* operations made from it, and the pool it is in */
  grove_recipe *next; /* in the pool of its forest */
  grove_operation operation;
  grove_unit unit;
  grove_combine combine;
  const grove_plan *plan; /* in the direction of the data; belongs to the forest */
  grove_counts counts;
  int rank;
  int tag;            /* 0: none yet */
  int check;          /* with checksums */
  int persistent;     /* arrays never change: requests are made once */
  int generation;     /* of the context's options */
  int tally;          /* row of the summary; -1: none is kept */
  grove_context *ctx; /* not held: the operations do that through their forest */

  /* Of a recipe in a pool: what it is found by, and its operations. */
  MPI_Datatype type;
  grove_identity *identity;
  grove_op *members; /* all of them, by `next_member` */
  int64_t sequence;  /* starts so far */
};

/* A stage of the plan with memory and requests. Messages are numbered: receives, then sends. */
typedef struct grove_bound_stage {
  const grove_stage *plan;
  int nreceives, nsends;
  grove_p2p *p2p;
  void **staging; /* a message's packed form; NULL: it travels from or to the array itself */
  unsigned char *arrived;
  int narrived, nsent;
  int next; /* receive to be combined next, where the order counts */
  int kept; /* self edges are done */
} grove_bound_stage;

typedef enum grove_op_state { GROVE_OP_IDLE, GROVE_OP_ACTIVE, GROVE_OP_DONE } grove_op_state;

struct grove_op {
  grove_active active; /* first: the context knows operations by it */
  grove_context *ctx;
  grove_forest *forest; /* held; NULL once abandoned or idle in a pool */
  grove_recipe *recipe;
  grove_op *next_member;
  grove_op_state state;
  int begun;     /* by a _begin: belongs to the pool */
  int abandoned; /* freed while active */
  int unusable;  /* a start failed */
  const char *from;
  char *to;
  int nstages;
  grove_bound_stage *stages;
  int current;  /* stage under way */
  void *memory; /* behind all staging */
  void *keep;   /* a chunk of self edges on their way */
  int64_t keep_units;
  grove_scratch scratch;
  int64_t sequence; /* of the start under way */
  int64_t starts;
  double since, seconds;
  grove_status failure; /* met while advancing; told by the next test or wait */
  char *sentence;
};

/* ---- recipe.c ---- */

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

/* A recipe without a tag. This rank's failure. */
grove_status grove_recipe_create(const grove_request *r, int persistent, grove_recipe **out);
void grove_recipe_release(grove_recipe *recipe);

/* The recipe of the forest's pool for this request, or NULL. This rank's failure. */
grove_status grove_recipe_find(const grove_request *r, grove_recipe **out);

/* Puts a recipe into the pool of its forest. */
grove_status grove_recipe_pool(const grove_request *r, grove_recipe *recipe);

/* ---- bind.c ---- */

/* An operation of the recipe, without arrays. This rank's failure. */
grove_status grove_op_create(grove_recipe *recipe, grove_op **out);
/* Its requests; the recipe has its tag by now. */
grove_status grove_op_connect(grove_op *op);
/* The arrays it works on. */
grove_status grove_op_set_arrays(grove_op *op, const void *from, void *to);
void grove_op_destroy(grove_op *op);

/* Bytes of a message of `units` units, with its trailer. */
int64_t grove_message_bytes(const grove_recipe *recipe, int64_t units);

/* ---- run.c ---- */

grove_status grove_op_run(grove_op *op);
void grove_op_advance(grove_active *active);

/* ---- check.c: the option `check` ---- */

/* What every message then ends with. */
typedef struct grove_trailer {
  uint64_t checksum;
  uint64_t sequence;
} grove_trailer;

void grove_check_seal(void *message, int64_t bytes, int64_t sequence);
/* GROVE_ERR_CORRUPT if the message is not what was sent. */
grove_status grove_check_open(const grove_op *op, int peer, const void *message, int64_t bytes);
/* GROVE_ERR_ARG if a slot that is read is also written. */
grove_status grove_check_overlap(const grove_recipe *recipe, const void *from, const void *to);

#ifdef __cplusplus
}
#endif

#endif
