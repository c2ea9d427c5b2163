/* How a mark makes something due, and who then sends it (src/partitioned/marks.c, send.c, round.c):
 * every order in which three threads that mark can act is tried, in memory as C11 has it
 * (support/weak.h). The functions are the very ones of the library, but for their atomic operations
 * and for what they stand on, of which there is as much as they may rely on:
 *
 *   a mark    adds its part to what is announced (release); parts/readiness_model is about that
 *   a take    looks at what is announced (acquire), which need not be the newest, and at what was
 *             taken before, which is plain memory: one thread at a time
 *   the lock  who finds another thread inside is sent away; leaving is a release, and no more
 *
 * Either any thread may post, and the gate lets one in at a time to take; or only who has the lock
 * may do anything.
 *
 * What must hold: when all threads have come out of their marks, all parts have been posted, though
 * nobody else ever looks; each once, and seen as it was written before the mark; nothing plain is
 * accessed without an order.
 *
 * The rules are also broken on purpose, one at a time, and the search must find that out. In the
 * first of them `due` is stored, as it once was: then who takes need not see what was announced
 * before it was reset, and whose mark that was finds the gate shut. */
#include "check.h"
#include "explore.h"
#include "weak.h"

#include "partitioned/way.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* ---- what is explored ---- */

enum { THREADS = WEAK_THREADS, MAX_PARTS = 4 };

/* The words that they share. */
enum { DUE, GATE, LOCK, NEWS, WORDS };

/* Rules that can be broken. */
enum {
  STORED = 1 << 0,  /* due is stored and loaded, with sequential consistency */
  LOADED = 1 << 1,  /* it is only loaded in the end */
  ONCE = 1 << 2,    /* nobody looks whether something is due again */
  NO_GATE = 1 << 3, /* everybody is let in */
  OPENED_RELAXED = 1 << 4,
  SHUT_RELAXED = 1 << 5,
  DUE_RELAXED = 1 << 6
};

typedef struct model {
  int by_threads;
  const char *script[THREADS]; /* the parts that it marks; '.': it only looks, as a wait does */
  unsigned broken;
} model;

typedef struct scene {
  uint8_t marked[THREADS]; /* calls that are over */
  uint8_t taken, posted[MAX_PARTS];
  weak_plain own, data[MAX_PARTS];
  weak_memory memory;
} scene;

typedef enum verdict { HOLDS, UNORDERED, TWICE, TOO_MANY, STUCK } verdict;

static const char *const verdict_name[] = {"holds", "an unordered access", "a part leaves twice",
                                           "more than the model has room for",
                                           "a part is left behind"};

typedef struct search {
  const model *m;
  scene *s;
  explorer x;
} search;

static search *now;
static grove_channel channel;

static int breaks(unsigned rules)
{
  return (now->m->broken & rules) != 0;
}

static void fail(verdict v)
{
  explorer_fail(&now->x, (int)v);
}

/* ---- what the functions stand on ---- */

static int64_t announce(grove_readiness *r, int64_t first, int64_t count, double time, int *due)
{
  (void)r, (void)count, (void)time;
  if (weak_here() && !weak_write(&now->s->data[first])) fail(UNORDERED);
  weak_do(NEWS, WEAK_OR, (uint64_t)1 << first, 0, __ATOMIC_RELEASE);
  *due = 1;
  return -1;
}

static int take(grove_readiness *r, double time, grove_part_run *run)
{
  (void)r, (void)time;
  scene *s = now->s;
  uint64_t news = weak_do(NEWS, WEAK_LOAD, 0, 0, __ATOMIC_ACQUIRE);
  if (weak_here()) {
    uint64_t left = news & ~(uint64_t)s->taken;
    *weak_kept() = left ? (uint8_t)(__builtin_ctzll(left) + 1) : 0;
    if (!weak_write(&s->own)) fail(UNORDERED);
    if (left) s->taken |= (uint8_t)(left & (~left + 1));
  }
  int part = *weak_kept() - 1;
  *run = (grove_part_run){part, 1};
  return part >= 0;
}

static grove_status post(grove_channel *c, int64_t offset, int64_t bytes)
{
  int64_t part = offset / c->part_bytes;
  (void)bytes;
  if (weak_here()) {
    if (!weak_read(&now->s->data[part])) fail(UNORDERED);
    if (++now->s->posted[part] > 1) fail(TWICE);
  }
  return GROVE_OK;
}

