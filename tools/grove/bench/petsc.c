/* PETSc's star forest, type basic, on the same graph and the same array. Only builds for
 * benchmarks have it (GROVE_BENCH): the command itself needs no PETSc.
 */
#include "grove/bench/bench.h"
#include "kit/need.h"

#include <stdlib.h>

#ifdef GROVE_PETSC
#include <petscsf.h>

static int begun;

static void need(const bench *b, PetscErrorCode code)
{
  if (code) bench_must(b, grove_error_set(GROVE_ERR_ARG, "PETSc reported an error"));
}

/* Our signal handling is MPI's, and the bench has no options for PETSc. */
static void begin_petsc(const bench *b)
{
  if (begun) return;
  setenv("PETSC_OPTIONS", "-no_signal_handler", 0);
  need(b, PetscInitializeNoArguments());
  begun = 1;
}

void bench_petsc_finish(void)
{
  if (begun) PetscFinalize();
}

/* In PETSc's own types, as a PETSc user would have them. */
static void set_graph(const bench *b, const pattern *p, PetscSF forest)
{
  PetscInt *leaf = bench_alloc((size_t)p->nleaves, sizeof *leaf);
  PetscSFNode *root = bench_alloc((size_t)p->nleaves, sizeof *root);
  for (int64_t i = 0; i < p->nleaves; i++) {
    leaf[i] = (PetscInt)p->leaf[i];
    root[i].rank = p->root[i].rank;
    root[i].index = (PetscInt)p->root[i].index;
  }
  need(b, PetscSFSetGraph(forest, (PetscInt)p->nroots, (PetscInt)p->nleaves, leaf,
                          PETSC_COPY_VALUES, root, PETSC_COPY_VALUES));
  free(leaf);
  free(root);
}

static grove_status open_forest(bench_entrant *e)
{
  PetscSF forest;
  begin_petsc(e->b);
  need(e->b, PetscSFCreate(e->b->comm, &forest));
  need(e->b, PetscSFSetType(forest, PETSCSFBASIC));
  set_graph(e->b, e->task->edges, forest);
  need(e->b, PetscSFSetUp(forest));
  e->state = forest;
  return GROVE_OK;
}

static grove_status run_forest(bench_entrant *e)
{
  const bench *b = e->b;
  PetscSF forest = e->state;
  MPI_Datatype unit = b->width == 1 ? MPI_DOUBLE : b->unit;
  if (e->task->reduce) {
    need(b, PetscSFReduceBegin(forest, unit, b->array, b->array, MPI_SUM));
    need(b, PetscSFReduceEnd(forest, unit, b->array, b->array, MPI_SUM));
  } else {
    need(b, PetscSFBcastBegin(forest, unit, b->array, b->array, MPI_REPLACE));
    need(b, PetscSFBcastEnd(forest, unit, b->array, b->array, MPI_REPLACE));
  }
  return GROVE_OK;
}

static void close_forest(bench_entrant *e)
{
  PetscSF forest = e->state;
  if (forest) need(e->b, PetscSFDestroy(&forest));
  e->state = NULL;
}

static const bench_method method = {
  .open = open_forest,
  .run = run_forest,
  .close = close_forest,
};
const bench_method *const bench_petsc = &method;

#else

const bench_method *const bench_petsc = NULL;
void bench_petsc_finish(void) {}

#endif
