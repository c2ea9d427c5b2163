#include "base/index.h"

#include <stdlib.h>

static int consecutive(int64_t count, const int64_t *values)
{
  for (int64_t i = 1; i < count; i++)
    if (values[i] - values[0] != i) return 0;
  return 1;
}

static int fits_narrow(int64_t count, const int64_t *values)
{
  for (int64_t i = 0; i < count; i++)
    if (values[i] < INT32_MIN || values[i] > INT32_MAX) return 0;
  return 1;
}

grove_status grove_index_create(int64_t count, const int64_t *values, grove_index *out)
{
  grove_status status = GROVE_OK;
  grove_index x = {.count = count, .first = count > 0 ? values[0] : 0};
  if (!consecutive(count, values)) {
    if (fits_narrow(count, values)) {
      GROVE_NEW(x.narrow, count);
      for (int64_t i = 0; i < count; i++) x.narrow[i] = (int32_t)values[i];
    } else {
      GROVE_NEW(x.wide, count);
      for (int64_t i = 0; i < count; i++) x.wide[i] = values[i];
    }
  }
  *out = x;
  return GROVE_OK;
fail:
  return status;
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
