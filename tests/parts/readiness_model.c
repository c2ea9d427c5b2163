/* Marks and what leaves (src/parts/readiness.c): every order in which two threads that mark and one
 * that takes can act is tried, on a few parts, and what must never happen is looked for in every
 * state. No thread runs here. The functions are the very ones of the library: their atomic
 * operations are replaced, below, by functions that decide what is seen.
 *
 * A step is one atomic operation, with all that the thread does by itself until the next one. To
 * take a step, the call is run from its start: the operations that it has done return what they
 * returned before, which the state keeps; the next one is done now; at the one after it the call is
 * left by a jump.
 *
 * Memory is C11's. A value that is read, modified and written is the newest one; a load of the
 * thread that takes may return an older one, though none older than what it knows of. A *view* is
 * what somebody knows: of each word the oldest value it may still see, of each part the round whose
 * data it sees, of each thread how often it has touched a cell. A release leaves its thread's view
 * with the value, where a change by somebody else keeps it; an acquire takes over the view that
 * comes with the value it sees. (Loads of a mark see the newest value: what they return is only a
 * guess, which the operation that follows puts right.)
 *
 * What must hold: every part that was marked leaves, once a round, and no other; with the data that
 * was written before its mark, by an order of releases and acquires; without a delta as a whole
 * group; the next round begins only when all that others did to cells happened before; from every
 * state the end can be reached, so no announcement and no deadline is lost. A mark that meets one
 * of the same part is refused, and leaves nothing behind, and not both are.
 *
 * A model that cannot fail shows nothing. So the rules are also broken on purpose, one at a time,
 * and the search must find that out. */
#include "check.h"
#include "explore.h"

#include <math.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* ---- the operations of readiness.c ---- */

typedef enum operation { LOAD, STORE, OR, AND, ADD, EXCHANGE, COMPARE } operation;

static uint64_t operate(const void *at, operation what, uint64_t value, uint64_t expected,
                        int order);

static uint64_t bits_of(double number)
{
  uint64_t bits = 0;
  memcpy(&bits, &number, sizeof bits);
  return bits;
}

static double number_of(uint64_t bits)
{
  double number = 0;
  memcpy(&number, &bits, sizeof number);
  return number;
}

static int compare(void *at, double *expected, const double *value, int order)
{
  uint64_t before = operate(at, COMPARE, bits_of(*value), bits_of(*expected), order);
  if (before == bits_of(*expected)) return 1;
  *expected = number_of(before);
  return 0;
}

#define __atomic_load_n(at, order)           ((__typeof__(*(at)))operate(at, LOAD, 0, 0, order))
#define __atomic_store_n(at, value, order)   operate(at, STORE, (uint64_t)(value), 0, order)
#define __atomic_fetch_or(at, value, order)  operate(at, OR, value, 0, order)
#define __atomic_fetch_and(at, value, order) operate(at, AND, value, 0, order)
#define __atomic_fetch_add(at, value, order) operate(at, ADD, value, 0, order)
#define __atomic_fetch_sub(at, value, order) operate(at, ADD, ~(uint64_t)(value) + 1, 0, order)
#define __atomic_load(at, out, order)        (*(out) = number_of(operate(at, LOAD, 0, 0, order)))
#define __atomic_store(at, value, order)     operate(at, STORE, bits_of(*(value)), 0, order)
#define __atomic_exchange(at, value, out, order)                                                   \
  (*(out) = number_of(operate(at, EXCHANGE, bits_of(*(value)), 0, order)))
#define __atomic_compare_exchange(at, expected, value, weak, order, otherwise)                     \
  compare(at, expected, value, order)
#include "parts/readiness.c"

/* ---- what is explored ---- */

enum { MARKERS = 2, DRIVER = MARKERS, THREADS };
enum { MAX_GROUPS = 2, MAX_PARTS = 4, MAX_CALLS = 2, MAX_BITS = 2 };

/* The words that threads share: bits of the parts of all groups are numbered through. */
enum {
  NEWS,
  EARLIEST,
  DUE,
  MISSING,
  DEADLINE = MISSING + MAX_GROUPS,
  READY = DEADLINE + MAX_GROUPS,
  CLAIMED = READY + MAX_BITS,
  WORDS = CLAIMED + MAX_BITS
};

