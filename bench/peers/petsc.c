/* PETSc's star forest, type basic. It has no step that binds arrays: its requests are made by the
 * first exchange.
 */
#include "methods/method.h"

#include <petscsf.h>
#include <stdlib.h>

typedef struct petsc_state {
  bench_case *c;
  PetscSF forest[2];
} petsc_state;

static void need(PetscErrorCode code)
{
  bench_need(code == 0, "PETSc reported an error");
}

static int all_but_init(const bench_spec *spec)
{
  return spec->measure != BENCH_INIT;
}

/* Our signal handling is MPI's, and the bench has no options for PETSc. */
static void begin_petsc(void)
{
  PetscBool begun;
  need(PetscInitialized(&begun));
  if (begun) return;
  setenv("PETSC_OPTIONS", "-no_signal_handler", 0);
  need(PetscInitializeNoArguments());
}

/* The case's graphs in PETSc's own types. A user would have them so: making them is not set-up, and
 * is done once a case, when the method is verified. */
static struct {
  int case_number;
  PetscInt *leaf[2];
  PetscSFNode *root[2];
} given;

static void give_graph(const bench_case *c, int exchange)
{
  const bench_graph *g = &c->graph[exchange];
  size_t n = (size_t)g->nleaves;
  free(given.leaf[exchange]);
  free(given.root[exchange]);
  PetscInt *leaf = g->leaf ? bench_alloc(n, sizeof *leaf) : NULL;
  PetscSFNode *root = bench_alloc(n, sizeof *root);
  for (size_t j = 0; j < n; j++) {
    if (leaf) leaf[j] = (PetscInt)g->leaf[j];
    root[j].rank = g->root[j].rank;
    root[j].index = (PetscInt)g->root[j].index;
  }
  given.leaf[exchange] = leaf;
  given.root[exchange] = root;
}

static PetscSF make_forest(const bench_case *c, int exchange)
{
  const bench_graph *g = &c->graph[exchange];
  PetscSF forest;
  need(PetscSFCreate(c->comm, &forest));
  need(PetscSFSetType(forest, PETSCSFBASIC));
  need(PetscSFSetGraph(forest, (PetscInt)g->nroots, (PetscInt)g->nleaves, given.leaf[exchange],
                       PETSC_COPY_VALUES, given.root[exchange], PETSC_COPY_VALUES));
  need(PetscSFSetUp(forest));
  return forest;
}

static void *set_up(bench_case *c)
{
  begin_petsc();
  for (int k = 0; k < c->nexchanges && given.case_number != c->number; k++) give_graph(c, k);
  given.case_number = c->number;
  petsc_state *s = bench_alloc(1, sizeof *s);
  s->c = c;
  for (int k = 0; k < c->nexchanges; k++) s->forest[k] = make_forest(c, k);
  return s;
}

static void nothing(void *state)
{
  (void)state;
}

static void exchange(PetscSF forest, MPI_Datatype unit, int reduce, char *root, char *leaf)
{
  if (reduce) {
    need(PetscSFReduceBegin(forest, unit, leaf, root, MPI_SUM));
    need(PetscSFReduceEnd(forest, unit, leaf, root, MPI_SUM));
  } else {
    need(PetscSFBcastBegin(forest, unit, root, leaf, MPI_REPLACE));
    need(PetscSFBcastEnd(forest, unit, root, leaf, MPI_REPLACE));
  }
}

static void run(void *state, int iterations)
{
  petsc_state *s = state;
  const bench_case *c = s->c;
  MPI_Datatype unit = c->spec->type->mpi();
  for (int i = 0, b = 0; i < iterations; i++) {
    char *root = bench_root_array(c, b), *leaf = bench_leaf_array(c, b);
    for (int k = 0; k < c->nexchanges; k++)
      exchange(s->forest[k], unit, c->spec->reduce, root, leaf);
    if (++b == c->spec->buffers) b = 0;
  }
}

static void tear_down(void *state)
{
  petsc_state *s = state;
  for (int k = 0; k < s->c->nexchanges; k++) need(PetscSFDestroy(&s->forest[k]));
  free(s);
}

const bench_method bench_petsc = {
  .name = "petsc",
  .about = "PETSc's SF, type basic",
  .supports = all_but_init,
  .set_up = set_up,
  .init = nothing,
  .run = run,
  .fini = nothing,
  .tear_down = tear_down,
};
