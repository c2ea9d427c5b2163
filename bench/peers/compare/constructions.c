/* Forests from forests. What PETSc 3.18 has no function for is composed from others: merge from
 * embedded leaves and concatenate, the global roots of concatenate from layouts.
 */
#include "peers/compare/compare.h"

#include <stdlib.h>

/* ---- one after the other ---- */

/* Fewer roots than the first forest has slots, or more: these lead nowhere. */
static int64_t draw_next_nroots(trial *t, const twin *a)
{
  return draw_own(t, 3) == 0 ? a->end : draw_own(t, a->end + 4);
}

static void compare_compose(trial *t, int inverse)
{
  twin a, b;
  grove_forest *grove;
  PetscSF petsc;
  twin_open(t, draw_nroots(t), 0, &a);
  twin_open(t, inverse ? draw_nroots(t) : draw_next_nroots(t, &a), inverse, &b);
  bench_need_grove(
    (inverse ? grove_forest_compose_inverse : grove_forest_compose)(a.grove, b.grove, &grove));
  need_petsc((inverse ? PetscSFComposeInverse : PetscSFCompose)(a.petsc, b.petsc, &petsc));
  agree_results(t, inverse ? "compose_inverse" : "compose", grove, petsc);
  twin_close(&a);
  twin_close(&b);
}

static void compare_inverse(trial *t)
{
  twin f;
  grove_forest *grove;
  PetscSF petsc;
  twin_open(t, draw_nroots(t), 1, &f);
  bench_need_grove(grove_forest_inverse(f.grove, &grove));
  need_petsc(PetscSFCreateInverseSF(f.petsc, &petsc));
  agree_results(t, "inverse", grove, petsc);
  twin_close(&f);
}

/* ---- fewer edges ---- */

/* Grove takes names in any order and repeated; PETSc's lists are ascending and without repetition.
 * */
static void compare_embed_roots(trial *t)
{
  twin f;
  grove_forest *grove;
  PetscSF petsc;
  twin_open(t, draw_nroots(t), 0, &f);
  int64_t *named = bench_alloc((size_t)f.nroots * 2, sizeof *named), n = 0;
  PetscInt *chosen = bench_alloc((size_t)f.nroots, sizeof *chosen), nchosen = 0;
  for (int64_t i = f.nroots - 1; i >= 0; i--) {
    if (draw_own(t, 2)) continue;
    named[n++] = i;
    if (draw_own(t, 4) == 0) named[n++] = i;
  }
  for (int64_t k = n - 1; k >= 0; k--)
    if (k == n - 1 || named[k] != named[k + 1]) chosen[nchosen++] = (PetscInt)named[k];
  bench_need_grove(grove_forest_embed_roots(f.grove, n, n ? named : NULL, &grove));
  need_petsc(PetscSFCreateEmbeddedRootSF(f.petsc, nchosen, chosen, &petsc));
  agree_results(t, "embed_roots", grove, petsc);
  free(named);
  free(chosen);
  twin_close(&f);
}

/* The leaves whose slots are marked. PETSc numbers leaves by ascending slot, whatever the order of
 * the given list. */
static void embed_petsc(const twin *f, const char *marked, PetscSF *out)
{
  PetscInt *chosen = bench_alloc((size_t)f->nleaves, sizeof *chosen), n = 0, position = 0;
  for (int64_t s = 0; s < f->end; s++) {
    if (f->is_leaf[s] && marked[s]) chosen[n++] = position;
    position += f->is_leaf[s];
  }
  need_petsc(PetscSFCreateEmbeddedLeafSF(f->petsc, n, chosen, out));
  free(chosen);
}

static void compare_embed_leaves(trial *t)
{
  twin f;
  grove_forest *grove;
  PetscSF petsc;
  twin_open(t, draw_nroots(t), 0, &f);
  char *marked = bench_alloc((size_t)f.nslots, 1);
  int64_t *named = bench_alloc((size_t)f.nleaves, sizeof *named), n = 0;
  for (int64_t j = 0; j < f.nleaves; j++) {
    if (draw_own(t, 2)) continue;
    marked[f.slot[j]] = 1;
    named[n++] = f.slot[j];
  }
  bench_need_grove(grove_forest_embed_leaves(f.grove, n, n ? named : NULL, &grove));
  embed_petsc(&f, marked, &petsc);
  agree_results(t, "embed_leaves", grove, petsc);
  free(marked);
  free(named);
  twin_close(&f);
}

/* ---- side by side ---- */

enum { MOST_FORESTS = 3 };

typedef struct row {
  int n;
  twin f[MOST_FORESTS];
  grove_forest *grove[MOST_FORESTS];
  PetscSF petsc[MOST_FORESTS];
  PetscInt offset[MOST_FORESTS]; /* of the leaf arrays, side by side */
} row;

