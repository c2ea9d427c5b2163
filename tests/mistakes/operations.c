/* Mistakes with operations, forests and bundles, each told with status, rank and object on every
 * rank (told.h). Afterwards everything works. */
#include "ring.h"
#include "told.h"

/* Makes the call in vain. */
static grove_status refused(const op_call *c)
{
  grove_op *op = NULL;
  grove_status status = call_init(c, &op);
  CHECK(op == NULL, "an output was set by a call that failed");
  return status;
}

/* ---- ranks that do not make the same ---- */

static void different_operations(const place *p, const ring *x)
{
  for (op_kind k = 0; k < OP_KINDS; k++) {
    op_call c = ring_call(x);
    c.kind = p->rank == p->size - 1 ? k : (op_kind)((k + 1) % OP_KINDS);
    told(p, refused(&c), GROVE_ERR_STATE, p->size - 1, "the operation");
    CHECK(strstr(grove_last_error(), kind_name(k)), "'%s'", grove_last_error());
    CHECK(strstr(grove_last_error(), kind_name((op_kind)((k + 1) % OP_KINDS))), "'%s'",
          grove_last_error());
  }
}

static void different_arguments(const place *p, const ring *x, const ring *y)
{
  int other = p->rank == p->size - 1;
  op_call c = ring_call(x);
  c.kind = KIND_REDUCE;
  if (other) c.unit = MPI_DOUBLE;
  told(p, refused(&c), GROVE_ERR_STATE, p->size - 1, "MPI_DOUBLE");
  c.unit = other ? MPI_INT32_T : MPI_INT64_T;
  told(p, refused(&c), GROVE_ERR_STATE, p->size - 1, "MPI_INT32_T");
  c.unit = MPI_INT64_T;
  c.op = other ? MPI_MIN : MPI_SUM;
  told(p, refused(&c), GROVE_ERR_STATE, p->size - 1, "MPI_MIN");
  c.op = MPI_SUM;
  if (other) c.f = y->forest;
  told(p, refused(&c), GROVE_ERR_STATE, p->size - 1, "'fagus'");
}

/* The first that differs is told, and which others do. */
static void several_differ(const place *p, const ring *x)
{
  char others[64], *end = others;
  op_call c = ring_call(x);
  if (p->size < 3) return;
  if (p->rank > 0) c.unit = MPI_FLOAT;
  end += sprintf(end, p->size > 3 ? "; ranks 2" : "; rank 2");
  for (int i = 3; i < p->size; i++) end += sprintf(end, ", %d", i);
  sprintf(end, p->size > 3 ? " differ from rank 0 too" : " differs from rank 0 too");
  told(p, refused(&c), GROVE_ERR_STATE, 1, others);
}

/* The last rank is in another call. It waits there for the others until its timeout, and is found
 * there even then. */
static void different_calls(const place *p)
{
  place q = place_create(p->comm);
  ring x = ring_open(&q, RING_SMALL, RING_NOBODY, KIND_BCAST);
  char memory[8], there[48];
  grove_op *op = NULL;
  int other = p->rank == p->size - 1;
  op_call c = ring_call(&x);
  CHECK_OK(grove_context_get(q.ctx, "transport_on_node", memory, sizeof memory));
  snprintf(there, sizeof there, "; rank %d is in grove_context_set;", p->size - 1);
  CHECK_OK(grove_context_set(q.ctx, "timeout", "2"));
  if (other)
    CHECK(grove_context_set(q.ctx, "chunk", "64") != GROVE_OK, "nobody else did that");
  else
    told_alone(p, call_init(&c, &op), GROVE_ERR_STATE,
               "in another collective call than grove_bcast_init");
  if (!other && strcmp(memory, "shm") == 0)
    CHECK(strstr(grove_last_error(), there), "no '%s' in '%s'", there, grove_last_error());
  CHECK(op == NULL, "an output was set by a call that failed");
  ring_close(&x);
  CHECK_OK(grove_context_free(&q.ctx));
}

/* ---- arguments ---- */

