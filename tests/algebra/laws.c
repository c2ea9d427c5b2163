/* Laws that forests from forests obey: two ways to make the same forest, from random ones, on 1 to
 * all ranks of the job. */
#include "algebra.h"
#include "check.h"
#include "sketch.h"
#include "sources.h"

#include <stdlib.h>

/* ---- compose ---- */

static void compose_is_associative(trial *t)
{
  drawn a = draw_any(t), b = draw_any(t), c = draw_any(t);
  grove_forest *ab = composed(a.f, b.f), *bc = composed(b.f, c.f);
  grove_forest *left = composed(ab, c.f), *right = composed(a.f, bc);
  sketch_check_same(left, right, "(a b) c and a (b c)");
  forests_free(4, (grove_forest *[]){ab, bc, left, right});
  drawn_free(&a, t->p->rank);
  drawn_free(&b, t->p->rank);
  drawn_free(&c, t->p->rank);
}

static void identities_change_nothing(trial *t)
{
  drawn d = draw_any(t);
  grove_forest *before = identity(t->p, roots_of(d.f)), *behind = identity(t->p, end_of(d.f));
  grove_forest *left = composed(before, d.f), *right = composed(d.f, behind);
  sketch_check_same(left, d.f, "identity, then f");
  sketch_check_same(right, d.f, "f, then identity");
  forests_free(4, (grove_forest *[]){before, behind, left, right});
  drawn_free(&d, t->p->rank);
}

/* ---- inverse ---- */

/* The list too, where it has ascending slots. */
static void check_list(grove_forest *f, const part *p)
{
  int64_t n = -1;
  const int64_t *index = NULL;
  const grove_root *root = NULL;
  CHECK_OK(grove_forest_graph(f, NULL, &n, &index, &root));
  CHECK(n == p->nleaves, "%lld leaves, not %lld", (long long)n, (long long)p->nleaves);
  for (int64_t j = 1; j < n; j++)
    if (part_slot(p, j - 1) > part_slot(p, j)) return;
  for (int64_t j = 0; j < n; j++)
    CHECK((index != NULL ? index[j] : j) == part_slot(p, j) && root[j].rank == p->root[j].rank &&
            root[j].index == p->root[j].index,
          "leaf %lld of the inverse of the inverse is another", (long long)j);
}

static void inverse_twice_is_nothing(trial *t)
{
  drawn d = draw_single(t);
  grove_forest *once = inverse_of(d.f), *twice = inverse_of(once), *thrice = inverse_of(twice);
  sketch_check_edges(twice, d.f, "the inverse of the inverse");
  check_list(twice, &d.g->part[t->p->rank]);
  sketch_check_same(thrice, once, "the inverse, three times");
  forests_free(3, (grove_forest *[]){once, twice, thrice});
  drawn_free(&d, t->p->rank);
}

static void inverse_turns_the_order_round(trial *t)
{
  drawn a = draw_single(t), b = draw_single(t);
  grove_forest *ab = composed(a.f, b.f), *left = inverse_of(ab);
  grove_forest *ia = inverse_of(a.f), *ib = inverse_of(b.f), *right = composed(ib, ia);
  sketch_check_edges(left, right, "the inverse of a b");
  forests_free(5, (grove_forest *[]){ab, left, ia, ib, right});
  drawn_free(&a, t->p->rank);
  drawn_free(&b, t->p->rank);
}

static void compose_inverse_is_both(trial *t)
{
  drawn a = draw_any(t), b = draw_single(t);
  grove_forest *at_once = composed_inverse(a.f, b.f), *back = inverse_of(b.f);
  grove_forest *in_steps = composed(a.f, back);
  sketch_check_same(at_once, in_steps, "a, then the inverse of b");
  forests_free(3, (grove_forest *[]){at_once, back, in_steps});
  drawn_free(&a, t->p->rank);
  drawn_free(&b, t->p->rank);
}

