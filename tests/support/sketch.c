#include "sketch.h"

#include "check.h"

#include <stdlib.h>
#include <string.h>

sketch *sketch_create(int nranks)
{
  sketch *s = need(sizeof *s);
  s->nranks = nranks;
  s->part = need((size_t)nranks * sizeof *s->part);
  for (int i = 0; i < nranks; i++) s->part[i] = (sketch_part){0};
  return s;
}

void sketch_free(sketch *s)
{
  if (s == NULL) return;
  for (int i = 0; i < s->nranks; i++) free(s->part[i].slot);
  free(s->part);
  free(s);
}

sketch *sketch_roots_of(const sketch *s)
{
  sketch *copy = sketch_create(s->nranks);
  for (int i = 0; i < s->nranks; i++) copy->part[i].nroots = s->part[i].nroots;
  return copy;
}

static void part_join(sketch_part *p, int64_t slot, grove_root root)
{
  if (slot >= p->nslots) {
    p->slot = realloc(p->slot, (size_t)(slot + 1) * sizeof *p->slot);
    CHECK(p->slot != NULL, "no memory for %lld slots", (long long)slot + 1);
    while (p->nslots <= slot) p->slot[p->nslots++] = (grove_root){SKETCH_DOT, 0};
  }
  CHECK(p->slot[slot].rank == SKETCH_DOT, "slot %lld is a leaf twice", (long long)slot);
  p->slot[slot] = root;
}

void sketch_join(sketch *s, int rank, int64_t slot, grove_root root)
{
  part_join(&s->part[rank], slot, root);
}

sketch *sketch_of_graph(const graph *g)
{
  sketch *s = sketch_create(g->nranks);
  for (int i = 0; i < g->nranks; i++) {
    const part *p = &g->part[i];
    s->part[i].nroots = p->nroots;
    for (int64_t j = 0; j < p->nleaves; j++) sketch_join(s, i, part_slot(p, j), p->root[j]);
  }
  return s;
}

/* ---- drawings ---- */

/* Reads one row, letter by letter. */
typedef struct row {
  const char *at;
  int rank;
  int64_t place; /* of the letter, on its rank */
} row;

/* The next letter or dot; 0 at the end. */
static char row_next(row *r)
{
  for (; *r->at != '\0'; r->at++) {
    if (*r->at == '|') {
      r->rank++;
      r->place = -1;
    } else if (*r->at != ' ' && *r->at != '-') {
      r->place++;
      return *r->at++;
    }
  }
  return 0;
}

static row row_begin(const char *text)
{
  return (row){.at = text, .place = -1};
}

/* The root of this letter; the how-manieth, where there are several. */
static grove_root find_letter(const char *roots, char letter, int64_t copy)
{
  int64_t found = 0;
  do {
    row r = row_begin(roots);
    for (char c; (c = row_next(&r)) != 0;)
      if (c == letter && found++ == copy) return (grove_root){r.rank, r.place};
  } while (found > 0);
  CHECK(0, "no root %c in '%s'", letter, roots);
  return (grove_root){0, 0};
}

sketch *sketch_parse(const char *roots, const char *leaves)
{
  int nranks = 1;
  for (const char *at = roots; *at != '\0'; at++) nranks += *at == '|';
  sketch *s = sketch_create(nranks);
  row r = row_begin(roots);
  while (row_next(&r) != 0) s->part[r.rank].nroots++;
  r = row_begin(leaves);
  int64_t copies[256] = {0};
  int rank = 0;
  for (char c; (c = row_next(&r)) != 0;) {
    CHECK(r.rank < nranks, "more ranks in '%s' than in '%s'", leaves, roots);
    if (r.rank != rank) memset(copies, 0, sizeof copies);
    rank = r.rank;
    if (c == '.') continue;
    sketch_join(s, rank, r.place, find_letter(roots, c, copies[(unsigned char)c]++));
  }
  return s;
}

grove_forest *sketch_forest(grove_context *ctx, const sketch *s, int rank)
{
  const sketch_part *p = &s->part[rank];
  int64_t n = 0, *slot = need((size_t)p->nslots * sizeof *slot);
  grove_root *root = need((size_t)p->nslots * sizeof *root);
  grove_forest *f = NULL;
  for (int64_t i = 0; i < p->nslots; i++) {
    if (!sketch_is_leaf(p, i)) continue;
    slot[n] = i;
    root[n++] = p->slot[i];
  }
  CHECK_OK(grove_forest_create(ctx, &f));
  CHECK_OK(grove_forest_set_graph(f, p->nroots, n, slot, root));
  CHECK_OK(grove_forest_set_up(f));
  free(slot);
  free(root);
  return f;
}

