/* Forests made from random forests, on 1 to all ranks of the job: each must have the graph that the
 * serial reference makes of the whole graphs, answer all queries accordingly, and work. */
#include "check.h"
#include "exercise.h"
#include "serial.h"
#include "sources.h"

#include <stdlib.h>

/* ---- results ---- */

/* It is a forest like any other: one operation of each kind, by turns. */
static void use(trial *t, const units *types, grove_forest *f)
{
  graph *g = graph_gathered(t->p, f);
  exercise e = {.g = g, .f = f, .me = t->p->rank};
  exercise_draw(&e, types, &t->r);
  exercise_open(&e);
  exercise_block(&e);
  exercise_check(&e);
  exercise_close(&e);
  graph_free(g);
}

/* Frees both. */
static void settle(trial *t, const units *types, const char *what, grove_forest *got, sketch *s)
{
  sketch_check(got, s, t->p->rank, what);
  if (rng_one_in(&t->r, 4)) use(t, types, got);
  CHECK_OK(grove_forest_free(&got));
  sketch_free(s);
}

/* Where the header promises it, leaves come by ascending slot. */
static void check_ascending(grove_forest *f, const char *what)
{
  int64_t n = 0;
  const int64_t *index = NULL;
  CHECK_OK(grove_forest_graph(f, NULL, &n, &index, NULL));
  for (int64_t j = 1; index != NULL && j < n; j++)
    CHECK(index[j - 1] < index[j], "%s: leaf %lld is slot %lld, after %lld", what, (long long)j,
          (long long)index[j], (long long)index[j - 1]);
}

/* ---- roots and leaves ---- */

static void try_inverse(trial *t, const units *types)
{
  drawn d = draw_single(t);
  sketch *s = sketch_of_graph(d.g);
  grove_forest *out = NULL;
  CHECK_OK(grove_forest_inverse(d.f, &out));
  check_ascending(out, "inverse");
  settle(t, types, "inverse", out, serial_inverse(s));
  sketch_free(s);
  drawn_free(&d, t->p->rank);
}

static void try_compose(trial *t, const units *types)
{
  drawn a = draw_any(t), b = draw_any(t);
  sketch *sa = sketch_of_graph(a.g), *sb = sketch_of_graph(b.g);
  grove_forest *out = NULL;
  CHECK_OK(grove_forest_compose(a.f, b.f, &out));
  settle(t, types, "compose", out, serial_compose(sa, sb));
  CHECK_OK(grove_forest_compose(a.f, a.f, &out)); /* with itself */
  settle(t, types, "compose with itself", out, serial_compose(sa, sa));
  sketch_free(sa);
  sketch_free(sb);
  drawn_free(&a, t->p->rank);
  drawn_free(&b, t->p->rank);
}

static void try_compose_inverse(trial *t, const units *types)
{
  drawn a = draw_any(t), b = draw_single(t);
  sketch *sa = sketch_of_graph(a.g), *sb = sketch_of_graph(b.g);
  grove_forest *out = NULL;
  CHECK_OK(grove_forest_compose_inverse(a.f, b.f, &out));
  settle(t, types, "compose_inverse", out, serial_compose_inverse(sa, sb));
  sketch_free(sa);
  sketch_free(sb);
  drawn_free(&a, t->p->rank);
  drawn_free(&b, t->p->rank);
}

/* ---- parts of a forest ---- */

/* Some of the numbers, in random order, some of them again; or none, as an array or as NULL. */
static void draw_named(rng *r, list *l, int64_t n, const int64_t *from)
{
  int64_t count = n > 0 && !rng_one_in(r, 4) ? rng_below(r, n + n / 2 + 1) : 0;
  if (count == 0 && rng_one_in(r, 2)) return;
  list_resize(l, count);
  for (int64_t i = 0; i < count; i++) l->item[i] = from[rng_below(r, n)];
}

/* Of the roots, or of the leaf slots, of every rank. */
static list *draw_lists(rng *r, const graph *g, int leaves)
{
  list *named = lists_create(g->nranks);
  for (int i = 0; i < g->nranks; i++) {
    const part *p = &g->part[i];
    int64_t n = leaves ? p->nleaves : p->nroots, *all = need((size_t)n * sizeof *all);
    for (int64_t j = 0; j < n; j++) all[j] = leaves ? part_slot(p, j) : j;
    draw_named(r, &named[i], n, all);
    free(all);
  }
  return named;
}

