/* For forests whose roots have at most one leaf each: what the leaves tell the roots. First all
 * that a gather on the twin needs; then the edges, from the codes that it brought.
 */
#ifndef GROVE_ALGEBRA_SINGLES_H
#define GROVE_ALGEBRA_SINGLES_H

#include "algebra/algebra.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct grove_singles {
  const grove_forest *forest;
  char *has;     /* of each root: it has a leaf */
  int64_t *code; /* from the leaves of the roots that have one, by ascending root */
} grove_singles;

/* Refuses a forest in which a root of this rank has two leaves. This rank's failure. */
grove_status grove_singles_create(const grove_making *m, const grove_forest *f, grove_singles *out);
void grove_singles_free(grove_singles *s);

/* Makes a leaf of each root that got a code; the code becomes its root. There must be room for as
 * many edges as the forest has. */
void grove_singles_collect(const grove_making *m, const grove_singles *s, grove_edges *edges);

#ifdef __cplusplus
}
#endif

#endif
