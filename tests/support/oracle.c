#include "oracle.h"

#include "check.h"

#include <stdlib.h>

/* Leaf j of rank i, its root, and where their values are. */
typedef struct edge {
  unsigned char *root, *leaf, *update;
} edge;

static void bcast(const unit *u, const reduction *r, edge e)
{
  unit_apply(u, r, e.leaf, e.root);
}

static void reduce(const unit *u, const reduction *r, edge e)
{
  unit_apply(u, r, e.root, e.leaf);
}

/* The update may lie where the leaf is. */
static void fetch(const unit *u, const reduction *r, edge e)
{
  array before = array_create(u, 1);
  unit_copy(u, before.slot0, e.root);
  unit_apply(u, r, e.root, e.leaf);
  unit_copy(u, e.update, before.slot0);
  array_free(&before);
}

static void gather(const unit *u, const reduction *r, edge e)
{
  (void)r;
  unit_copy(u, e.root, e.leaf);
}

static void scatter(const unit *u, const reduction *r, edge e)
{
  (void)r;
  unit_copy(u, e.leaf, e.root);
}

void oracle_run(op_kind k, const graph *g, const unit *u, const reduction *r, arrays *a)
{
  static void (*const apply[OP_KINDS])(const unit *, const reduction *, edge) = {
    [KIND_BCAST] = bcast,   [KIND_REDUCE] = reduce,   [KIND_FETCH] = fetch,
    [KIND_GATHER] = gather, [KIND_SCATTER] = scatter,
  };
  int64_t **place = kind_is_multi(k) ? oracle_places(g) : NULL;
  for (int i = 0; i < g->nranks; i++) {
    const part *p = &g->part[i];
    for (int64_t j = 0; j < p->nleaves; j++) {
      int64_t slot = part_slot(p, j);
      edge e = {.leaf = array_slot(&a->leaf[i], u, slot)};
      e.root = array_slot(&a->root[p->root[j].rank], u, place ? place[i][j] : p->root[j].index);
      if (k == KIND_FETCH) e.update = array_slot(&a->update[i], u, slot);
      apply[k](u, r, e);
    }
  }
  oracle_places_free(g, place);
}

/* ---- multiroots ---- */

/* first[i][k]: the place of root k's first leaf among the multiroots of rank i. */
static int64_t **first_places(const graph *g)
{
  int64_t **first = need((size_t)g->nranks * sizeof *first);
  for (int i = 0; i < g->nranks; i++) {
    first[i] = calloc((size_t)g->part[i].nroots + 1, sizeof *first[i]);
    CHECK(first[i] != NULL, "no memory for %lld roots", (long long)g->part[i].nroots);
  }
  for (int i = 0; i < g->nranks; i++)
    for (int64_t j = 0; j < g->part[i].nleaves; j++)
      first[g->part[i].root[j].rank][g->part[i].root[j].index + 1]++;
  for (int i = 0; i < g->nranks; i++)
    for (int64_t k = 0; k < g->part[i].nroots; k++) first[i][k + 1] += first[i][k];
  return first;
}

int64_t **oracle_places(const graph *g)
{
  int64_t **next = first_places(g), **place = need((size_t)g->nranks * sizeof *place);
  for (int i = 0; i < g->nranks; i++) {
    const part *p = &g->part[i];
    place[i] = need((size_t)p->nleaves * sizeof *place[i]);
    for (int64_t j = 0; j < p->nleaves; j++)
      place[i][j] = next[p->root[j].rank][p->root[j].index]++;
  }
  oracle_places_free(g, next);
  return place;
}

void oracle_places_free(const graph *g, int64_t **place)
{
  for (int i = 0; place != NULL && i < g->nranks; i++) free(place[i]);
  free(place);
}
