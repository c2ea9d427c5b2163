/* A rank's own order of the steps. Starts may come earlier than they are written, and completions
 * later; what neither waits nor is waited for may come anywhere. Three rules keep every order legal
 * and free of deadlock:
 *
 *   - What touches the same thing, and does not only read it, stays in order.
 *   - Collective calls, and calls that block, stay in order.
 *   - A start, or a mark, comes before whatever blocks that is written behind it.
 *
 * Suppose ranks are stuck. Take the step that is written first of those they are stuck in. What it
 * waits for is written before it, a start, a mark or the same collective call on another rank; that
 * rank is stuck in a step that is written later, before which, by the rules, it has done what is
 * waited for.
 */
#include "program.h"

#include "check.h"

#include <stdlib.h>

/* What a step touches. */
typedef enum thing {
  THING_CONTEXT, /* its handle */
  THING_OPTIONS,
  THING_FOREST, /* its handle */
  THING_CALL,
  THING_OP,
  THING_ARRAY,
  THING_KIND /* of _begin: they are matched in their order */
} thing;

typedef struct touch {
  thing what;
  int number;
  int writes;
} touch;

enum { MOST_TOUCHES = 40 };

typedef struct traits {
  int fence;   /* nothing passes it */
  int blocks;  /* others must have come as far */
  int chained; /* in the written order among its like */
  int enables; /* others wait for it */
  int ntouches;
  touch touch[MOST_TOUCHES];
} traits;

static void touches(traits *t, thing what, int number, int writes)
{
  CHECK(t->ntouches < MOST_TOUCHES, "a step touches too much");
  t->touch[t->ntouches++] = (touch){what, number, writes};
}

/* Calls of one kind of _begin, and perhaps some of others. */
static int kind_number(const scene *s, const scene_call *c)
{
  size_t bytes = 0;
  for (int i = 0; i < c->u->npieces; i++) bytes += scalar_bytes(c->u->piece[i].kind);
  (void)s;
  return (c->forest * OP_KINDS + (int)c->kind) * 4096 + (int)(bytes % 4096);
}

/* New values alter the arrays that a call has to itself, and those that it lends; what is not
 * marked yet has none. */
static void touch_arrays(traits *t, const scene *s, int call, int fresh, int by_parts)
{
  const scene_call *c = &s->call[call];
  touches(t, THING_CALL, call, 1);
  for (role k = 0; k < ROLES; k++) {
    if (c->array[k] == NOTHING) continue;
    int own = c->array[k] / ROLES == call;
    touches(t, THING_ARRAY, c->array[k], call_writes(c, k) || (fresh && own) || by_parts);
  }
}

static void touch_operation(traits *t, const scene *s, int id, const step *st)
{
  int n = 0, made = st->kind == STEP_INIT || st->kind == STEP_BUNDLE || st->kind == STEP_BEGIN;
  const int *call = step_calls(s, id, &n);
  touches(t, THING_OP, made || st->kind == STEP_BLOCK ? id : st->of[0], 1);
  for (int i = 0; i < n && st->kind != STEP_INIT; i++)
    touch_arrays(t, s, call[i], st->flags & FLAG_FRESH || st->kind == STEP_ROUNDS,
                 step_is_by_parts(s, id));
  if (st->kind == STEP_INIT) touches(t, THING_CALL, call[0], 0);
  for (int i = 0; st->kind == STEP_BUNDLE && i < st->nof; i++) touches(t, THING_OP, st->of[i], 1);
}

static void touch_begin(traits *t, const scene *s, const step *st)
{
  const scene_call *c = &s->call[st->of[0]];
  touches(t, THING_FOREST, c->forest, 0);
  touches(t, THING_OPTIONS, c->context, 0);
  touches(t, THING_KIND, kind_number(s, c), 1);
}

/* Who asks is compared with the model, which knows no forest before it is made. */
static void touch_forests(traits *t, const scene *s, int id)
{
  char met[MOST_STEPS] = {0};
  for (int i = 0; i < id; i++) {
    int forest = s->call[i].forest;
    if (!s->call[i].made || s->call[i].group != step_group(s, id) || met[forest]) continue;
    touches(t, THING_FOREST, forest, 0);
    met[forest] = 1;
  }
}

static void touch_call(traits *t, const scene *s, int id, const step *st)
{
  touches(t, THING_FOREST, st->of[0], 0);
  touch_arrays(t, s, id, 1, 0);
  if (st->flags & FLAG_ALLOC) touches(t, THING_CONTEXT, s->call[id].context, 0);
}

