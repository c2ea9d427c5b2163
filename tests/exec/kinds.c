/* Kinds of operations: every slot of their tables is there, what a kind cannot do it says in a
 * sentence, and an operation is in the states that its calls put it in, by moves that there are. */
#include "check.h"
#include "exec/op.h"
#include "generate.h"
#include "places.h"

#include <string.h>

static double root[4], leaf[64];

static grove_forest *ring_of(const place *p)
{
  grove_forest *f = NULL;
  const grove_root next = {(p->rank + 1) % p->size, 0};
  CHECK_OK(grove_forest_create(p->ctx, &f));
  CHECK_OK(grove_forest_set_graph(f, 1, 1, NULL, &next));
  CHECK_OK(grove_forest_set_up(f));
  return f;
}

static grove_op *bcast(grove_forest *f)
{
  grove_op *op = NULL;
  CHECK_OK(grove_bcast_init(f, MPI_DOUBLE, root, leaf, MPI_REPLACE, &op));
  return op;
}

static void refuses(grove_status status, const grove_op *op, const char *call)
{
  CHECK(status == GROVE_ERR_UNSUPPORTED, "%s of a %s: %s", call, op->kind->name,
        grove_status_name(status));
  CHECK(strstr(grove_last_error(), call) && strstr(grove_last_error(), grove_op_label(op)),
        "the sentence names neither %s nor the %s: %s", call, grove_op_label(op),
        grove_last_error());
}

/* `parts`: it goes by parts. */
static void check_kind(grove_op *op, const char *name, int parts)
{
  const grove_op_kind *k = op->kind;
  int64_t first = 0, count = 0;
  int flag = 0;
  CHECK(strcmp(k->name, name) == 0, "it is a %s, not a %s", k->name, name);
  CHECK(k->start && k->advance && k->missing && k->label && k->report && k->free && k->count &&
          k->request && k->start_parts && k->ready && k->arrived && k->arrivals && k->part_times,
        "the %s lacks a slot", name);
  CHECK(op->active.advance == k->advance, "the context advances it in another way");
  if (parts) return;
  refuses(k->start_parts(op), op, "grove_start_parts");
  refuses(k->ready(op, 0, 1), op, "grove_ready");
  refuses(k->arrived(op, 0, 1, &flag), op, "grove_arrived");
  refuses(k->arrivals(op, &first, &count), op, "grove_arrivals");
}

static void is_in(const grove_op *op, grove_op_state state, const char *when)
{
  CHECK(grove_op_state_of(op) == state, "%s a %s is in state %d, not %d", when, op->kind->name,
        (int)op->state, (int)state);
}

/* Started, waited for, tested, started again. */
static void walks(grove_op *op)
{
  int done = 0;
  is_in(op, GROVE_OP_IDLE, "when made");
  CHECK_OK(grove_start(op));
  CHECK_OK(grove_wait(op));
  is_in(op, GROVE_OP_IDLE, "after a wait");
  CHECK_OK(grove_start(op));
  while (!done) CHECK_OK(grove_test(op, &done));
  is_in(op, GROVE_OP_TOLD, "after a test");
  CHECK_OK(grove_start(op));
  CHECK_OK(grove_wait(op));
}

static void one_shot(grove_forest *f)
{
  grove_op *op = NULL;
  CHECK_OK(grove_bcast_begin(f, MPI_DOUBLE, root, leaf, MPI_REPLACE, &op));
  check_kind(op, "one shot", 1);
  CHECK(grove_start_parts(op) == GROVE_ERR_STATE, "what was begun is started once more, by parts");
  CHECK(grove_ready(op, 0, 1) == GROVE_ERR_STATE, "what was begun is final");
  CHECK(grove_start(op) == GROVE_ERR_STATE, "what was begun is started once more");
  CHECK_OK(grove_wait(op));
  is_in(op, GROVE_OP_DONE, "after a wait");
  const grove_op *before = op;
  CHECK_OK(grove_end(&op));
  is_in(before, GROVE_OP_POOLED, "after its end");
  CHECK_OK(grove_bcast_begin(f, MPI_DOUBLE, root, leaf, MPI_REPLACE, &op));
  CHECK(op == before, "the idle one was not taken");
  CHECK_OK(grove_end(&op));
}

static void moves(void)
{
  static const int known[][3] = {
    {GROVE_OP_IDLE, GROVE_OP_ACTIVE, 1},      {GROVE_OP_ACTIVE, GROVE_OP_DONE, 1},
    {GROVE_OP_DONE, GROVE_OP_IDLE, 1},        {GROVE_OP_IDLE, GROVE_OP_DONE, 0},
    {GROVE_OP_ACTIVE, GROVE_OP_IDLE, 0},      {GROVE_OP_ACTIVE, GROVE_OP_POOLED, 0},
    {GROVE_OP_FAILED, GROVE_OP_ACTIVE, 0},    {GROVE_OP_FAILED, GROVE_OP_DONE, 0},
    {GROVE_OP_ABANDONED, GROVE_OP_ACTIVE, 0}, {GROVE_OP_ABANDONED, GROVE_OP_DONE, 0},
    {GROVE_OP_POOLED, GROVE_OP_DONE, 0},
  };
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    CHECK(grove_op_may_move((grove_op_state)known[i][0], (grove_op_state)known[i][1]) ==
            known[i][2],
          "from state %d to %d", known[i][0], known[i][1]);
  for (int to = 0; to < GROVE_OP_STATES; to++)
    CHECK(!grove_op_may_move(GROVE_OP_STUCK, (grove_op_state)to), "what is stuck moves to %d", to);
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "exec/kinds");
  places all = places_create();
  const place *p = &all.place[0];
  grove_forest *f = ring_of(p);
  moves();
  grove_op *member = bcast(f), *bundle = NULL;
  check_kind(member, "transfer", 1);
  walks(member);
  CHECK_OK(grove_op_bundle(1, &member, &bundle));
  check_kind(bundle, "bundle", 0);
  walks(bundle);
  one_shot(f);
  CHECK_OK(grove_op_free(&member));
  CHECK_OK(grove_op_free(&bundle));
  CHECK_OK(grove_forest_free(&f));
  places_free(&all);
  return test_end();
}
