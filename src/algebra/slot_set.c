#include "algebra/slot_set.h"

#include "base/distinct.h"

#include <stdlib.h>
#include <string.h>

static grove_status mark_slots(int64_t n, const int64_t *slot, grove_slot_set *set)
{
  GROVE_PASS_NEW(set->mark, set->end - set->first);
  for (int64_t i = 0; i < n; i++) {
    char *mark = &set->mark[slot[i] - set->first];
    set->count += !*mark;
    *mark = 1;
  }
  return GROVE_OK;
}

static grove_status sort_slots(int64_t n, const int64_t *slot, grove_slot_set *set)
{
  GROVE_PASS_ROOM(set->list, n);
  memcpy(set->list, slot, (size_t)n * sizeof *slot);
  set->count = n;
  return grove_distinct_sort(&set->count, set->list);
}

grove_status grove_slot_set_create(int64_t n, const int64_t *slot, grove_slot_set *out)
{
  int64_t least = INT64_MAX, most = -1;
  for (int64_t i = 0; i < n; i++) {
    if (slot[i] < least) least = slot[i];
    if (slot[i] > most) most = slot[i];
  }
  *out = (grove_slot_set){.first = n > 0 ? least : 0, .end = most + 1};
  /* Marks never take more memory than a list. */
  int close = (out->end - out->first) / 8 <= n;
  return close ? mark_slots(n, slot, out) : sort_slots(n, slot, out);
}

void grove_slot_set_free(grove_slot_set *set)
{
  free(set->mark);
  free(set->list);
}
