/* Mistakes with arrays of operations that are under way, which the option `check` finds: what is
 * read is changed, or two operations want the same memory. Each is told to the rank that made it,
 * and to no other, with status, rank, both operations and the slot (told.h). Afterwards everything
 * works. */
#include "grove_cuda.h"
#include "ring.h"
#include "told.h"

static int64_t updates[2][RING_SMALL];

/* Another kind of operation on the same arrays; only a fetch has updates. */
static void become(ring *x, op_kind k)
{
  x->kind = k;
  x->update = k == KIND_FETCH ? updates[0] : NULL;
}

static void both_become(ring *x, op_kind first, ring *y, op_kind second)
{
  become(x, first);
  become(y, second);
  if (second == KIND_FETCH) y->update = updates[1];
}

/* ---- what is read changes before the wait ---- */

/* The array that an operation reads, and what its slots are called. */
static int64_t *array_read(const ring *x)
{
  return kind_goes_to_roots(x->kind) ? x->leaf : x->root;
}

static const char *noun_of(op_kind k, int role)
{
  static const char *const nouns[] = {"root", "leaf", "update"};
  return role == 0 && kind_is_multi(k) ? "multi-root" : nouns[role];
}

static const char *noun_read(const ring *x)
{
  return noun_of(x->kind, kind_goes_to_roots(x->kind));
}

static void check_names(const place *p, int culprit, const char *one, const char *other)
{
  const char *said = grove_last_error();
  if (p->rank == culprit)
    CHECK(strstr(said, one) && strstr(said, other), "no '%s' and '%s' in '%s'", one, other, said);
}

/* Slots 4 and 2 of one rank; the lower is told. Then the same without a mistake. */
static void changed(const place *p, ring *x, int culprit)
{
  char slot[32], name[64];
  snprintf(slot, sizeof slot, "%s 2 was changed", noun_read(x));
  snprintf(name, sizeof name, "%s on forest 'quercus'", kind_name(x->kind));
  ring_init(x);
  for (wait_way way = 0; way < WAIT_WAYS; way++) {
    CHECK_OK(grove_start(x->op));
    if (p->rank == culprit) array_read(x)[4]++, array_read(x)[2]--;
    told_one(p, see_through(x->op, way), GROVE_ERR_CORRUPT, culprit, slot);
    check_names(p, culprit, name, "after the wait");
    if (way == BY_TEST || way == BY_SOME) /* a wait tells it again */
      told_one(p, grove_wait(x->op), GROVE_ERR_CORRUPT, culprit, slot);
    ring_fill(x, (int)way);
    CHECK_OK(grove_start(x->op));
    CHECK_OK(see_through(x->op, way));
    array_read(x)[4]++;
    array_read(x)[4]--;
    ring_check(x, (int)way);
  }
  CHECK_OK(grove_op_free(&x->op));
  ring_begin(x);
  if (p->rank == culprit) array_read(x)[2]++;
  told_one(p, grove_end(&x->op), GROVE_ERR_CORRUPT, culprit, slot);
  CHECK(x->op == NULL, "it has not ended");
  ring_fill(x, 1);
  ring_begin(x);
  CHECK_OK(grove_end(&x->op));
  ring_check(x, 1);
}

static void changed_in_a_bundle(const place *p, ring *x, ring *y, int culprit)
{
  grove_op *list[2], *both = NULL;
  both_become(x, KIND_BCAST, y, KIND_REDUCE);
  ring_init(x);
  ring_init(y);
  list[0] = x->op;
  list[1] = y->op;
  CHECK_OK(grove_op_bundle(2, list, &both));
  for (int member = 0; member < 2; member++) {
    CHECK_OK(grove_start(both));
    if (p->rank == culprit) array_read(member ? y : x)[3]++;
    told_one(p, grove_wait(both), GROVE_ERR_CORRUPT, culprit,
             member ? "reduce on forest 'fagus'" : "bcast on forest 'quercus'");
    check_names(p, culprit, member ? "leaf 3" : "root 3", "was changed");
  }
  CHECK_OK(grove_op_free(&both));
  CHECK_OK(grove_op_free(&x->op));
  CHECK_OK(grove_op_free(&y->op));
}

