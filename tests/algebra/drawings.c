/* The drawings of grove.h, as drawn: three ranks, whose roots are letters, and whose leaf slots
 * show the letters of their roots. */
#include "check.h"
#include "places.h"
#include "sketch.h"

#include <stdlib.h>
#include <string.h>

enum { RANKS = 3 };

static grove_forest *planted(const place *p, const char *roots, const char *leaves)
{
  sketch *s = sketch_parse(roots, leaves);
  CHECK(s->nranks == RANKS, "%d ranks in '%s'", s->nranks, roots);
  grove_forest *f = sketch_forest(p->ctx, s, p->rank);
  sketch_free(s);
  return f;
}

/* Frees the forest. */
static void looks_like(const place *p, grove_forest **f, const char *roots, const char *leaves)
{
  sketch *s = sketch_parse(roots, leaves);
  sketch_check(*f, s, p->rank, leaves);
  sketch_free(s);
  CHECK_OK(grove_forest_free(f));
}

static void multi(const place *p)
{
  grove_forest *f = planted(p, "a b | c | -", "c a | a | b"), *out = NULL;
  CHECK_OK(grove_forest_multi(f, &out));
  looks_like(p, &out, "p q r | s | -", "s p | q | r");
  CHECK_OK(grove_forest_free(&f));
}

static void inverse(const place *p)
{
  grove_forest *f = planted(p, "a b | c | d", "c | . a | b"), *out = NULL;
  CHECK_OK(grove_forest_inverse(f, &out));
  looks_like(p, &out, "p | q r | s", "r s | p | .");
  CHECK_OK(grove_forest_free(&f));
}

static void compose(const place *p)
{
  grove_forest *a = planted(p, "a b | c | -", "c a | b | . a");
  grove_forest *b = planted(p, "p q | r | s t", "r | t s | p"), *out = NULL;
  CHECK_OK(grove_forest_compose(a, b, &out));
  looks_like(p, &out, "a b | c | -", "b | a . | c");
  CHECK_OK(grove_forest_free(&a));
  CHECK_OK(grove_forest_free(&b));
}

static void compose_inverse(const place *p)
{
  grove_forest *a = planted(p, "a b | c | -", "c a | b | .");
  grove_forest *b = planted(p, "p | q r | s", "q s | p | r"), *out = NULL;
  CHECK_OK(grove_forest_compose_inverse(a, b, &out));
  looks_like(p, &out, "a b | c | -", "b | c . | a");
  CHECK_OK(grove_forest_free(&a));
  CHECK_OK(grove_forest_free(&b));
}

static void embed(const place *p)
{
  static const int64_t first = 0;
  grove_forest *f = planted(p, "a b | c | -", "c a | a | b"), *out = NULL;
  CHECK_OK(grove_forest_embed_roots(f, p->rank == 0, &first, &out));
  looks_like(p, &out, "a b | c | -", ". a | a | .");
  CHECK_OK(grove_forest_free(&f));
}

static void concatenate(const place *p)
{
  grove_forest *out = NULL, *f[2] = {planted(p, "a b | c | -", "c | a | b"),
                                     planted(p, "d | e | f", "f d | - | e")};
  CHECK_OK(grove_forest_concatenate(2, f, GROVE_ROOTS_LOCAL, &out));
  looks_like(p, &out, "a b d | c e | f", "c f d | a | b e");
  CHECK_OK(grove_forest_concatenate(2, f, GROVE_ROOTS_GLOBAL, &out));
  looks_like(p, &out, "a b c | d e | f", "c f d | a | b e");
  CHECK_OK(grove_forest_free(&f[0]));
  CHECK_OK(grove_forest_free(&f[1]));
}

static void merge(const place *p)
{
  grove_forest *a = planted(p, "a b | c | -", "c a | . | b");
  grove_forest *b = planted(p, "a b | c | -", ". b | a c | ."), *out = NULL;
  CHECK_OK(grove_forest_merge(a, b, &out));
  looks_like(p, &out, "a b | c | -", "c b | a c | b");
  CHECK_OK(grove_forest_free(&a));
  CHECK_OK(grove_forest_free(&b));
}

