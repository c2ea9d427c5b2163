/* When a _begin is the first of its kind, and so collective: what counts is the same on every rank.
 * Not the handles of types and operations, which MPI gives out differently on each, nor options
 * that change no message. A further call of a kind waits for nobody, with the option `check` too;
 * what is wrong with it is its own rank's affair. */
#include "check.h"
#include "random.h"
#include "ring.h"

#include <stdlib.h>

/* Rank 0 goes first: the others wait for its word. A call of rank 0 that waited for another rank
 * would never return. */
static void await_turn(const place *p)
{
  if (p->rank == 0) return;
  MPI_Request request;
  MPI_Irecv(NULL, 0, MPI_INT, 0, 17, p->comm, &request);
  polite_wait(&request);
}

static void pass_on(const place *p)
{
  for (int i = 1; i < p->size && p->rank == 0; i++) MPI_Send(NULL, 0, MPI_INT, i, 17, p->comm);
}

static void begin(ring *x, MPI_Datatype unit, MPI_Op op)
{
  op_call c = ring_call(x);
  c.unit = unit;
  c.op = op;
  CHECK_OK(call_begin(&c, &x->op));
}

/* A call of a kind that is known. */
static void waits_for_nobody(const place *p, ring *x, MPI_Datatype unit, MPI_Op op, int round)
{
  ring_fill(x, round);
  await_turn(p);
  begin(x, unit, op);
  pass_on(p);
  CHECK_OK(grove_end(&x->op));
  ring_check(x, round);
}

/* ---- two forests with a kind each ---- */

/* In the second one rank 0 has no edges, so that not even the end needs another rank, unless data
 * passes through rank 0. */
typedef struct known {
  ring all, without_0;
  int relays;
} known;

static known known_open(const place *p, op_kind which)
{
  known k = {ring_open(p, RING_SMALL, RING_NOBODY, which), ring_open(p, RING_SMALL, 0, which), 0};
  ring *x[] = {&k.all, &k.without_0};
  for (int i = 0; i < 2; i++) {
    ring_begin(x[i]); /* collective */
    k.relays = op_relays(x[i]->op);
    CHECK_OK(grove_end(&x[i]->op));
    ring_check(x[i], 0);
  }
  return k;
}

static void known_close(known *k)
{
  ring_close(&k->all);
  ring_close(&k->without_0);
}

static void stays_known(const place *p, known *k, int round)
{
  ring *x = &k->without_0;
  waits_for_nobody(p, &k->all, MPI_INT64_T, ring_call(&k->all).op, round);
  if (k->relays) {
    waits_for_nobody(p, x, MPI_INT64_T, ring_call(x).op, round);
    return;
  }
  ring_fill(x, round);
  await_turn(p);
  op_call c = ring_call(x);
  CHECK_OK(call_block(&c));
  pass_on(p);
  ring_check(x, round);
}

/* ---- handles ---- */

static void add(void *a, void *b, int *n, MPI_Datatype *type)
{
  (void)type;
  for (int i = 0; i < *n; i++) ((int64_t *)b)[i] += ((const int64_t *)a)[i];
}

enum { ROUNDS = 12 };

/* A new operation for every call; meanwhile the ranks have other operations, each its own. */
static void new_operations(const place *p, rng *mine, op_kind k)
{
  MPI_Op held[ROUNDS];
  int nheld = 0;
  ring x = ring_open(p, RING_SMALL, RING_NOBODY, k);
  for (int round = 0; round < ROUNDS; round++) {
    MPI_Op op;
    MPI_Op_create(add, round % 2, &op); /* add does commute, but need not say so */
    if (round == 0) {
      ring_fill(&x, 0);
      op_call c = ring_call(&x);
      c.op = op;
      CHECK_OK(call_block(&c));
    } else {
      waits_for_nobody(p, &x, MPI_INT64_T, op, round);
    }
    ring_check(&x, round);
    MPI_Op_free(&op);
    if (rng_one_in(mine, 2)) MPI_Op_create(add, 1, &held[nheld++]);
    if (nheld > 0 && rng_one_in(mine, 4)) MPI_Op_free(&held[--nheld]);
  }
  while (nheld > 0) MPI_Op_free(&held[--nheld]);
  ring_close(&x);
}