/* What is not marked yet may change; what is marked may not. */
static void changed_after_its_mark(const place *p, ring *x, int culprit)
{
  char slot[32];
  snprintf(slot, sizeof slot, "%s 1 was changed", noun_read(x));
  ring_init(x);
  for (int bad = 0; bad < 2; bad++) {
    ring_fill(x, 7);
    for (int64_t i = 0; i < x->n; i++) array_read(x)[i]++;
    CHECK_OK(grove_start_parts(x->op));
    for (int64_t i = 0; i < x->n; i++) {
      array_read(x)[i]--;
      CHECK_OK(grove_ready(x->op, i, 1));
    }
    if (bad && p->rank == culprit) array_read(x)[1]++;
    if (bad)
      told_one(p, grove_wait(x->op), GROVE_ERR_CORRUPT, culprit, slot);
    else
      CHECK_OK(grove_wait(x->op));
    if (!bad) ring_check(x, 7);
  }
  CHECK_OK(grove_op_free(&x->op));
}

/* ---- two operations want the same memory ---- */

/* The memory that both want, of the first operation, and how both use it. */
typedef struct shared_use {
  op_kind first, second;
  int first_role, second_role; /* 0: root, 1: leaf, 2: update */
  const char *does, *does_other;
} shared_use;

static int64_t *array_of(const ring *x, int role)
{
  return role == 0 ? x->root : role == 1 ? x->leaf : x->update;
}

/* The call of `y`, one of whose arrays is the other's on the culprit. */
static op_call sharing_call(const place *p, const ring *x, const ring *y, const shared_use *u,
                            int culprit)
{
  op_call c = ring_call(y);
  void *shared = array_of(x, u->first_role);
  if (p->rank != culprit) return c;
  if (u->second_role == 0)
    c.root = shared;
  else if (u->second_role == 1)
    c.leaf = shared;
  else
    c.update = shared;
  return c;
}

/* Told, and at the second try, after a wait for the first one, it is fine. */
static void both_want(const place *p, ring *x, ring *y, const shared_use *u, int begins,
                      int culprit)
{
  char one[96], other[96];
  both_become(x, u->first, y, u->second);
  snprintf(one, sizeof one, "%s %s 0 of the %s on forest 'fagus'", u->does,
           noun_of(u->second, u->second_role), kind_name(u->second));
  snprintf(other, sizeof other, "%s 0 of the %s on forest 'quercus', which is under way and %s it",
           noun_of(u->first, u->first_role), kind_name(u->first), u->does_other);
  op_call c = sharing_call(p, x, y, u, culprit);
  ring_init(x);
  if (!begins) CHECK_OK(call_init(&c, &y->op));
  CHECK_OK(grove_start(x->op));
  told_one(p, begins ? call_begin(&c, &y->op) : grove_start(y->op), GROVE_ERR_STATE, culprit, one);
  check_names(p, culprit, other, "wait for that one first");
  CHECK_OK(grove_wait(x->op));
  if (p->rank == culprit) CHECK_OK(begins ? call_begin(&c, &y->op) : grove_start(y->op));
  CHECK_OK(begins ? grove_end(&y->op) : grove_wait(y->op));
  CHECK_OK(grove_op_free(&y->op));
  CHECK_OK(grove_op_free(&x->op));
}

static void two_want_the_same(const place *p, ring *x, ring *y)
{
  static const shared_use uses[] = {
    {KIND_BCAST, KIND_BCAST, 1, 1, "writes", "writes"},
    {KIND_REDUCE, KIND_REDUCE, 0, 0, "writes", "writes"},
    {KIND_BCAST, KIND_REDUCE, 1, 1, "reads", "writes"},
    {KIND_REDUCE, KIND_BCAST, 1, 1, "writes", "reads"},
    {KIND_GATHER, KIND_SCATTER, 0, 0, "reads", "writes"},
    {KIND_SCATTER, KIND_GATHER, 0, 0, "writes", "reads"},
    {KIND_FETCH, KIND_FETCH, 2, 1, "reads", "writes"},
    {KIND_FETCH, KIND_BCAST, 0, 0, "reads", "writes"},
    {KIND_BCAST, KIND_FETCH, 0, 2, "writes", "reads"},
    {KIND_GATHER, KIND_FETCH, 0, 0, "writes", "writes"},
  };
  for (int i = 0; i < (int)(sizeof uses / sizeof *uses); i++)
    for (int begins = 0; begins < 2; begins++)
      both_want(p, x, y, &uses[i], begins, (i + begins) % p->size);
}

