/* The program that bench/instructions runs under callgrind: bcasts of 8 bytes from rank 0 to rank 1
 * with Grove or with PETSc's SF. Callgrind counts only what happens between begin and end.
 *
 * Waiting must not be counted. So there are barriers between the calls: when the receiver waits,
 * the data has been sent, and when the sender waits, it has been received. A library then does the
 * same in every exchange, and no poll is in vain.
 */
#include "kit/need.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <valgrind/callgrind.h>

#ifdef BENCH_HAVE_PETSC
#include <petscsf.h>
#endif

typedef struct exchange {
  void (*begin)(void);
  void (*end)(void);
} exchange;

static double root[1], leaf[1];
static int rank;

/* ---- Grove ---- */

static grove_op *op;

static void begin_grove(void)
{
  bench_need_grove(grove_start(op));
}

static void end_grove(void)
{
  bench_need_grove(grove_wait(op));
}

static exchange open_grove(void)
{
  grove_context *ctx;
  grove_forest *forest;
  grove_root above = {0, 0};
  grove_status status = grove_context_create(MPI_COMM_WORLD, &ctx);
  if (status == GROVE_OK) status = grove_forest_create(ctx, &forest);
  if (status == GROVE_OK) status = grove_forest_set_graph(forest, 1, rank == 1, NULL, &above);
  if (status == GROVE_OK) status = grove_forest_set_up(forest);
  if (status == GROVE_OK)
    status = grove_bcast_init(forest, MPI_DOUBLE, root, leaf, MPI_REPLACE, &op);
  bench_need_grove(status);
  return (exchange){begin_grove, end_grove};
}

/* ---- PETSc ---- */

#ifdef BENCH_HAVE_PETSC
static PetscSF sf;

static void begin_petsc(void)
{
  bench_need(PetscSFBcastBegin(sf, MPI_DOUBLE, root, leaf, MPI_REPLACE) == 0, "PetscSFBcastBegin");
}

static void end_petsc(void)
{
  bench_need(PetscSFBcastEnd(sf, MPI_DOUBLE, root, leaf, MPI_REPLACE) == 0, "PetscSFBcastEnd");
}

static exchange open_petsc(void)
{
  PetscSFNode above = {0, 0};
  setenv("PETSC_OPTIONS", "-no_signal_handler", 0);
  PetscErrorCode error = PetscInitializeNoArguments();
  if (!error) error = PetscSFCreate(MPI_COMM_WORLD, &sf);
  if (!error) error = PetscSFSetType(sf, PETSCSFBASIC);
  if (!error)
    error = PetscSFSetGraph(sf, 1, rank == 1, NULL, PETSC_COPY_VALUES, &above, PETSC_COPY_VALUES);
  if (!error) error = PetscSFSetUp(sf);
  bench_need(!error, "PETSc cannot set up its forest");
  return (exchange){begin_petsc, end_petsc};
}
#endif

/* ---- what is counted ---- */

static void counted(void (*part)(void))
{
  CALLGRIND_TOGGLE_COLLECT;
  part();
  CALLGRIND_TOGGLE_COLLECT;
}

static void count_exchanges(exchange x, int n)
{
  for (int i = 0; i < n; i++) {
    counted(x.begin);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) counted(x.end);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) counted(x.end);
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

static void warm_up(exchange x)
{
  for (int i = 0; i < 10; i++) {
    x.begin();
    x.end();
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

int main(int argc, char **argv)
{
  bench_need_as("instructions", 3);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  bench_need(argc == 3, "usage: grove_bench_instructions grove|petsc COUNT");
  exchange x = {NULL, NULL};
  if (strcmp(argv[1], "grove") == 0) x = open_grove();
#ifdef BENCH_HAVE_PETSC
  if (strcmp(argv[1], "petsc") == 0) x = open_petsc();
#endif
  bench_need(x.begin != NULL, "no such library in this build");
  root[0] = 42;
  CALLGRIND_START_INSTRUMENTATION; /* not from the start: MPI_Init would take long */
  warm_up(x);
  count_exchanges(x, atoi(argv[2]));
  bench_need(rank != 1 || leaf[0] == 42, "the value did not arrive");
  MPI_Finalize();
  return 0;
}