/* An MPI_INT64_T, made in one of several ways. */
static MPI_Datatype make_unit(int64_t way)
{
  MPI_Datatype type;
  MPI_Aint zero = 0;
  int one = 1, at = 0;
  switch (way) {
  case 0: MPI_Type_dup(MPI_INT64_T, &type); break;
  case 1: MPI_Type_contiguous(1, MPI_INT64_T, &type); break;
  case 2: MPI_Type_vector(1, 1, 7, MPI_INT64_T, &type); break;
  case 3: MPI_Type_indexed(1, &one, &at, MPI_INT64_T, &type); break;
  case 4: MPI_Type_create_hindexed_block(1, 1, &zero, MPI_INT64_T, &type); break;
  default: MPI_Type_create_resized(MPI_INT64_T, 0, 8, &type); break;
  }
  MPI_Type_commit(&type);
  return type;
}

/* Each rank has its own way to make the unit, now and then a new one; some use the named type. */
static void new_types(const place *p, rng *mine, op_kind k)
{
  MPI_Datatype type = make_unit(p->rank);
  ring x = ring_open(p, RING_SMALL, RING_NOBODY, k);
  for (int round = 0; round < ROUNDS; round++) {
    MPI_Datatype unit = rng_one_in(mine, 4) ? MPI_INT64_T : type;
    MPI_Op op = ring_call(&x).op;
    if (round == 0) {
      begin(&x, unit, op);
      CHECK_OK(grove_end(&x.op));
      ring_check(&x, 0);
    } else {
      waits_for_nobody(p, &x, unit, op, round);
    }
    if (rng_one_in(mine, 2)) {
      MPI_Type_free(&type);
      type = make_unit(rng_below(mine, 6));
    }
  }
  MPI_Type_free(&type);
  ring_close(&x);
}

/* ---- different kinds ---- */

/* A call, of whatever unit fits into these. */
typedef struct lot {
  MPI_Datatype unit;
  MPI_Op op;
  int64_t root, leaf;
  grove_op *begun;
} lot;

static void lot_begin(ring *x, lot *l)
{
  op_call c = ring_call(x);
  c.unit = l->unit;
  c.op = l->op;
  c.root = &l->root;
  c.leaf = &l->leaf;
  CHECK_OK(call_begin(&c, &l->begun));
}

/* Two kinds of bcast that differ in one thing only: their calls match whatever the order. */
static void do_not_mix(const place *p, ring *x, lot a, lot b)
{
  lot *lots[2] = {&a, &b};
  for (int round = 0; round < 3; round++) {
    int turned = round > 0 && p->rank % 2; /* at first all ranks in one order */
    for (int i = 0; i < 2; i++) {
      lots[i]->root = 100 * (p->rank + 1) + i;
      lots[i]->leaf = 0;
    }
    for (int i = 0; i < 2; i++) lot_begin(x, lots[turned ? 1 - i : i]);
    for (int i = 0; i < 2; i++) CHECK_OK(grove_end(&lots[i]->begun));
    for (int i = 0; i < 2; i++)
      CHECK(lots[i]->leaf == 100 * (x->next + 1) + i, "round %d: call %d brought %lld", round, i,
            (long long)lots[i]->leaf);
  }
}

/* A reduce of the same units, where one with another MPI operation is known. */
static void nor_do_operations(const place *p, const ring *x)
{
  const MPI_Op ops[2] = {MPI_MIN, MPI_SUM};
  for (int i = 0; i < 2; i++) {
    int64_t root = 1000, leaf = p->rank;
    op_call c = ring_call(x);
    c.kind = KIND_REDUCE;
    c.op = ops[i];
    c.root = &root;
    c.leaf = &leaf;
    CHECK_OK(call_block(&c));
    CHECK(root == x->previous + (i == 0 ? 0 : 1000), "reduce %d gives %lld", i, (long long)root);
  }
}

static void kinds_do_not_mix(const place *p)
{
  ring x = ring_open(p, 1, RING_NOBODY, KIND_BCAST);
  do_not_mix(p, &x, (lot){.unit = MPI_INT64_T, .op = MPI_SUM},
             (lot){.unit = MPI_INT64_T, .op = MPI_MAX});
  do_not_mix(p, &x, (lot){.unit = MPI_INT64_T, .op = MPI_SUM},
             (lot){.unit = MPI_UINT64_T, .op = MPI_SUM});
  do_not_mix(p, &x, (lot){.unit = MPI_INT64_T, .op = MPI_SUM},
             (lot){.unit = MPI_INT32_T, .op = MPI_SUM});
  do_not_mix(p, &x, (lot){.unit = MPI_INT64_T, .op = MPI_REPLACE},
             (lot){.unit = MPI_INT64_T, .op = MPI_BOR});
  nor_do_operations(p, &x);
  ring_close(&x);
}

