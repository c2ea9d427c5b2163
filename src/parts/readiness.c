/* What a mark touches lies together: a cell has the counter of a group, its deadline and its bits.
 * Up to 64 groups each cell has cache lines of its own, so that threads that work on different
 * groups do not meet; with more of them that would be a lot of memory.
 *
 * Bits come twice. A mark *claims* parts, word by word, and may have to give its claims back when
 * it finds one taken: nobody acts on claims. What is *ready* was claimed by a call that went
 * through; these bits are kept where runs can leave, which is where there is a delta.
 *
 * The counter of a group also says whether its deadline has passed (OPEN). Who drives sets that and
 * then reads the bits; a mark sets its bits and then subtracts. Both change one word, so one of the
 * two comes first: either the mark is seen, or it sees that the group is open and announces it.
 *
 * The last thing that a mark does to a cell is to subtract, and a round is over only when
 * everything has been subtracted. What comes after that, the announcement, may come as late as in
 * the next round: the board is where it always was, and who drives looks at the counter too.
 */
#include "parts/readiness.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_WORDS = 8, OWN_LINES = 64, WORD_BITS = 64 };

/* In a counter, beside the number of parts that are missing. */
#define OPEN   ((uint64_t)1 << 62)
#define GONE   ((uint64_t)1 << 61) /* all of the group has left */
#define NUMBER (GONE - 1)

typedef struct cell {
  uint64_t missing;
  double deadline; /* infinity: nothing is marked; minus infinity: it has passed */
  uint64_t bits[]; /* claimed; then those that are ready */
} cell;

typedef struct group {
  int64_t first, count;
  cell *at;
  uint64_t *ready; /* in the cell */
  uint64_t *left;  /* who drives: parts that have */
} group;

typedef struct board {
  uint64_t news;   /* how often anything was announced, in all rounds */
  double earliest; /* deadline, or earlier */
  uint64_t due[];  /* groups to look at, a bit each */
} board;

struct grove_readiness {
  int64_t parts, ngroups;
  double delta;
  int timed;
  group *groups;
  int32_t *group_of; /* each part */
  double *times;     /* of marks */
  board *board;
  void *cell_memory, *board_memory; /* what they lie in */
  uint64_t *left_memory;
  char apart[LINE_WORDS * sizeof(uint64_t)];
  /* Who drives. */
  uint64_t seen;           /* the news when nothing was due any more */
  int64_t looked_at, from; /* the group whose runs leave, -1: none; and from which part on */
  int64_t left;            /* parts: atomic */
};

/* ---- groups and cells ---- */

static int64_t words_of(int64_t bits)
{
  return (bits + WORD_BITS - 1) / WORD_BITS;
}

static void *on_a_line(void *memory)
{
  const uintptr_t line = LINE_WORDS * sizeof(uint64_t);
  return (void *)(((uintptr_t)memory + line - 1) / line * line);
}

static int64_t cell_words(const grove_part_plan *plan, int64_t g)
{
  int64_t bits = words_of(plan->first[g + 1] - plan->first[g]);
  int64_t words = (int64_t)(sizeof(cell) / sizeof(uint64_t)) + bits * (plan->delta > 0 ? 2 : 1);
  return plan->ngroups <= OWN_LINES ? grove_round_up(words, LINE_WORDS) : words;
}

grove_status grove_readiness_follow(grove_readiness *r, const grove_part_plan *plan)
{
  grove_status status = GROVE_OK;
  group *groups = NULL;
  uint64_t *cells = NULL, *left = NULL;
  int64_t words = 0, bits = 0;
  for (int64_t g = 0; g < plan->ngroups; g++) {
    words += cell_words(plan, g);
    bits += words_of(plan->first[g + 1] - plan->first[g]);
  }
  GROVE_NEW(groups, plan->ngroups);
  GROVE_NEW(cells, words + LINE_WORDS);
  GROVE_NEW(left, bits);
  uint64_t *at = on_a_line(cells), *left_at = left;
  for (int64_t g = 0; g < plan->ngroups; g++) {
    int64_t count = plan->first[g + 1] - plan->first[g];
    cell *c = (cell *)(void *)at;
    groups[g] = (group){plan->first[g], count, c, c->bits + words_of(count), left_at};
    for (int64_t p = 0; p < count; p++) r->group_of[plan->first[g] + p] = (int32_t)g;
    at += cell_words(plan, g);
    left_at += words_of(count);
  }
  free(r->groups);
  free(r->cell_memory);
  free(r->left_memory);
  r->groups = groups;
  r->cell_memory = cells;
  r->left_memory = left;
  r->ngroups = plan->ngroups;
  r->delta = plan->delta;
  return GROVE_OK;
fail:
  free(groups);
  free(cells);
  free(left);
  return status;
}