static void strided(const place *p)
{
  grove_forest *f = planted(p, "a b | c | -", "c | a | b"), *out = NULL;
  CHECK_OK(grove_forest_strided(f, 2, 0, 0, &out));
  looks_like(p, &out, "a A b B | c C | -", "c C | a A | b B");
  CHECK_OK(grove_forest_free(&f));
}

static void expand(const place *p)
{
  static const int64_t sizes[RANKS][2] = {{1, 2}, {3}, {0}};
  grove_forest *f = planted(p, "a b | c | -", "c | a | b"), *out = NULL;
  CHECK_OK(grove_forest_expand(f, sizes[p->rank], NULL, NULL, &out));
  looks_like(p, &out, "a b b | c c c | -", "c c c | a | b b");
  CHECK_OK(grove_forest_free(&f));
}

static void match(const place *p)
{
  static const int64_t nroots[RANKS] = {2, 1, 0}, nleaves[RANKS] = {2, 1, 1};
  static const int64_t names[RANKS][2] = {{70, 12}, {33}, {0}};
  static const int64_t sought[RANKS][2] = {{33, 5}, {70}, {12}};
  grove_forest *out = NULL;
  CHECK_OK(grove_forest_match(p->ctx, nroots[p->rank], names[p->rank], nleaves[p->rank],
                              sought[p->rank], &out));
  looks_like(p, &out, "a b | c | -", "c . | a | b");
}

static void ghosts(const place *p)
{
  static const int64_t nowned[RANKS] = {2, 1, 0}, n[RANKS] = {3, 3, 1}, count[RANKS] = {1, 2, 1};
  static const int64_t global[RANKS][3] = {{2, 0, 2}, {0, 2, 1}, {1}};
  static const int64_t expected[RANKS][3] = {{2, 0, 2}, {1, 0, 2}, {0}};
  static const int64_t wanted[RANKS][2] = {{2}, {0, 1}, {1}};
  int64_t local[3], ghost[3], nghosts = 0;
  int me = p->rank;
  grove_forest *out = NULL;
  CHECK_OK(grove_ghosts(p->ctx, nowned[me], n[me], global[me], local, &nghosts, ghost, &out));
  CHECK(nghosts == count[me], "%lld ghosts", (long long)nghosts);
  for (int64_t i = 0; i < n[me]; i++)
    CHECK(local[i] == expected[me][i], "%lld", (long long)local[i]);
  for (int64_t k = 0; k < nghosts; k++)
    CHECK(ghost[k] == wanted[me][k], "%lld", (long long)ghost[k]);
  looks_like(p, &out, "a b | c | -", ". . c | . a b | b");
}

static void line(const place *p)
{
  const int64_t size = 6;
  grove_forest *out = NULL;
  CHECK_OK(grove_forest_box(p->ctx, 1, &size, NULL, NULL, NULL, 0, &out));
  looks_like(p, &out, "x a b x | x c d x | x e f x", ". . . c | b . . e | d . . .");
}

/* A rank's array in a box that goes on on all sides; `l` is a leaf. */
static void frame(const place *p, int corners, const char *drawn)
{
  const int64_t size[2] = {2 * RANKS, 3};
  const int procs[2] = {RANKS, 1}, periodic[2] = {1, 1};
  grove_forest *out = NULL;
  CHECK_OK(grove_forest_box(p->ctx, 2, size, procs, periodic, NULL, corners, &out));
  sketch_part own = sketch_part_of(out);
  CHECK(own.nroots == (int64_t)strlen(drawn), "%lld roots", (long long)own.nroots);
  for (int64_t i = 0; i < own.nroots; i++)
    CHECK(sketch_is_leaf(&own, i) == (drawn[i] == 'l'), "place %lld of %s", (long long)i, drawn);
  free(own.slot);
  CHECK_OK(grove_forest_free(&out));
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "algebra/drawings");
  CHECK(world_size() == RANKS, "%d ranks, and drawings of %d", world_size(), RANKS);
  place p = place_create(split(0));
  multi(&p);
  inverse(&p);
  compose(&p);
  compose_inverse(&p);
  embed(&p);
  concatenate(&p);
  merge(&p);
  strided(&p);
  expand(&p);
  match(&p);
  ghosts(&p);
  line(&p);
  frame(&p, 0, ".lll.looolloool.lll.");
  frame(&p, 1, "llllllooollooollllll");
  place_free(&p);
  return test_end();
}
