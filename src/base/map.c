#include "base/map.h"

#include <stdint.h>
#include <stdlib.h>

/* Fibonacci hashing: the high bits of the product are well mixed, also for consecutive keys. */
static int first_slot(const grove_map *map, int key)
{
  uint32_t mixed = (uint32_t)key * 2654435769u;
  return (int)((mixed ^ mixed >> 16) & (uint32_t)(map->nslots - 1));
}

/* The slot that holds `key`, or the empty one where it belongs. */
static int *find_slot(const grove_map *map, int key)
{
  int slot = first_slot(map, key);
  while (map->slots[slot] >= 0 && map->keys[map->slots[slot]] != key)
    slot = (slot + 1) & (map->nslots - 1);
  return &map->slots[slot];
}

static grove_status resize(grove_map *map, int nslots)
{
  grove_status status = GROVE_OK;
  int *slots = malloc((size_t)nslots * sizeof *slots);
  int *keys = realloc(map->keys, (size_t)nslots / 2 * sizeof *keys);
  if (keys) map->keys = keys;
  GROVE_CHECK(slots && keys, GROVE_ERR_MEMORY, "no memory for a table of %d neighbours", nslots);
  free(map->slots);
  map->slots = slots;
  map->nslots = nslots;
  for (int i = 0; i < nslots; i++) slots[i] = -1;
  for (int i = 0; i < map->count; i++) *find_slot(map, map->keys[i]) = i;
  return GROVE_OK;
fail:
  free(slots);
  return status;
}

grove_status grove_map_create(grove_map *out)
{
  *out = (grove_map){.last = -1};
  return resize(out, 16);
}

void grove_map_free(grove_map *map)
{
  free(map->keys);
  free(map->slots);
  *map = (grove_map){0};
}

grove_status grove_map_insert(grove_map *map, int key, int *number)
{
  grove_status status = GROVE_OK;
  if (map->last < 0 || map->last_key != key) {
    int *slot = find_slot(map, key);
    if (*slot < 0) {
      if (2 * (map->count + 1) > map->nslots) {
        GROVE_TRY(resize(map, 2 * map->nslots));
        slot = find_slot(map, key);
      }
      map->keys[map->count] = key;
      *slot = map->count++;
    }
    map->last_key = key;
    map->last = *slot;
  }
  *number = map->last;
fail:
  return status;
}
