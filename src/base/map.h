/* A map from int keys to 0, 1, 2, ... in the order the keys were first seen: how the few neighbours
 * of a rank are found among many ranks, in memory proportional to the neighbours.
 */
#ifndef GROVE_BASE_MAP_H
#define GROVE_BASE_MAP_H

#include "base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct grove_map {
  int count;    /* keys so far */
  int *keys;    /* in the order they were first seen */
  int *slots;   /* hash table: a number, or -1 */
  int nslots;   /* a power of two, at least twice count */
  int last_key; /* runs of one key are common */
  int last;
} grove_map;

grove_status grove_map_create(grove_map *out);
void grove_map_free(grove_map *map);

/* The number of `key`, a new one if it was not seen before. */
grove_status grove_map_insert(grove_map *map, int key, int *number);

#ifdef __cplusplus
}
#endif

#endif
