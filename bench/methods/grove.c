/* Grove, through its public interface: persistent operations, one per array of the case, and
 * one-shot operations that are given the array each time.
 */
#include "methods/grove.h"

#include "driver/compute.h"
#include "methods/method.h"

#include <stdlib.h>

static int one_field(const bench_spec *spec)
{
  return spec->nfields == 1;
}

/* There is nothing to bind, and the graph is that of the persistent form. */
static int exchanges(const bench_spec *spec)
{
  return spec->nfields == 1 && spec->measure <= BENCH_SETUP;
}

grove_forest *bench_grove_forest(const bench_case *c, grove_context *ctx, int exchange)
{
  const bench_graph *g = &c->graph[exchange];
  grove_forest *forest;
  bench_need_grove(grove_forest_create(ctx, &forest));
  bench_need_grove(grove_forest_set_graph(forest, g->nroots, g->nleaves, g->leaf, g->root));
  bench_need_grove(grove_forest_set_up(forest));
  return forest;
}

void *bench_grove_set_up(bench_case *c)
{
  bench_grove_state *s = bench_alloc(1, sizeof *s);
  s->c = c;
  for (int k = 0; k < c->nexchanges; k++) s->forest[k] = bench_grove_forest(c, c->ctx, k);
  return s;
}

#define MAKE_OP(name, form)                                                                        \
  static grove_status name(const bench_case *c, grove_forest *f, int b, MPI_Datatype unit,         \
                           MPI_Op how, grove_op **op)                                              \
  {                                                                                                \
    char *root = bench_root_array(c, b), *leaf = bench_leaf_array(c, b);                           \
    switch (c->spec->kind) {                                                                       \
    case BENCH_BCAST: return grove_bcast_##form(f, unit, root, leaf, how, op);                     \
    case BENCH_REDUCE: return grove_reduce_##form(f, unit, leaf, root, how, op);                   \
    case BENCH_FETCH:                                                                              \
      return grove_fetch_##form(f, unit, root, leaf, bench_update_array(c, b), how, op);           \
    case BENCH_GATHER: return grove_gather_##form(f, unit, leaf, root, op);                        \
    case BENCH_SCATTER: break;                                                                     \
    }                                                                                              \
    return grove_scatter_##form(f, unit, root, leaf, op);                                          \
  }

MAKE_OP(init_op, init)
MAKE_OP(begin_op, begin)

/* ---- persistent ---- */

grove_op *bench_grove_bind(const bench_case *c, grove_forest *forest, int buffer)
{
  grove_op *op = NULL;
  bench_need_grove(init_op(c, forest, buffer, c->spec->type->mpi(), c->spec->op->mpi(), &op));
  return op;
}

void bench_grove_init(void *state)
{
  bench_grove_state *s = state;
  const bench_case *c = s->c;
  int nops = s->nops = c->spec->buffers;
  s->op = bench_alloc((size_t)(c->nexchanges * nops), sizeof(grove_op *));
  for (int k = 0; k < c->nexchanges; k++)
    for (int b = 0; b < nops; b++) s->op[k * nops + b] = bench_grove_bind(c, s->forest[k], b);
}

void bench_grove_run(void *state, int begin, int end)
{
  bench_grove_state *s = state;
  for (int i = begin, b = begin % s->nops; i < end; i++) {
    for (int k = 0; k < s->c->nexchanges; k++) {
      grove_op *op = s->op[k * s->nops + b];
      bench_need_grove(grove_start(op));
      bench_meanwhile(s->c);
      bench_need_grove(grove_wait(op));
    }
    if (++b == s->nops) b = 0;
  }
}

/* ---- given the array each time ---- */

static void run_begin(void *state, int begin, int end)
{
  bench_grove_state *s = state;
  const bench_case *c = s->c;
  MPI_Datatype unit = c->spec->type->mpi();
  MPI_Op how = c->spec->op->mpi();
  for (int i = begin, b = begin % c->spec->buffers; i < end; i++) {
    for (int k = 0; k < c->nexchanges; k++) {
      grove_op *op = NULL;
      bench_need_grove(begin_op(c, s->forest[k], b, unit, how, &op));
      bench_need_grove(grove_end(&op));
    }
    if (++b == c->spec->buffers) b = 0;
  }
}

void bench_grove_fini(void *state)
{
  bench_grove_state *s = state;
  for (int i = 0; s->op && i < s->c->nexchanges * s->nops; i++)
    bench_need_grove(grove_op_free(&s->op[i]));
  free(s->op);
  s->op = NULL;
}

void bench_grove_tear_down(void *state)
{
  bench_grove_state *s = state;
  for (int k = 0; k < s->c->nexchanges; k++) bench_need_grove(grove_forest_free(&s->forest[k]));
  bench_need_grove(grove_context_free(&s->own));
  free(s);
}

const bench_method bench_grove = {
  .name = "grove",
  .about = "persistent operations, one for each array",
  .supports = one_field,
  .set_up = bench_grove_set_up,
  .init = bench_grove_init,
  .run = bench_grove_run,
  .fini = bench_grove_fini,
  .tear_down = bench_grove_tear_down,
};

const bench_method bench_grove_begin = {
  .name = "grove-begin",
  .about = "begin and end, told the array each time",
  .supports = exchanges,
  .set_up = bench_grove_set_up,
  .run = run_begin,
  .fini = bench_grove_fini,
  .tear_down = bench_grove_tear_down,
};
