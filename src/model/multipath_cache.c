/* Decisions, kept by size class. An entry is made once and never changed. A thread that finds none
 * makes one and stores it, unless another thread was faster. */
#include "model/multipath_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- size classes ---- */

/* Sizes below 8 have a class each; above, the three bits after the leading one decide. */
int grove_size_class(int64_t bytes)
{
  if (bytes < 8) return bytes < 0 ? 0 : (int)bytes;
  int octave = 63 - __builtin_clzll((unsigned long long)bytes);
  return 8 * (octave - 2) + (int)(bytes >> (octave - 3) & 7);
}

double grove_size_class_centre(int size_class)
{
  if (size_class < 8) return size_class;
  int octave = size_class / 8 + 2, part = size_class % 8;
  return octave == 3 ? 8.0 + part : ldexp(8.5 + part, octave - 3);
}

/* ---- the cache ---- */

struct grove_copy_cache {
  grove_copies set;
  grove_solver solver;
  double threshold;
  grove_copy_decision *kept[GROVE_SIZE_CLASSES];
};

grove_status grove_copy_cache_create(const grove_machine *m, int from, int to, const char *paths,
                                     grove_solver solver, double threshold, grove_copy_cache **out)
{
  grove_status status = GROVE_OK;
  grove_copy_cache *cache = NULL;
  GROVE_NEW(cache, 1);
  cache->solver = solver;
  cache->threshold = threshold;
  GROVE_TRY(grove_copies_add(&cache->set, m, from, to, 1, paths));
  *out = cache;
  return GROVE_OK;
fail:
  free(cache);
  return status;
}

void grove_copy_cache_free(grove_copy_cache **pointer)
{
  grove_copy_cache *cache = *pointer;
  if (!cache) return;
  for (int i = 0; i < GROVE_SIZE_CLASSES; i++) free(cache->kept[i]);
  free(cache);
  *pointer = NULL;
}

/* In the order of launching. */
static void take_entry(const grove_split *split, double gain, grove_copy_decision *out)
{
  out->gain = gain;
  out->seconds = split->checked;
  out->npaths = 0;
  for (int i = 0; i < split->npaths; i++) {
    const grove_path_load *load = &split->load[i];
    if (!(load->share > 0)) continue;
    int place = load->place;
    out->npaths++;
    out->path[place] = i;
    out->share[place] = load->share;
    out->chunks[place] = load->chunks;
  }
}

/* The set for this many bytes; copies only the used part of its large arrays. */
static void set_for(const grove_copies *from, double bytes, grove_copies *out)
{
  out->m = from->m;
  out->count = 1;
  out->copy[0] = from->copy[0];
  out->copy[0].bytes = bytes;
  out->nresources = from->nresources;
  memcpy(out->resource, from->resource, (size_t)from->nresources * sizeof *from->resource);
  out->alone = from->alone;
}

static grove_status decide_split(const grove_copy_cache *cache, double bytes,
                                 grove_copy_decision *out)
{
  grove_copies set;
  grove_split split;
  set_for(&cache->set, bytes, &set);
  grove_status status = grove_multipath_solve(&set, cache->solver, &split);
  if (status != GROVE_OK) return status;
  double gain = grove_multipath_single(&set, NULL, NULL) / split.checked;
  if (gain >= cache->threshold) {
    take_entry(&split, gain, out);
    return GROVE_OK;
  }
  int entry = 0;
  if (set.copy[0].path[0].kind == GROVE_PATH_DIRECT)
    grove_exact_alone(&set.copy[0], 1, &split);
  else
    grove_multipath_single(&set, &split, &entry);
  split.npaths = 1;
  take_entry(&split, 1, out);
  out->path[0] = entry;
  return GROVE_OK;
}

const grove_copy_decision *grove_copy_decide(grove_copy_cache *cache, int64_t bytes)
{
  int i = grove_size_class(bytes);
  grove_copy_decision *found = __atomic_load_n(&cache->kept[i], __ATOMIC_ACQUIRE);
  if (found) return found;
  grove_copy_decision *made = malloc(sizeof *made);
  if (!made || decide_split(cache, grove_size_class_centre(i), made) != GROVE_OK) {
    free(made);
    return NULL;
  }
  if (__atomic_compare_exchange_n(&cache->kept[i], &found, made, 0, __ATOMIC_ACQ_REL,
                                  __ATOMIC_ACQUIRE))
    return made;
  free(made); /* another thread stored the same entry */
  return found;
}

void grove_copy_decision_bytes(const grove_copy_decision *d, int64_t bytes, int64_t *out)
{
  int64_t left = bytes;
  for (int i = 1; i < d->npaths; i++) {
    int64_t part =
      (int64_t)(d->share[i] * (double)bytes) / GROVE_SPLIT_ALIGNMENT * GROVE_SPLIT_ALIGNMENT;
    out[i] = part;
    left -= part;
  }
  out[0] = left;
}
