/* With MPI_THREAD_MULTIPLE threads start, test and wait for operations of their own, all of one
 * context and on the same forests, in any order, while one of them makes and frees operations. */
#include "threads.h"
#include "check.h"
#include "errand.h"
#include "random.h"

#include <stdlib.h>
#include <string.h>

enum { WORKERS = 4, FORESTS = 3, PAIRS = 2, ROUNDS = 30 };

/* Persistent ones: a bcast and a reduce on each forest; begun ones: so many of one kind. */
enum { PERSISTENT = 2 * FORESTS, BEGUN = 2 * PAIRS, ERRANDS = PERSISTENT + BEGUN };

static const int64_t sizes[FORESTS] = {5, 300, 9000}, steps[FORESTS] = {1, 7, 1};

typedef struct stage {
  grove_context *ctx;
  grove_forest *forests[FORESTS];
  MPI_Datatype units[WORKERS]; /* of different widths: kinds of _begin are matched by order */
  errand errands[WORKERS][ERRANDS];
  int rounds;
} stage;

/* ---- making all of it, by one thread ---- */

static errand *add_errand(stage *s, int worker, int i, int forest, int reduces)
{
  errand *e = &s->errands[worker][i];
  *e = (errand){.forest = s->forests[forest],
                .n = sizes[forest],
                .step = steps[forest],
                .width = worker + 1,
                .reduces = reduces,
                .number = worker * ERRANDS + i,
                .unit = s->units[worker]};
  errand_open(e, MPI_COMM_WORLD);
  return e;
}

static void make_worker(stage *s, int worker)
{
  MPI_Type_contiguous(worker + 1, MPI_INT64_T, &s->units[worker]);
  MPI_Type_commit(&s->units[worker]);
  for (int i = 0; i < PERSISTENT; i++) errand_init(add_errand(s, worker, i, i / 2, i % 2));
  for (int i = PERSISTENT; i < ERRANDS; i++) {
    errand *e = add_errand(s, worker, i, 1, i % 2);
    errand_begin(e); /* the first of its kind is collective */
    CHECK_OK(grove_end(&e->op));
    errand_check(e);
  }
}

static stage *stage_open(void)
{
  stage *s = need(sizeof *s);
  *s = (stage){.rounds = (int)test_samples(ROUNDS)};
  CHECK_OK(grove_context_create(MPI_COMM_WORLD, &s->ctx));
  for (int i = 0; i < FORESTS; i++) s->forests[i] = errand_forest(s->ctx, sizes[i], steps[i]);
  for (int w = 0; w < WORKERS; w++) make_worker(s, w);
  return s;
}

static void stage_close(stage *s)
{
  for (int w = 0; w < WORKERS; w++) {
    for (int i = 0; i < ERRANDS; i++) errand_close(&s->errands[w][i]);
    MPI_Type_free(&s->units[w]);
  }
  for (int i = 0; i < FORESTS; i++) CHECK_OK(grove_forest_free(&s->forests[i]));
  CHECK_OK(grove_context_free(&s->ctx));
  free(s);
}

/* ---- workers ---- */

/* 0 .. ERRANDS-1 in an order of this rank's own, but those of one kind of _begin in theirs. */
static void draw_order(rng *r, int64_t order[ERRANDS])
{
  for (int i = 0; i < ERRANDS; i++) order[i] = i;
  rng_shuffle(r, ERRANDS, order);
  for (int kind = 0; kind < 2; kind++)
    for (int k = 0, i = PERSISTENT + kind; k < ERRANDS; k++)
      if (order[k] >= PERSISTENT && order[k] % 2 == kind) {
        order[k] = i;
        i += 2;
      }
}

static void start(errand *e, int begun)
{
  if (begun) {
    errand_begin(e);
  } else {
    errand_fill(e);
    CHECK_OK(grove_start(e->op));
  }
}

static void complete(rng *r, errand *e, int begun)
{
  grove_report report = {.struct_size = sizeof report};
  CHECK_OK(grove_op_report(e->op, &report));
  if (rng_one_in(r, 2)) polite_finish(e->op);
  if (begun)
    CHECK_OK(grove_end(&e->op));
  else
    CHECK_OK(grove_wait(e->op));
  errand_check(e);
}

