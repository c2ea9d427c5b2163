#include "serial.h"

#include "check.h"

#include <stdlib.h>

list *lists_create(int nranks)
{
  list *l = need((size_t)nranks * sizeof *l);
  for (int i = 0; i < nranks; i++) l[i] = (list){0};
  return l;
}

void list_resize(list *l, int64_t n)
{
  free(l->item);
  *l = (list){n, need((size_t)n * sizeof *l->item)};
}

void lists_free(list *l, int nranks)
{
  for (int i = 0; i < nranks; i++) free(l[i].item);
  free(l);
}

/* ---- roots and leaves ---- */

sketch *serial_inverse(const sketch *f)
{
  sketch *out = sketch_create(f->nranks);
  for (int i = 0; i < f->nranks; i++) {
    const sketch_part *p = &f->part[i];
    out->part[i].nroots = p->nslots;
    for (int64_t j = 0; j < p->nslots; j++)
      if (sketch_is_leaf(p, j))
        sketch_join(out, p->slot[j].rank, p->slot[j].index, (grove_root){i, j});
  }
  return out;
}

sketch *serial_compose(const sketch *a, const sketch *b)
{
  sketch *out = sketch_roots_of(a);
  for (int i = 0; i < b->nranks; i++)
    for (int64_t j = 0; j < b->part[i].nslots; j++) {
      if (!sketch_is_leaf(&b->part[i], j)) continue;
      grove_root middle = b->part[i].slot[j];
      const sketch_part *there = &a->part[middle.rank];
      if (sketch_is_leaf(there, middle.index)) sketch_join(out, i, j, there->slot[middle.index]);
    }
  return out;
}

sketch *serial_compose_inverse(const sketch *a, const sketch *b)
{
  sketch *out = sketch_roots_of(a);
  for (int i = 0; i < a->nranks; i++)
    for (int64_t j = 0; j < b->part[i].nslots; j++) {
      if (!sketch_is_leaf(&a->part[i], j) || !sketch_is_leaf(&b->part[i], j)) continue;
      grove_root end = b->part[i].slot[j];
      sketch_join(out, end.rank, end.index, a->part[i].slot[j]);
    }
  return out;
}

/* ---- parts of a forest ---- */

sketch *serial_embed_roots(const sketch *f, const list *root)
{
  sketch *out = sketch_roots_of(f);
  for (int i = 0; i < f->nranks; i++)
    for (int64_t j = 0; j < f->part[i].nslots; j++) {
      grove_root r = f->part[i].slot[j];
      if (sketch_is_leaf(&f->part[i], j) && list_has(&root[r.rank], r.index))
        sketch_join(out, i, j, r);
    }
  return out;
}

sketch *serial_embed_leaves(const sketch *f, const list *slot)
{
  sketch *out = sketch_roots_of(f);
  for (int i = 0; i < f->nranks; i++)
    for (int64_t j = 0; j < f->part[i].nslots; j++)
      if (sketch_is_leaf(&f->part[i], j) && list_has(&slot[i], j))
        sketch_join(out, i, j, f->part[i].slot[j]);
  return out;
}

/* ---- several forests ---- */

static int64_t all_roots(const sketch *s)
{
  int64_t n = 0;
  for (int i = 0; i < s->nranks; i++) n += s->part[i].nroots;
  return n;
}

/* The root that a number stands for, all roots of rank 0 coming first. */
static grove_root find_number(const sketch *s, int64_t number)
{
  int rank = 0;
  while (number >= s->part[rank].nroots) number -= s->part[rank++].nroots;
  return (grove_root){rank, number};
}

/* What a root of forest k is in all of them together, `out` having their roots already. */
static grove_root place_root(const sketch *out, sketch *const *f, int k, grove_roots mode,
                             grove_root r)
{
  int64_t number = r.index;
  if (mode == GROVE_ROOTS_SHARED) return r;
  if (mode == GROVE_ROOTS_LOCAL) {
    for (int i = 0; i < k; i++) r.index += f[i]->part[r.rank].nroots;
    return r;
  }
  for (int i = 0; i < k; i++) number += all_roots(f[i]);
  for (int i = 0; i < r.rank; i++) number += f[k]->part[i].nroots;
  return find_number(out, number);
}

