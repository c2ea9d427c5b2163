/* The drawings of grove.h, as drawn: three ranks, whose roots are letters, and whose leaf slots
 * show the letters of their roots. */
#include "check.h"
#include "places.h"
#include "sketch.h"

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
  place_free(&p);
  return test_end();
}
