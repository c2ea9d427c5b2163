#include "exercise.h"

#include "apart.h"
#include "check.h"
#include "oracle.h"

/* Whether all arrays can be as long as the graph wants them. */
static int suits(const unit *u, const graph *g, op_kind k)
{
  for (int i = 0; u->most_slots > 0 && i < g->nranks; i++) {
    int64_t roots = kind_is_multi(k) ? graph_edges_to(g, i) : g->part[i].nroots;
    if (roots > u->most_slots || g->part[i].nslots > u->most_slots) return 0;
  }
  return 1;
}

void exercise_draw_of(exercise *e, op_kind k, const units *types, rng *r)
{
  do e->u = &types->unit[rng_below(r, types->n)];
  while (!suits(e->u, e->g, k));
  e->r = &e->u->reduction[rng_below(r, e->u->nreductions)];
  e->kind = k;
  e->in_place = k == KIND_FETCH && rng_one_in(r, 2);
  e->seed = rng_next(r);
}

void exercise_draw(exercise *e, const units *types, rng *r)
{
  exercise_draw_of(e, (op_kind)rng_below(r, OP_KINDS), types, r);
}

void exercise_choose(exercise *e, op_kind k, const units *types, const char *unit_name,
                     const char *operation, rng *r)
{
  e->kind = k;
  e->u = units_find(types, unit_name);
  e->r = unit_reduction(e->u, operation);
  e->seed = rng_next(r);
}

int exercise_set(exercise *e, op_kind k, const unit *u, int j)
{
  if (!suits(u, e->g, k) || (kind_is_multi(k) && j > 0)) return 0;
  e->kind = k;
  e->u = u;
  e->r = &u->reduction[j];
  return 1;
}

static int is_float(const unit *u)
{
  for (int i = 0; i < u->npieces; i++)
    if (u->piece[i].kind < SCALAR_F32) return 0;
  return u->npieces > 0;
}

/* The arrays of all ranks. */
static void fill(exercise *e, int64_t round)
{
  uint64_t seed = mix2(e->seed, (uint64_t)round);
  arrays_fill(&e->all, e->u, e->r, seed);
  for (int i = 0; e->rough && is_float(e->u) && i < e->g->nranks; i++) {
    array_fill_rough(&e->all.root[i], e->u, mix2(seed, 3 * (uint64_t)i));
    array_fill_rough(&e->all.leaf[i], e->u, mix2(seed, 3 * (uint64_t)i + 1));
    if (!e->in_place) array_fill_rough(&e->all.update[i], e->u, mix2(seed, 3 * (uint64_t)i + 2));
  }
}

/* ---- arrays on a device ---- */

static array *array_of(exercise *e, int k)
{
  return k == 0 ? &e->root : k == 1 ? &e->leaf : &e->update;
}

static void take_apart(exercise *e)
{
  for (int k = 0; k < 3; k++) {
    const array *a = array_of(e, k);
    uint64_t lot = mix2(e->seed, (uint64_t)(3 * e->me + k));
    e->apart[k] = a->memory ? apart_take(a->bytes, lot) : NULL;
  }
}

static void copy_apart(exercise *e, int there)
{
  for (int k = 0; k < 3; k++) {
    array *a = array_of(e, k);
    apart_copy(e->apart[k], a->memory, a->bytes, there);
  }
}

/* Where Grove is to find a slot of array k. */
static void *slot_apart(const exercise *e, int k, const array *a)
{
  return e->apart[k] ? (char *)e->apart[k] + (a->slot0 - a->memory) : (char *)a->slot0;
}

/* ---- arrays ---- */

void exercise_open(exercise *e)
{
  e->all = arrays_create(e->g, e->u, e->kind, e->in_place);
  fill(e, 0);
  e->root = array_copy(&e->all.root[e->me]);
  e->leaf = array_copy(&e->all.leaf[e->me]);
  if (!e->in_place) e->update = array_copy(&e->all.update[e->me]);
  take_apart(e);
  copy_apart(e, 1);
}

void exercise_renew(exercise *e, int64_t round)
{
  fill(e, round);
  array_assign(&e->root, &e->all.root[e->me]);
  array_assign(&e->leaf, &e->all.leaf[e->me]);
  if (!e->in_place) array_assign(&e->update, &e->all.update[e->me]);
  copy_apart(e, 1);
}

