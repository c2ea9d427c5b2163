/* What a forest made from others moves is what these move, one after the other or side by side: on
 * random forests, on 1 to all ranks of the job. And it takes every operation, alone and in bundles.
 */
#include "algebra.h"
#include "check.h"
#include "exercise.h"
#include "sketch.h"
#include "sources.h"

#include <stdlib.h>

/* ---- arrays of numbers ---- */

enum { UNTOUCHED = -77 };

static int64_t *filled(int64_t n, int64_t value)
{
  int64_t *x = need((size_t)n * sizeof *x);
  for (int64_t i = 0; i < n; i++) x[i] = value;
  return x;
}

/* Numbers that no other rank has. */
static int64_t *numbered(const place *p, int64_t n)
{
  int64_t *x = need((size_t)n * sizeof *x);
  for (int64_t i = 0; i < n; i++) x[i] = ((int64_t)p->rank << 32) + 10 + i;
  return x;
}

static void check_equal(int64_t n, const int64_t *got, const int64_t *expected, const char *what)
{
  for (int64_t i = 0; i < n; i++)
    CHECK(got[i] == expected[i], "%s: entry %lld of %lld is %lld, not %lld", what, (long long)i,
          (long long)n, (long long)got[i], (long long)expected[i]);
}

static int64_t larger(int64_t a, int64_t b)
{
  return a > b ? a : b;
}

static void bcast(grove_forest *f, const int64_t *root, int64_t *leaf)
{
  CHECK_OK(grove_bcast(f, MPI_INT64_T, root, leaf, MPI_REPLACE));
}

static void reduce(grove_forest *f, const int64_t *leaf, int64_t *root, MPI_Op op)
{
  CHECK_OK(grove_reduce(f, MPI_INT64_T, leaf, root, op));
}

static void free_all(int n, int64_t **x)
{
  for (int i = 0; i < n; i++) free(x[i]);
}

/* ---- one after the other ---- */

/* Leaves of b that lead nowhere get what is in the middle: let that be what they have. */
static void bcast_of_composition(trial *t)
{
  drawn a = draw_any(t), b = draw_any(t);
  grove_forest *ab = composed(a.f, b.f);
  int64_t end = end_of(b.f), middle_end = larger(end_of(a.f), roots_of(b.f));
  int64_t *root = numbered(t->p, roots_of(a.f)), *middle = filled(middle_end, UNTOUCHED);
  int64_t *at_once = filled(end, UNTOUCHED), *in_steps = filled(end, UNTOUCHED);
  bcast(ab, root, at_once);
  bcast(a.f, root, middle);
  bcast(b.f, middle, in_steps);
  check_equal(end, at_once, in_steps, "bcast over a b");
  free_all(4, (int64_t *[]){root, middle, at_once, in_steps});
  CHECK_OK(grove_forest_free(&ab));
  drawn_free(&a, t->p->rank);
  drawn_free(&b, t->p->rank);
}

static void reduce_of_composition(trial *t)
{
  drawn a = draw_any(t), b = draw_any(t);
  grove_forest *ab = composed(a.f, b.f);
  int64_t n = roots_of(a.f), middle_end = larger(end_of(a.f), roots_of(b.f));
  int64_t *leaf = numbered(t->p, end_of(b.f)), *middle = filled(middle_end, 0);
  int64_t *at_once = filled(n, 5), *in_steps = filled(n, 5);
  reduce(ab, leaf, at_once, MPI_SUM);
  reduce(b.f, leaf, middle, MPI_SUM);
  reduce(a.f, middle, in_steps, MPI_SUM);
  check_equal(n, at_once, in_steps, "reduce over a b");
  free_all(4, (int64_t *[]){leaf, middle, at_once, in_steps});
  CHECK_OK(grove_forest_free(&ab));
  drawn_free(&a, t->p->rank);
  drawn_free(&b, t->p->rank);
}

/* ---- backwards ---- */