/* Rules that can be broken. */
enum {
  RELAXED_SUBTRACT = 1 << 0,
  RELAXED_READY = 1 << 1,      /* a bit that is set */
  RELAXED_READY_LOAD = 1 << 2, /* and read */
  RELAXED_DUE = 1 << 3,
  RELAXED_NEWS = 1 << 4,
  RELAXED_NEWS_LOAD = 1 << 5,
  RELAXED_OPEN = 1 << 6,
  NOT_TOLD_OPEN = 1 << 7,  /* a mark does not see that its group is open */
  BELIEVES_NEWS = 1 << 8,  /* who takes does not look at the counter */
  OVER_EARLY = 1 << 9,     /* a round is over when all has left */
  LAZY_EARLIEST = 1 << 10, /* what would not change is only read */
  KEEPS_CLAIMS = 1 << 11,  /* a mark that is refused does not give back */
  STEALS_CLAIMS = 1 << 12, /* or gives back what is another's */
  RELAXED_OVER = 1 << 13,  /* counters are read relaxed at the end of a round */
  ONLY_RELEASES = 1 << 14, /* a bit that is set: who fills a word has not seen the others */
  COUNTS_EARLY = 1 << 15,  /* a mark takes its word for full */
  COUNTS_LATE = 1 << 16    /* a mark does not see the bits of others */
};

typedef struct model {
  int parts, ngroups;
  int64_t first[MAX_GROUPS + 1];
  double delta;
  int rounds;
  int8_t call[MARKERS][MAX_CALLS]
             [2]; /* first part and how many: the same in each round; 0 0: none */
  int clash;      /* the markers meet: one call may be refused */
  unsigned broken;
  int narrow; /* parts in a word of bits, 1 or 2; 0: as many as in the library */
} model;

/* What somebody knows. */
typedef struct view {
  uint8_t word[CLAIMED];    /* which value of those that are kept, at least */
  uint8_t data[MAX_PARTS];  /* the round */
  uint8_t touched[MARKERS]; /* how often it had touched a cell */
} view;

enum { MAX_VALUES = 5, MAX_LOG = 32 };

/* A word: the values that can still be seen, the newest last, as numbers of `values`. */
typedef struct word {
  uint8_t n;
  uint8_t value[MAX_VALUES];
  view with[MAX_VALUES];
} word;

typedef struct thread {
  uint8_t call, done;   /* calls made; operations of the one under way */
  uint8_t now;          /* as it began */
  uint8_t log[MAX_LOG]; /* and what they returned */
  view knows;
} thread;

/* What who takes keeps for itself. */
typedef struct own {
  uint8_t seen, looked_at, from, left; /* looked_at: plus one */
  uint8_t bits[MAX_BITS];
} own;

enum { TAKES, ASKS, ENDED }; /* what the driver is at: a call to take, or is it over? */

typedef struct state {
  uint8_t round, time, at;
  uint8_t left[MAX_PARTS];     /* in this round */
  uint8_t accepted[MAX_PARTS]; /* marks that went through, in this round */
  uint8_t refused;             /* calls, in this round */
  uint8_t touched[MARKERS];
  own own;
  view begun; /* what a mark of this round knows at its start */
  thread thread[THREADS];
  uint8_t claimed[MAX_BITS];
  word word[CLAIMED];
} state;

typedef enum verdict {
  HOLDS,
  TWICE,
  UNMARKED,
  UNORDERED,
  REFUSED,
  CLAIMS,
  TOO_MANY,
  STUCK
} verdict;

static const char *const verdict_name[] = {"holds",
                                           "a part leaves twice",
                                           "a part leaves that was not marked",
                                           "an unordered access",
                                           "a mark is refused that is right",
                                           "claims are not those of the marks",
                                           "more than the model has room for",
                                           "stuck"};

typedef struct search {
  const model *m;
  grove_readiness *r;
  explorer x;
} search;

static int breaks(const search *x, unsigned rules)
{
  return (x->m->broken & rules) != 0;
}

/* ---- values and views ---- */

static uint64_t values[250];
static int nvalues;

static uint8_t number_of_value(uint64_t value)
{
  int i = 0;
  while (i < nvalues && values[i] != value) i++;
  if (i == nvalues) {
    CHECK(nvalues < 250, "more values than a byte can number");
    values[nvalues++] = value;
  }
  return (uint8_t)i;
}

