/* Things that outlive MPI, as in the destructors of globals: they may still be freed, in any state
 * and order. MPI is not called any more. */
#include "calls.h"
#include "check.h"
#include "places.h"

/* Every state that an operation may be in, for every kind. */
typedef enum state { FRESH, IDLE, ACTIVE, TESTED, BEGUN, STATES } state;

/* One entry for the next rank, of two ints with a gap. */
typedef struct thing {
  state s;
  op_kind kind;
  int root[4], leaf[4], update[4];
  grove_op *op;
} thing;

typedef struct world {
  place p;
  grove_forest *forest, *bare; /* set up; without a graph */
  MPI_Datatype unit;
  MPI_Op add;
  thing thing[OP_KINDS * STATES];
  grove_op *bundle[3]; /* fresh, idle, active */
} world;

static void add(void *a, void *b, int *n, MPI_Datatype *type)
{
  (void)type;
  for (int i = 0; i < *n; i++)
    for (int k = 0; k < 3; k += 2) ((int *)b)[4 * i + k] += ((const int *)a)[4 * i + k];
}

static op_call call_of(world *w, thing *t)
{
  MPI_Op op = t->kind == KIND_BCAST ? MPI_REPLACE : w->add;
  return (op_call){t->kind, w->forest, w->unit, op, t->root, t->leaf, t->update};
}

static void begin(world *w, thing *t)
{
  op_call c = call_of(w, t);
  CHECK_OK(call_begin(&c, &t->op));
}

static void init(world *w, thing *t)
{
  op_call c = call_of(w, t);
  CHECK_OK(call_init(&c, &t->op));
}

/* All that waits for somebody. */
static void prepare(world *w, thing *t)
{
  if (t->s == TESTED || t->s == BEGUN)
    begin(w, t);
  else
    init(w, t);
  if (t->s == IDLE) CHECK_OK(grove_start(t->op));
  if (t->s == IDLE) CHECK_OK(grove_wait(t->op));
  if (t->s == TESTED) polite_finish(t->op);
  if (t->s == BEGUN) CHECK_OK(grove_end(&t->op)); /* collective: the next one is not */
}

/* And what does not: nobody looks after the messages of these. */
static void leave_active(world *w, thing *t)
{
  if (t->s == ACTIVE) CHECK_OK(grove_start(t->op));
  if (t->s == BEGUN) begin(w, t);
}

/* Each of all fresh operations: the last is left active. */
static void make_bundles(world *w)
{
  grove_op *list[OP_KINDS];
  for (int k = 0; k < OP_KINDS; k++) list[k] = w->thing[FRESH * OP_KINDS + k].op;
  for (int i = 0; i < 3; i++) CHECK_OK(grove_op_bundle(OP_KINDS, list, &w->bundle[i]));
  CHECK_OK(grove_start(w->bundle[1]));
  CHECK_OK(grove_wait(w->bundle[1]));
  CHECK_OK(grove_start(w->bundle[2]));
}

static void create(world *w)
{
  MPI_Datatype two;
  w->p = place_create(split(0));
  int next = (w->p.rank + 1) % w->p.size;
  MPI_Type_vector(2, 1, 2, MPI_INT, &two);
  MPI_Type_create_resized(two, 0, 4 * sizeof(int), &w->unit);
  MPI_Type_commit(&w->unit);
  MPI_Type_free(&two);
  MPI_Op_create(add, 1, &w->add);
  CHECK_OK(grove_forest_create(w->p.ctx, &w->bare));
  CHECK_OK(grove_forest_create(w->p.ctx, &w->forest));
  CHECK_OK(grove_forest_set_graph(w->forest, 1, 1, NULL, &(grove_root){next, 0}));
  CHECK_OK(grove_forest_set_up(w->forest));
  for (int i = 0; i < OP_KINDS * STATES; i++) {
    w->thing[i] = (thing){.s = (state)(i / OP_KINDS), .root = {w->p.rank}};
    w->thing[i].kind = (op_kind)(i % OP_KINDS);
    prepare(w, &w->thing[i]);
  }
  make_bundles(w);
  for (int i = 0; i < OP_KINDS * STATES; i++) leave_active(w, &w->thing[i]);
  MPI_Type_free(&w->unit); /* Grove keeps what it needs */
}

static void free_owners(world *w)
{
  CHECK_OK(grove_context_free(&w->p.ctx));
  CHECK_OK(grove_forest_free(&w->forest));
  CHECK_OK(grove_forest_free(&w->bare));
  CHECK(w->p.ctx == NULL && w->forest == NULL && w->bare == NULL, "what was freed is not NULL");
}

static void free_operations(world *w)
{
  for (int i = 0; i < OP_KINDS * STATES; i++) {
    CHECK_OK(grove_op_free(&w->thing[i].op));
    CHECK(w->thing[i].op == NULL, "a freed operation is not NULL");
  }
  for (int i = 0; i < 3; i++) CHECK_OK(grove_op_free(&w->bundle[i]));
}

int main(int argc, char **argv)
{
  enum { WORLDS = 4 };
  static world w[WORLDS]; /* what is sent from must stay as long as the context */
  test_begin(&argc, &argv, "exec/after_finalize");
  for (int i = 0; i < WORLDS; i++) create(&w[i]);
  free_owners(&w[0]);
  free_operations(&w[1]);
  /* All have started all: nobody finalizes while another rank still owes it a message. */
  int status = test_end();
  test_case(WORLDS); /* the watchdog goes on */
  for (int i = 0; i < WORLDS; i++) {
    if (i % 2) free_owners(&w[i]);
    free_operations(&w[i]);
    if (i % 2 == 0) free_owners(&w[i]);
  }
  grove_context *ctx = NULL;
  CHECK_STATUS(grove_context_create(MPI_COMM_WORLD, &ctx), GROVE_ERR_STATE);
  CHECK(ctx == NULL, "a context after MPI_Finalize");
  return status;
}