static void try_embed(trial *t, const units *types)
{
  drawn d = draw_any(t);
  sketch *s = sketch_of_graph(d.g);
  list *root = draw_lists(&t->r, d.g, 0), *slot = draw_lists(&t->r, d.g, 1);
  const list *roots = &root[t->p->rank], *slots = &slot[t->p->rank];
  grove_forest *out = NULL;
  CHECK_OK(grove_forest_embed_roots(d.f, roots->n, roots->item, &out));
  settle(t, types, "embed_roots", out, serial_embed_roots(s, root));
  CHECK_OK(grove_forest_embed_leaves(d.f, slots->n, slots->item, &out));
  settle(t, types, "embed_leaves", out, serial_embed_leaves(s, slot));
  lists_free(root, t->p->size);
  lists_free(slot, t->p->size);
  sketch_free(s);
  drawn_free(&d, t->p->rank);
}

/* ---- several forests ---- */

enum { MOST_FORESTS = 4 };

static void try_concatenate(trial *t, const units *types)
{
  static const char *const names[] = {"concatenate local", "concatenate shared",
                                      "concatenate global"};
  static const grove_roots modes[] = {GROVE_ROOTS_LOCAL, GROVE_ROOTS_SHARED, GROVE_ROOTS_GLOBAL};
  int n = (int)rng_between(&t->r, 1, MOST_FORESTS);
  for (int m = 0; m < 3; m++) {
    drawn d[MOST_FORESTS];
    sketch *s[MOST_FORESTS];
    grove_forest *f[MOST_FORESTS], *out = NULL;
    for (int k = 0; k < n; k++) {
      d[k] = k > 0 && modes[m] == GROVE_ROOTS_SHARED ? draw_beside(t, d[0].g) : draw_any(t);
      s[k] = sketch_of_graph(d[k].g);
      f[k] = d[k].f;
    }
    CHECK_OK(grove_forest_concatenate(n, f, modes[m], &out));
    settle(t, types, names[m], out, serial_concatenate(n, s, modes[m]));
    for (int k = 0; k < n; k++) {
      sketch_free(s[k]);
      drawn_free(&d[k], t->p->rank);
    }
  }
}

static void try_merge(trial *t, const units *types)
{
  drawn a = draw_any(t), b = draw_beside(t, a.g);
  sketch *sa = sketch_of_graph(a.g), *sb = sketch_of_graph(b.g);
  grove_forest *out = NULL;
  CHECK_OK(grove_forest_merge(a.f, b.f, &out));
  check_ascending(out, "merge");
  settle(t, types, "merge", out, serial_merge(sa, sb));
  sketch_free(sa);
  sketch_free(sb);
  drawn_free(&a, t->p->rank);
  drawn_free(&b, t->p->rank);
}

/* ---- several values a point ---- */

/* Whether values of two leaves fall on one slot: those of leaf j are j, j + stride, ... */
static int collide(const sketch_part *p, int64_t n, int64_t stride)
{
  for (int64_t j = 0; j < p->nslots; j++)
    for (int64_t k = 1; sketch_is_leaf(p, j) && k < n; k++)
      if (sketch_is_leaf(p, j + k * stride)) return 1;
  return 0;
}

/* Side by side; as far apart as the array is long, or a little more; or some small stride. */
static int64_t draw_stride(rng *r, int64_t length)
{
  switch (rng_below(r, 3)) {
  case 0: return 0;
  case 1: return rng_between(r, 1, 6);
  default: return length + 1 + rng_below(r, 3);
  }
}