static void inverse_is_reduce(trial *t)
{
  drawn d = draw_single(t);
  grove_forest *inverse = inverse_of(d.f);
  int64_t n = roots_of(d.f), *leaf = numbered(t->p, end_of(d.f));
  int64_t *forwards = filled(n, UNTOUCHED), *backwards = filled(n, UNTOUCHED);
  bcast(inverse, leaf, forwards);
  reduce(d.f, leaf, backwards, MPI_REPLACE);
  check_equal(n, forwards, backwards, "bcast over the inverse");
  free_all(3, (int64_t *[]){leaf, forwards, backwards});
  CHECK_OK(grove_forest_free(&inverse));
  drawn_free(&d, t->p->rank);
}

/* Leaves of b that `a` does not reach must hold what their roots have already. */
static void compose_inverse_is_bcast_and_reduce(trial *t)
{
  drawn a = draw_any(t), b = draw_single(t);
  grove_forest *both = composed_inverse(a.f, b.f);
  int64_t n = roots_of(b.f), *root = numbered(t->p, roots_of(a.f));
  int64_t *middle = filled(larger(end_of(a.f), end_of(b.f)), UNTOUCHED);
  int64_t *at_once = filled(n, UNTOUCHED), *in_steps = filled(n, UNTOUCHED);
  bcast(both, root, at_once);
  bcast(a.f, root, middle);
  reduce(b.f, middle, in_steps, MPI_REPLACE);
  check_equal(n, at_once, in_steps, "bcast over a, and b backwards");
  free_all(4, (int64_t *[]){root, middle, at_once, in_steps});
  CHECK_OK(grove_forest_free(&both));
  drawn_free(&a, t->p->rank);
  drawn_free(&b, t->p->rank);
}

static void inverse_of_multi_gathers(trial *t)
{
  drawn d = draw_any(t);
  grove_forest *multi = multi_of(d.f), *inverse = inverse_of(multi);
  int64_t n = roots_of(multi), *leaf = numbered(t->p, end_of(d.f));
  int64_t *moved = filled(n, UNTOUCHED), *gathered = filled(n, UNTOUCHED);
  bcast(inverse, leaf, moved);
  CHECK_OK(grove_gather(d.f, MPI_INT64_T, leaf, gathered));
  check_equal(n, moved, gathered, "bcast over the inverse of the multi-forest");
  free_all(3, (int64_t *[]){leaf, moved, gathered});
  forests_free(2, (grove_forest *[]){multi, inverse});
  drawn_free(&d, t->p->rank);
}

/* ---- parts ---- */

/* About half of the roots, and of the leaves: the same on every rank. */
static int is_chosen(const trial *t, int rank, int64_t entry)
{
  return mix2(t->r.state + (uint64_t)rank, (uint64_t)entry) % 2;
}

static void embedding_touches_what_was_named(trial *t)
{
  drawn d = draw_any(t);
  const part *own = &d.g->part[t->p->rank];
  int64_t end = end_of(d.f), nr = 0, nl = 0, *root = numbered(t->p, own->nroots);
  int64_t *roots = filled(own->nroots, 0), *leaves = filled(own->nleaves, 0);
  int64_t *by_roots = filled(end, UNTOUCHED), *by_leaves = filled(end, UNTOUCHED);
  int64_t *whole = filled(end, UNTOUCHED),
          *some[2] = {filled(end, UNTOUCHED), filled(end, UNTOUCHED)};
  for (int64_t i = 0; i < own->nroots; i++)
    if (is_chosen(t, t->p->rank, i)) roots[nr++] = i;
  for (int64_t j = 0; j < own->nleaves; j++)
    if (is_chosen(t, t->p->rank, part_slot(own, j))) leaves[nl++] = part_slot(own, j);
  grove_forest *of_roots = with_roots(d.f, nr, roots), *of_leaves = with_leaves(d.f, nl, leaves);
  bcast(d.f, root, whole);
  bcast(of_roots, root, by_roots);
  bcast(of_leaves, root, by_leaves);
  for (int64_t j = 0; j < own->nleaves; j++) {
    int64_t slot = part_slot(own, j);
    if (is_chosen(t, own->root[j].rank, own->root[j].index)) some[0][slot] = whole[slot];
    if (is_chosen(t, t->p->rank, slot)) some[1][slot] = whole[slot];
  }
  check_equal(end, by_roots, some[0], "bcast over named roots");
  check_equal(end, by_leaves, some[1], "bcast over named leaves");
  free_all(8, (int64_t *[]){root, roots, leaves, by_roots, by_leaves, whole, some[0], some[1]});
  forests_free(2, (grove_forest *[]){of_roots, of_leaves});
  drawn_free(&d, t->p->rank);
}