static void row_open(trial *t, int shared, row *out)
{
  row r = {.n = 1 + (int)draw_common(t, MOST_FORESTS)};
  int64_t nroots = draw_nroots(t), end = 0;
  for (int k = 0; k < r.n; k++) {
    twin_open(t, shared ? nroots : draw_nroots(t), 0, &r.f[k]);
    r.grove[k] = r.f[k].grove;
    r.petsc[k] = r.f[k].petsc;
    r.offset[k] = (PetscInt)end;
    end += r.f[k].end;
  }
  *out = r;
}

static void row_close(row *r)
{
  for (int k = 0; k < r->n; k++) twin_close(&r->f[k]);
}

static void compare_concatenate(trial *t, int shared)
{
  row r;
  grove_forest *grove;
  PetscSF petsc;
  row_open(t, shared, &r);
  bench_need_grove(grove_forest_concatenate(
    r.n, r.grove, shared ? GROVE_ROOTS_SHARED : GROVE_ROOTS_LOCAL, &grove));
  need_petsc(
    PetscSFConcatenate(t->comm, r.n, r.petsc, shared ? PETSC_TRUE : PETSC_FALSE, r.offset, &petsc));
  agree_results(t, shared ? "concatenate, shared roots" : "concatenate, local roots", grove, petsc);
  row_close(&r);
}

/* All leaves of the row with the global numbers of their roots, as PETSc tells them. */
static void concatenate_layouts(const trial *t, const row *r, PetscSF *out)
{
  PetscInt nleaves = 0, nroots = 0, before = 0, n = 0;
  for (int k = 0; k < r->n; k++) {
    nleaves += (PetscInt)r->f[k].nleaves;
    nroots += (PetscInt)r->f[k].nroots;
  }
  PetscInt *slot = bench_alloc((size_t)nleaves, sizeof *slot);
  PetscInt *root = bench_alloc((size_t)nleaves, sizeof *root);
  for (int k = 0; k < r->n; k++) {
    PetscInt count, *global, total;
    const PetscInt *list;
    PetscLayout layout;
    need_petsc(PetscSFGetGraphLayout(r->petsc[k], &layout, &count, &list, &global));
    need_petsc(PetscLayoutGetSize(layout, &total));
    for (PetscInt j = 0; j < count; j++, n++) {
      slot[n] = (list ? list[j] : j) + r->offset[k];
      root[n] = global[j] + before;
    }
    before += total;
    need_petsc(PetscFree(global));
    need_petsc(PetscLayoutDestroy(&layout));
  }
  PetscLayout all;
  need_petsc(PetscLayoutCreateFromSizes(t->comm, nroots, PETSC_DECIDE, 1, &all));
  need_petsc(PetscSFCreate(t->comm, out));
  need_petsc(PetscSFSetGraphLayout(*out, all, n, slot, PETSC_COPY_VALUES, root));
  need_petsc(PetscLayoutDestroy(&all));
  free(slot);
  free(root);
}

static void compare_concatenate_global(trial *t)
{
  row r;
  grove_forest *grove;
  PetscSF petsc;
  row_open(t, 0, &r);
  bench_need_grove(grove_forest_concatenate(r.n, r.grove, GROVE_ROOTS_GLOBAL, &grove));
  concatenate_layouts(t, &r, &petsc);
  agree_results(t, "concatenate, global roots", grove, petsc);
  row_close(&r);
}

/* In PETSc: the leaves of `a` that `b` does not have, and those of `b`, all at their own slots. */
static void compare_merge(trial *t)
{
  twin a, b;
  grove_forest *grove;
  PetscSF petsc, rest;
  int64_t nroots = draw_nroots(t);
  twin_open(t, nroots, 0, &a);
  twin_open(t, nroots, 0, &b);
  char *only_a = bench_alloc((size_t)a.nslots, 1);
  for (int64_t s = 0; s < a.end; s++) only_a[s] = s >= b.nslots || !b.is_leaf[s];
  embed_petsc(&a, only_a, &rest);
  PetscSF both[2] = {rest, b.petsc};
  PetscInt offset[2] = {0, 0};
  bench_need_grove(grove_forest_merge(a.grove, b.grove, &grove));
  need_petsc(PetscSFConcatenate(t->comm, 2, both, PETSC_TRUE, offset, &petsc));
  agree_results(t, "merge", grove, petsc);
  need_petsc(PetscSFDestroy(&rest));
  free(only_a);
  twin_close(&a);
  twin_close(&b);
}

void compare_constructions(trial *t)
{
  compare_compose(t, 0);
  compare_compose(t, 1);
  compare_inverse(t);
  compare_embed_roots(t);
  compare_embed_leaves(t);
  compare_concatenate(t, 0);
  compare_concatenate(t, 1);
  compare_concatenate_global(t);
  compare_merge(t);
}
