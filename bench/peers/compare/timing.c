/* The time to make forests from forests, beside PETSc's, in one run.
 *
 * A round makes each of them once in either library, in a newly drawn order: from a barrier until
 * the result can be used, so including PetscSFSetUp, which Grove's call contains. The slowest rank
 * counts. Inputs are set up before. They stay the same and have been used once (`warm`), or are new
 * in every round and unused (`cold`). Freeing is not timed.
 */
#include "kit/conditions.h"
#include "kit/flags.h"
#include "kit/row.h"
#include "peers/compare/load.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- constructions ---- */

typedef struct construction {
  const char *name;
  int from[2]; /* graphs of the inputs; the second may be NONE */
  grove_status (*grove)(load *l, grove_forest **out);
  PetscErrorCode (*petsc)(load *l, PetscSF *out);
} construction;

#define CONSTRUCTION(name, grove_call, petsc_call)                                                 \
  static grove_status name##_grove(load *l, grove_forest **out)                                    \
  {                                                                                                \
    return grove_call;                                                                             \
  }                                                                                                \
  static PetscErrorCode name##_petsc(load *l, PetscSF *out)                                        \
  {                                                                                                \
    return petsc_call;                                                                             \
  }

CONSTRUCTION(compose, grove_forest_compose(l->grove[0], l->grove[1], out),
             PetscSFCompose(l->petsc[0], l->petsc[1], out))
CONSTRUCTION(compose_inverse, grove_forest_compose_inverse(l->grove[0], l->grove[1], out),
             PetscSFComposeInverse(l->petsc[0], l->petsc[1], out))
CONSTRUCTION(embed_roots, grove_forest_embed_roots(l->grove[0], l->nchosen, l->chosen, out),
             PetscSFCreateEmbeddedRootSF(l->petsc[0], (PetscInt)l->nchosen, l->positions, out))
/* Leaf j is slot j: slots and positions are the same. */
CONSTRUCTION(embed_leaves, grove_forest_embed_leaves(l->grove[0], l->nchosen, l->chosen, out),
             PetscSFCreateEmbeddedLeafSF(l->petsc[0], (PetscInt)l->nchosen, l->positions, out))
CONSTRUCTION(inverse, grove_forest_inverse(l->grove[0], out),
             PetscSFCreateInverseSF(l->petsc[0], out))

static const construction constructions[] = {
  {"compose", {FIRST, SECOND}, compose_grove, compose_petsc},
  {"compose-inverse", {FIRST, SINGLE}, compose_inverse_grove, compose_inverse_petsc},
  {"embed-roots", {FIRST, NONE}, embed_roots_grove, embed_roots_petsc},
  {"embed-leaves", {FIRST, NONE}, embed_leaves_grove, embed_leaves_petsc},
  {"inverse", {SINGLE, NONE}, inverse_grove, inverse_petsc},
};

/* Grove's time should be at most this share of PETSc's. */
#define TARGET 0.8

/* ---- rounds ---- */

enum { GROVE, PETSC, SIDES };

static void open_grove(load *l, const graph *g, grove_forest **out)
{
  bench_need_grove(grove_forest_create(l->ctx, out));
  bench_need_grove(grove_forest_set_graph(*out, l->n, l->n, NULL, g->root));
  bench_need_grove(grove_forest_set_up(*out));
}

static void open_petsc(load *l, const graph *g, PetscSF *out)
{
  PetscInt n = (PetscInt)l->n;
  need_petsc(PetscSFCreate(l->comm, out));
  need_petsc(PetscSFSetType(*out, PETSCSFBASIC));
  need_petsc(PetscSFSetGraph(*out, n, n, NULL, PETSC_COPY_VALUES, g->node, PETSC_COPY_VALUES));
  need_petsc(PetscSFSetUp(*out));
}

static void close_inputs(load *l, int side)
{
  for (int k = 0; k < 2; k++) {
    if (side == GROVE) bench_need_grove(grove_forest_free(&l->grove[k]));
    if (side == PETSC) need_petsc(PetscSFDestroy(&l->petsc[k]));
  }
}

static void open_inputs(load *l, const construction *c, int side)
{
  for (int k = 0; k < 2; k++) {
    if (c->from[k] == NONE) continue;
    const graph *g = &l->graph[c->from[k]];
    if (side == GROVE) open_grove(l, g, &l->grove[k]);
    if (side == PETSC) open_petsc(l, g, &l->petsc[k]);
  }
}

