/* What is made of SFs gives the same with `-sf_type grove` as with `-sf_type basic`: scatters of
 * vectors, with blocks and with slots that are leaves several times, products with a matrix and its
 * transpose, a solver, halos of a structured grid.
 *
 *     tools/launch 4 build/tests/bindings/petsc_programs -dll_append build/lib/libgrove_petsc.so
 *
 * An SF with a prefix has options of its own. With -remap also VecScatterRemap, which needs the
 * library before PETSc: LD_PRELOAD.
 *
 * Vectors and matrices hold small integers, so that sums do not depend on their order.
 */
#include "check.h"
#include "random.h"

#include <petscdmda.h>
#include <petscksp.h>
#include <petscsf.h>
#include <string.h>

#define CALL(call) PetscCallAbort(MPI_COMM_WORLD, call)

static rng all, own; /* all: the same numbers on every rank */

static void take_type(const char *type)
{
  CALL(PetscOptionsSetValue(NULL, "-sf_type", type));
}

static void check_type(VecScatter scatter, const char *expected)
{
  VecScatterType type;
  CALL(VecScatterGetType(scatter, &type));
  CHECK(strcmp(type, expected) == 0, "a scatter of type %s instead of %s", type, expected);
}

static void check_same(Vec a, Vec b, const char *what)
{
  PetscBool same;
  CALL(VecEqual(a, b, &same));
  CHECK(same, "%s differ", what);
}

static Vec draw_vector(PetscInt n)
{
  Vec x;
  PetscScalar *values;
  CALL(VecCreateMPI(PETSC_COMM_WORLD, n, PETSC_DETERMINE, &x));
  CALL(VecGetArray(x, &values));
  for (PetscInt i = 0; i < n; i++) values[i] = (PetscScalar)rng_below(&own, 100);
  CALL(VecRestoreArray(x, &values));
  return x;
}

/* ---- scatters ---- */

typedef struct scattering {
  PetscInt block;
  IS from, to;
  InsertMode insert;
  ScatterMode mode;
} scattering;

/* Blocks of x from anywhere to blocks of y anywhere, several of them to the same. Which of several
 * is inserted last is open, so these come from the same block. */
static scattering draw_scattering(PetscInt nblocks, PetscInt block)
{
  scattering s = {.block = block};
  PetscInt from[60], to[60], n = rng_one_in(&own, 4) ? 0 : (PetscInt)rng_below(&own, 60);
  InsertMode inserts[] = {INSERT_VALUES, ADD_VALUES, MAX_VALUES};
  s.insert = inserts[rng_below(&all, 3)];
  s.mode = rng_one_in(&all, 2) ? SCATTER_FORWARD : SCATTER_REVERSE;
  for (PetscInt i = 0; i < n; i++) {
    from[i] = (PetscInt)rng_below(&own, nblocks);
    to[i] = (PetscInt)rng_below(&own, nblocks);
    if (s.insert != INSERT_VALUES) continue;
    if (s.mode == SCATTER_FORWARD)
      from[i] = (7 * to[i] + 3) % nblocks;
    else
      to[i] = (7 * from[i] + 3) % nblocks;
  }
  CALL(ISCreateBlock(PETSC_COMM_WORLD, block, n, from, PETSC_COPY_VALUES, &s.from));
  CALL(ISCreateBlock(PETSC_COMM_WORLD, block, n, to, PETSC_COPY_VALUES, &s.to));
  return s;
}

static Vec scatter_by(const char *type, const scattering *s, Vec x, Vec y)
{
  VecScatter scatter;
  Vec result;
  take_type(type);
  CALL(VecDuplicate(y, &result));
  CALL(VecCopy(y, result));
  CALL(VecScatterCreate(x, s->from, y, s->to, &scatter));
  check_type(scatter, type);
  for (int i = 0; i < 2; i++) {
    CALL(VecScatterBegin(scatter, x, result, s->insert, s->mode));
    CALL(VecScatterEnd(scatter, x, result, s->insert, s->mode));
  }
  CALL(VecScatterDestroy(&scatter));
  return result;
}

static void compare_scatters(void)
{
  PetscInt block = (PetscInt)rng_below(&all, 3) + 1;
  PetscInt mine = rng_one_in(&own, 4) ? 0 : (PetscInt)rng_below(&own, 20), total;
  Vec x, y, results[2];
  mine += world_rank() == 0; /* there is one */
  x = draw_vector(mine * block);
  y = draw_vector(mine * block);
  CALL(VecGetSize(x, &total));
  scattering s = draw_scattering(total / block, block);
  results[0] = scatter_by("basic", &s, x, y);
  results[1] = scatter_by("grove", &s, x, y);
  check_same(results[0], results[1], "results of scatters");
  CALL(ISDestroy(&s.from));
  CALL(ISDestroy(&s.to));
  CALL(VecDestroy(&x));
  CALL(VecDestroy(&y));
  for (int i = 0; i < 2; i++) CALL(VecDestroy(&results[i]));
}

