#include "partitioned/layout.h"

#include "partitioned/way.h"

#include <stdlib.h>

/* The last of n + 1 ascending numbers that is at most x, but not the end. */
static int64_t find_among(const int64_t *ascending, int64_t n, int64_t x)
{
  int64_t low = 0, high = n - 1;
  while (low < high) {
    int64_t middle = (low + high + 1) / 2;
    if (ascending[middle] <= x)
      low = middle;
    else
      high = middle - 1;
  }
  return low;
}

/* ---- groups ---- */

grove_status grove_layout_of_groups(int64_t parts, int64_t bytes, int64_t ngroups, int64_t chunk,
                                    grove_layout *out)
{
  int64_t part_bytes = parts > 0 ? bytes / parts : 0, n = 0;
  *out = (grove_layout){.bytes = bytes, .chunk = chunk, .ngroups = bytes > 0 ? ngroups : 1};
  GROVE_PASS_NEW_ALL(GROVE_WISH(out->offsets, out->ngroups + 1),
                     GROVE_WISH(out->first, out->ngroups + 1));
  for (int64_t g = 0; g <= out->ngroups; g++)
    out->offsets[g] = grove_even_group(parts, out->ngroups, g) * part_bytes;
  for (int64_t g = 0; g < out->ngroups; g++) {
    out->first[g] = n;
    n += (out->offsets[g + 1] - out->offsets[g] + chunk - 1) / chunk;
  }
  out->first[out->ngroups] = n;
  return GROVE_OK;
}

static int64_t next_packet(const grove_layout *l, int64_t offset, int64_t *number, int64_t *group)
{
  int64_t g = find_among(l->offsets, l->ngroups, offset);
  int64_t k = (offset - l->offsets[g]) / l->chunk, stop = l->offsets[g] + (k + 1) * l->chunk;
  *group = g;
  *number = l->first[g] + k;
  return (stop < l->offsets[g + 1] ? stop : l->offsets[g + 1]) - offset;
}

static void find_packet(const grove_layout *l, int64_t number, int64_t *offset, int64_t *bytes)
{
  int64_t g = find_among(l->first, l->ngroups, number), ignored;
  *offset = l->offsets[g] + (number - l->first[g]) * l->chunk;
  *bytes = next_packet(l, *offset, &number, &ignored);
}

/* ---- runs ---- */

/* The number of the run of one grain from `first` on; those of more grains follow. */
static int64_t number_of(const grove_layout *l, int64_t first)
{
  return first * l->n - first * (first - 1) / 2;
}

grove_status grove_layout_of_runs(int64_t parts, int64_t bytes, int64_t chunk, grove_layout *out)
{
  int64_t each = parts > GROVE_MOST_GRAINS ? (parts - 1) / GROVE_MOST_GRAINS + 1 : 1;
  *out = (grove_layout){.bytes = bytes, .chunk = chunk};
  if (bytes == 0) return GROVE_OK;
  out->grain = bytes / parts * each;
  out->n = (parts + each - 1) / each;
  return GROVE_OK;
}

static int64_t next_grains(const grove_layout *l, int64_t offset, int64_t end, int64_t *number)
{
  int is_whole = offset % l->grain == 0 && (end % l->grain == 0 || end == l->bytes);
  int64_t first = offset / l->grain, grains = (end - offset + l->grain - 1) / l->grain;
  *number = is_whole && end - offset <= l->chunk ? number_of(l, first) + grains - 1 : -1;
  return end - offset <= l->chunk ? end - offset : l->chunk;
}

static void find_grains(const grove_layout *l, int64_t number, int64_t *offset, int64_t *bytes)
{
  int64_t low = 0, high = l->n - 1;
  while (low < high) {
    int64_t middle = (low + high + 1) / 2;
    if (number_of(l, middle) <= number)
      low = middle;
    else
      high = middle - 1;
  }
  int64_t end = (low + number - number_of(l, low) + 1) * l->grain;
  *offset = low * l->grain;
  *bytes = (end < l->bytes ? end : l->bytes) - *offset;
}

/* ---- either ---- */

void grove_layout_free(grove_layout *layout)
{
  free(layout->offsets);
  *layout = (grove_layout){0};
}

int64_t grove_layout_numbers(const grove_layout *layout)
{
  int64_t n =
    layout->ngroups > 0 ? layout->first[layout->ngroups] : layout->n * (layout->n + 1) / 2;
  return n > 0 ? n : 1;
}

int64_t grove_layout_piece(const grove_layout *layout, int64_t offset, int64_t end, int64_t *number,
                           int64_t *group)
{
  *group = 0;
  if (layout->ngroups > 0) return next_packet(layout, offset, number, group);
  return next_grains(layout, offset, end, number);
}

void grove_layout_find(const grove_layout *layout, int64_t number, int64_t *offset, int64_t *bytes)
{
  if (layout->ngroups > 0)
    find_packet(layout, number, offset, bytes);
  else
    find_grains(layout, number, offset, bytes);
}
