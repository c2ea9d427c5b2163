/* Grove, through its public interface: persistent operations, one for each of the case's arrays,
 * and one-shot operations that are told the array each time.
 */
#include "methods/method.h"

#include <stdlib.h>

typedef struct grove_state {
  bench_case *c;
  grove_forest *forest[2];
  int nops; /* of each exchange: one an array */
  grove_op **op;
} grove_state;

static void need(grove_status status)
{
  bench_need(status == GROVE_OK, grove_last_error());
}

static int all(const bench_spec *spec)
{
  (void)spec;
  return 1;
}

/* There is nothing to bind, and the graph is that of the persistent form. */
static int exchanges(const bench_spec *spec)
{
  return spec->measure == BENCH_EXCHANGE || spec->measure == BENCH_SETUP;
}

static void *set_up(bench_case *c)
{
  grove_state *s = bench_alloc(1, sizeof *s);
  s->c = c;
  for (int k = 0; k < c->nexchanges; k++) {
    const bench_graph *g = &c->graph[k];
    need(grove_forest_create(c->ctx, &s->forest[k]));
    need(grove_forest_set_graph(s->forest[k], g->nroots, g->nleaves, g->leaf, g->root));
    need(grove_forest_set_up(s->forest[k]));
  }
  return s;
}

static void init(void *state)
{
  grove_state *s = state;
  const bench_case *c = s->c;
  MPI_Datatype unit = c->spec->type->mpi();
  int nops = s->nops = c->spec->buffers;
  s->op = bench_alloc((size_t)(c->nexchanges * nops), sizeof(grove_op *));
  for (int k = 0; k < c->nexchanges; k++)
    for (int b = 0; b < nops; b++) {
      char *root = bench_root_array(c, b), *leaf = bench_leaf_array(c, b);
      grove_op **op = &s->op[k * nops + b];
      if (c->spec->reduce)
        need(grove_reduce_init(s->forest[k], unit, leaf, root, MPI_SUM, op));
      else
        need(grove_bcast_init(s->forest[k], unit, root, leaf, MPI_REPLACE, op));
    }
}

static void init_none(void *state)
{
  (void)state;
}

static void run(void *state, int iterations)
{
  grove_state *s = state;
  for (int i = 0, b = 0; i < iterations; i++) {
    for (int k = 0; k < s->c->nexchanges; k++) {
      grove_op *op = s->op[k * s->nops + b];
      need(grove_start(op));
      need(grove_wait(op));
    }
    if (++b == s->nops) b = 0;
  }
}

static void run_begin(void *state, int iterations)
{
  grove_state *s = state;
  const bench_case *c = s->c;
  MPI_Datatype unit = c->spec->type->mpi();
  for (int i = 0, b = 0; i < iterations; i++) {
    char *root = bench_root_array(c, b), *leaf = bench_leaf_array(c, b);
    for (int k = 0; k < c->nexchanges; k++) {
      grove_op *op = NULL;
      if (c->spec->reduce)
        need(grove_reduce_begin(s->forest[k], unit, leaf, root, MPI_SUM, &op));
      else
        need(grove_bcast_begin(s->forest[k], unit, root, leaf, MPI_REPLACE, &op));
      need(grove_end(&op));
    }
    if (++b == c->spec->buffers) b = 0;
  }
}

static void fini(void *state)
{
  grove_state *s = state;
  for (int i = 0; s->op && i < s->c->nexchanges * s->nops; i++) need(grove_op_free(&s->op[i]));
  free(s->op);
  s->op = NULL;
}

static void tear_down(void *state)
{
  grove_state *s = state;
  for (int k = 0; k < s->c->nexchanges; k++) need(grove_forest_free(&s->forest[k]));
  free(s);
}

const bench_method bench_grove = {
  .name = "grove",
  .about = "persistent operations, one for each array",
  .supports = all,
  .set_up = set_up,
  .init = init,
  .run = run,
  .fini = fini,
  .tear_down = tear_down,
};

const bench_method bench_grove_begin = {
  .name = "grove-begin",
  .about = "begin and end, told the array each time",
  .supports = exchanges,
  .set_up = set_up,
  .init = init_none,
  .run = run_begin,
  .fini = fini,
  .tear_down = tear_down,
};
