#include "memory.h"

#include "check.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

/* ---- completing ---- */

static void poll_until_done(grove_op *op, rng *mine)
{
  for (int done = 0; !done;) {
    CHECK_OK(grove_test(op, &done));
    if (!done && rng_one_in(mine, 4)) sched_yield();
  }
}

enum { AWAITED = 6 }; /* by its stream, and the stream by the host: nobody else waits */

void settle_complete(run *r, int id, int op, rng *mine)
{
  int begun = r->s->op[op].begun, done = 0;
  grove_op *x = r->op[op];
  uint64_t how = mix2(r->p->step[id].seed, (uint64_t)r->at.rank) % 6;
  uint64_t lot = mix2(r->p->step[id].seed + 4, (uint64_t)r->at.rank);
  memory_try_refused(r, op, lot);
  if (lot % 2 && memory_wait_on_stream(r, op)) {
    memory_finish_stream(r, op);
    if (!begun && how < 4) how = AWAITED;
  }
  if (how == 1 || how == 2 || how == 5) poll_until_done(x, mine);
  if (how == 3) CHECK_OK(grove_test(x, &done));
  if (how == 4 || (!begun && how != 1 && how != AWAITED)) CHECK_OK(grove_wait(x));
  if (begun && how == 5)
    CHECK_OK(grove_op_free(&r->op[op]));
  else if (begun)
    CHECK_OK(grove_end(&r->op[op]));
  CHECK(!begun || r->op[op] == NULL, "an operation that has ended is not NULL");
  r->active[op] = 0;
  r->unwaited[op] = how == AWAITED;
  r->starts[op]++;
}

/* ---- comparing ---- */

typedef char sentence[200];

static const char *describe(const run *r, int call, int start, const char *when, sentence text)
{
  const scene_call *c = &r->s->call[call];
  snprintf(text, sizeof(sentence), "step %d (%s): %s of %s with %s on forest %d:", start, when,
           kind_name(c->kind), c->u->name, kind_is_multi(c->kind) ? "nothing" : c->r->name,
           c->forest);
  return text;
}

static const char *role_name(role which)
{
  static const char *const name[ROLES] = {"root", "leaf", "update"};
  return name[which];
}

/* By copies: operations may be reading the array. Takes what was got. */
static void compare(const unit *u, array got, const array *expected, role which, const char *what)
{
  if (got.bytes != expected->bytes || memcmp(got.memory, expected->memory, got.bytes) != 0) {
    array b = array_copy(expected);
    array_check(u, &got, &b, role_name(which), what);
    array_free(&b);
  }
  array_free(&got);
}

void settle_check(run *r, int start, int round, const char *when)
{
  int n = 0;
  const int *call = step_calls(r->s, start, &n);
  for (int i = 0; i < n; i++) {
    const scene_call *c = &r->s->call[call[i]];
    sentence what;
    describe(r, call[i], start, when, what);
    for (role k = 0; k < ROLES; k++) {
      if (c->array[k] == NOTHING) continue;
      const array *expected = model_expect(r->m, start, round, i, k);
      uint64_t lot = mix2(r->p->step[start].seed, (uint64_t)(c->array[k] + round));
      compare(c->u, memory_copy(r, c->array[k], lot), expected, k, what);
      memory_check_taken(r, c->array[k], c->u, expected, what);
      array_assign(&r->last[c->array[k]], expected);
    }
  }
}

/* ---- freed while active ---- */

static int has_leaf(const sketch *f, int rank, int64_t root)
{
  for (int i = 0; i < f->nranks; i++)
    for (int64_t j = 0; j < f->part[i].nslots; j++)
      if (f->part[i].slot[j].rank == rank && f->part[i].slot[j].index == root) return 1;
  return 0;
}

/* Whether the call writes this slot, in this role, here. */
static int is_target(const run *r, const scene_call *c, role which, int64_t slot)
{
  const sketch *f = r->s->forest[c->forest].s;
  if (!call_writes(c, which)) return 0;
  if (which != ROLE_ROOT) return sketch_is_leaf(&f->part[r->at.rank], slot);
  if (!kind_is_multi(c->kind)) return has_leaf(f, r->at.rank, slot);
  int64_t edges = 0;
  for (int i = 0; i < f->nranks; i++)
    for (int64_t j = 0; j < f->part[i].nslots; j++) edges += f->part[i].slot[j].rank == r->at.rank;
  return slot < edges;
}

/* What the call may or may not have written comes from `from`. */
static void patch_targets(const run *r, const scene_call *c, int number, array *to,
                          const array *from)
{
  for (role k = 0; k < ROLES; k++) {
    if (c->array[k] != number) continue;
    array a = call_view(c, k, to, r->at.rank), b = call_view(c, k, from, r->at.rank);
    for (int64_t slot = 0; slot < a.nslots; slot++)
      if (is_target(r, c, k, slot))
        unit_copy(c->u, array_slot(&a, c->u, slot), array_slot(&b, c->u, slot));
  }
}

static void check_untouched(run *r, const scene_call *c, role which, const array *expected,
                            const char *what)
{
  int number = c->array[which];
  array got = memory_copy(r, number, (uint64_t)number);
  patch_targets(r, c, number, &got, expected);
  compare(c->u, got, expected, which, what);
}

/* Arrays that it does not send from are the user's again. */
static void reuse_array(run *r, const scene_call *c, int number)
{
  int reads = 0;
  for (role k = 0; k < ROLES; k++) reads |= c->array[k] == number && call_reads(c, k);
  array *a = &r->real[number];
  for (size_t i = 0; !reads && i < a->bytes; i++) a->memory[i] = (unsigned char)(number + 3 * i);
}

void settle_abandon(run *r, int op, int start)
{
  int begun = start != NOTHING;
  CHECK_OK(grove_op_free(&r->op[op]));
  CHECK(r->op[op] == NULL, "a freed operation is not NULL");
  r->active[op] = 0;
  parts_drop(r, op);
  for (int i = 0; i < r->s->op[op].ncalls; i++) {
    const scene_call *c = &r->s->call[r->s->op[op].call[i]];
    sentence what;
    describe(r, r->s->op[op].call[i], begun ? start : op, "freed while active", what);
    for (role k = 0; k < ROLES; k++) {
      if (c->array[k] == NOTHING) continue;
      int number = c->array[k];
      check_untouched(r, c, k, begun ? model_expect(r->m, start, 0, i, k) : &r->last[number], what);
    }
    for (role k = 0; k < ROLES; k++) {
      if (c->array[k] == NOTHING || (k > 0 && c->array[k] == c->array[k - 1])) continue;
      reuse_array(r, c, c->array[k]);
      array_assign(&r->last[c->array[k]], &r->real[c->array[k]]);
    }
  }
}

void settle_arrays(run *r)
{
  for (int number = 0; number < ROLES * MOST_STEPS; number++) {
    if (r->real[number].memory == NULL) continue;
    sentence what;
    describe(r, number / ROLES, number / ROLES, "at the end", what);
    compare(r->s->array[number].u, memory_copy(r, number, (uint64_t)number), &r->last[number],
            (role)(number % ROLES), what);
  }
}
