/* Large letters of arrays on a device go by chunks, through docks where ranks share memory. Here
 * chunks are small, so that letters have many. Operations of every kind, with arrays of any rank on
 * the device or not (TEST_ARRAYS), give what the oracle says: started again and again, several on
 * one wiring, in bundles, freed while under way. A chunk leaves before the last one is packed, and
 * comes before the last one has left. What must wait for others does not hold up its sender. */
#include "check.h"
#include "exec/transfer.h"
#include "exercise.h"
#include "places.h"

#include <stdlib.h>
#include <string.h>

/* Of 8 bytes each, more than a letter must have that is told of and not copied. No chunk is a whole
 * number of most units. */
enum { EDGES = 5000, CHUNK = 3001 };

int64_t __wrap_grove_space_chunk(void);

int64_t __wrap_grove_space_chunk(void)
{
  return CHUNK;
}

/* ---- graphs ---- */

/* Every rank needs much of every other, in disorder, some of it twice. */
static graph *graph_in_disorder(int nranks)
{
  graph *g = graph_empty(nranks);
  for (int i = 0; i < nranks; i++) {
    part *p = &g->part[i];
    part_resize(p, EDGES, (int64_t)EDGES * nranks);
    for (int64_t j = 0; j < p->nleaves; j++)
      p->root[j] = (grove_root){(int)((i + j) % nranks), j / nranks * 7 % (EDGES - 3)};
  }
  return g;
}

/* ---- operations ---- */

enum { GRAPHS = 2, TOGETHER = 3 };

typedef struct stand {
  place p;
  grove_op *idle;
  const units *types;
  graph *g[GRAPHS];
  grove_forest *forest[GRAPHS];
  rng r, mine;
  int rough; /* sums have the bits of one order */
} stand;

static exercise draw_exercise(stand *s, op_kind k, int g)
{
  exercise e = {.g = s->g[g], .f = s->forest[g], .me = s->p.rank};
  exercise_draw_of(&e, k, s->types, &s->r);
  return e;
}

static exercise of_doubles(stand *s, op_kind k, const char *operation, int g)
{
  exercise e = {.g = s->g[g], .f = s->forest[g], .me = s->p.rank, .rough = s->rough};
  exercise_choose(&e, k, s->types, "MPI_DOUBLE", operation, &s->r);
  return e;
}

/* Several under way on one wiring, and so in one dock. */
static void run_together(const exercise *like)
{
  exercise e[TOGETHER];
  for (int i = 0; i < TOGETHER; i++) {
    e[i] = *like;
    e[i].seed += (uint64_t)i;
    exercise_open(&e[i]);
    exercise_begin(&e[i]);
  }
  for (int i = 0; i < TOGETHER; i++) {
    CHECK_OK(grove_end(&e[i].op));
    exercise_check(&e[i]);
    exercise_close(&e[i]);
  }
}

static void run_bundle(stand *s)
{
  exercise e[TOGETHER];
  grove_op *list[TOGETHER] = {NULL}, *op = NULL;
  for (int i = 0; i < TOGETHER; i++) {
    e[i] = draw_exercise(s, (op_kind)rng_below(&s->r, OP_KINDS), i % GRAPHS);
    exercise_open(&e[i]);
    exercise_init(&e[i]);
    list[i] = e[i].op;
  }
  CHECK_OK(grove_op_bundle(TOGETHER, list, &op));
  for (int round = 0; round < 2; round++) {
    for (int i = 0; i < TOGETHER; i++) exercise_renew(&e[i], round);
    CHECK_OK(grove_start(op));
    CHECK_OK(grove_wait(op));
    for (int i = 0; i < TOGETHER; i++) exercise_check(&e[i]);
  }
  CHECK_OK(grove_op_free(&op));
  for (int i = 0; i < TOGETHER; i++) exercise_close(&e[i]);
}

/* Some ranks free it while it is under way; the others have what they should. */
static void run_freed(stand *s, exercise e)
{
  unsigned freers = (unsigned)rng_below(&s->r, 1 << s->p.size);
  int frees = (int)(freers >> s->p.rank & 1), first = (int)rng_below(&s->r, 2) == frees;
  exercise_open(&e);
  exercise_init(&e);
  if (!first) place_meet(&s->p, s->idle);
  CHECK_OK(grove_start(e.op));
  if (frees) CHECK_OK(grove_op_free(&e.op));
  if (first) place_meet(&s->p, s->idle);
  if (!frees) {
    CHECK_OK(grove_wait(e.op));
    exercise_check(&e);
  }
  place_meet(&s->p, s->idle);
  exercise_close(&e);
}

/* ---- what is under way ---- */

/* A rank whose receivers have not started leaves as much in its docks as there is room for, before
 * it has packed the rest. */
static void leaves_early(stand *s)
{
  exercise e = of_doubles(s, KIND_BCAST, "REPLACE", 0);
  exercise_open(&e);
  exercise_init(&e);
  if (s->p.rank == 0) {
    const grove_flow *flow = ((const grove_transfer *)e.op)->stages->sends;
    int done = 0;
    CHECK_OK(grove_start(e.op));
    if (e.apart[0]) {
      CHECK(flow->way == GROVE_SHM_DOCKED && !flow->bound.memory, "it lies elsewhere");
      while (flow->at == 0) CHECK_OK(grove_test(e.op, &done));
      CHECK(flow->bound.chunks->begun < flow->bytes, "all of it was packed before some left");
    }
  }
  place_meet(&s->p, s->idle);
  if (s->p.rank != 0) CHECK_OK(grove_start(e.op));
  CHECK_OK(grove_wait(e.op));
  exercise_check(&e);
  exercise_close(&e);
}

