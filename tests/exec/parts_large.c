/* Letters that are large enough to leave in parts: marked in runs of any length, in any order, with
 * every aggregator, over shared memory and MPI, from ordinary arrays and from those of grove_alloc.
 * What arrives is what was there when it was marked. Some ranks start as a whole; some do not wait
 * for the others before they start the next round.
 *
 * THREADS, if set: MPI_THREAD_MULTIPLE, and threads mark. */
#include "blocks.h"
#include "check.h"
#include "threads.h"

#include <sched.h>
#include <stdlib.h>

enum { MOST_RUNS = 400, ROUNDS = 4 };

typedef struct piece {
  int peer;
  int64_t first, count;
} piece;

typedef struct batch {
  blocks *b;
  int n, nthreads;
  piece pieces[MOST_RUNS];
} batch;

static void swap(piece *a, piece *b)
{
  piece other = *a;
  *a = *b;
  *b = other;
}

/* The blocks of all ranks in runs; as they lie, from behind, or in any order. */
static void draw_pieces(batch *x, rng *mine)
{
  int order = (int)rng_below(mine, 3);
  int64_t width = x->b->width, longest = rng_one_in(mine, 3) ? width : 1 + width / 12;
  x->n = 0;
  for (int i = 0; i < x->b->p->size; i++)
    for (int64_t at = 0, n; at < width; at += n) {
      n = rng_between(mine, 1 + longest / 3, longest);
      if (n > width - at) n = width - at;
      CHECK(x->n < MOST_RUNS, "too many runs");
      x->pieces[x->n++] = (piece){i, at, n};
    }
  for (int i = 0; order == 1 && i < x->n / 2; i++) swap(&x->pieces[i], &x->pieces[x->n - 1 - i]);
  for (int i = x->n - 1; order == 2 && i > 0; i--)
    swap(&x->pieces[i], &x->pieces[rng_below(mine, i + 1)]);
}

static void mark_own(int number, void *self)
{
  batch *x = self;
  for (int i = number; i < x->n; i += x->nthreads) {
    blocks_mark_run(x->b, x->pieces[i].peer, x->pieces[i].first, x->pieces[i].count);
    if (i % 16 == number) sched_yield();
  }
}

static void go_round(batch *x, int nthreads, rng *mine)
{
  blocks *b = x->b;
  blocks_renew(b);
  if (rng_one_in(mine, 4)) {
    blocks_put_all(b);
    CHECK_OK(grove_start(b->op));
  } else {
    draw_pieces(x, mine);
    CHECK_OK(grove_start_parts(b->op));
    x->nthreads = nthreads > 0 ? nthreads : 1;
    if (nthreads > 0)
      in_threads(nthreads, mark_own, x);
    else
      mark_own(0, x);
  }
  if (rng_one_in(mine, 2)) polite_finish(b->op);
  CHECK_OK(grove_wait(b->op));
  blocks_check(b);
}

/* The same arrays in memory of grove_alloc. */
static void lend(blocks *b, int64_t **own, int64_t **array)
{
  void *memory = NULL;
  *own = *array;
  CHECK_OK(grove_alloc(b->p->ctx, (size_t)(b->p->size * b->width) * sizeof **array, &memory));
  *array = memory;
}

static void take_back(blocks *b, int64_t *own, int64_t **array)
{
  CHECK_OK(grove_dealloc(b->p->ctx, *array));
  *array = own;
}

static void try_blocks(const place *p, op_kind k, int64_t width, int lent, rng *mine)
{
  static batch x;
  int64_t *out = NULL, *in = NULL;
  blocks b = blocks_open(p, k, width);
  if (lent & 1) lend(&b, &out, &b.out);
  if (lent & 2) lend(&b, &in, &b.in);
  x.b = &b;
  blocks_init(&b);
  place_set(p, "chunk", "1073741824"); /* what it was made with counts */
  for (int round = 0; round < ROUNDS; round++)
    go_round(&x, any_thread_may_call() ? (int)rng_between(mine, 1, 6) : 0, mine);
  CHECK_OK(grove_op_free(&b.op));
  polite_barrier(p->comm);
  if (lent & 1) take_back(&b, out, &b.out);
  if (lent & 2) take_back(&b, in, &b.in);
  blocks_close(&b);
}

