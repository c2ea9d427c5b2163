/* The queue in shared memory of a channel (src/partitioned/queue.h): every order in which two
 * threads that write and the one that reads can act is tried, on small queues, in memory as C11 has
 * it (support/weak.h), and what must never happen is looked for in every state. The functions are
 * the very ones of the library, but for their atomic operations.
 *
 *   writer    grove_queue_claim(), again later if the queue is full; fills the slot;
 *             grove_queue_post(). 'p' in its script: grove_queue_begin_put(), and if it may, writes
 *             to its place in the reader's array, and the item only tells of it.
 *   reader    grove_queue_peek(); an item of its round is read, or the array where the item tells
 *             of it; grove_queue_pass(). After a round the array is its user's, who writes to it,
 *             until grove_queue_go() lets the writers in again.
 *   freeing   the reader takes `go` away, waits until nobody writes, and leaves; then its array is
 *             its user's for ever. One that leaves early does so at any time.
 *   the end   when the reader has left and both writers are through, the memory has another queue.
 *
 * What must hold: every item comes once, in its round, with its data; no access to a slot or to the
 * array is unordered; from every state the end can be reached.
 *
 * The rules are also broken on purpose, one at a time, and the search must find that out. */
#include "check.h"
#include "explore.h"
#include "weak.h"

#include <stdio.h>
#include <string.h>

static uint64_t act_on(const void *at, weak_operation what, uint64_t value, uint64_t expected,
                       int order);

static int compare(void *at, uint64_t *expected, uint64_t value, int order)
{
  uint64_t before = act_on(at, WEAK_COMPARE, value, *expected, order);
  if (before == *expected) return 1;
  *expected = before;
  return 0;
}

#define __atomic_load_n(at, order)           ((__typeof__(*(at)))act_on(at, WEAK_LOAD, 0, 0, order))
#define __atomic_store_n(at, value, order)   act_on(at, WEAK_STORE, (uint64_t)(value), 0, order)
#define __atomic_fetch_add(at, value, order) act_on(at, WEAK_ADD, value, 0, order)
#define __atomic_fetch_sub(at, value, order) act_on(at, WEAK_ADD, (uint64_t)0 - (value), 0, order)
#define __atomic_compare_exchange_n(at, expected, value, weak, order, otherwise)                   \
  compare(at, expected, value, order)
#include "partitioned/queue.h"

/* ---- what is explored ---- */

enum { WRITERS = 2, READER = WRITERS, MAX_SLOTS = 2, MAX_ITEMS = 4, MAX_ROUNDS = 2 };

/* The words that they share. */
enum { TAIL, SEEN, CONSUMED, GO, LEFT, INSIDE, NUMBER };

/* Rules that can be broken. */
enum {
  RELAXED_POST = 1 << 0,
  RELAXED_PEEK = 1 << 1,
  RELAXED_PASS = 1 << 2,
  RELAXED_CONSUMED = 1 << 3,
  RELAXED_SEEN = 1 << 4,
  RELAXED_SEEN_LOAD = 1 << 5,
  ONE_MORE = 1 << 6,        /* the reader is taken to have consumed one more than it has */
  NOT_COMPARED = 1 << 7,    /* a number is claimed by a store */
  ANY_NUMBER = 1 << 8,      /* the slot holds an item, whichever */
  WEAK_BEGIN_PUT = 1 << 10, /* acquire and release only */
  WEAK_GO_LOAD = 1 << 11,
  WEAK_GO = 1 << 12,
  WEAK_IS_WRITTEN = 1 << 13,
  RELAXED_END_PUT = 1 << 14,
  NO_WAIT = 1 << 15, /* for writers */
  RELAXED_LEAVE = 1 << 16,
  RELAXED_IS_LEFT = 1 << 17,
  NOT_LEFT = 1 << 18 /* used again without asking */
};

typedef struct model {
  int slots, rounds;
  const char *script[WRITERS]; /* the items of a round: d, or p */
  int leaves;                  /* early */
  unsigned broken;
} model;

/* Who wrote an item, and what it is. */
typedef struct item {
  uint8_t place, round, put; /* place: among all items of a round, plus one */
} item;

typedef struct writer {
  uint8_t round, next; /* items of the round that were posted */
  uint8_t put;         /* the next one lies in the array: in which round */
} writer;