/* Each way alone, and every rank another. */
static void try_strided(trial *t, const units *types)
{
  drawn d = draw_any(t);
  sketch *s = sketch_of_graph(d.g);
  int64_t n = rng_between(&t->r, 1, 4), size = t->p->size;
  int64_t *root = need((size_t)size * sizeof *root), *leaf = need((size_t)size * sizeof *leaf);
  int blocked_roots = rng_one_in(&t->r, 3), blocked_leaves = rng_one_in(&t->r, 3);
  for (int i = 0; i < size; i++) {
    const sketch_part *p = &s->part[i];
    root[i] = blocked_roots ? 0 : draw_stride(&t->r, p->nroots);
    leaf[i] = blocked_leaves ? 0 : draw_stride(&t->r, p->nslots);
    if (leaf[i] > 0 && collide(p, n, leaf[i])) leaf[i] = 0;
  }
  grove_forest *out = NULL;
  CHECK_OK(grove_forest_strided(d.f, n, root[t->p->rank], leaf[t->p->rank], &out));
  settle(t, types, "strided", out, serial_strided(s, n, root, leaf));
  free(root);
  free(leaf);
  sketch_free(s);
  drawn_free(&d, t->p->rank);
}

/* Offsets of blocks of these sizes, which do not meet: in random order, with gaps. What is empty is
 * at 0. Sizes below 0 are of no block, and what is said of it must not matter. */
static void draw_offsets(rng *r, const list *size, list *offset)
{
  int64_t next = 0, *order = need((size_t)size->n * sizeof *order);
  list_resize(offset, size->n);
  for (int64_t i = 0; i < size->n; i++) order[i] = i;
  rng_shuffle(r, size->n, order);
  for (int64_t i = 0; i < size->n; i++) {
    int64_t k = order[i];
    offset->item[k] = 0;
    if (size->item[k] < 0) offset->item[k] = rng_below(r, 1000);
    if (size->item[k] <= 0) continue;
    next += rng_one_in(r, 4) ? rng_below(r, 5) : 0;
    offset->item[k] = next;
    next += size->item[k];
  }
  free(order);
}

/* The points of a forest, on all ranks: how many values each root and each leaf slot has. */
typedef struct points {
  list *root_size, *root_offset, *leaf_size, *leaf_offset;
} points;

static points draw_points(rng *r, const sketch *s)
{
  points p = {lists_create(s->nranks), lists_create(s->nranks), lists_create(s->nranks),
              lists_create(s->nranks)};
  for (int i = 0; i < s->nranks; i++) {
    list_resize(&p.root_size[i], s->part[i].nroots);
    for (int64_t k = 0; k < s->part[i].nroots; k++)
      p.root_size[i].item[k] = rng_one_in(r, 4) ? 0 : rng_below(r, 5);
    if (rng_one_in(r, 2)) draw_offsets(r, &p.root_size[i], &p.root_offset[i]);
    for (int64_t k = 0; k < p.root_offset[i].n; k++) /* roots may share values */
      if (rng_one_in(r, 12)) p.root_offset[i].item[k] = 0;
  }
  for (int i = 0; i < s->nranks; i++) {
    const sketch_part *own = &s->part[i];
    if (rng_one_in(r, 2)) continue;
    list_resize(&p.leaf_size[i], own->nslots);
    for (int64_t j = 0; j < own->nslots; j++)
      p.leaf_size[i].item[j] =
        sketch_is_leaf(own, j) ? p.root_size[own->slot[j].rank].item[own->slot[j].index] : -1;
    draw_offsets(r, &p.leaf_size[i], &p.leaf_offset[i]);
  }
  return p;
}

static void points_free(points *p, int nranks)
{
  lists_free(p->root_size, nranks);
  lists_free(p->root_offset, nranks);
  lists_free(p->leaf_size, nranks);
  lists_free(p->leaf_offset, nranks);
}

static void try_expand(trial *t, const units *types)
{
  drawn d = draw_any(t);
  sketch *s = sketch_of_graph(d.g);
  points p = draw_points(&t->r, s);
  int me = t->p->rank;
  grove_forest *out = NULL;
  CHECK_OK(grove_forest_expand(d.f, p.root_size[me].item, p.root_offset[me].item,
                               p.leaf_offset[me].item, &out));
  settle(t, types, "expand", out, serial_expand(s, p.root_size, p.root_offset, p.leaf_offset));
  points_free(&p, t->p->size);
  sketch_free(s);
  drawn_free(&d, me);
}

/* ---- names ---- */