static void missing_arguments(const place *p, const ring *x)
{
  for (op_kind k = 0; k < OP_KINDS; k++) {
    op_call c = ring_call(x), bad;
    int culprit = (int)k % p->size, mine = p->rank == culprit;
    c.kind = k;
    bad = c;
    if (mine) bad.root = NULL;
    told(p, refused(&bad), GROVE_ERR_ARG, culprit, "root array is NULL");
    bad = c;
    if (mine) bad.leaf = NULL;
    told(p, refused(&bad), GROVE_ERR_ARG, culprit, "leaf array is NULL");
    bad = c;
    if (mine) bad.unit = MPI_DATATYPE_NULL;
    told(p, refused(&bad), GROVE_ERR_ARG, culprit, "MPI_DATATYPE_NULL");
    if (kind_is_multi(k)) continue;
    bad = c;
    if (mine) bad.op = MPI_OP_NULL;
    told(p, refused(&bad), GROVE_ERR_ARG, culprit, "MPI_OP_NULL");
    if (k != KIND_FETCH) continue;
    bad = c;
    if (mine) bad.update = NULL;
    told(p, refused(&bad), GROVE_ERR_ARG, culprit, "update array is NULL");
  }
}

static void without_meaning(const place *p, const ring *x)
{
  const struct {
    MPI_Datatype type;
    const char *type_name;
    MPI_Op op;
    const char *op_name, *instead;
  } bad[] = {
    {MPI_DOUBLE, "MPI_DOUBLE", MPI_BOR, "MPI_BOR", "MPI_SUM"},
    {MPI_FLOAT, "MPI_FLOAT", MPI_LXOR, "MPI_LXOR", "MPI_MIN"},
    {MPI_C_DOUBLE_COMPLEX, "COMPLEX", MPI_MAX, "MPI_MAX", "MPI_PROD"},
    {MPI_INT64_T, "MPI_INT64_T", MPI_MAXLOC, "MPI_MAXLOC", "MPI_DOUBLE_INT"},
    {MPI_BYTE, "MPI_BYTE", MPI_PROD, "MPI_PROD", "MPI_BAND"},
    {MPI_DOUBLE_INT, "MPI_DOUBLE_INT", MPI_SUM, "MPI_SUM", "MPI_Op_create"},
  };
  for (int i = 0; i < (int)(sizeof bad / sizeof *bad); i++) {
    op_call c = ring_call(x);
    c.kind = i % 2 ? KIND_FETCH : KIND_REDUCE;
    if (p->rank == p->size - 1) c.unit = bad[i].type, c.op = bad[i].op;
    told(p, refused(&c), GROVE_ERR_UNSUPPORTED, p->size - 1, bad[i].op_name);
    CHECK(strstr(grove_last_error(), bad[i].type_name), "'%s'", grove_last_error());
    CHECK(strstr(grove_last_error(), bad[i].instead), "what else? '%s'", grove_last_error());
  }
}

static void never_committed(const place *p, const ring *x)
{
  MPI_Datatype type;
  op_call c = ring_call(x);
  MPI_Type_vector(2, 1, 3, MPI_INT32_T, &type);
  if (p->rank == 0) c.unit = type;
  told(p, refused(&c), GROVE_ERR_ARG, 0, "MPI_Type_commit");
  MPI_Type_free(&type);
}

/* ---- forests ---- */

static void not_set_up(const place *p)
{
  grove_forest *f = NULL;
  int64_t x[3] = {0}, nroots = 0;
  CHECK_OK(grove_forest_create(p->ctx, &f));
  CHECK_OK(grove_forest_set_name(f, "acer"));
  op_call c = {
    .f = f, .unit = MPI_INT64_T, .op = MPI_SUM, .root = x, .leaf = x + 1, .update = x + 2};
  for (c.kind = 0; c.kind < OP_KINDS; c.kind++)
    told_alone(p, refused(&c), GROVE_ERR_STATE, "grove_forest_set_graph");
  CHECK_OK(grove_forest_set_graph(f, 0, 0, NULL, NULL));
  for (c.kind = 0; c.kind < OP_KINDS; c.kind++)
    told_alone(p, refused(&c), GROVE_ERR_STATE, "'acer' is not set up: call grove_forest_set_up");
  told_alone(p, grove_forest_sizes(f, &nroots, NULL), GROVE_ERR_STATE, "grove_forest_sizes");
  CHECK_OK(grove_forest_free(&f));
}

