#include "oracle.h"

void oracle_bcast(const graph *g, const unit *u, const reduction *r, arrays *a)
{
  for (int i = 0; i < g->nranks; i++) {
    const part *p = &g->part[i];
    for (int64_t j = 0; j < p->nleaves; j++)
      unit_apply(u, r, array_slot(&a->leaf[i], u, part_slot(p, j)),
                 array_slot(&a->root[p->root[j].rank], u, p->root[j].index));
  }
}

void oracle_reduce(const graph *g, const unit *u, const reduction *r, arrays *a)
{
  for (int i = 0; i < g->nranks; i++) {
    const part *p = &g->part[i];
    for (int64_t j = 0; j < p->nleaves; j++)
      unit_apply(u, r, array_slot(&a->root[p->root[j].rank], u, p->root[j].index),
                 array_slot(&a->leaf[i], u, part_slot(p, j)));
  }
}