static void use_inputs(load *l, const construction *c, int side)
{
  int *root = bench_alloc((size_t)l->n, sizeof *root),
      *leaf = bench_alloc((size_t)l->n, sizeof *leaf);
  for (int k = 0; k < 2; k++) {
    if (c->from[k] == NONE) continue;
    if (side == GROVE) bench_need_grove(grove_bcast(l->grove[k], MPI_INT, root, leaf, MPI_REPLACE));
    if (side == PETSC) petsc_bcast(l->petsc[k], MPI_INT, root, leaf, MPI_REPLACE);
  }
  free(root);
  free(leaf);
}

static double time_grove(load *l, const construction *c)
{
  grove_forest *out;
  MPI_Barrier(l->comm);
  double begin = MPI_Wtime();
  bench_need_grove(c->grove(l, &out));
  double seconds = MPI_Wtime() - begin;
  bench_need_grove(grove_forest_free(&out));
  return seconds;
}

static double time_petsc(load *l, const construction *c)
{
  PetscSF out;
  MPI_Barrier(l->comm);
  double begin = MPI_Wtime();
  need_petsc(c->petsc(l, &out));
  need_petsc(PetscSFSetUp(out));
  double seconds = MPI_Wtime() - begin;
  need_petsc(PetscSFDestroy(&out));
  return seconds;
}

/* Of the slowest rank. */
static double take_sample(load *l, const construction *c, int side, int cold)
{
  if (cold) close_inputs(l, side);
  if (cold) open_inputs(l, c, side);
  double seconds = side == GROVE ? time_grove(l, c) : time_petsc(l, c);
  MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, l->comm);
  return seconds;
}

static void take_samples(load *l, const construction *c, int cold, int rounds, double *samples[])
{
  uint64_t state = 5;
  for (int side = 0; side < SIDES; side++) {
    open_inputs(l, c, side);
    if (!cold) use_inputs(l, c, side);
    take_sample(l, c, side, cold); /* the first differs from the others */
  }
  for (int i = 0; i < rounds; i++) {
    int first = (int)(bench_random(&state) % SIDES);
    for (int k = 0; k < SIDES; k++) samples[first ^ k][i] = take_sample(l, c, first ^ k, cold);
  }
  for (int side = 0; side < SIDES; side++) close_inputs(l, side);
}

/* ---- results ---- */

static void print_json(const char *name, const double values[2], bench_interval ratio)
{
  static int printed;
  printf("%s\n  {\"case\": \"%s\", \"grove_us\": %.6g, \"petsc_us\": %.6g, \"ratio\": %.4f, "
         "\"low\": %.4f, \"high\": %.4f}",
         printed++ ? "," : "", name, values[0], values[1], ratio.value, ratio.low, ratio.high);
}

static void time_one(load *l, const construction *c, int cold, const timing *how)
{
  char name[64];
  double *samples[SIDES], values[SIDES];
  snprintf(name, sizeof name, "%s-%dk-%s", c->name, (int)(l->n / 1000), cold ? "cold" : "warm");
  if (!bench_is_chosen(how->only, name)) return;
  for (int side = 0; side < SIDES; side++)
    samples[side] = bench_alloc((size_t)how->rounds, sizeof(double));
  take_samples(l, c, cold, how->rounds, samples);
  bench_interval ratio = bench_ratio(samples[GROVE], samples[PETSC], how->rounds);
  for (int side = 0; side < SIDES; side++) {
    values[side] = 1e6 * bench_median(samples[side], how->rounds);
    free(samples[side]);
  }
  if (l->rank == 0 && how->json) print_json(name, values, ratio);
  if (l->rank == 0 && !how->json)
    bench_row_print(&(bench_row){name, "grove", "petsc", "petsc"}, values, ratio, TARGET);
  fflush(stdout);
}

void time_constructions(grove_context *ctx, MPI_Comm comm, const timing *how)
{
  static const int64_t sizes[] = {10000, 100000};
  int rank, nranks, n = (int)(sizeof constructions / sizeof constructions[0]);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &nranks);
  if (!how->json) bench_report_conditions(comm, 0);
  if (rank == 0 && how->json)
    printf("{\"ranks\": %d, \"rounds\": %d, \"rows\": [", nranks, how->rounds);
  for (int s = 0; s < 2; s++) {
    load l;
    load_open(comm, ctx, sizes[s], &l);
    for (int i = 0; i < n; i++)
      for (int cold = 0; cold < 2; cold++) time_one(&l, &constructions[i], cold, how);
    load_close(&l);
  }
  if (rank == 0 && how->json) printf("\n]}\n");
}