typedef struct reader {
  uint8_t round, next, stage;
  uint8_t come[MAX_ITEMS];
} reader;

typedef struct state {
  writer w[WRITERS];
  reader r;
  uint8_t gone; /* the memory has another queue */
  item slot[MAX_SLOTS];
  weak_plain slot_memory[MAX_SLOTS], array[MAX_ITEMS];
  weak_view begun; /* what writers know at the beginning of a round */
  weak_memory memory;
} state;

enum { READS, STOPS, WAITS, LEAVES, ENDED }; /* stages of the reader */

typedef enum verdict { HOLDS, UNORDERED, WRONG_ITEM, TOO_MANY, STUCK } verdict;

static const char *const verdict_name[] = {"holds", "an unordered access", "a wrong item",
                                           "more than the model has room for", "stuck"};

typedef struct search {
  const model *m;
  explorer x;
} search;

static search *now;

/* The queue as its functions made it: nothing in it changes, values are in the state. */
static union {
  grove_queue q;
  char bytes[1024];
} queue;
static uint64_t tail, seen;

static int breaks(unsigned rules)
{
  return (now->m->broken & rules) != 0;
}

static void fail(verdict v)
{
  explorer_fail(&now->x, (int)v);
}

/* ---- the operations of queue.h ---- */

static int word_at(const void *at)
{
  const grove_queue *q = &queue.q;
  if (at == &tail) return TAIL;
  if (at == &seen) return SEEN;
  if (at == &q->consumed) return CONSUMED;
  if (at == &q->go) return GO;
  if (at == &q->left) return LEFT;
  if (at == &q->writers) return INSIDE;
  int slot = at == &grove_queue_at(q, 0)->number ? 0 : 1;
  CHECK(at == &grove_queue_at(q, (uint64_t)slot)->number, "a word that the model does not know");
  return NUMBER + slot;
}

static int order_of(int w, weak_operation what, int order)
{
  int loads = what == WEAK_LOAD, adds = what == WEAK_ADD, begins = order == __ATOMIC_SEQ_CST;
  if ((breaks(RELAXED_POST) && w >= NUMBER && !loads) ||
      (breaks(RELAXED_PEEK) && w >= NUMBER && loads) ||
      (breaks(RELAXED_PASS) && w == CONSUMED && !loads) ||
      (breaks(RELAXED_CONSUMED) && w == CONSUMED && loads) ||
      (breaks(RELAXED_SEEN) && w == SEEN && !loads) ||
      (breaks(RELAXED_SEEN_LOAD) && w == SEEN && loads) ||
      (breaks(RELAXED_END_PUT) && w == INSIDE && adds && !begins) ||
      (breaks(RELAXED_LEAVE) && w == LEFT && !loads) ||
      (breaks(RELAXED_IS_LEFT) && w == LEFT && loads))
    return __ATOMIC_RELAXED;
  if (breaks(WEAK_BEGIN_PUT) && w == INSIDE && adds && begins) return __ATOMIC_ACQ_REL;
  if (breaks(WEAK_GO_LOAD) && w == GO && loads) return __ATOMIC_ACQUIRE;
  if (breaks(WEAK_GO) && w == GO && !loads) return __ATOMIC_RELEASE;
  if (breaks(WEAK_IS_WRITTEN) && w == INSIDE && loads) return __ATOMIC_ACQUIRE;
  return order;
}

static uint64_t act_on(const void *at, weak_operation what, uint64_t value, uint64_t expected,
                       int order)
{
  int w = word_at(at);
  order = order_of(w, what, order);
  if (w == TAIL && what == WEAK_COMPARE && breaks(NOT_COMPARED)) {
    weak_do(w, WEAK_STORE, value, 0, order);
    return expected;
  }
  uint64_t before = weak_do(w, what, value, expected, order);
  if (w == CONSUMED && what == WEAK_LOAD && breaks(ONE_MORE)) before++;
  if (w == INSIDE && what == WEAK_LOAD && breaks(NO_WAIT)) return 0;
  if (w == LEFT && what == WEAK_LOAD && breaks(NOT_LEFT)) return 1;
  return before;
}

/* ---- plain memory ---- */

static void read_plain(weak_plain *at)
{
  if (weak_here() && !weak_read(at)) fail(UNORDERED);
}

static void write_plain(weak_plain *at)
{
  if (weak_here() && !weak_write(at)) fail(UNORDERED);
}

