#include "by_parts.h"

#include "check.h"
#include "threads.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

/* ---- who waits for what ---- */

static void *zeros(int64_t n, size_t bytes)
{
  void *p = calloc((size_t)n + 1, bytes);
  CHECK(p != NULL, "no memory for %lld slots", (long long)n);
  return p;
}

/* How many leaves each root of this rank has. */
static int64_t *count_leaves(const exercise *e)
{
  int64_t *n = zeros(e->g->part[e->me].nroots, sizeof *n);
  for (int i = 0; i < e->g->nranks; i++)
    for (int64_t j = 0; j < e->g->part[i].nleaves; j++)
      if (e->g->part[i].root[j].rank == e->me) n[e->g->part[i].root[j].index]++;
  return n;
}

static char *leaf_slots(const part *p)
{
  char *is_leaf = zeros(p->nslots, 1);
  for (int64_t j = 0; j < p->nleaves; j++) is_leaf[part_slot(p, j)] = 1;
  return is_leaf;
}

/* Units of no bytes do not travel. */
static int is_empty(const exercise *e)
{
  return e->u->npieces == 0;
}

by_parts by_parts_of(exercise *e)
{
  const part *own = &e->g->part[e->me];
  int64_t *leaves = count_leaves(e);
  char *roots = zeros(own->nroots, 1);
  by_parts x = {.e = e, .place = zeros(own->nroots, sizeof *x.place)};
  for (int64_t i = 0; i < own->nroots; i++) {
    roots[i] = leaves[i] > 0;
    x.place[i + 1] = x.place[i] + leaves[i];
  }
  free(leaves);
  int up = kind_goes_to_roots(e->kind);
  x.nsent = up ? own->nslots : own->nroots;
  x.wanted = up ? leaf_slots(own) : roots;
  x.ntold = up ? own->nroots : own->nslots;
  x.due = up ? roots : leaf_slots(own);
  if (e->kind == KIND_SCATTER) {
    free(x.wanted);
    x.nsent = x.place[own->nroots];
    x.wanted = zeros(x.nsent, 1);
    memset(x.wanted, 1, (size_t)x.nsent);
  }
  if (is_empty(e)) memset(x.due, 0, (size_t)x.ntold);
  x.values = array_copy(up ? &e->leaf : &e->root);
  x.ranges = need((size_t)(x.nsent + 1) * sizeof *x.ranges);
  x.told = zeros(x.ntold, sizeof *x.told);
  return x;
}

void by_parts_free(by_parts *x)
{
  free(x->wanted);
  free(x->due);
  free(x->place);
  free(x->ranges);
  free(x->told);
  array_free(&x->values);
  *x = (by_parts){0};
}

/* ---- values ---- */

static array *sent(by_parts *x)
{
  return kind_goes_to_roots(x->e->kind) ? &x->e->leaf : &x->e->root;
}

static void put_value(by_parts *x, int64_t slot)
{
  const unit *u = x->e->u;
  unit_copy(u, array_slot(sent(x), u, slot), array_slot(&x->values, u, slot));
}

static void put_poison(by_parts *x, int64_t slot)
{
  const unit *u = x->e->u;
  for (int i = 0; i < u->npieces; i++)
    memset(array_slot(sent(x), u, slot) + u->piece[i].offset, 0x5a + (int)(slot % 7),
           scalar_bytes(u->piece[i].kind));
}

/* ---- ranges ---- */

/* One for each slot, one for all, or anything between; roots that nobody wants are left out now and
 * then. */
static void cut_ranges(by_parts *x, rng *mine)
{
  int64_t length[] = {1, 1 + x->nsent / 3, 4, x->nsent}, most = length[rng_below(mine, 4)];
  int thrifty = rng_one_in(mine, 2);
  x->nranges = 0;
  for (int64_t i = 0, n = 0; i < x->nsent; i++) {
    if (n == 0 && thrifty && !x->wanted[i]) continue;
    if (n == 0) x->ranges[x->nranges++] = (part_range){.first = i};
    part_range *now = &x->ranges[x->nranges - 1];
    now->count++;
    now->useful |= x->wanted[i] && !is_empty(x->e);
    n = ++n >= most || (most < x->nsent && rng_one_in(mine, 8)) ? 0 : n;
  }
}

/* Slots that are no leaf may be marked again and again, and so may those behind the last. */
static void widen(by_parts *x, part_range *y, rng *mine)
{
  int64_t end = y->first + y->count;
  while (y->first > 0 && !x->wanted[y->first - 1] && rng_one_in(mine, 2)) y->first--;
  while (end < x->nsent && !x->wanted[end] && rng_one_in(mine, 2)) end++;
  y->count = end - y->first;
  if (end == x->nsent && rng_one_in(mine, 3)) y->count += rng_below(mine, INT64_C(1) << 40);
}

