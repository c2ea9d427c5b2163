/* Several fields on one forest: as a bundle, and as separate operations that are all started, then
 * all waited for.
 */
#include "methods/grove.h"
#include "methods/method.h"

#include <stdlib.h>

typedef struct bundle_state {
  bench_case *c;
  grove_forest *forest;
  grove_op *field[BENCH_FIELDS], *bundle;
} bundle_state;

static int several_fields(const bench_spec *spec)
{
  return spec->nfields > 1 && spec->buffers == 1 && spec->measure < BENCH_MEMORY;
}

static void *set_up(bench_case *c)
{
  bundle_state *s = bench_alloc(1, sizeof *s);
  s->c = c;
  s->forest = bench_grove_forest(c, c->ctx, 0);
  return s;
}

static void init_separate(void *state)
{
  bundle_state *s = state;
  int n = 0;
  for (const bench_case *c = s->c; c; c = c->next)
    s->field[n++] = bench_grove_bind(c, s->forest, 0);
}

static void init_bundle(void *state)
{
  bundle_state *s = state;
  init_separate(s);
  bench_need_grove(grove_op_bundle(s->c->spec->nfields, s->field, &s->bundle));
}

static void run_separate(void *state, int begin, int end)
{
  bundle_state *s = state;
  int n = s->c->spec->nfields;
  for (int i = begin; i < end; i++) {
    for (int k = 0; k < n; k++) bench_need_grove(grove_start(s->field[k]));
    for (int k = 0; k < n; k++) bench_need_grove(grove_wait(s->field[k]));
  }
}

static void run_bundle(void *state, int begin, int end)
{
  bundle_state *s = state;
  for (int i = begin; i < end; i++) {
    bench_need_grove(grove_start(s->bundle));
    bench_need_grove(grove_wait(s->bundle));
  }
}

static void fini(void *state)
{
  bundle_state *s = state;
  bench_need_grove(grove_op_free(&s->bundle));
  for (int k = 0; k < s->c->spec->nfields; k++) bench_need_grove(grove_op_free(&s->field[k]));
}

static void tear_down(void *state)
{
  bundle_state *s = state;
  bench_need_grove(grove_forest_free(&s->forest));
  free(s);
}

#define FIELDS .supports = several_fields, .set_up = set_up, .fini = fini, .tear_down = tear_down

const bench_method bench_grove_bundle = {
  .name = "grove-bundle",
  .about = "several fields as one operation",
  .init = init_bundle,
  .run = run_bundle,
  FIELDS,
};

const bench_method bench_grove_separate = {
  .name = "grove-separate",
  .about = "an operation per field: all started, then all waited for",
  .init = init_separate,
  .run = run_separate,
  FIELDS,
};