static void learn(view *mine, const view *other)
{
  uint8_t *a = (uint8_t *)mine;
  const uint8_t *b = (const uint8_t *)other;
  for (size_t i = 0; i < sizeof *mine; i++)
    if (b[i] > a[i]) a[i] = b[i];
}

/* The oldest values of a word are gone. */
static void all_forget(state *s, int w, int old)
{
  view *all[CLAIMED * MAX_VALUES + THREADS + 1];
  int n = 0;
  for (int t = 0; t < THREADS; t++) all[n++] = &s->thread[t].knows;
  all[n++] = &s->begun;
  for (int i = 0; i < CLAIMED; i++)
    for (int k = 0; k < s->word[i].n; k++) all[n++] = &s->word[i].with[k];
  for (int i = 0; i < n; i++)
    all[i]->word[w] = all[i]->word[w] > old ? (uint8_t)(all[i]->word[w] - old) : 0;
}

/* Forgets values that nobody can see any more. */
static void forget_old(state *s)
{
  for (int w = 0; w < CLAIMED; w++) {
    int old = s->thread[DRIVER].knows.word[w];
    if (old == 0) continue;
    word *of = &s->word[w];
    for (int i = 0; i < MAX_VALUES; i++) {
      int from = i + old;
      of->value[i] = from < of->n ? of->value[from] : 0;
      if (from < of->n)
        of->with[i] = of->with[from];
      else
        memset(&of->with[i], 0, sizeof of->with[i]);
    }
    of->n = (uint8_t)(of->n - old);
    all_forget(s, w, old);
  }
}

/* ---- the call that is under way ---- */

static struct {
  search *x;
  state *s;
  int who;
  int on;              /* 0: the real memory is meant; -1: begin */
  int operations;      /* of this run */
  int choice, choices; /* which of the values the load returns, and of how many */
  jmp_buf out;
} call;

static int is_cell(int w)
{
  return w >= MISSING;
}

/* Words of bits, and one of them. */
static int bits_of_all(const search *x)
{
  int n = 0;
  for (int g = 0; g < x->m->ngroups; g++) n += (int)part_words(x->r, x->r->groups[g].count);
  return n;
}

static stretch stretch_of(const search *x, int which)
{
  int64_t part = 0;
  stretch p = stretch_at(x->r, part, x->m->parts);
  while (which-- > 0) {
    part += p.parts;
    p = stretch_at(x->r, part, x->m->parts);
  }
  return p;
}

/* Which word this is; -1: who takes keeps it for itself. */
static int word_at(const search *x, const void *at)
{
  const grove_readiness *r = x->r;
  if (at == &r->board->news) return NEWS;
  if (at == &r->board->earliest) return EARLIEST;
  if (at == &r->board->due[0]) return DUE;
  for (int g = 0; g < x->m->ngroups; g++) {
    const group *of = &r->groups[g];
    if (at == &of->at->missing) return MISSING + g;
    if (at == &of->at->deadline) return DEADLINE + g;
  }
  for (int i = 0; i < bits_of_all(x); i++) {
    const bits *of = stretch_of(x, i).at;
    if (at == &of->claimed) return CLAIMED + i;
    if (at == &of->ready) return READY + i;
  }
  CHECK(at == &r->left, "a word that the model does not know");
  return -1;
}

static uint64_t changed(uint64_t before, operation what, uint64_t value)
{
  switch (what) {
  case OR: return before | value;
  case AND: return before & value;
  case ADD: return before + value;
  default: return value;
  }
}

/* The order, unless that rule is broken. */
static int order_of(int w, operation what, int order)
{
  const search *x = call.x;
  int ready = w >= READY && w < CLAIMED, missing = w >= MISSING && w < DEADLINE;
  int over = call.who == DRIVER && call.s->at == ASKS;
  if ((breaks(x, RELAXED_SUBTRACT) && missing && what == ADD) ||
      (breaks(x, RELAXED_READY) && ready && what == OR) ||
      (breaks(x, RELAXED_READY_LOAD) && ready && what == LOAD) ||
      (breaks(x, RELAXED_DUE) && w == DUE) ||
      (breaks(x, RELAXED_NEWS) && w == NEWS && what == ADD) ||
      (breaks(x, RELAXED_NEWS_LOAD) && w == NEWS && what == LOAD) ||
      (breaks(x, RELAXED_OPEN) && missing && !over && call.who == DRIVER) ||
      (breaks(x, RELAXED_OVER) && missing && what == LOAD && over))
    return __ATOMIC_RELAXED;
  if (breaks(x, ONLY_RELEASES) && ready && what == OR) return __ATOMIC_RELEASE;
  return order;
}