static void work(stage *s, int worker)
{
  rng r = rng_from(test_seed(), (uint64_t)(world_rank() * WORKERS + worker));
  int64_t order[ERRANDS];
  for (int round = 0; round < s->rounds; round++) {
    draw_order(&r, order);
    for (int i = 0; i < ERRANDS; i++) start(&s->errands[worker][order[i]], order[i] >= PERSISTENT);
    rng_shuffle(&r, ERRANDS, order);
    for (int i = 0; i < ERRANDS; i++)
      complete(&r, &s->errands[worker][order[i]], order[i] >= PERSISTENT);
  }
}

/* ---- the one that makes and frees, in the same order on every rank ---- */

/* On a forest that the workers use, or on one of its own. */
static void make_and_free(stage *s, rng *r, int number)
{
  int k = (int)rng_below(r, FORESTS + 1), own = k == FORESTS;
  errand e = {.n = own ? 50 : sizes[k],
              .step = own ? 3 : steps[k],
              .width = 1,
              .reduces = (int)rng_below(r, 2),
              .number = WORKERS * ERRANDS + number,
              .unit = MPI_INT64_T};
  e.forest = own ? errand_forest(s->ctx, e.n, e.step) : s->forests[k];
  errand_open(&e, MPI_COMM_WORLD);
  errand_init(&e);
  if (own) CHECK_OK(grove_forest_free(&e.forest)); /* the operation holds it */
  for (int i = (int)rng_below(r, 3); i > 0; i--) {
    errand_fill(&e);
    CHECK_OK(grove_start(e.op));
    CHECK_OK(grove_wait(e.op));
    errand_check(&e);
  }
  errand_close(&e);
}

/* What threads may ask for at once. */
static void ask(stage *s)
{
  int64_t nleaves = 0;
  const grove_root *root = NULL;
  CHECK_OK(grove_forest_graph(s->forests[1], NULL, &nleaves, NULL, &root));
  CHECK(nleaves == sizes[1] && root[1].index == steps[1], "the graph of forest 1 is another");
}

static void create(stage *s)
{
  rng r = rng_from(test_seed(), 77);
  for (int i = 0; i < s->rounds; i++) {
    void *memory = NULL;
    make_and_free(s, &r, i);
    if (i % 4 == 0) CHECK_OK(grove_alloc(s->ctx, 1 << 16, &memory));
    if (i % 4 == 0) CHECK_OK(grove_dealloc(s->ctx, memory));
  }
}

static void part(int number, void *self)
{
  stage *s = self;
  if (number < WORKERS)
    work(s, number);
  else
    create(s);
  ask(s);
}

/* ---- a collective call holds nobody up ---- */

typedef struct detour {
  grove_forest *forest;
  errand first, second;
} detour;

/* Rank 0 comes to the second _init before it starts the first operation, in another thread; the
 * others come there only once they have its data. */
static void two_ways(int number, void *self)
{
  detour *d = self;
  if (world_rank() == 0 && number == 0) errand_init(&d->second);
  if (world_rank() == 0 && number == 0) return;
  if (world_rank() == 0) linger(0.05); /* the other thread is inside, as like as not */
  if (number == 1) {
    errand_fill(&d->first);
    CHECK_OK(grove_start(d->first.op));
    CHECK_OK(grove_wait(d->first.op));
    errand_check(&d->first);
    if (world_rank() != 0) errand_init(&d->second);
  }
}

static void init_holds_nobody_up(stage *s)
{
  const errand like = {.forest = s->forests[1],
                       .n = sizes[1],
                       .step = steps[1],
                       .width = 1,
                       .number = 1000,
                       .unit = MPI_INT64_T};
  detour d = {.first = like, .second = like};
  d.second.number = 1001;
  errand_open(&d.first, MPI_COMM_WORLD);
  errand_open(&d.second, MPI_COMM_WORLD);
  errand_init(&d.first);
  in_threads(2, two_ways, &d);
  errand_fill(&d.second);
  CHECK_OK(grove_start(d.second.op));
  CHECK_OK(grove_wait(d.second.op));
  errand_check(&d.second);
  errand_close(&d.first);
  errand_close(&d.second);
}

int main(int argc, char **argv)
{
  if (!test_begin_threads(&argc, &argv, "exec/threads"))
    return test_skip("this MPI does not provide MPI_THREAD_MULTIPLE");
  stage *s = stage_open();
  in_threads(WORKERS + 1, part, s);
  init_holds_nobody_up(s);
  stage_close(s);
  return test_end();
}
