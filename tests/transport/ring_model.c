/* The ring of shared memory through which ranks of a node pass data (src/transport/ring.h): every
 * order in which its readers and writers can act is tried, on small rings, and what must never
 * happen is looked for in every state. No memory is shared here and no thread runs. The functions
 * are the very ones of the library: their atomic loads and stores are replaced, below, by functions
 * that decide what is seen.
 *
 * Who uses the ring. It has S slots, one writer, some readers. Item k goes into slot k % S.
 *
 *   writer, item k   grove_ring_claim(); without a slot it does something else and tries again
 *                    later; the words of data into the slot; grove_ring_post()
 *   reader r         grove_ring_peek() until there is an item; copies the words; grove_ring_pass();
 *                    at its end, or before, grove_ring_leave()
 *   in place         the item is the address of an array of the writer's, which may be changed when
 *                    grove_ring_consumed() has passed the item
 *   end              the memory is given back when grove_ring_is_left()
 *
 * The model. A step is a call of ring.h, or one access to one word of data. A state is the whole
 * memory and where everybody stands; every state that can be reached is visited. A reader that lags
 * is one whose steps come late; one that leaves early does so between any two items.
 *
 * Memory is C11's, or simple. In C11's, a load of a number or an ack may return an old value,
 * though none older than the last one this process has read there: with one writer for each of
 * them, and releases and acquires only, C11 allows nothing else. (So a call that loads several acks
 * may be one step: what it could see if others acted in between, it can see at its end.) And a
 * plain word may be accessed only if the accesses of others that it conflicts with *happened
 * before*, that is, if a release there and an acquire here stand between them. Compilers and
 * processors may move all that this does not order, so an unordered access is a failure even if the
 * value is right. The account is simple: whoever acquires the v-th store of another knows all that
 * the other did before it. In simple memory a load returns the newest value and nothing is asked
 * about order: what fails there, with wrong data, fails on every machine.
 *
 * What must hold: each reader gets items 0, 1, ... n - 1 with their own data; no plain access is
 * unordered, so no slot is rewritten and no array changed while somebody may still read it; the
 * writer stores the number of the item, a reader how many it has consumed, each in its own place;
 * nobody touches memory that was given back; from every state the end can be reached.
 *
 * A model that cannot fail shows nothing. So the rules are also broken on purpose, one at a time,
 * and the search must find that out. */
#include "check.h"
#include "explore.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

static uint64_t load_number_or_ack(const uint64_t *at, int order);
static void store_number_or_ack(const uint64_t *at, uint64_t value, int order);
#define __atomic_load_n(at, order)         load_number_or_ack(at, order)
#define __atomic_store_n(at, value, order) store_number_or_ack(at, value, order)
#include "transport/ring.h"

enum { MAX_SLOTS = 8, MAX_READERS = 3, MAX_WORDS = 2, MAX_RINGS = 2, LEFT = 255 };

/* ---- what is explored ---- */

/* Rules that can be broken. */
enum {
  IGNORES_ACKS = 1 << 0,
  OFF_BY_ONE = 1 << 1,     /* the writer is satisfied with one ack less */
  NUMBER_FIRST = 1 << 2,   /* the number before the data */
  ACK_FIRST = 1 << 3,      /* ack before the copy */
  ANY_NUMBER = 1 << 4,     /* the slot holds an item, whichever */
  ONE_READER = 1 << 5,     /* only the first reader's ack counts */
  NO_WAIT = 1 << 6,        /* the array is changed without waiting */
  FIRST_LEFT = 1 << 7,     /* the memory is given back when one reader has left */
  LATE_ACKS = 1 << 8,      /* acks only when the whole message is there */
  BLOCKING = 1 << 9,       /* a rank does not read while it has something to write */
  NOT_CLEARED = 1 << 10,   /* the memory still holds the numbers of its last use */
  UNSIGNED_LEFT = 1 << 11, /* who has left has consumed much, and k minus that wraps around */
  RELAXED_NUMBER_STORE = 1 << 12,
  RELAXED_NUMBER_LOAD = 1 << 13,
  RELAXED_ACK_STORE = 1 << 14,
  RELAXED_ACK_LOAD = 1 << 15,
  RELAXED_LEAVING = 1 << 16,
  RELAXED_GIVING_BACK = 1 << 17
};