/* Over MPI, the first chunks leave before the last one is packed, if the device takes its time. The
 * lazy one does so at most starts. */
static void leaves_in_parts(stand *s)
{
  enum { STARTS = 40 };
  exercise e = of_doubles(s, KIND_BCAST, "REPLACE", 0);
  const char *wanted = getenv("TEST_ARRAYS");
  int in_parts = 0, lazy = wanted && strcmp(wanted, "lazy") == 0;
  exercise_open(&e);
  exercise_init(&e);
  const grove_bound_haul *haul = ((const grove_transfer *)e.op)->stages->hauls;
  while (!haul->letters) haul++;
  const grove_bound_letter *letter = &haul->letters[haul->wired->nreceives];
  for (int i = 0; i < (lazy ? STARTS : 1); i++) {
    exercise_renew(&e, i);
    CHECK_OK(grove_start(e.op));
    CHECK_OK(grove_wait(e.op));
    exercise_check(&e);
    in_parts += letter->chunks && letter->chunks->gone > 0;
  }
  CHECK(in_parts > 0 || !lazy, "it always left as a whole");
  exercise_close(&e);
}

/* Rank 0 comes last, and its values are first in the order: those who send to others are through
 * before it starts. */
static void others_need_not_wait(stand *s)
{
  exercise e = of_doubles(s, KIND_REDUCE, "SUM", 0);
  int done = 0;
  exercise_open(&e);
  exercise_init(&e);
  const grove_bound_stage *stage = ((const grove_transfer *)e.op)->stages;
  if (s->p.rank != 0) {
    CHECK_OK(grove_start(e.op));
    for (int polls = 0; !done && polls < 1000000; polls++) {
      CHECK_OK(grove_test(e.op, &done));
      int left = 0;
      for (const grove_flow *flow = stage->sends; flow < stage->flows_end; flow++)
        left += flow->bound.state != GROVE_LETTER_DONE && stage->wired->letters[flow->letter].peer;
      if (left == 0) break;
      CHECK(polls < 999999, "%d letters have not left", left);
    }
  }
  place_meet(&s->p, s->idle);
  if (s->p.rank == 0) CHECK_OK(grove_start(e.op));
  CHECK_OK(grove_wait(e.op));
  exercise_check(&e);
  exercise_close(&e);
}

/* ---- all of it ---- */

typedef struct setting {
  const char *route, *node_size, *transport;
} setting;

static void try_setting(const units *types, const setting *how, int64_t number)
{
  int size = world_size();
  stand s = {.p = place_create(split(0)),
             .types = types,
             .rough = strcmp(how->route, "standard") == 0,
             .g = {graph_in_disorder(size), graph_in_rows(size, EDGES)}};
  s.r = rng_from(test_seed(), (uint64_t)number);
  s.mine = rng_from(test_seed() + 1, (uint64_t)world_rank());
  place_set(&s.p, "route", how->route);
  place_set(&s.p, "node_size", how->node_size);
  place_set(&s.p, "transport_on_node", how->transport);
  for (int i = 0; i < GRAPHS; i++) s.forest[i] = graph_forest(s.p.ctx, s.g[i], s.p.rank);
  s.idle = place_idle(&s.p);
  for (op_kind k = 0; k < OP_KINDS; k++) {
    exercise e = draw_exercise(&s, k, (int)(k + number) % GRAPHS);
    for (op_form form = 0; form < OP_FORMS; form++) exercise_run(e, form, &s.mine);
    run_together(&e);
    run_freed(&s, draw_exercise(&s, k, (int)(k + number + 1) % GRAPHS));
  }
  for (int g = 0; g < GRAPHS; g++)
    exercise_run(of_doubles(&s, KIND_REDUCE, "SUM", g), FORM_INIT, &s.mine);
  run_bundle(&s);
  if (number == 0) {
    leaves_early(&s);
    others_need_not_wait(&s);
  }
  if (strcmp(how->node_size, "1") == 0) leaves_in_parts(&s);
  for (int i = 0; i < GRAPHS; i++) CHECK_OK(grove_forest_free(&s.forest[i]));
  CHECK_OK(grove_op_free(&s.idle));
  place_free(&s.p);
  polite_barrier(MPI_COMM_WORLD);
  for (int i = 0; i < GRAPHS; i++) graph_free(s.g[i]);
}

int main(int argc, char **argv)
{
  static const setting settings[] = {
    {"standard", "0", "shm"}, {"3-step", "2", "shm"}, {"standard", "1", "shm"}};
  test_begin(&argc, &argv, "exec/by_chunks");
  units *types = units_create();
  for (int64_t i = 0; i < (int64_t)(sizeof settings / sizeof *settings); i++) {
    test_case(i);
    try_setting(types, &settings[i], i);
  }
  units_free(types);
  return test_end();
}