/* x by a scatter that was made to read it in another order. One of type `grove` was used before,
 * which PETSc 3.18's own type does not always survive. */
static Vec remap_by(const char *type, const scattering *s, Vec x, Vec y, PetscInt *map)
{
  Vec result = scatter_by(type, s, x, y);
  VecScatter scatter;
  CALL(VecScatterCreate(x, s->from, y, s->to, &scatter));
  if (strcmp(type, "grove") == 0) {
    CALL(VecScatterBegin(scatter, x, result, ADD_VALUES, SCATTER_FORWARD));
    CALL(VecScatterEnd(scatter, x, result, ADD_VALUES, SCATTER_FORWARD));
  }
  CALL(VecCopy(y, result));
  CALL(VecScatterRemap(scatter, map, NULL));
  CALL(VecScatterBegin(scatter, x, result, ADD_VALUES, SCATTER_FORWARD));
  CALL(VecScatterEnd(scatter, x, result, ADD_VALUES, SCATTER_FORWARD));
  check_type(scatter, type);
  CALL(VecScatterDestroy(&scatter));
  return result;
}

static void compare_remapped(void)
{
  PetscInt mine = 5 + (PetscInt)rng_below(&own, 9), total, map[16];
  Vec x = draw_vector(mine), y = draw_vector(mine), results[2];
  CALL(VecGetSize(x, &total));
  scattering s = draw_scattering(total, 1);
  for (PetscInt i = 0; i < mine; i++) map[i] = (i + 3) % mine;
  results[0] = remap_by("basic", &s, x, y, map);
  results[1] = remap_by("grove", &s, x, y, map);
  check_same(results[0], results[1], "results of remapped scatters");
  CALL(ISDestroy(&s.from));
  CALL(ISDestroy(&s.to));
  CALL(VecDestroy(&x));
  CALL(VecDestroy(&y));
  for (int i = 0; i < 2; i++) CALL(VecDestroy(&results[i]));
}

/* ---- matrices and solvers ---- */