static int try_lock(void)
{
  return weak_do(LOCK, WEAK_COMPARE, 1, 0, __ATOMIC_ACQUIRE) == 0;
}

static void leave_lock(void)
{
  weak_do(LOCK, WEAK_EXCHANGE, 0, 0, __ATOMIC_RELEASE);
}

static uint64_t operate_due(weak_operation what, uint64_t value, int order)
{
  if (breaks(DUE_RELAXED)) order = __ATOMIC_RELAXED;
  if (breaks(STORED) && what == WEAK_EXCHANGE)
    return weak_do(DUE, WEAK_STORE, value, 0, __ATOMIC_SEQ_CST);
  if (breaks(STORED) && what == WEAK_OR) return weak_do(DUE, WEAK_LOAD, 0, 0, __ATOMIC_SEQ_CST);
  if (breaks(LOADED) && what == WEAK_OR) return weak_do(DUE, WEAK_LOAD, 0, 0, order);
  uint64_t before = weak_do(DUE, what, value, 0, order);
  return what == WEAK_OR && breaks(ONCE) ? 0 : before;
}

/* Words that the model does not know do not change here. */
static uint64_t operate(const void *at, uint64_t is, weak_operation what, uint64_t value, int order)
{
  if (at == &channel.due) return operate_due(what, value, order);
  if (at != &channel.gate) return is;
  if (breaks(OPENED_RELAXED) && what == WEAK_STORE) order = __ATOMIC_RELAXED;
  if (breaks(SHUT_RELAXED) && what == WEAK_EXCHANGE) order = __ATOMIC_RELAXED;
  uint64_t before = weak_do(GATE, what, value, 0, order);
  return what == WEAK_EXCHANGE && breaks(NO_GATE) ? 0 : before;
}

#define OPERATE(at, what, value, order)                                                            \
  ({                                                                                               \
    uint64_t is_ = (uint64_t) * (at);                                                              \
    (__typeof__(*(at)))operate(at, is_, what, (uint64_t)(value), order);                           \
  })
#define __atomic_load_n(at, order)            OPERATE(at, WEAK_LOAD, 0, order)
#define __atomic_store_n(at, value, order)    OPERATE(at, WEAK_STORE, value, order)
#define __atomic_exchange_n(at, value, order) OPERATE(at, WEAK_EXCHANGE, value, order)
#define __atomic_fetch_or(at, value, order)   OPERATE(at, WEAK_OR, value, order)
#define __atomic_fetch_add(at, value, order)  OPERATE(at, WEAK_ADD, value, order)
#define __atomic_fetch_sub(at, value, order)  OPERATE(at, WEAK_ADD, 0 - (uint64_t)(value), order)
#define grove_readiness_mark                  announce
#define grove_readiness_take                  take
#define grove_context_try(ctx)                ((void)(ctx), try_lock())
#define grove_context_leave(ctx)              ((void)(ctx), leave_lock())
#include "partitioned/marks.c"
#include "partitioned/round.c"
#include "partitioned/send.c"

static void make_channel(const model *m)
{
  static grove_context ctx;
  static grove_way_kind way;
  way = (grove_way_kind){.by_threads = m->by_threads, .post = post};
  memset(&channel, 0, sizeof channel);
  channel.base.kind = &grove_kind_psend;
  channel.base.ctx = &ctx;
  ctx.lock = (grove_lock *)(void *)&ctx; /* there is one */
  channel.base.state = GROVE_OP_ACTIVE;
  channel.sends = channel.dense = 1;
  channel.bond = GROVE_BOND_TIED;
  channel.way = &way;
  channel.aggregator = &grove_aggregator_none;
  channel.parts = MAX_PARTS;
  channel.part_bytes = 8;
  channel.bytes = channel.parts * channel.part_bytes;
}

/* ---- every state ---- */

static void act(char what)
{
  if (what != '.')
    CHECK_OK(mark_parts(&channel, what - '0', 1));
  else if (now->m->by_threads)
    CHECK_OK(grove_send_post(&channel));
  else
    grove_channel_drive(&channel);
}

static void each_outcome(search *x, const scene *from, int who)
{
  int more = 0;
  weak.choice = 0;
  do {
    static scene s; /* what is not stored is 0 */
    memcpy(&s, from, x->x.bytes);
    x->s = &s;
    make_channel(x->m);
    weak_step(&s.memory, who);
    if (setjmp(weak.out) == 0) {
      act(x->m->script[who][s.marked[who]]);
      weak_return();
      s.marked[who]++;
    } else {
      weak_pause();
    }
    if (weak.full) fail(TOO_MANY);
    more = weak_next_choice();
    if (memcmp(&s, from, x->x.bytes) != 0) explorer_reach(&x->x, &s);
  } while (more);
}