typedef struct model {
  int slots, readers;
  int leaving;        /* readers that may leave early */
  int words;          /* of an item */
  const char *script; /* the writer's: c copies an item into the ring, p fills the array and puts an
                         item in place, w waits for the last one in place */
  unsigned broken;
  int rings;  /* 2: two ranks that write to each other; 0 and 1: one */
  int simple; /* memory, instead of C11's */
} model;

typedef struct word {
  uint8_t item;                 /* whose data this is, from 1; 0: none */
  uint8_t written;              /* the number, counted from 1, that the store came before */
  uint8_t read_at[MAX_READERS]; /* the ack, counted from 1, that the last load came before */
} word;

typedef struct writer {
  uint8_t at, step;           /* in the script, and in its action */
  uint8_t next, acked;        /* of the real writer's end */
  uint8_t slot;               /* the one that was claimed */
  uint8_t in_place;           /* the ack that the last item in place waits for */
  uint8_t gone;               /* the memory is given back */
  uint8_t seen[MAX_READERS];  /* which store of each reader's ack was read last, from 1 */
  uint8_t knows[MAX_READERS]; /* which was acquired: what the reader did before is known */
} writer;

typedef struct reader {
  uint8_t next;  /* of the real reader's end */
  uint8_t step;  /* 0: polls, then a step for each word, then the ack */
  uint8_t slot;  /* where the item is */
  uint8_t acks;  /* how often it has stored its ack */
  uint8_t left;  /* the last time to leave */
  uint8_t knows; /* which number of the writer's was acquired: what it did before is known */
} reader;

typedef struct ring {
  writer w;
  reader r[MAX_READERS];
  uint8_t number[MAX_SLOTS];
  word array[MAX_WORDS];
  word slot[MAX_SLOTS][MAX_WORDS];
} ring;

typedef struct state {
  ring ring[MAX_RINGS];
} state;

typedef enum verdict { HOLDS, WRONG_DATA, WRONG_NUMBER, UNORDERED, GIVEN_BACK, STUCK } verdict;

static const char *const verdict_name[] = {"holds",
                                           "wrong data",
                                           "a wrong number, or one in a wrong place",
                                           "an unordered access",
                                           "memory used that was given back",
                                           "stuck"};

/* ---- the search ---- */

typedef struct search {
  const model *m;
  int rings;
  /* The ring as its functions made it. Nothing in it changes: numbers and acks are in the state. */
  grove_ring *memory;
  grove_ring_writer w;
  grove_ring_reader r[MAX_READERS];
  /* Whether the stores of a number, of an ack and of the last ack release. */
  int posts_release, passes_release, leaving_releases;
  explorer x;
} search;

static void reach(search *x, const state *s)
{
  explorer_reach(&x->x, s);
}

static void fail(search *x, verdict v)
{
  explorer_fail(&x->x, (int)v);
}

static int breaks(const search *x, unsigned rules)
{
  return (x->m->broken & rules) != 0;
}

/* ---- the accesses of ring.h ---- */

enum { WRITER = -1, MAX_LOADS = 2 * MAX_READERS };

/* The call that is under way, and which of the values that it may see each of its loads returns. */
static struct {
  search *x;
  ring *g;
  int who; /* a reader, or WRITER */
  int gives_back, claims;
  int loads, choice[MAX_LOADS], choices[MAX_LOADS];
} call;

static int choose(int choices)
{
  CHECK(call.loads < MAX_LOADS, "more loads than there are acks");
  call.choices[call.loads] = choices;
  return call.choice[call.loads++];
}

/* The next combination of values; 0 if there is none. */
static int next_choice(void)
{
  int last = call.loads - 1;
  while (last >= 0 && call.choice[last] + 1 == call.choices[last]) call.choice[last--] = 0;
  if (last >= 0) call.choice[last]++;
  return last >= 0;
}

static int acquires(int order, unsigned broken)
{
  return (order == __ATOMIC_ACQUIRE || order == __ATOMIC_SEQ_CST) && !breaks(call.x, broken);
}

static int releases(int order, unsigned broken)
{
  return (order == __ATOMIC_RELEASE || order == __ATOMIC_SEQ_CST) && !breaks(call.x, broken);
}

