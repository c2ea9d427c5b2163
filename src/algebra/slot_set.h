/* A set of slots: marks if they are dense, else an ascending list.
 */
#ifndef GROVE_ALGEBRA_SLOT_SET_H
#define GROVE_ALGEBRA_SLOT_SET_H

#include "base/order.h"
#include "base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct grove_slot_set {
  int64_t count; /* different ones */
  int64_t first, end;
  char *mark; /* of slot `first`, first + 1, ...; NULL: */
  int64_t *list;
} grove_slot_set;

/* The slots of a list, none of which is negative. This rank's failure. */
grove_status grove_slot_set_create(int64_t n, const int64_t *slot, grove_slot_set *out);
void grove_slot_set_free(grove_slot_set *set);

static inline int grove_slot_set_has(const grove_slot_set *set, int64_t slot)
{
  if (slot < set->first || slot >= set->end) return 0;
  if (set->mark) return set->mark[slot - set->first];
  int64_t at = grove_order_below(set->count, set->list, slot);
  return set->list[at] == slot; /* in bounds: the last entry is end - 1 */
}

#ifdef __cplusplus
}
#endif

#endif