op_call exercise_call(const exercise *e)
{
  op_call c = {.kind = e->kind, .f = e->f, .unit = e->u->type, .op = e->r->op};
  int nulls = e->seed % 2;
  if (e->root.nslots > 0 || !nulls) c.root = slot_apart(e, 0, &e->root);
  if (e->g->part[e->me].nleaves > 0 || !nulls) {
    c.leaf = slot_apart(e, 1, &e->leaf);
    c.update = e->in_place ? c.leaf : slot_apart(e, 2, &e->update);
  }
  return c;
}

void exercise_init(exercise *e)
{
  op_call c = exercise_call(e);
  CHECK_OK(call_init(&c, &e->op));
  CHECK(e->op != NULL, "an operation that was made is NULL");
}

void exercise_begin(exercise *e)
{
  op_call c = exercise_call(e);
  CHECK_OK(call_begin(&c, &e->op));
  CHECK(e->op != NULL, "an operation that was begun is NULL");
}

void exercise_block(exercise *e)
{
  op_call c = exercise_call(e);
  CHECK_OK(call_block(&c));
}

const char *exercise_name(const exercise *e, char text[160])
{
  snprintf(text, 160, "%s%s of %s with %s on '%s', %d ranks:", kind_name(e->kind),
           e->in_place ? " in place" : "", e->u->name,
           kind_is_multi(e->kind) ? "nothing" : e->r->name, graph_kind_name(e->g->kind),
           e->g->nranks);
  return text;
}

void exercise_solve(exercise *e)
{
  oracle_run(e->kind, e->g, e->u, e->r, &e->all);
}

void exercise_compare(exercise *e)
{
  char what[160];
  copy_apart(e, 0);
  exercise_name(e, what);
  array_check(e->u, &e->root, &e->all.root[e->me], "root", what);
  array_check(e->u, &e->leaf, &e->all.leaf[e->me], "leaf", what);
  if (!e->in_place) array_check(e->u, &e->update, &e->all.update[e->me], "update", what);
}

void exercise_check(exercise *e)
{
  exercise_solve(e);
  exercise_compare(e);
}

void exercise_close(exercise *e)
{
  CHECK_OK(grove_op_free(&e->op));
  CHECK(e->op == NULL, "a freed operation is not NULL");
  for (int k = 0; k < 3; k++) apart_return(e->apart[k]);
  array_free(&e->root);
  array_free(&e->leaf);
  array_free(&e->update);
  arrays_free(&e->all);
}

/* ---- a few rounds ---- */

enum { ROUNDS = 3 };

/* By wait, by test, or by test and then wait: each rank as it likes. */
static void complete(grove_op *op, rng *mine)
{
  int how = (int)rng_below(mine, 3);
  if (how > 0) polite_finish(op);
  if (how != 1) CHECK_OK(grove_wait(op));
}

static void run_persistent(exercise e, rng *mine)
{
  exercise_open(&e);
  exercise_init(&e);
  for (int round = 0; round < ROUNDS; round++) {
    exercise_renew(&e, round);
    CHECK_OK(grove_start(e.op));
    complete(e.op, mine);
    exercise_check(&e);
  }
  exercise_close(&e);
}

static void run_one_shots(exercise e, rng *mine, op_form how)
{
  exercise shot[ROUNDS];
  op_call kind = {.kind = e.kind, .f = e.f, .unit = e.u->type, .op = e.r->op};
  if (e.seed % 4 == 0) CHECK_OK(call_prepare(&kind));
  for (int round = 0; round < ROUNDS; round++) {
    shot[round] = e;
    shot[round].seed = mix2(e.seed, (uint64_t)round);
    exercise_open(&shot[round]);
    if (how == FORM_BLOCKING) {
      exercise_block(&shot[round]);
    } else {
      exercise_begin(&shot[round]);
      if (rng_one_in(mine, 2)) polite_finish(shot[round].op);
      CHECK_OK(grove_end(&shot[round].op));
      CHECK(shot[round].op == NULL, "an ended operation is not NULL");
    }
    exercise_check(&shot[round]);
  }
  for (int round = 0; round < ROUNDS; round++) exercise_close(&shot[round]);
}

void exercise_run(exercise e, op_form how, rng *mine)
{
  if (how == FORM_INIT)
    run_persistent(e, mine);
  else
    run_one_shots(e, mine, how);
}
