/* A rank frees an operation whose message has not left yet, for want of room in shared memory, and
 * uses its array for something else: those who start later get what was in the array when the
 * operation was freed. So it is with memory of grove_alloc, which is not read in place then. */
#include "check.h"
#include "places.h"

#include <stdlib.h>

/* Rank 0 owns all roots; leaf j of every other rank is joined to root j, or to root n - 1 - j. */
typedef struct fan {
  grove_forest *forest;
  int64_t n;
  int listed, owns;
} fan;

static int64_t joined(const fan *x, int64_t j)
{
  return x->listed ? x->n - 1 - j : j;
}

static fan fan_open(const place *p, int64_t n, int listed)
{
  fan x = {.n = n, .listed = listed, .owns = p->rank == 0};
  grove_root *root = need((size_t)n * sizeof *root);
  for (int64_t j = 0; j < n; j++) root[j] = (grove_root){0, joined(&x, j)};
  CHECK_OK(grove_forest_create(p->ctx, &x.forest));
  CHECK_OK(grove_forest_set_graph(x.forest, x.owns ? n : 0, x.owns ? 0 : n, NULL, root));
  CHECK_OK(grove_forest_set_up(x.forest));
  free(root);
  return x;
}

/* No byte of which is 0. */
static int64_t value(int64_t i, int64_t what)
{
  return INT64_C(0x0101010101010101) * (10 * (i % 10) + what);
}

static void fill(const fan *x, int64_t *root, int64_t what)
{
  for (int64_t i = 0; i < x->n; i++) root[i] = value(i, what);
}

static grove_op *begin(const fan *x, int64_t *root, int64_t *leaf)
{
  grove_op *op = NULL;
  CHECK_OK(grove_bcast_begin(x->forest, MPI_INT64_T, root, leaf, MPI_REPLACE, &op));
  return op;
}

static void take(const fan *x, int64_t *leaf, int64_t what)
{
  grove_op *op = begin(x, NULL, leaf);
  CHECK_OK(grove_end(&op));
  for (int64_t j = 0; j < x->n; j++)
    CHECK(leaf[j] == value(joined(x, j), what), "leaf %lld is %llx, and %llx was sent",
          (long long)j, (long long)leaf[j], (long long)value(joined(x, j), what));
}

enum { EARLIER = 1, FREED, SPOILT, LATER, MOST_AHEAD = 20 };

/* Rank 0 runs ahead: some operations, which fill the ring, and the one that it frees. */
static void run_ahead(const place *p, const fan *x, int ahead, int64_t *first, int64_t *last)
{
  grove_op *op[MOST_AHEAD], *freed;
  fill(x, first, EARLIER);
  fill(x, last, FREED);
  for (int i = 0; i < ahead; i++) op[i] = begin(x, first, NULL);
  freed = begin(x, last, NULL);
  CHECK_OK(grove_op_free(&freed));
  fill(x, last, SPOILT);
  polite_barrier(p->comm);
  for (int i = 0; i < ahead; i++) CHECK_OK(grove_end(&op[i]));
  fill(x, first, LATER);
  freed = begin(x, first, NULL); /* it comes after the other, so that is through then */
  CHECK_OK(grove_end(&freed));
}

static void follow(const place *p, const fan *x, int ahead, int64_t *leaf)
{
  polite_barrier(p->comm);
  for (int i = 0; i < ahead; i++) take(x, leaf, EARLIER);
  take(x, leaf, FREED);
  take(x, leaf, LATER);
}

static void run(const place *p, int64_t n, int listed, int ahead, int allocated)
{
  fan x = fan_open(p, n, listed);
  void *memory[2] = {NULL, NULL};
  for (int i = 0; i < 2; i++) {
    if (allocated)
      CHECK_OK(grove_alloc(p->ctx, (size_t)n * sizeof(int64_t), &memory[i]));
    else
      memory[i] = need((size_t)n * sizeof(int64_t));
    fill(&x, memory[i], EARLIER);
  }
  grove_op *op = begin(&x, memory[0], memory[1]); /* from now on nobody waits to begin one */
  CHECK_OK(grove_end(&op));
  polite_barrier(p->comm);
  if (x.owns)
    run_ahead(p, &x, ahead, memory[0], memory[1]);
  else
    follow(p, &x, ahead, memory[1]);
  polite_barrier(p->comm);
  for (int i = 0; i < 2; i++)
    if (allocated)
      CHECK_OK(grove_dealloc(p->ctx, memory[i]));
    else
      free(memory[i]);
  CHECK_OK(grove_forest_free(&x.forest));
}

int main(int argc, char **argv)
{
  /* An item of a ring; several; enough to be read in place; more than a ring holds. */
  static const int64_t sizes[] = {4, 700, 6000, 40000};
  test_begin(&argc, &argv, "exec/freed_arrays_change");
  place p = place_create(split(0));
  for (int i = 0; i < 4; i++)
    for (int k = 0; k < 6; k++) {
      test_case(6 * i + k);
      run(&p, sizes[i], k % 2, k / 2 == 0 ? 0 : MOST_AHEAD, k / 2 == 2);
    }
  place_free(&p);
  return test_end();
}
