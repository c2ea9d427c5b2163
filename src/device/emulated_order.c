/* Is everything that touches the same bytes in some order? Streams have vector clocks. Of an
 * access, only its stream and its number there are kept. Accesses are compared when something is
 * enqueued, so what is found does not depend on when the device does it.
 */
#include "device/emulated_parts.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Accesses that something may still conflict with. If there are more, the oldest are forgotten.
 * Then a conflict may be missed, but none is made up. */
enum { ACCESSES = 2048 };

/* Words that the host may still see. Of older ones, only what came before all of them is known. */
enum { WORDS = 256 };

typedef struct trace_of_access {
  grove_actor who;
  grove_access access;
} trace_of_access;

typedef struct written_word {
  const uint32_t *word;
  uint32_t value;
  grove_order before;
} written_word;

static struct {
  trace_of_access all[ACCESSES];
  int count;
  written_word words[WORDS];
  uint64_t nwords;
  grove_order before_older_words;
} order;

void grove_order_join(grove_order *to, const grove_order *from)
{
  for (int i = 0; i < GROVE_ORDER_STREAMS; i++)
    if (to->of[i] < from->of[i]) to->of[i] = from->of[i];
}

/* ---- what was found ---- */

static struct {
  pthread_mutex_t lock;
  int64_t count; /* atomic, so that every call can look at it */
  char sentence[GROVE_SENTENCE_BYTES];
} finding = {.lock = PTHREAD_MUTEX_INITIALIZER};

void grove_order_tell(const char *format, ...)
{
  va_list arguments;
  va_start(arguments, format);
  pthread_mutex_lock(&finding.lock);
  if (finding.count == 0) vsnprintf(finding.sentence, sizeof finding.sentence, format, arguments);
  __atomic_add_fetch(&finding.count, 1, __ATOMIC_RELEASE);
  pthread_mutex_unlock(&finding.lock);
  va_end(arguments);
}

int64_t grove_order_told(char *sentence, size_t bytes)
{
  sentence[0] = '\0';
  if (__atomic_load_n(&finding.count, __ATOMIC_ACQUIRE) == 0) return 0;
  pthread_mutex_lock(&finding.lock);
  int64_t count = finding.count;
  grove_copy_text(sentence, bytes, finding.sentence);
  pthread_mutex_unlock(&finding.lock);
  return count;
}

void grove_order_reset(void)
{
  pthread_mutex_lock(&finding.lock);
  __atomic_store_n(&finding.count, 0, __ATOMIC_RELEASE);
  finding.sentence[0] = '\0';
  pthread_mutex_unlock(&finding.lock);
}

enum { PHRASE_BYTES = 200 };

/* "copy 3 of stream 2 writes 8 bytes at 0x..., 16 bytes into allocation 5". */
static void describe_access(const grove_actor *who, const grove_access *a, char text[PHRASE_BYTES])
{
  char actor[64] = "the host", place[64] = "host memory";
  grove_range range;
  if (who->is_default)
    snprintf(actor, sizeof actor, "%s %llu of a default stream", who->what,
             (unsigned long long)who->number);
  else if (who->what)
    snprintf(actor, sizeof actor, "%s %llu of stream %d", who->what,
             (unsigned long long)who->number, who->stream);
  if (grove_store_find(a->begin, &range))
    snprintf(place, sizeof place, "%lld bytes into allocation %llu",
             (long long)((const char *)a->begin - range.begin), (unsigned long long)range.number);
  snprintf(text, PHRASE_BYTES, "%s %s %lld bytes at %p, %s", actor, a->writes ? "writes" : "reads",
           (long long)a->bytes, (void *)(size_t)a->begin, place);
}

static void tell_conflict(const trace_of_access *first, const trace_of_access *second)
{
  char one[PHRASE_BYTES], other[PHRASE_BYTES];
  describe_access(&first->who, &first->access, one);
  describe_access(&second->who, &second->access, other);
  grove_order_tell("there is no order between two accesses of the same bytes: %s; and %s", one,
                   other);
}

