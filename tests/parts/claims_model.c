/* Claims that meet (src/parts/claims.c): every order in which two or three calls can act is tried,
 * one atomic operation at a time, and what must never happen is looked for at every end. No thread
 * runs here. The functions are the very ones of the library: their atomic operations are replaced,
 * below, by functions that work on the state that is explored.
 *
 * A step is one atomic operation, with all that the call does by itself until the next one. To take
 * a step, the call is run from its start: operations that it has done return what they returned
 * before, which the state keeps; the next one is done now; at the one after it the call is left by
 * a jump. Every operation sees the newest value.
 *
 * What must hold: no place has two winners; what a winner claimed is claimed at the end, and
 * nothing else is; a call that meets nobody wins; a call that is wrong whatever the others do is
 * refused, and nobody else is on its account. Of two calls that meet both may be refused
 * (ONE_WINS: that is looked for, too). */
#include "check.h"
#include "explore.h"
#include "random.h"

#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef enum operation { LOAD, OR, AND } operation;

static uint64_t operate(const uint64_t *at, operation what, uint64_t value);

#define __atomic_load_n(at, order)           operate(at, LOAD, 0)
#define __atomic_fetch_or(at, value, order)  operate(at, OR, value)
#define __atomic_fetch_and(at, value, order) operate(at, AND, value)
#define split                                split_range /* the tests have one, too */
#include "parts/claims.c"

/* ---- what is explored ---- */

enum { MOST_CALLS = 3, MOST_WORDS = 80, MOST_LOG = 48, BEFORE = 2, NOT_OVER = -2 };

typedef struct range {
  int64_t first, count;
} range;

typedef struct scenario {
  grove_claims *claims; /* for its shape: what it holds is in the states */
  int nbefore, ncalls;
  range before[BEFORE]; /* claimed by then */
  range calls[MOST_CALLS];
} scenario;

typedef struct call {
  int64_t result;         /* NOT_OVER; or what it returned */
  int64_t done;           /* operations, ... */
  uint64_t log[MOST_LOG]; /* ... and what they returned */
} call;

typedef struct state {
  uint64_t words[MOST_WORDS];
  call calls[MOST_CALLS];
} state;

enum { ONE_WINS = 0 };

enum { TWO_WINNERS = 1, LOST, LEFT_BEHIND, REFUSED_FOR_NOTHING, NOT_REFUSED, NOBODY_WINS };

static const char *const faults[] = {"",
                                     "a place has two winners",
                                     "what was claimed is not",
                                     "something is left behind",
                                     "a call is refused for nothing",
                                     "a call that is wrong is not refused",
                                     "two calls meet, and both are refused"};

/* ---- steps ---- */

/* The one that is being taken; without a call: what is asked of a state. */
static struct {
  const grove_claims *claims;
  state *s;
  call *who;
  int64_t at; /* operations of this run */
  jmp_buf out;
} now;

static uint64_t act(const uint64_t *at, operation what, uint64_t value)
{
  uint64_t *word = &now.s->words[at - now.claims->memory], before = *word;
  if (what == OR) *word |= value;
  if (what == AND) *word &= value;
  return before;
}

static uint64_t operate(const uint64_t *at, operation what, uint64_t value)
{
  call *c = now.who;
  if (c == NULL) return act(at, what, value);
  if (now.at > c->done || c->done == MOST_LOG) longjmp(now.out, 1);
  if (now.at == c->done) {
    c->log[c->done++] = act(at, what, value);
    now.at = c->done + 1; /* the next one is for another step */
    return c->log[c->done - 1];
  }
  return c->log[now.at++];
}

static void step(const scenario *m, state *s, int k)
{
  call *c = &s->calls[k];
  now.claims = m->claims;
  now.s = s;
  now.who = c;
  now.at = 0;
  if (setjmp(now.out) == 0) {
    int64_t result = grove_claims_take(m->claims, m->calls[k].first, m->calls[k].count);
    memset(c, 0, sizeof *c);
    c->result = result;
  }
  CHECK(c->done < MOST_LOG, "a call has too many operations");
}

/* ---- what must hold ---- */

static int meet(range a, range b)
{
  return a.first < b.first + b.count && b.first < a.first + a.count;
}

static int is_wrong_anyway(const scenario *m, int k)
{
  for (int i = 0; i < m->nbefore; i++)
    if (meet(m->before[i], m->calls[k])) return 1;
  return 0;
}

/* How many others it meets that are not wrong anyway. */
static int rivals(const scenario *m, int k)
{
  int n = 0;
  for (int i = 0; i < m->ncalls; i++)
    n += i != k && meet(m->calls[i], m->calls[k]) && !is_wrong_anyway(m, i);
  return n;
}

static int has(const range *list, int n, int64_t place)
{
  for (int i = 0; i < n; i++)
    if (meet(list[i], (range){place, 1})) return 1;
  return 0;
}