static int acquires(int order)
{
  return order == __ATOMIC_ACQUIRE || order == __ATOMIC_ACQ_REL;
}

static int releases(int order)
{
  return order == __ATOMIC_RELEASE || order == __ATOMIC_ACQ_REL;
}

static uint64_t load(word *of, int w, view *knows, int order)
{
  int oldest = call.who == DRIVER ? knows->word[w] : of->n - 1;
  call.choices = of->n - oldest;
  int i = oldest + call.choice;
  knows->word[w] = (uint8_t)(i > knows->word[w] ? i : knows->word[w]);
  if (acquires(order)) learn(knows, &of->with[i]);
  return values[of->value[i]];
}

/* Any other operation: the newest value, and a newer one. */
static uint64_t change(word *of, int w, view *knows, operation what, uint64_t value, int order)
{
  const view nothing = {{0}, {0}, {0}};
  int newest = of->n - 1;
  uint64_t before = values[of->value[newest]];
  if (of->n == MAX_VALUES) {
    explorer_fail(&call.x->x, TOO_MANY);
    return before;
  }
  if (what != STORE && acquires(order)) learn(knows, &of->with[newest]);
  knows->word[w] = of->n;
  of->value[of->n] = number_of_value(changed(before, what, value));
  of->with[of->n] = what == STORE ? nothing : of->with[newest];
  if (releases(order)) learn(&of->with[of->n], knows);
  of->n++;
  return before;
}

/* Nobody learns anything from claims. */
static uint64_t change_claim(uint8_t *of, operation what, uint64_t value)
{
  uint64_t before = *of;
  if (what == AND && breaks(call.x, KEEPS_CLAIMS)) return before;
  if (what == AND && breaks(call.x, STEALS_CLAIMS)) value = 0;
  if (what != LOAD) *of = (uint8_t)changed(before, what, value);
  return before;
}

static uint64_t act(int w, operation what, uint64_t value, uint64_t expected, int order)
{
  search *x = call.x;
  state *s = call.s;
  view *knows = &s->thread[call.who].knows;
  if (call.who != DRIVER && is_cell(w)) knows->touched[call.who] = ++s->touched[call.who];
  if (w >= CLAIMED) return change_claim(&s->claimed[w - CLAIMED], what, value);
  word *of = &s->word[w];
  order = order_of(w, what, order);
  uint64_t newest = values[of->value[of->n - 1]];
  if (what == LOAD) return load(of, w, knows, order);
  if (what == COMPARE && (newest != expected || (breaks(x, LAZY_EARLIEST) && value == newest)))
    return load(of, w, knows, __ATOMIC_RELAXED);
  return change(of, w, knows, what, value, order);
}

/* What a thread is told that breaks a rule. */
static uint64_t told(int w, operation what, uint64_t value)
{
  const search *x = call.x;
  int ready = w >= READY && w < CLAIMED, missing = w >= MISSING && w < DEADLINE;
  if (breaks(x, COUNTS_EARLY) && ready && what == OR) return stretch_of(x, w - READY).full;
  if (breaks(x, COUNTS_LATE) && ready && what == OR) return 0;
  if (breaks(x, NOT_TOLD_OPEN) && missing && what == ADD) return value & ~OPEN;
  if (breaks(x, BELIEVES_NEWS) && missing && what == LOAD && call.s->at == TAKES && !(value & OPEN))
    return value & ~NUMBER;
  if (breaks(x, OVER_EARLY) && missing && what == LOAD && call.s->at == ASKS) return 0;
  return value;
}

/* A round begins: cells are written as if by nobody else, the board as always. */
static void reset(int w, uint64_t value)
{
  state *s = call.s;
  view *knows = &s->thread[DRIVER].knows;
  if (!is_cell(w)) {
    change(&s->word[w], w, knows, STORE, value, __ATOMIC_RELAXED);
    return;
  }
  memset(&s->word[w], 0, sizeof s->word[w]);
  s->word[w].n = 1;
  s->word[w].value[0] = number_of_value(value);
  all_forget(s, w, MAX_VALUES);
}

