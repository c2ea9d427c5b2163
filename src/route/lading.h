/* A lading: what is in a block (demand.h), and which ranks of the other node need what of it.
 */
#ifndef GROVE_ROUTE_LADING_H
#define GROVE_ROUTE_LADING_H

#include "base/index.h"
#include "base/status.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Made of several lists of roots: those of the ranks of the node. */
typedef struct grove_lading {
  int nlists;
  int64_t units;
  int64_t *values; /* the root of each unit */
  int64_t *begin;  /* nlists + 1: list i needs the units places[begin[i]] .. places[begin[i+1]-1] */
  int64_t *places; /* ascending */
} grove_lading;

/* With `share` each value once, in ascending order; else one list after the other. */
grove_status grove_lading_create(int nlists, const grove_index *lists, int share,
                                 grove_lading *out);
void grove_lading_free(grove_lading *load);

#ifdef __cplusplus
}
#endif

#endif
