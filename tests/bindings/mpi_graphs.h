/* The random graphs of programs that know nothing of Grove, and what a rank gives to a call on
 * them. All ranks draw the whole graph. Blocks stay the same for some calls. Then, by case: the
 * numbers of some blocks change, which two ranks know; displacements change on some ranks; types
 * with gaps are used on some ranks.
 */
#ifndef TESTS_BINDINGS_MPI_GRAPHS_H
#define TESTS_BINDINGS_MPI_GRAPHS_H

#include "mpi_cases.h"

enum { MOST_RANKS = 16, MOST_EDGES = 3 * MOST_RANKS, ROOM = 1 << 16 };

/* A number below n that follows from the seed, the case and these. */
static int draw(int n, int what, int a, int b, int c, int d)
{
  uint64_t x = mix(seed ^ mix((uint64_t)number));
  int numbers[] = {what, a, b, c, d};
  for (int i = 0; i < 5; i++) x = mix(x ^ (uint64_t)numbers[i]);
  return (int)(x % (uint64_t)n);
}

enum { EDGES, ORDER, COUNT, CHANGES, CHANGED, GAP, MOVES, TYPE, MODE, BLOCK, BOTTOM };
enum { SAME, OTHER_COUNTS, OTHER_PLACES, OTHER_TYPES, MODES };

/* ---- graphs ---- */

typedef struct ends { /* of one rank, in one direction */
  int n, rank[MOST_EDGES];
} ends;

/* There is always an edge to the next rank, and something on it. */
static int next(int from, int to)
{
  return to == (from + 1) % size;
}

static int edges_between(int from, int to)
{
  int n = draw(4, EDGES, from, to, 0, 0);
  if (n == 3) return 2;
  return n == 2 || next(from, to);
}

/* In a random order. */
static ends draw_ends(int outputs)
{
  ends e = {0};
  for (int other = 0; other < size; other++) {
    int n = outputs ? edges_between(rank, other) : edges_between(other, rank);
    for (int i = 0; i < n; i++) e.rank[e.n++] = other;
  }
  for (int i = e.n - 1; i > 0; i--) {
    int j = draw(i + 1, ORDER, outputs, rank, i, 0), swap = e.rank[i];
    e.rank[i] = e.rank[j];
    e.rank[j] = swap;
  }
  return e;
}

static int mode(void)
{
  return draw(MODES, MODE, 0, 0, 0, 0);
}

/* The same for all edges between two ranks: MPIs differ in which of them belong together. */
static int count_of(int from, int to)
{
  int changed = mode() == OTHER_COUNTS && round_ > 3 && draw(3, CHANGES, round_, 0, 0, 0) == 0 &&
                draw(4, CHANGED, round_, from, to, 0) == 0;
  int version = changed ? round_ : 0, n = draw(12, COUNT, from, to, version, 0);
  if (n < 3 && !next(from, to) && to != -1) return 0;
  return n * n + 1;
}

/* ---- sides: what one rank gives to a call ---- */

typedef struct side {
  int counts[MOST_EDGES], steps[MOST_EDGES];
  MPI_Aint offsets[MOST_EDGES];
  MPI_Datatype type, types[MOST_EDGES];
  double *buffer;
} side;

static MPI_Datatype gaps; /* a double, and room for another one */

/* Blocks one after the other, with gaps between them that may change. */
static void lay_out(side *s, const ends *e, int outputs)
{
  int strange = mode() == OTHER_TYPES && draw(3, TYPE, rank, outputs, round_ / 3, 0) == 0;
  int version = mode() == OTHER_PLACES && draw(2, MOVES, rank, round_, 0, 0) ? round_ : 0;
  int at = 0, width = strange ? 2 : 1;
  s->type = strange ? gaps : MPI_DOUBLE;
  for (int i = 0; i < e->n; i++) {
    at += draw(3, GAP, rank, i, version, outputs);
    s->counts[i] = outputs ? count_of(rank, e->rank[i]) : count_of(e->rank[i], rank);
    s->steps[i] = at;
    s->types[i] = s->type;
    s->offsets[i] = (MPI_Aint)at * width * (MPI_Aint)sizeof(double);
    at += s->counts[i];
  }
  if (at * width > ROOM) fail("too little room", "the test");
}

#endif