/* What the writer is told for reader r's ack, where a rule is broken. */
static uint64_t told(const search *x, const ring *g, int r, uint64_t ack)
{
  int some_left = 0;
  for (int i = 0; i < x->m->readers; i++) some_left |= g->r[i].left;
  if (breaks(x, FIRST_LEFT) && call.gives_back && some_left) return GROVE_RING_LEFT;
  if (!call.claims) return ack;
  if (breaks(x, IGNORES_ACKS) || (breaks(x, ONE_READER) && r > 0)) return GROVE_RING_LEFT;
  if (breaks(x, UNSIGNED_LEFT) && ack == GROVE_RING_LEFT) return LEFT - 1;
  return ack + (breaks(x, OFF_BY_ONE) && ack != GROVE_RING_LEFT);
}

/* The writer loads reader r's ack: any of its values from the one last seen on. */
static uint64_t load_ack(search *x, ring *g, int r, int order)
{
  const reader *from = &g->r[r];
  writer *w = &g->w;
  int oldest = x->m->simple ? from->acks : w->seen[r];
  int v = oldest + choose(from->acks - oldest + 1), leaving = from->left && v == from->acks;
  w->seen[r] = (uint8_t)v;
  if ((leaving ? x->leaving_releases : x->passes_release) && v > w->knows[r] &&
      acquires(order, RELAXED_ACK_LOAD | (call.gives_back ? RELAXED_GIVING_BACK : 0)))
    w->knows[r] = (uint8_t)v;
  return told(x, g, r, leaving ? GROVE_RING_LEFT : (uint64_t)v);
}

/* A reader loads the number of a slot, which may be any that it has had since the reader was there
 * last: that was when it read the slot's last item before the next one. */
static uint64_t load_number(search *x, ring *g, reader *me, int slot, int order)
{
  int slots = x->m->slots, newest = g->number[slot];
  int laps = (me->next + slots - 1 - slot) / slots, oldest = (laps - 1) * slots + slot + 1;
  int older = x->m->simple || newest <= oldest ? 0 : (newest - oldest) / slots;
  int v = newest - choose(older + 1) * slots;
  if (v <= 0) return 0;
  if (x->posts_release && v > me->knows && acquires(order, RELAXED_NUMBER_LOAD))
    me->knows = (uint8_t)v;
  return breaks(x, ANY_NUMBER) ? UINT64_MAX : (uint64_t)v;
}

/* Which slot begins here; -1: none. */
static int slot_at(const search *x, const void *at)
{
  int64_t offset = (const char *)at - x->w.slots, slot = offset / x->w.stride;
  return offset >= 0 && offset % x->w.stride == 0 && slot < x->m->slots ? (int)slot : -1;
}

/* Whose ack this is; -1: nobody's. */
static int ack_at(const search *x, const void *at)
{
  for (int r = 0; r < x->m->readers; r++)
    if (at == (const void *)grove_ring_ack(x->memory, r)) return r;
  return -1;
}

static uint64_t load_number_or_ack(const uint64_t *at, int order)
{
  search *x = call.x;
  int slot = slot_at(x, at), r = ack_at(x, at);
  if (call.who == WRITER && r >= 0) return load_ack(x, call.g, r, order);
  if (call.who != WRITER && slot >= 0)
    return load_number(x, call.g, &call.g->r[call.who], slot, order);
  fail(x, WRONG_NUMBER);
  return 0;
}

static void store_number_or_ack(const uint64_t *at, uint64_t value, int order)
{
  search *x = call.x;
  ring *g = call.g;
  if (call.who == WRITER) {
    if (slot_at(x, at) != g->w.slot || value != g->w.next + 1u) fail(x, WRONG_NUMBER);
    g->number[g->w.slot] = (uint8_t)value;
    x->posts_release = releases(order, RELAXED_NUMBER_STORE);
    return;
  }
  reader *me = &g->r[call.who];
  me->left = value == GROVE_RING_LEFT;
  if (ack_at(x, at) != call.who || (!me->left && value != me->next + 1u)) fail(x, WRONG_NUMBER);
  me->acks++;
  if (me->left)
    x->leaving_releases = releases(order, RELAXED_LEAVING);
  else
    x->passes_release = releases(order, RELAXED_ACK_STORE);
}

/* ---- the calls ---- */

/* The writer's end, as it is in this state, and how a call has left it. */
static grove_ring_writer real_writer(const search *x, const ring *g)
{
  grove_ring_writer w = x->w;
  w.next = g->w.next;
  w.acked = g->w.acked;
  return w;
}

static void keep_writer(search *x, ring *g, const grove_ring_writer *w)
{
  if (w->next >= LEFT || w->acked >= LEFT) fail(x, WRONG_NUMBER);
  g->w.next = (uint8_t)w->next;
  g->w.acked = (uint8_t)w->acked;
}

