/* Scatters of vectors by the SF types basic and grove, in turn in the same run: in a loop, and what
 * it takes to make a scatter and use it once. `measure` beside this file compiles and runs it.
 *
 *     mpirun -n 2 ./measure -dll_append libgrove_petsc.so [-quick]
 *
 * The ghosts of a grid with three dimensions, and entries from anywhere. Times are of the slowest
 * rank, medians of batches.
 */
#include <petscdmda.h>
#include <petscvec.h>

#include <stdlib.h>

enum { MOST_BATCHES = 31 };
static const char *const types[2] = {"basic", "grove"};
static PetscInt batches = 31;

/* ---- what is scattered ---- */

typedef struct pattern {
  char name[40];
  Vec x, y; /* from x, over all ranks, to y, this rank's */
  IS from;
} pattern;

static void finish_pattern(pattern *p, PetscInt n, const PetscInt *from)
{
  PetscCallAbort(PETSC_COMM_WORLD,
                 ISCreateGeneral(PETSC_COMM_SELF, n, from, PETSC_COPY_VALUES, &p->from));
  PetscCallAbort(PETSC_COMM_WORLD, VecCreateSeq(PETSC_COMM_SELF, n, &p->y));
  PetscCallAbort(PETSC_COMM_WORLD, VecSet(p->x, 1));
}

/* All points of this rank's part of a grid of `side` in each direction, and of its frame. */
static PetscErrorCode grid_pattern(PetscInt side, PetscInt values, pattern *p)
{
  DM grid;
  ISLocalToGlobalMapping map;
  const PetscInt *from;
  PetscInt n;
  PetscFunctionBegin;
  snprintf(p->name, sizeof p->name, "grid %d, %d a point", (int)side, (int)values);
  PetscCall(DMDACreate3d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE,
                         DMDA_STENCIL_BOX, side, side, side, PETSC_DECIDE, PETSC_DECIDE,
                         PETSC_DECIDE, values, 1, NULL, NULL, NULL, &grid));
  PetscCall(DMSetUp(grid));
  PetscCall(DMCreateGlobalVector(grid, &p->x));
  PetscCall(DMGetLocalToGlobalMapping(grid, &map));
  PetscCall(ISLocalToGlobalMappingGetSize(map, &n));
  PetscCall(ISLocalToGlobalMappingGetIndices(map, &from));
  finish_pattern(p, n, from);
  PetscCall(ISLocalToGlobalMappingRestoreIndices(map, &from));
  PetscCall(DMDestroy(&grid));
  PetscFunctionReturn(0);
}

static PetscErrorCode random_pattern(PetscInt n, pattern *p)
{
  PetscInt *from, total;
  PetscMPIInt rank;
  PetscFunctionBegin;
  snprintf(p->name, sizeof p->name, "random %d", (int)n);
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(VecCreateMPI(PETSC_COMM_WORLD, n, PETSC_DETERMINE, &p->x));
  PetscCall(VecGetSize(p->x, &total));
  PetscCall(PetscMalloc1(n, &from));
  srand(rank + 1);
  for (PetscInt i = 0; i < n; i++) from[i] = rand() % total;
  finish_pattern(p, n, from);
  PetscCall(PetscFree(from));
  PetscFunctionReturn(0);
}

static PetscErrorCode free_pattern(pattern *p)
{
  PetscFunctionBegin;
  PetscCall(VecDestroy(&p->x));
  PetscCall(VecDestroy(&p->y));
  PetscCall(ISDestroy(&p->from));
  PetscFunctionReturn(0);
}

/* ---- what is timed ---- */

static PetscErrorCode make(pattern *p, int type, VecScatter *out)
{
  PetscFunctionBegin;
  PetscCall(PetscOptionsSetValue(NULL, "-sf_type", types[type]));
  PetscCall(VecScatterCreate(p->x, p->from, p->y, NULL, out));
  PetscFunctionReturn(0);
}

/* Forward, or contributions back to x. */
static PetscErrorCode use(pattern *p, VecScatter scatter, int back)
{
  Vec from = back ? p->y : p->x, to = back ? p->x : p->y;
  InsertMode insert = back ? ADD_VALUES : INSERT_VALUES;
  ScatterMode mode = back ? SCATTER_REVERSE : SCATTER_FORWARD;
  PetscFunctionBegin;
  PetscCall(VecScatterBegin(scatter, from, to, insert, mode));
  PetscCall(VecScatterEnd(scatter, from, to, insert, mode));
  PetscFunctionReturn(0);
}

