/* What a rank sends or receives in a call. */
#include "preload.h"

#include <stdlib.h>
#include <string.h>

int grove_pre_side_count(const grove_pre_side *s, int i)
{
  return s->counts ? s->counts[i] : s->count;
}

MPI_Datatype grove_pre_side_type(const grove_pre_side *s, int i)
{
  return s->types ? s->types[i] : s->type;
}

MPI_Aint grove_pre_side_offset(const grove_pre_side *s, int i)
{
  MPI_Aint lower, extent;
  if (s->offsets) return s->offsets[i];
  if (s->one_block) return 0;
  PMPI_Type_get_extent(grove_pre_side_type(s, i), &lower, &extent);
  return extent * (s->steps ? s->steps[i] : (MPI_Aint)i * s->count);
}

int64_t grove_pre_side_bytes(const grove_pre_side *s, int i)
{
  MPI_Count size;
  PMPI_Type_size_x(grove_pre_side_type(s, i), &size);
  return (int64_t)size * grove_pre_side_count(s, i);
}

/* MPI's own types are never freed, so what was once found out holds. */
static int type_plain(MPI_Datatype type)
{
  static _Thread_local MPI_Datatype known;
  static _Thread_local int is_known;
  int integers, addresses, types, combiner;
  MPI_Count size, lower, extent;
  if (is_known && known == type) return 1;
  PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
  if (combiner != MPI_COMBINER_NAMED) return 0;
  PMPI_Type_size_x(type, &size);
  PMPI_Type_get_extent_x(type, &lower, &extent);
  if (lower != 0 || size != extent) return 0;
  known = type;
  is_known = 1;
  return 1;
}

int grove_pre_side_plain(const grove_pre_side *s)
{
  if (!s->types) return s->n == 0 || type_plain(s->type);
  for (int i = 0; i < s->n; i++)
    if (!type_plain(s->types[i])) return 0;
  return 1;
}

int grove_pre_side_valid(const grove_pre_side *s)
{
  for (int i = 0; i < s->n; i++)
    if (grove_pre_side_count(s, i) < 0 || grove_pre_side_type(s, i) == MPI_DATATYPE_NULL) return 0;
  return 1;
}

/* ---- copies ---- */

static const void *copy_list(const void *list, size_t bytes, int *failed)
{
  if (!list) return NULL;
  void *copy = malloc(bytes ? bytes : 1);
  if (copy && bytes)
    memcpy(copy, list, bytes);
  else if (!copy)
    *failed = 1;
  return copy;
}

grove_pre_side *grove_pre_side_copy(const grove_pre_side *s)
{
  grove_pre_side *copy = malloc(sizeof *copy);
  size_t n = (size_t)s->n;
  int failed = 0;
  if (!copy) return NULL;
  *copy = *s;
  copy->buffer = NULL;
  copy->counts = copy_list(s->counts, n * sizeof *s->counts, &failed);
  copy->types = copy_list(s->types, n * sizeof *s->types, &failed);
  copy->steps = copy_list(s->steps, n * sizeof *s->steps, &failed);
  copy->offsets = copy_list(s->offsets, n * sizeof *s->offsets, &failed);
  if (failed) grove_pre_side_free(&copy);
  return copy;
}

void grove_pre_side_free(grove_pre_side **s)
{
  if (!*s) return;
  free((void *)(*s)->counts);
  free((void *)(*s)->types);
  free((void *)(*s)->steps);
  free((void *)(*s)->offsets);
  free(*s);
  *s = NULL;
}

static void release_types(grove_pre_side *s, int n)
{
  MPI_Datatype *types = (MPI_Datatype *)s->types;
  for (int i = 0; types && i < n; i++) PMPI_Type_free(&types[i]);
  if (!types && s->type != MPI_DATATYPE_NULL) PMPI_Type_free(&s->type);
}

grove_pre_side *grove_pre_side_keep(const grove_pre_side *s)
{
  grove_pre_side *kept = grove_pre_side_copy(s);
  if (!kept) return NULL;
  kept->buffer = s->buffer;
  MPI_Datatype *types = (MPI_Datatype *)kept->types;
  for (int i = 0; types && i < s->n; i++) PMPI_Type_dup(s->types[i], &types[i]);
  if (!types && s->type != MPI_DATATYPE_NULL) PMPI_Type_dup(s->type, &kept->type);
  return kept;
}

void grove_pre_side_release(grove_pre_side **s)
{
  if (!*s) return;
  release_types(*s, (*s)->n);
  grove_pre_side_free(s);
}

static int same_list(const void *a, const void *b, size_t bytes)
{
  if (!a || !b) return a == b;
  return memcmp(a, b, bytes) == 0;
}

int grove_pre_side_same(const grove_pre_side *a, const grove_pre_side *b)
{
  size_t n = (size_t)a->n;
  if (a->n != b->n || a->count != b->count || a->type != b->type) return 0;
  return same_list(a->counts, b->counts, n * sizeof *a->counts) &&
         same_list(a->steps, b->steps, n * sizeof *a->steps) &&
         same_list(a->types, b->types, n * sizeof *a->types) &&
         same_list(a->offsets, b->offsets, n * sizeof *a->offsets);
}

int grove_pre_side_same_bytes(const grove_pre_side *s, const int64_t *bytes)
{
  for (int i = 0; i < s->n; i++)
    if (grove_pre_side_bytes(s, i) != bytes[i]) return 0;
  return 1;
}
