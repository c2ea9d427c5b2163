/* One-shot operations: the first of its kind is collective, later ones wait for nobody, take any
 * addresses, may be several at a time, and never mistake a new datatype for an old one. */
#include "check.h"
#include "exercise.h"
#include "places.h"
#include "ring.h"

#include <string.h>

enum { SHOTS = 5 };

static void say(const place *p, int to)
{
  MPI_Send(NULL, 0, MPI_INT, to, 17, p->comm);
}
static void hear(const place *p, int from)
{
  MPI_Request request;
  MPI_Irecv(NULL, 0, MPI_INT, from, 17, p->comm, &request);
  polite_wait(&request);
}

/* Rank 0 begins several of one kind before anybody else does: the others wait for its word. A begin
 * that waited for the other ranks would never return. */
static void begin_waits_for_nobody(const place *p, int64_t n, op_kind k)
{
  ring shot[SHOTS];
  shot[0] = ring_open(p, n, RING_NOBODY, k);
  for (int i = 1; i < SHOTS; i++) shot[i] = ring_sibling(&shot[0]); /* one forest, so one kind */
  ring_begin(&shot[0]);
  CHECK_OK(grove_end(&shot[0].op));
  for (int i = 0; i < SHOTS; i++) ring_fill(&shot[i], i);
  if (p->rank != 0) hear(p, 0);
  for (int i = 0; i < SHOTS; i++) ring_begin(&shot[i]);
  for (int i = 1; i < p->size && p->rank == 0; i++) say(p, i);
  for (int i = 0; i < SHOTS; i++) { /* ended first to last on even ranks, else last to first */
    int which = p->rank % 2 ? SHOTS - 1 - i : i;
    CHECK_OK(grove_end(&shot[which].op));
    ring_check(&shot[which], which);
  }
  for (int i = SHOTS - 1; i >= 0; i--) ring_close(&shot[i]);
}

/* Random forests and types: several in flight, ended in an order of each rank's own. */
static void try_kind(const units *types, const place *p, int64_t number)
{
  rng r = rng_from(test_seed(), (uint64_t)number);
  rng mine = rng_from(r.state, (uint64_t)world_rank());
  graph *g = graph_random(&r, (graph_kind)rng_below(&r, GRAPH_KINDS_AND_REPEATED), p->size);
  exercise shot[SHOTS], any = {.g = g, .f = graph_forest(p->ctx, g, p->rank), .me = p->rank};
  exercise_draw_of(&any, (op_kind)(number % OP_KINDS), types, &r);
  for (int round = 0; round < 3; round++) {
    int64_t order[SHOTS];
    for (int i = 0; i < SHOTS; i++) {
      order[i] = i;
      shot[i] = any;
      shot[i].seed = rng_next(&r);
      exercise_open(&shot[i]);
      exercise_begin(&shot[i]);
    }
    rng_shuffle(&mine, SHOTS, order);
    for (int i = 0; i < SHOTS; i++) {
      exercise *e = &shot[order[i]];
      if (rng_one_in(&mine, 2)) polite_finish(e->op);
      CHECK_OK(grove_end(&e->op));
      exercise_check(e);
    }
    for (int i = 0; i < SHOTS; i++) exercise_close(&shot[i]);
  }
  CHECK_OK(grove_forest_free(&any.f));
  graph_free(g);
}

/* ---- datatypes that die young ---- */

enum { WORDS = 12 };

/* The first and the last of some ints, and one between: made in one step, so that a new one has a
 * good chance to get the handle of the last one that was freed. */
static MPI_Datatype three_words(int between)
{
  MPI_Datatype type;
  MPI_Type_create_indexed_block(3, 1, (int[]){0, between, WORDS - 1}, MPI_INT, &type);
  MPI_Type_commit(&type);
  return type;
}

static int word(int rank, int64_t root, int k)
{
  return (rank * 1000 + (int)root) * 100 + k;
}

/* A bcast of a type that is freed before its end. Meanwhile `held` becomes some other type. */
static void move_words(grove_forest *f, const graph *g, int me, int between, MPI_Datatype *held,
                       rng *mine)
{
  const part *own = &g->part[me];
  int root[GRAPH_MOST_ROOTS][WORDS], leaf[GRAPH_MOST_SLOTS][WORDS];
  for (int64_t i = 0; i < own->nroots; i++)
    for (int k = 0; k < WORDS; k++) root[i][k] = word(me, i, k);
  memset(leaf, 0xff, sizeof leaf);
  MPI_Datatype type = three_words(between);
  grove_op *op = NULL;
  CHECK_OK(grove_bcast_begin(f, type, root, leaf, MPI_REPLACE, &op));
  MPI_Type_free(&type); /* Grove keeps what it needs */
  if (*held != MPI_DATATYPE_NULL) MPI_Type_free(held);
  if (rng_one_in(mine, 4)) *held = three_words(1);
  CHECK_OK(grove_end(&op));
  for (int64_t j = 0; j < own->nleaves; j++)
    for (int k = 0; k < WORDS; k++) {
      int moved = k == 0 || k == between || k == WORDS - 1, got = leaf[part_slot(own, j)][k];
      int expected = moved ? word(own->root[j].rank, own->root[j].index, k) : -1;
      CHECK(got == expected, "leaf %lld, word %d is %d, not %d", (long long)j, k, got, expected);
    }
}