static int find_fault_of_places(const scenario *m, const state *s)
{
  state copy = *s;
  now.claims = m->claims;
  now.s = &copy;
  now.who = NULL;
  for (int64_t place = 0; place < m->claims->n; place++) {
    int winners = has(m->before, m->nbefore, place);
    for (int k = 0; k < m->ncalls; k++)
      winners += s->calls[k].result == -1 && has(&m->calls[k], 1, place);
    int claimed = grove_claims_has(m->claims, place);
    if (winners > 1) return TWO_WINNERS;
    if (winners != claimed) return claimed ? LEFT_BEHIND : LOST;
  }
  return 0;
}

static int find_fault(const scenario *m, const state *s)
{
  for (int k = 0; k < m->ncalls; k++) {
    int64_t result = s->calls[k].result;
    if (is_wrong_anyway(m, k) && result < 0) return NOT_REFUSED;
    if (is_wrong_anyway(m, k)) continue;
    if (rivals(m, k) == 0 && result >= 0) return REFUSED_FOR_NOTHING;
    for (int i = 0; i < k; i++)
      if (ONE_WINS && meet(m->calls[i], m->calls[k]) && rivals(m, k) == 1 && rivals(m, i) == 1 &&
          result >= 0 && s->calls[i].result >= 0)
        return NOBODY_WINS;
  }
  return find_fault_of_places(m, s);
}

/* ---- the search ---- */

static int is_over(const explorer *x, const void *at)
{
  const scenario *m = x->model;
  const state *s = at;
  for (int k = 0; k < m->ncalls; k++)
    if (s->calls[k].result == NOT_OVER) return 0;
  return 1;
}

static void all_steps(explorer *x, const void *at)
{
  const scenario *m = x->model;
  const state *from = at;
  if (is_over(x, from)) {
    int fault = find_fault(m, from);
    if (fault != 0) explorer_fail(x, fault);
    return;
  }
  for (int k = 0; k < m->ncalls; k++) {
    if (from->calls[k].result != NOT_OVER) continue;
    state s = *from;
    step(m, &s, k);
    explorer_reach(x, &s);
  }
}

static int64_t explored;

static void explore(scenario *m)
{
  static state start;
  explorer x;
  memset(&start, 0, sizeof start);
  now.claims = m->claims;
  now.s = &start;
  now.who = NULL;
  for (int i = 0; i < m->nbefore; i++)
    CHECK(grove_claims_take(m->claims, m->before[i].first, m->before[i].count) == -1,
          "what is claimed before meets itself");
  for (int k = 0; k < m->ncalls; k++) start.calls[k].result = NOT_OVER;
  explorer_begin(&x, sizeof start, m, all_steps, is_over);
  explorer_run(&x, &start);
  explored += (int64_t)x.states;
  if (x.failed > 0) {
    const state *s = explorer_state(&x, x.now);
    for (int i = 0; i < m->nbefore; i++)
      fprintf(stderr, "before: %lld and %lld\n", (long long)m->before[i].first,
              (long long)m->before[i].count);
    for (int k = 0; k < m->ncalls; k++)
      fprintf(stderr, "call %d: %lld places from %lld: %lld\n", k, (long long)m->calls[k].count,
              (long long)m->calls[k].first, (long long)s->calls[k].result);
  }
  CHECK(x.failed == 0, "%s", x.failed > 0 ? faults[x.failed] : "a dead end");
  explorer_free(&x);
}

/* ---- scenarios ---- */

/* Around the edges of words, and of words above words. */
static range draw_range(rng *r, int64_t n)
{
  static const int64_t units[] = {1, 64, 64, 2048};
  for (;;) {
    int64_t ends[2];
    for (int i = 0; i < 2; i++) {
      int64_t unit = units[rng_below(r, n > 2048 ? 4 : 3)];
      ends[i] = unit * rng_below(r, n / unit + 1) + rng_between(r, -2, 2);
      if (rng_one_in(r, 5)) ends[i] = rng_one_in(r, 2) ? 0 : n;
    }
    range found = {ends[0] < ends[1] ? ends[0] : ends[1], 0};
    found.count = ends[0] + ends[1] - 2 * found.first;
    if (found.first >= 0 && found.count > 0 && found.first + found.count <= n) return found;
  }
}

static void try_scenario(int64_t number)
{
  static const int64_t sizes[] = {64, 200, 330, 2100};
  rng r = rng_from(test_seed(), (uint64_t)number);
  int64_t n = sizes[number % 4];
  scenario m = {.nbefore = (int)rng_below(&r, BEFORE + 1), .ncalls = number % 24 == 1 ? 3 : 2};
  CHECK_OK(grove_claims_create(n, &m.claims));
  for (int i = 0; i < m.nbefore; i++) {
    m.before[i] = draw_range(&r, n);
    if (rng_one_in(&r, 2)) m.before[i].count = 1;
    if (i > 0 && meet(m.before[0], m.before[i])) m.nbefore = i;
  }
  for (int k = 0; k < m.ncalls; k++) m.calls[k] = draw_range(&r, n);
  explore(&m);
  grove_claims_free(&m.claims);
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "parts/claims_model");
  for (int64_t i = 0; i < test_samples(500); i++) {
    test_case(i);
    try_scenario(i);
  }
  printf("%lld states\n", (long long)explored);
  return test_end();
}
