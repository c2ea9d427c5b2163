#include "arrays.h"

#include "check.h"

#include <stdlib.h>
#include <string.h>

enum { MARGIN = 64 }; /* bytes before and behind the data; keeps slot 0 aligned for every type */

static size_t round_up(ptrdiff_t bytes)
{
  return bytes <= 0 ? 0 : ((size_t)bytes + MARGIN - 1) / MARGIN * MARGIN;
}

size_t array_room(const unit *u, int64_t nslots)
{
  return 2 * MARGIN + round_up(-u->first) + (size_t)(nslots * u->extent) +
         round_up(u->last - u->extent);
}

array array_in(const unit *u, int64_t nslots, void *memory)
{
  CHECK(u->most_slots == 0 || nslots <= u->most_slots, "%lld slots of '%s' would overlap",
        (long long)nslots, u->name);
  array a = {.memory = memory, .nslots = nslots, .bytes = array_room(u, nslots)};
  a.slot0 = a.memory + MARGIN + round_up(-u->first);
  return a;
}

array array_create(const unit *u, int64_t nslots)
{
  return array_in(u, nslots, need(array_room(u, nslots)));
}

void array_free(array *a)
{
  free(a->memory);
  *a = (array){0};
}

static void fill_canaries(array *a, uint64_t seed)
{
  for (size_t i = 0; i < a->bytes; i++) a->memory[i] = (unsigned char)(mix(seed) + i * 37);
}

void array_fill(array *a, const unit *u, const reduction *r, uint64_t seed)
{
  a->product = r->code == OP_PROD;
  fill_canaries(a, seed);
  for (int64_t slot = 0; slot < a->nslots; slot++)
    for (int i = 0; i < u->npieces; i++)
      scalar_draw(u->piece[i].kind, r->code, mix2(seed, (uint64_t)(slot * u->npieces + i)),
                  array_slot(a, u, slot) + u->piece[i].offset);
}

void array_fill_rough(array *a, const unit *u, uint64_t seed)
{
  fill_canaries(a, seed);
  for (int64_t slot = 0; slot < a->nslots; slot++)
    for (int i = 0; i < u->npieces; i++)
      scalar_draw_rough(u->piece[i].kind, mix2(seed, (uint64_t)(slot * u->npieces + i)),
                        array_slot(a, u, slot) + u->piece[i].offset);
}

array array_copy(const array *a)
{
  array copy = *a;
  copy.memory = need(a->bytes);
  memcpy(copy.memory, a->memory, a->bytes);
  copy.slot0 = copy.memory + (a->slot0 - a->memory);
  return copy;
}

void array_assign(array *to, const array *from)
{
  CHECK(to->bytes == from->bytes, "arrays of %zu and %zu bytes", to->bytes, from->bytes);
  memcpy(to->memory, from->memory, from->bytes);
  to->product = from->product;
}

static void scrub(const unit *u, const array *a, int product)
{
  for (int64_t slot = 0; slot < a->nslots; slot++)
    for (int i = 0; i < u->npieces; i++) {
      unsigned char *value = array_slot(a, u, slot) + u->piece[i].offset;
      scalar_scrub(u->piece[i].kind, value);
      if (product) scalar_scrub_zeros(u->piece[i].kind, value);
    }
}

void array_check(const unit *u, const array *got, const array *expected, const char *side,
                 const char *what)
{
  scrub(u, got, got->product || expected->product);
  scrub(u, expected, got->product || expected->product);
  CHECK(got->bytes == expected->bytes, "arrays of %zu and %zu bytes", got->bytes, expected->bytes);
  if (memcmp(got->memory, expected->memory, got->bytes) == 0) return;
  size_t at = 0;
  while (got->memory[at] == expected->memory[at]) at++;
  ptrdiff_t offset = (got->memory + at) - got->slot0;
  ptrdiff_t extent = u->extent > 0 ? u->extent : 1;
  CHECK(0, "%s %s array differs first at byte %td (slot %td of %lld, its byte %td): %#x, not %#x",
        what, side, offset, offset / extent, (long long)got->nslots, offset % extent,
        got->memory[at], expected->memory[at]);
}

/* Slots of a rank's root array. */
static int64_t root_slots(const graph *g, op_kind k, int rank)
{
  return kind_is_multi(k) ? graph_edges_to(g, rank) : g->part[rank].nroots;
}

arrays arrays_create(const graph *g, const unit *u, op_kind k, int in_place)
{
  arrays a = {.nranks = g->nranks};
  a.root = need((size_t)g->nranks * sizeof *a.root);
  a.leaf = need((size_t)g->nranks * sizeof *a.leaf);
  a.update = in_place ? a.leaf : need((size_t)g->nranks * sizeof *a.update);
  for (int i = 0; i < g->nranks; i++) {
    a.root[i] = array_create(u, root_slots(g, k, i));
    a.leaf[i] = array_create(u, g->part[i].nslots);
    if (!in_place) a.update[i] = array_create(u, k == KIND_FETCH ? g->part[i].nslots : 0);
  }
  return a;
}

void arrays_fill(arrays *a, const unit *u, const reduction *r, uint64_t seed)
{
  for (int i = 0; i < a->nranks; i++) {
    array_fill(&a->root[i], u, r, mix2(seed, (uint64_t)(3 * i)));
    array_fill(&a->leaf[i], u, r, mix2(seed, (uint64_t)(3 * i + 1)));
    if (a->update != a->leaf) array_fill(&a->update[i], u, r, mix2(seed, (uint64_t)(3 * i + 2)));
  }
}

static void free_each(array *a, int n)
{
  for (int i = 0; i < n; i++) array_free(&a[i]);
  free(a);
}

void arrays_free(arrays *a)
{
  if (a->update != a->leaf) free_each(a->update, a->nranks);
  free_each(a->root, a->nranks);
  free_each(a->leaf, a->nranks);
  *a = (arrays){0};
}