/* The same of two contexts, both of which look at their arrays; one that does not is not told. */
static void two_contexts_want_the_same(const place *p, ring *x)
{
  place q = place_create(p->comm);
  ring z = ring_open(&q, RING_SMALL, RING_NOBODY, KIND_REDUCE);
  op_call c = ring_call(&z);
  grove_op *unchecked = NULL;
  CHECK_OK(grove_forest_set_name(z.forest, "ilex"));
  CHECK_OK(grove_context_set(q.ctx, "check", "off"));
  c.leaf = x->leaf;
  become(x, KIND_BCAST);
  ring_init(x);
  CHECK_OK(call_init(&c, &unchecked));
  CHECK_OK(grove_context_set(q.ctx, "check", "on"));
  CHECK_OK(call_init(&c, &z.op));
  CHECK_OK(grove_start(x->op));
  told_alone(p, grove_start(z.op), GROVE_ERR_STATE, "reads leaf 0 of the reduce on forest 'ilex'");
  check_names(p, p->rank, "leaf 0 of the bcast on forest 'quercus' of another context, which is",
              "wait for that one first");
  CHECK_OK(grove_wait(x->op));
  CHECK_OK(grove_start(z.op));
  told_alone(p, grove_start(x->op), GROVE_ERR_STATE, "which is under way and reads it");
  CHECK_OK(grove_wait(z.op));
  CHECK_OK(grove_start(unchecked));
  CHECK_OK(grove_start(x->op));
  CHECK_OK(grove_wait(x->op));
  CHECK_OK(grove_wait(unchecked));
  CHECK_OK(grove_op_free(&unchecked));
  CHECK_OK(grove_op_free(&x->op));
  ring_close(&z);
  CHECK_OK(grove_context_free(&q.ctx));
}

/* The same in the memory of a device: one operation brings what the other sends home. */
static void two_want_device_memory(const place *p)
{
  place q = place_create(p->comm);
  int64_t *memory = NULL;
  grove_op *bring = NULL, *send = NULL;
  place_set(&q, "device", "emulated");
  place_set(&q, "check", "on");
  ring x = ring_open(&q, RING_SMALL, RING_NOBODY, KIND_BCAST);
  op_call a = ring_call(&x), b = a;
  CHECK_OK(grove_forest_set_name(x.forest, "salix"));
  CHECK_OK(grove_alloc_device(q.ctx, RING_SMALL * sizeof *memory, (void **)&memory));
  b.kind = KIND_REDUCE;
  b.op = MPI_SUM;
  a.leaf = b.leaf = memory;
  CHECK_OK(call_init(&a, &bring));
  CHECK_OK(call_init(&b, &send));
  for (int round = 0; round < 2; round++) {
    ring_fill(&x, round);
    CHECK_OK(grove_start(bring));
    told_alone(p, grove_start(send), GROVE_ERR_STATE, "reads leaf 0 of the reduce on forest 'sal");
    check_names(p, p->rank, "leaf 0 of the bcast on forest 'salix', which is under way",
                "wait for that one first");
    CHECK_OK(grove_wait(bring));
    CHECK_OK(grove_copy(q.ctx, x.leaf, memory, RING_SMALL * sizeof *memory));
    ring_check(&x, round);
    CHECK_OK(grove_start(send));
    CHECK_OK(grove_wait(send));
  }
  CHECK_OK(grove_op_free(&bring));
  CHECK_OK(grove_op_free(&send));
  CHECK_OK(grove_dealloc(q.ctx, memory));
  ring_close(&x);
  CHECK_OK(grove_context_free(&q.ctx));
}

/* A bundle against one of its own members' arrays, on every rank. */
static void a_bundle_wants_the_same(const place *p, ring *x, ring *y)
{
  grove_op *list[2], *both = NULL;
  both_become(x, KIND_BCAST, y, KIND_BCAST);
  ring_init(x);
  ring_init(y);
  list[0] = x->op;
  list[1] = y->op;
  CHECK_OK(grove_op_bundle(2, list, &both));
  CHECK_OK(grove_start(both));
  told_alone(p, grove_start(y->op), GROVE_ERR_STATE,
             "leaf 0 of the bcast on forest 'fagus' (member 1 of a bundle), which is under way");
  CHECK_OK(grove_wait(both));
  CHECK_OK(grove_start(y->op));
  told_alone(p, grove_start(both), GROVE_ERR_STATE,
             "this start writes leaf 0 of the bcast on forest 'fagus' (member 1 of a bundle)");
  CHECK_OK(grove_wait(y->op));
  CHECK_OK(grove_start(both));
  CHECK_OK(grove_wait(both));
  CHECK_OK(grove_op_free(&both));
  CHECK_OK(grove_op_free(&x->op));
  CHECK_OK(grove_op_free(&y->op));
}