static uint64_t operate(const void *at, operation what, uint64_t value, uint64_t expected,
                        int order)
{
  int w = call.on ? word_at(call.x, at) : -1;
  if (w < 0) { /* it is alone with this memory */
    uint64_t *real = (uint64_t *)at, before = *real;
    if (what != LOAD && (what != COMPARE || before == expected))
      *real = changed(before, what, value);
    return before;
  }
  if (call.on < 0) {
    reset(w, value);
    return 0;
  }
  thread *me = &call.s->thread[call.who];
  if (w >= CLAIMED && !call.x->m->clash) { /* the bits of one are no matter of the other's */
    if (me->done == 0 && call.choices == 0) act(w, what, value, expected, order);
    return 0;
  }
  int i = call.operations++;
  if (i < me->done) return told(w, what, values[me->log[i]]);
  if (call.choices > 0) longjmp(call.out, 1); /* one was done: that is all for now */
  call.choices = 1;
  if (i == MAX_LOG) {
    explorer_fail(&call.x->x, TOO_MANY);
    longjmp(call.out, 1);
  }
  me->log[i] = number_of_value(act(w, what, value, expected, order));
  return told(w, what, values[me->log[i]]);
}

/* ---- threads ---- */

static void put_own(search *x, const state *s)
{
  grove_readiness *r = x->r;
  r->seen = s->own.seen;
  r->looked_at = s->own.looked_at - 1;
  r->from = s->own.from;
  r->left = s->own.left;
  for (int i = 0; i < bits_of_all(x); i++) r->left_memory[i] = s->own.bits[i];
}

static void keep_own(const search *x, state *s)
{
  const grove_readiness *r = x->r;
  s->own =
    (own){(uint8_t)r->seen, (uint8_t)(r->looked_at + 1), (uint8_t)r->from, (uint8_t)r->left, {0}};
  for (int i = 0; i < bits_of_all(x); i++) s->own.bits[i] = (uint8_t)r->left_memory[i];
}

static void call_ended(thread *me)
{
  me->call++;
  me->done = me->now = 0;
  memset(me->log, 0, sizeof me->log);
}

/* How many calls a marker makes in a round. */
static int calls_of(const model *m, int who)
{
  int n = 0;
  while (n < MAX_CALLS && m->call[who][n][1] > 0) n++;
  return n;
}

static int has_marked_all(const model *m, const state *s, int rounds)
{
  for (int who = 0; who < MARKERS; who++)
    if (s->thread[who].call < rounds * calls_of(m, who)) return 0;
  return 1;
}

static void mark(search *x, state *s, int who)
{
  thread *me = &s->thread[who];
  int n = calls_of(x->m, who), due = 0;
  const int8_t *range = x->m->call[who][me->call % n];
  if (me->done == 0) {
    if (me->call % n == 0) learn(&me->knows, &s->begun); /* its thread knows of the start */
    for (int p = range[0]; p < range[0] + range[1]; p++) me->knows.data[p] = s->round;
  }
  int64_t twice = grove_readiness_mark(x->r, range[0], range[1], me->now, &due);
  if (twice >= 0 && !x->m->clash) explorer_fail(&x->x, REFUSED);
  if (twice >= 0 && ++s->refused > 1) explorer_fail(&x->x, REFUSED);
  int late = me->call / n + 1 < s->round; /* the next round has begun */
  for (int p = range[0]; p < range[0] + range[1] && twice < 0 && !late; p++) s->accepted[p]++;
  call_ended(me);
}

static void check_run(search *x, state *s, const grove_part_run *run)
{
  const model *m = x->m;
  int g = 0;
  while (m->first[g + 1] <= run->first) g++;
  if (m->delta == 0 && (run->first != m->first[g] || run->first + run->count != m->first[g + 1]))
    explorer_fail(&x->x, UNMARKED);
  for (int64_t p = run->first; p < run->first + run->count; p++) {
    if (++s->left[p] > 1) explorer_fail(&x->x, TWICE);
    if (s->thread[DRIVER].knows.data[p] < s->round) explorer_fail(&x->x, UNORDERED);
  }
}

static void begin_round(search *x, state *s)
{
  for (int who = 0; who < MARKERS; who++)
    if (s->thread[DRIVER].knows.touched[who] < s->touched[who]) explorer_fail(&x->x, UNORDERED);
  call.on = -1;
  grove_readiness_begin(x->r, 0);
  for (int i = 0; i < bits_of_all(x); i++) {
    s->claimed[i] = 0;
    reset(READY + i, 0);
  }
  s->round++;
  memset(s->left, 0, sizeof s->left);
  memset(s->accepted, 0, sizeof s->accepted);
  s->refused = 0;
  s->begun = s->thread[DRIVER].knows;
}

