/* A bit a place. A call that finds a place taken gives back what it has taken by then. It looks
 * before it takes anything: a call that is wrong whatever the others do must not make them look
 * wrong. */
#include "parts/claims.h"

#include <stdlib.h>
#include <string.h>

enum { WORD_BITS = 64 };

struct grove_claims {
  int64_t n;
  uint64_t *words; /* atomic */
};

static int64_t words_of(int64_t n)
{
  return (n + WORD_BITS - 1) / WORD_BITS;
}

grove_status grove_claims_create(int64_t n, grove_claims **out)
{
  grove_status status = GROVE_OK;
  grove_claims *c = NULL;
  GROVE_NEW(c, 1);
  c->n = n;
  GROVE_NEW(c->words, words_of(n));
  *out = c;
  return GROVE_OK;
fail:
  grove_claims_free(&c);
  return status;
}

void grove_claims_free(grove_claims **c)
{
  if (!*c) return;
  free((*c)->words);
  free(*c);
  *c = NULL;
}

void grove_claims_begin(grove_claims *c)
{
  memset(c->words, 0, (size_t)words_of(c->n) * sizeof *c->words);
}

/* Those of places `at` to `end` - 1 that are in the word of the first. */
static uint64_t mask_of(int64_t at, int64_t end)
{
  int64_t low = at % WORD_BITS, high = end - (at - low);
  uint64_t below_end = high < WORD_BITS ? ((uint64_t)1 << high) - 1 : ~(uint64_t)0;
  return below_end & ~(uint64_t)0 << low;
}

static int64_t next_word(int64_t at)
{
  return at - at % WORD_BITS + WORD_BITS;
}

static int64_t find_taken(const grove_claims *c, int64_t first, int64_t end)
{
  for (int64_t at = first; at < end; at = next_word(at)) {
    uint64_t taken = __atomic_load_n(&c->words[at / WORD_BITS], __ATOMIC_RELAXED);
    taken &= mask_of(at, end);
    if (taken) return at - at % WORD_BITS + __builtin_ctzll(taken);
  }
  return -1;
}

static void give_back(grove_claims *c, int64_t first, int64_t end)
{
  for (int64_t at = first; at < end; at = next_word(at))
    __atomic_fetch_and(&c->words[at / WORD_BITS], ~mask_of(at, end), __ATOMIC_RELAXED);
}

int64_t grove_claims_take(grove_claims *c, int64_t first, int64_t count)
{
  int64_t end = first + count, taken = find_taken(c, first, end);
  if (taken >= 0) return taken;
  for (int64_t at = first; at < end; at = next_word(at)) {
    uint64_t *word = &c->words[at / WORD_BITS], mask = mask_of(at, end);
    uint64_t before = __atomic_fetch_or(word, mask, __ATOMIC_RELAXED);
    if (!(before & mask)) continue;
    __atomic_fetch_and(word, before | ~mask, __ATOMIC_RELAXED);
    give_back(c, first, at);
    return at - at % WORD_BITS + __builtin_ctzll(before & mask);
  }
  return -1;
}

int grove_claims_has(const grove_claims *c, int64_t place)
{
  uint64_t word = __atomic_load_n(&c->words[place / WORD_BITS], __ATOMIC_RELAXED);
  return (word >> place % WORD_BITS & 1) != 0;
}