/* ---- writers ---- */

static int items_of(const model *m, int who)
{
  return (int)strlen(m->script[who]);
}

static int all_items(const model *m)
{
  return items_of(m, 0) + items_of(m, 1);
}

/* Of the next item of this writer, among all of a round. */
static int place_of(const search *x, const state *s, int who)
{
  return (who > 0 ? items_of(x->m, 0) : 0) + s->w[who].next;
}

/* Both have posted all of a round: a start, which both know of, begins the next. */
static void begin_round(const model *m, state *s)
{
  for (int w = 0; w < WRITERS; w++)
    if (s->w[w].next < items_of(m, w) || s->w[w].round == m->rounds) return;
  for (int w = 0; w < WRITERS; w++) weak_learn(&s->begun, &s->memory.thread[w].knows);
  for (int w = 0; w < WRITERS; w++) {
    s->w[w].round++;
    s->w[w].next = 0;
    weak_learn(&s->memory.thread[w].knows, &s->begun);
  }
}

static void posted(state *s, int who)
{
  s->w[who].next++;
  s->w[who].put = 0;
}

/* Into the array, if it may; this is a call of its own. */
static void put_item(const search *x, state *s, int who)
{
  if (!grove_queue_begin_put(&queue.q, s->w[who].round)) {
    s->w[who].put = 2;
    return;
  }
  write_plain(&s->array[place_of(x, s, who)]);
  grove_queue_end_put(&queue.q);
  s->w[who].put = 1;
}

static void post_item(const search *x, state *s, int who)
{
  uint64_t number = 0;
  grove_queue_slot *slot = grove_queue_claim(&queue.q, &tail, &seen, &number);
  if (!slot) { /* a reader that has left takes nothing */
    if (x->m->leaves && grove_queue_is_left(&queue.q)) posted(s, who);
    return;
  }
  int i = (int)(number & (uint64_t)(x->m->slots - 1));
  if (weak_here()) {
    if (!weak_write(&s->slot_memory[i])) fail(UNORDERED);
    s->slot[i] = (item){(uint8_t)(place_of(x, s, who) + 1), s->w[who].round, s->w[who].put == 1};
  }
  grove_queue_post(slot, number);
  posted(s, who);
}

static int is_through(const search *x, const state *s)
{
  for (int w = 0; w < WRITERS; w++)
    if (s->w[w].round < x->m->rounds || s->w[w].next < items_of(x->m, w)) return 0;
  return 1;
}

/* The memory has another queue, once the reader has left. */
static void use_again(const search *x, state *s)
{
  if (!grove_queue_is_left(&queue.q)) return;
  weak_learn(&s->memory.thread[0].knows, &s->memory.thread[1].knows);
  for (int i = 0; i < x->m->slots; i++) write_plain(&s->slot_memory[i]);
  s->gone = 1;
}

static void write_on(search *x, state *s, int who)
{
  const writer *w = &s->w[who];
  if (is_through(x, s))
    use_again(x, s);
  else if (x->m->script[who][w->next] == 'p' && w->put == 0)
    put_item(x, s, who);
  else
    post_item(x, s, who);
}

/* ---- the reader ---- */

static int shares(const model *m)
{
  return strchr(m->script[0], 'p') || strchr(m->script[1], 'p');
}

/* The user has the array. */
static void use_array(const search *x, state *s)
{
  for (int i = 0; i < all_items(x->m); i++)
    if (shares(x->m)) write_plain(&s->array[i]);
}

static void take(const search *x, state *s, const item *of)
{
  reader *r = &s->r;
  int wrong = of->place == 0 || of->round != r->round || r->come[of->place - 1];
  if (wrong) fail(WRONG_ITEM);
  if (!wrong && of->put) read_plain(&s->array[of->place - 1]);
  grove_queue_pass(&queue.q, r->next);
  if (wrong) return;
  r->next++;
  r->come[of->place - 1] = 1;
  for (int i = 0; i < all_items(x->m); i++)
    if (!r->come[i]) return;
  memset(r->come, 0, sizeof r->come);
  r->stage = STOPS;
}