grove_status grove_readiness_create(int64_t parts, grove_readiness **out)
{
  grove_status status = GROVE_OK;
  grove_readiness *r = NULL;
  uint64_t *memory = NULL;
  int64_t ends[2] = {0, parts};
  GROVE_CHECK(parts >= 0 && parts <= INT32_MAX, GROVE_ERR_ARG, "%lld parts; there may be 0 to %d",
              (long long)parts, INT32_MAX);
  GROVE_NEW(r, 1);
  r->parts = parts;
  GROVE_NEW(r->group_of, parts);
  GROVE_NEW(r->times, parts);
  GROVE_NEW(memory, 2 * LINE_WORDS + (int64_t)(sizeof(board) / sizeof *memory) + words_of(parts));
  r->board_memory = memory;
  r->board = on_a_line(memory);
  GROVE_TRY(grove_readiness_follow(r, &(grove_part_plan){.ngroups = parts > 0, .first = ends}));
  grove_readiness_begin(r, 0);
  *out = r;
  return GROVE_OK;
fail:
  grove_readiness_free(&r);
  return status;
}

void grove_readiness_free(grove_readiness **r)
{
  if (!*r) return;
  free((*r)->groups);
  free((*r)->group_of);
  free((*r)->times);
  free((*r)->cell_memory);
  free((*r)->board_memory);
  free((*r)->left_memory);
  free(*r);
  *r = NULL;
}

static void store_time(double *at, double seconds, int order)
{
  __atomic_store(at, &seconds, order);
}

static double load_time(const double *at, int order)
{
  double seconds = 0;
  __atomic_load(at, &seconds, order);
  return seconds;
}

void grove_readiness_begin(grove_readiness *r, int timed)
{
  for (int64_t g = 0; g < r->ngroups; g++) {
    const group *of = &r->groups[g];
    int64_t words = words_of(of->count);
    memset(of->at->bits, 0, (size_t)(words * (r->delta > 0 ? 2 : 1)) * sizeof *of->at->bits);
    memset(of->left, 0, (size_t)words * sizeof *of->left);
    __atomic_store_n(&of->at->missing, (uint64_t)of->count, __ATOMIC_RELAXED);
    store_time(&of->at->deadline, INFINITY, __ATOMIC_RELAXED);
  }
  for (int64_t w = 0; w < words_of(r->ngroups); w++)
    __atomic_store_n(&r->board->due[w], 0, __ATOMIC_RELAXED);
  store_time(&r->board->earliest, INFINITY, __ATOMIC_RELAXED);
  for (int64_t p = 0; timed && p < r->parts; p++)
    store_time(&r->times[p], (double)NAN, __ATOMIC_RELAXED);
  r->timed = timed;
  r->looked_at = -1;
  __atomic_store_n(&r->left, 0, __ATOMIC_RELAXED);
}

/* ---- marks ---- */

/* As much of parts `part` to `end` - 1 as one word of bits has. */
typedef struct piece {
  const group *of;
  int64_t word, parts;
  int shift;
  uint64_t mask;
} piece;

static piece piece_at(const grove_readiness *r, int64_t part, int64_t end)
{
  const group *of = &r->groups[r->group_of[part]];
  int64_t bit = part - of->first, stop = end - of->first < of->count ? end - of->first : of->count;
  piece p = {.of = of, .word = bit / WORD_BITS, .shift = (int)(bit % WORD_BITS)};
  p.parts = stop - bit < WORD_BITS - p.shift ? stop - bit : WORD_BITS - p.shift;
  p.mask = ~(uint64_t)0 >> (WORD_BITS - p.parts) << p.shift;
  return p;
}

static void give_back(grove_readiness *r, int64_t first, int64_t end)
{
  while (first < end) {
    piece p = piece_at(r, first, end);
    __atomic_fetch_and(&p.of->at->bits[p.word], ~p.mask, __ATOMIC_RELAXED);
    first += p.parts;
  }
}

/* The first part that has been claimed; -1: none. */
static int64_t find_claimed(const grove_readiness *r, int64_t first, int64_t end)
{
  while (first < end) {
    piece p = piece_at(r, first, end);
    uint64_t taken = __atomic_load_n(&p.of->at->bits[p.word], __ATOMIC_RELAXED) & p.mask;
    if (taken) return first + __builtin_ctzll(taken >> p.shift);
    first += p.parts;
  }
  return -1;
}

/* -1, or the first part that somebody else has claimed: then no claim is left. A call that is wrong
 * whatever the others do claims nothing, which could make them look wrong. */
