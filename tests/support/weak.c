#include "weak.h"

#include "check.h"

#include <string.h>

weak_call weak;

void weak_begin(weak_memory *m, int words)
{
  memset(m, 0, sizeof *m);
  weak.words = words;
  weak.full = 0;
  for (int w = 0; w < words; w++) {
    m->word[w].n = 1;
    weak_loaded_by(w, ~0u);
  }
}

void weak_loaded_by(int w, unsigned threads)
{
  weak.loaded_by[w] = (uint8_t)threads;
}

void weak_set(weak_memory *m, int w, uint8_t value)
{
  m->word[w].value[0] = value;
}

void weak_learn(weak_view *mine, const weak_view *other)
{
  uint8_t *a = (uint8_t *)mine;
  const uint8_t *b = (const uint8_t *)other;
  for (size_t i = 0; i < sizeof *mine; i++)
    if (b[i] > a[i]) a[i] = b[i];
}

/* ---- steps ---- */

void weak_step(weak_memory *m, int who)
{
  weak.m = m;
  weak.who = who;
  weak.operations = weak.choices = 0;
}

void weak_pause(void)
{
  weak.m->thread[weak.who].done++;
}

void weak_return(void)
{
  weak_thread *me = &weak.m->thread[weak.who];
  me->done = 0;
  memset(me->log, 0, sizeof me->log);
}

static void lower(uint8_t *index, int by)
{
  *index = *index > by ? (uint8_t)(*index - by) : 0;
}

/* The oldest values of a word, which all threads that load it know to be old. */
static void forget(weak_memory *m, int w)
{
  int old = WEAK_VALUES;
  weak_word *of = &m->word[w];
  for (int t = 0; t < WEAK_THREADS; t++)
    if ((weak.loaded_by[w] & 1 << t) && m->thread[t].knows.word[w] < old)
      old = m->thread[t].knows.word[w];
  if (old > of->n - 1) old = of->n - 1;
  if (old == 0) return;
  for (int i = 0; i < WEAK_VALUES; i++) {
    int from = i + old;
    of->value[i] = from < of->n ? of->value[from] : 0;
    if (from < of->n)
      of->with[i] = of->with[from];
    else
      memset(&of->with[i], 0, sizeof of->with[i]);
  }
  of->n = (uint8_t)(of->n - old);
  for (int t = 0; t < WEAK_THREADS; t++) lower(&m->thread[t].knows.word[w], old);
  for (int i = 0; i < weak.words; i++)
    for (int k = 0; k < m->word[i].n; k++) lower(&m->word[i].with[k].word[w], old);
  lower(&m->last[w], old);
}

int weak_next_choice(void)
{
  for (int w = 0; w < weak.words; w++) forget(weak.m, w);
  return ++weak.choice < weak.choices;
}

/* Is this operation to be done in this step? If not, `i` is its number. */
static int is_now(int *i)
{
  weak_thread *me = &weak.m->thread[weak.who];
  *i = weak.operations++;
  if (*i < me->done) return 0;
  if (weak.choices > 0) longjmp(weak.out, 1); /* one was done: that is all for now */
  weak.choices = 1;
  CHECK(*i < WEAK_LOG, "a call of more than %d operations", WEAK_LOG);
  return 1;
}

int weak_here(void)
{
  return weak.choices > 0 || (weak.operations == 0 && weak.m->thread[weak.who].done == 0);
}

uint8_t *weak_kept(void)
{
  return &weak.m->thread[weak.who].log[weak.operations - 1];
}

/* ---- words ---- */

static int acquires(int order)
{
  return order == __ATOMIC_ACQUIRE || order == __ATOMIC_ACQ_REL || order == __ATOMIC_SEQ_CST;
}

static int releases(int order)
{
  return order == __ATOMIC_RELEASE || order == __ATOMIC_ACQ_REL || order == __ATOMIC_SEQ_CST;
}

/* One that compared in vain sees the newest value. */
static uint64_t load(int w, int order, int compared)
{
  weak_word *of = &weak.m->word[w];
  weak_view *knows = &weak.m->thread[weak.who].knows;
  int oldest = compared ? of->n - 1 : knows->word[w];
  if (order == __ATOMIC_SEQ_CST && weak.m->last[w] > oldest) oldest = weak.m->last[w];
  weak.choices = of->n - oldest;
  int i = oldest + weak.choice;
  knows->word[w] = (uint8_t)i;
  if (acquires(order)) weak_learn(knows, &of->with[i]);
  return of->value[i];
}

static uint64_t changed(uint64_t before, weak_operation what, uint64_t value)
{
  if (what == WEAK_ADD) return before + value;
  return what == WEAK_OR ? before | value : value;
}

/* Any other operation. What would leave the word as it is, to all who look, makes no new value. */
static uint64_t change(int w, weak_operation what, uint64_t value, int order)
{
  weak_word *of = &weak.m->word[w];
  weak_view *knows = &weak.m->thread[weak.who].knows, with;
  int newest = of->n - 1;
  uint64_t before = of->value[newest], after = changed(before, what, value);
  CHECK(after < 256, "a value of %llu", (unsigned long long)after);
  if (what != WEAK_STORE && acquires(order)) weak_learn(knows, &of->with[newest]);
  memset(&with, 0, sizeof with);
  if (what != WEAK_STORE) with = of->with[newest];
  knows->word[w] = (uint8_t)newest;
  if (releases(order)) weak_learn(&with, knows);
  if (after != before || memcmp(&with, &of->with[newest], sizeof with) != 0) {
    if (of->n == WEAK_VALUES) {
      weak.full = 1;
      return before;
    }
    newest = of->n++;
    knows->word[w] = (uint8_t)newest;
    if (releases(order)) with.word[w] = (uint8_t)newest;
    of->value[newest] = (uint8_t)after;
    of->with[newest] = with;
  }
  if (order == __ATOMIC_SEQ_CST) weak.m->last[w] = (uint8_t)newest;
  return before;
}

uint64_t weak_do(int w, weak_operation what, uint64_t value, uint64_t expected, int order)
{
  weak_thread *me = &weak.m->thread[weak.who];
  int i;
  CHECK(what != WEAK_LOAD || (weak.loaded_by[w] & 1 << weak.who), "thread %d loads word %d",
        weak.who, w);
  if (is_now(&i)) {
    const weak_word *of = &weak.m->word[w];
    int fails = what == WEAK_COMPARE && of->value[of->n - 1] != expected;
    uint64_t before = what == WEAK_LOAD || fails ? load(w, fails ? __ATOMIC_RELAXED : order, fails)
                                                 : change(w, what, value, order);
    me->log[i] = (uint8_t)before;
  }
  return me->log[i];
}

/* ---- plain memory ---- */

/* This thread's count. */
static uint8_t tick(void)
{
  uint8_t *count = &weak.m->thread[weak.who].knows.fact[weak.who];
  CHECK(*count < 255, "too many accesses");
  return ++*count;
}

static int knows_of(int who, int count)
{
  return who == weak.who || weak.m->thread[weak.who].knows.fact[who] >= count;
}

int weak_read(weak_plain *at)
{
  int ordered = at->writer == 0 || knows_of(at->writer - 1, at->written);
  at->read[weak.who] = tick();
  return ordered;
}

int weak_write(weak_plain *at)
{
  int ordered = at->writer == 0 || knows_of(at->writer - 1, at->written);
  for (int t = 0; t < WEAK_THREADS; t++) ordered &= knows_of(t, at->read[t]);
  *at = (weak_plain){.writer = (uint8_t)(weak.who + 1), .written = tick()};
  return ordered;
}
