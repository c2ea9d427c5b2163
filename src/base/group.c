#include "base/group.h"

#include "base/map.h"

#include <stdlib.h>

static int ascending(const void *a, const void *b)
{
  int x = *(const int *)a, y = *(const int *)b;
  return (x > y) - (x < y);
}

static const int *find_key(const grove_groups *groups, int key)
{
  return bsearch(&key, groups->keys, (size_t)groups->count, sizeof key, ascending);
}

int grove_groups_find(const grove_groups *groups, int key)
{
  const int *found = find_key(groups, key);
  return found ? (int)(found - groups->keys) : -1;
}

/* The distinct keys, ascending, and for the number that the map gave each key its group. */
static grove_status sort_keys(const grove_map *map, grove_groups *groups, int **group_of_number)
{
  grove_status status = GROVE_OK;
  groups->count = map->count;
  GROVE_NEW(groups->keys, map->count);
  GROVE_NEW(*group_of_number, map->count);
  for (int i = 0; i < map->count; i++) groups->keys[i] = map->keys[i];
  qsort(groups->keys, (size_t)map->count, sizeof *groups->keys, ascending);
  for (int i = 0; i < map->count; i++)
    (*group_of_number)[i] = grove_groups_find(groups, map->keys[i]);
fail:
  return status;
}

grove_status grove_groups_create(int64_t n, const int *key, grove_groups *out)
{
  grove_status status = GROVE_OK;
  grove_groups groups = {0};
  grove_map map = {0};
  int *number = NULL, *group_of_number = NULL;
  GROVE_TRY(grove_map_create(&map));
  GROVE_NEW(number, n);
  for (int64_t i = 0; i < n; i++) GROVE_TRY(grove_map_insert(&map, key[i], &number[i]));
  GROVE_TRY(sort_keys(&map, &groups, &group_of_number));
  GROVE_NEW(groups.begin, groups.count + 1);
  GROVE_NEW(groups.order, n);
  for (int64_t i = 0; i < n; i++) groups.begin[group_of_number[number[i]] + 1]++;
  for (int g = 0; g < groups.count; g++) groups.begin[g + 1] += groups.begin[g];
  for (int64_t i = 0; i < n; i++) groups.order[groups.begin[group_of_number[number[i]]]++] = i;
  for (int g = groups.count; g > 0; g--) groups.begin[g] = groups.begin[g - 1];
  groups.begin[0] = 0;
  *out = groups;
  groups = (grove_groups){0};
fail:
  grove_groups_free(&groups);
  grove_map_free(&map);
  free(number);
  free(group_of_number);
  return status;
}

void grove_groups_free(grove_groups *groups)
{
  free(groups->keys);
  free(groups->begin);
  free(groups->order);
  *groups = (grove_groups){0};
}
