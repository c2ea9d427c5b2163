/* Grouping: which entries of a list belong to which of a few keys (the neighbours among many
 * ranks). It takes memory proportional to the keys and two passes over the list. The first pass
 * counts. Then the keys are put in order, and the second pass asks for the place of each entry:
 *
 *     GROVE_TRY(grove_groups_create(&groups));
 *     for (i = 0; i < n; i++) GROVE_TRY(grove_groups_count(&groups, key[i]));
 *     GROVE_TRY(grove_groups_arrange(&groups));
 *     for (i = 0; i < n; i++) place[i] = groups.next[grove_groups_find(&groups, key[i])]++;
 */
#ifndef GROVE_BASE_GROUP_H
#define GROVE_BASE_GROUP_H

#include "base/status.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct grove_group_slot {
  int key;
  int group; /* -1: empty */
} grove_group_slot;

/* Once arranged, group g has the places begin[g] .. begin[g+1]-1. */
typedef struct grove_groups {
  int count;
  int *keys;      /* in the order they were first seen; once arranged, ascending */
  int64_t *begin; /* count + 1, once arranged */
  int64_t *next;  /* entries in each group; once arranged, its next place */
  grove_group_slot *slots;
  int bits; /* there are 2^bits slots, at least twice count */
} grove_groups;

grove_status grove_groups_create(grove_groups *out);
void grove_groups_free(grove_groups *groups);

/* Fibonacci hashing: the high bits of the product are well mixed, even for consecutive keys. */
static inline uint32_t grove_groups_slot(const grove_groups *groups, int key)
{
  return ((uint32_t)key * 2654435769u) >> (32 - groups->bits);
}

/* The group of `key`, or -1. */
static inline int grove_groups_find(const grove_groups *groups, int key)
{
  uint32_t at = grove_groups_slot(groups, key), last = (1u << groups->bits) - 1;
  while (groups->slots[at].key != key) {
    if (groups->slots[at].group < 0) return -1;
    at = (at + 1) & last;
  }
  return groups->slots[at].group; /* -1 if an empty slot happens to hold this key */
}

/* Adds a group for a key that has none yet. */
grove_status grove_groups_add(grove_groups *groups, int key);

static inline grove_status grove_groups_count(grove_groups *groups, int key)
{
  int group = grove_groups_find(groups, key);
  if (group < 0) {
    group = groups->count;
    GROVE_PASS(grove_groups_add(groups, key));
  }
  groups->next[group]++;
  return GROVE_OK;
}

grove_status grove_groups_arrange(grove_groups *groups);

#ifdef __cplusplus
}
#endif

#endif