/* The roots that have a leaf. */
static int64_t *roots_with_leaves(grove_forest *f, int64_t *n)
{
  int64_t all = roots_of(f), *degree = need((size_t)all * sizeof *degree);
  CHECK_OK(grove_forest_degrees(f, degree));
  *n = 0;
  for (int64_t i = 0; i < all; i++)
    if (degree[i] > 0) degree[(*n)++] = i;
  return degree;
}

static void there_and_back(trial *t)
{
  drawn d = draw_single(t);
  int64_t n = 0, *used = roots_with_leaves(d.f, &n);
  grove_forest *back = composed_inverse(d.f, d.f), *all = identity(t->p, roots_of(d.f));
  grove_forest *expected = with_roots(all, n, used);
  sketch_check_same(back, expected, "f, then its inverse");
  forests_free(3, (grove_forest *[]){back, all, expected});
  free(used);
  drawn_free(&d, t->p->rank);
}

/* From the roots to the multiroots, and from these to the leaves. */
static void multi_is_between(trial *t)
{
  drawn d = draw_any(t);
  grove_forest *multi = multi_of(d.f), *first = composed_inverse(d.f, multi);
  grove_forest *both = composed(first, multi), *back = inverse_of(multi), *again = inverse_of(back);
  sketch_check_same(both, d.f, "to the multiroots, then to the leaves");
  sketch_check_same(again, multi, "the inverse of the inverse of a multi-forest");
  forests_free(5, (grove_forest *[]){multi, first, both, back, again});
  drawn_free(&d, t->p->rank);
}

/* ---- embed ---- */

/* Some of the numbers 0 .. n-1, or some of those listed. */
static int64_t *some_of(rng *r, int64_t n, const int64_t *from, int64_t *count)
{
  int64_t *some = need((size_t)n * sizeof *some);
  *count = n > 0 ? rng_below(r, n + 1) : 0;
  for (int64_t i = 0; i < *count; i++) {
    some[i] = rng_below(r, n);
    if (from != NULL) some[i] = from[some[i]];
  }
  return some;
}

/* Naming roots is composing with part of an identity, and so it is with leaves. */
static void embedding_is_composing(trial *t)
{
  drawn d = draw_any(t);
  rng mine = rng_from(t->r.state, (uint64_t)t->p->rank);
  int64_t nleaves = 0, nr = 0, nl = 0, *slot = slots_of(d.f, &nleaves);
  int64_t *root = some_of(&mine, roots_of(d.f), NULL, &nr);
  int64_t *leaf = some_of(&mine, nleaves, slot, &nl);
  grove_forest *all_roots = identity(t->p, roots_of(d.f)), *all_slots = identity(t->p, end_of(d.f));
  grove_forest *before = with_roots(all_roots, nr, root);
  grove_forest *behind = with_leaves(all_slots, nl, leaf);
  grove_forest *roots = with_roots(d.f, nr, root), *by_roots = composed(before, d.f);
  grove_forest *leaves = with_leaves(d.f, nl, leaf), *by_leaves = composed(d.f, behind);
  sketch_check_same(roots, by_roots, "embed_roots");
  sketch_check_same(leaves, by_leaves, "embed_leaves");
  forests_free(8, (grove_forest *[]){all_roots, all_slots, before, behind, roots, by_roots, leaves,
                                     by_leaves});
  free(slot);
  free(root);
  free(leaf);
  drawn_free(&d, t->p->rank);
}

/* Keeps those that are leaf slots of the forest; how many there are. */
static int64_t keep_leaves_of(grove_forest *f, int64_t n, int64_t *slot)
{
  sketch_part p = sketch_part_of(f);
  int64_t kept = 0;
  for (int64_t i = 0; i < n; i++)
    if (sketch_is_leaf(&p, slot[i])) slot[kept++] = slot[i];
  free(p.slot);
  return kept;
}

