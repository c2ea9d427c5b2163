/* The ring of shared memory through which ranks of a node pass data, as a model: every order in
 * which its readers and writers can act is tried, on small rings, and what must never happen is
 * looked for in every state. No memory is shared here and no thread runs.
 *
 * The protocol. A ring has S slots, one writer, some readers. Item k goes into slot k % S.
 *
 *   writer, item k   if k - acked >= S: reads ack[r] of all readers, acked = the least of them; if
 *                    the ring is still full, does something else and tries again later
 *                    the words of data into the slot; then seq = k + 1, a release
 *   reader r         polls slot k % S until seq >= k + 1, an acquire; copies the words; then
 *                    ack[r] = k + 1, a release; at its end, or before, ack[r] = CLOSED
 *   in place         the item is the address of an array of the writer's, which may be changed when
 *                    all readers' acks have passed the item
 *   end              the memory is given back when the acks of all readers are CLOSED
 *
 * The model. A step is one access to one word of shared memory. A state is the whole memory and
 * where everybody stands; every state that can be reached is visited. A reader that lags is one
 * whose steps come late; one that leaves early does so between any two items.
 *
 * Memory is C11's, or simple. In C11's, a load of a seq or an ack may return an old value, though
 * none older than the last one this process has read there: with one writer for each of them, and
 * releases and acquires only, C11 allows nothing else. And a plain word may be accessed only if the
 * accesses of others that it conflicts with *happened before*, that is, if a release there and an
 * acquire here stand between them. Compilers and processors may move all that this does not order,
 * so an unordered access is a failure even if the value is right. The account is simple: whoever
 * acquires the v-th store of another knows all that the other did before it. In simple memory a
 * load returns the newest value and nothing is asked about order: what fails there, with wrong
 * data, fails on every machine.
 *
 * What must hold: each reader gets items 0, 1, ... n - 1 with their own data; no plain access is
 * unordered, so no slot is rewritten and no array changed while somebody may still read it; nobody
 * touches memory that was given back; from every state the end can be reached.
 *
 * A model that cannot fail shows nothing. So the protocol is also broken on purpose, one rule at a
 * time, and the search must find that out. */
#include "check.h"
#include "explore.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { MAX_SLOTS = 8, MAX_READERS = 3, MAX_WORDS = 2, MAX_RINGS = 2, CLOSED = 255 };

/* ---- what is explored ---- */

/* Rules that can be broken. */
enum {
  IGNORES_ACKS = 1 << 0,
  OFF_BY_ONE = 1 << 1,       /* the writer is satisfied with one ack less */
  SEQ_FIRST = 1 << 2,        /* seq before the data */
  ACK_FIRST = 1 << 3,        /* ack before the copy */
  ANY_SEQ = 1 << 4,          /* seq != 0 instead of >= k + 1 */
  ONE_READER = 1 << 5,       /* only the first reader's ack counts */
  NO_WAIT = 1 << 6,          /* the array is changed without waiting */
  FIRST_CLOSED = 1 << 7,     /* the memory is given back when one reader has left */
  LATE_ACKS = 1 << 8,        /* acks only when the whole message is there */
  BLOCKING = 1 << 9,         /* a rank does not read while it has something to write */
  NOT_CLEARED = 1 << 10,     /* the memory still holds the seqs of its last use */
  UNSIGNED_CLOSED = 1 << 11, /* CLOSED is the largest number, and k - CLOSED wraps around */
  RELAXED_SEQ_STORE = 1 << 12,
  RELAXED_SEQ_LOAD = 1 << 13,
  RELAXED_ACK_STORE = 1 << 14,
  RELAXED_ACK_LOAD = 1 << 15,
  RELAXED_CLOSING = 1 << 16
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
  uint8_t written;              /* the seq, counted from 1, that the store came before */
  uint8_t read_at[MAX_READERS]; /* the ack, counted from 1, that the last load came before */
} word;