/* ---- side by side ---- */

/* The sum of `n` over the ranks before this one, and over all ranks. */
static int64_t count_before(const place *p, int64_t n, int64_t *total)
{
  int64_t *all = need((size_t)p->size * sizeof *all), before = 0;
  MPI_Request request;
  MPI_Iallgather(&n, 1, MPI_INT64_T, all, 1, MPI_INT64_T, p->comm, &request);
  polite_wait(&request);
  *total = 0;
  for (int i = 0; i < p->size; i++) {
    if (i < p->rank) before += all[i];
    *total += all[i];
  }
  free(all);
  return before;
}

/* Every root holds its global number: that of `a` come first. The leaf array of both must be the
 * leaf arrays of each. */
static void bcast_side_by_side(trial *t, grove_roots mode)
{
  drawn a = draw_any(t), b = mode == GROVE_ROOTS_SHARED ? draw_beside(t, a.g) : draw_any(t);
  grove_forest *both = side_by_side(a.f, b.f, mode);
  int64_t na = roots_of(a.f), nb = roots_of(b.f), n = roots_of(both), total = 0, ignored = 0;
  int64_t first_a = count_before(t->p, na, &total), first_b = count_before(t->p, nb, &ignored);
  int64_t first = count_before(t->p, n, &ignored), end = end_of(a.f) + end_of(b.f);
  int64_t *root_a = filled(na, first_a), *root_b = filled(nb, first_b), *root = filled(n, first);
  int64_t *expected = filled(end, UNTOUCHED), *leaf = filled(end, UNTOUCHED);
  for (int64_t i = 0; i < na; i++) root_a[i] += i;
  for (int64_t i = 0; i < nb; i++) root_b[i] += i + (mode == GROVE_ROOTS_SHARED ? 0 : total);
  for (int64_t i = 0; i < n; i++) {
    if (mode == GROVE_ROOTS_GLOBAL)
      root[i] += i;
    else
      root[i] = i < na ? root_a[i] : root_b[i - na];
  }
  bcast(both, root, leaf);
  bcast(a.f, root_a, expected);
  bcast(b.f, root_b, expected + end_of(a.f));
  check_equal(end, leaf, expected, "bcast over forests side by side");
  free_all(5, (int64_t *[]){root_a, root_b, root, expected, leaf});
  CHECK_OK(grove_forest_free(&both));
  drawn_free(&a, t->p->rank);
  drawn_free(&b, t->p->rank);
}

static void bcast_of_concatenation(trial *t)
{
  bcast_side_by_side(t, GROVE_ROOTS_LOCAL);
  bcast_side_by_side(t, GROVE_ROOTS_SHARED);
  bcast_side_by_side(t, GROVE_ROOTS_GLOBAL);
}

/* Into one array, b after a. */
static void bcast_of_merge(trial *t)
{
  drawn a = draw_any(t), b = draw_beside(t, a.g);
  grove_forest *both = merged(a.f, b.f);
  int64_t end = larger(end_of(a.f), end_of(b.f)), *root = numbered(t->p, roots_of(a.f));
  int64_t *at_once = filled(end, UNTOUCHED), *in_steps = filled(end, UNTOUCHED);
  bcast(both, root, at_once);
  bcast(a.f, root, in_steps);
  bcast(b.f, root, in_steps);
  check_equal(end, at_once, in_steps, "bcast over a and b");
  free_all(3, (int64_t *[]){root, at_once, in_steps});
  CHECK_OK(grove_forest_free(&both));
  drawn_free(&a, t->p->rank);
  drawn_free(&b, t->p->rank);
}

