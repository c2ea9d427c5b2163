/* Things that outlive MPI, as in the destructors of globals: they may still be freed, in any state
 * and order. Whatever else needs MPI is refused, with a sentence. MPI is not called any more. */
#include "calls.h"
#include "check.h"
#include "places.h"

#include <string.h>

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

/* ---- what is refused ---- */

static void refused(grove_status status, const char *call)
{
  CHECK(status == GROVE_ERR_STATE, "%s: %s", call, grove_status_name(status));
  CHECK(strstr(grove_last_error(), "MPI_Finalize"), "%s: '%s'", call, grove_last_error());
}

/* What is complete may still be waited for: that is known without MPI. */
static void refused_unless_complete(grove_status status, const char *call)
{
  if (status != GROVE_OK) refused(status, call);
}

static void refuse_operation(thing *t)
{
  int done = 0;
  switch (t->s) {
  case FRESH:
  case IDLE: refused(grove_start(t->op), "grove_start"); break;
  case ACTIVE:
    refused_unless_complete(grove_test(t->op, &done), "grove_test");
    if (!done) refused_unless_complete(grove_wait(t->op), "grove_wait");
    break;
  case BEGUN: refused_unless_complete(grove_end(&t->op), "grove_end"); break;
  default: break;
  }
}

static void refuse_new_ones(world *w)
{
  thing *t = &w->thing[0];
  grove_op *op = NULL;
  for (int k = 0; k < OP_KINDS; k++)
    for (op_form how = 0; how < OP_FORMS; how++) {
      op_call c = call_of(w, t);
      c.kind = (op_kind)k;
      c.unit = MPI_INT; /* the other one is gone */
      c.op = MPI_REPLACE;
      refused(call_in_form(&c, how, &op), kind_name(c.kind));
    }
  grove_op *list[2] = {w->thing[0].op, w->thing[1].op};
  refused(grove_op_bundle(2, list, &op), "grove_op_bundle");
  refused(grove_start(w->bundle[0]), "grove_start of a bundle");
  CHECK(op == NULL, "an output was set by a call that failed");
}

static void refuse_collective_calls(world *w)
{
  grove_forest *f = NULL;
  grove_machine *m = NULL;
  void *memory = NULL;
  int64_t number = w->p.rank, cells = 7;
  refused(grove_forest_set_up(w->bare), "grove_forest_set_up");
  refused(grove_forest_multi(w->forest, &f), "grove_forest_multi");
  refused(grove_forest_inverse(w->forest, &f), "grove_forest_inverse");
  refused(grove_forest_match(w->p.ctx, 1, &number, 1, &number, &f), "grove_forest_match");
  refused(grove_ghosts(w->p.ctx, 1, 1, &number, NULL, NULL, NULL, &f), "grove_ghosts");
  refused(grove_forest_box(w->p.ctx, 1, &cells, NULL, NULL, NULL, 0, &f), "grove_forest_box");
  refused(grove_forest_explain(w->forest, 8, stdout), "grove_forest_explain");
  refused(grove_context_set(w->p.ctx, "spin", "0"), "grove_context_set");
  refused(grove_context_use_machine(w->p.ctx, NULL), "grove_context_use_machine");
  refused(grove_machine_measure(w->p.ctx, &m), "grove_machine_measure");
  refused(grove_alloc(w->p.ctx, 8, &memory), "grove_alloc");
  refused(grove_dealloc(w->p.ctx, NULL), "grove_dealloc");
  CHECK(!f && !m && !memory, "an output was set by a call that failed");
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
  test_case(WORLDS);                 /* the watchdog goes on */
  for (int i = 2; i < WORLDS; i++) { /* which have all that they had */
    refuse_new_ones(&w[i]);
    refuse_collective_calls(&w[i]);
    for (int k = 0; k < OP_KINDS * STATES; k++) refuse_operation(&w[i].thing[k]);
  }
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
