/* Compact lists of indices: 64-bit outside, 32-bit inside wherever all of them fit, nothing at all
 * where they are consecutive. Graphs have billions of edges; four bytes per edge matter.
 */
#ifndef GROVE_BASE_INDEX_H
#define GROVE_BASE_INDEX_H

#include "base/status.h"

#include <stdint.h>

/* Where entries of a list are counted, ordered or numbered one by one, that takes 32 bits each. A
 * longer list is legal, and left as it is: not ordered, no value of it sent once, no runs found in
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

/* Of an index that is reserved and not settled yet. */
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

/* Room for `count` entries from `least` to `most`, to be put and then settled: that gives the
 * memory back where they turn out to be consecutive. */
grove_status grove_index_reserve(int64_t count, int64_t least, int64_t most, grove_index *out);
void grove_index_settle(grove_index *x);

/* A compact copy of `values`; owned by the caller, freed by grove_index_free. */
grove_status grove_index_create(int64_t count, const int64_t *values, grove_index *out);
/* The same of an index. */
grove_status grove_index_copy(const grove_index *from, grove_index *out);
void grove_index_free(grove_index *x);

/* Entries begin .. begin+count-1 as an index that borrows the memory of x. Finds out when they are
 * consecutive even though x as a whole is not. */
grove_index grove_index_view(const grove_index *x, int64_t begin, int64_t count);

/* The same entries in ascending order: x itself, borrowed, if it ascends, else a copy: `owned` says
 * whether it is the caller's. */
grove_status grove_index_ascend(const grove_index *x, grove_index *out, int *owned);
/* Some of its entries, in the form that it has: faster than a view. */
static inline grove_index grove_index_slice(const grove_index *x, int64_t begin, int64_t count)
{
  return (grove_index){count, x->first + begin, x->narrow ? x->narrow + begin : x->narrow,
                       x->wide ? x->wide + begin : x->wide};
}

/* How many entries of an ascending index are less than `value`. */
int64_t grove_index_below(const grove_index *x, int64_t value);

#ifdef __cplusplus
}
#endif

#endif