/* A sparse matrix with a dominant diagonal, symmetric: the entries follow from row and column. */
static Mat make_matrix(PetscInt n, uint64_t seed)
{
  Mat a;
  PetscInt first, end;
  CALL(MatCreateAIJ(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, n, n, 20, NULL, 20, NULL, &a));
  CALL(MatSetOption(a, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  CALL(MatGetOwnershipRange(a, &first, &end));
  for (PetscInt i = first; i < end; i++)
    for (PetscInt j = 0; j < n; j++) {
      uint64_t of = mix2(seed, (uint64_t)(PetscMin(i, j) * n + PetscMax(i, j)));
      if (i == j || of % 8 == 0)
        CALL(MatSetValue(a, i, j, i == j ? (PetscScalar)n : -1, INSERT_VALUES));
    }
  CALL(MatAssemblyBegin(a, MAT_FINAL_ASSEMBLY));
  CALL(MatAssemblyEnd(a, MAT_FINAL_ASSEMBLY));
  return a;
}

/* A x + A^T x, by a copy of A. */
static Vec multiply_by(Mat a, Vec x)
{
  Vec y;
  Mat copy;
  CALL(VecDuplicate(x, &y));
  CALL(MatMult(a, x, y));
  CALL(MatDuplicate(a, MAT_COPY_VALUES, &copy));
  CALL(MatMultTransposeAdd(copy, x, y, y));
  CALL(MatMultAdd(copy, x, y, y));
  CALL(MatDestroy(&copy));
  return y;
}

static Vec solve_by(Mat a, Vec b, PetscInt *iterations)
{
  KSP ksp;
  PC pc;
  Vec x;
  CALL(VecDuplicate(b, &x));
  CALL(KSPCreate(PETSC_COMM_WORLD, &ksp));
  CALL(KSPSetType(ksp, KSPCG));
  CALL(KSPGetPC(ksp, &pc));
  CALL(PCSetType(pc, PCJACOBI));
  CALL(KSPSetOperators(ksp, a, a));
  CALL(KSPSolve(ksp, b, x));
  CALL(KSPGetIterationNumber(ksp, iterations));
  CALL(KSPDestroy(&ksp));
  return x;
}

static void compare_matrices(void)
{
  PetscInt n = (PetscInt)rng_below(&all, 60) + 1, local = PETSC_DECIDE, iterations[2];
  uint64_t seed = rng_next(&all);
  Vec products[2], solutions[2];
  CALL(PetscSplitOwnership(PETSC_COMM_WORLD, &local, &n));
  Vec x = draw_vector(local);
  for (int i = 0; i < 2; i++) {
    take_type(i ? "grove" : "basic");
    Mat a = make_matrix(n, seed);
    products[i] = multiply_by(a, x);
    solutions[i] = solve_by(a, x, &iterations[i]);
    CALL(MatDestroy(&a));
  }
  check_same(products[0], products[1], "products");
  check_same(solutions[0], solutions[1], "solutions of CG");
  CHECK(iterations[0] == iterations[1], "%d iterations, and %d", (int)iterations[0],
        (int)iterations[1]);
  CALL(VecDestroy(&x));
  for (int i = 0; i < 2; i++) {
    CALL(VecDestroy(&products[i]));
    CALL(VecDestroy(&solutions[i]));
  }
}

/* ---- halos of a structured grid ---- */

/* Global to local, and the frame again from local to local, which remaps a copy of a scatter. */
static Vec halo_by(const char *type, PetscInt dof, PetscInt width)
{
  DM da;
  Vec global, local, again;
  PetscScalar *values;
  PetscInt n, first;
  take_type(type);
  CALL(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_PERIODIC, DM_BOUNDARY_NONE, DMDA_STENCIL_BOX, 12,
                    10, PETSC_DECIDE, PETSC_DECIDE, dof, width, NULL, NULL, &da));
  CALL(DMSetUp(da));
  CALL(DMCreateGlobalVector(da, &global));
  CALL(VecGetOwnershipRange(global, &first, NULL));
  CALL(VecGetLocalSize(global, &n));
  CALL(VecGetArray(global, &values));
  for (PetscInt i = 0; i < n; i++) values[i] = (PetscScalar)(first + i);
  CALL(VecRestoreArray(global, &values));
  CALL(DMCreateLocalVector(da, &local));
  CALL(DMGlobalToLocal(da, global, INSERT_VALUES, local));
  CALL(VecDuplicate(local, &again));
  CALL(VecScale(local, 3));
  CALL(DMLocalToLocalBegin(da, local, INSERT_VALUES, again));
  CALL(DMLocalToLocalEnd(da, local, INSERT_VALUES, again));
  CALL(DMLocalToGlobal(da, again, ADD_VALUES, global));
  CALL(VecDestroy(&local));
  CALL(VecDestroy(&again));
  CALL(DMDestroy(&da));
  return global;
}

static void compare_halos(void)
{
  PetscInt dof = (PetscInt)rng_below(&all, 3) + 1, width = (PetscInt)rng_below(&all, 2) + 1;
  Vec results[2];
  results[0] = halo_by("basic", dof, width);
  results[1] = halo_by("grove", dof, width);
  check_same(results[0], results[1], "halos");
  for (int i = 0; i < 2; i++) CALL(VecDestroy(&results[i]));
}

/* ---- options of one SF ---- */

/* An SF with a prefix and this value of its option: does it set up? */
static PetscErrorCode set_up_with(const char *value)
{
  PetscSF sf;
  PetscSFNode root = {.rank = (world_rank() + 1) % world_size(), .index = 0};
  CALL(PetscOptionsSetValue(NULL, "-one_sf_type", "grove"));
  CALL(PetscOptionsSetValue(NULL, "-one_sf_grove_set", value));
  CALL(PetscSFCreate(PETSC_COMM_WORLD, &sf));
  CALL(PetscObjectSetOptionsPrefix((PetscObject)sf, "one_"));
  CALL(PetscSFSetGraph(sf, 1, 1, NULL, PETSC_COPY_VALUES, &root, PETSC_COPY_VALUES));
  CALL(PetscSFSetFromOptions(sf));
  CALL(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  PetscErrorCode error = PetscSFSetUp(sf);
  CALL(PetscPopErrorHandler());
  CALL(PetscSFDestroy(&sf));
  CALL(PetscOptionsClearValue(NULL, "-one_sf_grove_set"));
  return error;
}

static void take_options_of_one(void)
{
  CHECK(!set_up_with("route=standard,order=ranks"), "an SF may have these");
  CHECK(set_up_with("order=ranks,timeout=5"), "the timeout is its context's");
  CHECK(set_up_with("route"), "there is no value");
}

int main(int argc, char **argv)
{
  PetscBool remap;
  test_begin(&argc, &argv, "bindings/petsc_programs");
  CALL(PetscInitialize(&argc, &argv, NULL, NULL));
  CALL(PetscOptionsHasName(NULL, NULL, "-remap", &remap));
  for (int i = 0; i < test_samples(2); i++) {
    test_case(i);
    all = rng_from(test_seed(), (uint64_t)i);
    own = rng_from(test_seed() + 1, (uint64_t)(i * world_size() + world_rank()));
    for (int again = 0; again < 4; again++) compare_scatters();
    if (remap) compare_remapped();
    compare_matrices();
    compare_halos();
  }
  take_options_of_one();
  CALL(PetscFinalize());
  return test_end();
}
