#include "oracle.h"

#include "check.h"

#include <stdlib.h>
#include <string.h>

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

/* What the leaf gets comes later: it may be read again. */
static void fetch(const unit *u, const reduction *r, edge e)
{
  unit_copy(u, e.update, e.root);
  unit_apply(u, r, e.root, e.leaf);
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

_Thread_local int oracle_own_first = -1;

static int own_comes_first(op_kind k)
{
  const char *order = getenv("GROVE_ORDER");
  int own = order && strcmp(order, "own-first") == 0;
  if (oracle_own_first >= 0) own = oracle_own_first;
  return own && (k == KIND_REDUCE || k == KIND_FETCH);
}

/* The edges of rank i: only those to its own roots (1), only the others (0), or all (-1). */
static void run_edges(op_kind k, const graph *g, const unit *u, const reduction *r, arrays *a,
                      int64_t *const *place, int i, int own)
{
  static void (*const apply[OP_KINDS])(const unit *, const reduction *, edge) = {
    [KIND_BCAST] = bcast,   [KIND_REDUCE] = reduce,   [KIND_FETCH] = fetch,
    [KIND_GATHER] = gather, [KIND_SCATTER] = scatter,
  };
  const part *p = &g->part[i];
  for (int64_t j = 0; j < p->nleaves; j++) {
    grove_root root = p->root[j];
    if (own >= 0 && own != (root.rank == i)) continue;
    edge e = {.leaf = array_slot(&a->leaf[i], u, part_slot(p, j))};
    e.root = array_slot(&a->root[root.rank], u, place ? place[i][j] : root.index);
    if (k == KIND_FETCH) e.update = array_slot(&a->update[i], u, j);
    apply[k](u, r, e);
  }
}

static void run_all(op_kind k, const graph *g, const unit *u, const reduction *r, arrays *a)
{
  int64_t **place = kind_is_multi(k) ? oracle_places(g) : NULL;
  int own = own_comes_first(k);
  for (int i = 0; i < g->nranks && own; i++) run_edges(k, g, u, r, a, place, i, 1);
  for (int i = 0; i < g->nranks; i++) run_edges(k, g, u, r, a, place, i, own ? 0 : -1);
  oracle_places_free(g, place);
}

/* Updates may lie where leaves are, so they are written when all leaves have been read. */
void oracle_run(op_kind k, const graph *g, const unit *u, const reduction *r, arrays *a)
{
  arrays work = *a;
  if (k != KIND_FETCH) {
    run_all(k, g, u, r, a);
    return;
  }
  work.update = need((size_t)g->nranks * sizeof *work.update);
  for (int i = 0; i < g->nranks; i++) work.update[i] = array_create(u, g->part[i].nleaves);
  run_all(k, g, u, r, &work);
  for (int i = 0; i < g->nranks; i++) {
    const part *p = &g->part[i];
    for (int64_t j = 0; j < p->nleaves; j++)
      unit_copy(u, array_slot(&a->update[i], u, part_slot(p, j)),
                array_slot(&work.update[i], u, j));
    array_free(&work.update[i]);
  }
  free(work.update);
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