static void bad_graphs(const place *p)
{
  const struct {
    int64_t nroots, nleaves;
    grove_root root;
    const char *object;
  } bad[] = {
    {2, 1, {0, 2}, "root 2 of rank 0"},       {2, 1, {0, -1}, "-1"},
    {2, 1, {p->size, 0}, "'betula'"},         {2, 1, {-1, 0}, "'betula'"},
    {-1, 0, {0, 0}, "number of roots is -1"}, {2, -3, {0, 0}, "number of leaves is -3"},
  };
  grove_forest *f = NULL;
  CHECK_OK(grove_forest_create(p->ctx, &f));
  CHECK_OK(grove_forest_set_name(f, "betula"));
  told(p, grove_forest_set_up(f), GROVE_ERR_STATE, 0, "grove_forest_set_graph");
  for (int i = 0; i < (int)(sizeof bad / sizeof *bad); i++) {
    grove_root root = {0, 0};
    int mine = p->rank == p->size - 1;
    if (mine) root = bad[i].root;
    CHECK_OK(
      grove_forest_set_graph(f, mine ? bad[i].nroots : 2, mine ? bad[i].nleaves : 1, NULL, &root));
    told(p, grove_forest_set_up(f), GROVE_ERR_GRAPH, p->size - 1, bad[i].object);
  }
  CHECK_OK(grove_forest_free(&f));
}

/* Rank 0 in one way, the last rank in another. */
static void different_graphs(const place *p)
{
  static const char *const ways[] = {"grove_forest_set_graph,", "grove_forest_set_graph_global;",
                                     "GROVE_GATHER;", "GROVE_ALLTOALL;"};
  grove_forest *f = NULL;
  int64_t global = 0;
  grove_root root = {0, 0};
  CHECK_OK(grove_forest_create(p->ctx, &f));
  CHECK_OK(grove_forest_set_name(f, "larix"));
  for (int way = 1; way < 4; way++) {
    if (p->rank < p->size - 1)
      CHECK_OK(grove_forest_set_graph(f, 1, 1, NULL, &root));
    else if (way == 1)
      CHECK_OK(grove_forest_set_graph_global(f, 1, 1, NULL, &global));
    else
      CHECK_OK(grove_forest_set_pattern(f, way == 2 ? GROVE_GATHER : GROVE_ALLTOALL, 1));
    told(p, grove_forest_set_up(f), GROVE_ERR_GRAPH, p->size - 1, "'larix'");
    CHECK(strstr(grove_last_error(), ways[0]) && strstr(grove_last_error(), ways[way]),
          "which way is which? '%s'", grove_last_error());
  }
  CHECK_OK(grove_forest_set_graph(f, 1, 1, NULL, &root));
  CHECK_OK(grove_forest_set_up(f));
  CHECK_OK(grove_forest_free(&f));
}

/* Rank 0 has one number, the last rank another. */
static void different_numbers(const place *p, const ring *x)
{
  int other = p->rank == p->size - 1;
  grove_forest *f = NULL, *out = NULL;
  grove_forest *const list[] = {x->forest, x->forest, x->forest};
  CHECK_OK(grove_forest_create(p->ctx, &f));
  CHECK_OK(grove_forest_set_name(f, "larix"));
  for (int n = 1; n < 4; n += 2) {
    CHECK_OK(grove_forest_set_pattern(f, GROVE_ALLTOALL, other ? n : 2));
    told(p, grove_forest_set_up(f), GROVE_ERR_GRAPH, p->size - 1, "forest 'larix': n of GROVE_ALL");
    CHECK(strstr(grove_last_error(), "on rank 0 it is 2"), "'%s'", grove_last_error());
  }
  CHECK_OK(grove_forest_set_pattern(f, GROVE_ALLTOALL, 2));
  CHECK_OK(grove_forest_set_up(f));
  told(p, grove_forest_strided(f, other ? 5 : 3, 0, 0, &out), GROVE_ERR_ARG, p->size - 1,
       "n is 5, but on rank 0 it is 3");
  told(p, grove_forest_concatenate(other ? 2 : 3, list, GROVE_ROOTS_LOCAL, &out), GROVE_ERR_ARG,
       p->size - 1, "n is 2, but on rank 0 it is 3");
  told(p, grove_forest_concatenate(3, list, other ? GROVE_ROOTS_GLOBAL : GROVE_ROOTS_LOCAL, &out),
       GROVE_ERR_ARG, p->size - 1, "mode is 2, but on rank 0 it is 0");
  told(p, grove_forest_explain(f, other ? 4 : 8, stdout), GROVE_ERR_ARG, p->size - 1,
       "unit_bytes is 4, but on rank 0 it is 8");
  CHECK(out == NULL, "an output was set by a call that failed");
  CHECK_OK(grove_forest_free(&f));
}