static int claim(search *x, ring *g)
{
  grove_ring_writer w = real_writer(x, g);
  call.claims = 1;
  const grove_slot *slot = grove_ring_claim(&w);
  call.claims = 0;
  keep_writer(x, g, &w);
  if (!slot) return 0;
  if (slot_at(x, slot) < 0) fail(x, WRONG_NUMBER);
  g->w.slot = (uint8_t)slot_at(x, slot);
  return 1;
}

static grove_slot *slot_of(const search *x, int slot)
{
  return (grove_slot *)(void *)(x->w.slots + slot * x->w.stride);
}

static void post(search *x, ring *g)
{
  grove_ring_writer w = real_writer(x, g);
  grove_ring_post(&w, slot_of(x, g->w.slot));
  keep_writer(x, g, &w);
}

static int is_consumed(const search *x, const ring *g)
{
  grove_ring_writer w = real_writer(x, g);
  return grove_ring_consumed(&w) >= g->w.in_place || breaks(x, NO_WAIT);
}

static int is_left(const search *x)
{
  call.gives_back = 1;
  int left = grove_ring_is_left(x->memory);
  call.gives_back = 0;
  return left;
}

static int peek(search *x, reader *me)
{
  grove_ring_reader r = x->r[call.who];
  r.next = me->next;
  const grove_slot *slot = grove_ring_peek(&r);
  if (!slot) return 0;
  if (slot_at(x, slot) < 0) fail(x, WRONG_NUMBER);
  me->slot = (uint8_t)slot_at(x, slot);
  return 1;
}

static void pass(search *x, reader *me)
{
  grove_ring_reader r = x->r[call.who];
  r.next = me->next;
  if (breaks(x, LATE_ACKS))
    r.next++;
  else
    grove_ring_pass(&r);
  if (r.next != me->next + 1u) fail(x, WRONG_NUMBER);
  if (!breaks(x, ACK_FIRST)) me->next++; /* else it has the words of this one to copy yet */
}

static void leave(search *x)
{
  grove_ring_reader r = x->r[call.who];
  grove_ring_leave(&r);
}

/* ---- the writer ---- */

/* A plain store, after that many numbers. */
static void store(search *x, const ring *g, word *to, int item, int numbers)
{
  for (int r = 0; r < x->m->readers && !x->m->simple; r++)
    if (to->read_at[r] > g->w.knows[r]) fail(x, UNORDERED);
  to->item = (uint8_t)(item + 1);
  to->written = (uint8_t)(numbers + 1);
}

/* A word of data or the number; the last of them ends the action. */
static void put(search *x, ring *g, int step, char action)
{
  writer *w = &g->w;
  int first = breaks(x, NUMBER_FIRST), at = step - first, item = w->next - (first && step > 0);
  if (step == (first ? 0 : x->m->words))
    post(x, g);
  else
    store(x, g, &g->slot[w->slot][at], item, w->next);
  w->step++;
  if (step < x->m->words) return;
  w->at++;
  w->step = 0;
  if (action == 'p') w->in_place = w->next;
}

static void give_back(search *x, ring *g)
{
  g->w.gone = 1;
  for (int r = 0; r < x->m->readers; r++)
    if (!g->r[r].left) fail(x, GIVEN_BACK);
  for (int r = 0; r < x->m->readers && !x->m->simple; r++)
    if (g->w.knows[r] < g->r[r].acks) fail(x, UNORDERED);
}

/* The slot is claimed with the first access to it. */
static void writer_step(search *x, ring *g)
{
  writer *w = &g->w;
  char action = x->m->script[w->at];
  int fill = action == 'p' ? x->m->words : 0;
  if (w->gone) return;
  if (action == '\0') {
    if (is_left(x)) give_back(x, g);
  } else if (action == 'w') {
    if (is_consumed(x, g)) w->at++;
  } else if (w->step < fill) {
    store(x, g, &g->array[w->step], w->next, w->next);
    w->step++;
  } else if (w->step > fill || claim(x, g)) {
    put(x, g, w->step - fill, action);
  }
}

/* ---- a reader ---- */

/* 'c' or 'p', by its number; '\0' after the last one. */
static char kind_of_item(const model *m, int item)
{
  const char *s = m->script;
  for (;; s++)
    if (*s != 'w' && (*s == '\0' || item-- == 0)) return *s;
}