/* ---- options ---- */

static void options_that_change_no_message(const place *p, known *k)
{
  static const char *const option[][2] = {{"timeout", "3600"}, {"timeout", "0"}, {"log", "summary"},
                                          {"log", "off"},      {"spin", "10"},   {"spin", "auto"}};
  for (int i = 0; i < (int)(sizeof option / sizeof *option); i++) {
    CHECK_OK(grove_context_set(p->ctx, option[i][0], option[i][1]));
    stays_known(p, k, i);
  }
}

/* A begin of a known kind and an _init, in two orders: only one of them is collective. */
static void before_or_after_an_init(const place *p, known *k)
{
  ring x = ring_sibling(&k->all), y = ring_sibling(&k->all);
  if (p->rank == 0) ring_begin(&x);
  ring_init(&y);
  if (p->rank != 0) ring_begin(&x);
  CHECK_OK(grove_start(y.op));
  CHECK_OK(grove_wait(y.op));
  CHECK_OK(grove_end(&x.op));
  ring_check(&x, 0);
  ring_check(&y, 0);
  ring_close(&x);
  ring_close(&y);
}

/* ---- mistakes ---- */

static void refused(const ring *x, MPI_Datatype unit, void *root, void *leaf)
{
  grove_op *op = NULL;
  op_call c = ring_call(x);
  c.unit = unit;
  c.root = root;
  c.leaf = leaf;
  CHECK_STATUS(call_begin(&c, &op), GROVE_ERR_ARG);
  CHECK(op == NULL, "an output was set by a call that failed");
}

/* Rank 0 alone makes them, and hears of them at once. They do not count as calls: the next ones
 * match. */
static void mistakes_are_local(const place *p, known *k, int check)
{
  const ring *x = &k->all;
  if (p->rank == 0) {
    MPI_Datatype never_committed;
    MPI_Type_contiguous(1, MPI_INT64_T, &never_committed);
    refused(x, never_committed, x->root, x->leaf);
    MPI_Type_free(&never_committed);
    refused(x, MPI_INT64_T, NULL, x->leaf);
    refused(x, MPI_INT64_T, x->root, NULL);
    refused(x, MPI_DATATYPE_NULL, x->root, x->leaf);
    if (check) refused(x, MPI_INT64_T, x->root, x->root);
  }
  stays_known(p, k, 77);
}

/* ---- reports ---- */

static grove_report report_of(grove_op *op)
{
  grove_report report = {.struct_size = sizeof report};
  CHECK_OK(grove_op_report(op, &report));
  return report;
}

/* Each call is an operation of its own, though its memory may have served before. */
static void reports_start_anew(ring *x)
{
  for (int round = 0; round < 4; round++) {
    ring_begin(x);
    grove_report report = report_of(x->op);
    CHECK(report.starts == 0 && report.measured_seconds == 0,
          "begun and not yet seen complete: %lld starts, %g s", (long long)report.starts,
          report.measured_seconds);
    CHECK_OK(grove_wait(x->op));
    report = report_of(x->op);
    CHECK(report.starts == 1 && report.measured_seconds >= 0, "complete: %lld starts, %g s",
          (long long)report.starts, report.measured_seconds);
    CHECK_OK(grove_end(&x->op));
  }
}

static void try_all(op_kind which, int check)
{
  place p = place_create(split(0));
  rng mine = rng_from(test_seed(), (uint64_t)world_rank());
  CHECK_OK(grove_context_set(p.ctx, "check", check ? "on" : "off"));
  if (which == KIND_BCAST) kinds_do_not_mix(&p);
  known k = known_open(&p, which);
  stays_known(&p, &k, 1);
  before_or_after_an_init(&p, &k);
  options_that_change_no_message(&p, &k);
  mistakes_are_local(&p, &k, check);
  reports_start_anew(&k.all);
  new_types(&p, &mine, which);
  if (which == KIND_REDUCE || which == KIND_FETCH) new_operations(&p, &mine, which);
  known_close(&k);
  place_free(&p);
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "exec/kinds_of_begin");
  if (world_size() < 2) return test_skip("one rank waits for nobody");
  for (int i = 0; i < 2 * OP_KINDS; i++) {
    test_case(i);
    try_all((op_kind)(i % OP_KINDS), i / OP_KINDS);
  }
  return test_end();
}
