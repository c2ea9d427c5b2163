/* Messages so large that plans put them in order, cut them in pieces and find shapes in them, on
 * graphs of every regularity, against the oracle. */
#include "check.h"
#include "exercise.h"
#include "places.h"

#include <stdlib.h>

enum { ROOTS = 3000, LEAVES = 9000 };

/* How a rank's leaves are joined to the roots of another. */
typedef enum texture { RANDOM, FEW_ROOTS, DESCENDING, FACE, RUNS, TEXTURES } texture;

static int64_t draw_root(texture t, rng *r, int64_t k)
{
  switch (t) {
  case FEW_ROOTS: return rng_below(r, 40);
  case DESCENDING: return ROOTS - 1 - k % ROOTS;
  case FACE: return k * 10 % ROOTS + k * 10 / ROOTS % 10;
  case RUNS: return (k / 7 * 131 + k % 7) % ROOTS;
  default: return rng_below(r, ROOTS);
  }
}

static graph *draw(rng *r, int nranks)
{
  graph *g = graph_empty(nranks);
  for (int rank = 0; rank < nranks; rank++) {
    part *p = &g->part[rank];
    part_resize(p, ROOTS, rank == 1 && nranks > 3 ? 0 : LEAVES);
    texture t = (texture)rng_below(r, TEXTURES);
    for (int64_t j = 0; j < p->nleaves; j++)
      p->root[j] = (grove_root){(int)rng_below(r, nranks), draw_root(t, r, j)};
  }
  return g;
}

static void run(const place *p, const units *types, rng *r, int64_t number)
{
  test_case(number);
  graph *g = draw(r, p->size);
  grove_forest *f = graph_forest(p->ctx, g, p->rank);
  for (int i = 0; i < 2; i++) {
    exercise e = {.g = g, .f = f, .me = p->rank};
    exercise_draw_of(&e, (op_kind)((2 * number + i) % OP_KINDS), types, r);
    exercise_open(&e);
    exercise_init(&e);
    for (int round = 0; round < 2; round++) {
      exercise_renew(&e, round);
      CHECK_OK(grove_start(e.op));
      CHECK_OK(grove_wait(e.op));
      exercise_check(&e);
    }
    exercise_close(&e);
  }
  CHECK_OK(grove_forest_free(&f));
  graph_free(g);
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "exec/large_messages");
  place p = place_create(split(0));
  units *types = units_create();
  rng r = rng_from(test_seed(), 77);
  int64_t samples = test_samples(6);
  for (int64_t i = 0; i < samples; i++) run(&p, types, &r, i);
  units_free(types);
  place_free(&p);
  return test_end();
}