typedef struct writer {
  uint8_t at, step;           /* in the script, and in its action */
  uint8_t item;               /* that comes next */
  uint8_t in_place;           /* the ack that the last item in place waits for */
  uint8_t acked;              /* the least ack, as of the last time all were read */
  uint8_t scanned;            /* readers whose acks were read since */
  uint8_t gone;               /* the memory is given back */
  uint8_t seen[MAX_READERS];  /* which store of each reader's ack was read last, from 1 */
  uint8_t knows[MAX_READERS]; /* which was acquired: what the reader did before is known */
} writer;

typedef struct reader {
  uint8_t item, step; /* 0: polls, then a step for each word, then the ack */
  uint8_t acks;       /* how often it has stored its ack */
  uint8_t closed;     /* the last time with CLOSED */
  uint8_t knows;      /* which seq of the writer's was acquired: what it did before is known */
} reader;

typedef struct ring {
  writer w;
  reader r[MAX_READERS];
  uint8_t seq[MAX_SLOTS];
  word array[MAX_WORDS];
  word slot[MAX_SLOTS][MAX_WORDS];
} ring;

typedef struct state {
  ring ring[MAX_RINGS];
} state;

typedef enum verdict { HOLDS, WRONG_DATA, UNORDERED, GIVEN_BACK, STUCK } verdict;

static const char *const verdict_name[] = {"holds", "wrong data", "an unordered access",
                                           "memory used that was given back", "stuck"};

/* ---- the search ---- */