/* ---- several values a point ---- */

enum { VALUES = 3 };

/* A bcast for each value, of arrays that begin so much later. */
static void bcast_of_strides(trial *t)
{
  drawn d = draw_any(t);
  int64_t root_stride = roots_of(d.f) + 1, leaf_stride = end_of(d.f) + 1 + t->p->rank;
  int64_t end = VALUES * leaf_stride, *root = numbered(t->p, VALUES * root_stride);
  int64_t *at_once = filled(end, UNTOUCHED), *in_steps = filled(end, UNTOUCHED);
  grove_forest *f = strided(d.f, VALUES, root_stride, leaf_stride);
  bcast(f, root, at_once);
  for (int k = 0; k < VALUES; k++) bcast(d.f, root + k * root_stride, in_steps + k * leaf_stride);
  check_equal(end, at_once, in_steps, "bcast over strides");
  free_all(3, (int64_t *[]){root, at_once, in_steps});
  CHECK_OK(grove_forest_free(&f));
  drawn_free(&d, t->p->rank);
}

/* A bcast of units of so many values. */
static void bcast_of_blocks(trial *t)
{
  drawn d = draw_any(t);
  int64_t end = VALUES * end_of(d.f), *root = numbered(t->p, VALUES * roots_of(d.f));
  int64_t *at_once = filled(end, UNTOUCHED), *as_units = filled(end, UNTOUCHED);
  grove_forest *f = strided(d.f, VALUES, 0, 0);
  MPI_Datatype block;
  MPI_Type_contiguous(VALUES, MPI_INT64_T, &block);
  MPI_Type_commit(&block);
  bcast(f, root, at_once);
  CHECK_OK(grove_bcast(d.f, block, root, as_units, MPI_REPLACE));
  check_equal(end, at_once, as_units, "bcast over blocks");
  MPI_Type_free(&block);
  free_all(3, (int64_t *[]){root, at_once, as_units});
  CHECK_OK(grove_forest_free(&f));
  drawn_free(&d, t->p->rank);
}

/* Sizes and places of the roots, as their leaves know them. */
typedef struct points {
  int64_t *root_size, *root_at, *leaf_size, *leaf_at;
  int64_t nvalues;
} points;

static points draw_points(const place *p, rng *mine, grove_forest *f)
{
  int64_t n = roots_of(f), end = end_of(f), before = ((int64_t)p->rank << 32) + 10;
  points x = {filled(n, 0), filled(n, 0), filled(end, 0), filled(end, 0), 0};
  for (int64_t i = 0; i < n; i++) {
    x.root_size[i] = rng_below(mine, 4);
    x.root_at[i] = before + x.nvalues; /* the first of its values, as numbered() has them */
    x.nvalues += x.root_size[i];
  }
  bcast(f, x.root_size, x.leaf_size);
  bcast(f, x.root_at, x.leaf_at);
  return x;
}

static void bcast_of_points(trial *t)
{
  drawn d = draw_any(t);
  rng mine = rng_from(t->r.state, (uint64_t)t->p->rank);
  points x = draw_points(t->p, &mine, d.f);
  grove_forest *f = expanded(d.f, x.root_size, NULL, NULL);
  int64_t *root = numbered(t->p, x.nvalues), *leaf = filled(end_of(f), UNTOUCHED), next = 0;
  CHECK(roots_of(f) == x.nvalues, "%lld values, not %lld", (long long)roots_of(f),
        (long long)x.nvalues);
  bcast(f, root, leaf);
  for (int64_t j = 0; j < end_of(d.f); j++)
    for (int64_t k = 0; k < x.leaf_size[j]; k++, next++)
      CHECK(leaf[next] == x.leaf_at[j] + k, "value %lld of slot %lld is %lld, not %lld",
            (long long)k, (long long)j, (long long)leaf[next], (long long)x.leaf_at[j] + k);
  CHECK(next == end_of(f), "%lld values, not %lld", (long long)end_of(f), (long long)next);
  free_all(6, (int64_t *[]){root, leaf, x.root_size, x.root_at, x.leaf_size, x.leaf_at});
  CHECK_OK(grove_forest_free(&f));
  drawn_free(&d, t->p->rank);
}

