/* The contents of a block (demand.h), and which ranks of the other node need which of its units.
 */
#ifndef GROVE_ROUTE_CONTENTS_H
#define GROVE_ROUTE_CONTENTS_H

#include "base/index.h"
#include "base/status.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Made from one list of roots for each rank of that node. */
typedef struct grove_contents {
  int nlists;
  int64_t units;
  int64_t *values; /* the root of each unit */
  int64_t *begin;  /* nlists + 1: list i needs the units places[begin[i]] .. places[begin[i+1]-1] */
  int64_t *places; /* ascending */
} grove_contents;

/* With `share` each value once, in ascending order; else one list after the other. */
grove_status grove_contents_create(int nlists, const grove_index *lists, int share,
                                   grove_contents *out);
void grove_contents_free(grove_contents *contents);

#ifdef __cplusplus
}
#endif

#endif