static void drive(search *x, state *s)
{
  grove_part_run run;
  put_own(x, s);
  if (s->at == TAKES) {
    if (grove_readiness_take(x->r, s->thread[DRIVER].now, &run))
      check_run(x, s, &run);
    else
      s->at = ASKS;
  } else {
    int over = grove_readiness_is_over(x->r);
    s->at = TAKES;
    if (over && s->round == x->m->rounds)
      s->at = ENDED;
    else if (over)
      begin_round(x, s);
  }
  keep_own(x, s);
  call_ended(&s->thread[DRIVER]);
  s->thread[DRIVER].call = 0;
}

/* One step of somebody: the operations that were done, and one more. */
static void step(search *x, state *s, int who)
{
  call.s = s;
  call.on = 1;
  call.operations = call.choices = 0;
  if (s->thread[who].done == 0) s->thread[who].now = s->time;
  if (setjmp(call.out) == 0) {
    if (who == DRIVER)
      drive(x, s);
    else
      mark(x, s, who);
  } else {
    s->thread[who].done++;
  }
  call.on = 0;
}

/* ---- every state ---- */

static void each_outcome(search *x, const state *from, int who)
{
  call.x = x;
  call.who = who;
  for (call.choice = 0;; call.choice++) {
    state s = *from;
    step(x, &s, who);
    forget_old(&s);
    if (memcmp(&s, from, sizeof s) != 0) explorer_reach(&x->x, &s);
    if (call.choice + 1 >= call.choices) break;
  }
}

/* When all marks have been made: what has left was marked, what is claimed was marked, and once. */
static void check_marks(search *x, const state *s)
{
  if (!has_marked_all(x->m, s, s->round)) return;
  for (int p = 0; p < x->m->parts; p++) {
    stretch at = stretch_at(x->r, p, p + 1);
    int claimed = (s->claimed[word_at(x, &at.at->claimed) - CLAIMED] & at.mask) != 0;
    if (s->accepted[p] > 1) explorer_fail(&x->x, TWICE);
    if (s->left[p] > s->accepted[p]) explorer_fail(&x->x, UNMARKED);
    if (claimed != s->accepted[p]) explorer_fail(&x->x, CLAIMS);
  }
}

static void all_steps(explorer *e, const void *stored)
{
  search *x = e->model;
  const state *from = stored;
  check_marks(x, from);
  for (int who = 0; who < MARKERS; who++) {
    const thread *me = &from->thread[who];
    if (me->done > 0 || me->call < from->round * calls_of(x->m, who)) each_outcome(x, from, who);
  }
  if (from->at != ENDED) each_outcome(x, from, DRIVER);
  if (from->time == 0 || (from->time == 1 && has_marked_all(x->m, from, x->m->rounds))) {
    state s = *from;
    s.time++;
    explorer_reach(&x->x, &s);
  }
}

/* The last round is over; or, if some part is never marked, all have left that may. */
static int ended(const explorer *e, const void *stored)
{
  const search *x = e->model;
  const state *s = stored;
  int all = 1;
  for (int g = 0; g < x->m->ngroups; g++) {
    int whole = 1;
    for (int64_t p = x->m->first[g]; p < x->m->first[g + 1]; p++) whole &= s->accepted[p] > 0;
    for (int64_t p = x->m->first[g]; p < x->m->first[g + 1]; p++)
      if (s->left[p] != (whole || x->m->delta > 0 ? s->accepted[p] : 0)) return 0;
    all &= whole;
  }
  return has_marked_all(x->m, s, x->m->rounds) && (!all || s->at == ENDED);
}

