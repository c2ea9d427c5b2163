/* A forest as drawn in grove.h: for each rank a number of roots, and for every leaf slot the root
 * that it is joined to, or a dot. It does not include the order of the leaf lists. */
#ifndef TEST_SKETCH_H
#define TEST_SKETCH_H

#include "generate.h"

enum { SKETCH_DOT = -1 };

typedef struct sketch_part {
  int64_t nroots;
  int64_t nslots;   /* the last one is a leaf */
  grove_root *slot; /* rank SKETCH_DOT: no leaf */
} sketch_part;

typedef struct sketch {
  int nranks;
  sketch_part *part;
} sketch;

/* Without roots and leaves. */
sketch *sketch_create(int nranks);
void sketch_free(sketch *s);

/* With the roots of another one, and no leaves. */
sketch *sketch_roots_of(const sketch *s);

/* Makes the slot a leaf; it must not be one yet. */
void sketch_join(sketch *s, int rank, int64_t slot, grove_root root);

static inline int sketch_is_leaf(const sketch_part *p, int64_t slot)
{
  return slot >= 0 && slot < p->nslots && p->slot[slot].rank != SKETCH_DOT;
}

sketch *sketch_of_graph(const graph *g);

/* From two rows of a drawing, with bars between the ranks: "a b | c | -" and ". c | a | -". Where
 * several roots have the same letter, a rank's leaves of that letter are joined to them in turn. */
sketch *sketch_parse(const char *roots, const char *leaves);

/* A forest of this sketch, set up. Collective. */
grove_forest *sketch_forest(grove_context *ctx, const sketch *s, int rank);

/* This rank's part of a forest that is set up. */
sketch_part sketch_part_of(grove_forest *f);

/* Asserts that this rank's part of the forest is as sketched, and that all queries say so. */
void sketch_check(grove_forest *f, const sketch *expected, int rank, const char *what);

/* Asserts that two forests have the same leaves on the same roots here; by the second, also equally
 * many roots. */
void sketch_check_edges(grove_forest *f, grove_forest *expected, const char *what);
void sketch_check_same(grove_forest *f, grove_forest *expected, const char *what);

#endif
