#include "base/group.h"

#include <stdlib.h>
#include <string.h>

/* Fills the slot table with the groups, from count and keys. */
static void refill_table(grove_groups *groups)
{
  uint32_t last = (1u << groups->bits) - 1;
  for (uint32_t i = 0; i <= last; i++) groups->slots[i] = (grove_group_slot){0, -1};
  for (int g = 0; g < groups->count; g++) {
    uint32_t at = grove_groups_slot(groups, groups->keys[g]);
    while (groups->slots[at].group >= 0) at = (at + 1) & last;
    groups->slots[at] = (grove_group_slot){groups->keys[g], g};
  }
}

static grove_status resize_table(grove_groups *groups, int bits)
{
  int64_t more = ((int64_t)1 << (bits - 1)) - groups->count;
  GROVE_PASS_GROW(groups->keys, groups->count, more);
  GROVE_PASS_GROW(groups->next, groups->count, more);
  GROVE_PASS_GROW(groups->slots, 2 * (int64_t)groups->count, 2 * more);
  groups->bits = bits;
  refill_table(groups);
  return GROVE_OK;
}

grove_status grove_groups_create(grove_groups *out)
{
  *out = (grove_groups){0};
  return resize_table(out, 4);
}

void grove_groups_free(grove_groups *groups)
{
  free(groups->keys);
  free(groups->begin);
  free(groups->next);
  free(groups->slots);
  *groups = (grove_groups){0};
}

grove_status grove_groups_add(grove_groups *groups, int key)
{
  if (2 * (groups->count + 1) > 1 << groups->bits)
    GROVE_PASS(resize_table(groups, groups->bits + 1));
  uint32_t at = grove_groups_slot(groups, key), last = (1u << groups->bits) - 1;
  while (groups->slots[at].group >= 0) at = (at + 1) & last;
  groups->slots[at] = (grove_group_slot){key, groups->count};
  groups->keys[groups->count] = key;
  groups->next[groups->count++] = 0;
  return GROVE_OK;
}

static int by_key(const void *a, const void *b)
{
  int x = *(const int *)a, y = *(const int *)b;
  return (x > y) - (x < y);
}

grove_status grove_groups_arrange(grove_groups *groups)
{
  GROVE_PASS_NEW(groups->begin, groups->count + 1);
  qsort(groups->keys, (size_t)groups->count, sizeof *groups->keys, by_key);
  /* The table still has the old numbers, by which the entries were counted. */
  for (int g = 0; g < groups->count; g++)
    groups->begin[g + 1] =
      groups->begin[g] + groups->next[grove_groups_find(groups, groups->keys[g])];
  memcpy(groups->next, groups->begin, (size_t)groups->count * sizeof *groups->next);
  refill_table(groups);
  return GROVE_OK;
}