/* A plain load. */
static void load(search *x, const reader *me, int r, word *from)
{
  from->read_at[r] = (uint8_t)(me->acks + 1);
  if (!x->m->simple && me->knows < from->written) fail(x, UNORDERED);
  if (from->item != me->next + 1) fail(x, WRONG_DATA);
}

/* Copies a word, of the slot first, which may hold an address, then of the array; or passes on. */
static void take(search *x, ring *g, reader *me, int r, int words)
{
  int step = me->step - 1, first = breaks(x, ACK_FIRST), at = step - first;
  if (step == (first ? 0 : words))
    pass(x, me);
  else
    load(x, me, r, at < x->m->words ? &g->slot[me->slot][at] : &g->array[at - x->m->words]);
  me->step++;
  if (step < words) return;
  me->next += (uint8_t)first;
  me->step = 0;
}

/* Leaves, where it may; or polls, or goes on. */
static void reader_step(search *x, ring *g, int r, int leaves)
{
  reader *me = &g->r[r];
  if (me->left) return;
  char kind = kind_of_item(x->m, me->next);
  if (g->w.gone) fail(x, GIVEN_BACK); /* whatever it does next */
  if (leaves) {
    if (me->step == 0 && (kind == '\0' || r < x->m->leaving)) leave(x);
  } else if (me->step > 0) {
    take(x, g, me, r, kind == 'p' ? 2 * x->m->words : x->m->words);
  } else if (kind != '\0' && peek(x, me)) {
    me->step = 1;
  }
}

/* ---- every state ---- */

static state whole(const search *x, const void *stored)
{
  state s;
  memset(&s, 0, sizeof s);
  memcpy(&s, stored, x->x.bytes);
  return s;
}

/* One step of somebody, once for each combination of values that its loads may return. */
static void each_outcome(search *x, const state *from, int i, int who, int leaves)
{
  memset(&call, 0, sizeof call);
  call.x = x;
  call.who = who;
  do {
    state s = *from;
    call.g = &s.ring[i];
    call.loads = 0;
    if (who == WRITER)
      writer_step(x, call.g);
    else
      reader_step(x, call.g, who, leaves);
    if (memcmp(&s, from, sizeof s) != 0) reach(x, &s);
  } while (next_choice());
}

static void all_steps(explorer *e, const void *stored)
{
  search *x = e->model;
  const state from = whole(x, stored);
  for (int i = 0; i < x->rings; i++) {
    const writer *mine = &from.ring[x->rings - 1 - i].w; /* of the rank that reads ring i */
    each_outcome(x, &from, i, WRITER, 0);
    if (breaks(x, BLOCKING) && x->m->script[mine->at] != '\0') continue;
    for (int r = 0; r < x->m->readers; r++) {
      each_outcome(x, &from, i, r, 0);
      each_outcome(x, &from, i, r, 1);
    }
  }
}

static int ended(const explorer *e, const void *stored)
{
  const search *x = e->model;
  const state s = whole(x, stored);
  return s.ring[0].w.gone && (x->rings == 1 || s.ring[1].w.gone);
}

/* A ring in memory that was one before, whose numbers and acks could be those awaited. */
static void make_ring(search *x, const model *m, ring *start)
{
  static uint64_t memory[1024];
  grove_ring_size size = grove_ring_size_of(100, m->slots, m->readers);
  CHECK(grove_ring_bytes(&size) <= (int64_t)sizeof memory, "no room for the ring");
  x->memory = (grove_ring *)(void *)memory;
  x->w = grove_ring_make(x->memory, &size);
  CHECK(grove_ring_ack(x->memory, m->readers) <= x->w.slots, "acks lie in the slots");
  for (int i = 0; i < m->slots; i++) slot_of(x, i)->number = (uint64_t)(m->slots + i + 1);
  for (int r = 0; r < m->readers; r++) *(uint64_t *)(void *)grove_ring_ack(x->memory, r) = 1;
  if (!breaks(x, NOT_CLEARED)) x->w = grove_ring_make(x->memory, &size);
  for (int i = 0; i < m->slots; i++) start->number[i] = (uint8_t)slot_of(x, i)->number;
  for (int r = 0; r < m->readers; r++) {
    x->r[r] = grove_ring_join(x->memory, r);
    CHECK(*x->r[r].ack == 0 || breaks(x, NOT_CLEARED), "an ack is not cleared");
  }
}