static void read_on(search *x, state *s)
{
  int slot = s->r.next & (x->m->slots - 1);
  if (breaks(ANY_NUMBER)) {
    if (weak_do(NUMBER + slot, WEAK_LOAD, 0, 0, __ATOMIC_ACQUIRE) == 0) return;
  } else if (!grove_queue_peek(&queue.q, s->r.next)) {
    return;
  }
  read_plain(&s->slot_memory[slot]);
  item of = s->slot[slot]; /* ordered, or it has failed: it does not change until it is passed */
  if (of.round == s->r.round) take(x, s, &of);
}

/* A round is over, and the next one begins, or none. */
static void stop(search *x, state *s)
{
  use_array(x, s);
  if (s->r.round < x->m->rounds) {
    if (shares(x->m)) grove_queue_go(&queue.q, s->r.round + 1);
    s->r.round++;
    s->r.stage = READS;
    return;
  }
  s->r.stage = WAITS;
}

static void leave(search *x, state *s)
{
  if (s->r.stage == WAITS) {
    grove_queue_go(&queue.q, 0);
    s->r.stage = LEAVES;
  } else if (!grove_queue_is_written(&queue.q)) {
    use_array(x, s);
    grove_queue_leave(&queue.q);
    s->r.stage = ENDED;
  }
}

/* ---- every state ---- */

static void act(search *x, state *s, int who)
{
  if (who < WRITERS)
    write_on(x, s, who);
  else if (s->r.stage == READS)
    read_on(x, s);
  else if (s->r.stage == STOPS)
    stop(x, s);
  else
    leave(x, s);
}

static void each_outcome(search *x, const state *from, int who, int stage)
{
  int more = 0;
  weak.choice = 0;
  do {
    static state s;
    s = *from;
    s.r.stage = (uint8_t)stage;
    weak_step(&s.memory, who);
    if (setjmp(weak.out) == 0) {
      act(x, &s, who);
      weak_return();
    } else {
      weak_pause();
    }
    begin_round(x->m, &s);
    if (weak.full) fail(TOO_MANY);
    more = weak_next_choice();
    if (memcmp(&s, from, sizeof s) != 0) explorer_reach(&x->x, &s);
  } while (more);
}

static int may_act(const search *x, const state *s, int who)
{
  const weak_thread *me = &s->memory.thread[who];
  if (s->gone) return 0;
  if (who == READER) return s->r.stage != ENDED;
  if (is_through(x, s)) return who == 0;
  return me->done > 0 || s->w[who].next < items_of(x->m, who);
}

static void all_steps(explorer *e, const void *stored)
{
  search *x = e->model;
  const state *from = stored;
  for (int who = 0; who <= READER; who++)
    if (may_act(x, from, who)) each_outcome(x, from, who, from->r.stage);
  if (x->m->leaves && from->r.stage == READS && from->memory.thread[READER].done == 0)
    each_outcome(x, from, READER, WAITS);
}

static int ended(const explorer *e, const void *stored)
{
  (void)e;
  return ((const state *)stored)->gone;
}

static void explore(search *x, const model *m)
{
  static state start;
  memset(&start, 0, sizeof start);
  memset(x, 0, sizeof *x);
  x->m = m;
  now = x;
  grove_queue_make(&queue.q, m->slots, 64);
  weak_begin(&start.memory, WEAK_WORDS);
  for (int w = TAIL; w <= LEFT; w++) weak_loaded_by(w, 3); /* the writers; the rest by the reader */
  for (int w = INSIDE; w < WEAK_WORDS; w++) weak_loaded_by(w, 1 << READER);
  for (int w = 0; w < WRITERS; w++) start.w[w].round = 1;
  start.r.round = 1;
  if (shares(m)) weak_set(&start.memory, GO, 1);
  explorer_begin(&x->x, sizeof start, x, all_steps, ended);
  explorer_run(&x->x, &start);
}

/* ---- what is said about it ---- */

static void print_way(const search *x, uint32_t to)
{
  if (to != 0) print_way(x, x->x.from[to]);
  const state *s = explorer_state(&x->x, to);
  for (int w = 0; w < WRITERS; w++)
    printf("  writer %d: round %d, item %d, operation %d;", w, s->w[w].round, s->w[w].next,
           s->memory.thread[w].done);
  printf(" reader: round %d, item %d, stage %d, operation %d\n", s->r.round, s->r.next, s->r.stage,
         s->memory.thread[READER].done);
}

