/* Random graphs: uneven, with ranks that own nothing or need nothing, self edges, many leaves on
 * one root, and lists of leaves of every form. They are small and many: what can go wrong goes
 * wrong in small ones.
 */
#include "peers/compare/compare.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_ROOTS = 24, MOST_LEAVES = 40 };

int64_t draw_nroots(trial *t)
{
  if (t->number % 16 == 0) return 0; /* nobody has a root */
  switch (draw_own(t, 4)) {
  case 0: return 0;
  case 1: return 1 + draw_own(t, 3);
  default: return draw_own(t, MOST_ROOTS + 1);
  }
}

/* ---- roots ---- */

static void find_first(const trial *t, twin *f)
{
  f->first = bench_alloc((size_t)t->nranks + 1, sizeof *f->first);
  MPI_Allgather(&f->nroots, 1, MPI_INT64_T, f->first + 1, 1, MPI_INT64_T, t->comm);
  for (int r = 0; r < t->nranks; r++) f->first[r + 1] += f->first[r];
}

static grove_root find_root(const twin *f, int64_t global)
{
  grove_root root = {0, global};
  while (f->first[root.rank + 1] <= global) root.rank++;
  root.index -= f->first[root.rank];
  return root;
}

/* Leaves that may share roots. */
static void draw_shared(trial *t, twin *f, int64_t total)
{
  enum { ANYWHERE, SELF, STAR, FEW, KINDS };
  int kind = (int)draw_common(t, KINDS);
  int64_t centre = draw_common(t, total);
  int none = draw_own(t, 5) == 0 || (kind == SELF && f->nroots == 0);
  f->nleaves = none ? 0 : draw_own(t, MOST_LEAVES + 1);
  f->root = bench_alloc((size_t)f->nleaves, sizeof *f->root);
  for (int64_t j = 0; j < f->nleaves; j++) {
    int64_t global = centre;
    if (kind == ANYWHERE) global = draw_own(t, total);
    if (kind == SELF) global = f->first[t->rank] + draw_own(t, f->nroots);
    if (kind == FEW) global = (centre + draw_own(t, 3)) % total;
    f->root[j] = find_root(f, global);
  }
}

/* Every root is assigned to one rank or to nobody, in an order that all ranks draw. */
static void draw_single(trial *t, twin *f, int64_t total)
{
  int64_t *order = bench_alloc((size_t)total, sizeof *order);
  int idle = (int)draw_common(t, 2 * t->nranks); /* a rank that gets nothing, if any */
  f->root = bench_alloc((size_t)total, sizeof *f->root);
  for (int64_t i = 0; i < total; i++) order[i] = i;
  for (int64_t i = 0; i < total; i++) {
    int64_t j = i + draw_common(t, total - i), kept = order[i];
    order[i] = order[j];
    order[j] = kept;
    int to = (int)draw_common(t, 4 * t->nranks + 1) / 4;
    if (to == t->rank && to != idle) f->root[f->nleaves++] = find_root(f, order[i]);
  }
  free(order);
}

/* ---- slots ---- */

/* No list, all slots in order, all in another order, with gaps, with gaps in no order. */
static void draw_slots(trial *t, twin *f)
{
  int kind = (int)draw_own(t, 5), gaps = kind >= 3;
  int64_t slot = gaps ? draw_own(t, 4) : 0;
  f->listed = kind != 0;
  f->slot = bench_alloc((size_t)f->nleaves, sizeof *f->slot);
  for (int64_t j = 0; j < f->nleaves; j++) {
    f->slot[j] = slot;
    f->end = slot + 1;
    slot += gaps ? 1 + draw_own(t, 3) : 1;
  }
  if (kind == 2 || kind == 4) bench_shuffle(f->slot, f->nleaves, &t->own);
  f->nslots = f->end + draw_own(t, 3);
  f->is_leaf = bench_alloc((size_t)f->nslots, 1);
  for (int64_t j = 0; j < f->nleaves; j++) f->is_leaf[f->slot[j]] = 1;
}

/* ---- in both libraries ---- */

static void build_grove(const trial *t, twin *f)
{
  const int64_t *list = f->listed ? f->slot : NULL;
  bench_need_grove(grove_forest_create(t->ctx, &f->grove));
  bench_need_grove(grove_forest_set_graph(f->grove, f->nroots, f->nleaves, list, f->root));
  bench_need_grove(grove_forest_set_up(f->grove));
}

static void build_petsc(const trial *t, twin *f)
{
  PetscInt *list = f->listed ? petsc_list(f->slot, f->nleaves) : NULL;
  PetscSFNode *root = bench_alloc((size_t)f->nleaves, sizeof *root);
  for (int64_t j = 0; j < f->nleaves; j++) {
    root[j].rank = f->root[j].rank;
    root[j].index = (PetscInt)f->root[j].index;
  }
  need_petsc(PetscSFCreate(t->comm, &f->petsc));
  need_petsc(PetscSFSetType(f->petsc, PETSCSFBASIC));
  need_petsc(PetscSFSetGraph(f->petsc, (PetscInt)f->nroots, (PetscInt)f->nleaves, list,
                             PETSC_COPY_VALUES, root, PETSC_COPY_VALUES));
  need_petsc(PetscSFSetUp(f->petsc));
  free(list);
  free(root);
}

void twin_open(trial *t, int64_t nroots, int single, twin *out)
{
  twin f = {.nroots = nroots};
  t->nforests++;
  find_first(t, &f);
  int64_t total = f.first[t->nranks];
  if (total > 0) (single ? draw_single : draw_shared)(t, &f, total);
  draw_slots(t, &f);
  build_grove(t, &f);
  build_petsc(t, &f);
  *out = f;
}

void twin_close(twin *f)
{
  bench_need_grove(grove_forest_free(&f->grove));
  need_petsc(PetscSFDestroy(&f->petsc));
  free(f->first);
  free(f->slot);
  free(f->root);
  free(f->is_leaf);
}