static void all_steps(explorer *e, const void *stored)
{
  search *x = e->model;
  const scene *from = stored;
  for (int who = 0; who < THREADS; who++)
    if (x->m->script[who][from->marked[who]] != '\0') each_outcome(x, from, who);
}

static int ended(const explorer *e, const void *stored)
{
  const search *x = e->model;
  const scene *s = stored;
  for (int who = 0; who < THREADS; who++) {
    const char *parts = x->m->script[who];
    if (parts[s->marked[who]] != '\0') return 0;
    for (; *parts; parts++)
      if (*parts != '.' && !s->posted[*parts - '0']) return 0;
  }
  return 1;
}

static void explore(search *x, const model *m)
{
  static scene start;
  memset(&start, 0, sizeof start);
  memset(x, 0, sizeof *x);
  x->m = m;
  now = x;
  weak_begin(&start.memory, WORDS);
  unsigned all = 0;
  for (int who = 0; who < THREADS; who++)
    if (m->script[who][0] != '\0') all |= 1u << who;
  for (int w = 0; w < WORDS; w++)
    weak_loaded_by(w, w == NEWS || (w == DUE && breaks(STORED | LOADED)) ? all : 0);
  explorer_begin(&x->x, offsetof(scene, memory.word) + WORDS * sizeof(weak_word), x, all_steps,
                 ended);
  explorer_run(&x->x, &start);
}

/* ---- what is said about it ---- */

static void print_way(const search *x, uint32_t to)
{
  if (to != 0) print_way(x, x->x.from[to]);
  const scene *s = explorer_state(&x->x, to);
  for (int t = 0; t < THREADS; t++)
    printf("  thread %d: call %d, operation %d;", t, s->marked[t], s->memory.thread[t].done);
  printf(" taken %#x\n", s->taken);
}

static void check_verdict(const model *m, const char *what, verdict expected)
{
  search x;
  explore(&x, m);
  verdict found = x.x.failed == EXPLORER_DEAD_END ? STUCK : (verdict)x.x.failed;
  printf("%s: %s, marks of %s, %s and %s: %llu states, %s", what,
         m->by_threads ? "by threads" : "with the lock", m->script[0], m->script[1], m->script[2],
         (unsigned long long)x.x.states, verdict_name[found]);
  if (found != HOLDS) printf(" after %d steps", explorer_depth(&x.x, x.x.now));
  printf("\n");
  if (found != expected && found != HOLDS) print_way(&x, x.x.now);
  fflush(stdout);
  CHECK(found == expected, "%s: %s, not %s", what, verdict_name[found], verdict_name[expected]);
  explorer_free(&x.x);
}

static const model designed[] = {
  {1, {"03", "1", ""}, 0},
  {0, {"03", "1", ""}, 0},
  {1, {"0", "1", "."}, 0},
  {0, {"0", "1", "."}, 0},
  /* only with SAMPLES=all: some gigabytes */
  {0, {"0", "1", "2"}, 0},
  {1, {"0", "1", "2"}, 0},
};

enum { ALL = sizeof designed / sizeof *designed, QUICK = ALL - 2 }; /* SAMPLES=n: the first n */

static const struct {
  const char *what;
  verdict fails;
  model m;
} broken[] = {
  {"due stored", STUCK, {1, {"0", "1", ""}, STORED}},
  {"due stored, with the lock", STUCK, {0, {"0", "1", ""}, STORED}},
  {"due loaded in the end", STUCK, {1, {"0", "1", ""}, LOADED}},
  {"due loaded in the end, with the lock", STUCK, {0, {"0", "1", ""}, LOADED}},
  {"due changed relaxed", STUCK, {1, {"0", "1", ""}, DUE_RELAXED}},
  {"nobody looks again", STUCK, {1, {"0", "1", ""}, ONCE}},
  {"nobody looks again, with the lock", STUCK, {0, {"0", "1", ""}, ONCE}},
  {"no gate", UNORDERED, {1, {"0", "1", ""}, NO_GATE}},
  {"gate opened relaxed", UNORDERED, {1, {"0", "1", ""}, OPENED_RELAXED}},
  {"gate shut relaxed", UNORDERED, {1, {"0", "1", ""}, SHUT_RELAXED}},
};

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "partitioned/due_model");
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
