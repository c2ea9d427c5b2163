/* Grouping: which entries of a list belong to which of a few keys (the neighbours), in time
 * proportional to the list and memory proportional to list and keys.
 */
#ifndef GROVE_BASE_GROUP_H
#define GROVE_BASE_GROUP_H

#include "base/status.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Group g holds the entries order[begin[g]] .. order[begin[g+1]-1], in ascending order. */
typedef struct grove_groups {
  int count;
  int *keys;      /* ascending */
  int64_t *begin; /* count + 1 */
  int64_t *order;
} grove_groups;

grove_status grove_groups_create(int64_t n, const int *key, grove_groups *out);
void grove_groups_free(grove_groups *groups);

/* The group of `key`, or -1. */
int grove_groups_find(const grove_groups *groups, int key);

#ifdef __cplusplus
}
#endif

#endif
