/* Compact lists of indices: 64-bit outside, 32-bit inside wherever all of them fit, no memory at
 * all where they are consecutive. Graphs have billions of edges, so four bytes per edge matter.
 */
#ifndef GROVE_BASE_INDEX_H
#define GROVE_BASE_INDEX_H

#include "base/status.h"

#include <stdint.h>

/* Counting, ordering or numbering the entries of a list takes 32 bits per entry. A longer list is
 * legal, and is left as it is: not ordered, its repeated values sent repeatedly, no runs found in
 * it. Both ends of a message see the same number of entries, and so do the same. (A test makes the
 * limit small.) */
#ifndef GROVE_LIST_MOST
#define GROVE_LIST_MOST INT32_MAX
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Entry i is first + i if both pointers are NULL, else narrow[i] or wide[i]. None is negative. */
typedef struct grove_index {
  int64_t count;
  int64_t first;
  int32_t *narrow;
  int64_t *wide;
} grove_index;

static inline int64_t grove_index_at(const grove_index *x, int64_t i)
{
  if (x->narrow) return x->narrow[i];
  return x->wide ? x->wide[i] : x->first + i;
}

/* For an index that is reserved and not settled yet. */
static inline void grove_index_put(grove_index *x, int64_t i, int64_t value)
{
  if (x->narrow)
    x->narrow[i] = (int32_t)value;
  else
    x->wide[i] = value;
}

static inline int grove_index_consecutive(const grove_index *x)
{
  return !x->narrow && !x->wide;
}

/* Room for `count` entries from `least` to `most`. Put them, then settle: that gives the memory
 * back where they turn out to be consecutive. */
grove_status grove_index_reserve(int64_t count, int64_t least, int64_t most, grove_index *out);
void grove_index_settle(grove_index *x);

/* A compact copy of `values`; owned by the caller, freed by grove_index_free. */
grove_status grove_index_create(int64_t count, const int64_t *values, grove_index *out);
/* The same for an index. */
grove_status grove_index_copy(const grove_index *from, grove_index *out);
void grove_index_free(grove_index *x);

/* Entries begin .. begin+count-1 as an index that borrows the memory of x. Notices when they are
 * consecutive even though x as a whole is not. */
grove_index grove_index_view(const grove_index *x, int64_t begin, int64_t count);

/* The same entries in ascending order: x itself, borrowed, if it ascends, else a copy. `owned` says
 * whether the caller must free it. */
grove_status grove_index_ascend(const grove_index *x, grove_index *out, int *owned);
/* Some of its entries, in the same form: faster than a view. */
static inline grove_index grove_index_slice(const grove_index *x, int64_t begin, int64_t count)
{
  return (grove_index){count, x->first + begin, x->narrow ? x->narrow + begin : x->narrow,
                       x->wide ? x->wide + begin : x->wide};
}

/* The number of entries of an ascending index that are less than `value`. */
int64_t grove_index_below(const grove_index *x, int64_t value);

#ifdef __cplusplus
}
#endif

#endif