static void draw_ranges(by_parts *x, rng *mine)
{
  cut_ranges(x, mine);
  for (int i = 0; kind_goes_to_roots(x->e->kind) && i < x->nranges; i++)
    widen(x, &x->ranges[i], mine);
  if (rng_one_in(mine, 4)) return; /* in their order */
  for (int i = x->nranges - 1; i > 0; i--) {
    int64_t j = rng_below(mine, i + 1);
    part_range other = x->ranges[i];
    x->ranges[i] = x->ranges[j];
    x->ranges[j] = other;
  }
}

/* ---- a round ---- */

void by_parts_renew(by_parts *x, int64_t round, rng *mine)
{
  exercise_renew(x->e, round);
  array_assign(&x->values, sent(x));
  exercise_solve(x->e);
  draw_ranges(x, mine);
  x->left = 0;
  for (int64_t i = 0; i < x->ntold; i++) {
    x->told[i] = 0;
    x->left += x->due[i];
  }
}

void by_parts_start(by_parts *x)
{
  int yes = 0;
  x->whole = 0;
  for (int64_t i = 0; i < x->nsent; i++)
    if (x->wanted[i]) put_poison(x, i);
  CHECK_OK(grove_start_parts(x->e->op));
  CHECK_OK(grove_arrived(x->e->op, 0, 0, &yes));
  CHECK(yes, "nothing has not arrived");
}

void by_parts_start_whole(by_parts *x)
{
  x->whole = 1;
  CHECK_OK(grove_start(x->e->op));
}

void by_parts_mark(by_parts *x, int i)
{
  part_range y = x->ranges[i];
  for (int64_t k = y.first; k < y.first + y.count && k < x->nsent; k++)
    if (x->wanted[k]) put_value(x, k);
  CHECK_OK(grove_ready(x->e->op, y.first, y.count));
}

/* ---- what has come ---- */

/* One slot of what was written, by copies. */
static void check_slot(const by_parts *x, const array *got, const array *expected, int64_t slot,
                       const char *what)
{
  const unit *u = x->e->u;
  array a = array_create(u, 1);
  memset(a.memory, 0, a.bytes);
  a.product = expected->product;
  array b = array_copy(&a);
  unit_copy(u, a.slot0, array_slot(got, u, slot));
  unit_copy(u, b.slot0, array_slot(expected, u, slot));
  array_check(u, &a, &b, "told", what);
  array_free(&a);
  array_free(&b);
}

/* Checks a leaf slot, a root or, in a gather, all that the root has. */
static void check_told(const by_parts *x, int64_t i)
{
  const exercise *e = x->e;
  char name[160], what[240];
  int up = kind_goes_to_roots(e->kind), gathers = e->kind == KIND_GATHER;
  int64_t first = gathers ? x->place[i] : i, end = gathers ? x->place[i + 1] : i + 1;
  snprintf(what, sizeof what, "%s %s %lld has come:", exercise_name(e, name), up ? "root" : "slot",
           (long long)i);
  for (int64_t k = first; k < end; k++)
    check_slot(x, up ? &e->root : &e->leaf, up ? &e->all.root[e->me] : &e->all.leaf[e->me], k,
               what);
}

int64_t by_parts_ask(by_parts *x)
{
  int64_t first = -1, count = -1;
  CHECK_OK(grove_arrivals(x->e->op, &first, &count));
  CHECK(count == 0 || (first >= 0 && count > 0 && first + count <= x->ntold),
        "%lld and %lld more of %lld have come", (long long)first, (long long)count,
        (long long)x->ntold);
  for (int64_t i = first; i < first + count; i++) {
    CHECK(x->due[i], "%lld is told, and nothing comes for it", (long long)i);
    int before = __atomic_fetch_add(&x->told[i], 1, __ATOMIC_RELAXED);
    CHECK(before == 0, "%lld is told again", (long long)i);
    check_told(x, i);
  }
  __atomic_fetch_sub(&x->left, count, __ATOMIC_RELAXED);
  return count;
}

int by_parts_look(by_parts *x, int64_t first, int64_t count)
{
  int yes = -1, any = 0;
  CHECK_OK(grove_arrived(x->e->op, first, count, &yes));
  CHECK(yes == 0 || yes == 1, "yes is %d", yes);
  for (int64_t i = first; i < first + count; i++) any |= x->due[i];
  CHECK(yes || any, "nothing comes for %lld and %lld more, but it is waited for", (long long)first,
        (long long)count);
  for (int64_t i = first; yes && i < first + count; i++)
    if (x->due[i]) check_told(x, i);
  return yes;
}

void by_parts_check(by_parts *x)
{
  CHECK(by_parts_look(x, 0, x->ntold), "not everything has come behind the wait");
  while (by_parts_ask(x) > 0) {
  }
  CHECK(x->left == 0, "%lld were not told", (long long)x->left);
  exercise_compare(x->e);
}

