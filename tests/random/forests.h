/* The details of forests, and forests made by the library. */
#ifndef TEST_FORESTS_H
#define TEST_FORESTS_H

#include "program.h"

/* What ranks pass to strided, expand and match; to ghosts the names of their slots, of which their
 * own ones have none. */
typedef struct strides {
  int64_t n, root[MOST_RANKS], leaf[MOST_RANKS];
} strides;

typedef struct points {
  list *size, *root_offset, *leaf_offset;
} points;

typedef struct names {
  list *root, *sought;
} names;

/* What a rank passes to grove_forest_set_pattern. */
int64_t pattern_count(const program *p, const step *st, int rank);

/* The forest of a step, set up, on this rank. Collective. */
grove_forest *forest_made(const scene *s, int id, grove_context *ctx, int me);
grove_forest *forest_derived(const scene *s, int id, grove_context *ctx, grove_forest *const *made,
                             int me);

#endif