typedef struct search {
  const model *m;
  int rings;
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

/* ---- the writer ---- */

/* The value of reader r's v-th ack. */
static int ack_value(const reader *r, int v)
{
  return r->closed && v == r->acks ? CLOSED : v;
}

/* A plain store, after that many seqs. */
static void store(search *x, const ring *g, word *to, int seqs)
{
  for (int r = 0; r < x->m->readers && !x->m->simple; r++)
    if (to->read_at[r] > g->w.knows[r]) fail(x, UNORDERED);
  to->item = (uint8_t)(g->w.item + 1);
  to->written = (uint8_t)(seqs + 1);
}

/* Whether the acks, as far as the writer has read them, allow what the script says next. */
static int allowed(const search *x, const writer *w, char action)
{
  int slots = x->m->slots;
  if (action == '\0') return w->acked == CLOSED;
  if (action == 'w') return w->acked >= w->in_place || breaks(x, NO_WAIT);
  if (breaks(x, IGNORES_ACKS)) return 1;
  if (breaks(x, UNSIGNED_CLOSED)) return (uint8_t)(w->item - w->acked) < slots;
  return w->item - w->acked < slots + breaks(x, OFF_BY_ONE);
}

/* acked, now that all acks were read. */
static int least_ack(const search *x, const ring *g)
{
  int least = ack_value(&g->r[0], g->w.seen[0]), most = least;
  for (int r = 1; r < x->m->readers; r++) {
    int ack = ack_value(&g->r[r], g->w.seen[r]);
    if (ack < least && !breaks(x, ONE_READER)) least = ack;
    if (ack > most) most = ack;
  }
  return breaks(x, FIRST_CLOSED) && most == CLOSED ? CLOSED : least;
}

/* Reads the next reader's ack: any of its values from the one last seen on. */
static void read_ack(search *x, state *s, ring *g)
{
  int r = g->w.scanned, acks = g->r[r].acks;
  writer before = g->w;
  for (int v = x->m->simple ? acks : before.seen[r]; v <= acks; v++) {
    int closing = v == acks && g->r[r].closed;
    int relaxed = breaks(x, RELAXED_ACK_LOAD | (closing ? RELAXED_CLOSING : RELAXED_ACK_STORE));
    g->w = before;
    g->w.seen[r] = (uint8_t)v;
    if (!relaxed) g->w.knows[r] = (uint8_t)v;
    if (++g->w.scanned == x->m->readers) {
      g->w.acked = (uint8_t)least_ack(x, g);
      g->w.scanned = 0;
    }
    reach(x, s);
  }
}

/* A word of data or the seq; the last of them ends the action. */
static void put(search *x, ring *g, int step, char action)
{
  writer *w = &g->w;
  int slot = w->item % x->m->slots, first = breaks(x, SEQ_FIRST);
  if (step == (first ? 0 : x->m->words))
    g->seq[slot] = (uint8_t)(w->item + 1);
  else
    store(x, g, &g->slot[slot][step - first], w->item + first);
  w->step++;
  if (step < x->m->words) return;
  w->item++;
  w->at++;
  w->step = 0;
  if (action == 'p') w->in_place = w->item;
}

static void give_back(search *x, ring *g)
{
  g->w.gone = 1;
  for (int r = 0; r < x->m->readers; r++) {
    if (!g->r[r].closed) fail(x, GIVEN_BACK);
    if (!x->m->simple && g->w.knows[r] < g->r[r].acks) fail(x, UNORDERED);
  }
}

static void writer_step(search *x, state *s, ring *g)
{
  writer *w = &g->w;
  char action = x->m->script[w->at];
  int fill = action == 'p' ? x->m->words : 0;
  if (w->gone) return;
  if (w->step >= fill && !allowed(x, w, action)) {
    read_ack(x, s, g);
    return;
  }
  if (w->step < fill) {
    store(x, g, &g->array[w->step], w->item);
    w->step++;
  } else if (action == 'w') {
    w->at++;
  } else if (action == '\0') {
    give_back(x, g);
  } else {
    put(x, g, w->step - fill, action);
  }
  reach(x, s);
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
  if (from->item != me->item + 1) fail(x, WRONG_DATA);
}

/* Reads a seq, which may be any that this slot has had since the reader was here last. If it is not
 * the one, nothing has changed. */
static void poll_slot(search *x, state *s, ring *g, reader *me)
{
  int slots = x->m->slots, seq = g->seq[me->item % slots];
  reader before = *me;
  for (int v = before.item + 1 - (breaks(x, ANY_SEQ) ? slots : 0); v <= seq; v += slots) {
    if (v <= 0 || (x->m->simple && v != seq)) continue;
    *me = before;
    me->step = 1;
    if (!breaks(x, RELAXED_SEQ_STORE | RELAXED_SEQ_LOAD) && v > me->knows) me->knows = (uint8_t)v;
    reach(x, s);
  }
  *me = before;
}

static void leave(search *x, state *s, reader *me)
{
  reader before = *me;
  me->closed = 1;
  me->acks++;
  reach(x, s);
  *me = before;
}

/* Copies a word, of the slot first, which may hold an address, then of the array; or publishes the
 * ack. */
static void take(search *x, ring *g, reader *me, int r, int words)
{
  int step = me->step - 1, first = breaks(x, ACK_FIRST), at = step - first;
  if (step == (first ? 0 : words))
    me->acks += !breaks(x, LATE_ACKS);
  else
    load(x, me, r,
         at < x->m->words ? &g->slot[me->item % x->m->slots][at] : &g->array[at - x->m->words]);
  me->step++;
  if (step < words) return;
  me->item++;
  me->step = 0;
}

static void reader_step(search *x, state *s, ring *g, int r)
{
  reader *me = &g->r[r];
  if (me->closed) return;
  char kind = kind_of_item(x->m, me->item);
  if (g->w.gone) fail(x, GIVEN_BACK); /* whatever it does next */
  if (me->step == 0) {
    if (kind != '\0') poll_slot(x, s, g, me);
    if (kind == '\0' || r < x->m->leaving) leave(x, s, me);
  } else {
    take(x, g, me, r, kind == 'p' ? 2 * x->m->words : x->m->words);
    reach(x, s);
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

static void all_steps(explorer *e, const void *stored)
{
  search *x = e->model;
  const state from = whole(x, stored);
  for (int i = 0; i < x->rings; i++) {
    const writer *mine = &from.ring[x->rings - 1 - i].w; /* of the rank that reads ring i */
    state s = from;
    writer_step(x, &s, &s.ring[i]);
    if (breaks(x, BLOCKING) && x->m->script[mine->at] != '\0') continue;
    for (int r = 0; r < x->m->readers; r++) {
      s = from;
      reader_step(x, &s, &s.ring[i], r);
    }
  }
}

static int ended(const explorer *e, const void *stored)
{
  const search *x = e->model;
  const state s = whole(x, stored);
  return s.ring[0].w.gone && (x->rings == 1 || s.ring[1].w.gone);
}

static void explore(search *x, const model *m)
{
  size_t one_ring = offsetof(ring, slot) + (size_t)m->slots * sizeof(word[MAX_WORDS]);
  state start;
  memset(&start, 0, sizeof start);
  for (int i = 0; i < m->slots && (m->broken & NOT_CLEARED); i++)
    start.ring[0].seq[i] = (uint8_t)(m->slots + i + 1);
  x->m = m;
  x->rings = m->rings == 2 ? 2 : 1;
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
    printf("  writer: item %d, step %d, acked %d;", g->w.item, g->w.step, g->w.acked);
    for (int r = 0; r < x->m->readers; r++)
      printf(" reader: item %d, step %d, %d acks%s;", g->r[r].item, g->r[r].step, g->r[r].acks,
             g->r[r].closed ? ", closed" : "");
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
  {"seq before the data", WRONG_DATA, WRONG_DATA, {2, 1, 0, 2, "cccc", SEQ_FIRST, 0, 0}},
  {"ack before the copy", UNORDERED, WRONG_DATA, {2, 1, 0, 2, "cccc", ACK_FIRST, 0, 0}},
  {"ack before it is read in place", UNORDERED, WRONG_DATA, {2, 1, 0, 1, "pwpw", ACK_FIRST, 0, 0}},
  {"any seq but 0 will do", WRONG_DATA, WRONG_DATA, {2, 1, 0, 2, "cccc", ANY_SEQ, 0, 0}},
  {"one reader's ack is enough", UNORDERED, WRONG_DATA, {2, 2, 0, 2, "cccc", ONE_READER, 0, 0}},
  {"no wait in place", UNORDERED, WRONG_DATA, {2, 2, 0, 2, "pwpw", NO_WAIT, 0, 0}},
  {"given back too early", GIVEN_BACK, GIVEN_BACK, {2, 2, 0, 2, "cccc", FIRST_CLOSED, 0, 0}},
  {"acks for whole messages", STUCK, STUCK, {2, 1, 0, 2, "ccc", LATE_ACKS, 0, 0}},
  {"waits for a slot and does not read", STUCK, STUCK, {1, 1, 0, 2, "cc", BLOCKING, 2, 0}},
  {"waits in place and does not read", STUCK, STUCK, {2, 1, 0, 1, "pw", BLOCKING, 2, 0}},
  {"memory not cleared", WRONG_DATA, WRONG_DATA, {2, 1, 0, 2, "cccc", NOT_CLEARED, 0, 0}},
  {"closed, as unsigned", STUCK, STUCK, {2, 1, 1, 2, "cccc", UNSIGNED_CLOSED, 0, 0}},
  {"seq stored relaxed", UNORDERED, HOLDS, {2, 1, 0, 2, "cccc", RELAXED_SEQ_STORE, 0, 0}},
  {"seq loaded relaxed", UNORDERED, HOLDS, {2, 1, 0, 2, "cccc", RELAXED_SEQ_LOAD, 0, 0}},
  {"ack stored relaxed", UNORDERED, HOLDS, {2, 1, 0, 2, "cccc", RELAXED_ACK_STORE, 0, 0}},
  {"ack loaded relaxed", UNORDERED, HOLDS, {2, 1, 0, 2, "cccc", RELAXED_ACK_LOAD, 0, 0}},
  {"closed relaxed", UNORDERED, HOLDS, {2, 1, 0, 2, "cc", RELAXED_CLOSING, 0, 0}},
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