static int64_t claim(grove_readiness *r, int64_t first, int64_t end)
{
  int64_t taken = end - first > 1 ? find_claimed(r, first, end) : -1;
  if (taken >= 0) return taken;
  for (int64_t part = first; part < end;) {
    piece p = piece_at(r, part, end);
    uint64_t *word = &p.of->at->bits[p.word];
    uint64_t before = __atomic_fetch_or(word, p.mask, __ATOMIC_RELEASE);
    if (before & p.mask) {
      __atomic_fetch_and(word, before | ~p.mask, __ATOMIC_RELAXED);
      give_back(r, first, part);
      return part + __builtin_ctzll((before & p.mask) >> p.shift);
    }
    part += p.parts;
  }
  return -1;
}

static void announce(board *b, int64_t g)
{
  __atomic_fetch_or(&b->due[g / WORD_BITS], (uint64_t)1 << g % WORD_BITS, __ATOMIC_RELEASE);
  __atomic_fetch_add(&b->news, 1, __ATOMIC_RELEASE);
}

/* Always writes, so that who sets it to infinity afterwards sees the deadline itself. */
static void lower(double *earliest, double deadline)
{
  double before = load_time(earliest, __ATOMIC_RELAXED), after = 0;
  do {
    after = deadline < before ? deadline : before;
  } while (
    !__atomic_compare_exchange(earliest, &before, &after, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
}

/* 1 if nobody had. */
static int arm(grove_readiness *r, const group *of, double now)
{
  double unarmed = INFINITY, deadline = now + r->delta;
  if (load_time(&of->at->deadline, __ATOMIC_RELAXED) < unarmed) return 0;
  if (!__atomic_compare_exchange(&of->at->deadline, &unarmed, &deadline, 0, __ATOMIC_RELAXED,
                                 __ATOMIC_RELAXED))
    return 0;
  lower(&r->board->earliest, deadline);
  return 1;
}

/* 1 if something of the group may leave, which is announced. */
static int subtract(grove_readiness *r, int64_t g, int64_t parts)
{
  board *b = r->board;
  uint64_t before =
    __atomic_fetch_sub(&r->groups[g].at->missing, (uint64_t)parts, __ATOMIC_ACQ_REL);
  if ((before & NUMBER) != (uint64_t)parts && !(before & OPEN)) return 0;
  announce(b, g);
  return 1;
}

static void keep_times(grove_readiness *r, int64_t first, int64_t end, double now)
{
  for (int64_t part = first; part < end; part++) store_time(&r->times[part], now, __ATOMIC_RELAXED);
}

/* Bits for runs; and a deadline for every group that this does not fill. */
static int set_ready(grove_readiness *r, int64_t first, int64_t end, double now)
{
  int armed = 0;
  for (int64_t part = first; part < end;) {
    piece p = piece_at(r, part, end);
    __atomic_fetch_or(&p.of->ready[p.word], p.mask, __ATOMIC_RELEASE);
    if (p.parts < p.of->count) armed |= arm(r, p.of, now);
    part += p.parts;
  }
  return armed;
}

int64_t grove_readiness_mark(grove_readiness *r, int64_t first, int64_t count, double now, int *due)
{
  int64_t end = first + count, twice = claim(r, first, end);
  int news = 0;
  *due = 0;
  if (twice >= 0) return twice;
  if (r->timed) keep_times(r, first, end, now);
  if (r->delta > 0) news = set_ready(r, first, end, now);
  for (int64_t part = first; part < end;) {
    int64_t g = r->group_of[part], stop = r->groups[g].first + r->groups[g].count;
    if (stop > end) stop = end;
    news |= subtract(r, g, stop - part);
    part = stop;
  }
  *due = news;
  return -1;
}

/* ---- what leaves ---- */

static void count_left(grove_readiness *r, int64_t parts)
{
  __atomic_store_n(&r->left, r->left + parts, __ATOMIC_RELEASE);
}

/* Opens the groups whose time has come. */
static void open_groups(grove_readiness *r, double now)
{
  double never = INFINITY, passed = -INFINITY, before = 0, next = never;
  __atomic_exchange(&r->board->earliest, &never, &before, __ATOMIC_ACQ_REL);
  for (int64_t g = 0; g < r->ngroups; g++) {
    cell *c = r->groups[g].at;
    double deadline = load_time(&c->deadline, __ATOMIC_RELAXED);
    if (deadline > now) {
      if (deadline < next) next = deadline;
    } else if (deadline > passed) {
      store_time(&c->deadline, passed, __ATOMIC_RELAXED);
      __atomic_fetch_or(&c->missing, OPEN, __ATOMIC_ACQ_REL);
      announce(r->board, g);
    }
  }
  if (next < never) lower(&r->board->earliest, next);
}

/* The first group to be looked at, which counts as looked at; -1: none. */
static int64_t next_due(grove_readiness *r)
{
  for (int64_t w = 0; w < words_of(r->ngroups); w++) {
    uint64_t *word = &r->board->due[w], due = __atomic_load_n(word, __ATOMIC_RELAXED);
    if (due == 0) continue;
    uint64_t lowest = due & (~due + 1);
    __atomic_fetch_and(word, ~lowest, __ATOMIC_ACQUIRE);
    return w * WORD_BITS + __builtin_ctzll(lowest);
  }
  return -1;
}

/* The first part of a group, from `from` on, that is ready and has not left; or, if `want` is 0,
 * the first of which that is not so. The end of the group, if there is none. */
static int64_t find(const group *of, int64_t from, int want)
{
  while (from < of->count) {
    int64_t w = from / WORD_BITS;
    uint64_t bits = __atomic_load_n(&of->ready[w], __ATOMIC_ACQUIRE) & ~of->left[w];
    if (!want) bits = ~bits;
    bits &= ~(uint64_t)0 << from % WORD_BITS;
    if (bits) {
      from = w * WORD_BITS + __builtin_ctzll(bits);
      break;
    }
    from = (w + 1) * WORD_BITS;
  }
  return from < of->count ? from : of->count;
}

/* The next run of the group that is looked at; 0: none. */
static int next_run(grove_readiness *r, grove_part_run *run)
{
  const group *of = &r->groups[r->looked_at];
  int64_t first = find(of, r->from, 1), end = find(of, first, 0);
  r->from = end;
  if (first == end) return 0;
  for (int64_t part = first; part < end; part++)
    of->left[part / WORD_BITS] |= (uint64_t)1 << part % WORD_BITS;
  *run = (grove_part_run){of->first + first, end - first};
  return 1;
}

/* Looks at a group that was announced: 1 if all of it leaves as one. An announcement that is left
 * from the round before is about nothing, perhaps not even about a group. */
static int look_at(grove_readiness *r, int64_t g, grove_part_run *run)
{
  if (g >= r->ngroups) return 0;
  const group *of = &r->groups[g];
  uint64_t missing = __atomic_load_n(&of->at->missing, __ATOMIC_ACQUIRE);
  if ((missing & GONE) || ((missing & NUMBER) != 0 && !(missing & OPEN))) return 0;
  if ((missing & NUMBER) == 0) {
    store_time(&of->at->deadline, -INFINITY, __ATOMIC_RELAXED);
    __atomic_fetch_or(&of->at->missing, GONE, __ATOMIC_RELAXED);
  }
  if (missing & OPEN) {
    r->looked_at = g;
    r->from = 0;
    return 0;
  }
  *run = (grove_part_run){of->first, of->count};
  return 1;
}

int grove_readiness_take(grove_readiness *r, double now, grove_part_run *run)
{
  for (;;) {
    if (r->looked_at >= 0) {
      if (next_run(r, run)) break;
      r->looked_at = -1;
    }
    if (r->delta > 0 && now >= load_time(&r->board->earliest, __ATOMIC_RELAXED))
      open_groups(r, now);
    uint64_t news = __atomic_load_n(&r->board->news, __ATOMIC_ACQUIRE);
    if (news == r->seen) return 0;
    int64_t g = next_due(r);
    if (g < 0) {
      r->seen = news;
      return 0;
    }
    if (look_at(r, g, run)) break;
  }
  count_left(r, run->count);
  return 1;
}

double grove_readiness_deadline(const grove_readiness *r)
{
  double least = INFINITY;
  for (int64_t g = 0; r->delta > 0 && g < r->ngroups; g++) {
    double deadline = load_time(&r->groups[g].at->deadline, __ATOMIC_RELAXED);
    if (deadline > -INFINITY && deadline < least) least = deadline;
  }
  return least;
}

/* ---- how far it is ---- */

static int64_t missing_of(const group *of)
{
  return (int64_t)(__atomic_load_n(&of->at->missing, __ATOMIC_ACQUIRE) & NUMBER);
}

int grove_readiness_is_over(const grove_readiness *r)
{
  if (__atomic_load_n(&r->left, __ATOMIC_ACQUIRE) < r->parts) return 0;
  for (int64_t g = 0; r->delta > 0 && g < r->ngroups; g++)
    if (missing_of(&r->groups[g]) > 0) return 0; /* its last mark is under way */
  return 1;
}

int64_t grove_readiness_marked(const grove_readiness *r)
{
  int64_t marked = r->parts;
  for (int64_t g = 0; g < r->ngroups; g++) marked -= missing_of(&r->groups[g]);
  return marked;
}

int grove_readiness_is_marked(const grove_readiness *r, int64_t part)
{
  piece p = piece_at(r, part, part + 1);
  return (__atomic_load_n(&p.of->at->bits[p.word], __ATOMIC_ACQUIRE) & p.mask) != 0;
}

double grove_readiness_time(const grove_readiness *r, int64_t part)
{
  return r->timed ? load_time(&r->times[part], __ATOMIC_RELAXED) : (double)NAN;
}