static void explore(search *x, const model *m)
{
  static state start;
  memset(&start, 0, sizeof start);
  memset(x, 0, sizeof *x);
  memset(&call, 0, sizeof call);
  nvalues = 0;
  number_of_value(0);
  x->m = m;
  const grove_part_plan plan = {
    .ngroups = m->ngroups, .first = (int64_t *)m->first, .delta = m->delta};
  CHECK_OK(grove_readiness_create(m->parts, &x->r));
  if (m->narrow > 0) x->r->log2 = m->narrow - 1;
  CHECK_OK(grove_readiness_follow(x->r, &plan));
  CHECK(bits_of_all(x) <= MAX_BITS, "more words than the model has");
  grove_readiness_begin(x->r, 0);
  for (int w = 0; w < CLAIMED; w++) start.word[w].n = 1;
  start.word[EARLIEST].value[0] = number_of_value(bits_of(INFINITY));
  for (int g = 0; g < m->ngroups; g++) {
    start.word[MISSING + g].value[0] = number_of_value(x->r->groups[g].at->missing);
    start.word[DEADLINE + g].value[0] = number_of_value(bits_of(INFINITY));
  }
  start.round = 1;
  explorer_begin(&x->x, sizeof start, x, all_steps, ended);
  explorer_run(&x->x, &start);
}

/* ---- what is said about it ---- */

/* The shortest way to a state. */
static void print_way(const search *x, uint32_t to)
{
  if (to != 0) print_way(x, x->x.from[to]);
  const state *s = explorer_state(&x->x, to);
  printf("  round %d, time %d;", s->round, s->time);
  for (int t = 0; t < MARKERS; t++)
    printf(" marker %d: call %d, operation %d;", t, s->thread[t].call, s->thread[t].done);
  printf(" driver: %s, operation %d; left", s->at == TAKES ? "takes" : "asks",
         s->thread[DRIVER].done);
  for (int p = 0; p < x->m->parts; p++) printf(" %d", s->left[p]);
  printf("\n");
}

static void check_verdict(const model *m, const char *what, verdict expected)
{
  search x;
  explore(&x, m);
  verdict found = x.x.failed == EXPLORER_DEAD_END ? STUCK : (verdict)x.x.failed;
  printf("%s: %d parts in %d groups%s, %d rounds: %llu states, %s", what, m->parts, m->ngroups,
         m->delta > 0 ? " with a delta" : "", m->rounds, (unsigned long long)x.x.states,
         verdict_name[found]);
  if (found != HOLDS) printf(" after %d steps", explorer_depth(&x.x, x.x.now));
  printf("\n");
  if (found != expected && found != HOLDS) print_way(&x, x.x.now);
  fflush(stdout);
  CHECK(found == expected, "%s: %s, not %s", what, verdict_name[found], verdict_name[expected]);
  explorer_free(&x.x);
  grove_readiness_free(&x.r);
}

/* Parts, groups, where they begin, delta, rounds, calls of both markers, whether they clash; rules
 * that are broken; parts in a word. */
#define ONE_GROUP(delta, broken)                                                                   \
  {                                                                                                \
    2, 1, {0, 2}, delta, 1, {{{0, 1}}, {{1, 1}}}, 0, broken, 0                                     \
  }
#define TWO_WORDS(broken)                                                                          \
  {                                                                                                \
    2, 1, {0, 2}, 0, 1, {{{0, 1}}, {{1, 1}}}, 0, broken, 1                                         \
  }
#define TWO_GROUPS(delta, broken)                                                                  \
  {                                                                                                \
    2, 2, {0, 1, 2}, delta, 1, {{{0, 1}}, {{1, 1}}}, 0, broken, 0                                  \
  }
#define TWO_ROUNDS(delta, broken)                                                                  \
  {                                                                                                \
    2, 1, {0, 2}, delta, 2, {{{0, 1}, {1, 1}}, {{0, 0}}}, 0, broken, 0                             \
  }
#define ONE_LACKS(broken)                                                                          \
  {                                                                                                \
    3, 1, {0, 3}, 0.5, 1, {{{0, 1}}, {{2, 1}}}, 0, broken, 0                                       \
  }
#define TWO_LACK(broken)                                                                           \
  {                                                                                                \
    4, 2, {0, 2, 4}, 0.5, 1, {{{0, 1}}, {{2, 1}}}, 0, broken, 0                                    \
  }
#define CLASH(delta, broken)                                                                       \
  {                                                                                                \
    3, 2, {0, 1, 3}, delta, 1, {{{0, 2}}, {{1, 2}}}, 1, broken, 0                                  \
  }

