#include "model.h"

#include "check.h"
#include "oracle.h"

#include <stdlib.h>

struct model {
  const scene *s;
  int me;
  graph *const *order;
  array *now[ROLES * MOST_STEPS]; /* of all ranks */
  char done[MOST_STEPS];
  int nexpected[MOST_STEPS];
  array *expected[MOST_STEPS]; /* this rank's, by round, call and role */
};

/* ---- arrays ---- */

array scene_array_create(const scene_array *a, int rank)
{
  return array_create(a->u, a->nslots[rank]);
}

void scene_array_fill(const scene *s, int number, uint64_t seed, int rank, array *a)
{
  const scene_array *about = &s->array[number];
  uint64_t own = mix2(seed, (uint64_t)(number * MOST_RANKS + rank));
  if (about->rough)
    array_fill_rough(a, about->u, own);
  else
    array_fill(a, about->u, about->r, own);
}

uint64_t round_seed(const step *st, int round)
{
  return mix2(st->seed, (uint64_t)round);
}

array call_view(const scene_call *c, role which, const array *a, int rank)
{
  array view = *a;
  if (c->array[which] == c->array[ROLE_LEAF] && which != ROLE_ROOT) {
    view.slot0 += c->shift[rank] * c->u->extent;
    view.nslots -= c->shift[rank];
  }
  return view;
}

model *model_create(const scene *s, int me, graph *const *order)
{
  model *m = calloc(1, sizeof *m);
  CHECK(m != NULL, "no memory for a model");
  m->s = s;
  m->me = me;
  m->order = order;
  return m;
}

void model_free(model *m)
{
  for (int i = 0; i < ROLES * MOST_STEPS; i++) {
    for (int k = 0; m->now[i] != NULL && k < m->s->p->nranks; k++) array_free(&m->now[i][k]);
    free(m->now[i]);
  }
  for (int i = 0; i < MOST_STEPS; i++) {
    for (int k = 0; k < m->nexpected[i]; k++) array_free(&m->expected[i][k]);
    free(m->expected[i]);
  }
  free(m);
}

/* ---- steps ---- */

static void make_arrays(model *m, int id)
{
  const scene *s = m->s;
  for (int number = ROLES * id; number < ROLES * id + ROLES; number++) {
    if (!s->array[number].made) continue;
    m->now[number] = need((size_t)s->p->nranks * sizeof *m->now[number]);
    for (int i = 0; i < s->p->nranks; i++) {
      m->now[number][i] = scene_array_create(&s->array[number], i);
      scene_array_fill(s, number, s->p->step[id].seed, i, &m->now[number][i]);
    }
  }
}

static void fill_arrays(model *m, int call, uint64_t seed)
{
  for (int number = ROLES * call; number < ROLES * call + ROLES; number++)
    for (int i = 0; m->now[number] != NULL && i < m->s->p->nranks; i++)
      scene_array_fill(m->s, number, seed, i, &m->now[number][i]);
}

/* The arrays of all ranks in this role. */
static void view_all(const model *m, const scene_call *c, role which, array *view)
{
  for (int i = 0; i < m->s->p->nranks; i++)
    if (c->array[which] != NOTHING) view[i] = call_view(c, which, &m->now[c->array[which]][i], i);
}

static void run_call(model *m, int call)
{
  const scene_call *c = &m->s->call[call];
  array view[ROLES][MOST_RANKS];
  for (role k = 0; k < ROLES; k++) view_all(m, c, k, view[k]);
  arrays all = {m->s->p->nranks, view[ROLE_ROOT], view[ROLE_LEAF], view[ROLE_UPDATE]};
  CHECK(m->order[c->forest] != NULL, "the graph of forest %d is not known", c->forest);
  oracle_own_first = m->s->p->own_first;
  oracle_run(c->kind, m->order[c->forest], c->u, c->r, &all);
  oracle_own_first = -1;
}

/* Keeps this rank's part. */
static void record(model *m, int id, int ncalls, const int *call)
{
  int n = m->nexpected[id];
  m->expected[id] = realloc(m->expected[id], (size_t)(n + ROLES * ncalls) * sizeof(array));
  CHECK(m->expected[id] != NULL, "no memory for %d arrays", n + ROLES * ncalls);
  for (int i = 0; i < ncalls; i++)
    for (role k = 0; k < ROLES; k++) {
      int number = m->s->call[call[i]].array[k];
      m->expected[id][n++] = number == NOTHING ? (array){0} : array_copy(&m->now[number][m->me]);
    }
  m->nexpected[id] = n;
}

static void run_step(model *m, int id)
{
  const step *st = &m->s->p->step[id];
  int ncalls = 0, rounds = st->kind == STEP_ROUNDS ? st->way : 1;
  const int *call = step_calls(m->s, id, &ncalls);
  if (st->kind == STEP_CALL) make_arrays(m, id);
  if (st->kind != STEP_START && st->kind != STEP_BEGIN && st->kind != STEP_BLOCK &&
      st->kind != STEP_ROUNDS)
    return;
  for (int round = 0; round < rounds; round++) {
    for (int i = 0; (st->flags & FLAG_FRESH) && i < ncalls; i++)
      fill_arrays(m, call[i], round_seed(st, round));
    for (int i = 0; i < ncalls; i++) run_call(m, call[i]);
    record(m, id, ncalls, call);
  }
}

const array *model_expect(model *m, int id, int round, int i, role which)
{
  int ncalls = 0, group = step_group(m->s, id);
  step_calls(m->s, id, &ncalls);
  for (int k = 0; k <= id; k++) {
    if (m->s->p->step[k].gone || step_group(m->s, k) != group || m->done[k]) continue;
    m->done[k] = 1;
    run_step(m, k);
  }
  return &m->expected[id][(round * ncalls + i) * ROLES + (int)which];
}