static void embeddings_commute(trial *t)
{
  drawn d = draw_any(t);
  rng mine = rng_from(t->r.state, (uint64_t)t->p->rank);
  int64_t nleaves = 0, nr = 0, nl = 0, *slot = slots_of(d.f, &nleaves);
  int64_t *root = some_of(&mine, roots_of(d.f), NULL, &nr);
  int64_t *leaf = some_of(&mine, nleaves, slot, &nl);
  grove_forest *leaves = with_leaves(d.f, nl, leaf), *then_roots = with_roots(leaves, nr, root);
  grove_forest *roots = with_roots(d.f, nr, root), *again = with_roots(roots, nr, root);
  nl = keep_leaves_of(roots, nl, leaf); /* others are none any more */
  grove_forest *then_leaves = with_leaves(roots, nl, leaf);
  sketch_check_same(then_leaves, then_roots, "embed_roots and embed_leaves");
  sketch_check_same(again, roots, "embed_roots, twice");
  forests_free(5, (grove_forest *[]){leaves, then_roots, roots, again, then_leaves});
  free(slot);
  free(root);
  free(leaf);
  drawn_free(&d, t->p->rank);
}

static void embedding_all_or_nothing(trial *t)
{
  drawn d = draw_any(t);
  int64_t n = roots_of(d.f), nleaves = 0, *slot = slots_of(d.f, &nleaves);
  int64_t *root = need((size_t)n * sizeof *root);
  for (int64_t i = 0; i < n; i++) root[i] = n - 1 - i;
  grove_forest *roots = with_roots(d.f, n, root), *leaves = with_leaves(d.f, nleaves, slot);
  grove_forest *no_roots = with_roots(d.f, 0, NULL), *no_leaves = with_leaves(d.f, 0, NULL);
  grove_forest *empty = shift(t->p, n, 0, 0, 0);
  sketch_check_same(roots, d.f, "all roots");
  sketch_check_same(leaves, d.f, "all leaves");
  sketch_check_same(no_roots, empty, "no roots");
  sketch_check_same(no_leaves, empty, "no leaves");
  forests_free(5, (grove_forest *[]){roots, leaves, no_roots, no_leaves, empty});
  free(slot);
  free(root);
  drawn_free(&d, t->p->rank);
}

/* ---- concatenate ---- */

static const grove_roots modes[] = {GROVE_ROOTS_LOCAL, GROVE_ROOTS_SHARED, GROVE_ROOTS_GLOBAL};

static drawn draw_for(trial *t, grove_roots mode, const drawn *other)
{
  return mode == GROVE_ROOTS_SHARED ? draw_beside(t, other->g) : draw_any(t);
}

static void concatenate_is_associative(trial *t)
{
  for (int m = 0; m < 3; m++) {
    drawn a = draw_any(t), b = draw_for(t, modes[m], &a), c = draw_for(t, modes[m], &a);
    grove_forest *ab = side_by_side(a.f, b.f, modes[m]), *bc = side_by_side(b.f, c.f, modes[m]);
    grove_forest *left = side_by_side(ab, c.f, modes[m]), *right = side_by_side(a.f, bc, modes[m]);
    grove_forest *one = NULL, *all = NULL, *each[3] = {a.f, b.f, c.f};
    CHECK_OK(grove_forest_concatenate(3, each, modes[m], &all));
    CHECK_OK(grove_forest_concatenate(1, each, modes[m], &one));
    sketch_check_same(left, all, "(a b) c");
    sketch_check_same(right, all, "a (b c)");
    sketch_check_same(one, a.f, "a alone");
    forests_free(6, (grove_forest *[]){ab, bc, left, right, all, one});
    drawn_free(&a, t->p->rank);
    drawn_free(&b, t->p->rank);
    drawn_free(&c, t->p->rank);
  }
}

/* The part of `both` that belongs to one of its forests, whose roots and leaf slots are so many and
 * begin there. */
