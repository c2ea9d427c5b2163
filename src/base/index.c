#include "base/index.h"

#include <stdlib.h>
#include <string.h>

grove_status grove_index_reserve(int64_t count, int64_t least, int64_t most, grove_index *out)
{
  grove_index x = {.count = count};
  if (least >= INT32_MIN && most <= INT32_MAX)
    GROVE_PASS_ROOM(x.narrow, count);
  else
    GROVE_PASS_ROOM(x.wide, count);
  *out = x;
  return GROVE_OK;
}

void grove_index_settle(grove_index *x)
{
  int64_t i = 1;
  if (x->count > 0) x->first = grove_index_at(x, 0);
  while (i < x->count && grove_index_at(x, i) - x->first == i) i++;
  if (i < x->count) return;
  free(x->narrow);
  free(x->wide);
  x->narrow = NULL;
  x->wide = NULL;
}

grove_status grove_index_create(int64_t count, const int64_t *values, grove_index *out)
{
  int64_t least = 0, most = 0;
  for (int64_t i = 0; i < count; i++) {
    if (values[i] < least) least = values[i];
    if (values[i] > most) most = values[i];
  }
  GROVE_PASS(grove_index_reserve(count, least, most, out));
  for (int64_t i = 0; i < count; i++) grove_index_put(out, i, values[i]);
  grove_index_settle(out);
  return GROVE_OK;
}

grove_status grove_index_copy(const grove_index *from, grove_index *out)
{
  size_t n = (size_t)from->count;
  grove_index x = {.count = from->count, .first = from->first};
  if (from->narrow) {
    GROVE_PASS_ROOM(x.narrow, n);
    memcpy(x.narrow, from->narrow, n * sizeof *x.narrow);
  } else if (from->wide) {
    GROVE_PASS_ROOM(x.wide, n);
    memcpy(x.wide, from->wide, n * sizeof *x.wide);
  }
  *out = x;
  return GROVE_OK;
}

void grove_index_free(grove_index *x)
{
  free(x->narrow);
  free(x->wide);
  *x = (grove_index){0};
}

grove_index grove_index_view(const grove_index *x, int64_t begin, int64_t count)
{
  grove_index view = {.count = count, .first = count > 0 ? grove_index_at(x, begin) : 0};
  int64_t i = 1;
  while (i < count && grove_index_at(x, begin + i) - view.first == i) i++;
  if (i < count) {
    view.narrow = x->narrow ? x->narrow + begin : NULL;
    view.wide = x->wide ? x->wide + begin : NULL;
  }
  return view;
}

/* ---- order ---- */

static int is_ascending(const grove_index *x)
{
  for (int64_t i = 1; i < x->count && !grove_index_consecutive(x); i++)
    if (grove_index_at(x, i) < grove_index_at(x, i - 1)) return 0;
  return 1;
}

static int by_value(const void *a, const void *b)
{
  const int64_t *x = a, *y = b;
  return (*x > *y) - (*x < *y);
}

grove_status grove_index_ascend(const grove_index *x, grove_index *out, int *owned)
{
  grove_status status = GROVE_OK;
  int64_t *values = NULL;
  *owned = !is_ascending(x);
  *out = *x;
  if (!*owned) return GROVE_OK;
  GROVE_ROOM(values, x->count);
  for (int64_t i = 0; i < x->count; i++) values[i] = grove_index_at(x, i);
  qsort(values, (size_t)x->count, sizeof *values, by_value);
  *out = (grove_index){0};
  status = grove_index_create(x->count, values, out);
fail:
  if (status != GROVE_OK) *owned = 0;
  free(values);
  return status;
}

/* Without branches, which a processor would have to predict. */
#define COUNT_BELOW(list)                                                                          \
  do {                                                                                             \
    for (int64_t half = n / 2; n > 1; n -= half, half = n / 2)                                     \
      at += (list)[at + half - 1] < value ? half : 0;                                              \
    return at + (n == 1 && (list)[at] < value);                                                    \
  } while (0)

int64_t grove_index_below(const grove_index *x, int64_t value)
{
  int64_t at = 0, n = x->count, below = value - x->first;
  if (x->narrow) COUNT_BELOW(x->narrow);
  if (x->wide) COUNT_BELOW(x->wide);
  return below < 0 ? 0 : below < n ? below : n;
}
