/* Lists in which values may repeat.
 */
#ifndef GROVE_BASE_DISTINCT_H
#define GROVE_BASE_DISTINCT_H

#include "base/index.h"
#include "base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The number of different values in the list. For a list of more than GROVE_LIST_MOST entries it is
 * the length: such lists are taken to have no repeats, since nobody could number them. */
grove_status grove_distinct_count(const grove_index *list, int64_t *out);

/* number[i]: the number of entry i's value, in the order in which values first appear. `count`: how
 * many values there are. The list has at most GROVE_LIST_MOST entries. */
grove_status grove_distinct_number(const grove_index *list, int32_t *number, int64_t *count);

/* Sorts the values (none is negative) and keeps each once: `n` becomes the number left. */
grove_status grove_distinct_sort(int64_t *n, int64_t *values);

#ifdef __cplusplus
}
#endif

#endif
