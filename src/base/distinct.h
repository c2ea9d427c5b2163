/* Lists that name some values several times.
 */
#ifndef GROVE_BASE_DISTINCT_H
#define GROVE_BASE_DISTINCT_H

#include "base/index.h"
#include "base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How many different values the list has. Of a list of more than GROVE_LIST_MOST entries this says
 * that all differ: nobody could number them. */
grove_status grove_distinct_count(const grove_index *list, int64_t *out);

/* number[i]: which value entry i is, counted in the order in which values first appear; `count` of
 * them. The list has at most GROVE_LIST_MOST entries. */
grove_status grove_distinct_number(const grove_index *list, int32_t *number, int64_t *count);

/* Sorts the values (none is negative) and leaves each once: `n` becomes how many there are. */
grove_status grove_distinct_sort(int64_t *n, int64_t *values);

#ifdef __cplusplus
}
#endif

#endif
