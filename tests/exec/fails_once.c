/* A start that fails while values are combined is reported once, by its own wait, with its own
 * sentence: the next start of the same operation, or of one that takes its place, is as good as
 * new. */
#include "calls.h"
#include "check.h"
#include "places.h"

#include <string.h>

/* ---- MPI that fails when it is told to ---- */

static int failure = MPI_SUCCESS;

/* First as it is told, then otherwise. */
GROVE_API int MPI_Reduce_local(const void *in, void *inout, int n, MPI_Datatype type, MPI_Op op)
{
  int code = failure;
  if (code == MPI_SUCCESS) return PMPI_Reduce_local(in, inout, n, type, op);
  failure = MPI_ERR_BUFFER;
  return code;
}

/* A user's operation: no kernel knows it. */
static void plus(void *in, void *inout, int *n, MPI_Datatype *type)
{
  (void)type;
  for (int i = 0; i < *n; i++) ((int64_t *)inout)[i] += ((int64_t *)in)[i];
}

/* ---- a root on every rank: leaf 0 is joined to the next rank's, leaf 1 to the own one ---- */

enum { LEAVES = 2, ROOT = 100000 };

typedef struct star {
  op_call call;
  int64_t root, leaf[LEAVES], update[LEAVES];
} star;

static int64_t leaf_value(int rank, int leaf)
{
  return 10 * (rank + 1) + leaf;
}

static void fill(star *x, const place *p)
{
  x->root = ROOT;
  for (int i = 0; i < LEAVES; i++) {
    x->leaf[i] = leaf_value(p->rank, i);
    x->update[i] = -1;
  }
}

/* What its root was when a leaf met it, in the order of ranks. */
static int64_t met(const place *p, int i)
{
  int owner = i == 0 ? (p->rank + 1) % p->size : p->rank;
  int before = (owner + p->size - 1) % p->size; /* whose leaf 0 is the other one of the root */
  if (i == 0) return p->rank > owner ? ROOT + leaf_value(owner, 1) : ROOT;
  return before <= p->rank ? ROOT + leaf_value(before, 0) : ROOT;
}

/* What it is when nothing fails. */
static void check_moved(const star *x, const place *p)
{
  op_kind kind = x->call.kind;
  int64_t root = ROOT + leaf_value((p->rank + p->size - 1) % p->size, 0) + leaf_value(p->rank, 1);
  if (kind == KIND_BCAST) root = ROOT;
  CHECK(x->root == root, "the root is %lld, not %lld", (long long)x->root, (long long)root);
  for (int i = 0; i < LEAVES; i++) {
    int64_t leaf = leaf_value(p->rank, i) + (kind == KIND_BCAST ? ROOT : 0);
    int64_t update = kind == KIND_FETCH ? met(p, i) : -1;
    CHECK(x->leaf[i] == leaf && x->update[i] == update, "leaf %d is %lld and %lld, not %lld, %lld",
          i, (long long)x->leaf[i], (long long)x->update[i], (long long)leaf, (long long)update);
  }
}

static void check_sentence(int code)
{
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  CHECK(strstr(grove_last_error(), text), "'%s' is not in '%s'", text, grove_last_error());
}

/* One start, which fails on one rank if there is a code; what others then get is anything. */
static void run(star *x, const place *p, grove_op **op, op_form how, int code)
{
  int fails = code != MPI_SUCCESS && p->rank == p->size / 2;
  fill(x, p);
  failure = fails ? code : MPI_SUCCESS;
  if (how == FORM_INIT)
    CHECK_OK(grove_start(*op));
  else
    CHECK_OK(call_begin(&x->call, op));
  grove_status status = how == FORM_INIT ? grove_wait(*op) : grove_end(op);
  failure = MPI_SUCCESS;
  CHECK(status == (fails ? GROVE_ERR_MPI : GROVE_OK), "MPI returned %d, Grove %s",
        fails ? code : MPI_SUCCESS, grove_status_name(status));
  if (fails) check_sentence(code);
  if (code == MPI_SUCCESS) check_moved(x, p);
}

static void try(const place *p, grove_forest *f, MPI_Op plus_op, op_kind kind, op_form how)
{
  const int codes[] = {MPI_SUCCESS, MPI_ERR_OP, MPI_SUCCESS, MPI_ERR_TYPE, MPI_ERR_OP, MPI_SUCCESS};
  star x = {.call = {.kind = kind, .f = f, .unit = MPI_INT64_T, .op = plus_op}};
  grove_op *op = NULL;
  x.call.root = &x.root;
  x.call.leaf = x.leaf;
  x.call.update = x.update;
  if (how == FORM_INIT) CHECK_OK(call_init(&x.call, &op));
  for (int i = 0; i < (int)(sizeof codes / sizeof *codes); i++) run(&x, p, &op, how, codes[i]);
  CHECK_OK(grove_op_free(&op));
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "exec/fails_once");
  place p = place_create(split(0));
  MPI_Op plus_op;
  grove_forest *f = NULL;
  const grove_root root[LEAVES] = {{(p.rank + 1) % p.size, 0}, {p.rank, 0}};
  MPI_Op_create(plus, 1, &plus_op);
  CHECK_OK(grove_forest_create(p.ctx, &f));
  CHECK_OK(grove_forest_set_graph(f, 1, LEAVES, NULL, root));
  CHECK_OK(grove_forest_set_up(f));
  for (op_kind kind = KIND_BCAST; kind <= KIND_FETCH; kind++)
    for (op_form how = FORM_INIT; how <= FORM_BEGIN; how++) try(&p, f, plus_op, kind, how);
  CHECK_OK(grove_forest_free(&f));
  MPI_Op_free(&plus_op);
  place_free(&p);
  return test_end();
}
