#include "route/lading.h"

#include "base/distinct.h"

#include <stdlib.h>

void grove_lading_free(grove_lading *load)
{
  free(load->values);
  free(load->begin);
  free(load->places);
  *load = (grove_lading){0};
}

/* All lists, one after the other. */
static void join(int nlists, const grove_index *lists, int64_t *out)
{
  for (int i = 0; i < nlists; i++)
    for (int64_t k = 0; k < lists[i].count; k++) *out++ = grove_index_at(&lists[i], k);
}

/* The places of the values of list i, which are not more than its entries. */
static grove_status find_places(const grove_index *list, int i, grove_lading *load)
{
  grove_status status = GROVE_OK;
  int64_t *places = load->places + load->begin[i], n = list->count;
  join(1, list, places);
  GROVE_TRY(grove_distinct_sort(&n, places));
  for (int64_t k = 0, at = 0; k < n; k++) {
    while (load->values[at] != places[k]) at++;
    places[k] = at;
  }
  load->begin[i + 1] = load->begin[i] + n;
fail:
  return status;
}

grove_status grove_lading_create(int nlists, const grove_index *lists, int share, grove_lading *out)
{
  grove_status status = GROVE_OK;
  grove_lading load = {.nlists = nlists};
  GROVE_NEW(load.begin, nlists + 1);
  for (int i = 0; i < nlists; i++) load.begin[i + 1] = load.begin[i] + lists[i].count;
  load.units = load.begin[nlists];
  GROVE_ROOM(load.values, load.units);
  GROVE_ROOM(load.places, load.units);
  join(nlists, lists, load.values);
  if (share) {
    GROVE_TRY(grove_distinct_sort(&load.units, load.values));
    for (int i = 0; i < nlists; i++) GROVE_TRY(find_places(&lists[i], i, &load));
  } else {
    for (int64_t u = 0; u < load.units; u++) load.places[u] = u;
  }
  *out = load;
  return GROVE_OK;
fail:
  grove_lading_free(&load);
  return status;
}