/* Entries 0 and 2 of three are moved by one, and entry 2 by the other. */
static void behind_a_gap(const place *p, const ring *x)
{
  const MPI_Aint extent = 3 * (MPI_Aint)sizeof(int64_t);
  int64_t root[3 * RING_SMALL] = {0}, leaf[3 * RING_SMALL] = {0};
  grove_op *first = NULL, *second = NULL;
  MPI_Datatype part, gap, single;
  MPI_Type_vector(2, 1, 2, MPI_INT64_T, &part);
  MPI_Type_create_resized(part, 0, extent, &gap);
  MPI_Type_create_resized(MPI_INT64_T, 0, extent, &single);
  MPI_Type_commit(&gap);
  MPI_Type_commit(&single);
  CHECK_OK(grove_bcast_init(x->forest, gap, root, leaf, MPI_REPLACE, &first));
  CHECK_OK(grove_bcast_init(x->forest, single, root, leaf + 2, MPI_REPLACE, &second));
  CHECK_OK(grove_start(first));
  told_alone(p, grove_start(second), GROVE_ERR_STATE, "leaf 0");
  CHECK_OK(grove_wait(first));
  CHECK_OK(grove_op_free(&first));
  CHECK_OK(grove_op_free(&second));
  MPI_Type_free(&part);
  MPI_Type_free(&gap);
  MPI_Type_free(&single);
}

/* With two routes that are tried, ranks must count starts alike after one was refused. */
static void while_routes_are_tried(const place *p, ring *x, ring *y, int culprit)
{
  CHECK_OK(grove_context_set(p->ctx, "node_size", "2"));
  CHECK_OK(grove_context_set(p->ctx, "effort", "measure"));
  both_become(x, KIND_BCAST, y, KIND_BCAST);
  op_call c = ring_call(y);
  if (p->rank == culprit) c.leaf = x->leaf;
  ring_init(x);
  CHECK_OK(call_init(&c, &y->op));
  for (int round = 0; round < 90; round++) {
    int bad = round % 11 == 3 || round == 84;
    ring_fill(x, round);
    CHECK_OK(grove_start(x->op));
    if (bad) told_one(p, grove_start(y->op), GROVE_ERR_STATE, culprit, "'fagus'");
    CHECK_OK(grove_wait(x->op));
    ring_check(x, round);
    if (!bad || p->rank == culprit) CHECK_OK(grove_start(y->op));
    if (round % 11 == 5 && p->rank == culprit) y->root[0]++;
    if (round % 11 == 5)
      told_one(p, grove_wait(y->op), GROVE_ERR_CORRUPT, culprit, "root 0 was changed");
    else
      CHECK_OK(grove_wait(y->op));
  }
  CHECK_OK(grove_op_free(&x->op));
  CHECK_OK(grove_op_free(&y->op));
  CHECK_OK(grove_context_set(p->ctx, "effort", "estimate"));
  CHECK_OK(grove_context_set(p->ctx, "node_size", "0"));
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "mistakes/arrays");
  place p = place_create(split(0));
  ring x = ring_open(&p, RING_SMALL, RING_NOBODY, KIND_BCAST);
  ring y = ring_open(&p, RING_SMALL, RING_NOBODY, KIND_BCAST);
  CHECK_OK(grove_forest_set_name(x.forest, "quercus"));
  CHECK_OK(grove_forest_set_name(y.forest, "fagus"));
  CHECK_OK(grove_context_set(p.ctx, "check", "on"));
  for (op_kind k = 0; k < OP_KINDS; k++) {
    become(&x, k);
    changed(&p, &x, (int)k % p.size);
    if (k != KIND_FETCH) changed_after_its_mark(&p, &x, (int)k % p.size);
  }
  changed_in_a_bundle(&p, &x, &y, p.size - 1);
  two_want_the_same(&p, &x, &y);
  two_contexts_want_the_same(&p, &x);
  two_want_device_memory(&p);
  a_bundle_wants_the_same(&p, &x, &y);
  behind_a_gap(&p, &x);
  while_routes_are_tried(&p, &x, &y, p.size - 1);
  CHECK(mistakes >= 60, "only %d mistakes", mistakes);
  CHECK_OK(grove_context_set(p.ctx, "check", "off"));
  ring_run(&x, 2);
  ring_close(&x);
  ring_close(&y);
  place_free(&p);
  return test_end();
}
