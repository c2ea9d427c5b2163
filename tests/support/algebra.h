/* The constructions of forests from forests as expressions: a failure ends the test. The caller
 * frees the result. Collective. */
#ifndef TEST_ALGEBRA_H
#define TEST_ALGEBRA_H

#include "places.h"

grove_forest *multi_of(grove_forest *f);
grove_forest *inverse_of(grove_forest *f);
grove_forest *composed(grove_forest *a, grove_forest *b);
grove_forest *composed_inverse(grove_forest *a, grove_forest *b);
grove_forest *with_roots(grove_forest *f, int64_t n, const int64_t *root_index);
grove_forest *with_leaves(grove_forest *f, int64_t n, const int64_t *leaf_index);
grove_forest *side_by_side(grove_forest *a, grove_forest *b, grove_roots mode);
grove_forest *merged(grove_forest *a, grove_forest *b);
grove_forest *strided(grove_forest *f, int64_t n, int64_t root_stride, int64_t leaf_stride);
grove_forest *expanded(grove_forest *f, const int64_t *root_size, const int64_t *root_offset,
                       const int64_t *leaf_offset);

/* Leaf slot to + i is joined to this rank's own root from + i, for 0 <= i < n; the rank has
 * `nroots` roots. */
grove_forest *shift(const place *p, int64_t nroots, int64_t n, int64_t from, int64_t to);

/* Root i has leaf i, for all n. */
grove_forest *identity(const place *p, int64_t n);

/* n roots on every rank, each with a leaf in the same place on the rank k before; and the assertion
 * that a bcast and a reduce on the forest go that many ranks round. */
grove_forest *turn(const place *p, int64_t n, int k);
void turn_check(const place *p, grove_forest *f, int k);

/* The number of roots, and the end of the leaf slots. */
int64_t roots_of(grove_forest *f);
int64_t end_of(grove_forest *f);

/* The slots of the leaves, in the order of the list. */
int64_t *slots_of(grove_forest *f, int64_t *n);

void forests_free(int n, grove_forest **f);

#endif
