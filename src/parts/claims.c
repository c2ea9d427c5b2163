/* A tree, so that a long range costs no more than its two ends. The lowest level has a bit per
 * place. Above it, a word has two bits for each of its children, which are words of the level
 * below: the child was claimed as a *whole*, by one call; or *some* of it was, below. A call splits
 * its range. Words at its ends that it does not fill are claimed bit by bit. What lies between is
 * claimed as wholes, one level up, and so on.
 *
 * No place twice. A call sets the bits of what it claims, then `some` in all words above. Both are
 * one atomic operation on a word that has both bits. So if two calls want the same place, one as
 * part of a whole and the other below it, the later one sees the earlier one and what that had set
 * below. A call that finds a place taken gives back what it has set by then, except `some`, which
 * others may need. So `some` without a claim below it means nothing.
 *
 * A call looks before it sets anything: a call that fails whatever the others do must not make them
 * fail.
 */
#include "parts/claims.h"

#include <stdlib.h>

enum { PLACES = 64, CHILDREN = 32, MOST_LEVELS = 12 };

struct grove_claims {
  int64_t n;
  int nlevels;
  uint64_t *levels[MOST_LEVELS]; /* words, atomic; the last level has one */
  uint64_t *memory;
};

/* The number of places, or children, of a word of a level. */
static int64_t width_of_word(int level)
{
  return level == 0 ? PLACES : CHILDREN;
}

grove_status grove_claims_create(int64_t n, grove_claims **out)
{
  grove_status status = GROVE_OK;
  grove_claims *c = NULL;
  int64_t words[MOST_LEVELS], all = 0;
  GROVE_NEW(c, 1);
  c->n = n;
  for (int64_t of = n;; of = words[c->nlevels - 1]) {
    int64_t width = width_of_word(c->nlevels);
    words[c->nlevels] = of > width ? (of + width - 1) / width : 1;
    all += words[c->nlevels++];
    if (words[c->nlevels - 1] == 1) break;
  }
  GROVE_NEW(c->memory, all);
  for (int k = 0; k < c->nlevels; k++)
    c->levels[k] = k == 0 ? c->memory : c->levels[k - 1] + words[k - 1];
  *out = c;
  return GROVE_OK;
fail:
  grove_claims_free(&c);
  return status;
}

void grove_claims_free(grove_claims **c)
{
  if (!*c) return;
  free((*c)->memory);
  free(*c);
  *c = NULL;
}

static void clear_bits(grove_claims *c, int level, int64_t word)
{
  uint64_t *at = &c->levels[level][word];
  for (uint64_t some = level > 0 ? *at >> CHILDREN : 0; some; some &= some - 1)
    clear_bits(c, level - 1, word * CHILDREN + __builtin_ctzll(some));
  *at = 0;
}

void grove_claims_begin(grove_claims *c)
{
  clear_bits(c, c->nlevels - 1, 0);
}

/* ---- words ---- */

/* Children, or places, `first` to `end` - 1 of a level, all in one word. */
typedef struct stretch {
  int level;
  int64_t first, end;
} stretch;

static uint64_t mask_of(stretch s)
{
  int64_t n = s.end - s.first;
  uint64_t low = n < PLACES ? ((uint64_t)1 << n) - 1 : ~(uint64_t)0;
  return low << s.first % width_of_word(s.level);
}

static uint64_t *claim_word(const grove_claims *c, stretch s)
{
  return &c->levels[s.level][s.first / width_of_word(s.level)];
}

/* A range consists of at most two stretches per level. */
enum { MOST_STRETCHES = 2 * MOST_LEVELS };

static int split_range(const grove_claims *c, int64_t first, int64_t end, stretch *out)
{
  int n = 0;
  for (int level = 0; first < end; level++) {
    int64_t width = width_of_word(level), begin = (first + width - 1) / width, stop = end / width;
    if (level == c->nlevels - 1 || begin > stop || (begin == stop && begin * width == first)) {
      out[n++] = (stretch){level, first, end};
      break;
    }
    if (first < begin * width) out[n++] = (stretch){level, first, begin * width};
    if (stop * width < end) out[n++] = (stretch){level, stop * width, end};
    first = begin;
    end = stop;
  }
  return n;
}