/* MPI is free to give a new type the handle of a dead one, on some ranks and not on others: ranks
 * that hold other types in between see to it. */
static void new_types_are_new(const place *p, int64_t number)
{
  rng r = rng_from(test_seed() + 1, (uint64_t)number);
  rng mine = rng_from(r.state, (uint64_t)world_rank());
  graph *g = graph_random(&r, GRAPH_RING, p->size);
  grove_forest *f = graph_forest(p->ctx, g, p->rank);
  MPI_Datatype held = MPI_DATATYPE_NULL;
  for (int round = 0; round < 40; round++)
    move_words(f, g, p->rank, (int)rng_between(&r, 1, WORDS - 2), &held, &mine);
  if (held != MPI_DATATYPE_NULL) MPI_Type_free(&held);
  CHECK_OK(grove_forest_free(&f));
  graph_free(g);
}

/* ---- user operations that die young ---- */

static void keep_left(void *a, void *b, int *n, MPI_Datatype *type)
{
  (void)type;
  for (int i = 0; i < *n; i++) ((int64_t *)b)[i] = ((const int64_t *)a)[i];
}

static void add_twice(void *a, void *b, int *n, MPI_Datatype *type)
{
  (void)type;
  for (int i = 0; i < *n; i++) ((int64_t *)b)[i] += ((const int64_t *)a)[i];
  for (int i = 0; i < *n; i++) ((int64_t *)b)[i] *= 2;
}

/* The handle of an operation that is gone may come back with another function behind it, and with
 * another opinion of whether it commutes. */
static void new_operations_are_new(const place *p)
{
  ring x = ring_open(p, RING_SMALL, RING_NOBODY, KIND_REDUCE);
  for (int round = 0; round < 10; round++) {
    MPI_Op op;
    int left = round % 3 == 1;
    MPI_Op_create(left ? keep_left : add_twice, !left, &op);
    for (int64_t i = 0; i < x.n; i++) {
      x.root[i] = 100 * p->rank + i;
      x.leaf[i] = 7 * p->rank + round;
    }
    CHECK_OK(grove_reduce(x.forest, MPI_INT64_T, x.leaf, x.root, op));
    MPI_Op_free(&op);
    for (int64_t i = 0; i < x.n; i++) {
      int64_t old = 100 * p->rank + i, expected = left ? old : 2 * (old + 7 * x.previous + round);
      CHECK(x.root[i] == expected, "round %d: root %lld is %lld, not %lld", round, (long long)i,
            (long long)x.root[i], (long long)expected);
    }
  }
  ring_close(&x);
}

/* More kinds on one forest than anybody would keep: used in turn, again and again. */
static void many_kinds(const place *p)
{
  enum { KINDS = 100 };
  MPI_Datatype type[KINDS];
  ring x = ring_open(p, KINDS, RING_NOBODY, KIND_BCAST);
  for (int i = 0; i < KINDS; i++) {
    MPI_Type_contiguous(1, MPI_INT64_T, &type[i]);
    MPI_Type_commit(&type[i]);
  }
  for (int i = 0; i < 3 * KINDS; i++) {
    ring_fill(&x, i);
    grove_op *early = NULL;
    CHECK_OK(grove_bcast_begin(x.forest, type[i % KINDS], x.root, x.leaf, MPI_REPLACE, &early));
    CHECK_OK(grove_end(&early));
    ring_check(&x, i);
  }
  for (int i = 0; i < KINDS; i++) MPI_Type_free(&type[i]);
  ring_close(&x);
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "exec/begin_reuses");
  units *types = units_create();
  place p = place_create(split(0));
  for (op_kind k = 0; k < OP_KINDS; k++) {
    begin_waits_for_nobody(&p, RING_SMALL, k);
    begin_waits_for_nobody(&p, RING_LARGE, k);
  }
  new_operations_are_new(&p);
  many_kinds(&p);
  for (int64_t i = 0; i < test_samples(15); i++) {
    test_case(i);
    try_kind(types, &p, i);
  }
  for (int64_t i = 0; i < test_samples(4); i++) {
    test_case(i);
    new_types_are_new(&p, i);
  }
  place_free(&p);
  units_free(types);
  return test_end();
}