static void check_verdict(const model *m, const char *what, verdict expected)
{
  search x;
  explore(&x, m);
  verdict found = x.x.failed == EXPLORER_DEAD_END ? STUCK : (verdict)x.x.failed;
  printf("%s: %d slots, %d rounds, %s and %s%s: %llu states, %s", what, m->slots, m->rounds,
         m->script[0], m->script[1], m->leaves ? ", leaving" : "", (unsigned long long)x.x.states,
         verdict_name[found]);
  if (found != HOLDS) printf(" after %d steps", explorer_depth(&x.x, x.x.now));
  printf("\n");
  if (found != expected && found != HOLDS) print_way(&x, x.x.now);
  fflush(stdout);
  CHECK(found == expected, "%s: %s, not %s", what, verdict_name[found], verdict_name[expected]);
  explorer_free(&x.x);
}

/* Slots, rounds, scripts of a round, whether the reader may leave early. */
static const model designed[] = {
  {1, 1, {"dd", ""}, 0, 0},   {1, 1, {"d", "d"}, 1, 0},  {2, 1, {"dd", "d"}, 0, 0},
  {2, 2, {"p", ""}, 1, 0},    {2, 1, {"p", "d"}, 1, 0},  {2, 1, {"p", "p"}, 1, 0},
  {2, 1, {"dp", "d"}, 1, 0},  {1, 1, {"dd", "d"}, 1, 0}, {2, 2, {"d", "d"}, 0, 0},
  {2, 1, {"ddd", "d"}, 0, 0},
};

static const struct {
  const char *what;
  verdict fails;
  model m;
} broken[] = {
  {"posted relaxed", UNORDERED, {2, 1, {"d", ""}, 0, RELAXED_POST}},
  {"number read relaxed", UNORDERED, {2, 1, {"d", ""}, 0, RELAXED_PEEK}},
  {"passed relaxed", UNORDERED, {1, 1, {"dd", ""}, 0, RELAXED_PASS}},
  {"consumed read relaxed", UNORDERED, {1, 1, {"dd", ""}, 0, RELAXED_CONSUMED}},
  {"what is seen told relaxed", UNORDERED, {1, 1, {"dd", "d"}, 0, RELAXED_SEEN}},
  {"what is seen read relaxed", UNORDERED, {1, 1, {"dd", "d"}, 0, RELAXED_SEEN_LOAD}},
  {"one slot more than there is", UNORDERED, {1, 1, {"dd", ""}, 0, ONE_MORE}},
  {"claimed by a store", UNORDERED, {2, 1, {"d", "d"}, 0, NOT_COMPARED}},
  {"any number but 0 will do", WRONG_ITEM, {1, 1, {"dd", ""}, 0, ANY_NUMBER}},
  {"writers counted too weakly", UNORDERED, {1, 1, {"p", ""}, 1, WEAK_BEGIN_PUT}},
  {"go read too weakly", UNORDERED, {1, 1, {"p", ""}, 1, WEAK_GO_LOAD}},
  {"go taken away too weakly", UNORDERED, {1, 1, {"p", ""}, 1, WEAK_GO}},
  {"writers looked for too weakly", UNORDERED, {1, 1, {"p", ""}, 1, WEAK_IS_WRITTEN}},
  {"a put that ends relaxed", UNORDERED, {1, 1, {"p", ""}, 1, RELAXED_END_PUT}},
  {"no wait for writers", UNORDERED, {1, 1, {"p", ""}, 1, NO_WAIT}},
  {"left relaxed", UNORDERED, {1, 1, {"d", ""}, 0, RELAXED_LEAVE}},
  {"left, read relaxed", UNORDERED, {1, 1, {"d", ""}, 0, RELAXED_IS_LEFT}},
  {"used again while it is read", UNORDERED, {1, 1, {"d", ""}, 0, NOT_LEFT}},
};

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "partitioned/queue_model");
  for (int i = 0; i < (int)(sizeof broken / sizeof *broken); i++) {
    model m = broken[i].m;
    check_verdict(&m, broken[i].what, broken[i].fails);
    m.broken = 0;
    check_verdict(&m, "as designed", HOLDS); /* it was this rule, and not the rest of the case */
  }
  for (int i = 0; i < (int)(sizeof designed / sizeof *designed); i++) {
    test_case(i);
    check_verdict(&designed[i], "as designed", HOLDS);
  }
  return test_end();
}