/* ---- looking ---- */

/* The first claimed place in this stretch, or -1. */
static int64_t find_below(const grove_claims *c, stretch s)
{
  uint64_t word = __atomic_load_n(claim_word(c, s), __ATOMIC_RELAXED), mask = mask_of(s);
  int64_t width = width_of_word(s.level), begin = s.first - s.first % width, places = 1;
  uint64_t found = s.level > 0 ? (word | word >> CHILDREN) & mask : word & mask;
  for (int k = 0; k < s.level; k++) places *= width_of_word(k);
  for (; found; found &= found - 1) {
    int64_t child = begin + __builtin_ctzll(found);
    if (s.level == 0 || word >> __builtin_ctzll(found) & 1) return child * places;
    int64_t below = width_of_word(s.level - 1);
    int64_t place = find_below(c, (stretch){s.level - 1, child * below, (child + 1) * below});
    if (place >= 0) return place;
  }
  return -1;
}

/* Was anything above this stretch claimed as a whole? */
static int is_below_whole(const grove_claims *c, stretch s)
{
  int64_t child = s.first / width_of_word(s.level);
  for (int k = s.level + 1; k < c->nlevels; k++, child /= CHILDREN) {
    uint64_t word = __atomic_load_n(&c->levels[k][child / CHILDREN], __ATOMIC_RELAXED);
    if (word >> child % CHILDREN & 1) return 1;
  }
  return 0;
}

static int64_t first_place(stretch s)
{
  int64_t places = 1;
  for (int k = 0; k < s.level; k++) places *= width_of_word(k);
  return s.first * places;
}

static int64_t find_taken(const grove_claims *c, stretch s)
{
  return is_below_whole(c, s) ? first_place(s) : find_below(c, s);
}

int grove_claims_has(const grove_claims *c, int64_t place)
{
  return find_taken(c, (stretch){0, place, place + 1}) >= 0;
}

/* ---- claiming ---- */

/* -1, or the first place that others have: then nothing is set. */
static int64_t set_bits(grove_claims *c, stretch s)
{
  uint64_t mask = mask_of(s), before = __atomic_fetch_or(claim_word(c, s), mask, __ATOMIC_ACQ_REL);
  int64_t taken = -1;
  if (before & mask)
    taken = first_place((stretch){
      s.level, s.first - s.first % width_of_word(s.level) + __builtin_ctzll(before & mask), s.end});
  for (uint64_t some = s.level > 0 ? before >> CHILDREN & mask : 0; some && taken < 0;
       some &= some - 1) {
    int64_t child = s.first - s.first % CHILDREN + __builtin_ctzll(some);
    int64_t below = width_of_word(s.level - 1);
    taken = find_below(c, (stretch){s.level - 1, child * below, (child + 1) * below});
  }
  int64_t child = s.first / width_of_word(s.level);
  for (int k = s.level + 1; k < c->nlevels && taken < 0; k++, child /= CHILDREN) {
    uint64_t bit = (uint64_t)1 << child % CHILDREN;
    uint64_t above =
      __atomic_fetch_or(&c->levels[k][child / CHILDREN], bit << CHILDREN, __ATOMIC_ACQ_REL);
    if (above & bit) taken = first_place(s);
  }
  if (taken >= 0) __atomic_fetch_and(claim_word(c, s), ~(mask & ~before), __ATOMIC_RELAXED);
  return taken;
}

int64_t grove_claims_take(grove_claims *c, int64_t first, int64_t count)
{
  stretch list[MOST_STRETCHES];
  int n = split_range(c, first, first + count, list);
  int64_t taken = -1;
  for (int k = 0; k < n; k++) {
    int64_t place = find_taken(c, list[k]);
    if (place >= 0 && (taken < 0 || place < taken)) taken = place;
  }
  for (int k = 0; k < n && taken < 0; k++) {
    taken = set_bits(c, list[k]);
    for (int j = k - 1; taken >= 0 && j >= 0; j--)
      __atomic_fetch_and(claim_word(c, list[j]), ~mask_of(list[j]), __ATOMIC_RELAXED);
  }
  return taken;
}