/* ---- comparisons ---- */

sketch_part sketch_part_of(grove_forest *f)
{
  sketch_part p = {0};
  int64_t n = 0;
  const int64_t *index = NULL;
  const grove_root *root = NULL;
  CHECK_OK(grove_forest_graph(f, &p.nroots, &n, &index, &root));
  for (int64_t j = 0; j < n; j++) part_join(&p, index != NULL ? index[j] : j, root[j]);
  return p;
}

static void compare_edges(const sketch_part *got, const sketch_part *expected, const char *what)
{
  int64_t most = got->nslots > expected->nslots ? got->nslots : expected->nslots;
  for (int64_t i = 0; i < most; i++) {
    grove_root dot = {SKETCH_DOT, 0};
    grove_root a = sketch_is_leaf(got, i) ? got->slot[i] : dot;
    grove_root b = sketch_is_leaf(expected, i) ? expected->slot[i] : dot;
    CHECK(a.rank == b.rank && a.index == b.index,
          "%s: slot %lld is joined to (%d, %lld), not to (%d, %lld); rank %d is none", what,
          (long long)i, a.rank, (long long)a.index, b.rank, (long long)b.index, SKETCH_DOT);
  }
}

static void compare_roots(int64_t got, int64_t expected, const char *what)
{
  CHECK(got == expected, "%s: %lld roots, not %lld", what, (long long)got, (long long)expected);
}

void sketch_check_edges(grove_forest *f, grove_forest *expected, const char *what)
{
  sketch_part a = sketch_part_of(f), b = sketch_part_of(expected);
  compare_edges(&a, &b, what);
  free(a.slot);
  free(b.slot);
}

void sketch_check_same(grove_forest *f, grove_forest *expected, const char *what)
{
  int64_t a = -1, b = -1;
  CHECK_OK(grove_forest_sizes(f, &a, NULL));
  CHECK_OK(grove_forest_sizes(expected, &b, NULL));
  compare_roots(a, b, what);
  sketch_check_edges(f, expected, what);
}

static void check_range(grove_forest *f, const sketch_part *p, const char *what)
{
  int64_t first = -1, end = -1, least = 0;
  while (least < p->nslots && !sketch_is_leaf(p, least)) least++;
  CHECK_OK(grove_forest_leaf_range(f, &first, &end));
  CHECK(first == least && end == p->nslots, "%s: leaves from %lld to %lld, not %lld to %lld", what,
        (long long)first, (long long)end, (long long)least, (long long)p->nslots);
}

static void check_degrees(grove_forest *f, const sketch *s, int rank, const char *what)
{
  int64_t n = s->part[rank].nroots, *degree = need((size_t)n * sizeof *degree);
  CHECK_OK(grove_forest_degrees(f, degree));
  for (int i = 0; i < s->nranks; i++)
    for (int64_t j = 0; j < s->part[i].nslots; j++)
      if (s->part[i].slot[j].rank == rank) degree[s->part[i].slot[j].index]--;
  for (int64_t k = 0; k < n; k++)
    CHECK(degree[k] == 0, "%s: the degree of root %lld is off by %lld", what, (long long)k,
          (long long)degree[k]);
  free(degree);
}

static int deals_with(const sketch *s, int leaf_rank, int root_rank)
{
  for (int64_t j = 0; j < s->part[leaf_rank].nslots; j++)
    if (s->part[leaf_rank].slot[j].rank == root_rank) return 1;
  return 0;
}

static void check_neighbours(grove_forest *f, const sketch *s, int rank, const char *what)
{
  for (int roots = 0; roots < 2; roots++) {
    int n = -1, found = 0;
    const int *ranks = NULL;
    CHECK_OK((roots ? grove_forest_root_ranks : grove_forest_leaf_ranks)(f, &n, &ranks));
    for (int i = 0; i < s->nranks; i++) {
      if (!(roots ? deals_with(s, rank, i) : deals_with(s, i, rank))) continue;
      CHECK(found < n && ranks[found] == i, "%s: rank %d is no neighbour", what, i);
      found++;
    }
    CHECK(found == n, "%s: %d neighbours, not %d", what, n, found);
  }
}

void sketch_check(grove_forest *f, const sketch *expected, int rank, const char *what)
{
  const sketch_part *own = &expected->part[rank];
  sketch_part got = sketch_part_of(f);
  compare_roots(got.nroots, own->nroots, what);
  compare_edges(&got, own, what);
  free(got.slot);
  check_range(f, own, what);
  check_degrees(f, expected, rank, what);
  check_neighbours(f, expected, rank, what);
}