sketch *serial_concatenate(int n, sketch *const *f, grove_roots mode)
{
  sketch *out = sketch_roots_of(f[0]);
  for (int k = 1; k < n && mode != GROVE_ROOTS_SHARED; k++)
    for (int i = 0; i < out->nranks; i++) out->part[i].nroots += f[k]->part[i].nroots;
  for (int i = 0; i < out->nranks; i++) {
    int64_t before = 0;
    for (int k = 0; k < n; k++) {
      const sketch_part *p = &f[k]->part[i];
      for (int64_t j = 0; j < p->nslots; j++)
        if (sketch_is_leaf(p, j))
          sketch_join(out, i, before + j, place_root(out, f, k, mode, p->slot[j]));
      before += p->nslots;
    }
  }
  return out;
}

sketch *serial_merge(const sketch *a, const sketch *b)
{
  sketch *out = sketch_roots_of(a);
  for (int i = 0; i < a->nranks; i++) {
    const sketch_part *first = &a->part[i], *second = &b->part[i];
    for (int64_t j = 0; j < first->nslots || j < second->nslots; j++)
      if (sketch_is_leaf(second, j))
        sketch_join(out, i, j, second->slot[j]);
      else if (sketch_is_leaf(first, j))
        sketch_join(out, i, j, first->slot[j]);
  }
  return out;
}

/* ---- several values a point ---- */

/* Where value k of an entry lies. */
static int64_t at_stride(int64_t entry, int64_t k, int64_t n, int64_t stride)
{
  return stride == 0 ? entry * n + k : entry + k * stride;
}

sketch *serial_strided(const sketch *f, int64_t n, const int64_t *root_stride,
                       const int64_t *leaf_stride)
{
  sketch *out = sketch_create(f->nranks);
  for (int i = 0; i < f->nranks; i++) {
    const sketch_part *p = &f->part[i];
    if (p->nroots > 0) out->part[i].nroots = 1 + at_stride(p->nroots - 1, n - 1, n, root_stride[i]);
    for (int64_t j = 0; j < p->nslots; j++)
      for (int64_t k = 0; sketch_is_leaf(p, j) && k < n; k++) {
        grove_root r = p->slot[j];
        r.index = at_stride(r.index, k, n, root_stride[r.rank]);
        sketch_join(out, i, at_stride(j, k, n, leaf_stride[i]), r);
      }
  }
  return out;
}

/* Where the values of each root begin, on every rank; and where they end. */
static list *root_places(sketch *out, const list *size, const list *offset)
{
  list *at = lists_create(out->nranks);
  for (int i = 0; i < out->nranks; i++) {
    int64_t before = 0;
    list_resize(&at[i], size[i].n);
    for (int64_t k = 0; k < size[i].n; k++) {
      at[i].item[k] = offset[i].item != NULL ? offset[i].item[k] : before;
      before += size[i].item[k];
      int64_t end = at[i].item[k] + size[i].item[k];
      if (end > out->part[i].nroots) out->part[i].nroots = end;
    }
  }
  return at;
}

sketch *serial_expand(const sketch *f, const list *root_size, const list *root_offset,
                      const list *leaf_offset)
{
  sketch *out = sketch_create(f->nranks);
  list *root_at = root_places(out, root_size, root_offset);
  for (int i = 0; i < f->nranks; i++) {
    const sketch_part *p = &f->part[i];
    int64_t before = 0;
    for (int64_t j = 0; j < p->nslots; j++) {
      if (!sketch_is_leaf(p, j)) continue;
      grove_root r = p->slot[j];
      int64_t size = root_size[r.rank].item[r.index], root = root_at[r.rank].item[r.index];
      int64_t leaf = leaf_offset[i].item != NULL ? leaf_offset[i].item[j] : before;
      for (int64_t k = 0; k < size; k++)
        sketch_join(out, i, leaf + k, (grove_root){r.rank, root + k});
      before += size;
    }
  }
  lists_free(root_at, f->nranks);
  return out;
}

/* ---- names ---- */

static grove_root find_name(int nranks, const list *name, int64_t sought)
{
  for (int i = 0; i < nranks; i++)
    for (int64_t k = 0; k < name[i].n; k++)
      if (name[i].item[k] == sought) return (grove_root){i, k};
  return (grove_root){SKETCH_DOT, 0};
}

sketch *serial_match(int nranks, const list *name, const list *sought)
{
  sketch *out = sketch_create(nranks);
  for (int i = 0; i < nranks; i++) {
    out->part[i].nroots = name[i].n;
    for (int64_t j = 0; j < sought[i].n; j++) {
      grove_root r = find_name(nranks, name, sought[i].item[j]);
      if (r.rank != SKETCH_DOT) sketch_join(out, i, j, r);
    }
  }
  return out;
}