static void explore(search *x, const model *m)
{
  size_t one_ring = offsetof(ring, slot) + (size_t)m->slots * sizeof(word[MAX_WORDS]);
  state start;
  memset(&start, 0, sizeof start);
  memset(x, 0, sizeof *x);
  x->m = m;
  x->rings = m->rings == 2 ? 2 : 1;
  make_ring(x, m, &start.ring[0]);
  if (x->rings == 2) start.ring[1] = start.ring[0];
  explorer_begin(&x->x, x->rings == 2 ? sizeof start : one_ring, x, all_steps, ended);
  explorer_run(&x->x, &start);
}

/* ---- what is said about it ---- */

/* The shortest way to a state. */
static void print_way(const search *x, uint32_t to)
{
  if (to != 0) print_way(x, x->x.from[to]);
  const state s = whole(x, explorer_state(&x->x, to));
  for (int i = 0; i < x->rings; i++) {
    const ring *g = &s.ring[i];
    printf("  writer: item %d, step %d, acked %d;", g->w.next, g->w.step, g->w.acked);
    for (int r = 0; r < x->m->readers; r++)
      printf(" reader: item %d, step %d, %d acks%s;", g->r[r].next, g->r[r].step, g->r[r].acks,
             g->r[r].left ? ", left" : "");
  }
  printf("\n");
}

static void check_verdict(const model *m, const char *what, verdict expected)
{
  search x;
  explore(&x, m);
  verdict found = x.x.failed == EXPLORER_DEAD_END ? STUCK : (verdict)x.x.failed;
  printf("%s, %s: %d slots, %d readers, %d leaving, %d words%s, %s: %llu states, %s", what,
         m->simple ? "simple memory" : "C11", m->slots, m->readers, m->leaving, m->words,
         x.rings == 2 ? ", both ways" : "", m->script, (unsigned long long)x.x.states,
         verdict_name[found]);
  if (found != HOLDS) printf(" after %d steps", explorer_depth(&x.x, x.x.now));
  printf("\n");
  if (found != expected && found != HOLDS) print_way(&x, x.x.now);
  fflush(stdout);
  CHECK(found == expected, "%s: %s, not %s", what, verdict_name[found], verdict_name[expected]);
  explorer_free(&x.x);
}

/* Slots, readers, leaving, words, script: more than two laps of the ring, of small ones more. */
static const model designed[] = {
  {1, 1, 0, 2, "cccccc", 0, 0, 0},
  {1, 1, 1, 2, "cccccc", 0, 0, 0},
  {2, 1, 1, 2, "cccccccc", 0, 0, 0},
  {4, 1, 1, 2, "cccccccccccccccc", 0, 0, 0},
  {8, 1, 1, 2, "cccccccccccccccccccccccc", 0, 0, 0},
  {1, 2, 2, 2, "cccccc", 0, 0, 0},
  {2, 2, 0, 2, "cccccccc", 0, 0, 0},
  {2, 2, 1, 2, "cccccccc", 0, 0, 0},
  {2, 2, 2, 2, "cccccccc", 0, 0, 0},
  {1, 1, 1, 2, "pwpcwpw", 0, 0, 0},
  {1, 2, 2, 2, "pwpcwpw", 0, 0, 0},
  {2, 2, 2, 2, "cpcwcpwcpccw", 0, 0, 0},
  {1, 1, 1, 2, "ccc", 0, 2, 0},
  {2, 1, 1, 1, "pcwccpw", 0, 2, 0},
  {1, 3, 3, 2, "ccccc", 0, 0, 0},
  {4, 2, 2, 2, "cccccccccccc", 0, 0, 0},
  {2, 3, 0, 2, "cccccc", 0, 0, 0},
  {2, 3, 3, 2, "cccccc", 0, 0, 0},
  {2, 3, 3, 1, "cpcwcpwcpw", 0, 0, 0},
  {8, 2, 0, 1, "cccccccccccccccccc", 0, 0, 0},
  {4, 3, 0, 1, "ccccccccc", 0, 0, 0},
  /* only with SAMPLES=all */
  {2, 3, 3, 2, "cpcwcpwcpccw", 0, 0, 0},
  {4, 2, 2, 2, "cpccwccpcwcccpw", 0, 0, 0},
  {4, 2, 2, 2, "cccccccccccccccccccccccc", 0, 0, 0},
  {4, 3, 0, 2, "cccccccccccc", 0, 0, 0},
  {4, 3, 1, 1, "cpccwcpcwccc", 0, 0, 0},
  {4, 3, 3, 1, "cccccccccc", 0, 0, 0},
  {8, 2, 2, 2, "cccccccccccccccccc", 0, 0, 0},
  {2, 1, 1, 2, "pcwccpw", 0, 2, 0},
};