static grove_forest *taken_out(const place *p, grove_forest *both, grove_forest *f,
                               int64_t first_root, int64_t first_slot)
{
  int64_t nroots = roots_of(f), end = end_of(f);
  grove_forest *before = shift(p, nroots, nroots, 0, first_root);
  grove_forest *behind = shift(p, first_slot + end, end, first_slot, 0);
  grove_forest *half = composed(before, both), *out = composed(half, behind);
  forests_free(3, (grove_forest *[]){before, behind, half});
  return out;
}

static void parts_come_back(trial *t)
{
  for (int m = 0; m < 2; m++) { /* global ones have new roots */
    drawn a = draw_any(t), b = draw_for(t, modes[m], &a);
    grove_forest *both = side_by_side(a.f, b.f, modes[m]);
    int64_t nroots = modes[m] == GROVE_ROOTS_LOCAL ? roots_of(a.f) : 0, n = 0;
    int64_t *slot = slots_of(a.f, &n);
    grove_forest *first = taken_out(t->p, both, a.f, 0, 0), *leaves = with_leaves(both, n, slot);
    grove_forest *second = taken_out(t->p, both, b.f, nroots, end_of(a.f));
    sketch_check_same(first, a.f, "the first of two");
    sketch_check_same(second, b.f, "the second of two");
    sketch_check_edges(leaves, a.f, "the leaves of the first of two");
    forests_free(4, (grove_forest *[]){both, first, leaves, second});
    free(slot);
    drawn_free(&a, t->p->rank);
    drawn_free(&b, t->p->rank);
  }
}

/* ---- merge ---- */

static void merge_laws(trial *t)
{
  drawn a = draw_any(t), b = draw_beside(t, a.g), c = draw_beside(t, a.g);
  grove_forest *none = shift(t->p, roots_of(a.f), 0, 0, 0);
  grove_forest *same = merged(a.f, a.f), *left = merged(none, a.f), *right = merged(a.f, none);
  grove_forest *ab = merged(a.f, b.f), *bc = merged(b.f, c.f);
  grove_forest *ab_c = merged(ab, c.f), *a_bc = merged(a.f, bc), *abb = merged(ab, b.f);
  int64_t n = 0, *slot = slots_of(b.f, &n);
  grove_forest *of_b = with_leaves(ab, n, slot);
  sketch_check_same(same, a.f, "a and a");
  sketch_check_same(left, a.f, "nothing and a");
  sketch_check_same(right, a.f, "a and nothing");
  sketch_check_same(ab_c, a_bc, "(a and b) and c");
  sketch_check_same(abb, ab, "a and b and b");
  sketch_check_same(of_b, b.f, "b in a and b");
  forests_free(10, (grove_forest *[]){none, same, left, right, ab, bc, ab_c, a_bc, abb, of_b});
  free(slot);
  drawn_free(&a, t->p->rank);
  drawn_free(&b, t->p->rank);
  drawn_free(&c, t->p->rank);
}

/* ---- strided and expand ---- */

static void strided_laws(trial *t)
{
  drawn d = draw_any(t);
  int64_t n = rng_between(&t->r, 1, 4), m = rng_between(&t->r, 1, 3);
  grove_forest *one = strided(d.f, 1, 0, 0), *apart = strided(d.f, 1, 7 + t->p->rank, 3);
  grove_forest *none = strided(d.f, 0, 0, 0), *nothing = identity(t->p, 0);
  grove_forest *some = strided(d.f, n, 0, 0), *twice = strided(some, m, 0, 0);
  grove_forest *at_once = strided(d.f, n * m, 0, 0);
  grove_forest *copies = strided(d.f, n, roots_of(d.f), end_of(d.f));
  grove_forest *all = NULL, *each[4] = {d.f, d.f, d.f, d.f};
  CHECK_OK(grove_forest_concatenate((int)n, each, GROVE_ROOTS_LOCAL, &all));
  sketch_check_same(one, d.f, "one value a point");
  sketch_check_same(apart, d.f, "one value a point, with strides");
  sketch_check_same(none, nothing, "no values");
  sketch_check_same(twice, at_once, "n values, and m of each");
  sketch_check_same(copies, all, "copies behind each other");
  forests_free(9, (grove_forest *[]){one, apart, none, nothing, some, twice, at_once, copies, all});
  drawn_free(&d, t->p->rank);
}

