#include "route/contents.h"

#include "base/distinct.h"

#include <stdlib.h>

void grove_contents_free(grove_contents *contents)
{
  free(contents->values);
  free(contents->begin);
  free(contents->places);
  *contents = (grove_contents){0};
}

/* All lists, one after the other. */
static void join_needs(int nlists, const grove_index *lists, int64_t *out)
{
  for (int i = 0; i < nlists; i++)
    for (int64_t k = 0; k < lists[i].count; k++) *out++ = grove_index_at(&lists[i], k);
}

/* The places of the values of list i; no more than it has entries. */
static grove_status find_in_block(const grove_index *list, int i, grove_contents *contents)
{
  int64_t *places = contents->places + contents->begin[i], n = list->count;
  join_needs(1, list, places);
  GROVE_PASS(grove_distinct_sort(&n, places));
  for (int64_t k = 0, at = 0; k < n; k++) {
    while (contents->values[at] != places[k]) at++;
    places[k] = at;
  }
  contents->begin[i + 1] = contents->begin[i] + n;
  return GROVE_OK;
}

grove_status grove_contents_create(int nlists, const grove_index *lists, int share,
                                   grove_contents *out)
{
  grove_status status = GROVE_OK;
  grove_contents contents = {.nlists = nlists};
  GROVE_NEW(contents.begin, nlists + 1);
  for (int i = 0; i < nlists; i++) contents.begin[i + 1] = contents.begin[i] + lists[i].count;
  contents.units = contents.begin[nlists];
  GROVE_ROOM(contents.values, contents.units);
  GROVE_ROOM(contents.places, contents.units);
  join_needs(nlists, lists, contents.values);
  if (share) {
    GROVE_TRY(grove_distinct_sort(&contents.units, contents.values));
    for (int i = 0; i < nlists; i++) GROVE_TRY(find_in_block(&lists[i], i, &contents));
  } else {
    for (int64_t u = 0; u < contents.units; u++) contents.places[u] = u;
  }
  *out = contents;
  return GROVE_OK;
fail:
  grove_contents_free(&contents);
  return status;
}