/* Microseconds of the slowest rank. */
static PetscErrorCode time_loop(pattern *p, VecScatter scatter, int back, int uses, double *out)
{
  double taken;
  PetscFunctionBegin;
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  taken = -MPI_Wtime();
  for (int i = 0; i < uses; i++) PetscCall(use(p, scatter, back));
  taken = 1e6 * (taken + MPI_Wtime()) / uses;
  PetscCallMPI(MPI_Allreduce(&taken, out, 1, MPI_DOUBLE, MPI_MAX, PETSC_COMM_WORLD));
  PetscFunctionReturn(0);
}

static PetscErrorCode time_first(pattern *p, int type, double *out)
{
  VecScatter scatter;
  double taken;
  PetscFunctionBegin;
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  taken = -MPI_Wtime();
  PetscCall(make(p, type, &scatter));
  PetscCall(use(p, scatter, 0));
  taken = 1e6 * (taken + MPI_Wtime());
  PetscCallMPI(MPI_Allreduce(&taken, out, 1, MPI_DOUBLE, MPI_MAX, PETSC_COMM_WORLD));
  PetscCall(VecScatterDestroy(&scatter));
  PetscFunctionReturn(0);
}

static int compare(const void *a, const void *b)
{
  const double *x = a, *y = b;
  return (*x > *y) - (*x < *y);
}

static double median(double *taken)
{
  qsort(taken, (size_t)batches, sizeof *taken, compare);
  return taken[batches / 2];
}

static PetscErrorCode print_row(const pattern *p, const char *what, double taken[2][MOST_BATCHES])
{
  double basic = median(taken[0]), grove = median(taken[1]);
  PetscFunctionBegin;
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "| %s | %s | %.1f | %.1f | %.2f |\n", p->name, what,
                        basic, grove, basic / grove));
  PetscFunctionReturn(0);
}

/* Enough uses that a batch takes some milliseconds, and a route is chosen before. */
static PetscErrorCode measure_loop(pattern *p, int back)
{
  VecScatter scatter[2];
  double taken[2][MOST_BATCHES], once;
  enum { WARM = 150 };
  PetscFunctionBegin;
  for (int t = 0; t < 2; t++) {
    PetscCall(make(p, t, &scatter[t]));
    PetscCall(time_loop(p, scatter[t], back, batches < MOST_BATCHES ? 1 : WARM, &once));
  }
  int uses = once > 5000 ? 1 : (int)(5000 / once) + 1;
  for (int i = 0; i < batches; i++)
    for (int k = 0; k < 2; k++) {
      int t = (i + k) % 2;
      PetscCall(time_loop(p, scatter[t], back, uses, &taken[t][i]));
      PetscCall(VecSet(p->x, 1));
    }
  PetscCall(print_row(p, back ? "back" : "forth", taken));
  for (int t = 0; t < 2; t++) PetscCall(VecScatterDestroy(&scatter[t]));
  PetscFunctionReturn(0);
}

static PetscErrorCode measure_first(pattern *p)
{
  double taken[2][MOST_BATCHES], once;
  PetscFunctionBegin;
  for (int t = 0; t < 2; t++) PetscCall(time_first(p, t, &once));
  for (int i = 0; i < batches; i++)
    for (int k = 0; k < 2; k++) PetscCall(time_first(p, (i + k) % 2, &taken[(i + k) % 2][i]));
  PetscCall(print_row(p, "made, used once", taken));
  PetscFunctionReturn(0);
}

static PetscErrorCode measure(pattern *p)
{
  PetscFunctionBegin;
  for (int back = 0; back < 2; back++) PetscCall(measure_loop(p, back));
  PetscCall(measure_first(p));
  PetscCall(free_pattern(p));
  PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
  pattern p;
  PetscBool quick;
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-quick", &quick));
  if (quick) batches = 3;
  PetscCall(
    PetscPrintf(PETSC_COMM_WORLD,
                "| scatter | | basic us | grove us | basic / grove |\n|---|---|---|---|---|\n"));
  const PetscInt grids[][2] = {{16, 1}, {32, 1}, {48, 3}};
  for (int i = 0; i < 3; i++) {
    PetscCall(grid_pattern(grids[i][0], grids[i][1], &p));
    PetscCall(measure(&p));
  }
  for (PetscInt n = 100; n <= 10000; n *= 10) {
    PetscCall(random_pattern(n, &p));
    PetscCall(measure(&p));
  }
  return PetscFinalize();
}