/* ---- accesses ---- */

static int comes_before(const trace_of_access *t, const grove_order *before)
{
  return t->who.number <= before->of[t->who.stream];
}

static int in_conflict(const grove_access *a, const grove_access *b)
{
  return (a->writes || b->writes) && grove_emulated_overlap(a->begin, a->bytes, b->begin, b->bytes);
}

/* All that comes after the new one comes after the old one too, and all that conflicts with the old
 * one conflicts with the new one. */
static int stands_for(const trace_of_access *new, const grove_order *before,
                      const trace_of_access *old)
{
  const char *begin = new->access.begin, *old_begin = old->access.begin;
  return begin <= old_begin && old_begin + old->access.bytes <= begin + new->access.bytes &&
         (new->access.writes || !old->access.writes) && comes_before(old, before);
}

/* The others stay, in their order. */
static void forget_older(int n)
{
  memmove(order.all, order.all + n, (size_t)(order.count - n) * sizeof *order.all);
  order.count -= n;
}

static void check_access(const trace_of_access *new, const grove_order *before)
{
  int kept = 0;
  for (int i = 0; i < order.count; i++) {
    const trace_of_access *old = &order.all[i];
    if (in_conflict(&new->access, &old->access) && !comes_before(old, before))
      tell_conflict(old, new);
    if (!stands_for(new, before, old)) order.all[kept++] = *old;
  }
  order.count = kept;
}

void grove_order_access(const grove_actor *who, const grove_order *before,
                        const grove_access *accesses, int naccesses)
{
  for (int i = 0; i < naccesses; i++) {
    trace_of_access new = {*who, accesses[i]};
    if (new.access.bytes <= 0) continue;
    check_access(&new, before);
    if (order.count == ACCESSES) forget_older(ACCESSES / 2);
    order.all[order.count++] = new;
  }
}

/* What the host has waited for is forgotten. Nothing that it does needs to be kept: what it
 * enqueues later comes after that. */
void grove_order_host(const grove_access *access)
{
  trace_of_access new = {.access = *access};
  for (int i = 0; i < order.count; i++)
    if (in_conflict(access, &order.all[i].access)) tell_conflict(&order.all[i], &new);
}

void grove_order_forget(const grove_order *before)
{
  int kept = 0;
  for (int i = 0; i < order.count; i++)
    if (!comes_before(&order.all[i], before)) order.all[kept++] = order.all[i];
  order.count = kept;
}

void grove_order_gone(const void *begin, int64_t bytes)
{
  int kept = 0;
  for (int i = 0; i < order.count; i++) {
    const grove_access *a = &order.all[i].access;
    if (!grove_emulated_overlap(a->begin, a->bytes, begin, bytes)) order.all[kept++] = order.all[i];
  }
  order.count = kept;
  for (written_word *w = order.words; w < order.words + WORDS; w++)
    if (w->word && grove_emulated_overlap(w->word, sizeof *w->word, begin, bytes)) {
      grove_order_join(&order.before_older_words, &w->before);
      w->word = NULL;
    }
}

/* ---- words ---- */

void grove_order_wrote(const uint32_t *word, uint32_t value, const grove_order *before)
{
  written_word *w = &order.words[order.nwords++ % WORDS];
  if (w->word) grove_order_join(&order.before_older_words, &w->before);
  *w = (written_word){word, value, *before};
}

void grove_order_saw(const uint32_t *word, uint32_t value)
{
  int found = 0;
  for (const written_word *w = order.words; w < order.words + WORDS; w++)
    if (w->word == word && (int32_t)(value - w->value) >= 0) {
      grove_order_forget(&w->before);
      found = 1;
    }
  if (!found) grove_order_forget(&order.before_older_words);
}

int grove_order_is_written(const uint32_t *word)
{
  for (const written_word *w = order.words; w < order.words + WORDS; w++)
    if (w->word == word) return 1;
  return 0;
}