enum { ALL = sizeof designed / sizeof *designed, QUICK = ALL - 8 }; /* SAMPLES=n: the first n */

static const struct {
  const char *what;
  verdict c11, simple; /* how it fails in each kind of memory */
  model m;
} broken[] = {
  {"writer ignores acks", UNORDERED, WRONG_DATA, {2, 1, 0, 2, "cccc", IGNORES_ACKS, 0, 0}},
  {"writer needs an ack less", UNORDERED, WRONG_DATA, {2, 1, 0, 2, "cccc", OFF_BY_ONE, 0, 0}},
  {"number before the data", WRONG_DATA, WRONG_DATA, {2, 1, 0, 2, "cccc", NUMBER_FIRST, 0, 0}},
  {"ack before the copy", UNORDERED, WRONG_DATA, {2, 1, 0, 2, "cccc", ACK_FIRST, 0, 0}},
  {"ack before it is read in place", UNORDERED, WRONG_DATA, {2, 1, 0, 1, "pwpw", ACK_FIRST, 0, 0}},
  {"any number but 0 will do", WRONG_DATA, WRONG_DATA, {2, 1, 0, 2, "cccc", ANY_NUMBER, 0, 0}},
  {"one reader's ack is enough", UNORDERED, WRONG_DATA, {2, 2, 0, 2, "cccc", ONE_READER, 0, 0}},
  {"no wait in place", UNORDERED, WRONG_DATA, {2, 2, 0, 2, "pwpw", NO_WAIT, 0, 0}},
  {"given back too early", GIVEN_BACK, GIVEN_BACK, {2, 2, 0, 2, "cccc", FIRST_LEFT, 0, 0}},
  {"acks for whole messages", STUCK, STUCK, {2, 1, 0, 2, "ccc", LATE_ACKS, 0, 0}},
  {"waits for a slot and does not read", STUCK, STUCK, {1, 1, 0, 2, "cc", BLOCKING, 2, 0}},
  {"waits in place and does not read", STUCK, STUCK, {2, 1, 0, 1, "pw", BLOCKING, 2, 0}},
  {"memory not cleared", WRONG_DATA, WRONG_DATA, {2, 1, 0, 2, "cccc", NOT_CLEARED, 0, 0}},
  {"left, as unsigned", STUCK, STUCK, {2, 1, 1, 2, "cccc", UNSIGNED_LEFT, 0, 0}},
  {"number stored relaxed", UNORDERED, HOLDS, {2, 1, 0, 2, "cccc", RELAXED_NUMBER_STORE, 0, 0}},
  {"number loaded relaxed", UNORDERED, HOLDS, {2, 1, 0, 2, "cccc", RELAXED_NUMBER_LOAD, 0, 0}},
  {"ack stored relaxed", UNORDERED, HOLDS, {2, 1, 0, 2, "cccc", RELAXED_ACK_STORE, 0, 0}},
  {"ack loaded relaxed", UNORDERED, HOLDS, {2, 1, 0, 2, "cccc", RELAXED_ACK_LOAD, 0, 0}},
  {"left relaxed", UNORDERED, HOLDS, {2, 1, 0, 2, "cc", RELAXED_LEAVING, 0, 0}},
  {"given back relaxed", UNORDERED, HOLDS, {2, 1, 0, 2, "cc", RELAXED_GIVING_BACK, 0, 0}},
};

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "transport/ring_model");
  for (int i = 0; i < (int)(sizeof broken / sizeof *broken); i++) {
    model m = broken[i].m;
    check_verdict(&m, broken[i].what, broken[i].c11);
    m.simple = 1;
    check_verdict(&m, broken[i].what, broken[i].simple);
    m.simple = m.broken = 0;
    check_verdict(&m, "as designed", HOLDS); /* it was this rule, and not the rest of the case */
  }
  int n = test_exhaustive() || test_samples(QUICK) > ALL ? ALL : (int)test_samples(QUICK);
  for (int i = 0; i < n; i++) {
    test_case(i);
    check_verdict(&designed[i], "as designed", HOLDS);
  }
  return test_end();
}
