#include "algebra.h"

#include "check.h"

#include <stdlib.h>

grove_forest *multi_of(grove_forest *f)
{
  grove_forest *out = NULL;
  CHECK_OK(grove_forest_multi(f, &out));
  return out;
}

grove_forest *inverse_of(grove_forest *f)
{
  grove_forest *out = NULL;
  CHECK_OK(grove_forest_inverse(f, &out));
  return out;
}

grove_forest *composed(grove_forest *a, grove_forest *b)
{
  grove_forest *out = NULL;
  CHECK_OK(grove_forest_compose(a, b, &out));
  return out;
}

grove_forest *composed_inverse(grove_forest *a, grove_forest *b)
{
  grove_forest *out = NULL;
  CHECK_OK(grove_forest_compose_inverse(a, b, &out));
  return out;
}

grove_forest *with_roots(grove_forest *f, int64_t n, const int64_t *root_index)
{
  grove_forest *out = NULL;
  CHECK_OK(grove_forest_embed_roots(f, n, root_index, &out));
  return out;
}

grove_forest *with_leaves(grove_forest *f, int64_t n, const int64_t *leaf_index)
{
  grove_forest *out = NULL;
  CHECK_OK(grove_forest_embed_leaves(f, n, leaf_index, &out));
  return out;
}

grove_forest *side_by_side(grove_forest *a, grove_forest *b, grove_roots mode)
{
  grove_forest *out = NULL, *both[2] = {a, b};
  CHECK_OK(grove_forest_concatenate(2, both, mode, &out));
  return out;
}

grove_forest *merged(grove_forest *a, grove_forest *b)
{
  grove_forest *out = NULL;
  CHECK_OK(grove_forest_merge(a, b, &out));
  return out;
}

grove_forest *strided(grove_forest *f, int64_t n, int64_t root_stride, int64_t leaf_stride)
{
  grove_forest *out = NULL;
  CHECK_OK(grove_forest_strided(f, n, root_stride, leaf_stride, &out));
  return out;
}

grove_forest *expanded(grove_forest *f, const int64_t *root_size, const int64_t *root_offset,
                       const int64_t *leaf_offset)
{
  grove_forest *out = NULL;
  CHECK_OK(grove_forest_expand(f, root_size, root_offset, leaf_offset, &out));
  return out;
}

grove_forest *shift(const place *p, int64_t nroots, int64_t n, int64_t from, int64_t to)
{
  int64_t *slot = need((size_t)n * sizeof *slot);
  grove_root *root = need((size_t)n * sizeof *root);
  grove_forest *f = NULL;
  for (int64_t i = 0; i < n; i++) {
    slot[i] = to + i;
    root[i] = (grove_root){p->rank, from + i};
  }
  CHECK_OK(grove_forest_create(p->ctx, &f));
  CHECK_OK(grove_forest_set_graph(f, nroots, n, slot, root));
  CHECK_OK(grove_forest_set_up(f));
  free(slot);
  free(root);
  return f;
}

grove_forest *identity(const place *p, int64_t n)
{
  return shift(p, n, n, 0, 0);
}

/* The rank that is k ranks further. */
static int further(const place *p, int k)
{
  return ((p->rank + k) % p->size + p->size) % p->size;
}

grove_forest *turn(const place *p, int64_t n, int k)
{
  grove_root *root = need((size_t)n * sizeof *root);
  grove_forest *f = NULL;
  for (int64_t i = 0; i < n; i++) root[i] = (grove_root){further(p, k), i};
  CHECK_OK(grove_forest_create(p->ctx, &f));
  CHECK_OK(grove_forest_set_graph(f, n, n, NULL, root));
  CHECK_OK(grove_forest_set_up(f));
  free(root);
  return f;
}

void turn_check(const place *p, grove_forest *f, int k)
{
  int64_t n = roots_of(f), *root = need((size_t)n * sizeof *root);
  int64_t *leaf = need((size_t)n * sizeof *leaf);
  CHECK(end_of(f) == n, "%lld roots, but leaves up to %lld", (long long)n, (long long)end_of(f));
  for (int64_t i = 0; i < n; i++) {
    root[i] = 1000 * p->rank + i;
    leaf[i] = -1;
  }
  CHECK_OK(grove_bcast(f, MPI_INT64_T, root, leaf, MPI_REPLACE));
  for (int64_t i = 0; i < n; i++)
    CHECK(leaf[i] == 1000 * further(p, k) + i, "leaf %lld is %lld", (long long)i,
          (long long)leaf[i]);
  for (int64_t i = 0; i < n; i++) leaf[i] = 1000 * p->rank + i;
  CHECK_OK(grove_reduce(f, MPI_INT64_T, leaf, root, MPI_SUM));
  for (int64_t i = 0; i < n; i++)
    CHECK(root[i] == 1000 * (p->rank + further(p, -k)) + 2 * i, "root %lld is %lld", (long long)i,
          (long long)root[i]);
  free(root);
  free(leaf);
}

int64_t roots_of(grove_forest *f)
{
  int64_t n = -1;
  CHECK_OK(grove_forest_sizes(f, &n, NULL));
  return n;
}

int64_t end_of(grove_forest *f)
{
  int64_t end = -1;
  CHECK_OK(grove_forest_leaf_range(f, NULL, &end));
  return end;
}

int64_t *slots_of(grove_forest *f, int64_t *n)
{
  const int64_t *index = NULL;
  CHECK_OK(grove_forest_graph(f, NULL, n, &index, NULL));
  int64_t *slot = need((size_t)*n * sizeof *slot);
  for (int64_t j = 0; j < *n; j++) slot[j] = index != NULL ? index[j] : j;
  return slot;
}

void forests_free(int n, grove_forest **f)
{
  for (int i = 0; i < n; i++) CHECK_OK(grove_forest_free(&f[i]));
}
