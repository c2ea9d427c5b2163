/* Sorting by keys. Equal keys stay in the order of the list.
 */
#ifndef GROVE_BASE_ORDER_H
#define GROVE_BASE_ORDER_H

#include "base/index.h"
#include "base/status.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

int grove_order_ascends(int64_t n, const int64_t *key);

/* The positions 0 .. n-1 of the keys (none is negative), by ascending key; n is at most
 * GROVE_LIST_MOST. The caller frees the list. */
grove_status grove_order_create(int64_t n, const int64_t *key, int32_t **out);

/* The number of n ascending values that are below a limit. */
static inline int64_t grove_order_below(int64_t n, const int64_t *values, int64_t limit)
{
  int64_t low = 0, high = n;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (values[middle] < limit)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* Sorts the values themselves (none is negative); any n. */
grove_status grove_order_sort(int64_t n, int64_t *values);

#ifdef __cplusplus
}
#endif

#endif