/* ---- the first part of a letter ---- */

enum { DONE_TAG = 77, PATIENCE = 60 };

/* Its first values are there before the last are marked: rank 0 does not mark them before. Nothing
 * is written but by calls of the thread that looks. */
static void await_first(const blocks *b)
{
  double begin = MPI_Wtime();
  while (b->in[0] == BLOCKS_NOTHING) {
    int done = 0;
    CHECK_OK(grove_test(b->op, &done));
    CHECK(!done, "complete before all is marked");
    CHECK(MPI_Wtime() - begin < PATIENCE, "%s: a letter waits for its last values",
          kind_name(b->kind));
    linger(0);
  }
}

static void first_part(const place *p, op_kind k)
{
  enum { WIDTH = 40000 };
  MPI_Request request;
  blocks b = blocks_open(p, k, WIDTH);
  blocks_init(&b);
  for (int round = 0; round < 2; round++) {
    blocks_renew(&b);
    CHECK_OK(grove_start_parts(b.op));
    for (int i = 0; i < p->size; i++)
      if (p->rank != 0 || i != 1) blocks_mark(&b, i, WIDTH);
    if (p->rank == 0) {
      blocks_mark(&b, 1, WIDTH / 2);
      MPI_Irecv(NULL, 0, MPI_BYTE, 1, DONE_TAG, p->comm, &request);
      for (int told = 0, done = 0; !told; linger(0)) {
        MPI_Test(&request, &told, MPI_STATUS_IGNORE);
        CHECK_OK(grove_test(b.op, &done)); /* large ones need it on their way */
      }
      blocks_mark_run(&b, 1, WIDTH / 2, WIDTH - WIDTH / 2);
    } else if (p->rank == 1) {
      await_first(&b);
      MPI_Isend(NULL, 0, MPI_BYTE, 0, DONE_TAG, p->comm, &request);
      polite_wait(&request);
    }
    CHECK_OK(grove_wait(b.op));
    blocks_check(&b);
  }
  blocks_close(&b);
}

static void first_parts(const place *p)
{
  static const op_kind kinds[] = {KIND_BCAST, KIND_REDUCE, KIND_SCATTER, KIND_GATHER};
  place_set(p, "aggregator", "none");
  place_set(p, "chunk", "1073741824");
  place_set(p, "check", "off");
  for (int i = 0; i < 8; i++) {
    if (i >= 4 && kinds[i % 4] == KIND_REDUCE) continue; /* that is combined when all is there */
    test_case(1000 + i);
    place_set(p, "transport_on_node", i < 4 ? "shm" : "mpi");
    first_part(p, kinds[i % 4]);
  }
}

int main(int argc, char **argv)
{
  static const char *const aggregators[] = {"auto", "none", "ploggp", "timer", "adaptive"};
  static const op_kind kinds[] = {KIND_BCAST, KIND_REDUCE, KIND_SCATTER, KIND_GATHER};
  static const int64_t widths[] = {40, 700, 6000, 40000};
  test_begin(&argc, &argv, "exec/parts_large");
  place p = place_create(split(0));
  for (int64_t i = 0; i < test_samples(40); i++) {
    rng r = rng_from(test_seed(), (uint64_t)i), mine = rng_from(r.state, (uint64_t)p.rank);
    test_case(i);
    place_set(&p, "aggregator", aggregators[i % 5]);
    place_set(&p, "transport_on_node", rng_one_in(&r, 2) ? "mpi" : "shm");
    place_set(&p, "chunk", rng_one_in(&r, 4) ? "4096" : "1073741824");
    place_set(&p, "check", rng_one_in(&r, 4) ? "on" : "off"); /* such letters leave whole */
    int64_t width = widths[rng_below(&r, 4)];
    try_blocks(&p, kinds[i % 4], width, (int)rng_below(&r, 8), &mine);
  }
  if (p.size > 1) first_parts(&p);
  place_free(&p);
  return test_end();
}
