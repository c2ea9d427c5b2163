#include "exercise.h"

#include "check.h"
#include "oracle.h"

void exercise_draw(exercise *e, const units *types, rng *r)
{
  e->u = &types->unit[rng_below(r, types->n)];
  e->r = &e->u->reduction[rng_below(r, e->u->nreductions)];
  e->reduces = (int)rng_below(r, 2);
  e->seed = rng_next(r);
}

void exercise_open(exercise *e)
{
  e->all = arrays_create(e->g, e->u);
  arrays_fill(&e->all, e->u, e->r, mix2(e->seed, 0));
  e->root = array_copy(&e->all.root[e->me]);
  e->leaf = array_copy(&e->all.leaf[e->me]);
}

void exercise_renew(exercise *e, int64_t round)
{
  arrays_fill(&e->all, e->u, e->r, mix2(e->seed, (uint64_t)round));
  array_assign(&e->root, &e->all.root[e->me]);
  array_assign(&e->leaf, &e->all.leaf[e->me]);
}

static void *roots(const exercise *e)
{
  return e->g->part[e->me].nroots == 0 && e->seed % 2 ? NULL : e->root.slot0;
}

static void *leaves(const exercise *e)
{
  return e->g->part[e->me].nleaves == 0 && e->seed % 2 ? NULL : e->leaf.slot0;
}

void exercise_init(exercise *e)
{
  if (e->reduces)
    CHECK_OK(grove_reduce_init(e->f, e->u->type, leaves(e), roots(e), e->r->op, &e->op));
  else
    CHECK_OK(grove_bcast_init(e->f, e->u->type, roots(e), leaves(e), e->r->op, &e->op));
  CHECK(e->op != NULL, "an operation that was made is NULL");
}

void exercise_begin(exercise *e)
{
  if (e->reduces)
    CHECK_OK(grove_reduce_begin(e->f, e->u->type, leaves(e), roots(e), e->r->op, &e->op));
  else
    CHECK_OK(grove_bcast_begin(e->f, e->u->type, roots(e), leaves(e), e->r->op, &e->op));
  CHECK(e->op != NULL, "an operation that was begun is NULL");
}

void exercise_block(exercise *e)
{
  if (e->reduces)
    CHECK_OK(grove_reduce(e->f, e->u->type, leaves(e), roots(e), e->r->op));
  else
    CHECK_OK(grove_bcast(e->f, e->u->type, roots(e), leaves(e), e->r->op));
}

void exercise_check(exercise *e)
{
  (e->reduces ? oracle_reduce : oracle_bcast)(e->g, e->u, e->r, &e->all);
  char what[160];
  snprintf(what, sizeof what,
           "%s of %s with %s on '%s', %d ranks:", e->reduces ? "reduce" : "bcast", e->u->name,
           e->r->name, graph_kind_name(e->g->kind), e->g->nranks);
  array_check(e->u, &e->root, &e->all.root[e->me], "root", what);
  array_check(e->u, &e->leaf, &e->all.leaf[e->me], "leaf", what);
}

void exercise_close(exercise *e)
{
  CHECK_OK(grove_op_free(&e->op));
  CHECK(e->op == NULL, "a freed operation is not NULL");
  array_free(&e->root);
  array_free(&e->leaf);
  arrays_free(&e->all);
}
