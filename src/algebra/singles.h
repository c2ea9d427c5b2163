/* What their leaves tell the roots of a forest that have one each, in two steps: all that a gather
 * on its twin needs, and the edges from the codes that it brought.
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
  int64_t *code; /* from the leaves of those that have, by ascending root */
} grove_singles;

/* Refuses a forest in which a root of this rank has two leaves. This rank's failure. */
grove_status grove_singles_create(const grove_making *m, const grove_forest *f, grove_singles *out);
void grove_singles_free(grove_singles *s);

/* A leaf in the place of each root that got the code of one, which becomes its root. There is room
 * for as many as the forest has edges. */
void grove_singles_collect(const grove_making *m, const grove_singles *s, grove_edges *edges);

#ifdef __cplusplus
}
#endif

#endif