static void different_machines(const place *p)
{
  int other = p->rank == p->size - 1;
  grove_machine *m = NULL;
  CHECK_OK(grove_machine_open(other ? "lassen" : "frontier", &m));
  told(p, grove_context_use_machine(p->ctx, m), GROVE_ERR_ARG, p->size - 1,
       "passes 'lassen', rank 0 passes 'frontier'");
  told(p, grove_context_use_machine(p->ctx, other ? NULL : m), GROVE_ERR_ARG, p->size - 1,
       "passes NULL, rank 0 passes 'frontier'");
  CHECK_OK(grove_machine_free(&m));
}

/* ---- bundles ---- */

/* Two bcasts of other forests into the same leaves; with the option check. */
static void overlap_in_a_bundle(const place *p, ring *x, ring *y)
{
  grove_op *list[2] = {NULL, NULL}, *both = NULL;
  op_call a = ring_call(x), b = ring_call(y);
  a.kind = b.kind = KIND_BCAST;
  a.op = b.op = MPI_REPLACE;
  if (p->rank == p->size - 1) b.leaf = a.leaf;
  CHECK_OK(grove_context_set(p->ctx, "check", "on"));
  CHECK_OK(call_init(&a, &list[0]));
  CHECK_OK(call_init(&b, &list[1]));
  told(p, grove_op_bundle(2, list, &both), GROVE_ERR_ARG, p->size - 1,
       "of member 1, a bcast on forest 'fagus'");
  CHECK(strstr(grove_last_error(), "of member 0, a bcast on forest 'quercus'"), "'%s'",
        grove_last_error());
  CHECK_OK(grove_op_free(&list[0]));
  CHECK_OK(grove_op_free(&list[1]));
  CHECK_OK(grove_context_set(p->ctx, "check", "off"));
}

static void different_bundles(const place *p, ring *x, ring *y)
{
  grove_op *list[2], *both = NULL;
  int other = p->rank == p->size - 1;
  ring_init(x);
  ring_init(y);
  list[0] = other ? y->op : x->op;
  list[1] = other ? x->op : y->op;
  told(p, grove_op_bundle(2, list, &both), GROVE_ERR_STATE, p->size - 1, "in member 0 the forest");
  list[0] = x->op;
  list[1] = y->op;
  told(p, grove_op_bundle(other ? 1 : 2, list, &both), GROVE_ERR_STATE, p->size - 1, "2 members");
  if (other) list[1] = NULL;
  told(p, grove_op_bundle(2, list, &both), GROVE_ERR_ARG, p->size - 1, "operation 1 is NULL");
  CHECK(both == NULL, "an output was set by a call that failed");
  CHECK_OK(grove_op_free(&x->op));
  CHECK_OK(grove_op_free(&y->op));
}

/* ---- times ---- */

static void wrong_times(const place *p, ring *x)
{
  int done = 0;
  ring_init(x);
  ring_fill(x, 0);
  told_alone(p, grove_wait(x->op), GROVE_ERR_STATE, "'quercus'");
  told_alone(p, grove_test(x->op, &done), GROVE_ERR_STATE, "'quercus'");
  told_alone(p, grove_end(&x->op), GROVE_ERR_STATE, "'quercus'");
  CHECK_OK(grove_start(x->op));
  told_alone(p, grove_start(x->op), GROVE_ERR_STATE, "'quercus'");
  CHECK_OK(grove_wait(x->op));
  ring_check(x, 0);
  CHECK_OK(grove_op_free(&x->op));
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "mistakes/operations");
  place p = place_create(split(0));
  if (p.size < 2) return test_skip("one rank agrees with itself");
  ring x = ring_open(&p, RING_SMALL, RING_NOBODY, KIND_FETCH);
  ring y = ring_open(&p, RING_SMALL, RING_NOBODY, KIND_FETCH);
  CHECK_OK(grove_forest_set_name(x.forest, "quercus"));
  CHECK_OK(grove_forest_set_name(y.forest, "fagus"));
  different_operations(&p, &x);
  different_arguments(&p, &x, &y);
  several_differ(&p, &x);
  different_calls(&p);
  missing_arguments(&p, &x);
  without_meaning(&p, &x);
  never_committed(&p, &x);
  not_set_up(&p);
  bad_graphs(&p);
  different_graphs(&p);
  different_numbers(&p, &x);
  different_machines(&p);
  overlap_in_a_bundle(&p, &x, &y);
  different_bundles(&p, &x, &y);
  wrong_times(&p, &x);
  CHECK(mistakes >= 60, "only %d mistakes", mistakes);
  ring_run(&x, 2);
  ring_close(&x);
  ring_close(&y);
  place_free(&p);
  return test_end();
}