typedef enum naming {
  NAMES_DENSE,
  NAMES_SPARSE,
  NAMES_ROUND, /* multiples of 2^32 */
  NAMES_NEGATIVE,
  NAMES_HUGE,
  NAMINGS
} naming;

/* A name like those of the roots, of which there are `total`; perhaps of none of them. */
static int64_t draw_name(rng *r, naming how, int64_t total)
{
  switch (how) {
  case NAMES_DENSE: return rng_below(r, 2 * total + 2) - 1;
  case NAMES_SPARSE: return rng_below(r, 4) * 1000000007 + rng_below(r, 4 * total + 4);
  case NAMES_ROUND: return rng_below(r, 2 * total + 2) * ((int64_t)1 << 32);
  case NAMES_NEGATIVE: return -1 - rng_below(r, 4 * total + 4) * 12345;
  default: break;
  }
  int64_t near = rng_below(r, 4 * total + 4);
  return rng_one_in(r, 2) ? INT64_MAX - near : rng_one_in(r, 2) ? INT64_MIN + near : near;
}

/* Dense ones: 0 .. total-1 in random order. Others: whatever no root has yet. */
static void name_roots(rng *r, naming how, int nranks, list *name)
{
  int64_t total = 0, n = 0;
  for (int i = 0; i < nranks; i++) {
    list_resize(&name[i], rng_one_in(r, 4) ? 0 : rng_below(r, GRAPH_MOST_ROOTS));
    total += name[i].n;
  }
  int64_t *all = need((size_t)total * sizeof *all);
  for (int64_t k = 0; k < total; k++) {
    list before = {k, all};
    all[k] = how == NAMES_DENSE ? k : draw_name(r, how, total);
    while (how != NAMES_DENSE && list_has(&before, all[k])) all[k] = draw_name(r, how, total);
  }
  rng_shuffle(r, total, all);
  for (int i = 0; i < nranks; i++)
    for (int64_t k = 0; k < name[i].n; k++) name[i].item[k] = all[n++];
  free(all);
}

/* Names of roots as a rule, the same as often as it happens. */
static void draw_sought(rng *r, naming how, int nranks, const list *name, list *sought)
{
  int64_t total = 0;
  for (int i = 0; i < nranks; i++) total += name[i].n;
  for (int i = 0; i < nranks; i++) {
    list_resize(&sought[i], rng_one_in(r, 4) ? 0 : rng_below(r, GRAPH_MOST_SLOTS / 2));
    for (int64_t j = 0; j < sought[i].n; j++) {
      const list *there = &name[rng_below(r, nranks)];
      sought[i].item[j] = there->n > 0 && !rng_one_in(r, 4) ? there->item[rng_below(r, there->n)]
                                                            : draw_name(r, how, total);
    }
  }
}

static void try_match(trial *t, const units *types)
{
  naming how = (naming)rng_below(&t->r, NAMINGS);
  list *name = lists_create(t->p->size), *sought = lists_create(t->p->size);
  name_roots(&t->r, how, t->p->size, name);
  draw_sought(&t->r, how, t->p->size, name, sought);
  const list *roots = &name[t->p->rank], *leaves = &sought[t->p->rank];
  grove_forest *out = NULL;
  CHECK_OK(grove_forest_match(t->p->ctx, roots->n, roots->n > 0 ? roots->item : NULL, leaves->n,
                              leaves->n > 0 ? leaves->item : NULL, &out));
  settle(t, types, "match", out, serial_match(t->p->size, name, sought));
  lists_free(name, t->p->size);
  lists_free(sought, t->p->size);
}

int main(int argc, char **argv)
{
  static void (*const tries[])(trial *, const units *) = {
    try_inverse, try_compose, try_compose_inverse, try_embed, try_concatenate,
    try_merge,   try_strided, try_expand,          try_match,
  };
  test_begin(&argc, &argv, "algebra/matches_oracle");
  units *types = units_create();
  places all = places_create();
  int64_t cases = test_samples(24);
  for (int64_t i = 0; i < cases; i++) {
    test_case(i);
    trial t = trial_begin(places_turn(&all, i), i);
    for (size_t k = 0; k < sizeof tries / sizeof *tries; k++) tries[k](&t, types);
  }
  places_free(&all);
  units_free(types);
  return test_end();
}