static const model designed[] = {
  {3, 2, {0, 2, 3}, 0, 1, {{{0, 1}, {2, 1}}, {{1, 1}}}, 0, 0, 0},
  {4, 1, {0, 4}, 0.5, 1, {{{0, 2}}, {{2, 2}}}, 0, 0, 0},
  CLASH(0.5, 0),
  {3, 1, {0, 3}, 0.5, 1, {{{0, 2}}, {{1, 2}}}, 1, 0, 0},
  {2, 1, {0, 2}, 0, 2, {{{0, 1}}, {{1, 1}}}, 0, 0, 0},
  {2, 2, {0, 1, 2}, 0, 2, {{{0, 1}}, {{1, 1}}}, 0, 0, 0},
  {3, 1, {0, 3}, 0, 1, {{{0, 1}, {2, 1}}, {{1, 1}}}, 0, 0, 2},
  {3, 1, {0, 3}, 0, 1, {{{0, 2}}, {{1, 2}}}, 1, 0, 2},
  {3, 1, {0, 3}, 0, 2, {{{0, 1}}, {{1, 2}}}, 0, 0, 2},
  {3, 1, {0, 3}, 0.5, 1, {{{0, 2}}, {{2, 1}}}, 0, 0, 2},
  /* only with SAMPLES=all */
  {2, 1, {0, 2}, 0.5, 2, {{{0, 1}}, {{1, 1}}}, 0, 0, 0},
  {3, 2, {0, 2, 3}, 0.5, 1, {{{1, 2}}, {{0, 1}}}, 0, 0, 0},
  {3, 1, {0, 3}, 0.5, 1, {{{0, 1}, {2, 1}}, {{1, 1}}}, 0, 0, 0},
};

enum { ALL = sizeof designed / sizeof *designed, QUICK = ALL - 3 }; /* SAMPLES=n: the first n */

static const struct {
  const char *what;
  verdict fails;
  model m;
} broken[] = {
  {"counter of words changed relaxed", UNORDERED, TWO_WORDS(RELAXED_SUBTRACT)},
  {"bit of a word to be filled set relaxed", UNORDERED, ONE_GROUP(0, RELAXED_READY)},
  {"a word filled without acquire", UNORDERED, ONE_GROUP(0, ONLY_RELEASES)},
  {"a word counted by every mark", UNORDERED, ONE_GROUP(0, COUNTS_EARLY)},
  {"a word counted by no mark", STUCK, ONE_GROUP(0, COUNTS_LATE)},
  {"counter of parts changed relaxed", UNORDERED, ONE_GROUP(0.5, RELAXED_SUBTRACT)},
  {"bit set relaxed", UNORDERED, ONE_GROUP(0.5, RELAXED_READY)},
  {"bit read relaxed", UNORDERED, ONE_GROUP(0.5, RELAXED_READY_LOAD)},
  {"announced relaxed", STUCK, TWO_GROUPS(0, RELAXED_DUE)},
  {"news relaxed", STUCK, ONE_GROUP(0, RELAXED_NEWS)},
  {"news read relaxed", STUCK, ONE_GROUP(0, RELAXED_NEWS_LOAD)},
  {"opened relaxed", STUCK, ONE_GROUP(0.5, RELAXED_OPEN)},
  {"a mark is not told that its group is open", STUCK, ONE_LACKS(NOT_TOLD_OPEN)},
  {"news of the last round believed", UNORDERED, TWO_ROUNDS(0.5, BELIEVES_NEWS)},
  {"over when all has left", UNORDERED, TWO_ROUNDS(0.5, OVER_EARLY)},
  {"over, by counters read relaxed", UNORDERED, TWO_ROUNDS(0.5, RELAXED_OVER)},
  {"a later deadline only read", STUCK, TWO_LACK(LAZY_EARLIEST)},
  {"claims kept by a mark that is refused", CLAIMS, CLASH(0, KEEPS_CLAIMS)},
  {"claims of others given back", CLAIMS, CLASH(0, STEALS_CLAIMS)},
};

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "parts/readiness_model");
  for (int i = 0; i < (int)(sizeof broken / sizeof *broken); i++) {
    model m = broken[i].m;
    check_verdict(&m, broken[i].what, broken[i].fails);
    m.broken = 0;
    check_verdict(&m, "as designed", HOLDS); /* it was this rule, and not the rest of the case */
  }
  int n = test_exhaustive() || test_samples(QUICK) > ALL ? ALL : (int)test_samples(QUICK);
  for (int i = 0; i < n; i++) {
    test_case(i);
    check_verdict(&designed[i], "as designed", HOLDS);
  }
  return test_end();
}
