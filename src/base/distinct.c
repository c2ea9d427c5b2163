#include "base/distinct.h"

#include "base/order.h"

#include <stdlib.h>
#include <string.h>

/* Up to this many bits per entry, a bit for each value of the range is cheap. */
enum { BITS_AN_ENTRY = 64 };

typedef struct range {
  int64_t least, most;
} range;

static range range_of_values(const grove_index *list)
{
  range r = {grove_index_at(list, 0), grove_index_at(list, 0)};
  for (int64_t i = 1; i < list->count; i++) {
    int64_t value = grove_index_at(list, i);
    r.least = value < r.least ? value : r.least;
    r.most = value > r.most ? value : r.most;
  }
  return r;
}

static grove_status count_by_bits(const grove_index *list, range r, int64_t *out)
{
  grove_status status = GROVE_OK;
  uint64_t *bits = NULL;
  int64_t count = 0;
  GROVE_NEW(bits, (r.most - r.least) / 64 + 1);
  for (int64_t i = 0; i < list->count; i++) {
    int64_t at = grove_index_at(list, i) - r.least;
    count += !(bits[at / 64] >> (at % 64) & 1);
    bits[at / 64] |= (uint64_t)1 << (at % 64);
  }
  *out = count;
fail:
  free(bits);
  return status;
}

grove_status grove_distinct_count(const grove_index *list, int64_t *out)
{
  grove_status status = GROVE_OK;
  int32_t *number = NULL;
  *out = list->count;
  if (list->count < 2 || list->count > GROVE_LIST_MOST || grove_index_consecutive(list))
    return GROVE_OK;
  range r = range_of_values(list);
  if (r.most - r.least <= list->count * BITS_AN_ENTRY) return count_by_bits(list, r, out);
  GROVE_NEW(number, list->count);
  GROVE_TRY(grove_distinct_number(list, number, out));
fail:
  free(number);
  return status;
}

/* Fibonacci hashing, as in base/group.h. */
static uint64_t slot_of(int64_t value, int bits)
{
  return ((uint64_t)value * 11400714819323198485u) >> (64 - bits);
}

grove_status grove_distinct_number(const grove_index *list, int32_t *number, int64_t *count)
{
  grove_status status = GROVE_OK;
  int32_t *first = NULL; /* hash table: an entry with this value, or -1 */
  int bits = 4;
  int64_t found = 0;
  while ((int64_t)1 << bits < 2 * list->count) bits++;
  uint64_t last = ((uint64_t)1 << bits) - 1;
  GROVE_ROOM(first, last + 1);
  memset(first, -1, (last + 1) * sizeof *first);
  for (int64_t i = 0; i < list->count; i++) {
    int64_t value = grove_index_at(list, i);
    uint64_t at = slot_of(value, bits);
    while (first[at] >= 0 && grove_index_at(list, first[at]) != value) at = (at + 1) & last;
    if (first[at] < 0) {
      first[at] = (int32_t)i;
      number[i] = (int32_t)found++;
    } else {
      number[i] = number[first[at]];
    }
  }
  *count = found;
fail:
  free(first);
  return status;
}

grove_status grove_distinct_sort(int64_t *n, int64_t *values)
{
  int64_t count = 0;
  if (!grove_order_ascends(*n, values)) GROVE_PASS(grove_order_sort(*n, values));
  for (int64_t i = 0; i < *n; i++)
    if (count == 0 || values[count - 1] != values[i]) values[count++] = values[i];
  *n = count;
  return GROVE_OK;
}
