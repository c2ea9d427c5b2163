/* Operations that leave by parts: what a rank sends has other values until it is marked, and what
 * it is told is what the model says. */
#include "memory.h"

#include "check.h"

#include <stdlib.h>
#include <string.h>

static const scene_call *call_of(const run *r, int op)
{
  return &r->s->call[r->s->op[op].call[0]];
}

static role sent(const scene_call *c)
{
  return kind_goes_to_roots(c->kind) ? ROLE_LEAF : ROLE_ROOT;
}

static role told(const scene_call *c)
{
  return kind_goes_to_roots(c->kind) ? ROLE_ROOT : ROLE_LEAF;
}

/* This rank's array in that role. */
static array view_of(const run *r, const scene_call *c, role which, const array *a)
{
  return call_view(c, which, a, r->at.rank);
}

/* ---- who waits for what ---- */

static char *zeros(int64_t n)
{
  char *p = calloc((size_t)n + 1, 1);
  CHECK(p != NULL, "no memory for %lld slots", (long long)n);
  return p;
}

/* Roots of this rank that have leaves. */
static char *roots_of(const sketch *f, int me)
{
  char *has_leaf = zeros(f->part[me].nroots);
  for (int i = 0; i < f->nranks; i++)
    for (int64_t j = 0; j < f->part[i].nslots; j++)
      if (f->part[i].slot[j].rank == me) has_leaf[f->part[i].slot[j].index] = 1;
  return has_leaf;
}

static char *leaves_of(const sketch *f, int me)
{
  char *is_leaf = zeros(f->part[me].nslots);
  for (int64_t j = 0; j < f->part[me].nslots; j++)
    is_leaf[j] = (char)sketch_is_leaf(&f->part[me], j);
  return is_leaf;
}

/* Of a rank: where the leaves of a root begin among its multiroots. */
static int64_t place_of(const sketch *f, int me, int64_t root)
{
  int64_t n = 0;
  for (int i = 0; i < f->nranks; i++)
    for (int64_t j = 0; j < f->part[i].nslots; j++)
      n += f->part[i].slot[j].rank == me && f->part[i].slot[j].index < root;
  return n;
}

static void track(run *r, int op)
{
  const scene_call *c = call_of(r, op);
  const sketch *f = r->s->forest[c->forest].s;
  int me = r->at.rank, up = kind_goes_to_roots(c->kind);
  tracked *t = &r->parts[op];
  t->on = 1;
  t->ntold = up ? f->part[me].nroots : f->part[me].nslots;
  t->due = up ? roots_of(f, me) : leaves_of(f, me);
  t->nsent = up ? f->part[me].nslots : f->part[me].nroots;
  if (c->kind == KIND_SCATTER) {
    t->nsent = place_of(f, me, f->part[me].nroots);
    t->unmarked = memset(zeros(t->nsent), 1, (size_t)t->nsent);
  } else {
    t->unmarked = up ? leaves_of(f, me) : roots_of(f, me);
  }
  if (c->u->npieces > 0) return; /* units of no bytes do not travel */
  memset(t->unmarked, 0, (size_t)t->nsent);
  memset(t->due, 0, (size_t)t->ntold);
}

static void untrack(run *r, int op)
{
  tracked *t = &r->parts[op];
  free(t->due);
  free(t->unmarked);
  array_free(&t->saved);
  *t = (tracked){0};
}

/* ---- starting and marking ---- */

static void spoil(const unit *u, unsigned char *slot)
{
  for (int i = 0; i < u->npieces; i++)
    memset(slot + u->piece[i].offset, 0x5a, scalar_bytes(u->piece[i].kind));
}

void parts_start(run *r, int op, const step *st)
{
  untrack(r, op);
  if (scene_op_has_parts(r->s, op)) track(r, op);
  if (!step_starts_by_parts(st, r->at.rank)) {
    CHECK_OK(grove_start(r->op[op]));
    return;
  }
  const scene_call *c = call_of(r, op);
  tracked *t = &r->parts[op];
  const array *real = &r->real[c->array[sent(c)]];
  array a = view_of(r, c, sent(c), real);
  t->by_parts = 1;
  t->saved = array_copy(real);
  for (int64_t i = 0; i < t->nsent; i++)
    if (t->unmarked[i]) spoil(c->u, array_slot(&a, c->u, i));
  CHECK_OK(grove_start_parts(r->op[op]));
}

