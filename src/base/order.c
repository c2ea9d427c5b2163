#include "base/order.h"

#include <stdlib.h>
#include <string.h>

/* A radix sort, from the last digit to the first; bits per digit. */
enum { BITS = 11, DIGITS = 1 << BITS };

int grove_order_ascends(int64_t n, const int64_t *key)
{
  for (int64_t i = 1; i < n; i++)
    if (key[i] < key[i - 1]) return 0;
  return 1;
}

/* Stable: from `from` to `to`. */
static void sort_by_digit(int64_t n, const int64_t *key, int shift, const int32_t *from,
                          int32_t *to)
{
  int32_t next[DIGITS + 1] = {0};
  for (int64_t i = 0; i < n; i++) next[(key[i] >> shift & (DIGITS - 1)) + 1]++;
  for (int d = 0; d < DIGITS; d++) next[d + 1] += next[d];
  for (int64_t i = 0; i < n; i++) to[next[key[from[i]] >> shift & (DIGITS - 1)]++] = from[i];
}

grove_status grove_order_create(int64_t n, const int64_t *key, int32_t **out)
{
  grove_status status = GROVE_OK;
  int32_t *order = NULL, *other = NULL;
  int64_t most = 0;
  GROVE_ROOM(order, n);
  for (int64_t i = 0; i < n; i++) {
    order[i] = (int32_t)i;
    most = key[i] > most ? key[i] : most;
  }
  if (grove_order_ascends(n, key)) most = 0;
  if (most > 0) GROVE_ROOM(other, n);
  for (int shift = 0; shift < 63 && most >> shift > 0; shift += BITS) {
    sort_by_digit(n, key, shift, order, other);
    int32_t *sorted = other;
    other = order;
    order = sorted;
  }
  *out = order;
  order = NULL;
fail:
  free(order);
  free(other);
  return status;
}

static void sort_values(int64_t n, int shift, const int64_t *from, int64_t *to)
{
  int64_t next[DIGITS + 1] = {0};
  for (int64_t i = 0; i < n; i++) next[(from[i] >> shift & (DIGITS - 1)) + 1]++;
  for (int d = 0; d < DIGITS; d++) next[d + 1] += next[d];
  for (int64_t i = 0; i < n; i++) to[next[from[i] >> shift & (DIGITS - 1)]++] = from[i];
}

grove_status grove_order_sort(int64_t n, int64_t *values)
{
  grove_status status = GROVE_OK;
  int64_t *other = NULL, *from = values, *to = NULL, most = 0;
  GROVE_ROOM(other, n);
  to = other;
  for (int64_t i = 0; i < n; i++) most = values[i] > most ? values[i] : most;
  for (int shift = 0; shift < 63 && most >> shift > 0; shift += BITS) {
    sort_values(n, shift, from, to);
    int64_t *sorted = to;
    to = from;
    from = sorted;
  }
  if (from != values) memcpy(values, from, (size_t)n * sizeof *values);
fail:
  free(other);
  return status;
}