/* ---- every operation, alone and together ---- */

enum { RESULTS = 4 };

/* Results of results, whose inputs are gone. */
static void make_results(trial *t, grove_forest **out)
{
  drawn a = draw_any(t), b = draw_any(t), c = draw_single(t), d = draw_beside(t, a.g);
  grove_forest *ab = composed(a.f, b.f), *back = inverse_of(c.f);
  out[0] = strided(ab, 2, 0, 0);
  out[1] = composed(back, a.f);
  out[2] = merged(a.f, d.f);
  out[3] = side_by_side(b.f, back, GROVE_ROOTS_GLOBAL);
  forests_free(2, (grove_forest *[]){ab, back});
  drawn_free(&a, t->p->rank);
  drawn_free(&b, t->p->rank);
  drawn_free(&c, t->p->rank);
  drawn_free(&d, t->p->rank);
}

static void every_operation(trial *t, const units *types)
{
  grove_forest *f[RESULTS];
  graph *g[RESULTS];
  exercise e[RESULTS];
  grove_op *op[RESULTS], *bundle = NULL;
  make_results(t, f);
  for (int i = 0; i < RESULTS; i++) {
    g[i] = graph_gathered(t->p, f[i]);
    e[i] = (exercise){.g = g[i], .f = f[i], .me = t->p->rank};
    exercise_draw_of(&e[i], (op_kind)((t->number + i) % OP_KINDS), types, &t->r);
    exercise_open(&e[i]);
    exercise_init(&e[i]);
    op[i] = e[i].op;
  }
  CHECK_OK(grove_op_bundle(RESULTS, op, &bundle));
  for (int together = 0; together < 2; together++) {
    for (int i = 0; i < RESULTS; i++) exercise_renew(&e[i], together);
    for (int i = 0; i < (together ? 1 : RESULTS); i++)
      CHECK_OK(grove_start(together ? bundle : op[i]));
    for (int i = 0; i < (together ? 1 : RESULTS); i++)
      CHECK_OK(grove_wait(together ? bundle : op[i]));
    for (int i = 0; i < RESULTS; i++) exercise_check(&e[i]);
  }
  CHECK_OK(grove_op_free(&bundle));
  for (int i = 0; i < RESULTS; i++) {
    exercise_close(&e[i]);
    graph_free(g[i]);
    CHECK_OK(grove_forest_free(&f[i]));
  }
}

int main(int argc, char **argv)
{
  static void (*const laws[])(trial *) = {
    bcast_of_composition,     reduce_of_composition,
    inverse_is_reduce,        compose_inverse_is_bcast_and_reduce,
    inverse_of_multi_gathers, embedding_touches_what_was_named,
    bcast_of_concatenation,   bcast_of_merge,
    bcast_of_strides,         bcast_of_blocks,
    bcast_of_points,
  };
  test_begin(&argc, &argv, "algebra/moves_data");
  units *types = units_create();
  places all = places_create();
  int64_t cases = test_samples(8);
  for (int64_t i = 0; i < cases; i++) {
    test_case(i);
    trial t = trial_begin(places_turn(&all, i), i);
    for (size_t k = 0; k < sizeof laws / sizeof *laws; k++) laws[k](&t);
    every_operation(&t, types);
  }
  places_free(&all);
  units_free(types);
  return test_end();
}
