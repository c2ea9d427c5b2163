/* PETSc's star forest, type basic. It has no step that binds arrays: the first exchange makes its
 * requests.
 */
#include "methods/method.h"

#include <petscsf.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>

typedef struct petsc_state {
  bench_case *c;
  PetscSF forest[2];
} petsc_state;

static void need(PetscErrorCode code)
{
  bench_need(code == 0, "PETSc reported an error");
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

/* The case's graphs in PETSc's own types. A user would have them like this, so making them is not
 * set-up. It is done once per case, when the method is verified. */
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

/* Gather and scatter have units for all leaves of a root in its array. */
typedef struct arrays {
  char *root, *leaf, *update;
} arrays;

#define STEP(name, Name)                                                                           \
  static PetscErrorCode name(PetscSF forest, const bench_spec *spec, MPI_Datatype unit, arrays a)  \
  {                                                                                                \
    MPI_Op op = spec->op->mpi();                                                                   \
    switch (spec->kind) {                                                                          \
    case BENCH_BCAST: return PetscSFBcast##Name(forest, unit, a.root, a.leaf, op);                 \
    case BENCH_REDUCE: return PetscSFReduce##Name(forest, unit, a.leaf, a.root, op);               \
    case BENCH_FETCH: return PetscSFFetchAndOp##Name(forest, unit, a.root, a.leaf, a.update, op);  \
    case BENCH_GATHER: return PetscSFGather##Name(forest, unit, a.leaf, a.root);                   \
    case BENCH_SCATTER: break;                                                                     \
    }                                                                                              \
    return PetscSFScatter##Name(forest, unit, a.root, a.leaf);                                     \
  }

STEP(begin, Begin)
STEP(end, End)

static void run(void *state, int first, int last)
{
  petsc_state *s = state;
  const bench_case *c = s->c;
  MPI_Datatype unit = c->spec->type->mpi();
  for (int i = first, b = first % c->spec->buffers; i < last; i++) {
    arrays a = {bench_root_array(c, b), bench_leaf_array(c, b), NULL};
    if (c->update) a.update = bench_update_array(c, b);
    for (int k = 0; k < c->nexchanges; k++) {
      need(begin(s->forest[k], c->spec, unit, a));
      need(end(s->forest[k], c->spec, unit, a));
    }
    if (++b == c->spec->buffers) b = 0;
  }
}

static void tear_down(void *state)
{
  petsc_state *s = state;
  for (int k = 0; k < s->c->nexchanges; k++) need(PetscSFDestroy(&s->forest[k]));
  free(s);
}

/* One exchange over an edge from this rank to itself. */
static int try_once(const bench_spec *spec)
{
  long long root[4] = {0}, leaf[4] = {0}, update[4] = {0}; /* a unit each */
  arrays a = {(char *)root, (char *)leaf, (char *)update};
  PetscSFNode above = {0, 0};
  PetscSF forest;
  MPI_Datatype unit = spec->type->mpi();
  need(PetscSFCreate(PETSC_COMM_SELF, &forest));
  need(PetscSFSetGraph(forest, 1, 1, NULL, PETSC_COPY_VALUES, &above, PETSC_COPY_VALUES));
  return begin(forest, spec, unit, a) || end(forest, spec, unit, a);
}

/* A fetch of a type that PETSc has no loops for jumps to address 0 (3.18), which is caught. A
 * forest in which something failed is left alone. */
static sigjmp_buf before_trial;

static void jump_back(int number)
{
  siglongjmp(before_trial, number);
}

static int fails(const bench_spec *spec)
{
  struct sigaction old, catches = {.sa_handler = jump_back};
  begin_petsc();
  need(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  sigaction(SIGSEGV, &catches, &old);
  volatile int failed = sigsetjmp(before_trial, 1);
  if (!failed) failed = try_once(spec);
  sigaction(SIGSEGV, &old, NULL);
  need(PetscPopErrorHandler());
  return failed;
}

static int supports(const bench_spec *spec)
{
  if (spec->nfields > 1 || spec->measure == BENCH_INIT || spec->measure == BENCH_OVERLAP) return 0;
  return spec->kind == BENCH_FETCH && fails(spec) ? -1 : 1;
}

const bench_method bench_petsc = {
  .name = "petsc",
  .about = "PETSc's SF, type basic",
  .supports = supports,
  .set_up = set_up,
  .run = run,
  .tear_down = tear_down,
};