/* The values are there again. */
static void restore(run *r, int op, int64_t first, int64_t count)
{
  const scene_call *c = call_of(r, op);
  tracked *t = &r->parts[op];
  array a = view_of(r, c, sent(c), &r->real[c->array[sent(c)]]);
  array b = view_of(r, c, sent(c), &t->saved);
  for (int64_t i = first; i < first + count; i++)
    if (t->unmarked[i]) unit_copy(c->u, array_slot(&a, c->u, i), array_slot(&b, c->u, i));
}

static void mark(run *r, int op, int64_t first, int64_t count)
{
  restore(r, op, first, count);
  memset(r->parts[op].unmarked + first, 0, (size_t)count);
  CHECK_OK(grove_ready(r->op[op], first, count));
}

/* From here on, what is not marked and nothing else, and not too much of it. */
static int64_t run_from(const tracked *t, int64_t first, rng *mine)
{
  int64_t n = 0, most = rng_one_in(mine, 3) ? t->nsent : 1 + rng_below(mine, 8);
  while (first + n < t->nsent && t->unmarked[first + n] && n < most) n++;
  return n;
}

void parts_mark(run *r, int op, uint64_t seed, int all)
{
  rng mine = rng_from(seed, (uint64_t)r->at.rank);
  tracked *t = &r->parts[op];
  if (!t->by_parts || t->nsent == 0) return;
  for (int64_t k = rng_below(&mine, 12); k > 0; k--) {
    int64_t first = rng_below(&mine, t->nsent), count = run_from(t, first, &mine);
    if (count > 0) mark(r, op, first, count);
  }
  for (int64_t i = 0; all && i < t->nsent; i++) {
    int64_t count = run_from(t, i, &mine);
    if (count > 0) mark(r, op, i, count);
    if (count > 1) i += count - 1;
  }
}

/* ---- what has come ---- */

static void check_slot(const run *r, const scene_call *c, const array *expected, int64_t slot)
{
  array x = view_of(r, c, told(c), &r->real[c->array[told(c)]]);
  array y = view_of(r, c, told(c), expected), a = array_create(c->u, 1);
  memset(a.memory, 0, a.bytes);
  a.product = expected->product;
  array b = array_copy(&a);
  unit_copy(c->u, a.slot0, array_slot(&x, c->u, slot));
  unit_copy(c->u, b.slot0, array_slot(&y, c->u, slot));
  array_check(c->u, &a, &b, "told", kind_name(c->kind));
  array_free(&a);
  array_free(&b);
}

static void check_told(run *r, int op, const array *expected, int64_t i)
{
  const scene_call *c = call_of(r, op);
  const sketch *f = r->s->forest[c->forest].s;
  int gathers = c->kind == KIND_GATHER;
  int64_t first = gathers ? place_of(f, r->at.rank, i) : i;
  int64_t end = gathers ? place_of(f, r->at.rank, i + 1) : i + 1;
  for (int64_t k = first; k < end; k++) check_slot(r, c, expected, k);
}

int64_t parts_ask(run *r, int op, int start, int round)
{
  tracked *t = &r->parts[op];
  int64_t first = -1, count = -1;
  const array *expected = model_expect(r->m, start, round, 0, told(call_of(r, op)));
  CHECK_OK(grove_arrivals(r->op[op], &first, &count));
  memory_settle(r, call_of(r, op)->array[told(call_of(r, op))]); /* it may take no notice of it */
  for (int64_t i = first; i < first + count; i++) {
    CHECK(i >= 0 && i < t->ntold && t->due[i], "%lld is told, and is not due", (long long)i);
    t->due[i] = 0;
    check_told(r, op, expected, i);
  }
  return count;
}

/* Where it is asked for at all: all that was not told before. */
void parts_end(run *r, int op, int start, int round, rng *mine)
{
  tracked *t = &r->parts[op];
  int yes = 0;
  if (t->on && rng_one_in(mine, 2)) {
    CHECK_OK(grove_arrived(r->op[op], 0, t->ntold, &yes));
    CHECK(yes, "not all has come behind the wait");
    while (parts_ask(r, op, start, round) > 0) {
    }
    for (int64_t i = 0; i < t->ntold; i++) CHECK(!t->due[i], "%lld is not told", (long long)i);
  }
  untrack(r, op);
}

void parts_drop(run *r, int op)
{
  if (r->parts[op].by_parts) restore(r, op, 0, r->parts[op].nsent);
  untrack(r, op);
}