static void expand_laws(trial *t)
{
  drawn d = draw_any(t);
  int64_t n = rng_between(&t->r, 1, 4), nroots = roots_of(d.f), end = end_of(d.f);
  int64_t *ones = need((size_t)nroots * sizeof *ones), *size = need((size_t)nroots * sizeof *size);
  int64_t *root = need((size_t)nroots * sizeof *root), *slot = need((size_t)end * sizeof *slot);
  int64_t *first = need((size_t)end * sizeof *first);
  for (int64_t i = 0; i < nroots; i++) {
    ones[i] = 1;
    size[i] = n;
    root[i] = i;
  }
  for (int64_t j = 0; j < end; j++) {
    slot[j] = j;
    first[j] = n * j;
  }
  grove_forest *one = expanded(d.f, ones, root, slot);
  grove_forest *default_roots = expanded(d.f, ones, NULL, slot);
  grove_forest *many = expanded(d.f, size, NULL, first), *blocks = strided(d.f, n, 0, 0);
  sketch_check_same(one, d.f, "one value a point, at its own place");
  sketch_check_same(default_roots, d.f, "one value a point, roots side by side");
  sketch_check_same(many, blocks, "as many values for every point");
  forests_free(4, (grove_forest *[]){one, default_roots, many, blocks});
  free(ones);
  free(size);
  free(root);
  free(slot);
  free(first);
  drawn_free(&d, t->p->rank);
}

/* ---- match ---- */

static int64_t first_number(const graph *g, int rank)
{
  int64_t n = 0;
  for (int i = 0; i < rank; i++) n += g->part[i].nroots;
  return n;
}

/* Roots called by their global numbers, and leaves that look for those of f: it is f. */
static void match_finds_global_numbers(trial *t)
{
  enum { NOBODY = -5 };
  drawn d = draw_any(t);
  const part *own = &d.g->part[t->p->rank];
  int64_t nroots = own->nroots, end = end_of(d.f), first = first_number(d.g, t->p->rank);
  int64_t *name = need((size_t)nroots * sizeof *name), *sought = need((size_t)end * sizeof *sought);
  for (int64_t i = 0; i < nroots; i++) name[i] = first + i;
  for (int64_t j = 0; j < end; j++) sought[j] = NOBODY;
  for (int64_t j = 0; j < own->nleaves; j++)
    sought[part_slot(own, j)] = first_number(d.g, own->root[j].rank) + own->root[j].index;
  grove_forest *f = NULL;
  CHECK_OK(grove_forest_match(t->p->ctx, nroots, name, end, sought, &f));
  sketch_check_same(f, d.f, "names that are global numbers");
  CHECK_OK(grove_forest_free(&f));
  free(name);
  free(sought);
  drawn_free(&d, t->p->rank);
}

int main(int argc, char **argv)
{
  static void (*const laws[])(trial *) = {
    compose_is_associative,
    identities_change_nothing,
    inverse_twice_is_nothing,
    inverse_turns_the_order_round,
    compose_inverse_is_both,
    there_and_back,
    multi_is_between,
    embedding_is_composing,
    embeddings_commute,
    embedding_all_or_nothing,
    concatenate_is_associative,
    parts_come_back,
    merge_laws,
    strided_laws,
    expand_laws,
    match_finds_global_numbers,
  };
  test_begin(&argc, &argv, "algebra/laws");
  places all = places_create();
  int64_t cases = test_samples(8);
  for (int64_t i = 0; i < cases; i++) {
    test_case(i);
    trial t = trial_begin(places_turn(&all, i), i);
    for (size_t k = 0; k < sizeof laws / sizeof *laws; k++) laws[k](&t);
  }
  places_free(&all);
  return test_end();
}
