/* Grove with the option progress=thread, in its own context. */
#include "methods/grove.h"
#include "methods/method.h"

static int with_threads(const bench_spec *spec)
{
  int level;
  MPI_Query_thread(&level);
  return level == MPI_THREAD_MULTIPLE && spec->nfields == 1 && spec->measure != BENCH_MEMORY &&
         spec->measure != BENCH_GROWTH;
}

static void *set_up(bench_case *c)
{
  bench_grove_state *s = bench_alloc(1, sizeof *s);
  s->c = c;
  bench_need_grove(grove_context_create(c->comm, &s->own));
  bench_need_grove(grove_context_set(s->own, "progress", "thread"));
  for (int k = 0; k < c->nexchanges; k++) s->forest[k] = bench_grove_forest(c, s->own, k);
  return s;
}

const bench_method bench_grove_thread = {
  .name = "grove-thread",
  .about = "persistent operations, progress=thread",
  .supports = with_threads,
  .set_up = set_up,
  .init = bench_grove_init,
  .run = bench_grove_run,
  .fini = bench_grove_fini,
  .tear_down = bench_grove_tear_down,
};