static traits traits_of(const scene *s, int id, int rank)
{
  const step *st = &s->p->step[id];
  traits t = {.chained = s->collective[id], .blocks = s->collective[id]};
  int context = NOTHING;
  switch (st->kind) {
  case STEP_CONTEXT:
  case STEP_SWITCH:
  case STEP_DEALLOC:
  case STEP_THREADS:
  case STEP_JOIN: t.fence = 1; break;
  case STEP_SET:
  case STEP_MACHINE:
  case STEP_FREE_CONTEXT:
    for (int i = 0; i < id; i++) /* the one that was made or turned to last */
      if (!s->p->step[i].gone && s->p->step[i].kind <= STEP_SWITCH)
        context = s->p->step[i].kind == STEP_CONTEXT ? i : s->p->step[i].of[0];
    touches(&t, THING_CONTEXT, context, st->kind == STEP_FREE_CONTEXT);
    if (st->kind != STEP_FREE_CONTEXT) touches(&t, THING_OPTIONS, context, 1);
    break;
  case STEP_FOREST:
  case STEP_DERIVE:
    touches(&t, THING_CONTEXT, s->forest[id].context, 0);
    touches(&t, THING_FOREST, id, 1);
    for (int i = 0; i < st->nof; i++) touches(&t, THING_FOREST, st->of[i], 0);
    break;
  case STEP_QUERY:
  case STEP_EXPLAIN: touches(&t, THING_FOREST, st->of[0], 0); break;
  case STEP_FREE_FOREST: touches(&t, THING_FOREST, st->of[0], 1); break;
  case STEP_CALL: touch_call(&t, s, id, st); break;
  case STEP_INIT: touches(&t, THING_FOREST, s->call[st->of[0]].forest, 0); break;
  case STEP_BEGIN:
  case STEP_BLOCK: touch_begin(&t, s, st); break;
  default: break;
  }
  if (st->kind == STEP_ASK) touch_forests(&t, s, id);
  if (st->kind >= STEP_INIT && st->kind <= STEP_FREE_OP) touch_operation(&t, s, id, st);
  t.enables = st->kind == STEP_START || st->kind == STEP_MARK || st->kind == STEP_BEGIN;
  if (st->kind == STEP_BLOCK || st->kind == STEP_ROUNDS) t.chained = t.blocks = 1;
  if (st->kind == STEP_COMPLETE) t.blocks = 1;
  if (st->kind == STEP_ABANDON) t.blocks = !step_chooses(st, rank);
  return t;
}

static int meet(const traits *a, const traits *b)
{
  for (int i = 0; i < a->ntouches; i++)
    for (int k = 0; k < b->ntouches; k++)
      if (a->touch[i].what == b->touch[k].what && a->touch[i].number == b->touch[k].number &&
          (a->touch[i].writes || b->touch[k].writes))
        return 1;
  return 0;
}

/* Must the first one, which is written before the second, be done before it? */
static int precedes(const traits *a, const traits *b)
{
  if (a->fence || b->fence) return 1;
  if ((a->chained || a->enables) && b->blocks) return 1;
  return meet(a, b);
}

/* Of those that may come next the one that wants to be first. */
static int next_of(int n, const char *before, const int64_t *wish, const char *done)
{
  int best = NOTHING;
  for (int j = 0; j < n; j++) {
    int ready = !done[j];
    for (int i = 0; i < j && ready; i++) ready = done[i] || !before[i * n + j];
    if (ready && (best == NOTHING || wish[j] < wish[best])) best = j;
  }
  return best;
}

int schedule(const scene *s, int rank, int order[MOST_STEPS])
{
  const program *p = s->p;
  int n = 0, step_of[MOST_STEPS];
  traits *t = need(sizeof *t * MOST_STEPS);
  int64_t wish[MOST_STEPS];
  char done[MOST_STEPS] = {0};
  for (int id = 0; id < p->nsteps; id++) {
    if (p->step[id].gone) continue;
    int64_t noise =
      (int64_t)(mix2(p->step[id].seed, (uint64_t)rank) % (uint64_t)(2 * p->mixing + 1));
    t[n] = traits_of(s, id, rank);
    wish[n] = id + noise;
    step_of[n++] = id;
  }
  char *before = need((size_t)(n * n) + 1);
  for (int i = 0; i < n; i++)
    for (int j = i + 1; j < n; j++) before[i * n + j] = (char)precedes(&t[i], &t[j]);
  for (int k = 0; k < n; k++) {
    int j = next_of(n, before, wish, done);
    done[j] = 1;
    order[k] = step_of[j];
  }
  free(before);
  free(t);
  return n;
}

/* ---- threads ---- */

/* The region that a step is in: its STEP_THREADS, or NOTHING. */
static int region_of(const program *p, int id)
{
  for (int i = id - 1; i >= 0; i--) {
    if (p->step[i].gone) continue;
    if (p->step[i].kind == STEP_JOIN) return NOTHING;
    if (p->step[i].kind == STEP_THREADS) return i;
  }
  return NOTHING;
}

int step_group(const scene *s, int id)
{
  int n = 0;
  const int *call = step_calls(s, id, &n);
  if (s->p->step[id].kind == STEP_CALL) return s->call[id].group;
  return n > 0 ? s->call[call[0]].group : NOTHING;
}

/* One thread makes all collective calls of a region, and uses what it makes. */
static int meets_collective(const scene *s, int region, int group)
{
  const step *st = s->p->step;
  for (int i = region + 1; i < s->p->nsteps && (st[i].gone || st[i].kind != STEP_JOIN); i++)
    if (!st[i].gone && s->collective[i] && step_group(s, i) == group) return 1;
  return 0;
}

int step_thread(const scene *s, int id)
{
  int region = region_of(s->p, id), group = step_group(s, id);
  if (region == NOTHING || group == NOTHING || meets_collective(s, region, group)) return 0;
  const step *st = &s->p->step[region];
  return (int)(mix2(st->seed, (uint64_t)group) % (uint64_t)st->way);
}
