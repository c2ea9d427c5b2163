/* Lists that are too long to be numbered, beside others that are not: the former travel as they
 * are, and both ends of every message see it alike. Where a route does not serve such lists another
 * one does, and no sentence tells of it. The limit, of 2^31 entries, is made small: this
 * program has its own copy of the sources that know it. */
#include "check.h"
#include "exercise.h"
#include "places.h"

#include <stdlib.h>

_Static_assert(GROVE_LIST_MOST == 1000, "the limit is set in CMakeLists.txt");

enum { ROOTS = 2000, FEW = 40 };

/* ---- who needs how many ---- */

static int64_t draw_length(rng *r)
{
  const int64_t length[] = {0, 20, GROVE_LIST_MOST - 1, GROVE_LIST_MOST, GROVE_LIST_MOST + 1};
  return rng_one_in(r, 2) ? length[rng_below(r, 5)] : rng_between(r, 600, 1500);
}

/* Few roots, so that values repeat; all in disorder; or in runs. */
static int64_t draw_root(rng *r, int texture, int64_t k)
{
  if (texture == 0) return rng_below(r, FEW);
  return texture == 1 ? rng_below(r, ROOTS) : (k / 9 * 131 + k % 9) % ROOTS;
}

static graph *draw(rng *r, int nranks)
{
  graph *g = graph_empty(nranks);
  int64_t *length = need((size_t)nranks * sizeof *length);
  for (int rank = 0; rank < nranks; rank++) {
    part *p = &g->part[rank];
    int64_t n = 0, at = 0;
    for (int to = 0; to < nranks; to++) n += length[to] = draw_length(r);
    part_resize(p, ROOTS, n);
    for (int to = 0; to < nranks; to++) {
      int texture = (int)rng_below(r, 3);
      for (int64_t k = 0; k < length[to]; k++)
        p->root[at++] = (grove_root){to, draw_root(r, texture, k)};
    }
  }
  free(length);
  return g;
}

static void run(const place *p, const units *types, int64_t number)
{
  test_case(number);
  rng r = rng_from(test_seed(), (uint64_t)number);
  graph *g = draw(&r, p->size);
  grove_forest *f = graph_forest(p->ctx, g, p->rank);
  for (op_kind k = 0; k < OP_KINDS; k++) {
    exercise e = {.g = g, .f = f, .me = p->rank};
    exercise_draw_of(&e, k, types, &r);
    exercise_open(&e);
    exercise_block(&e);
    exercise_check(&e);
    exercise_close(&e);
  }
  CHECK_OK(grove_forest_free(&f));
  graph_free(g);
}

/* ---- what is sent once, and what is not ---- */

/* Rank 0 has n leaves, on FEW roots of rank 1. */
static void counts(const place *p, int64_t n)
{
  graph *g = graph_empty(p->size);
  part_resize(&g->part[0], 0, n);
  part_resize(&g->part[1], FEW, 0);
  for (int64_t k = 0; k < n; k++) g->part[0].root[k] = (grove_root){1, k % FEW};
  grove_forest *f = graph_forest(p->ctx, g, p->rank);
  double *x = need((size_t)n * sizeof *x);
  grove_op *op = NULL;
  grove_report report = {.struct_size = sizeof report};
  CHECK_OK(grove_bcast_init(f, MPI_DOUBLE, x, x, MPI_REPLACE, &op));
  CHECK_OK(grove_op_report(op, &report));
  int64_t expected = p->rank != 1 ? 0 : n > GROVE_LIST_MOST ? n : FEW;
  int64_t sent = report.on_node_bytes + report.off_node_bytes;
  CHECK(sent == expected * (int64_t)sizeof *x, "%lld bytes for a list of %lld", (long long)sent,
        (long long)n);
  CHECK_OK(grove_op_free(&op));
  CHECK_OK(grove_forest_free(&f));
  free(x);
  graph_free(g);
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "exec/long_lists");
  if (world_size() < 2) return test_skip("one rank sends no messages");
  place p = place_create(split(0));
  units *types = units_create();
  for (int64_t n = GROVE_LIST_MOST - 1; n <= GROVE_LIST_MOST + 1; n++) counts(&p, n);
  for (int64_t i = 0; i < test_samples(12); i++) run(&p, types, i);
  CHECK(!*grove_last_error(), "no call has failed, but '%s'", grove_last_error());
  units_free(types);
  place_free(&p);
  return test_end();
}