/* ---- threads ---- */

typedef struct team {
  by_parts *x;
  int nthreads;
  uint64_t seed;
  int manner; /* of the one that has started */
} team;

/* Between two marks: a question, or a pause. */
static void wonder(by_parts *x, rng *r)
{
  int64_t what = rng_below(r, 12), first = rng_below(r, x->ntold + 1);
  if (what < 2) by_parts_ask(x);
  if (what == 2) by_parts_look(x, first, rng_below(r, x->ntold - first + 1));
  if (what == 3 && first < x->ntold) by_parts_look(x, first, 1);
  if (what == 4) sched_yield();
}

static void mark_own(int number, void *self)
{
  team *t = self;
  rng r = rng_from(t->seed, (uint64_t)number);
  for (int i = number; i < t->x->nranges; i += t->nthreads) {
    if (!t->x->ranges[i].useful) continue;
    wonder(t->x, &r);
    by_parts_mark(t->x, i);
  }
  for (int64_t k = rng_below(&r, 6); k > 0; k--) wonder(t->x, &r);
}

/* An operation that is complete and waited for takes no marks: those that nobody waits for come
 * first, or last, before the wait. */
static void mark_useless(by_parts *x)
{
  for (int i = 0; i < x->nranges; i++)
    if (!x->ranges[i].useful) by_parts_mark(x, i);
}

/* Does not return before all has come. */
static void await_all(by_parts *x)
{
  while (!by_parts_look(x, 0, x->ntold)) sched_yield();
}

static void await_told(by_parts *x)
{
  while (__atomic_load_n(&x->left, __ATOMIC_RELAXED) > 0)
    if (by_parts_ask(x) == 0) sched_yield();
}

/* While others mark. */
static void go_on(void *self)
{
  team *t = self;
  if (t->manner == 1) await_told(t->x);
  if (t->manner == 2) await_all(t->x);
  if (t->manner == 3) CHECK_OK(grove_wait(t->x->e->op));
  if (t->manner == 4) polite_finish(t->x->e->op);
}

static void ask_only(int number, void *self)
{
  team *t = self;
  rng r = rng_from(t->seed, (uint64_t)number);
  for (int64_t k = rng_below(&r, 20); k > 0; k--) wonder(t->x, &r);
}

/* If MPI allows one thread to call it, that thread asks. If it allows one at a time, nobody knows
 * which one, and there is no answer before the wait. */
static void start_whole(team *t)
{
  int level = 0, done = 0;
  MPI_Query_thread(&level);
  if (level == MPI_THREAD_SERIALIZED && t->manner < 3) t->manner = 0;
  by_parts_start_whole(t->x);
  for (uint64_t k = t->seed % 40; k < 20; k++) CHECK_OK(grove_test(t->x->e->op, &done));
  beside_threads(any_thread_may_call() ? t->nthreads : 0, ask_only, go_on, t);
}

static void start_by_parts(team *t, int late)
{
  by_parts_start(t->x);
  if (!late) mark_useless(t->x);
  if (t->nthreads > 0) {
    beside_threads(t->nthreads, mark_own, go_on, t);
  } else {
    t->nthreads = 1;
    mark_own(0, t);
    go_on(t);
  }
  if (late) mark_useless(t->x);
}

void by_parts_round(by_parts *x, int64_t round, int nthreads, rng *mine)
{
  team t = {x, nthreads, rng_next(mine), (int)rng_below(mine, 5)};
  int late = t.manner < 3 && rng_one_in(mine, 2);
  by_parts_renew(x, round, mine);
  if (rng_one_in(mine, 8)) linger(1e-4 * (double)rng_below(mine, 10)); /* others wait for it */
  if (rng_one_in(mine, 4))
    start_whole(&t);
  else
    start_by_parts(&t, late);
  if (t.manner < 3 && rng_one_in(mine, 2)) polite_finish(x->e->op), t.manner = 4;
  if (t.manner < 3) CHECK_OK(grove_wait(x->e->op));
  by_parts_check(x);
}

static void mark_only(int number, void *self)
{
  team *t = self;
  for (int i = number; i < t->x->nranges; i += t->nthreads)
    if (t->x->ranges[i].useful) by_parts_mark(t->x, i);
}

static void wait_and_free(void *self)
{
  team *t = self;
  CHECK_OK(grove_wait(t->x->e->op));
  CHECK_OK(grove_op_free(&t->x->e->op));
}

/* A rank that nobody waits for is through at once, and its threads have nothing to mark. */
void by_parts_last_round(by_parts *x, int64_t round, int nthreads, rng *mine)
{
  team t = {x, nthreads, 0, 0};
  by_parts_renew(x, round, mine);
  by_parts_start(x);
  mark_useless(x);
  beside_threads(nthreads, mark_only, wait_and_free, &t);
  exercise_compare(x->e);
}
